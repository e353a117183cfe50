//! Results that are not taken on trust: a sample is computed again by the processor, and a device that was wrong once is
//! not asked again.

use crate::error::GpuError;
use crate::kernels::{DeviceWalks, Kernels};
use antipode_solver_core::scramble::{Block, Drawn, Walks};
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

impl DeviceWalks {
    /// As [`DeviceWalks::draw`]; the first, the middle and the last rows, up to 24 in all, are compared with those of `walks`,
    /// from which this was made.
    ///
    /// # Errors
    /// [`GpuError::Wrong`], now and whenever this device is asked again; and those of [`DeviceWalks::draw`].
    pub fn verified_draw(
        &self,
        walks: &Walks,
        first_row: u64,
        rows: usize,
    ) -> Result<Drawn, GpuError> {
        let drawn = self.draw(first_row, rows)?;
        let count = (SAMPLED_ROWS / 3).min(rows);
        let mut right = Block::default();
        for from in [0, (rows - count) / 2, rows - count] {
            walks.fill(first_row.wrapping_add(from as u64), count, &mut right);
            let bytes = walks.state_bytes();
            let states = drawn.states.get(from * bytes..(from + count) * bytes);
            let depths = drawn.depths.get(from..from + count);
            let words = (0..count).all(|row| {
                let at = (from + row) * walks.stride();
                let moves = drawn.words.get(at..at + walks.stride());
                let word = right.word(row);
                moves.is_some_and(|moves| {
                    moves.starts_with(word)
                        && right
                            .next_move(row)
                            .is_none_or(|next| moves[word.len()] == next)
                })
            });
            if !words || states != Some(&right.states[..]) || depths != Some(&right.depths[..]) {
                return Err(self.kernels().device().quarantine(format!(
                    "scrambles from row {} on are not those of the processor",
                    first_row.wrapping_add(from as u64)
                )));
            }
        }
        Ok(drawn)
    }
}
