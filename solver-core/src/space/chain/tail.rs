//! The end of a chain: subgroups K < B < H of the last stabiliser, K at most 64 elements (a leaf
//! word), B a superblock, H the last point stabiliser of moderate size.
//!
//! Point stabilisers alone often end badly: the last ones of a symmetric group have 24 or 120
//! elements, which fill a word to 37 % or not at all. A5 inside S5 fills it to 94 %. So B and K are
//! searched for among the subgroups that a few random elements generate; the search is seeded and
//! the result is stored, so chance decides nothing later.

use super::key::{KeyMap, key, product_key};
use crate::group;
use crate::group::rng::SplitMix;
use crate::perm::Perm;
use std::hash::BuildHasherDefault;

/// H is not enumerated beyond this many elements (8!/2 and a little).
pub(super) const TAIL_MAX: usize = 20_160;
/// Table rows of a superblock should stay in the second-level cache.
const ROW_TABLE_BYTES: usize = 460 << 10;

/// The elements of H with the three-fold numbering.
pub(super) struct Tail {
    /// Representatives of the cosets of B in H; the first is the identity.
    pub cosets: Vec<Perm>,
    /// Representatives of the cosets of K in B.
    pub words: Vec<Perm>,
    /// The elements of K.
    pub leaf: Vec<Perm>,
}

/// A small group by element numbers.
struct Small<'a> {
    degree: usize,
    /// Inverse images of all elements, one after another.
    inverses: Vec<u16>,
    numbers: KeyMap<u32>,
    base: &'a [u16],
}

