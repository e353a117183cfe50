//! The product kind: colourings whose coordinates are independent, such as phase 1 of the 3x3x3
//! (corner twists x edge flips x places of the slice edges).
//!
//! A coordinate is the colouring of one orbit of positions, or of a coarser version of it (some
//! labels taken as equal). Every move permutes the values of every coordinate by itself. One coordinate
//! is the row: its values are the bits of a superblock. The product of the coordinates' sizes must be
//! the independently known number of states, otherwise something ties them and this kind does not
//! serve.

use super::orbit::orbit;
use super::{Index, LayoutOptions, SpaceError, radix};
use crate::bfs::block::{Blocks, Digit, Step};
use crate::bfs::kernel::{BlockTables, Kernel};
use crate::group;
use crate::perm::Perm;
use crate::puzzle::State;
use crate::terms::ShardId;
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Coordinates with more values are not listed.
const VALUES_MAX: usize = 2_000_000;
/// A row fits 1023 words.
const ROW_MAX: usize = 65_472;
/// Rows up to here need two byte permutations a word.
const ROW_GOOD: usize = 2048;

/// The index as stored. The values of a coordinate are listed again by every worker and compared
/// by number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProductDef {
    pub degree: usize,
    pub roots: Vec<Vec<u16>>,
    /// The last one is the row.
    pub coordinates: Vec<Coordinate>,
    pub prefix: usize,
}

/// A coarser colouring of some positions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Coordinate {
    pub positions: Vec<u16>,
    /// Label -> class; labels of one class count as equal.
    pub classes: BTreeMap<u16, u16>,
    pub values: usize,
}

impl Coordinate {
    fn view(&self, state: &[u16]) -> Option<Vec<u16>> {
        self.positions
            .iter()
            .map(|&i| self.classes.get(&state[usize::from(i)]).copied())
            .collect()
    }

    /// The values reachable from the roots, sorted; `None` beyond `max`.
    fn list(&self, moves: &[Perm], roots: &[Vec<u16>], max: usize) -> Option<Vec<Box<[u16]>>> {
        let local = self.local(moves)?;
        let views: Option<Vec<Vec<u16>>> = roots.iter().map(|root| self.view(root)).collect();
        orbit(&local, &views?, max as u64)
    }

    /// The moves on the coordinate's positions alone.
    fn local(&self, moves: &[Perm]) -> Option<Vec<Perm>> {
        let mut place = HashMap::new();
        for (k, &i) in self.positions.iter().enumerate() {
            place.insert(i, k as u64);
        }
        moves
            .iter()
            .map(|p| {
                let images: Option<Vec<u64>> = self
                    .positions
                    .iter()
                    .map(|&i| place.get(&(p.at(usize::from(i)) as u16)).copied())
                    .collect();
                Perm::from_images(&images?).ok()
            })
            .collect()
    }
}

/// All ways to put `n` things into classes, as class numbers in order of first use.
fn partitions(n: usize) -> Vec<Vec<u16>> {
    let mut out = vec![vec![]];
    for _ in 0..n {
        out = out
            .into_iter()
            .flat_map(|p: Vec<u16>| {
                let next = p.iter().copied().max().map_or(0, |m| m + 1);
                (0..=next).map(move |c| [p.clone(), vec![c]].concat())
            })
            .collect();
    }
    out
}

