//! From a puzzle to its index: the group's order, the number of states, the block kind, the layout.

use super::blocked::Blocked;
use super::chain::{self, ChainDef, ChainIndex, ChainParts};
use super::table::{self, TableDef};
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
    Table(TableDef),
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
    let wished = options.kind.as_deref();
    if let Some(wrong) = wished.filter(|k| !["chain", "table"].contains(k)) {
        return Err(SpaceError::Unsupported(format!("there is no block kind '{wrong}'; there are chain and table")));
    }
    if !regular || wished == Some("table") {
        return build_table(puzzle, &moves, &order, &counts, options);
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
        body: serialise(&Body::Chain(def))?,
    })
}

/// Colourings and wishes: one table a move.
fn build_table(
    puzzle: &Puzzle,
    moves: &[Perm],
    order: &BigUint,
    counts: &[StateCount],
    options: &LayoutOptions,
) -> Result<SpaceDef, SpaceError> {
    let roots = puzzle.roots();
    let same_labels = |root: &[u16]| {
        let sorted = |r: &[u16]| {
            let mut r = r.to_vec();
            r.sort_unstable();
            r
        };
        sorted(root) == sorted(&roots[0])
    };
    // All arrangements are states: then several roots with these labels share one orbit.
    let multinomial = (counts[0].is_multinomial && roots.iter().all(|r| same_labels(r)))
        .then(|| counts[0].states.as_ref().and_then(|n| u64::try_from(n).ok()))
        .flatten();
    if multinomial.is_none() && counts.iter().any(|c| c.states.as_ref().is_some_and(|n| *n > BigUint::from(table::LIST_MAX))) {
        return Err(SpaceError::Unsupported("too many states for a table".into()));
    }
    let def = table::build(puzzle.degree(), moves, roots, multinomial, options)?;
    // The orbits of several roots are told apart by counting one orbit a root not reached yet.
    let known = match (roots.len(), multinomial) {
        (_, Some(n)) => Some(BigUint::from(n)),
        (1, None) => counts[0].states.clone(),
        (_, None) => table::orbit_leaders(moves, roots)
            .into_iter()
            .map(|k| counts[k].states.clone())
            .try_fold(BigUint::from(0u32), |sum, n| n.map(|n| sum + n)),
    };
    let proof = if known.is_some() { counts[0].proof.clone() } else { "orbit size not proved".to_string() };
    let shards = def.shards;
    Ok(SpaceDef {
        kind: "table".into(),
        shards,
        sources: vec![(0..shards).collect(); shards as usize],
        shard_states: (0..shards).map(|s| def.geometry(s).states).collect(),
        shard_bytes: (0..shards).map(|s| def.geometry(s).dense_bytes()).collect(),
        directed: !puzzle.is_inverse_closed(),
        group_order: order.to_string(),
        states: known.map(|n| n.to_string()),
        states_proof: proof,
        layout: def.layout(),
        body: serialise(&Body::Table(def))?,
    })
}

fn serialise(body: &Body) -> Result<Vec<u8>, SpaceError> {
    serde_json::to_vec(body).map_err(|e| SpaceError::Unsupported(e.to_string()))
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
        Body::Table(def) => {
            if def.degree != puzzle.degree() {
                return Err(SpaceError::Damaged("another number of positions".into()).into());
            }
            Ok(Box::new(table::load(def, moves, directed)?))
        }
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
