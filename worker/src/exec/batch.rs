//! Loading a batch job: each kind has its own [`Batch`].

use crate::devices::Devices;
use crate::net::Announcer;
use crate::scrambles::{DeviceDraws, Parts};
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
    devices: &Devices,
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
            let watch = devices.watch(spec, announcer);
            let devices = DeviceDraws::new(&devices.for_rows(), spec, parts.loaded(), watch);
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
