//! Results that are not taken on trust: a sample is computed again by the processor, and a device that was wrong once is
//! not asked again.

use crate::error::GpuError;
use crate::kernels::Kernels;
use antipode_solver_core::states::States;
use antipode_solver_core::states::distances::{self, Measure};

/// States whose distances are computed again.
const SAMPLED_STATES: usize = 64;

impl Kernels {
    /// As [`Kernels::distances`]; up to 64 of the states, spread evenly with the first and the last among them, are
    /// compared with the processor's answer.
    ///
    /// # Errors
    /// [`GpuError::Wrong`], now and whenever this device is asked again; and those of [`Kernels::distances`].
    pub fn verified_distances(
        &self,
        measure: Measure,
        states: &States,
        targets: &States,
    ) -> Result<Vec<u32>, GpuError> {
        let out = self.distances(measure, states, targets)?;
        let width = targets.len();
        let count = SAMPLED_STATES.min(states.len());
        for k in 0..count {
            let at = k * (states.len() - 1) / (count - 1).max(1);
            let state = States::of(states.degree(), states.row(at).to_vec())?;
            let right = distances::distances(measure, &state, targets)?;
            if out[at * width..(at + 1) * width] != right {
                return Err(self.device().quarantine(format!(
                    "the {} distances of state {at} are not those of the processor",
                    measure.name()
                )));
            }
        }
        Ok(out)
    }
}