/// Finds independent coordinates; `None` if the colouring has none.
pub(crate) fn build(
    degree: usize,
    moves: &[Perm],
    roots: &[State],
    states: &BigUint,
    options: &LayoutOptions,
) -> Result<Option<ProductDef>, SpaceError> {
    let roots: Vec<Vec<u16>> = roots.iter().map(|r| r.to_vec()).collect();
    let fixed = |i: usize| moves.iter().all(|p| p.at(i) == i);
    if (0..degree).any(|i| fixed(i) && roots.iter().any(|r| r[i] != roots[0][i])) {
        return Ok(None);
    }
    let coloured = |o: &&Vec<u16>| {
        o.iter().any(|&i| {
            roots
                .iter()
                .any(|r| r[usize::from(i)] != roots[0][usize::from(o[0])])
        })
    };
    // One orbit alone must be the row.
    let single = group::orbits(degree, moves)
        .iter()
        .filter(|o| o.len() > 1)
        .filter(coloured)
        .count()
        < 2;
    if single && *states > BigUint::from(ROW_MAX) {
        return Ok(None);
    }
    let mut coordinates: Vec<Coordinate> = Vec::new();
    let mut product = BigUint::from(1u32);
    for positions in group::orbits(degree, moves)
        .into_iter()
        .filter(|o| o.len() > 1)
    {
        let mut labels: Vec<u16> = roots
            .iter()
            .flat_map(|r| positions.iter().map(|&i| r[usize::from(i)]))
            .collect();
        labels.sort_unstable();
        labels.dedup();
        if labels.len() == 1 {
            continue;
        }
        let found = coordinates_of(&positions, &labels, moves, &roots);
        let Some(found) = found else { return Ok(None) };
        product *= found
            .iter()
            .map(|c| BigUint::from(c.values))
            .product::<BigUint>();
        coordinates.extend(found);
    }
    if product != *states {
        return Ok(None);
    }
    let row = (0..coordinates.len())
        .filter(|&k| coordinates[k].values <= ROW_MAX)
        .max_by_key(|&k| {
            let n = coordinates[k].values;
            (n <= ROW_GOOD, if n <= ROW_GOOD { n } else { ROW_MAX - n })
        });
    let Some(row) = row else { return Ok(None) };
    let row = coordinates.remove(row);
    if row.values < 24 && coordinates.iter().any(|c| c.values > 1) {
        return Ok(None);
    }
    coordinates.sort_by_key(|c| c.values);
    let lengths: Vec<u64> = coordinates.iter().map(|c| c.values as u64).collect();
    let prefix = super::choose_prefix(&lengths, row.values.div_ceil(64) as u64, 64, options)?;
    coordinates.push(row);
    Ok(Some(ProductDef {
        degree,
        roots,
        coordinates,
        prefix,
    }))
}

/// The coordinates of one orbit of positions: two coarser colourings that say as much as the whole
/// one and are smaller, if there are any, or the whole.
fn coordinates_of(
    positions: &[u16],
    labels: &[u16],
    moves: &[Perm],
    roots: &[Vec<u16>],
) -> Option<Vec<Coordinate>> {
    let make = |classes: &[u16]| Coordinate {
        positions: positions.to_vec(),
        classes: labels
            .iter()
            .copied()
            .zip(classes.iter().copied())
            .collect(),
        values: 0,
    };
    let whole: Vec<u16> = (0..labels.len() as u16).collect();
    let mut whole = make(&whole);
    if let Some(list) = whole.list(moves, roots, ROW_GOOD) {
        whole.values = list.len();
        return Some(vec![whole]);
    }
    let mut best: Option<(usize, Vec<Coordinate>)> = None;
    if (3..=4).contains(&labels.len()) {
        let coarse: Vec<(Vec<u16>, usize)> = partitions(labels.len())
            .into_iter()
            .filter(|p| {
                (2..labels.len()).contains(&(usize::from(*p.iter().max().unwrap_or(&0)) + 1))
            })
            .filter_map(|p| {
                let values = make(&p).list(moves, roots, ROW_MAX)?.len();
                Some((p, values))
            })
            .collect();
        for (k, (p, a)) in coarse.iter().enumerate() {
            for (q, b) in &coarse[k + 1..] {
                let mut pairs: Vec<(u16, u16)> = p.iter().copied().zip(q.iter().copied()).collect();
                pairs.sort_unstable();
                pairs.dedup();
                // Together they say as much as the whole, so the whole has at most a * b values; that it
                // has as many is checked by the product over all coordinates.
                if pairs.len() == labels.len()
                    && best.as_ref().is_none_or(|(least, _)| a * b < *least)
                {
                    let with = |classes: &[u16], values: usize| Coordinate {
                        values,
                        ..make(classes)
                    };
                    best = Some((a * b, vec![with(p, *a), with(q, *b)]));
                }
            }
        }
    }
    if let Some((_, pair)) = best {
        return Some(pair);
    }
    whole.values = whole.list(moves, roots, VALUES_MAX)?.len();
    Some(vec![whole])
}

