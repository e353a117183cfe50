//! Inputs for tests and measurements that are the same on every machine.

use antipode_solver_core::perm::Perm;
use antipode_solver_core::puzzle::{self, PuzzleOptions};
use antipode_solver_core::scramble::spec::{Rules, Shape};
use antipode_solver_core::scramble::table::Loaded;
use antipode_solver_core::scramble::{Column, Format, ScramblesSpec, WalkSpec};
use antipode_solver_core::states::States;
use std::sync::Arc;

/// Numbers from a seed (splitmix64, by Steele, Lea and Flood).
pub struct Sample(u64);

impl Sample {
    pub fn new(seed: u64) -> Sample {
        Sample(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// A permutation of `0..degree`.
    pub fn permutation(&mut self, degree: usize) -> Vec<u16> {
        let mut row: Vec<u16> = (0..degree).map(|i| i as u16).collect();
        for i in (1..degree).rev() {
            row.swap(i, self.below(i + 1));
        }
        row
    }

    /// `count` permutations; none where the degree is none that is supported.
    pub fn permutations(&mut self, degree: usize, count: usize) -> Option<States> {
        let labels = (0..count).flat_map(|_| self.permutation(degree)).collect();
        States::of(degree, labels).ok()
    }

    /// `count` rows of labels below `labels`.
    pub fn colourings(&mut self, degree: usize, count: usize, labels: usize) -> Option<States> {
        let row = (0..degree * count).map(|_| self.below(labels) as u16);
        States::of(degree, row.collect()).ok()
    }

    /// `count` generators.
    pub fn generators(&mut self, degree: usize, count: usize) -> Vec<Perm> {
        (0..count)
            .filter_map(|_| Perm::from_images(&self.permutation(degree)).ok())
            .collect()
    }

    /// `count` words of up to `longest` letters.
    pub fn words(&mut self, generators: usize, count: usize, longest: usize) -> Vec<Vec<u16>> {
        let mut word = || {
            let length = self.below(longest + 1);
            (0..length).map(|_| self.below(generators) as u16).collect()
        };
        (0..count).map(|_| word()).collect()
    }
}

/// A job of scrambles of a named puzzle, of a root or the usual one; a sentence where there is none.
pub fn scrambles(
    name: &str,
    root: Option<&str>,
    walks: WalkSpec,
    columns: &[Column],
) -> Result<(ScramblesSpec, Arc<Loaded>), String> {
    let options = PuzzleOptions {
        root: root.map(str::to_string),
        ..PuzzleOptions::default()
    };
    let spec = ScramblesSpec {
        puzzle: puzzle::resolve(name, &options).map_err(|error| error.to_string())?,
        walks,
        offset: 0,
        rows: 1,
        columns: columns.to_vec(),
        format: Format::Npy,
        lists: false,
        part_rows: 1,
    };
    let loaded = spec.load().map_err(|error| error.to_string())?;
    Ok((spec, Arc::new(loaded)))
}

/// The walks that are measured: 1 to 30 moves.
pub fn walks() -> WalkSpec {
    WalkSpec {
        seed: 1,
        shape: Shape::Walk {
            min_depth: 1,
            max_depth: 30,
        },
        rules: Rules::NoUndo,
    }
}
