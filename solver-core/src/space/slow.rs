//! A stored index without tables: raw permutations and the slow ranking alone. What verification rests on,
//! so nothing here may come from what the kernels read.

use super::body::Body;
use super::chain::{ChainDef, ChainIndex, ChainParts};
use super::product::{ProductDef, ProductIndex};
use super::sparse::SparseDef;
use super::table::{BLOCK_WORDS, TableDef, TableIndex};
use super::{Index, SpaceDef, SpaceError};
use crate::bfs::frontier::ShardGeometry;
use crate::bfs::kernel::digest_keys;
use crate::perm::Perm;
use crate::puzzle::Puzzle;
use crate::terms::ShardId;

/// States by number.
pub(crate) struct Indexed {
    pub index: Box<dyn Index>,
    /// By shard: shape, and the number of its first superblock in the whole index.
    pub shards: Vec<(ShardGeometry, u64)>,
    /// Of every so many positions so many are states.
    pub group: (u32, u32),
    /// Is a shard one value of a digit prefix, which every move maps as a whole?
    pub by_prefix: bool,
    /// Multipliers of the digest.
    pub keys: Vec<[u32; 4]>,
    pub roots: Vec<(ShardId, u32)>,
}

/// With or without an index.
pub(crate) enum Slow {
    Indexed(Indexed),
    Sparse(SparseDef),
}

/// Reads a stored index and compares it with what the job says about it.
pub(crate) fn load(puzzle: &Puzzle, def: &SpaceDef) -> Result<Slow, SpaceError> {
    let damaged = |what: &str| SpaceError::Damaged(what.to_string());
    let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
    let body = Body::decode(&def.body)?;
    let (kind, degree) = match &body {
        Body::Chain(d) => ("chain", d.degree),
        Body::Product(d) => ("product", d.degree),
        Body::Table(d) => ("table", d.degree),
        Body::Sparse(d) => ("sparse", d.degree),
    };
    if kind != def.kind || degree != puzzle.degree() || def.directed == puzzle.is_inverse_closed() {
        return Err(damaged(
            "another block kind, number of positions or direction",
        ));
    }
    let indexed = match body {
        Body::Chain(d) => chain(d)?,
        Body::Product(d) => product(d, puzzle, &moves)?,
        Body::Table(d) => table(d, &moves)?,
        Body::Sparse(d) => {
            let fits = d.shards == def.shards
                && d.shards > 0
                && (1..=16).contains(&d.bits)
                && d.roots.iter().all(|r| r.len() == degree)
                && d.positions.iter().all(|&i| usize::from(i) < degree);
            return if fits {
                Ok(Slow::Sparse(d))
            } else {
                Err(damaged("key width, shards or roots do not fit"))
            };
        }
    };
    let sizes = indexed.shards.iter().map(|(g, _)| g.states);
    if sizes.clone().ne(def.shard_states.iter().copied())
        || def.shards as usize != indexed.shards.len()
    {
        return Err(damaged("the number or the sizes of the shards differ"));
    }
    if def
        .states
        .as_ref()
        .is_some_and(|n| *n != sizes.sum::<u64>().to_string())
    {
        return Err(damaged("the shards do not add up to the number of states"));
    }
    Ok(Slow::Indexed(indexed))
}

/// Shards of the same shape, one after another.
fn alike(shards: u64, geometry: ShardGeometry) -> Vec<(ShardGeometry, u64)> {
    (0..shards)
        .map(|s| (geometry, s * u64::from(geometry.blocks)))
        .collect()
}

/// Shards and superblocks, from the lengths of the digits.
fn sizes(lengths: &[u64], prefix: usize) -> (u64, u32) {
    let (shards, blocks) = lengths.split_at(prefix);
    (
        shards.iter().product(),
        blocks.iter().product::<u64>() as u32,
    )
}

fn chain(def: ChainDef) -> Result<Indexed, SpaceError> {
    let index = ChainIndex::new(def)?;
    let def = &index.def;
    let (words, leaf) = (def.words.len() as u32, def.leaf.len() as u32);
    let (shards, blocks) = sizes(&def.lengths(), def.prefix);
    let geometry = ShardGeometry {
        blocks,
        words,
        states: u64::from(blocks) * u64::from(words * leaf),
    };
    let mut roots = Vec::new();
    for (k, part) in def.parts.iter().enumerate() {
        for root in &part.roots {
            let (s, p) = index
                .rank(root.images())
                .ok_or_else(|| SpaceError::Damaged("a root is not in the group".into()))?;
            roots.push((ShardId(k as u32 * shards as u32 + s), p));
        }
    }
    Ok(Indexed {
        shards: alike(shards * def.parts.len() as u64, geometry),
        group: (64, leaf),
        by_prefix: true,
        keys: digest_keys(words as usize),
        roots,
        index: Box::new(ChainParts::new(index, shards as u32)),
    })
}

fn product(def: ProductDef, puzzle: &Puzzle, moves: &[Perm]) -> Result<Indexed, SpaceError> {
    let index = ProductIndex::new(def, moves)?;
    let def = &index.def;
    let row = def.row_values() as u32;
    let words = row.div_ceil(64);
    let (shards, blocks) = sizes(&def.lengths(), def.prefix);
    let geometry = ShardGeometry {
        blocks,
        words,
        states: u64::from(blocks) * u64::from(row),
    };
    let mut roots = Vec::new();
    for root in puzzle.roots() {
        let (s, p) = index
            .place(root)
            .ok_or_else(|| SpaceError::Damaged("a root is not in the product".into()))?;
        roots.push((ShardId(s), p));
    }
    Ok(Indexed {
        shards: alike(shards, geometry),
        group: (words * 64, row),
        by_prefix: true,
        keys: digest_keys(words as usize),
        roots,
        index: Box::new(index),
    })
}

fn table(def: TableDef, moves: &[Perm]) -> Result<Indexed, SpaceError> {
    let index = TableIndex::new(def, moves)?;
    let shards = (0..index.def.shards)
        .map(|s| (index.def.geometry(s), index.first_block(ShardId(s))))
        .collect();
    Ok(Indexed {
        shards,
        group: (64, 64),
        by_prefix: false,
        keys: digest_keys(BLOCK_WORDS as usize),
        roots: index.roots().collect(),
        index: Box::new(index),
    })
}
