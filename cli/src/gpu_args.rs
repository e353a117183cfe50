//! The graphics processor on the command line, and what a device's errors mean to a user.

use crate::exit::Failure;
use antipode_gpu::{Choice, Fault, GpuError, Kernels, Options, Settings, Vulkan};
use std::sync::Arc;

/// Which graphics processor.
#[derive(Debug, Clone, clap::Args)]
pub struct GpuArgs {
    /// A graphics processor: its index or UUID as `antipode gpu list` shows it; auto: the first that is no software
    #[arg(long, value_name = "INDEX|UUID|auto")]
    pub gpu: Option<Choice>,
}

impl GpuArgs {
    /// The kernels of the device that is asked for: none where none is, or where `auto` finds none, which is said.
    pub fn open(&self) -> Result<Option<Arc<Kernels>>, Failure> {
        let Some(choice) = self.gpu else {
            return Ok(None);
        };
        match (open(choice, false), choice) {
            (Ok((_, kernels)), _) => Ok(Some(kernels)),
            (Err(why @ (GpuError::NoVulkan(_) | GpuError::NoDevice(_))), Choice::Auto) => {
                eprintln!("{why}; computing with the CPU");
                Ok(None)
            }
            (Err(why), _) => Err(why.into()),
        }
    }
}

/// Vulkan and the kernels of a device, with the validation layer if that is asked for.
pub fn open(choice: Choice, validation: bool) -> Result<(Vulkan, Arc<Kernels>), GpuError> {
    let vulkan = Vulkan::load(&Options {
        validation,
        ..Options::default()
    })?;
    let device = vulkan.open(choice, Settings::default())?;
    if let Some((later, fault)) = planted(std::env::var("ANTIPODE_TEST_GPU").ok().as_deref()) {
        device.plant(later, fault);
    }
    Ok((vulkan, Kernels::new(device)?))
}

/// A fault on order, for tests with real processes: `ANTIPODE_TEST_GPU="wrong,3"` spoils what the fourth submission
/// brings back; `lost`, `memory` and `hang` end a submission so.
fn planted(text: Option<&str>) -> Option<(u32, Fault)> {
    let (name, later) = text?.split_once(',')?;
    let fault = match name {
        "lost" => Fault::Lost,
        "memory" => Fault::OutOfMemory,
        "hang" => Fault::Hang,
        "wrong" => Fault::Wrong,
        _ => return None,
    };
    Some((later.parse().ok()?, fault))
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Failure {
        match error {
            GpuError::NoVulkan(_)
            | GpuError::NoDevice(_)
            | GpuError::TooLarge { .. }
            | GpuError::Input(_) => Failure::Input(error.to_string()),
            GpuError::Misuse { .. } => Failure::Internal(error.to_string()),
            GpuError::Lost { .. }
            | GpuError::OutOfMemory { .. }
            | GpuError::Hang { .. }
            | GpuError::Wrong { .. }
            | GpuError::Driver { .. } => Failure::Other(error.to_string()),
        }
    }
}
