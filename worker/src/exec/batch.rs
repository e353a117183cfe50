//! Loading a batch job: each kind has its own [`Batch`].

use super::item::LEVEL;
use crate::net::Announcer;
use crate::scrambles::{DeviceDraws, OnFailure, Parts};
use antipode_gpu::{GpuError, Kernels};
use antipode_solver_core::batch::{Batch, BatchSpec};
use antipode_solver_core::engine::{EngineError, ShardId};
use antipode_solver_core::job::JobDefinition;
use antipode_solver_core::survey::landmarks;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

/// What computes the items of a job, on `devices` where the kind can; what an item makes does not depend on them, and
/// the CPU computes where they fail.
///
/// # Errors
/// What the kind needs to be told; see [`EngineError`].
pub fn load(
    spec: &BatchSpec,
    _definition: &JobDefinition,
    devices: &[Arc<Kernels>],
    announcer: &Announcer,
) -> Result<Box<dyn Batch>, EngineError> {
    match spec {
        BatchSpec::Diameter(spec) => Ok(Box::new(spec.load()?)),
        BatchSpec::Landmarks(spec) => {
            let opened = Instant::now();
            let items = landmarks::items::Items::load(spec, Box::new(move || opened.elapsed()))?;
            Ok(Box::new(items))
        }
        BatchSpec::Scrambles(spec) => {
            let parts = Parts::new(spec.clone(), None);
            let mut parts = parts.map_err(|error| EngineError::Input(error.to_string()))?;
            let on_failure = on_failure(spec.part_rows, spec.offset, announcer);
            let devices = DeviceDraws::new(devices, spec, parts.loaded(), on_failure);
            let devices = devices.map_err(|error| EngineError::Violated(error.to_string()))?;
            if let Some(devices) = devices {
                parts = parts.with_draws(Arc::new(devices));
            }
            Ok(Box::new(parts))
        }
    }
}

/// What users are told of a device that fails, and which items are taken back for it.
fn on_failure(part_rows: u32, offset: u64, announcer: &Announcer) -> OnFailure {
    let announcer = announcer.clone();
    Box::new(move |why: &GpuError, rows: &[u64]| {
        announcer.note(format!("{why}; the CPU, or another device, goes on"));
        let item = |row: &u64| (row - offset) / u64::from(part_rows.max(1));
        let items: BTreeSet<u64> = rows.iter().map(item).collect();
        let items: Vec<_> = items.iter().map(|&k| (LEVEL, ShardId(k as u32))).collect();
        if !items.is_empty() {
            announcer.retract(&items, &why.to_string());
        }
    })
}

#[cfg(test)]
mod tests;