impl<'a> Small<'a> {
    fn new(elements: &[Perm], base: &'a [u16]) -> Small<'a> {
        let degree = elements[0].len();
        let mut inverses = vec![0u16; elements.len() * degree];
        let mut numbers =
            KeyMap::with_capacity_and_hasher(elements.len(), BuildHasherDefault::default());
        for (k, p) in elements.iter().enumerate() {
            let inverse = &mut inverses[k * degree..(k + 1) * degree];
            for (i, &v) in p.images().iter().enumerate() {
                inverse[usize::from(v)] = i as u16;
            }
            let key = base.iter().fold(0, |key, &b| {
                key * degree as u128 + u128::from(inverse[usize::from(b)])
            });
            numbers.insert(key, k as u32);
        }
        Small {
            degree,
            inverses,
            numbers,
            base,
        }
    }

    fn inverse(&self, a: u32) -> &[u16] {
        &self.inverses[a as usize * self.degree..][..self.degree]
    }

    fn product(&self, a: u32, b: u32) -> u32 {
        self.numbers[&product_key(self.base, self.inverse(a), self.inverse(b))]
    }

    /// The subgroup that `generators` generate, or `None` beyond `max` elements.
    fn closure(&self, generators: &[u32], max: usize, identity: u32) -> Option<Vec<u32>> {
        let mut list = vec![identity];
        let mut at = 0;
        while at < list.len() {
            for &g in generators {
                let p = self.product(list[at], g);
                if !list.contains(&p) {
                    if list.len() == max {
                        return None;
                    }
                    list.push(p);
                }
            }
            at += 1;
        }
        Some(list)
    }

    /// A large subgroup of at most `max` elements of the group `inside`: grown from random seeds.
    fn large_subgroup(
        &self,
        inside: &[u32],
        max: usize,
        tries: usize,
        rng: &mut SplitMix,
        identity: u32,
    ) -> Vec<u32> {
        if inside.len() <= max {
            return inside.to_vec();
        }
        let mut best = vec![identity];
        for _ in 0..tries {
            let mut generators = vec![inside[rng.below(inside.len())]];
            let Some(mut group) = self.closure(&generators, max, identity) else {
                continue;
            };
            let mut misses = 0;
            while misses < 6 && group.len() * 2 <= max {
                generators.push(inside[rng.below(inside.len())]);
                match self.closure(&generators, max, identity) {
                    Some(larger) if larger.len() > group.len() => group = larger,
                    _ => {
                        generators.pop();
                        misses += 1;
                    }
                }
            }
            if group.len() > best.len() {
                best = group;
                if best.len() * 16 >= max * 15 {
                    break;
                }
            }
        }
        best
    }
}

/// Parity of the permutation of an orbit that an element induces.
fn is_even_on(orbit: &[u16], p: &Perm) -> bool {
    let mut seen = vec![false; p.len()];
    let mut odd = false;
    for &start in orbit {
        let mut i = usize::from(start);
        let mut length = 0;
        while !seen[i] {
            seen[i] = true;
            i = p.at(i);
            length += 1;
        }
        odd ^= length > 0 && length % 2 == 0;
    }
    !odd
}

/// Splits H, given by all its elements, into cosets, words and leaf.
/// `stabilisers`: smaller point stabilisers inside H (element lists), candidates for B.
pub(super) fn split(
    elements: &[Perm],
    base: &[u16],
    stabilisers: &[Vec<Perm>],
    max_leaf: usize,
    max_block: usize,
) -> Tail {
    let small = Small::new(elements, base);
    let number = |p: &Perm| small.numbers[&key(base, p)];
    let identity = number(&Perm::identity(elements[0].len()));
    let all: Vec<u32> = (0..elements.len() as u32).collect();
    let mut rng = SplitMix(0x7a11);

    let table_bytes = |block: usize, leaf: usize| block * block.div_ceil(leaf) * 4;
    let fits = |block: usize, leaf: usize| {
        block <= max_block && table_bytes(block, leaf) <= ROW_TABLE_BYTES
    };
    let mut candidates: Vec<Vec<u32>> = Vec::new();
    if all.len() <= max_block {
        candidates.push(all.clone());
    }
    for stabiliser in stabilisers {
        candidates.push(stabiliser.iter().map(number).collect());
    }
    // The even elements, over all positions and over single orbits: A7 inside S7.
    let orbits: Vec<Vec<u16>> = group::orbits(elements[0].len(), elements)
        .into_iter()
        .filter(|o| o.len() > 1)
        .collect();
    for k in 0..candidates.len() + 1 {
        let list = candidates.get(k).unwrap_or(&all).clone();
        for orbit in &orbits {
            let even = |&e: &u32| is_even_on(orbit, &elements[e as usize]);
            let kernel: Vec<u32> = list.iter().copied().filter(even).collect();
            if kernel.len() < list.len() && kernel.len() <= max_block {
                candidates.push(kernel);
            }
        }
    }
    candidates.sort_by_key(|c| std::cmp::Reverse(c.len()));
    // Of each size the first: more would only cost time.
    candidates.dedup_by_key(|c| c.len());
    candidates.push(vec![identity]);

    // A full leaf counts most; among those a larger superblock.
    let mut best: Option<(f64, Vec<u32>, Vec<u32>)> = None;
    for block in candidates {
        if block.len() > max_block {
            continue;
        }
        if !fits(block.len(), max_leaf) {
            continue;
        }
        let leaf = small.large_subgroup(&block, max_leaf, 400, &mut rng, identity);
        if !fits(block.len(), leaf.len()) {
            continue;
        }
        let words = block.len() / leaf.len();
        let score = leaf.len() as f64 * (1.0 - 0.5 / (words as f64).sqrt());
        if best.as_ref().is_none_or(|b| score > b.0) {
            best = Some((score, block, leaf));
        }
    }
    let (_, block, leaf) = best.unwrap_or((0.0, vec![identity], vec![identity]));
    let representatives = |group: &[u32], subgroup: &[u32]| -> Vec<u32> {
        let mut seen: std::collections::HashSet<u32> = std::collections::HashSet::new();
        let mut out = Vec::new();
        for &g in std::iter::once(&identity).chain(group) {
            if !seen.contains(&g) {
                out.push(g);
                seen.extend(subgroup.iter().map(|&k| small.product(k, g)));
            }
        }
        out
    };
    let perms = |list: Vec<u32>| {
        list.into_iter()
            .map(|i| elements[i as usize].clone())
            .collect()
    };
    Tail {
        cosets: perms(representatives(&all, &block)),
        words: perms(representatives(&block, &leaf)),
        leaf: perms(leaf),
    }
}
