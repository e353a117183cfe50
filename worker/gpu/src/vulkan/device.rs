//! An open device: its queue, and the state in which it is. A device that was lost or hangs answers nothing more.

use super::Fault;
use super::commands::{Commands, Lane};
use super::devices::{DeviceInfo, Found};
use super::instance::{Instance, explain};
use crate::error::GpuError;
use ash::vk;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How a device is used.
#[derive(Debug, Clone)]
pub struct Settings {
    /// After so long a dispatch counts as hung.
    pub timeout: Duration,
    /// Buffers are no larger, whatever the device takes; large batches are cut to fit.
    pub max_buffer_bytes: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            // A hundred times what a dispatch is meant to take, so that a busy device is not taken for a hung one.
            timeout: Duration::from_secs(10),
            // More makes no dispatch quicker, and the machine holds it a second time.
            max_buffer_bytes: 64 << 20,
        }
    }
}

/// An open device. What is made from it keeps it open.
pub struct Device {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub instance: Arc<Instance>,
    pub raw: ash::Device,
    pub info: DeviceInfo,
    pub limits: vk::PhysicalDeviceLimits,
    pub memory: vk::PhysicalDeviceMemoryProperties,
    pub max_allocation: u64,
    pub settings: Settings,
    family: u32,
    /// One a lane; the same one twice where the device has no more.
    queues: [vk::Queue; 2],
    /// Held while something is submitted, as a queue takes one submission at a time.
    pub submitting: Mutex<()>,
    /// Those that no submission uses.
    free: Mutex<Vec<Commands>>,
    broken: Mutex<Broken>,
    fault: Mutex<Option<(u32, Fault)>>,
    uploaded: AtomicU64,
    longest_nanos: AtomicU64,
}

/// Why nothing more comes from a device.
#[derive(Default)]
struct Broken {
    why: Option<GpuError>,
    /// It may still be at work: what it uses must not be freed.
    is_at_work: bool,
}

impl Device {
    pub(super) fn open(
        instance: Arc<Instance>,
        found: &Found,
        settings: Settings,
    ) -> Result<Device, GpuError> {
        let failed = |what| {
            let device = found.info.name.clone();
            move |code| driver_error(&device, what, code)
        };
        // SAFETY: the device was listed by this instance.
        let features = unsafe { instance.raw.get_physical_device_features(found.raw) };
        if features.robust_buffer_access == vk::FALSE {
            return Err(GpuError::NoDevice(format!(
                "device {}, {}, has no robust access to buffers, which Vulkan demands of every device",
                found.info.index, found.info.name
            )));
        }
        let robust = vk::PhysicalDeviceFeatures::default().robust_buffer_access(true);
        let priorities = [1.0, 1.0];
        let wanted = found.queues.clamp(1, 2) as usize;
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(found.family)
            .queue_priorities(&priorities[..wanted])];
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_features(&robust);
        // SAFETY: the family was found with this device, the feature is there, `info` lives until the call returns.
        let raw = unsafe { instance.raw.create_device(found.raw, &info, None) }
            .map_err(failed("opening the device"))?;
        // SAFETY: the device was listed by this instance.
        let memory = unsafe {
            instance
                .raw
                .get_physical_device_memory_properties(found.raw)
        };
        // SAFETY: the device was opened with so many queues of this family.
        let queue = |at| unsafe { raw.get_device_queue(found.family, at) };
        let queues = [queue(0), queue(wanted as u32 - 1)];
        Ok(Device {
            shared: Arc::new(Shared {
                instance,
                raw,
                info: found.info.clone(),
                limits: found.limits,
                memory,
                max_allocation: found.max_allocation,
                settings,
                family: found.family,
                queues,
                submitting: Mutex::default(),
                free: Mutex::default(),
                broken: Mutex::default(),
                fault: Mutex::default(),
                uploaded: AtomicU64::new(0),
                longest_nanos: AtomicU64::new(0),
            }),
        })
    }

    /// The device as listed.
    pub fn info(&self) -> &DeviceInfo {
        &self.shared.info
    }

    /// The most bytes of one buffer: what the device takes, and no more than was set.
    pub fn max_buffer_bytes(&self) -> u64 {
        let shared = &self.shared;
        let device = shared.info.max_buffer_bytes.min(shared.max_allocation);
        device.min(shared.settings.max_buffer_bytes)
    }

    /// The most pieces of memory that may be taken at once.
    pub fn max_allocations(&self) -> u32 {
        self.shared.limits.max_memory_allocation_count
    }

    /// The most workgroups of one dispatch.
    pub fn max_groups(&self) -> u32 {
        self.shared.limits.max_compute_work_group_count[0]
    }

    /// Bytes sent to the device so far.
    pub fn uploaded_bytes(&self) -> u64 {
        self.shared.uploaded.load(Relaxed)
    }

    /// What the longest submission so far took.
    pub fn longest_submission(&self) -> Duration {
        Duration::from_nanos(self.shared.longest_nanos.load(Relaxed))
    }

    /// A mistake of this program that came to light at the device.
    pub(crate) fn misuse(&self, rule: impl Into<String>) -> GpuError {
        self.shared.misuse(rule)
    }

    /// Does it still answer?
    pub fn is_usable(&self) -> bool {
        self.shared.check().is_ok()
    }

    /// The device was wrong: it answers nothing more.
    pub(crate) fn quarantine(&self, what: String) -> GpuError {
        let error = GpuError::Wrong {
            device: self.shared.info.name.clone(),
            what,
        };
        let mut broken = lock(&self.shared.broken);
        broken.why.get_or_insert(error).clone()
    }

    /// Plants a fault for the submission after `later` more.
    #[doc(hidden)]
    pub fn plant(&self, later: u32, fault: Fault) {
        *lock(&self.shared.fault) = Some((later, fault));
    }
}

