//! Tests on a real driver, with the validation layer listening: whatever it says fails the test. Where there is no Vulkan the
//! tests say so; in CI (`CI=true`) that is a failure.
#![allow(dead_code)] // Every test file uses its own part of this module.

use antipode_gpu::{Choice, DeviceInfo, Kernels, Kind, Options, Settings, Vulkan};
use std::sync::Arc;

/// Vulkan and the device to test on: software if there is one, because everybody can have that.
pub struct Bench {
    pub vulkan: Vulkan,
    pub choice: Choice,
    validated: bool,
}

impl Bench {
    /// None where there is no Vulkan, which is said.
    pub fn new() -> Option<Bench> {
        let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        let load = |validation| {
            Vulkan::load(&Options {
                validation,
                ..Options::default()
            })
        };
        let (vulkan, validated) = match load(true) {
            Ok(vulkan) => (vulkan, true),
            Err(error) => {
                assert!(
                    !in_ci,
                    "in CI Vulkan must be there with its validation layer: {error}"
                );
                eprintln!("not validated: {error}");
                match load(false) {
                    Ok(vulkan) => (vulkan, false),
                    Err(error) => {
                        eprintln!("NOT TESTED: {error}");
                        return None;
                    }
                }
            }
        };
        let usable = |info: &&DeviceInfo| info.unusable.is_none();
        let is_software = |info: &&DeviceInfo| info.kind == Kind::Software;
        let first = vulkan.devices().find(usable).map(|info| info.index);
        let software = vulkan.devices().filter(usable).find(is_software);
        let software = software.map(|info| info.index);
        let Some(index) = software.or(first) else {
            assert!(!in_ci, "in CI there must be a device");
            eprintln!("NOT TESTED: Vulkan lists no device");
            return None;
        };
        Some(Bench {
            choice: Choice::Index(index),
            validated,
            vulkan,
        })
    }

    pub fn open(&self, settings: Settings) -> Arc<Kernels> {
        let device = self.vulkan.open(self.choice, settings).expect("it opens");
        Kernels::new(device).expect("the kernels compile")
    }

    /// The validation layer has nothing to say.
    #[track_caller]
    pub fn is_clean(&self) {
        assert_eq!(self.vulkan.messages(), [""; 0]);
        if !self.validated {
            eprintln!("not validated");
        }
    }
}
