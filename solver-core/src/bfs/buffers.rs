//! Bitmaps of shards: lent, made from positions, and kept for the next level instead of being freed and
//! touched anew.

use super::frontier::{Body, Frontier, ShardGeometry};
use super::kernel::pages;
use rayon::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many bitmaps are kept.
const FREE_MAX: usize = 2;

/// Bitmaps of one shard that are out of use.
#[derive(Default)]
pub(crate) struct Buffers {
    free: Mutex<Vec<Vec<u64>>>,
}

/// A set as a bitmap with the number of states in each superblock: its own or made for the occasion.
pub(crate) enum Bits<'a> {
    Empty,
    Lent(&'a [u64], &'a [u16]),
    Made(Vec<u64>, Vec<u16>),
}

impl Bits<'_> {
    /// The words and the counts; `None` for the empty set.
    pub fn get(&self) -> Option<(&[u64], &[u16])> {
        match self {
            Bits::Empty => None,
            Bits::Lent(words, counts) => Some((words, counts)),
            Bits::Made(words, counts) => Some((words, counts)),
        }
    }
}

impl Buffers {
    fn free(&self) -> MutexGuard<'_, Vec<Vec<u64>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `len` words, all zero.
    pub fn take(&self, len: usize) -> Vec<u64> {
        let mut free = self.free();
        match free.iter().position(|b| b.len() == len) {
            Some(i) => {
                let mut buffer = free.swap_remove(i);
                drop(free);
                buffer.par_chunks_mut(1 << 16).for_each(|c| c.fill(0));
                buffer
            }
            None => {
                drop(free);
                pages::zeroed(len)
            }
        }
    }

    fn give(&self, buffer: Vec<u64>) {
        let mut free = self.free();
        if free.len() < FREE_MAX {
            free.push(buffer);
        }
    }

    /// Keeps the bitmap of a set that nobody needs any more.
    pub fn recycle(&self, set: Frontier) {
        if let Body::Dense { words, .. } = set.body {
            self.give(words);
        }
    }

    /// Keeps a bitmap that was made for the occasion.
    pub fn give_back(&self, bits: Bits<'_>) {
        if let Bits::Made(words, _) = bits {
            self.give(words);
        }
    }

    /// A set as a bitmap, without taking it away.
    pub fn bits<'a>(&self, set: &'a Frontier) -> Bits<'a> {
        match &set.body {
            Body::Empty | Body::Keys(_) => Bits::Empty,
            Body::Dense { words, counts } => Bits::Lent(words, counts),
            Body::Sparse(positions) => {
                let (words, counts) = self.spread(set.geometry, positions);
                Bits::Made(words, counts)
            }
        }
    }

    /// Makes a set a bitmap, in a buffer of its own.
    pub fn dense(&self, set: Frontier) -> (Vec<u64>, Vec<u16>) {
        match set.body {
            Body::Dense { words, counts } => (words, counts),
            Body::Sparse(positions) => self.spread(set.geometry, &positions),
            Body::Empty | Body::Keys(_) => self.spread(set.geometry, &[]),
        }
    }

    /// The bitmap of ascending positions, and the number of states in each superblock.
    fn spread(&self, geometry: ShardGeometry, positions: &[u32]) -> (Vec<u64>, Vec<u16>) {
        let per_block = geometry.words as usize;
        let mut words = self.take(geometry.blocks as usize * per_block);
        let mut counts = vec![0u16; geometry.blocks as usize];
        if positions.is_empty() {
            return (words, counts);
        }
        let run = 4096;
        let stride = geometry.words * 64;
        words
            .par_chunks_mut(run * per_block)
            .zip(counts.par_chunks_mut(run))
            .enumerate()
            .for_each(|(k, (words, counts))| {
                let base = (k * run) as u64 * u64::from(stride);
                let end = base + counts.len() as u64 * u64::from(stride);
                let from = positions.partition_point(|&p| u64::from(p) < base);
                for &p in positions[from..]
                    .iter()
                    .take_while(|&&p| u64::from(p) < end)
                {
                    let at = (u64::from(p) - base) as u32;
                    words[(at / 64) as usize] |= 1 << (at % 64);
                    counts[(at / stride) as usize] += 1;
                }
            });
        (words, counts)
    }

    /// The set as positions or as a bitmap, whichever its size asks for.
    pub fn settled(&self, set: Frontier) -> Frontier {
        let small = set.count <= Frontier::sparse_limit(set.geometry);
        match (&set.body, small) {
            (Body::Dense { .. }, true) => {
                let out = Frontier::from_positions(set.geometry, set.positions()).named(set.id);
                self.recycle(set);
                out
            }
            (Body::Sparse(_), false) => {
                let (id, geometry, count) = (set.id, set.geometry, set.count);
                let (words, counts) = self.dense(set);
                Frontier::new(geometry, count, Body::Dense { words, counts }).named(id)
            }
            _ => set,
        }
    }

    /// The union of two disjoint sets.
    pub fn union(&self, set: Frontier, new: &Frontier) -> Frontier {
        if new.count == 0 {
            return set;
        }
        let geometry = set.geometry;
        let count = set.count + new.count;
        let both_sparse =
            !matches!(set.body, Body::Dense { .. }) && !matches!(new.body, Body::Dense { .. });
        if both_sparse {
            let mut all = set.positions();
            new.for_each(|p| all.push(p));
            all.sort_unstable();
            return self.settled(Frontier::from_positions(geometry, all));
        }
        let (mut words, mut counts) = self.dense(set);
        add_words(&mut words, new);
        add_counts(&mut counts, new);
        Frontier::new(geometry, count, Body::Dense { words, counts })
    }
}

fn add_words(words: &mut [u64], new: &Frontier) {
    match &new.body {
        Body::Empty | Body::Keys(_) => {}
        Body::Sparse(v) => v
            .iter()
            .for_each(|p| words[(p / 64) as usize] |= 1 << (p % 64)),
        Body::Dense { words: new, .. } => words.iter_mut().zip(new).for_each(|(w, n)| *w |= n),
    }
}

/// Adds the numbers of a disjoint set's states to those of each superblock.
pub(crate) fn add_counts(counts: &mut [u16], new: &Frontier) {
    match &new.body {
        Body::Empty | Body::Keys(_) => {}
        Body::Sparse(v) => {
            let stride = new.geometry.words * 64;
            v.iter().for_each(|p| counts[(p / stride) as usize] += 1);
        }
        Body::Dense { counts: new, .. } => counts.iter_mut().zip(new).for_each(|(c, n)| *c += n),
    }
}
