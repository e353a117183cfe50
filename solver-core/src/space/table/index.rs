//! The slow way between labellings and numbers: ranks computed or looked up, no table of a move.

use super::def::{BLOCK_STATES, TableDef};
use super::numbering::Ranker;
use crate::perm::Perm;
use crate::puzzle::State;
use crate::space::{Index, SpaceError};
use crate::terms::ShardId;

/// The numbering and its cut into shards.
pub(crate) struct TableIndex {
    pub def: TableDef,
    pub(super) ranker: Ranker,
}

impl TableIndex {
    /// Makes the numbering again and compares it with the definition.
    pub fn new(def: TableDef, moves: &[Perm]) -> Result<TableIndex, SpaceError> {
        if def.roots.is_empty()
            || def.shards == 0
            || def.roots.iter().any(|r| r.len() != def.degree)
            || moves.iter().any(|m| m.len() != def.degree)
        {
            return Err(SpaceError::Damaged(
                "another number of positions, or no shards".into(),
            ));
        }
        let ranker = Ranker::new(&def, moves)?;
        Ok(TableIndex { def, ranker })
    }

    pub fn shard_states(&self) -> u64 {
        self.def.blocks_per_shard() * BLOCK_STATES
    }

    pub fn number(&self, shard: ShardId, position: u32) -> u32 {
        (u64::from(shard.0) * self.shard_states()) as u32 + position
    }

    pub fn place(&self, number: u32) -> (ShardId, u32) {
        let per_shard = self.shard_states();
        (
            ShardId((u64::from(number) / per_shard) as u32),
            (u64::from(number) % per_shard) as u32,
        )
    }

    pub fn first_block(&self, shard: ShardId) -> u64 {
        u64::from(shard.0) * self.def.blocks_per_shard()
    }

    /// Places of the roots, in the puzzle's order.
    pub fn roots(&self) -> impl Iterator<Item = (ShardId, u32)> + '_ {
        let ranks = self.def.roots.iter().filter_map(|r| self.ranker.rank(r));
        ranks.map(|number| self.place(number))
    }
}

impl Index for TableIndex {
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
