//! Which devices there are, and which one is meant.

use super::instance::{Instance, explain};
use crate::error::GpuError;
use ash::vk;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// What a device is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A card of its own.
    Discrete,
    /// A part of the processor.
    Integrated,
    /// A part of a card, given to a virtual machine.
    Virtual,
    /// No hardware: a program such as llvmpipe, slower than our own kernels.
    Software,
    Other,
}

impl Kind {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Discrete => "discrete",
            Kind::Integrated => "integrated",
            Kind::Virtual => "virtual",
            Kind::Software => "software",
            Kind::Other => "other",
        }
    }
}

/// A device as listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceInfo {
    /// Its number in the loader's order.
    pub index: u32,
    pub name: String,
    /// The same on every start, 32 hexadecimal digits in groups.
    pub uuid: String,
    pub kind: Kind,
    /// Vulkan's version, e.g. `1.3.230`.
    pub vulkan: String,
    /// Memory of its own; of a software device: of the machine.
    pub memory_bytes: u64,
    /// What one buffer may have (`maxStorageBufferRange`).
    pub max_buffer_bytes: u64,
    /// Why it cannot be used; none: it can.
    pub unusable: Option<String>,
}

/// A device that was found.
pub(super) struct Found {
    pub raw: vk::PhysicalDevice,
    pub info: DeviceInfo,
    pub limits: vk::PhysicalDeviceLimits,
    /// The most bytes of one allocation.
    pub max_allocation: u64,
    /// The queue family that computes, and how many queues it has.
    pub family: u32,
    pub queues: u32,
}

/// Which device is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The first one that is no software.
    Auto,
    Index(u32),
    Uuid([u8; 16]),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Choice, String> {
        let digits: Vec<u8> = text.bytes().filter(|&c| c != b'-').collect();
        if text == "auto" {
            Ok(Choice::Auto)
        } else if digits.len() == 32 && digits.iter().all(u8::is_ascii_hexdigit) {
            let value = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
            Ok(Choice::Uuid(std::array::from_fn(|i| {
                value(digits[2 * i]) << 4 | value(digits[2 * i + 1])
            })))
        } else {
            text.parse().map(Choice::Index).map_err(|_| {
                format!(
                    "'{text}' is no device; give its index or UUID (`antipode gpu list`), or auto"
                )
            })
        }
    }
}