impl Shared {
    /// The queue of a lane.
    pub fn queue(&self, lane: Lane) -> vk::Queue {
        match lane {
            Lane::Compute => self.queues[0],
            Lane::Copies => self.queues[1],
        }
    }

    /// What a submission needs, ready to be recorded.
    pub fn commands(&self) -> Result<Commands, vk::Result> {
        let free = lock(&self.free).pop();
        let commands = match free {
            Some(commands) => commands,
            None => Commands::new(&self.raw, self.family)?,
        };
        match commands.begin(&self.raw) {
            Ok(()) => Ok(commands),
            Err(code) => {
                self.give_back(commands);
                Err(code)
            }
        }
    }

    /// Takes back what no submission uses any more.
    pub fn give_back(&self, commands: Commands) {
        lock(&self.free).push(commands);
    }

    /// An answer of the driver that is no success; some are the device's end.
    pub fn failed(&self, what: &'static str, code: vk::Result) -> GpuError {
        let error = driver_error(&self.info.name, what, code);
        if matches!(error, GpuError::Lost { .. }) {
            lock(&self.broken).why.get_or_insert(error.clone());
        }
        error
    }

    /// The time has run out: from now on nothing is freed.
    pub fn hung(&self, is_at_work: bool) -> GpuError {
        let error = GpuError::Hang {
            device: self.info.name.clone(),
            seconds: self.settings.timeout.as_secs(),
        };
        let mut broken = lock(&self.broken);
        broken.is_at_work |= is_at_work;
        broken.why.get_or_insert(error.clone());
        error
    }

    /// A rule of this layer that was broken.
    pub fn misuse(&self, rule: impl Into<String>) -> GpuError {
        GpuError::Misuse {
            device: self.info.name.clone(),
            rule: rule.into(),
        }
    }

    /// Does the device still answer?
    pub fn check(&self) -> Result<(), GpuError> {
        lock(&self.broken).why.clone().map_or(Ok(()), Err)
    }

    /// May what was made from the device be freed?
    pub fn is_at_rest(&self) -> bool {
        !lock(&self.broken).is_at_work
    }

    /// The fault planted for this submission. Wrong bits wait for one that brings something back.
    pub fn fault(&self, brings_back: bool) -> Option<Fault> {
        let mut planted = lock(&self.fault);
        match *planted {
            Some((0, Fault::Wrong)) if !brings_back => None,
            Some((0, fault)) => {
                *planted = None;
                Some(fault)
            }
            Some((later, fault)) => {
                *planted = Some((later - 1, fault));
                None
            }
            None => None,
        }
    }

    /// Counts bytes sent.
    pub fn count_upload(&self, bytes: u64) {
        self.uploaded.fetch_add(bytes, Relaxed);
    }

    /// Notes what a submission took.
    pub fn note_submission(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.longest_nanos.fetch_max(nanos, Relaxed);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.is_at_rest() {
            // Device and instance stay as they are until the process ends.
            std::mem::forget(Arc::clone(&self.instance));
            return;
        }
        // SAFETY: buffers, pipelines and submissions hold an `Arc` of this, so none is left.
        unsafe {
            for commands in lock(&self.free).drain(..) {
                commands.destroy(&self.raw);
            }
            self.raw.destroy_device(None);
        }
    }
}

fn driver_error(device: &str, what: &'static str, code: vk::Result) -> GpuError {
    let device = device.to_string();
    match code {
        vk::Result::ERROR_DEVICE_LOST => GpuError::Lost { device },
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
        | vk::Result::ERROR_OUT_OF_HOST_MEMORY
        | vk::Result::ERROR_OUT_OF_POOL_MEMORY
        // So many pieces of memory as there may be.
        | vk::Result::ERROR_TOO_MANY_OBJECTS => GpuError::OutOfMemory { device, bytes: 0 },
        _ => GpuError::Driver {
            device,
            what,
            code: explain(code),
        },
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
