//! From a puzzle to its index: the group's order, the number of states, the block kind, the layout.

use super::blocked::Blocked;
use super::chain::{self, ChainDef, ChainIndex, ChainParts};
use super::{LayoutOptions, Space, SpaceDef, SpaceError};
use crate::bfs::kernel::Kernel;
use crate::bfs::level::Buffers;
use crate::engine::{EngineError, KernelChoice, ShardId};
use crate::group::chain::Chain;
use crate::group::colouring::{self, StateCount};
use crate::perm::Perm;
use crate::puzzle::Puzzle;
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

/// The stored body of every kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Body {
    Chain(ChainDef),
}

/// Computes the index of a puzzle: group, chain, leaf, shards. Deterministic: the same puzzle and
/// options give the same bytes on every machine.
pub fn build(puzzle: &Puzzle, options: &LayoutOptions) -> Result<SpaceDef, SpaceError> {
    let degree = puzzle.degree();
    let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
    let natural: Vec<u16> = (0..degree as u16).collect();
    let too_large = |e: crate::group::chain::ChainTooLarge| SpaceError::Unsupported(e.to_string());
    let chain = Chain::build(degree, &moves, &natural, None).map_err(too_large)?;
    let order = chain.order();
    let counts: Vec<StateCount> = puzzle
        .roots()
        .iter()
        .map(|root| colouring::count_states(degree, &moves, root, &order).map_err(too_large))
        .collect::<Result<_, _>>()?;
    let regular = counts.iter().all(|c| c.states.as_ref() == Some(&order));
    if !regular {
        return Err(SpaceError::Unsupported("colourings are being laid".into()));
    }
    let parts = chain::parts_of(degree, &chain, puzzle.roots());
    let states = &order * BigUint::from(parts.len());
    let def = chain::build(degree, &moves, &order, parts, options)?;
    let index = ChainIndex::new(def.clone())?;
    let blocks = index.tables(&moves, Kernel::Portable)?;
    let shards = blocks.shards * def.parts.len() as u32;
    let sources = (0..shards)
        .map(|s| {
            let part = s / blocks.shards * blocks.shards;
            blocks.sources(s % blocks.shards).into_iter().map(|t| part + t.0).collect()
        })
        .collect();
    let geometry = blocks.geometry();
    Ok(SpaceDef {
        kind: "chain".into(),
        shards,
        sources,
        shard_states: vec![geometry.states; shards as usize],
        shard_bytes: vec![geometry.dense_bytes(); shards as usize],
        directed: !puzzle.is_inverse_closed(),
        group_order: order.to_string(),
        states: Some(states.to_string()),
        states_proof: counts[0].proof.clone(),
        layout: def.layout(),
        body: serde_json::to_vec(&Body::Chain(def)).map_err(|e| SpaceError::Unsupported(e.to_string()))?,
    })
}

/// Checks a stored index against the puzzle and makes the tables of a kernel.
pub(crate) fn load(
    puzzle: &Puzzle,
    def: &SpaceDef,
    kernel: KernelChoice,
) -> Result<Box<dyn Space>, EngineError> {
    let kernel = Kernel::choose(kernel)?;
    let body: Body = serde_json::from_slice(&def.body).map_err(|e| SpaceError::Damaged(e.to_string()))?;
    let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
    let directed = !puzzle.is_inverse_closed();
    match body {
        Body::Chain(chain) => {
            let index = ChainIndex::new(chain)?;
            if index.def.degree != puzzle.degree() {
                return Err(SpaceError::Damaged("another number of positions".into()).into());
            }
            let blocks = index.tables(&moves, kernel)?;
            let shards = blocks.shards;
            let parts = index.def.parts.len() as u32;
            let mut roots = Vec::new();
            for (k, part) in index.def.parts.iter().enumerate() {
                for root in &part.roots {
                    let Some((s, p)) = index.rank(root) else {
                        return Err(SpaceError::Damaged("a root is not in the group".into()).into());
                    };
                    roots.push((ShardId(k as u32 * shards + s), p));
                }
            }
            Ok(Box::new(Blocked {
                kind: "chain",
                kernel,
                blocks,
                index: Box::new(ChainParts { index, shards }),
                moves,
                parts,
                directed,
                roots,
                buffers: Buffers::default(),
            }))
        }
    }
}
