//! Block spaces: how a puzzle's states are numbered, sharded and moved, block by block.

mod attempt;
mod blocked;
mod body;
mod build;
mod chain;
pub(crate) mod fault;
mod load;
mod orbit;
mod product;
mod radix;
pub(crate) mod slow;
pub(crate) mod sparse;
mod table;
#[cfg(test)]
mod tests;

pub use build::build;
#[doc(hidden)]
pub use fault::PlantedFault;
pub(crate) use load::load;

pub(crate) use crate::bfs::block::Direction;
use crate::bfs::device::{DeviceTables, LevelDevice};
use crate::bfs::frontier::{Frontier, ShardGeometry};
use crate::bfs::words;
use crate::distance::Numbering;
use crate::puzzle::State;
pub use crate::terms::SpaceError;
use crate::terms::{Digest, EngineError, Expanded, Level, Seen, ShardId};
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

/// The slow, independent way between states and numbers: raw permutations only. Certificates and
/// `verify` rest on it. An element is a list that moves act on by `new[i] = old[p[i]]`; for chains the
/// group element itself, for colourings the labelling.
pub(crate) trait Index: Send + Sync {
    /// The element at a position; `None` for unused positions.
    fn unrank(&self, shard: ShardId, position: u32) -> Option<Vec<u16>>;
    /// Where an element is; `near` is any shard of the same part. `None`: not in the space.
    fn rank(&self, near: ShardId, element: &[u16]) -> Option<(ShardId, u32)>;
    /// The labelling that an element of a shard stands for.
    fn state(&self, shard: ShardId, element: &[u16]) -> State;
    /// All places of a labelling (one, unless parts overlap); empty: not in the space.
    fn places_of(&self, state: &State) -> Vec<(ShardId, u32)>;
    /// See [`Space::mirror`].
    fn mirror(&self, _shard: ShardId, _position: u32) -> Option<(ShardId, u32)> {
        None
    }
}

/// How a level is to be computed.
#[derive(Clone, Copy)]
pub(crate) struct By<'a> {
    /// Asked first, where there is one.
    pub device: Option<&'a dyn LevelDevice>,
    /// How many states of the result and of each source are certified.
    pub samples: u32,
}

/// One block kind behind [`crate::engine::Engine`], where most methods are described.
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
        by: By<'_>,
    ) -> Result<Expanded, EngineError>;
    /// `expand` in either direction, without certificate; `sources` holds all shards.
    fn sweep(
        &self,
        direction: Direction,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
    ) -> Result<Expanded, EngineError>;
    fn digest(&self, shard: ShardId, frontier: &Frontier) -> Digest;
    fn table_bytes(&self) -> u64;
    /// Number of generators.
    fn moves(&self) -> usize;
    /// One state by one generator (or its inverse).
    fn step(
        &self,
        shard: ShardId,
        position: u32,
        generator: usize,
        inverse: bool,
    ) -> (ShardId, u32);
    /// A state moved by every generator in turn, appended to `out`.
    fn neighbours(&self, shard: ShardId, position: u32, out: &mut Vec<(ShardId, u32)>) {
        out.extend((0..self.moves()).map(|m| self.step(shard, position, m, false)));
    }
    /// The labelling at a position; `None` for unused positions.
    fn state(&self, shard: ShardId, position: u32) -> Option<State>;
    fn places_of(&self, state: &State) -> Vec<(ShardId, u32)>;
    /// The places of the roots, the puzzle's first root first.
    fn root_places(&self) -> Vec<(ShardId, u32)>;
    /// How the states of a shard are numbered without gaps; `None` where they have no index.
    fn numbering(&self, shard: ShardId) -> Option<Numbering>;

    /// The inverse of a state, where states are group elements (chain kind) and the identity is the one root
    /// among those of its part; `None` elsewhere.
    fn mirror(&self, _shard: ShardId, _position: u32) -> Option<(ShardId, u32)> {
        None
    }

    /// Makes a table wrong, for tests of verification; false where it is too small for that.
    fn plant(&mut self, fault: PlantedFault) -> bool;

    /// Beyond this a level without an index is refused.
    fn limit_memory(&self, _bytes: u64) {}

    /// What a device needs to compute levels; `None` where there is no index.
    fn device_tables(&self) -> Option<DeviceTables<'_>> {
        None
    }

    /// The lexicographically smallest states of a set.
    fn smallest(&self, shard: ShardId, frontier: &Frontier, limit: usize) -> Vec<State> {
        words::smallest(self, shard, frontier, limit)
    }

    /// Least shortest words.
    fn words(
        &self,
        level: Level,
        states: &[State],
        kept: &(dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync),
        memory_bytes: u64,
    ) -> Vec<Result<Vec<u16>, String>> {
        words::least_words(self, level, states, kept, memory_bytes)
    }
}

/// The frontier of a source shard among the inputs of a task.
pub(crate) fn input_of<'a>(
    level: Level,
    shard: ShardId,
    wanted: ShardId,
    sources: &[(ShardId, &'a Frontier)],
) -> Result<(ShardId, &'a Frontier), EngineError> {
    sources
        .iter()
        .copied()
        .find(|(s, _)| *s == wanted)
        .ok_or_else(|| {
            EngineError::Input(format!(
                "level {level} of shard {shard} lacks its source shard {wanted}"
            ))
        })
}

/// All inputs must have the shape of the space.
pub(crate) fn check_inputs(
    level: Level,
    shard: ShardId,
    geometry: ShardGeometry,
    sources: &[(ShardId, &Frontier)],
    own: &Frontier,
    seen: &Frontier,
) -> Result<(), EngineError> {
    let all = sources.iter().map(|(_, f)| *f).chain([own, seen]);
    for f in all {
        if f.geometry() != geometry {
            return Err(EngineError::Input(format!(
                "level {level} of shard {shard}: an input has another shape"
            )));
        }
    }
    Ok(())
}

/// How many digits number the shards: enough for the wanted number of shards (default: 8 for
/// spaces of some millions of states, 1 below), and no shard beyond 2^32 positions or 64 MiB.
pub(crate) fn choose_prefix(
    lengths: &[u64],
    words: u64,
    leaf: u64,
    options: &LayoutOptions,
) -> Result<usize, SpaceError> {
    let blocks: u128 = lengths.iter().map(|&l| u128::from(l)).product();
    let states = blocks * u128::from(words * leaf);
    let wanted = u128::from(
        options
            .min_shards
            .unwrap_or(if states >= 5_000_000 { 8 } else { 1 }),
    );
    let (mut shards, mut rest) = (1u128, blocks);
    let mut prefix = 0;
    while prefix < lengths.len() && (shards < wanted || rest * u128::from(words) * 8 > 64 << 20) {
        shards *= u128::from(lengths[prefix]);
        rest /= u128::from(lengths[prefix]);
        prefix += 1;
    }
    if !radix::fits(lengths, prefix, words) {
        return Err(SpaceError::Unsupported(format!(
            "{states} states do not cut into at most a million shards of at most 2^32 states"
        )));
    }
    Ok(prefix)
}
