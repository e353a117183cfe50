//! `--unique`: which rows repeat the state of an earlier one. Rows can be drawn again at any time, so nothing but a hash
//! and a number a row is held, for as many rows at once as memory allows: the rows are gone through once for every
//! range of hashes. Equal hashes are compared state by state.

use crate::exit::Failure;
use antipode_solver_core::batch::Stop;
use antipode_solver_core::scramble::{Block, ScramblesSpec, Walks};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

/// Memory of a row: hash and number, and once more while they are sorted.
const BYTES_A_ROW: u64 = 2 * 16;
/// Rows in a block.
const BLOCK: u64 = 1024;

/// Rows that are left out, one bit each.
pub struct Dropped {
    offset: u64,
    bits: Vec<u64>,
    /// How many there are.
    pub count: u64,
}

impl Dropped {
    pub fn none(spec: &ScramblesSpec) -> Dropped {
        Dropped {
            offset: spec.offset,
            bits: Vec::new(),
            count: 0,
        }
    }

    pub fn has(&self, row: u64) -> bool {
        let at = row - self.offset;
        let word = self.bits.get((at / 64) as usize);
        word.is_some_and(|w| w >> (at % 64) & 1 == 1)
    }

    fn add(&mut self, row: u64) {
        let at = row - self.offset;
        self.bits[(at / 64) as usize] |= 1 << (at % 64);
        self.count += 1;
    }
}

/// Finds the rows whose state has a lower row. Within the pool that it is called in.
///
/// # Errors
/// Too little memory for one bit a row; stopped.
pub fn find(
    spec: &ScramblesSpec,
    walks: &Walks,
    memory_bytes: u64,
    stop: &Stop,
) -> Result<Dropped, Failure> {
    let bits = spec.rows / 8;
    let Some(room) = memory_bytes
        .checked_sub(bits)
        .filter(|&room| room >= 1 << 20)
    else {
        return Err(Failure::input(format!(
            "--unique needs a bit a row, {}, and some memory besides; allow more with --memory",
            crate::memory::show(bits)
        )));
    };
    let mut dropped = Dropped::none(spec);
    dropped.bits = vec![0; spec.rows.div_ceil(64) as usize];
    // Hashes are not spread perfectly: a fifth more.
    let passes = (spec.rows.saturating_mul(BYTES_A_ROW) / 5 * 6)
        .div_ceil(room)
        .max(1);
    for pass in 0..passes {
        let mut rows = hashes(spec, walks, (pass, passes), stop)?;
        rows.par_sort_unstable();
        stop.check()?;
        for run in rows.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
            repeats(walks, run, &mut dropped);
        }
    }
    Ok(dropped)
}

/// Hash and number of the rows whose hash belongs to the pass.
fn hashes(
    spec: &ScramblesSpec,
    walks: &Walks,
    (pass, passes): (u64, u64),
    stop: &Stop,
) -> Result<Vec<(u64, u64)>, Failure> {
    let blocks = spec.rows.div_ceil(BLOCK);
    let width = walks.state_bytes();
    let one = |block: &mut Block, k: u64| {
        stop.check()?;
        let first = spec.offset + k * BLOCK;
        let count = BLOCK.min(spec.offset + spec.rows - first);
        walks.fill(first, count as usize, block);
        let states = block.states.chunks_exact(width).zip(first..);
        let hashed = states.map(|(state, row)| (xxh3_64(state), row));
        let mine = |&(hash, _): &(u64, u64)| {
            ((u128::from(hash) * u128::from(passes)) >> 64) as u64 == pass
        };
        Ok::<_, Failure>(hashed.filter(mine).collect::<Vec<_>>())
    };
    let chunks = (0..blocks).into_par_iter().map_init(Block::default, one);
    chunks
        .try_fold(Vec::new, |mut all: Vec<(u64, u64)>, some| {
            all.extend(some?);
            Ok::<_, Failure>(all)
        })
        .try_reduce(Vec::new, |mut one, two| {
            one.extend(two);
            Ok(one)
        })
}

/// Of rows with one hash, in ascending order, those whose state an earlier one has.
fn repeats(walks: &Walks, run: &[(u64, u64)], dropped: &mut Dropped) {
    let mut block = Block::default();
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for &(_, row) in run {
        walks.fill(row, 1, &mut block);
        if seen.contains(&block.states) {
            dropped.add(row);
        } else {
            seen.push(block.states.clone());
        }
    }
}
