//! How the states of a table are numbered: by a computed rank where all arrangements of the labels
//! are states, else by the place in the sorted list of states.

use super::def::{Numbering, TableDef};
use super::multinomial::Multinomial;
use crate::perm::Perm;
use crate::space::orbit::{list_digest, orbit};
use crate::terms::SpaceError;
use std::collections::HashMap;

/// The numbering, ready for use.
pub(super) enum Ranker {
    Multinomial(Multinomial),
    Sorted {
        list: Vec<Box<[u16]>>,
        places: HashMap<Box<[u16]>, u32>,
    },
}

impl Ranker {
    /// Bytes of a list and its places, about.
    pub fn bytes(&self, degree: usize) -> u64 {
        match self {
            Ranker::Multinomial(_) => 0,
            Ranker::Sorted { list, .. } => list.len() as u64 * (degree as u64 * 4 + 56),
        }
    }

    /// Makes the numbering again and compares it with what is stored.
    pub fn new(def: &TableDef, moves: &[Perm]) -> Result<Ranker, SpaceError> {
        let damaged = |what: &str| SpaceError::Damaged(what.into());
        match &def.numbering {
            Numbering::Multinomial { positions, labels } => {
                if positions.len() != labels.len()
                    || positions.iter().any(|&i| usize::from(i) >= def.degree)
                {
                    return Err(damaged("positions and labels do not fit"));
                }
                let m = Multinomial::new(positions, labels, &def.roots[0]);
                if m.states() != def.states {
                    return Err(damaged(
                        "the number of states is not the multinomial coefficient",
                    ));
                }
                Ok(Ranker::Multinomial(m))
            }
            Numbering::Sorted { digest } => {
                let list =
                    orbit(moves, &def.roots, def.states.saturating_add(1)).unwrap_or_default();
                if list.len() as u64 != def.states || list_digest(&list) != *digest {
                    return Err(damaged("the list of states has another digest"));
                }
                let places = list
                    .iter()
                    .enumerate()
                    .map(|(i, s)| (s.clone(), i as u32))
                    .collect();
                Ok(Ranker::Sorted { list, places })
            }
        }
    }

    /// Number of a labelling; `None` where it is no state.
    pub fn rank(&self, state: &[u16]) -> Option<u32> {
        match self {
            Ranker::Multinomial(m) => m.rank(state).map(|r| r as u32),
            Ranker::Sorted { places, .. } => places.get(state).copied(),
        }
    }

    /// The labelling with a number.
    pub fn unrank(&self, number: u32) -> Vec<u16> {
        match self {
            Ranker::Multinomial(m) => m.unrank(u64::from(number)),
            Ranker::Sorted { list, .. } => list[number as usize].to_vec(),
        }
    }
}
