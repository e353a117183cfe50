//! The table kind: any orbit of colourings that fits, one table of state numbers a move.
//!
//! No block is kept whole here: the sources of a shard can be all shards. Numbers are ranks in
//! lexicographic order of the labellings; where the orbit is the whole multinomial set the rank is
//! computed, otherwise it is the place in the sorted list of states. The list is made again by
//! every worker (it is unique) and its digest is compared with the stored one: gigabytes of tables
//! need not travel.

use super::two_labels::TwoLabels;
use super::{Direction, Index, LayoutOptions, Space, SpaceError};
use crate::bfs::certificate;
use crate::bfs::frontier::{Body, Frontier, ShardGeometry};
use crate::bfs::kernel::pages;
use crate::bfs::level;
use crate::bfs::words;
use crate::engine::{Digest, EngineError, Expanded, Level, Seen, ShardId};
use crate::group::rng::mix;
use crate::perm::Perm;
use crate::puzzle::State;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Words of a superblock: 4096 states.
const BLOCK_WORDS: u32 = 64;
const BLOCK_STATES: u64 = BLOCK_WORDS as u64 * 64;
/// Orbits that must be listed may not be longer.
pub(crate) const LIST_MAX: u64 = 40_000_000;
/// Numbers are 32 bits.
pub(crate) const STATES_MAX: u64 = u32::MAX as u64 - BLOCK_STATES;

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

/// The numbering, ready for use.
enum Ranker {
    Multinomial(Multinomial),
    Sorted {
        list: Vec<Box<[u16]>>,
        places: HashMap<Box<[u16]>, u32>,
    },
}

/// Ranks of multiset permutations, two at a time where there are only two labels.
struct Multinomial {
    degree: usize,
    positions: Vec<u16>,
    /// Distinct labels ascending, and how often each occurs.
    labels: Vec<u16>,
    times: Vec<usize>,
    /// Labels of positions that never move.
    fixed: Vec<u16>,
    binomials: Vec<Vec<u64>>,
}

fn binomials(n: usize) -> Vec<Vec<u64>> {
    let mut rows = vec![vec![1u64]];
    for i in 1..=n {
        let mut row = vec![1u64; i + 1];
        for k in 1..i {
            row[k] = rows[i - 1][k - 1].saturating_add(rows[i - 1][k]);
        }
        rows.push(row);
    }
    rows
}

impl Multinomial {
    fn new(degree: usize, positions: &[u16], sorted: &[u16], root: &[u16]) -> Multinomial {
        let mut labels = sorted.to_vec();
        labels.dedup();
        let times = labels
            .iter()
            .map(|l| sorted.iter().filter(|s| *s == l).count())
            .collect();
        Multinomial {
            degree,
            positions: positions.to_vec(),
            labels,
            times,
            fixed: root.to_vec(),
            binomials: binomials(positions.len()),
        }
    }

    /// Number of arrangements of `times`.
    fn arrangements(&self, times: &[usize]) -> u64 {
        let (mut n, mut product) = (times.iter().sum::<usize>(), 1u64);
        for &t in times {
            product = product.saturating_mul(self.binomials[n][t]);
            n -= t;
        }
        product
    }

    fn rank(&self, state: &[u16]) -> Option<u64> {
        let mut times = self.times.clone();
        let mut left = times.iter().sum::<usize>();
        let mut total = self.arrangements(&times);
        let mut rank = 0;
        for &i in &self.positions {
            let label = self.labels.binary_search(&state[usize::from(i)]).ok()?;
            // Arrangements that begin with label k are total * times[k] / left.
            for k in 0..label {
                rank += (u128::from(total) * times[k] as u128 / left as u128) as u64;
            }
            if times[label] == 0 {
                return None;
            }
            total = (u128::from(total) * times[label] as u128 / left as u128) as u64;
            times[label] -= 1;
            left -= 1;
        }
        Some(rank)
    }

    fn unrank(&self, mut rank: u64) -> Vec<u16> {
        let mut state = self.fixed.clone();
        let mut times = self.times.clone();
        let mut left = times.iter().sum::<usize>();
        let mut total = self.arrangements(&times);
        for &i in &self.positions {
            for k in 0..times.len() {
                let part = (u128::from(total) * times[k] as u128 / left as u128) as u64;
                if rank < part {
                    state[usize::from(i)] = self.labels[k];
                    total = part;
                    times[k] -= 1;
                    left -= 1;
                    break;
                }
                rank -= part;
            }
        }
        debug_assert_eq!(state.len(), self.degree);
        state
    }

