//! Loading a batch job: each kind has its own [`Batch`].

use crate::scrambles::{Devices, Parts};
use antipode_gpu::Kernels;
use antipode_solver_core::batch::{Batch, BatchSpec};
use antipode_solver_core::engine::EngineError;
use antipode_solver_core::job::JobDefinition;
use antipode_solver_core::survey::landmarks;
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
            let devices = Devices::new(devices, spec, parts.loaded());
            let devices = devices.map_err(|error| EngineError::Violated(error.to_string()))?;
            if let Some(devices) = devices {
                parts = parts.with_draws(Arc::new(devices));
            }
            Ok(Box::new(parts))
        }
    }
}

#[cfg(test)]
mod tests;
