//! How a device and the processor are timed, and the processor's side of rows of scrambles: the same for `bench` and for
//! the measurement that decides between them.

use crate::error::GpuError;
use antipode_solver_core::scramble::table::Loaded;
use antipode_solver_core::scramble::{Block, Wanted};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Instant;

/// Each time is the best of so many.
const TRIES: u32 = 3;

/// Seconds of the quickest try; `work` says what each took.
pub fn best_of(mut work: impl FnMut() -> Result<f64, GpuError>) -> Result<f64, GpuError> {
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        best = best.min(work()?);
    }
    Ok(best.max(1e-9))
}

/// The same for work that is timed as a whole.
pub fn best(mut work: impl FnMut() -> Result<(), GpuError>) -> Result<f64, GpuError> {
    best_of(|| {
        let begun = Instant::now();
        work()?;
        Ok(begun.elapsed().as_secs_f64())
    })
}

/// The first `rows` rows with what is wanted, block by block in the same memory, as files are written, in the thread pool
/// this is called in.
pub fn draw_on_processor(loaded: &Loaded, wanted: Wanted, rows: usize) {
    let together = loaded.walks.block_rows();
    let blocks = (0..rows.div_ceil(together)).into_par_iter();
    blocks.for_each_init(Block::default, |block, k| {
        let count = together.min(rows - k * together);
        loaded.walks.fill((k * together) as u64, count, block);
        let states = &block.states;
        black_box(wanted.keys.then(|| loaded.keys_of(states)));
        black_box(wanted.children.then(|| loaded.children_of(states)));
        black_box(wanted.encoded.then(|| loaded.encodings_of(states)));
    });
}