/// `de305d54-75b4-431b-adb2-eb6b9e546014`.
struct Uuid([u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let dash = if [4, 6, 8, 10].contains(&at) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

/// Asks the instance.
pub(super) fn find(instance: &Instance) -> Result<Vec<Found>, GpuError> {
    // SAFETY: the instance is alive.
    let devices = unsafe { instance.raw.enumerate_physical_devices() }.map_err(|code| {
        GpuError::NoVulkan(format!("the devices cannot be listed: {}", explain(code)))
    })?;
    let found = devices.into_iter().zip(0..);
    Ok(found
        .map(|(raw, index)| ask(instance, raw, index))
        .collect())
}

fn ask(instance: &Instance, raw: vk::PhysicalDevice, index: u32) -> Found {
    // SAFETY: the device is one that this instance has just listed.
    let plain = unsafe { instance.raw.get_physical_device_properties(raw) };
    let mut id = vk::PhysicalDeviceIDProperties::default();
    let mut maintenance = vk::PhysicalDeviceMaintenance3Properties::default();
    let is_new = plain.api_version >= vk::API_VERSION_1_1;
    if is_new {
        let mut all = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut id)
            .push_next(&mut maintenance);
        // SAFETY: as above, and a device of version 1.1 knows both structures.
        unsafe { instance.raw.get_physical_device_properties2(raw, &mut all) };
    }
    // SAFETY: the device is one of this instance.
    let (memory, families) = unsafe {
        (
            instance.raw.get_physical_device_memory_properties(raw),
            instance
                .raw
                .get_physical_device_queue_family_properties(raw),
        )
    };
    let family = families
        .iter()
        .position(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE));
    let own = memory
        .memory_heaps_as_slice()
        .iter()
        .filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
    let version = plain.api_version;
    let info = DeviceInfo {
        index,
        name: plain
            .device_name_as_c_str()
            .map_or("a device without a name".into(), |name| {
                name.to_string_lossy().into_owned()
            }),
        uuid: Uuid(id.device_uuid).to_string(),
        kind: match plain.device_type {
            vk::PhysicalDeviceType::DISCRETE_GPU => Kind::Discrete,
            vk::PhysicalDeviceType::INTEGRATED_GPU => Kind::Integrated,
            vk::PhysicalDeviceType::VIRTUAL_GPU => Kind::Virtual,
            vk::PhysicalDeviceType::CPU => Kind::Software,
            _ => Kind::Other,
        },
        vulkan: format!(
            "{}.{}.{}",
            vk::api_version_major(version),
            vk::api_version_minor(version),
            vk::api_version_patch(version)
        ),
        memory_bytes: own.map(|heap| heap.size).max().unwrap_or(0),
        max_buffer_bytes: u64::from(plain.limits.max_storage_buffer_range),
        unusable: match (is_new, family) {
            (false, _) => Some("it knows Vulkan 1.0 only, and 1.1 is needed".into()),
            (true, None) => Some("it has no queue that computes".into()),
            (true, Some(_)) => None,
        },
    };
    Found {
        raw,
        info,
        limits: plain.limits,
        max_allocation: maintenance.max_memory_allocation_size,
        family: family.unwrap_or(0) as u32,
        queues: family.map_or(1, |at| families[at].queue_count),
    }
}

/// The device that is meant.
pub(super) fn choose(found: &[Found], choice: Choice) -> Result<&Found, GpuError> {
    let chosen = found.iter().find(|found| match choice {
        Choice::Auto => found.info.kind != Kind::Software && found.info.unusable.is_none(),
        Choice::Index(index) => found.info.index == index,
        Choice::Uuid(uuid) => found.info.uuid == Uuid(uuid).to_string(),
    });
    let Some(chosen) = chosen else {
        let all: Vec<String> = found
            .iter()
            .map(|found| {
                format!(
                    "{} ({}, {})",
                    found.info.index,
                    found.info.name,
                    found.info.kind.name()
                )
            })
            .collect();
        let there = match all.is_empty() {
            true => "Vulkan lists none".to_string(),
            false => format!("there are: {}", all.join(", ")),
        };
        return Err(GpuError::NoDevice(match choice {
            Choice::Auto if all.is_empty() => "Vulkan lists no graphics processor".into(),
            Choice::Auto => format!(
                "no graphics processor but what must be named, with --gpu INDEX: {}",
                all.join(", ")
            ),
            Choice::Index(index) => format!("there is no device {index}; {there}"),
            Choice::Uuid(uuid) => format!("there is no device {}; {there}", Uuid(uuid)),
        }));
    };
    match &chosen.info.unusable {
        None => Ok(chosen),
        Some(why) => Err(GpuError::NoDevice(format!(
            "device {}, {}, cannot be used: {why}",
            chosen.info.index, chosen.info.name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_are_printed() {
        assert_eq!("auto".parse(), Ok(Choice::Auto));
        assert_eq!("3".parse(), Ok(Choice::Index(3)));
        let text = "de305d54-75b4-431b-adb2-eb6b9e546014";
        let Ok(Choice::Uuid(uuid)) = text.parse() else {
            panic!("a UUID");
        };
        assert_eq!(Uuid(uuid).to_string(), text);
        assert_eq!(
            text.replace('-', "").to_uppercase().parse(),
            Ok(Choice::Uuid(uuid))
        );
        for wrong in ["", "-1", "llvmpipe", "de305d54", "auto "] {
            assert!(wrong.parse::<Choice>().is_err(), "{wrong}");
        }
    }
}
