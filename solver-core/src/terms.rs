//! The words that the engine, its spaces and its levels share: what a level, a shard, a digest is, and
//! what a task takes and gives. Public under [`crate::engine`].

use crate::bfs::frontier::{Frontier, FrontierError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Distance from the root.
pub type Level = u32;

/// A shard of the index: one value of a digit prefix, numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ShardId(pub u32);

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Content digest of a set of states of one shard, or of a whole level (the sum of its
/// shards' digests, see [`Digest::plus`]). It depends on the index layout alone: not on kernel, encoding or threads.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Digest(pub u128);

impl Digest {
    /// Digest of the union of two disjoint sets: the two halves are added each for itself, without a
    /// carry between them.
    #[must_use]
    #[inline(always)]
    pub fn plus(self, other: Digest) -> Digest {
        let (a, b) = (self.0, other.0);
        let low = (a as u64).wrapping_add(b as u64);
        let high = ((a >> 64) as u64).wrapping_add((b >> 64) as u64);
        Digest(u128::from(high) << 64 | u128::from(low))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What was checked with raw permutations and the slow ranking about one level of one shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Sampled states of this level that were shown to have a predecessor in the level before.
    pub predecessors: u64,
    /// Sampled moves out of the level before that were shown to end in a level known by now,
    /// so that no state of this level was missed or came too late.
    pub successors: u64,
}

/// Which leaf kernel to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KernelChoice {
    /// The fastest that the processor has.
    #[default]
    Auto,
    Portable,
    Avx2,
    Avx512,
}

/// What the engine cannot do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Space(#[from] SpaceError),
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    #[error("this processor has no {0}; use --kernel auto")]
    NoKernel(&'static str),
    /// Somebody wanted it to end before its time.
    #[error("stopped")]
    Stopped,
    /// An internal error: a violated certificate or law. Exit code 70.
    #[error("internal error: {0}")]
    Violated(String),
    #[error("needs {needed} bytes of memory, {allowed} are allowed")]
    Memory { needed: u64, allowed: u64 },
    #[error("{0}")]
    Input(String),
}

/// The states of a shard that were seen before, consumed by
/// [`crate::engine::Engine::expand`] (buffers are reused).
#[derive(Debug)]
pub enum Seen {
    /// Inverse-closed lists: frontier(level-2) of the shard; empty for level 1.
    Previous(Frontier),
    /// Directed lists: the union of all levels up to level-1 of the shard.
    Visited(Frontier),
}

impl Seen {
    /// The states themselves.
    pub fn set(&self) -> &Frontier {
        match self {
            Seen::Previous(set) | Seen::Visited(set) => set,
        }
    }
}

/// What it took that a device (a graphics processor) and not the processor computed a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OnDevice {
    /// Bytes of inputs that were not on the device yet and were brought there; 0 where all were.
    pub uploaded_bytes: u64,
}

/// Result of expanding one level of one shard.
#[derive(Debug)]
pub struct Expanded {
    pub frontier: Frontier,
    /// Directed lists: the union of all levels up to this one.
    pub visited: Option<Frontier>,
    pub digest: Digest,
    pub certificate: Certificate,
    /// `None`: the processor computed it.
    pub on_device: Option<OnDevice>,
}

/// Why there is no index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    #[error("{0}")]
    Unsupported(String),
    #[error("the stored index does not fit the puzzle: {0}")]
    Damaged(String),
}
