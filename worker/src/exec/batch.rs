//! Loading a batch job: each kind has its own [`Batch`].

use crate::scrambles::Parts;
use antipode_solver_core::batch::{Batch, BatchSpec};
use antipode_solver_core::engine::EngineError;
use antipode_solver_core::job::JobDefinition;
use antipode_solver_core::survey::landmarks;
use std::time::Instant;

/// What computes the items of a job.
///
/// # Errors
/// What the kind needs to be told; see [`EngineError`].
pub fn load(spec: &BatchSpec, _definition: &JobDefinition) -> Result<Box<dyn Batch>, EngineError> {
    match spec {
        BatchSpec::Diameter(spec) => Ok(Box::new(spec.load()?)),
        BatchSpec::Landmarks(spec) => {
            let opened = Instant::now();
            let items = landmarks::items::Items::load(spec, Box::new(move || opened.elapsed()))?;
            Ok(Box::new(items))
        }
        BatchSpec::Scrambles(spec) => {
            let parts = Parts::new(spec.clone(), None);
            let parts = parts.map_err(|error| EngineError::Input(error.to_string()))?;
            Ok(Box::new(parts))
        }
    }
}
