//! Results that are not taken on trust: a sample is computed again by the processor, and a device that was wrong once is
//! not asked again.

use crate::error::GpuError;
use crate::kernels::{DeviceRows, Kernels};
use antipode_solver_core::scramble::Drawn;
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

/// Rows of scrambles that are computed again, in three places.
const SAMPLED_ROWS: usize = 24;

impl DeviceRows {
    /// As [`DeviceRows::draw`]; the first, the middle and the last rows, up to 24 in all, are compared with those of the
    /// processor, with all that was made of them.
    ///
    /// # Errors
    /// [`GpuError::Wrong`], now and whenever this device is asked again; and those of [`DeviceRows::draw`].
    pub fn verified_draw(&mut self, first_row: u64, rows: usize) -> Result<Drawn, GpuError> {
        let drawn = self.draw(first_row, rows)?;
        let (loaded, wanted) = self.twin();
        let wrong = |what: String| Err(self.kernels().device().quarantine(what));
        if let Err(error) = loaded.check(wanted, rows, &drawn) {
            return wrong(error.to_string());
        }
        let count = (SAMPLED_ROWS / 3).min(rows);
        for from in [0, (rows - count) / 2, rows - count] {
            let first = first_row.wrapping_add(from as u64);
            let right = loaded.drawn(wanted, first, count);
            let right = right.view(&loaded.walks, 0..count);
            let ours = drawn.view(&loaded.walks, from..from + count);
            if let Some(what) = ours.difference(&right) {
                return wrong(format!(
                    "the {what} of scrambles from row {first} on are not those of the processor"
                ));
            }
        }
        Ok(drawn)
    }
}