    /// The next labelling in order, in place.
    fn advance(&self, state: &mut [u16]) {
        let at = |k: usize| usize::from(self.positions[k]);
        let n = self.positions.len();
        let Some(i) = (1..n).rev().find(|&k| state[at(k - 1)] < state[at(k)]) else {
            return;
        };
        let pivot = state[at(i - 1)];
        if let Some(j) = (i..n).rev().find(|&k| state[at(k)] > pivot) {
            state.swap(at(i - 1), at(j));
        }
        let (mut a, mut b) = (i, n - 1);
        while a < b {
            state.swap(at(a), at(b));
            a += 1;
            b -= 1;
        }
    }
}

impl Ranker {
    fn rank(&self, state: &[u16]) -> Option<u32> {
        match self {
            Ranker::Multinomial(m) => m.rank(state).map(|r| r as u32),
            Ranker::Sorted { places, .. } => places.get(state).copied(),
        }
    }

    fn unrank(&self, number: u32) -> Vec<u16> {
        match self {
            Ranker::Multinomial(m) => m.unrank(u64::from(number)),
            Ranker::Sorted { list, .. } => list[number as usize].to_vec(),
        }
    }
}

/// All states reachable from the roots, sorted; `None` beyond `max`.
fn orbit(moves: &[Perm], roots: &[Vec<u16>], max: u64) -> Option<Vec<Box<[u16]>>> {
    let mut seen: std::collections::HashSet<Box<[u16]>> = std::collections::HashSet::new();
    let mut open: Vec<Box<[u16]>> = Vec::new();
    for root in roots {
        let root: Box<[u16]> = root.clone().into();
        if seen.insert(root.clone()) {
            open.push(root);
        }
    }
    while let Some(state) = open.pop() {
        for p in moves {
            let next: Box<[u16]> = p.apply(&state).into();
            if !seen.contains(&next) {
                if seen.len() as u64 >= max {
                    return None;
                }
                seen.insert(next.clone());
                open.push(next);
            }
        }
    }
    let mut list: Vec<Box<[u16]>> = seen.into_iter().collect();
    list.par_sort_unstable();
    Some(list)
}

/// The first root of every orbit among the roots.
pub(crate) fn orbit_leaders(moves: &[Perm], roots: &[State]) -> Vec<usize> {
    let mut leaders = Vec::new();
    let mut reached: std::collections::HashSet<Box<[u16]>> = std::collections::HashSet::new();
    for (k, root) in roots.iter().enumerate() {
        if !reached.contains(root) {
            leaders.push(k);
            reached.extend(orbit(moves, &[root.to_vec()], LIST_MAX).unwrap_or_default());
        }
    }
    leaders
}

