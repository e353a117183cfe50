//! From a stored index to a space with tables, checked against the puzzle and against what the job
//! says about it: a worker computes nothing from an index that does not fit.

use super::blocked::Blocked;
use super::body::Body;
use super::chain::{ChainDef, ChainIndex, ChainParts};
use super::product::{ProductDef, ProductIndex};
use super::sparse;
use super::table;
use super::{Space, SpaceDef, SpaceError};
use crate::bfs::buffers::Buffers;
use crate::bfs::kernel::Kernel;
use crate::perm::Perm;
use crate::puzzle::Puzzle;
use crate::terms::{EngineError, KernelChoice, ShardId};

/// Checks a stored index against the puzzle and makes the tables of a kernel.
pub(crate) fn load(
    puzzle: &Puzzle,
    def: &SpaceDef,
    kernel: KernelChoice,
) -> Result<Box<dyn Space>, EngineError> {
    let kernel = Kernel::choose(kernel)?;
    let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
    let directed = !puzzle.is_inverse_closed();
    let body = Body::decode(&def.body)?;
    let degree = match &body {
        Body::Chain(d) => d.degree,
        Body::Product(d) => d.degree,
        Body::Table(d) => d.degree,
        Body::Sparse(d) => d.degree,
    };
    if degree != puzzle.degree() {
        return Err(damaged("another number of positions").into());
    }
    let space: Box<dyn Space> = match body {
        Body::Chain(d) => Box::new(chain(d, moves, directed, kernel)?),
        Body::Product(d) => Box::new(product(puzzle, d, moves, directed, kernel)?),
        Body::Table(d) => Box::new(table::load(d, moves, directed)?),
        Body::Sparse(d) => Box::new(sparse::load(d, moves, directed)?),
    };
    check(def, space.as_ref())?;
    Ok(space)
}

fn damaged(what: &str) -> SpaceError {
    SpaceError::Damaged(what.into())
}

fn chain(
    def: ChainDef,
    moves: Vec<Perm>,
    directed: bool,
    kernel: Kernel,
) -> Result<Blocked, SpaceError> {
    let index = ChainIndex::new(def)?;
    let blocks = index.tables(&moves, kernel)?;
    let shards = blocks.shards;
    let parts = index.def.parts.len() as u32;
    let mut roots = Vec::new();
    for (k, part) in index.def.parts.iter().enumerate() {
        for root in &part.roots {
            let place = index.rank(root.images());
            let (s, p) = place.ok_or_else(|| damaged("a root is not in the group"))?;
            roots.push((ShardId(k as u32 * shards + s), p));
        }
    }
    Ok(Blocked {
        kind: "chain",
        kernel,
        blocks,
        index: Box::new(ChainParts::new(index, shards)),
        moves,
        parts,
        directed,
        roots,
        buffers: Buffers::default(),
    })
}

fn product(
    puzzle: &Puzzle,
    def: ProductDef,
    moves: Vec<Perm>,
    directed: bool,
    kernel: Kernel,
) -> Result<Blocked, SpaceError> {
    let index = ProductIndex::new(def, &moves)?;
    let blocks = index.tables(&moves, kernel)?;
    let mut roots = Vec::new();
    for root in puzzle.roots() {
        let place = index.place(root);
        let (s, p) = place.ok_or_else(|| damaged("a root is not in the product"))?;
        roots.push((ShardId(s), p));
    }
    Ok(Blocked {
        kind: "product",
        kernel,
        blocks,
        index: Box::new(index),
        moves,
        parts: 1,
        directed,
        roots,
        buffers: Buffers::default(),
    })
}

/// The coordinator plans by what `def` says beside the body, so that must be true of the space.
fn check(def: &SpaceDef, space: &dyn Space) -> Result<(), SpaceError> {
    if def.kind != space.kind() || def.shards != space.shards() {
        return Err(damaged("another block kind or number of shards"));
    }
    if def.directed != space.is_directed() {
        return Err(damaged("the moves are not closed under inverse as stored"));
    }
    let shards = || (0..space.shards()).map(ShardId);
    let sizes_differ = shards()
        .map(|s| space.geometry(s).states)
        .ne(def.shard_states.iter().copied())
        || shards()
            .map(|s| space.geometry(s).dense_bytes())
            .ne(def.shard_bytes.iter().copied());
    if sizes_differ {
        return Err(damaged("the sizes of the shards differ"));
    }
    let same_sources = def.sources.len() == space.shards() as usize
        && shards().zip(&def.sources).all(|(s, stored)| {
            space
                .sources(s)
                .iter()
                .map(|t| t.0)
                .eq(stored.iter().copied())
        });
    if !same_sources {
        return Err(damaged("the source shards differ"));
    }
    let sum: u64 = def.shard_states.iter().sum();
    match &def.states {
        Some(states) if space.kind() != "sparse" && *states != sum.to_string() => {
            Err(damaged("the shards do not add up to the number of states"))
        }
        _ => Ok(()),
    }
}
