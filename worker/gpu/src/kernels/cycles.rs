//! Cycles of words in batch, from which their orders follow (`cycles.wgsl`).

use super::rows::{pack, pairs, row_bytes};
use super::{Kernels, blocks};
use crate::error::GpuError;
use crate::pace::Pace;
use crate::vulkan::Place;
use antipode_solver_core::states::{States, words};

impl Kernels {
    /// As [`words::cycles`]; [`words::orders`] makes orders of it.
    ///
    /// # Errors
    /// Its own, and those of the device.
    pub fn cycles(&self, rows: &States) -> Result<Vec<u32>, GpuError> {
        words::permutations(rows)?;
        let degree = rows.degree();
        let pairs = pairs(degree);
        let fits = self
            .rows_that_fit("a permutation", row_bytes(degree))?
            .min(self.rows_that_fit("the cycles of a permutation", 4 * degree as u64)?);
        let mut lengths = Vec::with_capacity(rows.len() * degree);
        let mut pace = Pace::new(degree as u64);
        for block in blocks(rows.len(), fits) {
            let points = block.len() * degree;
            let from = self.upload(&pack(rows, block))?;
            let to = self.device.buffer(points, Place::Device)?;
            self.dispatch(
                &self.cycles,
                &[&from, &to],
                points as u64,
                1,
                &mut pace,
                |first, count| vec![pairs as u32, degree as u32, first, count],
            )?;
            lengths.extend(self.download(&to, points)?);
        }
        Ok(lengths)
    }
}
