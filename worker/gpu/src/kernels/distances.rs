//! Distances of all states to all targets, in blocks (`distances.wgsl`).

use super::rows::{pack_columns, pairs, row_bytes};
use super::{Kernels, blocks};
use crate::error::GpuError;
use crate::pace::Pace;
use crate::vulkan::{Buffer, Place};
use antipode_solver_core::states::States;
use antipode_solver_core::states::distances::{self, Measure};

impl Kernels {
    /// As [`distances::distances`].
    ///
    /// # Errors
    /// Its own, and those of the device.
    pub fn distances(
        &self,
        measure: Measure,
        states: &States,
        targets: &States,
    ) -> Result<Vec<u32>, GpuError> {
        distances::check(states, targets)?;
        let sides = match measure {
            Measure::Manhattan => targets,
            Measure::Breakpoint => &distances::orders(targets)?,
        };
        let (degree, width) = (states.degree(), targets.len());
        let fits = self.rows_that_fit("a state", row_bytes(degree))?;
        let distances_that_fit = self.rows_that_fit("a distance", 4)?;
        let most_targets = fits.min(distances_that_fit).min(width.max(1));
        let most_states = fits.min(distances_that_fit / most_targets);
        let mut out = vec![0; states.len() * width];
        let mut pace = Pace::new(2 * degree as u64);
        // One block of targets stays on the device.
        let mut kept: Option<(usize, Buffer)> = None;
        for of_states in blocks(states.len(), most_states) {
            let from = self.upload(&pack_columns(states, of_states.clone()))?;
            for of_targets in blocks(width, most_targets) {
                let side = match kept.take() {
                    Some((first, buffer)) if first == of_targets.start => buffer,
                    _ => self.upload(&pack_columns(sides, of_targets.clone()))?,
                };
                let block = [of_states.len(), of_targets.len()];
                let made = self.block(measure, degree, block, [&from, &side], &mut pace)?;
                for (state, row) in of_states.clone().zip(made.chunks_exact(block[1])) {
                    let first = state * width + of_targets.start;
                    out[first..first + block[1]].copy_from_slice(row);
                }
                kept = Some((of_targets.start, side));
            }
        }
        Ok(out)
    }

    /// One block, state by state.
    fn block(
        &self,
        measure: Measure,
        degree: usize,
        [states, targets]: [usize; 2],
        [from, side]: [&Buffer; 2],
        pace: &mut Pace,
    ) -> Result<Vec<u32>, GpuError> {
        let kernel = match measure {
            Measure::Manhattan => &self.manhattan,
            Measure::Breakpoint => &self.breakpoint,
        };
        let to = self.device.buffer(states * targets, Place::Device)?;
        let shape = [pairs(degree), degree, states, targets].map(|n| n as u32);
        self.dispatch(
            kernel,
            &[from, side, &to],
            (states * targets) as u64,
            1,
            pace,
            |first, count| [&shape[..], &[first, count]].concat(),
        )?;
        self.download(&to, states * targets)
    }
}
