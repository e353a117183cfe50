//! Block spaces: how a puzzle's states are numbered, sharded and moved, block by block.

use crate::bfs::frontier::{Frontier, ShardGeometry};
use crate::engine::{Digest, EngineError, Expanded, KernelChoice, Level, Seen, ShardId};
use crate::puzzle::{Puzzle, State};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the user wants the index laid out. All default values mean "choose well".
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutOptions {
    /// At least this many shards, where the digits allow it.
    pub min_shards: Option<u32>,
    /// `chain`, `product`, `table` or `sparse`; otherwise chosen.
    pub kind: Option<String>,
    /// At most this many states in a leaf word (1..=64), for tests.
    pub max_leaf: Option<u32>,
    /// At most this many states in a superblock, for tests.
    pub max_superblock: Option<u32>,
    /// Depth limit of a search without an index (sparse kind), where one is needed.
    pub depth: Option<u32>,
}

/// The index as it is computed once, stored with the job and checked when loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceDef {
    /// `chain`, `product`, `table` or `sparse`.
    pub kind: String,
    /// Number of shards.
    pub shards: u32,
    /// Source shards of every shard (for the coordinator, which loads no engine).
    pub sources: Vec<Vec<u32>>,
    /// States of every shard, where known.
    pub shard_states: Vec<u64>,
    /// Bytes of every shard's set as a bitmap.
    pub shard_bytes: Vec<u64>,
    /// Is the generator list not closed under inverse?
    pub directed: bool,
    /// Order of the group of the generators, a decimal number.
    pub group_order: String,
    /// The independently known number of states, a decimal number; `None` where not proved.
    pub states: Option<String>,
    /// How `states` is known, in words, e.g. "order of the group, stabiliser chain verified".
    pub states_proof: String,
    /// One line for `plan` and the result: digits, leaf, superblock.
    pub layout: String,
    /// The index itself, as the kind's own serialised form.
    pub body: Vec<u8>,
}

/// Why there is no index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    #[error("{0}")]
    Unsupported(String),
    #[error("the stored index does not fit the puzzle: {0}")]
    Damaged(String),
}

/// Computes the index of a puzzle: group, chain, leaf, shards. Deterministic.
pub fn build(_puzzle: &Puzzle, _options: &LayoutOptions) -> Result<SpaceDef, SpaceError> {
    Err(SpaceError::Unsupported("being laid".into()))
}

pub(crate) fn load(
    _puzzle: &Puzzle,
    _def: &SpaceDef,
    _kernel: KernelChoice,
) -> Result<Box<dyn Space>, EngineError> {
    Err(SpaceError::Unsupported("being laid".into()).into())
}

/// One block kind behind [`crate::engine::Engine`], where the methods are described.
pub(crate) trait Space: Send + Sync {
    fn kind(&self) -> &'static str;
    fn kernel(&self) -> &'static str;
    fn shards(&self) -> u32;
    fn is_directed(&self) -> bool;
    fn geometry(&self, shard: ShardId) -> ShardGeometry;
    fn sources(&self, shard: ShardId) -> Vec<ShardId>;
    fn roots(&self, shard: ShardId) -> Frontier;
    fn expand(
        &self,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
        samples: u32,
    ) -> Result<Expanded, EngineError>;
    fn digest(&self, shard: ShardId, frontier: &Frontier) -> Digest;
    fn smallest(&self, shard: ShardId, frontier: &Frontier, limit: usize) -> Vec<State>;
    fn words(
        &self,
        level: Level,
        states: &[State],
        kept: &dyn Fn(Level, ShardId) -> Option<Arc<Frontier>>,
        memory_bytes: u64,
    ) -> Vec<Result<Vec<u16>, String>>;
    fn table_bytes(&self) -> u64;
}
