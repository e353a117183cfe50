//! The chain kind: states are the elements of the group, numbered perfectly by a stabiliser chain.
//!
//! `s = k * r_w * c_j * u_(x_last) * .. * u_(x_0)`: the digits `x_0, x_1, ..` are positions of base
//! labels, then `j` is a coset of the superblock group B in the last stabiliser H, `w` a coset of the
//! leaf group K in B, `k` the element of K. What everything rests on: under a right
//! multiplication digit 0 of the result depends on digit 0 alone, and the rest is multiplied by
//! one known element: `u_x * p = sigma * u_x'`. A whole coset moves to a whole coset.

use super::block::{Blocks, Digit, Step};
use super::tail::{self, KeyMap, TAIL_MAX, Tail};
use super::{LayoutOptions, SpaceError};
use crate::bfs::kernel::{BlockTables, Kernel};
use crate::group::chain::Chain;
use crate::group::{self};
use crate::perm::Perm;
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

/// One point digit as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PointDigit {
    pub base: u16,
    /// `transversal[d]` has `orbit[d] -> base`.
    pub orbit: Vec<u16>,
    pub transversal: Vec<Perm>,
}

/// The index as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChainDef {
    pub degree: usize,
    pub points: Vec<PointDigit>,
    /// Base labels of the last stabiliser H.
    pub tail_base: Vec<u16>,
    pub cosets: Vec<Perm>,
    pub words: Vec<Perm>,
    pub leaf: Vec<Perm>,
    /// How many digits number the shards.
    pub prefix: usize,
    /// One for each orbit of roots: the labelling that element "identity" stands for, and the group
    /// elements of its roots.
    pub parts: Vec<ChainPart>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChainPart {
    pub labels: Vec<u16>,
    pub roots: Vec<Perm>,
}

/// Largest number of digits, so that walks can keep them on the stack.
const DIGITS_MAX: usize = 60;
/// Elements of one digit's table at most.
const ELEMENTS_MAX: usize = 6_000_000;

