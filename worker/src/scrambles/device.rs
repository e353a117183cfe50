//! Rows of scrambles made on graphics processors, by the CPU once those fail.

use super::Draws;
use antipode_gpu::{DeviceRows, GpuError, Kernels};
use antipode_solver_core::scramble::table::Loaded;
use antipode_solver_core::scramble::{Drawn, ScramblesSpec};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Devices that make the rows of one job, each a row group at a time. Which of them makes a row changes nothing.
pub struct Devices {
    devices: Vec<Device>,
    /// Where the next search for an idle one begins.
    next: AtomicUsize,
}

struct Device {
    name: String,
    /// None once it has failed. Parts that are made side by side take turns.
    rows: Mutex<Option<DeviceRows>>,
}

impl Devices {
    /// Brings the tables to the devices. One that cannot take them is left out, which is said; none where no device is
    /// left.
    ///
    /// # Errors
    /// A mistake of this program.
    pub fn new(
        kernels: &[Arc<Kernels>],
        spec: &ScramblesSpec,
        loaded: &Arc<Loaded>,
    ) -> Result<Option<Devices>, GpuError> {
        let mut devices = Vec::new();
        for kernels in kernels {
            match kernels.scrambles(spec, loaded) {
                Ok(rows) => devices.push(Device {
                    name: kernels.device().info().name.clone(),
                    rows: Mutex::new(Some(rows)),
                }),
                Err(error @ GpuError::Misuse { .. }) => return Err(error),
                Err(error) => warn(&error, !devices.is_empty()),
            }
        }
        Ok((!devices.is_empty()).then_some(Devices {
            devices,
            next: AtomicUsize::new(0),
        }))
    }

    /// `vulkan` and the devices, also where they have failed on the way.
    pub fn engine(&self) -> String {
        let names = |at_work: bool| -> Vec<&str> {
            let those = self.devices.iter().filter(|d| d.is_at_work() == at_work);
            those.map(|device| device.name.as_str()).collect()
        };
        match (names(true).join(" and "), names(false).join(" and ")) {
            (all, failed) if failed.is_empty() => format!("vulkan, {all}"),
            (left, failed) if left.is_empty() => format!("cpu, after vulkan, {failed} failed"),
            (left, failed) => format!("vulkan, {left}, after {failed} failed"),
        }
    }

    /// A device that has not failed: an idle one if there is one, otherwise the next that comes free.
    fn take(&self) -> Option<MutexGuard<'_, Option<DeviceRows>>> {
        let begin = self.next.fetch_add(1, Relaxed) % self.devices.len();
        let (before, after) = self.devices.split_at(begin);
        let in_turn = || after.iter().chain(before);
        let mut idle = in_turn().filter_map(Device::try_lock);
        let idle = idle.find(|rows| rows.is_some());
        idle.or_else(|| in_turn().map(Device::lock).find(|rows| rows.is_some()))
    }

    fn is_any_at_work(&self) -> bool {
        self.devices.iter().any(Device::is_at_work)
    }
}

impl Device {
    fn lock(&self) -> MutexGuard<'_, Option<DeviceRows>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None where another thread has it.
    fn try_lock(&self) -> Option<MutexGuard<'_, Option<DeviceRows>>> {
        match self.rows.try_lock() {
            Ok(rows) => Some(rows),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// One that another thread has did not fail so far.
    fn is_at_work(&self) -> bool {
        self.try_lock().is_none_or(|rows| rows.is_some())
    }
}

impl Draws for Devices {
    fn draw(&self, first: u64, rows: usize) -> Option<Drawn> {
        loop {
            let mut device = self.take()?;
            match device.as_mut()?.verified_draw(first, rows) {
                Ok(drawn) => return Some(drawn),
                Err(error) => {
                    *device = None;
                    drop(device);
                    warn(&error, self.is_any_at_work());
                }
            }
        }
    }
}

/// Said once a device and job.
fn warn(error: &GpuError, others: bool) {
    match others {
        true => tracing::warn!("{error}; going on with the other devices"),
        false => tracing::warn!("{error}; going on with the CPU"),
    }
}
