//! Chain and product spaces behind the engine: digit tables for speed, a slow index as their check.

use super::block::Blocks;
use super::{Direction, Index, Space};
use crate::bfs::certificate;
use crate::bfs::frontier::{Frontier, ShardGeometry};
use crate::bfs::kernel::Kernel;
use crate::bfs::level::{self, Buffers, LevelInput};
use crate::bfs::words;
use crate::engine::{Digest, EngineError, Expanded, Level, Seen, ShardId};
use crate::perm::Perm;
use crate::puzzle::State;
use std::sync::Arc;

/// A space of blocks. Shards of part `k` (one part an orbit of roots) are numbered from
/// `k * blocks.shards`.
pub(crate) struct Blocked {
    pub kind: &'static str,
    pub kernel: Kernel,
    pub blocks: Blocks,
    pub index: Box<dyn Index>,
    pub moves: Vec<Perm>,
    pub parts: u32,
    pub directed: bool,
    /// Positions of the roots, by shard.
    pub roots: Vec<(ShardId, u32)>,
    pub buffers: Buffers,
}

impl Blocked {
    /// Part and shard number within the part.
    fn split(&self, shard: ShardId) -> (u32, u32) {
        (shard.0 / self.blocks.shards, shard.0 % self.blocks.shards)
    }

    fn first_block(&self, shard: ShardId) -> u64 {
        u64::from(shard.0) * u64::from(self.blocks.blocks)
    }
}

impl Space for Blocked {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn kernel(&self) -> &'static str {
        self.kernel.name()
    }

    fn shards(&self) -> u32 {
        self.parts * self.blocks.shards
    }

    fn is_directed(&self) -> bool {
        self.directed
    }

    fn geometry(&self, _shard: ShardId) -> ShardGeometry {
        self.blocks.geometry()
    }

    fn sources(&self, shard: ShardId) -> Vec<ShardId> {
        let (part, local) = self.split(shard);
        self.blocks
            .sources(local)
            .into_iter()
            .map(|s| ShardId(part * self.blocks.shards + s.0))
            .collect()
    }

    fn roots(&self, shard: ShardId) -> Frontier {
        let mut positions: Vec<u32> = self
            .roots
            .iter()
            .filter(|(s, _)| *s == shard)
            .map(|(_, p)| *p)
            .collect();
        positions.sort_unstable();
        positions.dedup();
        Frontier::from_positions(self.blocks.geometry(), positions)
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
        let (part, local) = self.split(shard);
        let geometry = self.blocks.geometry();
        let by_move: Vec<(ShardId, &Frontier)> = self.blocks.pull[local as usize]
            .iter()
            .map(|entry| {
                let wanted = ShardId(part * self.blocks.shards + entry.shard);
                super::input_of(level, shard, wanted, sources)
            })
            .collect::<Result<_, _>>()?;
        let seen_set = match &seen {
            Seen::Previous(f) | Seen::Visited(f) => f,
        };
        super::check_inputs(level, shard, geometry, &by_move, own, seen_set)?;
        let source_of_move: Vec<ShardId> = by_move.iter().map(|(s, _)| *s).collect();
        let subject = certificate::Subject {
            index: self.index.as_ref(),
            moves: &self.moves,
            level,
            shard,
            sources,
            source_of_move: Some(&source_of_move),
        };
        let questions = if samples == 0 {
            None
        } else {
            Some(subject.ask(own, seen_set, samples)?)
        };
        let input = LevelInput {
            blocks: &self.blocks,
            geometry,
            direction: Direction::Forward,
            shard: local,
            first_block: self.first_block(shard),
            sources: by_move.iter().map(|(_, f)| *f).collect(),
            own,
            seen,
        };
        let out = level::compute(input, &self.buffers)?;
        let certificate = match questions {
            None => Default::default(),
            Some(questions) => subject.check(&out.frontier, questions)?,
        };
        Ok(Expanded {
            frontier: out.frontier,
            visited: out.visited,
            digest: out.digest,
            certificate,
        })
    }

    fn sweep(
        &self,
        direction: Direction,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
    ) -> Result<Expanded, EngineError> {
        let (part, local) = self.split(shard);
        let by_move = self.blocks.entries(direction)[local as usize]
            .iter()
            .map(|entry| {
                let wanted = ShardId(part * self.blocks.shards + entry.shard);
                super::input_of(level, shard, wanted, sources).map(|(_, f)| f)
            })
            .collect::<Result<_, _>>()?;
        let input = LevelInput {
            blocks: &self.blocks,
            geometry: self.blocks.geometry(),
            direction,
            shard: local,
            first_block: self.first_block(shard),
            sources: by_move,
            own,
            seen,
        };
        let out = level::compute(input, &self.buffers)?;
        Ok(Expanded {
            frontier: out.frontier,
            visited: out.visited,
            digest: out.digest,
            certificate: Default::default(),
        })
    }

    fn digest(&self, shard: ShardId, frontier: &Frontier) -> Digest {
        level::digest_of(frontier, self.first_block(shard), &self.blocks.tables.keys)
    }

    fn table_bytes(&self) -> u64 {
        self.blocks.table_bytes()
    }

    fn moves(&self) -> usize {
        self.moves.len()
    }

    fn step(
        &self,
        shard: ShardId,
        position: u32,
        generator: usize,
        inverse: bool,
    ) -> (ShardId, u32) {
        let (part, local) = self.split(shard);
        let element = if inverse {
            self.blocks.backward[generator]
        } else {
            self.blocks.forward[generator]
        };
        let (to, at) = self.blocks.apply(local, position, element);
        (ShardId(part * self.blocks.shards + to), at)
    }

    fn state(&self, shard: ShardId, position: u32) -> Option<State> {
        self.index
            .unrank(shard, position)
            .map(|element| self.index.state(shard, &element))
    }

    fn places_of(&self, state: &State) -> Vec<(ShardId, u32)> {
        self.index.places_of(state)
    }

    fn smallest(&self, shard: ShardId, frontier: &Frontier, limit: usize) -> Vec<State> {
        words::smallest(self, shard, frontier, limit)
    }

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
