//! The table kind as stored: how many states and shards, and how they are numbered.

use crate::bfs::frontier::ShardGeometry;
use crate::perm::Perm;
use crate::puzzle::State;
use crate::space::orbit::{list_digest, orbit};
use crate::space::{LayoutOptions, SpaceError};
use serde::{Deserialize, Serialize};

/// Words of a superblock: 4096 states.
pub(crate) const BLOCK_WORDS: u32 = 64;
pub(super) const BLOCK_STATES: u64 = BLOCK_WORDS as u64 * 64;
/// Orbits that must be listed may not be longer.
pub(crate) const LIST_MAX: u64 = 40_000_000;
/// Numbers are 32 bits.
const STATES_MAX: u64 = u32::MAX as u64 - BLOCK_STATES;

/// The index as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableDef {
    pub degree: usize,
    pub states: u64,
    pub numbering: Numbering,
    pub shards: u32,
    pub roots: Vec<Vec<u16>>,
}

/// How states are numbered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Numbering {
    /// All labellings with these labels (ascending, with repetition) on the moved positions.
    Multinomial {
        positions: Vec<u16>,
        labels: Vec<u16>,
    },
    /// The orbit's states, sorted; the digest of the list.
    Sorted { digest: u64 },
}

/// The definition. `multinomial`: proved that all arrangements of the root's labels are states.
pub(crate) fn build(
    degree: usize,
    moves: &[Perm],
    roots: &[State],
    multinomial: Option<u64>,
    options: &LayoutOptions,
) -> Result<TableDef, SpaceError> {
    let roots: Vec<Vec<u16>> = roots.iter().map(|r| r.to_vec()).collect();
    let (states, numbering) = match multinomial {
        Some(states) => {
            let positions: Vec<u16> = (0..degree as u16)
                .filter(|&i| moves.iter().any(|p| p.at(usize::from(i)) != usize::from(i)))
                .collect();
            let mut labels: Vec<u16> = positions
                .iter()
                .map(|&i| roots[0][usize::from(i)])
                .collect();
            labels.sort_unstable();
            (states, Numbering::Multinomial { positions, labels })
        }
        None => {
            let list = orbit(moves, &roots, LIST_MAX).ok_or_else(|| {
                SpaceError::Unsupported(format!("more than {LIST_MAX} states, too many to list"))
            })?;
            (
                list.len() as u64,
                Numbering::Sorted {
                    digest: list_digest(&list),
                },
            )
        }
    };
    if states > STATES_MAX {
        return Err(SpaceError::Unsupported(format!(
            "{states} states are more than a table of 32-bit numbers holds"
        )));
    }
    let blocks = states.div_ceil(BLOCK_STATES);
    let wanted = u64::from(options.min_shards.unwrap_or(1))
        .max(states.div_ceil(1 << 27))
        .min(blocks);
    let per_shard = blocks.div_ceil(wanted);
    Ok(TableDef {
        degree,
        states,
        numbering,
        shards: blocks.div_ceil(per_shard) as u32,
        roots,
    })
}

impl TableDef {
    /// Superblocks of every shard but the last, which may have fewer.
    pub fn blocks_per_shard(&self) -> u64 {
        self.states
            .div_ceil(BLOCK_STATES)
            .div_ceil(u64::from(self.shards))
    }

    /// The shape of every shard; the last one may have fewer states.
    pub fn geometry(&self, shard: u32) -> ShardGeometry {
        let blocks = self.blocks_per_shard();
        let first = u64::from(shard) * blocks * BLOCK_STATES;
        let states = self.states.saturating_sub(first).min(blocks * BLOCK_STATES);
        ShardGeometry {
            blocks: states.div_ceil(BLOCK_STATES) as u32,
            words: BLOCK_WORDS,
            states,
        }
    }

    /// One line for people.
    pub fn layout(&self) -> String {
        let how = match &self.numbering {
            Numbering::Multinomial { .. } => "multinomial rank",
            Numbering::Sorted { .. } => "sorted list of states",
        };
        format!(
            "{} shards of a table of 32-bit numbers a move, {how}; the sources of a shard are all shards",
            self.shards
        )
    }
}
