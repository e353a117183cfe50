//! Cells that a change may concern, first come first served, each at most once: a cell is looked at in the state
//! of that moment, so a second entry says nothing new. (Without this a chain of cells whose inputs share a cell
//! doubles its entries from level to level.)

use antipode_solver_core::engine::Level;
use std::collections::{BTreeSet, VecDeque};

/// A queue of (level, shard) without repetitions.
#[derive(Debug, Clone, Default)]
pub struct Dirty {
    queue: VecDeque<(Level, u32)>,
    queued: BTreeSet<(Level, u32)>,
}

impl Dirty {
    pub fn push_back(&mut self, cell: (Level, u32)) {
        if self.queued.insert(cell) {
            self.queue.push_back(cell);
        }
    }

    pub fn pop_front(&mut self) -> Option<(Level, u32)> {
        let cell = self.queue.pop_front()?;
        self.queued.remove(&cell);
        Some(cell)
    }

    pub fn clear(&mut self) {
        self.queue.clear();
        self.queued.clear();
    }
}

impl Extend<(Level, u32)> for Dirty {
    fn extend<I: IntoIterator<Item = (Level, u32)>>(&mut self, cells: I) {
        for cell in cells {
            self.push_back(cell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_waits_once_and_may_come_again_later() {
        let mut dirty = Dirty::default();
        dirty.extend([(1, 0), (1, 1), (1, 0)]);
        assert_eq!(dirty.pop_front(), Some((1, 0)));
        dirty.push_back((1, 0));
        assert_eq!(
            [dirty.pop_front(), dirty.pop_front(), dirty.pop_front()],
            [Some((1, 1)), Some((1, 0)), None]
        );
    }
}
