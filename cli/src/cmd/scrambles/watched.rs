//! What the devices of `run scrambles` have made, and which rows are in doubt because one of them was wrong.

use antipode_gpu::GpuError;
use antipode_worker::scrambles::Watch;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub struct Watched(Mutex<Rows>);

/// First rows of row groups.
#[derive(Debug, Default)]
struct Rows {
    /// By the device that made them.
    made: Vec<(u32, u64)>,
    doubtful: BTreeSet<u64>,
}

impl Watched {
    /// The rows in doubt, once.
    pub fn take(&self) -> BTreeSet<u64> {
        std::mem::take(&mut self.rows().doubtful)
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Watched {
    fn drawn(&self, device: u32, first: u64) {
        self.rows().made.push((device, first));
    }

    fn failed(&self, device: u32, why: &GpuError) {
        eprintln!("{why}; going on with the CPU");
        if let GpuError::Wrong { .. } = why {
            let mut rows = self.rows();
            let its = rows.made.extract_if(.., |(by, _)| *by == device);
            let its: Vec<u64> = its.map(|(_, first)| first).collect();
            rows.doubtful.extend(its);
        }
    }
}
