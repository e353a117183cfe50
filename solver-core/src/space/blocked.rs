//! Chain and product spaces behind the engine: digit tables for speed, a slow index as their check.

use super::attempt::Attempt;
use super::{By, Direction, Index, PlantedFault, Space};
use crate::bfs::block::Blocks;
use crate::bfs::buffers::Buffers;
use crate::bfs::certificate;
use crate::bfs::device::DeviceTables;
use crate::bfs::digest;
use crate::bfs::frontier::{Frontier, ShardGeometry};
use crate::bfs::kernel::Kernel;
use crate::bfs::level::{self, LevelInput, LevelOutput};
use crate::distance::Numbering;
use crate::perm::Perm;
use crate::puzzle::State;
use crate::terms::{Certificate, Digest, EngineError, Expanded, Level, Seen, ShardId};

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

    /// The source shard of every move and its frontier.
    fn by_move<'a>(
        &self,
        direction: Direction,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &'a Frontier)],
    ) -> Result<Vec<(ShardId, &'a Frontier)>, EngineError> {
        let (part, local) = self.split(shard);
        self.blocks.entries(direction)[local as usize]
            .iter()
            .map(|entry| {
                let wanted = ShardId(part * self.blocks.shards + entry.shard);
                super::input_of(level, shard, wanted, sources)
            })
            .collect()
    }

    fn level(
        &self,
        direction: Direction,
        shard: ShardId,
        by_move: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
    ) -> LevelOutput {
        let input = LevelInput {
            blocks: &self.blocks,
            geometry: self.blocks.geometry(),
            direction,
            shard: self.split(shard).1,
            first_block: self.first_block(shard),
            sources: by_move.iter().map(|(_, f)| *f).collect(),
            own,
            seen,
        };
        level::compute(input, &self.buffers)
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
        by: By<'_>,
    ) -> Result<Expanded, EngineError> {
        let by_move = self.by_move(Direction::Forward, level, shard, sources)?;
        super::check_inputs(
            level,
            shard,
            self.blocks.geometry(),
            &by_move,
            own,
            seen.set(),
        )?;
        let source_of_move: Vec<ShardId> = by_move.iter().map(|(s, _)| *s).collect();
        let subject = certificate::Subject {
            index: self.index.as_ref(),
            moves: &self.moves,
            level,
            shard,
            sources,
            source_of_move: Some(&source_of_move),
        };
        let questions = subject.ask(own, seen.set(), by.samples)?;
        let seen = match by.device {
            None => seen,
            Some(device) => {
                let masks = |w: usize| self.blocks.tables.masks[w % self.blocks.tables.words];
                let on_device = Attempt {
                    space: self,
                    device,
                    masks: &masks,
                    buffers: &self.buffers,
                };
                match on_device.expand(&subject, &questions, &by_move, own, seen) {
                    Ok(expanded) => return Ok(expanded),
                    Err(seen) => seen,
                }
            }
        };
        let out = self.level(Direction::Forward, shard, &by_move, own, seen);
        let certificate = subject.check(&out.frontier, questions)?;
        Ok(out.certified(certificate))
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
        let by_move = self.by_move(direction, level, shard, sources)?;
        let out = self.level(direction, shard, &by_move, own, seen);
        Ok(out.certified(Certificate::default()))
    }

    fn digest(&self, shard: ShardId, frontier: &Frontier) -> Digest {
        digest::of(frontier, self.first_block(shard), &self.blocks.tables.keys)
    }

    fn table_bytes(&self) -> u64 {
        self.blocks.table_bytes()
    }

    fn device_tables(&self) -> Option<DeviceTables<'_>> {
        Some(DeviceTables::Blocks(self.blocks.view(self.parts)))
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
        let entries = if inverse {
            &self.blocks.pull
        } else {
            &self.blocks.push
        };
        let entry = entries[local as usize][generator];
        let at = self.blocks.apply_after_prefix(position, entry.element);
        (ShardId(part * self.blocks.shards + entry.shard), at)
    }

    fn state(&self, shard: ShardId, position: u32) -> Option<State> {
        self.index
            .unrank(shard, position)
            .map(|element| self.index.state(shard, &element))
    }

    fn places_of(&self, state: &State) -> Vec<(ShardId, u32)> {
        self.index.places_of(state)
    }

    fn root_places(&self) -> Vec<(ShardId, u32)> {
        self.roots.clone()
    }

    fn numbering(&self, _shard: ShardId) -> Option<Numbering> {
        let (group, used) = self.blocks.tables.group();
        Numbering::new(self.blocks.geometry(), group, used)
    }

    fn plant(&mut self, fault: PlantedFault) -> bool {
        self.plant_fault(fault)
    }

    fn mirror(&self, shard: ShardId, position: u32) -> Option<(ShardId, u32)> {
        self.index.mirror(shard, position)
    }
}
