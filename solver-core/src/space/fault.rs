//! Planted faults: tables made wrong on purpose, so that tests can show that verification finds them. Nothing
//! that ships plants one.

use super::blocked::Blocked;
use crate::bfs::kernel::BlockTables;
use crate::group::rng::SplitMix;

/// What is made wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedFault {
    /// Two entries of one move are exchanged; the number says which.
    Entry(u64),
    /// Two places exchange their names throughout all tables, so that the graph stays what it is and every
    /// count stays right, but other states are said to be in a level.
    Renamed(u64),
}

/// Two different numbers below `n` that `keep` does not name, if there are.
pub(crate) fn two(rng: &mut SplitMix, n: usize, keep: &[usize]) -> Option<(usize, usize)> {
    let free: Vec<usize> = if n > keep.len() + 64 {
        (0..16).map(|_| rng.below(n)).collect()
    } else {
        (0..n).collect()
    };
    let mut free: Vec<usize> = free.into_iter().filter(|k| !keep.contains(k)).collect();
    free.dedup();
    let a = *free.get(rng.below(free.len().max(1)))?;
    free.retain(|&k| k != a);
    let b = *free.get(rng.below(free.len().max(1)))?;
    Some((a, b))
}

impl Blocked {
    /// Plants a fault in the tables; false where they are too small for it.
    pub(super) fn plant_fault(&mut self, fault: PlantedFault) -> bool {
        let stride = self.blocks.stride();
        let tables: &BlockTables = &self.blocks.tables;
        let roots: Vec<u32> = self.roots.iter().map(|(_, p)| p % stride).collect();
        let changed = match fault {
            PlantedFault::Entry(seed) => tables.with_entries_exchanged(&mut SplitMix(seed)),
            PlantedFault::Renamed(seed) => tables.with_places_renamed(&mut SplitMix(seed), &roots),
        };
        match changed {
            Some(tables) => {
                self.blocks.tables = tables;
                true
            }
            None => false,
        }
    }
}