fn list_digest(list: &[Box<[u16]>]) -> u64 {
    list.iter()
        .flatten()
        .fold(list.len() as u64, |h, &v| mix(h ^ u64::from(v)))
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
    fn blocks_per_shard(&self) -> u64 {
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

/// A loaded table space.
pub(crate) struct Table {
    def: TableDef,
    ranker: Ranker,
    moves: Vec<Perm>,
    directed: bool,
    /// `forward[m][i]`, `backward[m][i]`: the number of state `i` moved by `m` or its inverse.
    forward: Vec<std::sync::Arc<Vec<u32>>>,
    backward: Vec<std::sync::Arc<Vec<u32>>>,
    keys: Vec<[u32; 4]>,
}

/// Number of every state moved by `p`.
fn table_of(ranker: &Ranker, states: u64, p: &Perm) -> Result<Vec<u32>, SpaceError> {
    let mut out = vec![0u32; states as usize];
    if let Ranker::Multinomial(m) = ranker
        && m.labels.len() == 2
        && m.positions.len() <= 64
    {
        let two = TwoLabels::new(m.positions.len(), &m.binomials);
        let moved = two.mask_move(p, &m.positions);
        out.par_chunks_mut(1 << 14)
            .enumerate()
            .for_each(|(k, piece)| {
                let mut mask = two.mask(&m.unrank((k << 14) as u64), &m.positions, m.labels[1]);
                for entry in piece {
                    *entry = two.rank(moved.apply(mask)) as u32;
                    mask = TwoLabels::next(mask);
                }
            });
        return Ok(out);
    }
    let escaped = || SpaceError::Damaged("a move leads out of the stored states".into());
    out.par_chunks_mut(1 << 14)
        .enumerate()
        .try_for_each(|(k, piece)| {
            let first = (k << 14) as u32;
            let mut state = ranker.unrank(first);
            let mut moved = state.clone();
            for (i, entry) in piece.iter_mut().enumerate() {
                match ranker {
                    Ranker::Multinomial(m) if i > 0 => m.advance(&mut state),
                    Ranker::Sorted { list, .. } => state.copy_from_slice(&list[first as usize + i]),
                    Ranker::Multinomial(_) => {}
                }
                for (to, &from) in moved.iter_mut().zip(p.images()) {
                    *to = state[usize::from(from)];
                }
                *entry = ranker.rank(&moved).ok_or_else(escaped)?;
            }
            Ok(())
        })?;
    Ok(out)
}

/// Makes the ranks and tables again and compares them with the definition.
pub(crate) fn load(def: TableDef, moves: Vec<Perm>, directed: bool) -> Result<Table, SpaceError> {
    let damaged = |what: &str| SpaceError::Damaged(what.into());
    if def.roots.is_empty()
        || def.roots.iter().any(|r| r.len() != def.degree)
        || moves.iter().any(|m| m.len() != def.degree)
    {
        return Err(damaged("another number of positions"));
    }
    let ranker = match &def.numbering {
        Numbering::Multinomial { positions, labels } => {
            let m = Multinomial::new(def.degree, positions, labels, &def.roots[0]);
            if m.arrangements(&m.times) != def.states {
                return Err(damaged(
                    "the number of states is not the multinomial coefficient",
                ));
            }
            Ranker::Multinomial(m)
        }
        Numbering::Sorted { digest } => {
            let list = orbit(&moves, &def.roots, def.states + 1).unwrap_or_default();
            if list.len() as u64 != def.states || list_digest(&list) != *digest {
                return Err(damaged("the list of states has another digest"));
            }
            let places = list
                .iter()
                .enumerate()
                .map(|(i, s)| (s.clone(), i as u32))
                .collect();
            Ranker::Sorted { list, places }
        }
    };
    let forward: Vec<std::sync::Arc<Vec<u32>>> = moves
        .iter()
        .map(|p| table_of(&ranker, def.states, p).map(std::sync::Arc::new))
        .collect::<Result<_, _>>()?;
    let backward = moves
        .iter()
        .enumerate()
        .map(|(m, p)| {
            let inverse = p.inverse();
            match moves.iter().position(|q| *q == inverse) {
                Some(k) => forward[k].clone(),
                None => {
                    let mut out = vec![0u32; def.states as usize];
                    for (i, &to) in forward[m].iter().enumerate() {
                        out[to as usize] = i as u32;
                    }
                    std::sync::Arc::new(out)
                }
            }
        })
        .collect();
    let keys = crate::bfs::kernel::digest_keys(BLOCK_WORDS as usize);
    Ok(Table {
        def,
        ranker,
        moves,
        directed,
        forward,
        backward,
        keys,
    })
}

impl Table {
    fn shard_states(&self) -> u64 {
        self.def.blocks_per_shard() * BLOCK_STATES
    }

    fn number(&self, shard: ShardId, position: u32) -> u32 {
        (u64::from(shard.0) * self.shard_states()) as u32 + position
    }

    fn place(&self, number: u32) -> (ShardId, u32) {
        let per_shard = self.shard_states();
        (
            ShardId((u64::from(number) / per_shard) as u32),
            (u64::from(number) % per_shard) as u32,
        )
    }

    fn first_block(&self, shard: ShardId) -> u64 {
        u64::from(shard.0) * self.def.blocks_per_shard()
    }

    fn tables(&self, direction: Direction) -> &[std::sync::Arc<Vec<u32>>] {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        }
    }

    /// The new states of a shard.
    fn level(
        &self,
        direction: Direction,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: &Frontier,
    ) -> Frontier {
        let total: u64 = sources.iter().map(|(_, f)| f.count()).sum();
        if total == 0 {
            Frontier::empty(self.def.geometry(shard.0))
        } else if total * 24 < self.def.states {
            self.push(direction, shard, sources, own, seen)
        } else {
            self.pull(direction, shard, sources, own, seen)
        }
    }

    /// Asks every unseen state of the shard whether it has a predecessor in the sources.
    fn pull(
        &self,
        direction: Direction,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: &Frontier,
    ) -> Frontier {
        let geometry = self.def.geometry(shard.0);
        let per_shard = self.shard_states();
        let views: Vec<Vec<u64>> = sources.iter().map(|(_, f)| words_of(f)).collect();
        let mut by_shard: Vec<Option<&[u64]>> = vec![None; self.def.shards as usize];
        for ((s, f), view) in sources.iter().zip(&views) {
            by_shard[s.0 as usize] = match &f.body {
                Body::Empty | Body::Keys(_) => None,
                Body::Dense { words, .. } => Some(words),
                Body::Sparse(_) => Some(view),
            };
        }
        let single = if let [one] = by_shard[..] { one } else { None };
        let (own_words, seen_words) = (words_of(own), words_of(seen));
        let first = self.number(shard, 0);
        let mut out = pages::zeroed(geometry.blocks as usize * geometry.words as usize);
        out.par_chunks_mut(256).enumerate().for_each(|(k, piece)| {
            for (j, word) in piece.iter_mut().enumerate() {
                let w = k * 256 + j;
                let left = geometry.states - (w as u64 * 64).min(geometry.states);
                let mask = if left >= 64 {
                    u64::MAX
                } else {
                    (1u64 << left) - 1
                };
                let known = word_at(own, &own_words, w) | word_at(seen, &seen_words, w);
                let mut todo = mask & !known;
                while todo != 0 {
                    let bit = todo.trailing_zeros();
                    todo &= todo - 1;
                    let number = (first + w as u32 * 64 + bit) as usize;
                    let found = self.tables(direction.opposite()).iter().any(|table| {
                        let from = table[number];
                        match single {
                            Some(words) => words[(from / 64) as usize] >> (from % 64) & 1 == 1,
                            None => {
                                let (s, p) =
                                    (u64::from(from) / per_shard, u64::from(from) % per_shard);
                                by_shard[s as usize].is_some_and(|words| {
                                    words[(p / 64) as usize] >> (p % 64) & 1 == 1
                                })
                            }
                        }
                    });
                    *word |= u64::from(found) << bit;
                }
            }
        });
        tidy(Frontier::from_words(geometry, out))
    }

    /// Moves every state of the sources and keeps those that fall into the shard.
    fn push(
        &self,
        direction: Direction,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: &Frontier,
    ) -> Frontier {
        let geometry = self.def.geometry(shard.0);
        let mut positions: Vec<u32> = Vec::new();
        for (s, f) in sources {
            f.for_each(|p| {
                let number = self.number(*s, p) as usize;
                for table in self.tables(direction) {
                    let (to, at) = self.place(table[number]);
                    if to == shard && !own.contains(at) && !seen.contains(at) {
                        positions.push(at);
                    }
                }
            });
        }
        positions.par_sort_unstable();
        positions.dedup();
        tidy(Frontier::from_positions(geometry, positions))
    }
}

/// A frontier as words; an empty list for a dense one, whose words are at hand.
fn words_of(f: &Frontier) -> Vec<u64> {
    let Body::Sparse(positions) = &f.body else {
        return Vec::new();
    };
    let mut words = vec![0u64; f.geometry.blocks as usize * f.geometry.words as usize];
    positions
        .iter()
        .for_each(|&p| words[(p / 64) as usize] |= 1 << (p % 64));
    words
}

fn word_at(f: &Frontier, words: &[u64], w: usize) -> u64 {
    match &f.body {
        Body::Empty | Body::Keys(_) => 0,
        Body::Dense { words, .. } => words[w],
        Body::Sparse(_) => words[w],
    }
}

/// Sparse or dense by the number of states.
fn tidy(f: Frontier) -> Frontier {
    let geometry = f.geometry;
    let small = f.count <= Frontier::sparse_limit(geometry);
    match (&f.body, small) {
        (Body::Dense { .. }, true) => Frontier::from_positions(geometry, f.positions()),
        (Body::Sparse(_), false) => Frontier::from_words(geometry, words_of(&f)),
        _ => f,
    }
}

fn union(set: Frontier, new: &Frontier) -> Frontier {
    let geometry = set.geometry;
    if let Body::Dense { mut words, .. } = set.body {
        new.for_each(|p| words[(p / 64) as usize] |= 1 << (p % 64));
        return Frontier::from_words(geometry, words);
    }
    let mut all = set.positions();
    new.for_each(|p| all.push(p));
    all.sort_unstable();
    tidy(Frontier::from_positions(geometry, all))
}

impl Index for Table {
    fn unrank(&self, shard: ShardId, position: u32) -> Option<Vec<u16>> {
        let number = u64::from(shard.0) * self.shard_states() + u64::from(position);
        (number < self.def.states).then(|| self.ranker.unrank(number as u32))
    }

    fn rank(&self, _near: ShardId, element: &[u16]) -> Option<(ShardId, u32)> {
        self.ranker.rank(element).map(|number| self.place(number))
    }

    fn state(&self, _shard: ShardId, element: &[u16]) -> State {
        element.into()
    }

    fn places_of(&self, state: &State) -> Vec<(ShardId, u32)> {
        if state.len() != self.def.degree {
            return Vec::new();
        }
        self.ranker
            .rank(state)
            .map(|number| self.place(number))
            .into_iter()
            .collect()
    }
}

impl Space for Table {
    fn kind(&self) -> &'static str {
        "table"
    }

    fn kernel(&self) -> &'static str {
        "portable"
    }

    fn shards(&self) -> u32 {
        self.def.shards
    }

    fn is_directed(&self) -> bool {
        self.directed
    }

    fn geometry(&self, shard: ShardId) -> ShardGeometry {
        self.def.geometry(shard.0)
    }

    fn sources(&self, _shard: ShardId) -> Vec<ShardId> {
        (0..self.def.shards).map(ShardId).collect()
    }

    fn roots(&self, shard: ShardId) -> Frontier {
        let mut positions: Vec<u32> = self
            .def
            .roots
            .iter()
            .filter_map(|root| self.ranker.rank(root))
            .map(|number| self.place(number))
            .filter(|(s, _)| *s == shard)
            .map(|(_, p)| p)
            .collect();
        positions.sort_unstable();
        positions.dedup();
        tidy(Frontier::from_positions(self.geometry(shard), positions))
    }

    fn expand(
        &self,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
        samples: u32,
    ) -> Result<Expanded, EngineError> {
        let seen_set = match &seen {
            Seen::Previous(f) | Seen::Visited(f) => f,
        };
        for s in 0..self.def.shards {
            let (_, f) = super::input_of(level, shard, ShardId(s), sources)?;
            super::check_inputs(
                level,
                shard,
                self.geometry(ShardId(s)),
                &[(ShardId(s), f)],
                f,
                f,
            )?;
        }
        super::check_inputs(level, shard, self.geometry(shard), &[], own, seen_set)?;
        let subject = certificate::Subject {
            index: self,
            moves: &self.moves,
            level,
            shard,
            sources,
            source_of_move: None,
        };
        let questions = if samples == 0 {
            None
        } else {
            Some(subject.ask(own, seen_set, samples)?)
        };
        let frontier = self.level(Direction::Forward, shard, sources, own, seen_set);
        let certificate = match questions {
            None => Default::default(),
            Some(questions) => subject.check(&frontier, questions)?,
        };
        let digest = self.digest(shard, &frontier);
        let visited = match seen {
            Seen::Visited(v) => Some(union(v, &frontier)),
            Seen::Previous(_) => None,
        };
        Ok(Expanded {
            frontier,
            visited,
            digest,
            certificate,
        })
    }

    fn sweep(
        &self,
        direction: Direction,
        _level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
    ) -> Result<Expanded, EngineError> {
        let (Seen::Previous(seen_set) | Seen::Visited(seen_set)) = &seen;
        let frontier = self.level(direction, shard, sources, own, seen_set);
        let digest = self.digest(shard, &frontier);
        let visited = match seen {
            Seen::Visited(v) => Some(union(v, &frontier)),
            Seen::Previous(_) => None,
        };
        Ok(Expanded {
            frontier,
            visited,
            digest,
            certificate: Default::default(),
        })
    }

    fn digest(&self, shard: ShardId, frontier: &Frontier) -> Digest {
        level::digest_of(frontier, self.first_block(shard), &self.keys)
    }

    fn table_bytes(&self) -> u64 {
        let tables = self.forward.len()
            + if self.directed {
                self.backward.len()
            } else {
                0
            };
        let list = match &self.ranker {
            Ranker::Multinomial(_) => 0,
            Ranker::Sorted { list, .. } => list.len() as u64 * (self.def.degree as u64 * 4 + 56),
        };
        self.def.states * 4 * tables as u64 + list
    }

    fn moves(&self) -> usize {
        self.moves.len()
    }

    fn step(
        &self,
        shard: ShardId,
        position: u32,
        generator: usize,
        inverse: bool,
    ) -> (ShardId, u32) {
        let table = if inverse {
            &self.backward[generator]
        } else {
            &self.forward[generator]
        };
        self.place(table[self.number(shard, position) as usize])
    }

    fn state(&self, shard: ShardId, position: u32) -> Option<State> {
        Index::unrank(self, shard, position).map(Into::into)
    }

    fn places_of(&self, state: &State) -> Vec<(ShardId, u32)> {
        Index::places_of(self, state)
    }

    fn smallest(&self, shard: ShardId, frontier: &Frontier, limit: usize) -> Vec<State> {
        words::smallest(self, shard, frontier, limit)
    }

    fn words(
        &self,
        level: Level,
        states: &[State],
        kept: &(dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync),
        memory_bytes: u64,
    ) -> Vec<Result<Vec<u16>, String>> {
        words::least_words(self, level, states, kept, memory_bytes)
    }
}
