//! What the worker needs of an engine: the seam between the machinery of this crate and the
//! mathematics, so that the machinery can be tested with a toy graph.

use crate::net::Announcer;
use antipode_solver_core::batch::Batch;
use antipode_solver_core::bfs::frontier::{Frontier, ShardGeometry};
use antipode_solver_core::distance::{Numbering, PackedDistances};
use antipode_solver_core::engine::{Digest, Engine, EngineError, Expanded, Level, Seen, ShardId};
use antipode_solver_core::job::JobDefinition;
use antipode_solver_core::puzzle::State;
use std::sync::Arc;

/// The methods of [`Engine`], where they are described.
pub trait Compute: Send + Sync + 'static {
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
        kept: &(dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync),
        memory_bytes: u64,
    ) -> Vec<Result<Vec<u16>, String>>;
    fn numbering(&self, shard: ShardId) -> Option<Numbering>;
    fn distance_digest(&self, shard: ShardId, distances: &PackedDistances) -> Digest;
    fn table_bytes(&self) -> u64;
    fn expand_bytes(&self, shard: ShardId) -> u64;
    /// The items, where the job is a batch job; then nothing else here is asked but numbers of bytes.
    fn batch(&self) -> Option<&dyn Batch> {
        None
    }
}

/// A batch job where an engine is expected: it has items and no graph.
pub struct Items(pub Box<dyn Batch>);

impl Items {
    const NO_GRAPH: &str = "a batch job has no levels";
    const EMPTY: ShardGeometry = ShardGeometry {
        blocks: 0,
        words: 0,
        states: 0,
    };
}

impl Compute for Items {
    fn shards(&self) -> u32 {
        self.0.items()
    }
    fn is_directed(&self) -> bool {
        false
    }
    fn geometry(&self, _: ShardId) -> ShardGeometry {
        Self::EMPTY
    }
    fn sources(&self, _: ShardId) -> Vec<ShardId> {
        Vec::new()
    }
    fn roots(&self, _: ShardId) -> Frontier {
        Frontier::empty(Self::EMPTY)
    }
    fn expand(
        &self,
        _: Level,
        _: ShardId,
        _: &[(ShardId, &Frontier)],
        _: &Frontier,
        _: Seen,
        _: u32,
    ) -> Result<Expanded, EngineError> {
        Err(EngineError::Input(Self::NO_GRAPH.into()))
    }
    fn digest(&self, _: ShardId, _: &Frontier) -> Digest {
        Digest::default()
    }
    fn smallest(&self, _: ShardId, _: &Frontier, _: usize) -> Vec<State> {
        Vec::new()
    }
    fn words(
        &self,
        _: Level,
        states: &[State],
        _: &(dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync),
        _: u64,
    ) -> Vec<Result<Vec<u16>, String>> {
        states.iter().map(|_| Err(Self::NO_GRAPH.into())).collect()
    }
    fn numbering(&self, _: ShardId) -> Option<Numbering> {
        None
    }
    fn distance_digest(&self, _: ShardId, _: &PackedDistances) -> Digest {
        Digest::default()
    }
    fn table_bytes(&self) -> u64 {
        self.0.resident_bytes()
    }
    fn expand_bytes(&self, shard: ShardId) -> u64 {
        self.0.item_bytes(shard.0)
    }
    fn batch(&self) -> Option<&dyn Batch> {
        Some(&*self.0)
    }
}

/// Makes the engine of a job; called once per job, off the async threads, within the pool. The engine may keep the
/// announcer.
pub type Loader =
    Arc<dyn Fn(&JobDefinition, &Announcer) -> Result<Arc<dyn Compute>, EngineError> + Send + Sync>;

impl Compute for Engine {
    fn shards(&self) -> u32 {
        Engine::shards(self)
    }
    fn is_directed(&self) -> bool {
        Engine::is_directed(self)
    }
    fn geometry(&self, shard: ShardId) -> ShardGeometry {
        Engine::geometry(self, shard)
    }
    fn sources(&self, shard: ShardId) -> Vec<ShardId> {
        Engine::sources(self, shard)
    }
    fn roots(&self, shard: ShardId) -> Frontier {
        Engine::roots(self, shard)
    }
    fn expand(
        &self,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
        samples: u32,
    ) -> Result<Expanded, EngineError> {
        Engine::expand(self, level, shard, sources, own, seen, samples)
    }
    fn digest(&self, shard: ShardId, frontier: &Frontier) -> Digest {
        Engine::digest(self, shard, frontier)
    }
    fn smallest(&self, shard: ShardId, frontier: &Frontier, limit: usize) -> Vec<State> {
        Engine::smallest(self, shard, frontier, limit)
    }
    fn words(
        &self,
        level: Level,
        states: &[State],
        kept: &(dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync),
        memory_bytes: u64,
    ) -> Vec<Result<Vec<u16>, String>> {
        Engine::words(self, level, states, kept, memory_bytes)
    }
    fn numbering(&self, shard: ShardId) -> Option<Numbering> {
        Engine::numbering(self, shard)
    }
    fn distance_digest(&self, shard: ShardId, distances: &PackedDistances) -> Digest {
        Engine::distance_digest(self, shard, distances)
    }
    fn table_bytes(&self) -> u64 {
        Engine::table_bytes(self)
    }
    fn expand_bytes(&self, shard: ShardId) -> u64 {
        Engine::expand_bytes(self, shard)
    }
}
