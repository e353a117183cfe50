//! A set of states of one shard: empty, sparse (sorted positions) or dense (one bit a state).

pub use super::codec::FrontierError;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The shape of a shard: `blocks` superblocks of `words` words of 64 bits. Bit `k` of word `w` of
/// superblock `t` is the position `(t * words + w) * 64 + k`; not every bit of a word is used.
/// Positions of a shard are below 2^32, and a superblock has at most 1023 words, so that the number of
/// its states fits 16 bits. A space without an index has no blocks: its states are keys
/// of `words` words each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardGeometry {
    pub blocks: u32,
    pub words: u32,
    /// Number of states of the shard.
    pub states: u64,
}

impl ShardGeometry {
    /// Bytes of the set as a bitmap.
    pub fn dense_bytes(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.words) * 8
    }

    /// About how many bytes in memory a set of `count` states takes.
    pub fn memory_bytes(&self, count: u64) -> u64 {
        if self.blocks == 0 {
            count.saturating_mul(u64::from(self.words) * 8)
        } else if count < Frontier::sparse_limit(*self) {
            count * 4
        } else {
            self.dense_bytes() + u64::from(self.blocks) * 2
        }
    }

    /// No set of `count` states has more bytes than this when it is encoded.
    pub fn encoded_bytes_at_most(&self, count: u64) -> u64 {
        let body = if self.blocks == 0 {
            count.saturating_mul(u64::from(self.words) * 8)
        } else {
            self.dense_bytes().max(count.saturating_mul(4))
        };
        body.saturating_add(1)
    }
}

/// Names the content of a [`Frontier`] within this process: copies have the same one, no other set ever has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrontierId(u64);

impl FrontierId {
    /// A name that no set has had.
    pub(crate) fn fresh() -> FrontierId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        FrontierId(NEXT.fetch_add(1, Relaxed))
    }
}

/// A set of states of one shard, immutable once made.
#[derive(Debug, Clone)]
pub struct Frontier {
    pub(crate) id: FrontierId,
    pub(crate) geometry: ShardGeometry,
    pub(crate) count: u64,
    pub(crate) body: Body,
}