/// Chooses base order, tail and shards.
pub(crate) fn build(
    degree: usize,
    moves: &[Perm],
    order: &BigUint,
    parts: Vec<ChainPart>,
    options: &LayoutOptions,
) -> Result<ChainDef, SpaceError> {
    // More shards and tables than anybody can hold: no need to lay out the index to know that.
    if order.bits() > 50 {
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
    def.prefix = choose_prefix(&def, options)?;
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
    let max_block = options.max_superblock.map_or(32_768, |m| m.max(1) as usize);
    let max_leaf = options.max_leaf.map_or(64, |m| m.clamp(1, 64) as usize);
    let first = (0..=levels.len())
        .find(|&i| sizes[i] <= TAIL_MAX)
        .unwrap_or(levels.len());
    let tail_base: Vec<u16> = levels[first..].iter().map(|l| l.base).collect();
    if !tail::key_fits(degree, levels.len()) || first > DIGITS_MAX - 2 {
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

/// Digits until there are enough shards, none larger than its positions and a good size allow.
fn choose_prefix(def: &ChainDef, options: &LayoutOptions) -> Result<usize, SpaceError> {
    super::choose_prefix(
        &def.lengths(),
        def.words.len() as u64,
        def.leaf.len() as u64,
        options,
    )
}

impl ChainDef {
    /// Lengths of the digits before the superblock.
    pub fn lengths(&self) -> Vec<u64> {
        let mut out: Vec<u64> = self.points.iter().map(|p| p.orbit.len() as u64).collect();
        if self.cosets.len() > 1 {
            out.push(self.cosets.len() as u64);
        }
        out
    }

    /// One line for people.
    pub fn layout(&self) -> String {
        let mut digits: Vec<String> = self
            .points
            .iter()
            .map(|p| p.orbit.len().to_string())
            .collect();
        if self.cosets.len() > 1 {
            digits.push(format!("{} cosets", self.cosets.len()));
        }
        let (prefix, rest) = digits.split_at(self.prefix);
        format!(
            "shards [{}] digits [{}] superblock {} words x {} of 64 states",
            prefix.join(" x "),
            rest.join(" x "),
            self.words.len(),
            self.leaf.len()
        )
    }
}

/// The slow, independent way between elements and numbers: raw permutations and transversals,
/// none of the tables that the kernels use.
pub(crate) struct ChainIndex {
    pub def: ChainDef,
    inverses: Vec<Vec<Perm>>,
    places: Vec<Vec<u32>>,
    /// Key of an element of H -> (coset, word, leaf).
    tail: KeyMap<(u32, u32, u32)>,
}

impl ChainIndex {
    /// Checks what can be checked without the group: transversals, cosets and sizes.
    pub fn new(def: ChainDef) -> Result<ChainIndex, SpaceError> {
        let damaged = |what: &str| SpaceError::Damaged(what.to_string());
        let mut places = Vec::new();
        for (i, digit) in def.points.iter().enumerate() {
            if digit.orbit.len() != digit.transversal.len() {
                return Err(damaged("an orbit and its transversal differ in length"));
            }
            let mut place = vec![u32::MAX; def.degree];
            for (k, (&x, u)) in digit.orbit.iter().zip(&digit.transversal).enumerate() {
                let x = usize::from(x);
                let fixes = def.points[..i].iter().all(|d| {
                    u.len() == def.degree && u.at(usize::from(d.base)) == usize::from(d.base)
                });
                if u.len() != def.degree
                    || x >= def.degree
                    || u.at(x) != usize::from(digit.base)
                    || !fixes
                    || place[x] != u32::MAX
                {
                    return Err(damaged("a transversal element is not what its digit says"));
                }
                place[x] = k as u32;
            }
            places.push(place);
        }
        if def.cosets.is_empty()
            || def.words.is_empty()
            || def.leaf.is_empty()
            || def.leaf.len() > 64
            || def.words.len() > 1023
        {
            return Err(damaged("cosets, words or leaf have an impossible size"));
        }
        if def.prefix > def.lengths().len() || !tail::key_fits(def.degree, def.tail_base.len()) {
            return Err(damaged("the shard prefix is longer than the digits"));
        }
        let all = def.cosets.iter().chain(&def.words).chain(&def.leaf);
        if all.clone().any(|p| p.len() != def.degree)
            || all.clone().any(|p| {
                def.points
                    .iter()
                    .any(|d| p.at(usize::from(d.base)) != usize::from(d.base))
            })
        {
            return Err(damaged("a tail element moves an earlier base label"));
        }
        let mut tail = KeyMap::default();
        tail.reserve(def.cosets.len() * def.words.len() * def.leaf.len());
        for (j, c) in def.cosets.iter().enumerate() {
            for (w, r) in def.words.iter().enumerate() {
                let rc = r.then(c);
                for (k, l) in def.leaf.iter().enumerate() {
                    let number = (j as u32, w as u32, k as u32);
                    if tail
                        .insert(tail::key(&def.tail_base, &l.then(&rc)), number)
                        .is_some()
                    {
                        return Err(damaged("two tail elements are equal"));
                    }
                }
            }
        }
        let inverses = def
            .points
            .iter()
            .map(|d| d.transversal.iter().map(Perm::inverse).collect())
            .collect();
        Ok(ChainIndex {
            def,
            inverses,
            places,
            tail,
        })
    }

    /// Digits, word and leaf number of a group element; `None` if it is not in the group.
    fn digits_of(&self, s: &Perm) -> Option<(Vec<u32>, u32, u32)> {
        let mut s = s.clone();
        let mut digits = Vec::with_capacity(self.def.points.len() + 1);
        for (i, digit) in self.def.points.iter().enumerate() {
            let x = s.images().iter().position(|&v| v == digit.base)?;
            let k = self.places[i][x];
            if k == u32::MAX {
                return None;
            }
            digits.push(k);
            if k != 0 {
                s = s.then(&self.inverses[i][k as usize]);
            }
        }
        let &(j, w, k) = self.tail.get(&tail::key(&self.def.tail_base, &s))?;
        let found = self.def.leaf[k as usize]
            .then(&self.def.words[w as usize])
            .then(&self.def.cosets[j as usize]);
        if found != s {
            return None;
        }
        if self.def.cosets.len() > 1 {
            digits.push(j);
        }
        Some((digits, w, k))
    }

    /// Shard (within a part) and position of a group element.
    pub fn rank(&self, s: &Perm) -> Option<(u32, u32)> {
        let (digits, w, k) = self.digits_of(s)?;
        let lengths = self.def.lengths();
        let number = |range: std::ops::Range<usize>| {
            range.fold(0u32, |n, i| n * lengths[i] as u32 + digits[i])
        };
        let block = number(self.def.prefix..lengths.len());
        Some((
            number(0..self.def.prefix),
            (block * self.def.words.len() as u32 + w) * 64 + k,
        ))
    }

    /// The group element at a position; `None` for unused positions.
    pub fn unrank(&self, shard: u32, position: u32) -> Option<Perm> {
        let lengths = self.def.lengths();
        let (k, word) = (position % 64, position / 64);
        let (w, mut block) = (
            word % self.def.words.len() as u32,
            word / self.def.words.len() as u32,
        );
        let mut shard = shard;
        let mut digits = vec![0u32; lengths.len()];
        for i in (self.def.prefix..lengths.len()).rev() {
            digits[i] = block % lengths[i] as u32;
            block /= lengths[i] as u32;
        }
        for i in (0..self.def.prefix).rev() {
            digits[i] = shard % lengths[i] as u32;
            shard /= lengths[i] as u32;
        }
        if block != 0 || shard != 0 {
            return None;
        }
        let mut s = self
            .def
            .leaf
            .get(k as usize)?
            .then(&self.def.words[w as usize]);
        if self.def.cosets.len() > 1 {
            s = s.then(&self.def.cosets[digits[lengths.len() - 1] as usize]);
        }
        for (digit, &x) in self.def.points.iter().zip(&digits).rev() {
            if x != 0 {
                s = s.then(&digit.transversal[x as usize]);
            }
        }
        Some(s)
    }

    /// The tables for the kernels. Fails where the stored chain is not closed under the moves, so
    /// a damaged or wrong index is found here.
    pub fn tables(&self, moves: &[Perm], kernel: Kernel) -> Result<Blocks, SpaceError> {
        let def = &self.def;
        let escaped =
            || SpaceError::Damaged("a move leads out of the stored stabiliser chain".into());
        let mut elements = Elements::new(self.bases_from(0));
        let forward: Vec<u32> = moves.iter().map(|p| elements.number(p.clone())).collect();
        let backward: Vec<u32> = moves.iter().map(|p| elements.number(p.inverse())).collect();
        let mut digits = Vec::new();
        for (i, digit) in def.points.iter().enumerate() {
            let mut next = Elements::new(self.bases_from(i + 1));
            let mut steps = Vec::with_capacity(elements.list.len() * digit.orbit.len());
            for sigma in &elements.list {
                let inverse = sigma.inverse();
                for (&x, u) in digit.orbit.iter().zip(&digit.transversal) {
                    let to = self.places[i][inverse.at(usize::from(x))];
                    if to == u32::MAX {
                        return Err(escaped());
                    }
                    let rest = u.then(sigma).then(&self.inverses[i][to as usize]);
                    steps.push(Step {
                        to,
                        element: next.number(rest),
                    });
                }
                if next.list.len() > ELEMENTS_MAX {
                    return Err(SpaceError::Unsupported(
                        "the tables of the digits would be too large".into(),
                    ));
                }
            }
            digits.push(Digit {
                len: digit.orbit.len() as u32,
                steps,
            });
            elements = next;
        }
        if def.cosets.len() > 1 {
            let mut next = Elements::new(def.tail_base.clone());
            let mut steps = Vec::with_capacity(elements.list.len() * def.cosets.len());
            let inverses: Vec<Perm> = def.cosets.iter().map(Perm::inverse).collect();
            for sigma in &elements.list {
                for c in &def.cosets {
                    let product = c.then(sigma);
                    let &(to, ..) = self
                        .tail
                        .get(&tail::key(&def.tail_base, &product))
                        .ok_or_else(escaped)?;
                    let rest = product.then(&inverses[to as usize]);
                    steps.push(Step {
                        to,
                        element: next.number(rest),
                    });
                }
            }
            digits.push(Digit {
                len: def.cosets.len() as u32,
                steps,
            });
            elements = next;
        }
        let mut rows = Vec::with_capacity(elements.list.len() * def.words.len());
        for tau in &elements.list {
            for r in &def.words {
                match self.tail.get(&tail::key(&def.tail_base, &r.then(tau))) {
                    Some(&(0, w, k)) => rows.push(w | k << 16),
                    _ => return Err(escaped()),
                }
            }
        }
        let mut controls = Vec::new();
        for kappa in &def.leaf {
            let mut control = Vec::new();
            for k in &def.leaf {
                match self.tail.get(&tail::key(&def.tail_base, &k.then(kappa))) {
                    Some(&(0, 0, to)) => control.push(to as u8),
                    _ => return Err(escaped()),
                }
            }
            controls.push(control);
        }
        let tables = BlockTables::leaf(
            kernel,
            def.words.len(),
            rows,
            &controls,
            def.leaf.len() as u32,
        );
        Ok(Blocks::new(digits, def.prefix, tables, forward, backward))
    }

    fn bases_from(&self, first: usize) -> Vec<u16> {
        self.def.points[first..]
            .iter()
            .map(|d| d.base)
            .chain(self.def.tail_base.iter().copied())
            .collect()
    }
}

/// The distinct elements that act on a digit, in order of discovery.
struct Elements {
    base: Vec<u16>,
    numbers: KeyMap<u32>,
    list: Vec<Perm>,
}

impl Elements {
    fn new(base: Vec<u16>) -> Elements {
        Elements {
            base,
            numbers: KeyMap::default(),
            list: Vec::new(),
        }
    }

    fn number(&mut self, p: Perm) -> u32 {
        let next = self.list.len() as u32;
        let number = *self
            .numbers
            .entry(tail::key(&self.base, &p))
            .or_insert(next);
        if number == next {
            self.list.push(p);
        }
        number
    }
}

/// The chain index of all parts, by shard number of the whole space.
pub(crate) struct ChainParts {
    pub index: ChainIndex,
    /// Shards of one part.
    pub shards: u32,
}

impl ChainParts {
    /// Group elements `g` with `labels * g = state`.
    fn elements_of_state(&self, labels: &[u16], state: &[u16]) -> Vec<Perm> {
        if labels.len() != state.len() {
            return Vec::new();
        }
        // Divide out transversal elements for every digit value that the labels allow; labels that
        // repeat leave a choice, which the next digits and the final comparison settle.
        let def = &self.index.def;
        let mut open: Vec<(Vec<u16>, Perm)> = vec![(state.to_vec(), Perm::identity(def.degree))];
        let tail: Vec<&Perm> = def
            .cosets
            .iter()
            .chain(&def.words)
            .chain(&def.leaf)
            .collect();
        for (i, digit) in def.points.iter().enumerate() {
            let deeper = || {
                def.points[i + 1..]
                    .iter()
                    .flat_map(|d| &d.transversal)
                    .chain(tail.iter().copied())
            };
            let fixed: Vec<u16> = (0..def.degree as u16)
                .filter(|&x| deeper().all(|g| g.at(usize::from(x)) == usize::from(x)))
                .collect();
            let mut next = Vec::new();
            for (state, made) in &open {
                for (k, &x) in digit.orbit.iter().enumerate() {
                    if state[usize::from(x)] == labels[usize::from(digit.base)] {
                        let rest = self.index.inverses[i][k].apply(state);
                        if fixed
                            .iter()
                            .all(|&b| rest[usize::from(b)] == labels[usize::from(b)])
                        {
                            next.push((rest, digit.transversal[k].then(made)));
                        }
                    }
                }
            }
            open = next;
        }
        let mut out = Vec::new();
        for c in &def.cosets {
            for r in &def.words {
                let rc = r.then(c);
                for l in &def.leaf {
                    let h = l.then(&rc);
                    let image = h.apply(labels);
                    out.extend(
                        open.iter()
                            .filter(|(rest, _)| *rest == image)
                            .map(|(_, made)| h.then(made)),
                    );
                }
            }
        }
        out
    }
}

impl super::Index for ChainParts {
    fn unrank(&self, shard: super::ShardId, position: u32) -> Option<Vec<u16>> {
        self.index
            .unrank(shard.0 % self.shards, position)
            .map(Vec::from)
    }

    fn rank(&self, near: super::ShardId, element: &[u16]) -> Option<(super::ShardId, u32)> {
        let element = Perm::from_images(element).ok()?;
        let (shard, position) = self.index.rank(&element)?;
        Some((
            super::ShardId(near.0 / self.shards * self.shards + shard),
            position,
        ))
    }

    fn state(&self, shard: super::ShardId, element: &[u16]) -> super::State {
        let labels = &self.index.def.parts[(shard.0 / self.shards) as usize].labels;
        element.iter().map(|&i| labels[usize::from(i)]).collect()
    }

    fn places_of(&self, state: &super::State) -> Vec<(super::ShardId, u32)> {
        let mut out = Vec::new();
        for (k, part) in self.index.def.parts.iter().enumerate() {
            for g in self.elements_of_state(&part.labels, state) {
                if let Some((shard, position)) = self.index.rank(&g) {
                    out.push((super::ShardId(k as u32 * self.shards + shard), position));
                }
            }
        }
        out
    }
}

/// Groups roots by orbit; each part keeps the group elements of its roots. Only for roots on
/// which the group acts regularly.
pub(crate) fn parts_of(degree: usize, chain: &Chain, roots: &[super::State]) -> Vec<ChainPart> {
    let mut parts: Vec<ChainPart> = Vec::new();
    'root: for root in roots {
        for part in &mut parts {
            // The action is regular, so there is one element at most and few partial ones.
            let found = chain
                .elements_between(&part.labels, root, usize::MAX)
                .unwrap_or_default();
            if let Some(g) = found.into_iter().next() {
                if !part.roots.contains(&g) {
                    part.roots.push(g);
                }
                continue 'root;
            }
        }
        parts.push(ChainPart {
            labels: root.to_vec(),
            roots: vec![Perm::identity(degree)],
        });
    }
    parts
}
