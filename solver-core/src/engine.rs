//! The engine: one interface over all block kinds. It answers which shards exist, where the
//! inputs of a shard come from, and computes one level of one shard as a pure function.

use crate::bfs::frontier::{Frontier, FrontierError, ShardGeometry};
use crate::job::{Task, TaskOutput};
use crate::puzzle::{Puzzle, State};
use crate::space::{SpaceDef, SpaceError};
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

/// Content digest of a set of states of one shard, or of a whole level (the wrapping sum of its
/// shards' digests). It depends on the index layout alone: not on kernel, encoding or threads.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Digest(pub u128);

impl Digest {
    /// Digest of the union of two disjoint sets.
    #[must_use]
    pub fn plus(self, other: Digest) -> Digest {
        Digest(self.0.wrapping_add(other.0))
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

impl KernelChoice {
    /// `portable`, `avx2` or `avx512`: what an engine loaded with this choice will use on this processor.
    pub fn resolve(self) -> Result<&'static str, EngineError> {
        Ok(crate::bfs::kernel::Kernel::choose(self)?.name())
    }
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
    /// An internal error: a violated certificate or law. Exit code 70.
    #[error("internal error: {0}")]
    Violated(String),
    #[error("needs {needed} bytes of memory, {allowed} are allowed")]
    Memory { needed: u64, allowed: u64 },
    #[error("{0}")]
    Input(String),
}

/// The states of a shard that were seen before, consumed by [`Engine::expand`] (buffers are reused).
#[derive(Debug)]
pub enum Seen {
    /// Inverse-closed lists: frontier(level-2) of the shard; empty for level 1.
    Previous(Frontier),
    /// Directed lists: the union of all levels up to level-1 of the shard.
    Visited(Frontier),
}

/// Result of expanding one level of one shard.
#[derive(Debug)]
pub struct Expanded {
    pub frontier: Frontier,
    /// Directed lists: the union of all levels up to this one.
    pub visited: Option<Frontier>,
    pub digest: Digest,
    pub certificate: Certificate,
}

/// A loaded index with its kernel. Immutable and shareable between threads; every method is a
/// pure function of its arguments. Parallel loops run in the rayon pool it is called in.
pub struct Engine {
    inner: Box<dyn crate::space::Space>,
}

impl Engine {
    /// Checks `def` completely against `puzzle` and builds the tables.
    pub fn load(
        puzzle: &Puzzle,
        def: &SpaceDef,
        kernel: KernelChoice,
    ) -> Result<Engine, EngineError> {
        Ok(Engine {
            inner: crate::space::load(puzzle, def, kernel)?,
        })
    }

    /// `chain`, `product`, `table` or `sparse`.
    pub fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    /// `portable`, `avx2` or `avx512`.
    pub fn kernel(&self) -> &'static str {
        self.inner.kernel()
    }

    /// Number of shards.
    pub fn shards(&self) -> u32 {
        self.inner.shards()
    }

    /// Is the generator list not closed under inverse?
    pub fn is_directed(&self) -> bool {
        self.inner.is_directed()
    }

    /// The shape of a shard's sets.
    pub fn geometry(&self, shard: ShardId) -> ShardGeometry {
        self.inner.geometry(shard)
    }

    /// The shards whose frontier(level-1) is an input of level `level` of `shard`, ascending.
    /// The shard itself is listed only if a move maps it to itself.
    pub fn sources(&self, shard: ShardId) -> Vec<ShardId> {
        self.inner.sources(shard)
    }

    /// Level 0 of a shard.
    pub fn roots(&self, shard: ShardId) -> Frontier {
        self.inner.roots(shard)
    }

    /// One level of one shard. `sources` holds frontier(level-1) of every source shard, `own`
    /// frontier(level-1) of the shard. `samples` states are certified (0: none).
    pub fn expand(
        &self,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
        samples: u32,
    ) -> Result<Expanded, EngineError> {
        self.inner.expand(level, shard, sources, own, seen, samples)
    }

    /// Digest of a set of states of a shard.
    pub fn digest(&self, shard: ShardId, frontier: &Frontier) -> Digest {
        self.inner.digest(shard, frontier)
    }

    /// The lexicographically smallest `limit` states of a set, ascending.
    pub fn smallest(&self, shard: ShardId, frontier: &Frontier, limit: usize) -> Vec<State> {
        self.inner.smallest(shard, frontier, limit)
    }

    /// The lexicographically least shortest words (generator order) of states at distance `level`,
    /// found by a search from both ends within `memory_bytes`. `kept` gives frontiers of levels that
    /// happen to be at hand; they only make the search cheaper.
    pub fn words(
        &self,
        level: Level,
        states: &[State],
        kept: &(dyn Fn(Level, ShardId) -> Option<std::sync::Arc<Frontier>> + Sync),
        memory_bytes: u64,
    ) -> Vec<Result<Vec<u16>, String>> {
        self.inner.words(level, states, kept, memory_bytes)
    }

    /// Levels of a space without an index are refused when they would need more memory than this.
    pub fn limit_memory(&self, bytes: u64) {
        self.inner.limit_memory(bytes);
    }

    /// Bytes of tables, apart from frontiers.
    pub fn table_bytes(&self) -> u64 {
        self.inner.table_bytes()
    }

    /// Bytes that one call of `expand` may need for `shard` besides its inputs.
    pub fn expand_bytes(&self, shard: ShardId) -> u64 {
        self.inner.geometry(shard).dense_bytes()
    }
}

/// The shape of a task's answer must fit the task; used where results come in from outside.
pub fn output_fits(task: &Task, output: &TaskOutput) -> bool {
    matches!(
        (task, output),
        (Task::Expand { .. }, TaskOutput::Expanded { .. })
            | (Task::Smallest { .. }, TaskOutput::Smallest { .. })
            | (Task::Words { .. }, TaskOutput::Words { .. })
    )
}
