//! Rows drawn on a graphics processor for `run scrambles --gpu`, by the CPU once that fails.

use antipode_gpu::{DeviceWalks, GpuError, Kernels};
use antipode_solver_core::scramble::{Drawn, ScramblesSpec, Walks};
use antipode_worker::scrambles::Draws;
use std::sync::{Arc, Mutex, PoisonError};

/// A device that draws the rows of one job.
pub struct Device {
    walks: Walks,
    name: String,
    /// None once it has failed. Parts that are made side by side take turns.
    device: Mutex<Option<DeviceWalks>>,
}

impl Device {
    /// Brings the tables to the device; none where that fails, which is said.
    ///
    /// # Errors
    /// A mistake of this program.
    pub fn or_cpu(
        kernels: &Arc<Kernels>,
        spec: &ScramblesSpec,
        walks: Walks,
    ) -> Result<Option<Device>, GpuError> {
        match kernels.walks(&spec.puzzle, &walks) {
            Ok(device) => Ok(Some(Device {
                device: Mutex::new(Some(device)),
                name: kernels.device().info().name.clone(),
                walks,
            })),
            Err(error @ GpuError::Misuse { .. }) => Err(error),
            Err(error) => {
                eprintln!("{error}; going on with the CPU");
                Ok(None)
            }
        }
    }

    /// `vulkan` and the device, also where it has failed on the way.
    pub fn engine(&self) -> String {
        let device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        match *device {
            Some(_) => format!("vulkan, {}", self.name),
            None => format!("cpu, after vulkan, {} failed", self.name),
        }
    }
}

impl Draws for Device {
    fn draw(&self, first: u64, rows: usize) -> Option<Drawn> {
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        match device.as_ref()?.verified_draw(&self.walks, first, rows) {
            Ok(drawn) => Some(drawn),
            Err(error) => {
                eprintln!("{error}; going on with the CPU");
                *device = None;
                None
            }
        }
    }
}
