//! From a puzzle to its index: the group's order, the number of states, the block kind, the layout.

use super::body::Body;
use super::chain::{self, ChainIndex};
use super::orbit;
use super::product::{self, ProductIndex};
use super::sparse;
use super::table;
use super::{LayoutOptions, SpaceDef, SpaceError};
use crate::bfs::block::Blocks;
use crate::bfs::kernel::Kernel;
use crate::group::chain::Chain;
use crate::group::colouring::{self, StateCount};
use crate::perm::Perm;
use crate::puzzle::Puzzle;
use num_bigint::BigUint;

/// Computes the index of a puzzle: group, chain, leaf, shards. Deterministic: the same puzzle and
/// options give the same bytes on every machine. May take seconds for large groups or colourings.
///
/// # Errors
/// [`SpaceError::Unsupported`] where no block kind numbers the states, or the one asked for does not; the
/// message says why and, where a depth limit would help, so.
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
        .map(|root| colouring::count_states(&chain, &moves, root).map_err(too_large))
        .collect::<Result<_, _>>()?;
    let wished = options.kind.as_deref();
    if let Some(wrong) = wished.filter(|k| !["chain", "product", "table", "sparse"].contains(k)) {
        return Err(SpaceError::Unsupported(format!(
            "there is no block kind '{wrong}'; there are chain, product, table and sparse"
        )));
    }
    let indexed = match wished {
        Some("sparse") => Err(SpaceError::Unsupported(
            "a space without an index was asked for".into(),
        )),
        _ => build_indexed(puzzle, &moves, &chain, &counts, options),
    };
    match indexed {
        Err(SpaceError::Unsupported(_))
            if options.depth.is_some() && matches!(wished, None | Some("sparse")) =>
        {
            build_sparse(puzzle, &moves, &order, &counts, options)
        }
        Err(SpaceError::Unsupported(why)) if wished.is_none() => {
            Err(SpaceError::Unsupported(format!(
                "{why}; only its first levels can be counted, without an index: `run bfs` with --depth"
            )))
        }
        other => other,
    }
}

/// The best kind that numbers all states.
fn build_indexed(
    puzzle: &Puzzle,
    moves: &[Perm],
    group: &Chain,
    counts: &[StateCount],
    options: &LayoutOptions,
) -> Result<SpaceDef, SpaceError> {
    let degree = puzzle.degree();
    let order = group.order();
    let wished = options.kind.as_deref();
    let regular = counts.iter().all(|c| c.states.as_ref() == Some(&order));
    if !regular || matches!(wished, Some("product" | "table")) {
        if let (Some(states), true) = (&counts[0].states, wished != Some("table"))
            && let Some(def) = product::build(degree, moves, puzzle.roots(), states, options)?
        {
            let layout = def.layout();
            let blocks = ProductIndex::new(def.clone(), moves)?.tables(moves, Kernel::Portable)?;
            let body = Body::Product(def);
            return of_blocks("product", puzzle, &blocks, 1, &counts[0], layout, body);
        }
        if wished == Some("product") {
            return Err(SpaceError::Unsupported(
                "the colouring is no product of independent coordinates".into(),
            ));
        }
        return build_table(puzzle, moves, &order, counts, options);
    }
    let parts = chain::parts_of(degree, group, puzzle.roots());
    let states = &order * BigUint::from(parts.len());
    let def = chain::build(degree, moves, &order, parts, options)?;
    let (layout, count) = (def.layout(), def.parts.len() as u32);
    let blocks = ChainIndex::new(def.clone())?.tables(moves, Kernel::Portable)?;
    Ok(SpaceDef {
        states: Some(states.to_string()),
        ..of_blocks(
            "chain",
            puzzle,
            &blocks,
            count,
            &counts[0],
            layout,
            Body::Chain(def),
        )?
    })
}

