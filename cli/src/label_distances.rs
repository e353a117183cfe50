//! Distances of states by their labels: on a graphics processor until it fails, and by the CPU then.

use crate::exit::Failure;
use antipode_gpu::{GpuError, Kernels};
use antipode_solver_core::states::States;
use antipode_solver_core::states::distances::{self, Measure};
use std::sync::Arc;

/// What computes them.
pub struct LabelDistances {
    device: Option<Arc<Kernels>>,
}

impl LabelDistances {
    /// The CPU.
    pub fn cpu() -> LabelDistances {
        LabelDistances { device: None }
    }

    /// A device, or the CPU.
    pub fn on(device: Option<Arc<Kernels>>) -> LabelDistances {
        LabelDistances { device }
    }

    /// As [`distances::distances`]; a device that fails is left alone, which is said.
    ///
    /// # Errors
    /// Input that the CPU refuses too, and mistakes of this program.
    pub fn distances(
        &mut self,
        measure: Measure,
        states: &States,
        targets: &States,
    ) -> Result<Vec<u32>, Failure> {
        if let Some(device) = &self.device {
            match device.verified_distances(measure, states, targets) {
                Ok(made) => return Ok(made),
                Err(error @ (GpuError::Input(_) | GpuError::Misuse { .. })) => {
                    return Err(error.into());
                }
                Err(error) => {
                    eprintln!("{error}; going on with the CPU");
                    self.device = None;
                }
            }
        }
        distances::distances(measure, states, targets)
            .map_err(|error| Failure::Input(error.to_string()))
    }

    /// `cpu`, or `vulkan` and the device.
    pub fn name(&self) -> String {
        self.device.as_ref().map_or("cpu".into(), |device| {
            format!("vulkan, {}", device.device().info().name)
        })
    }
}
