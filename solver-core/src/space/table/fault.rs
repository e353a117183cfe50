//! Move tables made wrong on purpose, for tests of verification.

use super::Table;
use super::moves::MoveTable;
use crate::group::rng::SplitMix;
use crate::space::fault::{PlantedFault, two};
use std::sync::Arc;

impl Table {
    /// Plants a fault in the move tables; false where they are too small for it.
    pub(super) fn plant_fault(&mut self, fault: PlantedFault) -> bool {
        let states = self.index.def.states as usize;
        match fault {
            PlantedFault::Entry(seed) => {
                let mut rng = SplitMix(seed);
                let m = rng.below(self.forward.len());
                let Some((a, b)) = two(&mut rng, states, &[]) else {
                    return false;
                };
                let mut forward = self.forward[m].to_vec();
                forward.swap(a, b);
                let mut backward = vec![0; states];
                for (i, &to) in forward.iter().enumerate() {
                    backward[to as usize] = i as u32;
                }
                // Where the inverse is a move too its table is wrong in the same way.
                let before = self.forward[m].clone();
                for (table, other) in self.backward.iter_mut().zip(&mut self.forward) {
                    if Arc::ptr_eq(table, &before) {
                        *table = Arc::new(forward.clone());
                        *other = Arc::new(backward.clone());
                    }
                }
                self.forward[m] = Arc::new(forward);
                self.backward[m] = Arc::new(backward);
            }
            PlantedFault::Renamed(seed) => {
                let per_shard = self.index.shard_states();
                let keep: Vec<usize> = self
                    .index
                    .roots()
                    .map(|(s, p)| (u64::from(s.0) * per_shard) as usize + p as usize)
                    .collect();
                let Some((a, b)) = two(&mut SplitMix(seed), states, &keep) else {
                    return false;
                };
                let renamed = |k: u32| match k as usize {
                    k if k == a => b as u32,
                    k if k == b => a as u32,
                    _ => k,
                };
                let rename = |table: &MoveTable| -> MoveTable {
                    let mut out: Vec<u32> = table.iter().map(|&to| renamed(to)).collect();
                    out.swap(a, b);
                    Arc::new(out)
                };
                self.forward = self.forward.iter().map(rename).collect();
                self.backward = self.backward.iter().map(rename).collect();
            }
        }
        true
    }
}
