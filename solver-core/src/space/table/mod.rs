//! The table kind: any orbit of colourings that fits, one table of state numbers a move.
//!
//! No block is kept whole here: the sources of a shard can be all shards. Numbers are ranks in
//! lexicographic order of the labellings. Ranks and tables are made again by every worker (they
//! are unique) and a list's digest is compared with the stored one: gigabytes of tables need not
//! travel.

mod def;
mod level;
mod moves;
mod multinomial;
mod numbering;
mod two_labels;

pub(crate) use def::{LIST_MAX, TableDef, build};

use super::{Direction, Index, Space, SpaceError};
use crate::bfs::buffers::Buffers;
use crate::bfs::certificate;
use crate::bfs::digest;
use crate::bfs::frontier::{Frontier, ShardGeometry};
use crate::bfs::kernel::digest_keys;
use crate::bfs::level::{LevelOutput, seen_with};
use crate::distance::Numbering;
use crate::perm::Perm;
use crate::puzzle::State;
use crate::terms::{Certificate, Digest, EngineError, Expanded, Level, Seen, ShardId};
use def::{BLOCK_STATES, BLOCK_WORDS};
use moves::MoveTable;
use numbering::Ranker;

/// A loaded table space.
pub(crate) struct Table {
    def: TableDef,
    ranker: Ranker,
    moves: Vec<Perm>,
    directed: bool,
    /// `forward[m][i]`, `backward[m][i]`: the number of state `i` moved by `m` or its inverse.
    forward: Vec<MoveTable>,
    backward: Vec<MoveTable>,
    /// Multipliers of the digest.
    keys: Vec<[u32; 4]>,
    buffers: Buffers,
}

/// Makes the ranks and tables again and compares them with the definition.
pub(crate) fn load(def: TableDef, moves: Vec<Perm>, directed: bool) -> Result<Table, SpaceError> {
    if def.roots.is_empty()
        || def.shards == 0
        || def.roots.iter().any(|r| r.len() != def.degree)
        || moves.iter().any(|m| m.len() != def.degree)
    {
        return Err(SpaceError::Damaged(
            "another number of positions, or no shards".into(),
        ));
    }
    let ranker = Ranker::new(&def, &moves)?;
    let (forward, backward) = moves::tables(&ranker, def.states, &moves)?;
    Ok(Table {
        keys: digest_keys(BLOCK_WORDS as usize),
        def,
        ranker,
        moves,
        directed,
        forward,
        backward,
        buffers: Buffers::default(),
    })
}

impl Table {
    fn shard_states(&self) -> u64 {
        self.def.blocks_per_shard() * BLOCK_STATES
    }

    fn number(&self, shard: ShardId, position: u32) -> u32 {
        (u64::from(shard.0) * self.shard_states()) as u32 + position
    }

    fn place(&self, number: u32) -> (ShardId, u32) {
        let per_shard = self.shard_states();
        (
            ShardId((u64::from(number) / per_shard) as u32),
            (u64::from(number) % per_shard) as u32,
        )
    }

    fn first_block(&self, shard: ShardId) -> u64 {
        u64::from(shard.0) * self.def.blocks_per_shard()
    }

    fn tables(&self, direction: Direction) -> &[MoveTable] {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        }
    }

    /// One level of one shard with its digest.
    fn advance(
        &self,
        direction: Direction,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
    ) -> LevelOutput {
        let frontier = self.level(direction, shard, sources, own, seen.set());
        LevelOutput {
            digest: self.digest(shard, &frontier),
            visited: seen_with(seen, &frontier, &self.buffers),
            frontier,
        }
    }
}

impl Index for Table {
    fn unrank(&self, shard: ShardId, position: u32) -> Option<Vec<u16>> {
        let number = u64::from(shard.0) * self.shard_states() + u64::from(position);
        (number < self.def.states).then(|| self.ranker.unrank(number as u32))
    }

    fn rank(&self, _near: ShardId, element: &[u16]) -> Option<(ShardId, u32)> {
        self.ranker.rank(element).map(|number| self.place(number))
    }

    fn state(&self, _shard: ShardId, element: &[u16]) -> State {
        element.into()
    }

    fn places_of(&self, state: &State) -> Vec<(ShardId, u32)> {
        if state.len() != self.def.degree {
            return Vec::new();
        }
        self.ranker
            .rank(state)
            .map(|number| self.place(number))
            .into_iter()
            .collect()
    }
}

impl Space for Table {
    fn kind(&self) -> &'static str {
        "table"
    }

    fn kernel(&self) -> &'static str {
        "portable"
    }

    fn shards(&self) -> u32 {
        self.def.shards
    }

    fn is_directed(&self) -> bool {
        self.directed
    }

    fn geometry(&self, shard: ShardId) -> ShardGeometry {
        self.def.geometry(shard.0)
    }

    fn sources(&self, _shard: ShardId) -> Vec<ShardId> {
        (0..self.def.shards).map(ShardId).collect()
    }

    fn roots(&self, shard: ShardId) -> Frontier {
        let mut positions: Vec<u32> = self
            .def
            .roots
            .iter()
            .filter_map(|root| self.ranker.rank(root))
            .map(|number| self.place(number))
            .filter(|(s, _)| *s == shard)
            .map(|(_, p)| p)
            .collect();
        positions.sort_unstable();
        positions.dedup();
        self.buffers
            .settled(Frontier::from_positions(self.geometry(shard), positions))
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
        for s in 0..self.def.shards {
            let (_, f) = super::input_of(level, shard, ShardId(s), sources)?;
            super::check_inputs(
                level,
                shard,
                self.geometry(ShardId(s)),
                &[(ShardId(s), f)],
                f,
                f,
            )?;
        }
        super::check_inputs(level, shard, self.geometry(shard), &[], own, seen.set())?;
        let subject = certificate::Subject {
            index: self,
            moves: &self.moves,
            level,
            shard,
            sources,
            source_of_move: None,
        };
        let questions = subject.ask(own, seen.set(), samples)?;
        let out = self.advance(Direction::Forward, shard, sources, own, seen);
        let certificate = subject.check(&out.frontier, questions)?;
        Ok(out.certified(certificate))
    }

    fn sweep(
        &self,
        direction: Direction,
        _level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
    ) -> Result<Expanded, EngineError> {
        let out = self.advance(direction, shard, sources, own, seen);
        Ok(out.certified(Certificate::default()))
    }

    fn digest(&self, shard: ShardId, frontier: &Frontier) -> Digest {
        digest::of(frontier, self.first_block(shard), &self.keys)
    }

    fn table_bytes(&self) -> u64 {
        let tables = self.forward.len()
            + if self.directed {
                self.backward.len()
            } else {
                0
            };
        self.def.states * 4 * tables as u64 + self.ranker.bytes(self.def.degree)
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
        let table = if inverse {
            &self.backward[generator]
        } else {
            &self.forward[generator]
        };
        self.place(table[self.number(shard, position) as usize])
    }

    fn state(&self, shard: ShardId, position: u32) -> Option<State> {
        Index::unrank(self, shard, position).map(Into::into)
    }

    fn places_of(&self, state: &State) -> Vec<(ShardId, u32)> {
        Index::places_of(self, state)
    }

    fn root_places(&self) -> Vec<(ShardId, u32)> {
        let ranks = self.def.roots.iter().filter_map(|r| self.ranker.rank(r));
        ranks.map(|number| self.place(number)).collect()
    }

    fn numbering(&self, shard: ShardId) -> Option<Numbering> {
        Numbering::new(self.def.geometry(shard.0), 64, 64)
    }
}
