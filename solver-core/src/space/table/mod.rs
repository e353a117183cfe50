//! The table kind: any orbit of colourings that fits, one table of state numbers a move.
//!
//! No block is kept whole here: the sources of a shard can be all shards. Numbers are ranks in
//! lexicographic order of the labellings. Ranks and tables are made again by every worker (they
//! are unique) and a list's digest is compared with the stored one: gigabytes of tables need not
//! travel.

mod def;
mod fault;
mod index;
mod level;
mod moves;
mod multinomial;
mod numbering;
mod two_labels;

pub(crate) use def::{LIST_MAX, TableDef, build};
pub(crate) use index::TableIndex;

use super::attempt::Attempt;
use super::{By, Direction, Index, PlantedFault, Space, SpaceError};
use crate::bfs::buffers::Buffers;
use crate::bfs::certificate;
use crate::bfs::device::{DeviceTables, StateTablesView};
use crate::bfs::digest;
use crate::bfs::frontier::{Frontier, ShardGeometry};
use crate::bfs::kernel::digest_keys;
use crate::bfs::level::{LevelOutput, seen_with};
use crate::distance::Numbering;
use crate::perm::Perm;
use crate::puzzle::State;
use crate::terms::{Certificate, Digest, EngineError, Expanded, Level, Seen, ShardId};
pub(crate) use def::BLOCK_WORDS;
use moves::MoveTable;

/// A loaded table space.
pub(crate) struct Table {
    index: TableIndex,
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
    let index = TableIndex::new(def, &moves)?;
    let (forward, backward) = moves::tables(&index.ranker, index.def.states, &moves)?;
    Ok(Table {
        keys: digest_keys(BLOCK_WORDS as usize),
        index,
        moves,
        directed,
        forward,
        backward,
        buffers: Buffers::default(),
    })
}

impl Table {
    fn tables(&self, direction: Direction) -> &[MoveTable] {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        }
    }

    /// The bits of word `w` of a shard that are states.
    fn mask(&self, shard: ShardId, w: usize) -> u64 {
        let states = self.index.def.geometry(shard.0).states;
        match states - (w as u64 * 64).min(states) {
            left @ 0..64 => (1 << left) - 1,
            _ => u64::MAX,
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

impl Space for Table {
    fn kind(&self) -> &'static str {
        "table"
    }

    fn kernel(&self) -> &'static str {
        "portable"
    }

    fn shards(&self) -> u32 {
        self.index.def.shards
    }

    fn is_directed(&self) -> bool {
        self.directed
    }

    fn geometry(&self, shard: ShardId) -> ShardGeometry {
        self.index.def.geometry(shard.0)
    }

    fn sources(&self, _shard: ShardId) -> Vec<ShardId> {
        (0..self.index.def.shards).map(ShardId).collect()
    }

    fn roots(&self, shard: ShardId) -> Frontier {
        let here = self.index.roots().filter(|(s, _)| *s == shard);
        let mut positions: Vec<u32> = here.map(|(_, p)| p).collect();
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
        by: By<'_>,
    ) -> Result<Expanded, EngineError> {
        for s in 0..self.index.def.shards {
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
            index: &self.index,
            moves: &self.moves,
            level,
            shard,
            sources,
            source_of_move: None,
        };
        let questions = subject.ask(own, seen.set(), by.samples)?;
        let seen = match by.device {
            None => seen,
            Some(device) => {
                let mut all = sources.to_vec();
                all.sort_unstable_by_key(|(shard, _)| *shard);
                let masks = |w: usize| self.mask(shard, w);
                let on_device = Attempt {
                    space: self,
                    device,
                    masks: &masks,
                    buffers: &self.buffers,
                };
                match on_device.expand(&subject, &questions, &all, own, seen) {
                    Ok(expanded) => return Ok(expanded),
                    Err(seen) => seen,
                }
            }
        };
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
        digest::of(frontier, self.index.first_block(shard), &self.keys)
    }

    fn table_bytes(&self) -> u64 {
        let tables = self.forward.len()
            + if self.directed {
                self.backward.len()
            } else {
                0
            };
        self.index.def.states * 4 * tables as u64 + self.index.ranker.bytes(self.index.def.degree)
    }

    fn device_tables(&self) -> Option<DeviceTables<'_>> {
        Some(DeviceTables::States(StateTablesView {
            states: self.index.def.states,
            shard_states: self.index.shard_states(),
            words: BLOCK_WORDS as usize,
            tables: self.backward.iter().map(|table| &table[..]).collect(),
        }))
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
        self.index
            .place(table[self.index.number(shard, position) as usize])
    }

    fn state(&self, shard: ShardId, position: u32) -> Option<State> {
        self.index.unrank(shard, position).map(Into::into)
    }

    fn places_of(&self, state: &State) -> Vec<(ShardId, u32)> {
        self.index.places_of(state)
    }

    fn root_places(&self) -> Vec<(ShardId, u32)> {
        self.index.roots().collect()
    }

    fn plant(&mut self, fault: PlantedFault) -> bool {
        self.plant_fault(fault)
    }

    fn numbering(&self, shard: ShardId) -> Option<Numbering> {
        Numbering::new(self.index.def.geometry(shard.0), 64, 64)
    }
}