/// The states of a set as they are held; keys of a space without an index are not shown.
#[derive(Debug, Clone, Copy)]
pub enum View<'a> {
    Empty,
    /// Ascending positions.
    Positions(&'a [u32]),
    /// One bit a position, and the number of states in each superblock.
    Bits {
        words: &'a [u64],
        counts: &'a [u16],
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Empty,
    /// Sorted positions.
    Sparse(Vec<u32>),
    /// The bitmap, and the number of states in each superblock.
    Dense {
        words: Vec<u64>,
        counts: Vec<u16>,
    },
    /// Packed states of a space without an index: sorted keys of `geometry.words` words each.
    Keys(Vec<u64>),
}

/// Equal sets of equal form, whatever they are called.
impl PartialEq for Frontier {
    fn eq(&self, other: &Frontier) -> bool {
        (self.geometry, self.count) == (other.geometry, other.count) && self.body == other.body
    }
}

impl Eq for Frontier {}

impl Frontier {
    /// A set under a name of its own.
    pub(crate) fn new(geometry: ShardGeometry, count: u64, body: Body) -> Frontier {
        Frontier {
            id: FrontierId::fresh(),
            geometry,
            count,
            body,
        }
    }

    /// The same set under the name that it was promised.
    pub(crate) fn named(self, id: FrontierId) -> Frontier {
        Frontier { id, ..self }
    }

    /// The empty set.
    pub fn empty(geometry: ShardGeometry) -> Frontier {
        Frontier::new(geometry, 0, Body::Empty)
    }

    /// What names its content within this process.
    pub fn id(&self) -> FrontierId {
        self.id
    }

    /// How its states are held.
    pub fn view(&self) -> View<'_> {
        match &self.body {
            Body::Empty | Body::Keys(_) => View::Empty,
            Body::Sparse(positions) => View::Positions(positions),
            Body::Dense { words, counts } => View::Bits { words, counts },
        }
    }

    /// Number of states.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The shard's shape.
    pub fn geometry(&self) -> ShardGeometry {
        self.geometry
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> u64 {
        match &self.body {
            Body::Empty => 0,
            Body::Sparse(v) => v.capacity() as u64 * 4,
            Body::Keys(v) => v.capacity() as u64 * 8,
            Body::Dense { words, counts } => {
                words.capacity() as u64 * 8 + counts.capacity() as u64 * 2
            }
        }
    }

    /// A set of sorted keys.
    pub(crate) fn from_keys(geometry: ShardGeometry, keys: Vec<u64>) -> Frontier {
        if keys.is_empty() {
            return Frontier::empty(geometry);
        }
        let count = keys.len() as u64 / u64::from(geometry.words);
        Frontier::new(geometry, count, Body::Keys(keys))
    }

    /// A sparse set of sorted positions.
    pub(crate) fn from_positions(geometry: ShardGeometry, positions: Vec<u32>) -> Frontier {
        if positions.is_empty() {
            return Frontier::empty(geometry);
        }
        let count = positions.len() as u64;
        Frontier::new(geometry, count, Body::Sparse(positions))
    }

    /// Is the position in the set?
    pub(crate) fn contains(&self, position: u32) -> bool {
        match &self.body {
            Body::Empty | Body::Keys(_) => false,
            Body::Sparse(v) => v.binary_search(&position).is_ok(),
            Body::Dense { words, .. } => {
                words[(position / 64) as usize] >> (position % 64) & 1 == 1
            }
        }
    }

    /// Calls `visit` with every position, ascending.
    pub fn for_each(&self, mut visit: impl FnMut(u32)) {
        match &self.body {
            Body::Empty | Body::Keys(_) => {}
            Body::Sparse(v) => v.iter().copied().for_each(visit),
            Body::Dense { words, counts } => {
                let per_block = self.geometry.words as usize;
                for (block, _) in counts.iter().enumerate().filter(|(_, c)| **c != 0) {
                    for w in block * per_block..(block + 1) * per_block {
                        let mut word = words[w];
                        while word != 0 {
                            visit(w as u32 * 64 + word.trailing_zeros());
                            word &= word - 1;
                        }
                    }
                }
            }
        }
    }

    /// All positions, ascending.
    pub(crate) fn positions(&self) -> Vec<u32> {
        let mut out = Vec::with_capacity(self.count as usize);
        self.for_each(|p| out.push(p));
        out
    }

    /// The states that are in both sets.
    pub(crate) fn common(&self, other: &Frontier) -> Frontier {
        let mut positions = Vec::new();
        self.for_each(|p| {
            if other.contains(p) {
                positions.push(p);
            }
        });
        Frontier::from_positions(self.geometry, positions)
    }

    /// Do its positions take less than half of a bitmap?
    pub(crate) fn is_thin(&self) -> bool {
        self.count * 4 < self.geometry.dense_bytes() / 2
    }

    /// As positions where those take less memory than bits.
    pub(crate) fn compact(self) -> Frontier {
        match &self.body {
            Body::Dense { .. } if self.is_thin() => {
                Frontier::from_positions(self.geometry, self.positions()).named(self.id)
            }
            _ => self,
        }
    }

    /// Up to this many states a set is stored as positions (4 bytes a state) rather than bits.
    pub(crate) fn sparse_limit(geometry: ShardGeometry) -> u64 {
        geometry.states / 900
    }

    pub(crate) fn from_words(geometry: ShardGeometry, words: Vec<u64>) -> Frontier {
        let counts: Vec<u16> = words
            .chunks_exact(geometry.words as usize)
            .map(|block| block.iter().map(|w| w.count_ones()).sum::<u32>() as u16)
            .collect();
        let count = counts.iter().map(|&c| u64::from(c)).sum();
        if count == 0 {
            return Frontier::empty(geometry);
        }
        Frontier::new(geometry, count, Body::Dense { words, counts })
    }
}
