//! Rows of scrambles made on graphics processors, by the CPU once those fail.

use super::Draws;
use antipode_gpu::{DeviceRows, GpuError, Kernels};
use antipode_solver_core::scramble::table::Loaded;
use antipode_solver_core::scramble::{Drawn, ScramblesSpec};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Devices that make the rows of one job, each a row group at a time. Which of them makes a row changes nothing.
pub struct DeviceDraws {
    devices: Vec<Device>,
    /// First row of every row group that a device made.
    drawn: Mutex<BTreeSet<u64>>,
    watch: Arc<dyn Watch>,
    /// Where the next search for an idle one begins.
    next: AtomicUsize,
}

/// Told what devices do, by their numbers.
pub trait Watch: Send + Sync {
    /// A device made the row group that begins with this row.
    fn drawn(&self, device: u32, first: u64);
    /// A device is left alone. What one that was wrong has made is in doubt.
    fn failed(&self, device: u32, why: &GpuError);
}

struct Device {
    number: u32,
    name: String,
    /// None once it has failed. Parts that are made side by side take turns.
    rows: Mutex<Option<DeviceRows>>,
}

impl DeviceDraws {
    /// Brings the tables to the devices. One that cannot take them is left out, which is said; none where no device is
    /// left.
    ///
    /// # Errors
    /// A mistake of this program.
    pub fn new(
        kernels: &[(u32, Arc<Kernels>)],
        spec: &ScramblesSpec,
        loaded: &Arc<Loaded>,
        watch: Arc<dyn Watch>,
    ) -> Result<Option<DeviceDraws>, GpuError> {
        let mut devices = Vec::new();
        for (number, kernels) in kernels {
            let number = *number;
            match kernels.scrambles(spec, loaded) {
                Ok(rows) => devices.push(Device {
                    number,
                    name: kernels.device().info().name.clone(),
                    rows: Mutex::new(Some(rows)),
                }),
                Err(error @ GpuError::Misuse { .. }) => return Err(error),
                Err(error) => watch.failed(number, &error),
            }
        }
        Ok((!devices.is_empty()).then_some(DeviceDraws {
            devices,
            drawn: Mutex::default(),
            watch,
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
    fn take(&self) -> Option<(u32, MutexGuard<'_, Option<DeviceRows>>)> {
        let begin = self.next.fetch_add(1, Relaxed) % self.devices.len();
        let (before, after) = self.devices.split_at(begin);
        let in_turn = || after.iter().chain(before);
        let mut idle = in_turn().filter_map(|d| Some((d.number, d.try_lock()?)));
        let idle = idle.find(|(_, rows)| rows.is_some());
        idle.or_else(|| {
            let mut all = in_turn().map(|d| (d.number, d.lock()));
            all.find(|(_, rows)| rows.is_some())
        })
    }

    fn drawn(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Draws for DeviceDraws {
    fn draw(&self, first: u64, rows: usize) -> Option<Drawn> {
        loop {
            let (number, mut device) = self.take()?;
            let rows_of = device.as_mut()?;
            match rows_of.verified_draw(first, rows) {
                Ok(drawn) => {
                    self.drawn().insert(first);
                    self.watch.drawn(number, first);
                    if rows_of.kernels().device().is_usable() {
                        return Some(drawn);
                    }
                    // Another job has found it wrong meanwhile, and may have taken back what it made before that was written
                    // down here.
                    *device = None;
                }
                Err(error) => {
                    *device = None;
                    drop(device);
                    self.watch.failed(number, &error);
                }
            }
        }
    }

    fn has_drawn(&self, rows: Range<u64>) -> bool {
        self.drawn().range(rows).next().is_some()
    }
}
