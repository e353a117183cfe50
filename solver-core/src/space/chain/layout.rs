//! Which chain: tries base orders and ends, and keeps the one that fills leaf words best.

use super::key::key_fits;
use super::tables::ELEMENTS_MAX;
use super::tail::{self, TAIL_MAX, Tail};
use super::{ChainDef, ChainPart, PointDigit};
use crate::bfs::block::DIGITS_MAX;
use crate::group::{self, chain::Chain};
use crate::perm::Perm;
use crate::space::{LayoutOptions, SpaceError, choose_prefix};
use num_bigint::BigUint;

/// Groups whose order has more bits are not numbered.
const ORDER_BITS_MAX: u64 = 50;
/// States of a superblock at most; the size of its word table is the tighter limit.
const BLOCK_MAX: usize = 32_768;

/// Chooses base order, tail and shards.
pub(crate) fn build(
    degree: usize,
    moves: &[Perm],
    order: &BigUint,
    parts: Vec<ChainPart>,
    options: &LayoutOptions,
) -> Result<ChainDef, SpaceError> {
    // More shards and tables than anybody can hold: no need to lay out the index to know that.
    if order.bits() > ORDER_BITS_MAX {
        return Err(SpaceError::Unsupported(format!(
            "{order} states are too many to number"
        )));
    }
    let mut best: Option<(f64, ChainDef)> = None;
    for base in base_orders(degree, moves) {
        let chain = Chain::build(degree, moves, &base, Some(order))
            .map_err(|e| SpaceError::Unsupported(e.to_string()))?;
        let def = with_base(&chain, degree, parts.clone(), options)?;
        let score = def.leaf.len() as f64 / 64.0 + 0.2 * still_share(&def, moves);
        if best.as_ref().is_none_or(|b| score > b.0 + 1e-9) {
            best = Some((score, def));
        }
    }
    let Some((_, mut def)) = best else {
        return Err(SpaceError::Unsupported("no base order fits".into()));
    };
    let (words, leaf) = (def.words.len() as u64, def.leaf.len() as u64);
    def.prefix = choose_prefix(&def.lengths(), words, leaf, options)?;
    let mut before = BigUint::from(moves.len() * 2);
    let mut after = order.clone();
    for length in def.lengths() {
        if before.clone().min(after.clone()) > BigUint::from(ELEMENTS_MAX) {
            return Err(SpaceError::Unsupported(format!(
                "{order} states: the tables of the index would not fit"
            )));
        }
        before *= length;
        after /= length;
    }
    Ok(def)
}

/// Base orders worth trying: the orbits of positions in a few orders, each forwards and backwards.
fn base_orders(degree: usize, moves: &[Perm]) -> Vec<Vec<u16>> {
    let mut orbits: Vec<Vec<u16>> = group::orbits(degree, moves)
        .into_iter()
        .filter(|o| o.len() > 1)
        .collect();
    let fixed: Vec<u16> = (0..degree as u16)
        .filter(|&i| moves.iter().all(|g| g.at(usize::from(i)) == usize::from(i)))
        .collect();
    orbits.sort_by_key(Vec::len);
    let mut orders: Vec<Vec<usize>> = Vec::new();
    let n = orbits.len();
    for shift in 0..n.min(4) {
        orders.push((0..n).map(|i| (i + shift) % n).collect());
    }
    orders.push((0..n).rev().collect());
    orders.dedup();
    let mut out: Vec<Vec<u16>> = Vec::new();
    for order in orders {
        for backwards in [false, true] {
            let mut base: Vec<u16> = Vec::new();
            for &o in &order {
                if backwards {
                    base.extend(orbits[o].iter().rev());
                } else {
                    base.extend(&orbits[o]);
                }
            }
            base.extend(&fixed);
            if !out.contains(&base) {
                out.push(base);
            }
        }
    }
    if out.is_empty() {
        out.push((0..degree as u16).collect());
    }
    out
}

/// Share of (superblock, move) pairs whose superblock is moved as a whole, unpermuted; a cheap
/// estimate at the first levels: moves that leave early digits alone.
fn still_share(def: &ChainDef, moves: &[Perm]) -> f64 {
    let Some(first) = def.points.first() else {
        return 0.0;
    };
    let mut still = 0usize;
    for p in moves {
        let inverse = p.inverse();
        still += first
            .orbit
            .iter()
            .filter(|&&x| inverse.at(usize::from(x)) == usize::from(x))
            .count();
    }
    still as f64 / (moves.len() * first.orbit.len()) as f64
}

fn with_base(
    chain: &Chain,
    degree: usize,
    parts: Vec<ChainPart>,
    options: &LayoutOptions,
) -> Result<ChainDef, SpaceError> {
    let levels = chain.levels();
    let mut sizes = vec![1usize; levels.len() + 1];
    for i in (0..levels.len()).rev() {
        sizes[i] = sizes[i + 1].saturating_mul(levels[i].orbit.len());
    }
    let max_block = options
        .max_superblock
        .map_or(BLOCK_MAX, |m| m.max(1) as usize);
    let max_leaf = options.max_leaf.map_or(64, |m| m.clamp(1, 64) as usize);
    let first = (0..=levels.len())
        .find(|&i| sizes[i] <= TAIL_MAX)
        .unwrap_or(levels.len());
    let tail_base: Vec<u16> = levels[first..].iter().map(|l| l.base).collect();
    if !key_fits(degree, levels.len()) || first > DIGITS_MAX - 2 {
        return Err(SpaceError::Unsupported(format!(
            "the stabiliser chain has {} digits on {degree} positions; at most 127 bits are supported",
            levels.len()
        )));
    }
    let stabilisers: Vec<Vec<Perm>> = (first + 1..levels.len())
        .filter(|&i| sizes[i] <= max_block && sizes[i] >= 24)
        .map(|i| elements_of(chain, i))
        .collect();
    let Tail {
        cosets,
        words,
        leaf,
    } = tail::split(
        &elements_of(chain, first),
        &tail_base,
        &stabilisers,
        max_leaf,
        max_block,
    );
    let points = levels[..first]
        .iter()
        .map(|l| PointDigit {
            base: l.base,
            orbit: l.orbit.clone(),
            transversal: l.transversal.clone(),
        })
        .collect();
    Ok(ChainDef {
        degree,
        points,
        tail_base,
        cosets,
        words,
        leaf,
        prefix: 0,
        parts,
    })
}

/// All elements of the stabiliser from level `first` on.
fn elements_of(chain: &Chain, first: usize) -> Vec<Perm> {
    let mut out = vec![Perm::identity(chain.degree())];
    for level in chain.levels()[first..].iter().rev() {
        // h * u_x: deeper elements on the left.
        out = level
            .transversal
            .iter()
            .flat_map(|u| out.iter().map(move |h| h.then(u)))
            .collect();
    }
    out
}
