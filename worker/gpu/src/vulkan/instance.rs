//! The loader, opened while the program runs, and the one instance; what the validation layer says is kept.

use super::devices::{self, DeviceInfo, Found};
use super::{Choice, Device, Settings};
use crate::error::GpuError;
use ash::ext::debug_utils;
use ash::vk;
use std::ffi::{CStr, c_void};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// How Vulkan is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The loader's file; none: where the system keeps it.
    pub library: Option<PathBuf>,
    /// With the validation layer, which must be installed; see [`Vulkan::messages`].
    pub validation: bool,
}

/// Vulkan, and the devices it found.
pub struct Vulkan {
    instance: Arc<Instance>,
    found: Vec<Found>,
}

pub(super) struct Instance {
    pub raw: ash::Instance,
    messenger: Option<(debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    // Boxed: the messenger holds its address.
    messages: Box<Messages>,
    // Last, because the loader must stay until all else is gone.
    _entry: ash::Entry,
}

#[derive(Default)]
struct Messages(Mutex<Vec<String>>);

impl Vulkan {
    /// Opens the loader and asks it for devices.
    ///
    /// # Errors
    /// [`GpuError::NoVulkan`] says what is missing. No device at all is none of them: the list is empty then.
    pub fn load(options: &Options) -> Result<Vulkan, GpuError> {
        let missing = |error: &dyn std::fmt::Display| {
            GpuError::NoVulkan(format!(
                "the loader (libvulkan.so.1) cannot be opened: {error}; a driver's package brings it"
            ))
        };
        // SAFETY: running the initialisers of the system's Vulkan loader is what loading it means; the entry is
        // kept until all that was made with it is gone.
        let entry = unsafe {
            match &options.library {
                Some(path) => ash::Entry::load_from(path),
                None => ash::Entry::load(),
            }
        }
        .map_err(|error| missing(&error))?;
        let instance = Instance::new(entry, options.validation)?;
        let found = devices::find(&instance)?;
        Ok(Vulkan {
            instance: Arc::new(instance),
            found,
        })
    }

    /// The devices, in the loader's order.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = &DeviceInfo> {
        self.found.iter().map(|found| &found.info)
    }

    /// The device that is meant.
    ///
    /// # Errors
    /// [`GpuError::NoDevice`] says which there are.
    pub fn choose(&self, choice: Choice) -> Result<&DeviceInfo, GpuError> {
        devices::choose(&self.found, choice).map(|found| &found.info)
    }

    /// Opens a device.
    ///
    /// # Errors
    /// As [`Vulkan::choose`], and what its driver says.
    pub fn open(&self, choice: Choice, settings: Settings) -> Result<Device, GpuError> {
        let found = devices::choose(&self.found, choice)?;
        Device::open(Arc::clone(&self.instance), found, settings)
    }

    /// What the validation layer has said so far; nothing is what it should say.
    pub fn messages(&self) -> Vec<String> {
        let messages = self.instance.messages.0.lock();
        messages.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Instance {
    fn new(entry: ash::Entry, validation: bool) -> Result<Instance, GpuError> {
        let failed =
            |what: &str, code: vk::Result| GpuError::NoVulkan(format!("{what}: {}", explain(code)));
        // SAFETY: the entry is a loaded Vulkan loader.
        let version = unsafe { entry.try_enumerate_instance_version() }
            .map_err(|code| failed("the loader does not say its version", code))?
            .unwrap_or(vk::API_VERSION_1_0);
        if version < vk::API_VERSION_1_1 {
            return Err(GpuError::NoVulkan(
                "the loader knows Vulkan 1.0 only; 1.1 is needed, so a newer loader".into(),
            ));
        }
        let mut layers = Vec::new();
        let mut extensions = Vec::new();
        if validation {
            // SAFETY: the entry is a loaded Vulkan loader.
            let known = unsafe { entry.enumerate_instance_layer_properties() }
                .map_err(|code| failed("the loader does not list its layers", code))?;
            let is_there = known
                .iter()
                .any(|layer| layer.layer_name_as_c_str() == Ok(VALIDATION_LAYER));
            if !is_there {
                return Err(GpuError::NoVulkan(
                    "the validation layer is asked for and not installed (Debian: vulkan-validationlayers)".into(),
                ));
            }
            layers.push(VALIDATION_LAYER.as_ptr());
            extensions.push(debug_utils::NAME.as_ptr());
        }
        let messages = Box::<Messages>::default();
        let application = vk::ApplicationInfo::default()
            .application_name(c"antipode")
            .api_version(vk::API_VERSION_1_1);
        // Barriers are checked too, not only arguments.
        let checks = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
        let mut features =
            vk::ValidationFeaturesEXT::default().enabled_validation_features(&checks);
        let mut messenger = messenger_info(&messages);
        let mut info = vk::InstanceCreateInfo::default()
            .application_info(&application)
            .enabled_layer_names(&layers)
            .enabled_extension_names(&extensions);
        if validation {
            info = info.push_next(&mut features).push_next(&mut messenger);
        }
        // SAFETY: all that `info` points to lives until the call returns; the layers and extensions are there.
        let raw = unsafe { entry.create_instance(&info, None) }
            .map_err(|code| failed("no instance is made", code))?;
        let messenger = validation.then(|| {
            let debug = debug_utils::Instance::new(&entry, &raw);
            // SAFETY: the extension is enabled, and the messages outlive the messenger, see `drop`.
            let made =
                unsafe { debug.create_debug_utils_messenger(&messenger_info(&messages), None) };
            made.map(|made| (debug, made))
        });
        let mut instance = Instance {
            raw,
            messenger: None,
            messages,
            _entry: entry,
        };
        instance.messenger = messenger
            .transpose()
            .map_err(|code| failed("the validation layer has no messenger", code))?;
        Ok(instance)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: devices hold an `Arc` of the instance, so none is left; nobody uses it any more.
        unsafe {
            if let Some((debug, messenger)) = self.messenger.take() {
                debug.destroy_debug_utils_messenger(messenger, None);
            }
            self.raw.destroy_instance(None);
        }
    }
}

fn messenger_info(messages: &Messages) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(
            vk::DebugUtilsMessageSeverityFlagsEXT::ERROR
                | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING,
        )
        .message_type(
            vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION
                | vk::DebugUtilsMessageTypeFlagsEXT::PERFORMANCE,
        )
        .pfn_user_callback(Some(hear))
        .user_data(std::ptr::from_ref(messages).cast_mut().cast())
}

/// Keeps what the validation layer says.
unsafe extern "system" fn hear(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    messages: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: `messages` is the address that `messenger_info` gave, of a `Messages` that outlives the instance; it is
    // only ever shared.
    let messages = unsafe { &*messages.cast::<Messages>() };
    // SAFETY: the layer gives a valid structure for the time of the call, whose message is a string or null.
    let text = unsafe {
        match (*data).p_message {
            text if text.is_null() => "a message without text".into(),
            text => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    };
    let list = messages.0.lock();
    list.unwrap_or_else(PoisonError::into_inner).push(text);
    vk::FALSE
}

/// A result code as a sentence.
pub(super) fn explain(code: vk::Result) -> String {
    match code {
        vk::Result::ERROR_INCOMPATIBLE_DRIVER => {
            "the loader finds no driver that works here (is the driver's package installed?)".into()
        }
        vk::Result::ERROR_LAYER_NOT_PRESENT => "a layer is not installed".into(),
        _ => format!("{code} ({})", code.as_raw()),
    }
}