impl ProductDef {
    /// Lengths of the digits before the row.
    pub fn lengths(&self) -> Vec<u64> {
        let digits = &self.coordinates[..self.coordinates.len() - 1];
        digits.iter().map(|c| c.values as u64).collect()
    }

    /// Values of the row.
    pub fn row_values(&self) -> usize {
        self.coordinates[self.coordinates.len() - 1].values
    }

    /// Positions of one superblock.
    fn stride(&self) -> u32 {
        self.row_values().div_ceil(64) as u32 * 64
    }

    /// One line for people.
    pub fn layout(&self) -> String {
        let sizes: Vec<String> = self
            .coordinates
            .iter()
            .map(|c| c.values.to_string())
            .collect();
        let (tops, row) = sizes.split_at(sizes.len() - 1);
        format!(
            "shards [{}] digits [{}] rows of {} states",
            tops[..self.prefix].join(" x "),
            tops[self.prefix..].join(" x "),
            row[0]
        )
    }
}

/// The loaded index: the slow way by listed values.
pub(crate) struct ProductIndex {
    pub def: ProductDef,
    lists: Vec<Vec<Box<[u16]>>>,
    places: Vec<HashMap<Box<[u16]>, u32>>,
    /// For every position: the label that the classes of its coordinates stand for.
    labels: Vec<HashMap<Vec<u16>, u16>>,
    /// For every position: (coordinate, place in it).
    members: Vec<Vec<(usize, usize)>>,
}

impl ProductIndex {
    /// Lists the values again and compares their numbers.
    pub fn new(def: ProductDef, moves: &[Perm]) -> Result<ProductIndex, SpaceError> {
        let damaged = |what: &str| SpaceError::Damaged(what.to_string());
        if def.coordinates.is_empty()
            || def.prefix >= def.coordinates.len()
            || def.roots.is_empty()
            || def.roots.iter().any(|r| r.len() != def.degree)
            || moves.iter().any(|m| m.len() != def.degree)
            || def
                .coordinates
                .iter()
                .any(|c| c.positions.iter().any(|&i| usize::from(i) >= def.degree))
        {
            return Err(damaged("coordinates, prefix or roots do not fit"));
        }
        radix::check(
            &def.lengths(),
            def.prefix,
            def.row_values().div_ceil(64) as u64,
        )?;
        if def.row_values() > ROW_MAX {
            return Err(damaged("the row is too long"));
        }
        let mut lists = Vec::new();
        let mut places = Vec::new();
        for c in &def.coordinates {
            let list = c.list(moves, &def.roots, VALUES_MAX).unwrap_or_default();
            if list.len() != c.values || list.is_empty() {
                return Err(damaged("a coordinate has another number of values"));
            }
            places.push(
                list.iter()
                    .enumerate()
                    .map(|(k, v)| (v.clone(), k as u32))
                    .collect(),
            );
            lists.push(list);
        }
        let mut members = vec![Vec::new(); def.degree];
        for (k, c) in def.coordinates.iter().enumerate() {
            for (j, &i) in c.positions.iter().enumerate() {
                members[usize::from(i)].push((k, j));
            }
        }
        let mut labels: Vec<HashMap<Vec<u16>, u16>> = vec![HashMap::new(); def.degree];
        let mut all: Vec<u16> = def.roots.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        for (i, list) in members.iter().enumerate() {
            if list.is_empty() {
                continue;
            }
            for &label in &all {
                let classes: Option<Vec<u16>> = list
                    .iter()
                    .map(|&(k, _)| def.coordinates[k].classes.get(&label).copied())
                    .collect();
                if let Some(classes) = classes
                    && labels[i].insert(classes, label).is_some()
                {
                    return Err(damaged("two labels are not told apart"));
                }
            }
        }
        Ok(ProductIndex {
            def,
            lists,
            places,
            labels,
            members,
        })
    }