/// Shards, their sources and sizes: what chain and product spaces say in the same way.
fn of_blocks(
    kind: &str,
    puzzle: &Puzzle,
    blocks: &Blocks,
    parts: u32,
    count: &StateCount,
    layout: String,
    body: Body,
) -> Result<SpaceDef, SpaceError> {
    let shards = blocks.shards * parts;
    let sources = (0..shards)
        .map(|s| {
            let part = s / blocks.shards * blocks.shards;
            let local = blocks.sources(s % blocks.shards);
            local.into_iter().map(|t| part + t.0).collect()
        })
        .collect();
    let geometry = blocks.geometry();
    Ok(SpaceDef {
        kind: kind.into(),
        shards,
        sources,
        shard_states: vec![geometry.states; shards as usize],
        shard_bytes: vec![geometry.dense_bytes(); shards as usize],
        directed: !puzzle.is_inverse_closed(),
        group_order: count.group_order.to_string(),
        states: count.states.as_ref().map(BigUint::to_string),
        states_proof: count.proof.clone(),
        layout,
        body: body.encode()?,
    })
}

/// No index: packed states, the first levels only.
fn build_sparse(
    puzzle: &Puzzle,
    moves: &[Perm],
    order: &BigUint,
    counts: &[StateCount],
    options: &LayoutOptions,
) -> Result<SpaceDef, SpaceError> {
    let def = sparse::build(puzzle.degree(), moves, puzzle.roots(), options);
    let shards = def.shards;
    // Several roots may share an orbit: their number is then not known without an index.
    let single = puzzle.roots().len() == 1;
    Ok(SpaceDef {
        kind: "sparse".into(),
        shards,
        sources: vec![(0..shards).collect(); shards as usize],
        shard_states: vec![0; shards as usize],
        shard_bytes: vec![0; shards as usize],
        directed: !puzzle.is_inverse_closed(),
        group_order: order.to_string(),
        states: if single {
            counts[0].states.as_ref().map(BigUint::to_string)
        } else {
            None
        },
        states_proof: counts[0].proof.clone(),
        layout: def.layout(),
        body: Body::Sparse(def).encode()?,
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
    let moved = |i: usize| moves.iter().any(|p| p.at(i) != i);
    let same_labels = |root: &[u16]| {
        let sorted = |r: &[u16]| {
            let mut r: Vec<u16> = (0..r.len()).filter(|&i| moved(i)).map(|i| r[i]).collect();
            r.sort_unstable();
            r
        };
        sorted(root) == sorted(&roots[0])
            && (0..root.len()).all(|i| moved(i) || root[i] == roots[0][i])
    };
    // All arrangements are states: then several roots with these labels share one orbit.
    let multinomial = (counts[0].is_multinomial && roots.iter().all(|r| same_labels(r)))
        .then(|| {
            counts[0]
                .states
                .as_ref()
                .and_then(|n| u64::try_from(n).ok())
        })
        .flatten();
    if multinomial.is_none()
        && counts.iter().any(|c| {
            c.states
                .as_ref()
                .is_none_or(|n| *n > BigUint::from(table::LIST_MAX))
        })
    {
        return Err(SpaceError::Unsupported(format!(
            "more than {} states, or not known how many: too many to list",
            table::LIST_MAX
        )));
    }
    let def = table::build(puzzle.degree(), moves, roots, multinomial, options)?;
    // The orbits of several roots are told apart by counting one orbit a root not reached yet.
    let known = match (roots.len(), multinomial) {
        (_, Some(n)) => Some(BigUint::from(n)),
        (1, None) => counts[0].states.clone(),
        (_, None) => orbit::orbit_leaders(moves, roots, table::LIST_MAX)
            .into_iter()
            .map(|k| counts[k].states.clone())
            .try_fold(BigUint::from(0u32), |sum, n| n.map(|n| sum + n)),
    };
    let proof = if known.is_some() {
        counts[0].proof.clone()
    } else {
        "orbit size not proved".to_string()
    };
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
        body: Body::Table(def).encode()?,
    })
}