    /// Shards and superblocks.
    pub fn tables(&self, moves: &[Perm], kernel: Kernel) -> Result<Blocks, SpaceError> {
        let escaped = || SpaceError::Damaged("a move leads out of a coordinate".into());
        let both: Vec<Perm> = moves
            .iter()
            .cloned()
            .chain(moves.iter().map(Perm::inverse))
            .collect();
        let mut tables: Vec<Vec<u32>> = Vec::new();
        for (k, c) in self.def.coordinates.iter().enumerate() {
            let local = c.local(&both).ok_or_else(escaped)?;
            let mut table = Vec::with_capacity(local.len() * c.values);
            for p in &local {
                for value in &self.lists[k] {
                    table.push(
                        *self.places[k]
                            .get(p.apply(value).as_slice())
                            .ok_or_else(escaped)?,
                    );
                }
            }
            tables.push(table);
        }
        let row = tables.pop().ok_or_else(escaped)?;
        let digits = tables
            .into_iter()
            .zip(&self.def.coordinates)
            .map(|(table, c)| {
                let steps = table
                    .iter()
                    .enumerate()
                    .map(|(at, &to)| Step {
                        to,
                        element: (at / c.values) as u32,
                    })
                    .collect();
                Digit {
                    len: c.values as u32,
                    steps,
                }
            })
            .collect();
        let images = row.into_iter().map(|i| i as u16).collect();
        let states = self.def.row_values();
        let m = moves.len() as u32;
        Ok(Blocks::new(
            digits,
            self.def.prefix,
            BlockTables::row(kernel, states, images),
            (0..m).collect(),
            (m..2 * m).collect(),
        ))
    }

    /// Shard and position of a labelling.
    pub fn place(&self, state: &[u16]) -> Option<(u32, u32)> {
        let mut values = Vec::with_capacity(self.places.len());
        for (c, places) in self.def.coordinates.iter().zip(&self.places) {
            values.push(*places.get(c.view(state)?.as_slice())?);
        }
        let row = values.pop()?;
        let (lengths, prefix) = (self.def.lengths(), self.def.prefix);
        let block = radix::number(&lengths[prefix..], &values[prefix..]);
        Some((
            radix::number(&lengths[..prefix], &values),
            block * self.def.stride() + row,
        ))
    }
}

impl Index for ProductIndex {
    fn unrank(&self, shard: ShardId, position: u32) -> Option<Vec<u16>> {
        let stride = self.def.stride();
        let (block, row) = (position / stride, position % stride);
        let mut values = radix::digits(&self.def.lengths(), self.def.prefix, shard.0, block)?;
        values.push(row);
        if row as usize >= self.def.row_values() {
            return None;
        }
        let mut state = self.def.roots[0].clone();
        for (i, list) in self.members.iter().enumerate() {
            if !list.is_empty() {
                let classes: Vec<u16> = list
                    .iter()
                    .map(|&(k, j)| self.lists[k][values[k] as usize][j])
                    .collect();
                state[i] = *self.labels[i].get(&classes)?;
            }
        }
        Some(state)
    }

    fn rank(&self, _near: ShardId, element: &[u16]) -> Option<(ShardId, u32)> {
        self.place(element)
            .map(|(shard, position)| (ShardId(shard), position))
    }

    fn state(&self, _shard: ShardId, element: &[u16]) -> State {
        element.into()
    }

    fn places_of(&self, state: &State) -> Vec<(ShardId, u32)> {
        if state.len() != self.def.degree {
            return Vec::new();
        }
        self.rank(ShardId(0), state).into_iter().collect()
    }
}
