//! The slow, independent way between elements and numbers: raw permutations and transversals, none of
//! the tables that the kernels use. Certificates rest on it.

use super::ChainDef;
use super::key::{KeyMap, inverse_key, key, key_fits};
use crate::perm::Perm;
use crate::space::{SpaceError, radix};

/// A stored chain, checked and made ready for look-ups.
pub(crate) struct ChainIndex {
    pub def: ChainDef,
    /// Inverses of the transversal elements of every point digit.
    pub(super) inverses: Vec<Vec<Perm>>,
    /// Position -> value of every point digit, or `u32::MAX`.
    pub(super) places: Vec<Vec<u32>>,
    /// Lengths of the digits before the superblock.
    lengths: Vec<u64>,
    /// Key of an element of H -> (coset, word, leaf).
    pub(super) tail: KeyMap<(u32, u32, u32)>,
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
        radix::check(&def.lengths(), def.prefix, def.words.len() as u64)?;
        if def.tail_base.iter().any(|&b| usize::from(b) >= def.degree) {
            return Err(damaged("a base label is no position"));
        }
        if !key_fits(def.degree, def.tail_base.len()) {
            return Err(damaged("the last stabiliser has too many base labels"));
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
                        .insert(key(&def.tail_base, &l.then(&rc)), number)
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
            lengths: def.lengths(),
            def,
            inverses,
            places,
            tail,
        })
    }

    /// Shard (within a part) and position of a group element, given by its images; `None` for other lists.
    pub fn rank(&self, images: &[u16]) -> Option<(u32, u32)> {
        let degree = self.def.degree;
        if images.len() != degree || images.iter().any(|&v| usize::from(v) >= degree) {
            return None;
        }
        let mut s = images.to_vec();
        let mut next = vec![0u16; degree];
        let (mut shard, mut block) = (0u32, 0u32);
        let mut count = |i: usize, value: u32| {
            let number = if i < self.def.prefix {
                &mut shard
            } else {
                &mut block
            };
            *number = *number * self.lengths[i] as u32 + value;
        };
        for (i, digit) in self.def.points.iter().enumerate() {
            let x = s.iter().position(|&v| v == digit.base)?;
            let k = self.places[i][x];
            if k == u32::MAX {
                return None;
            }
            count(i, k);
            if k != 0 {
                let inverse = self.inverses[i][k as usize].images();
                for (to, &from) in next.iter_mut().zip(inverse) {
                    *to = s[usize::from(from)];
                }
                std::mem::swap(&mut s, &mut next);
            }
        }
        for (i, &v) in (0u16..).zip(&s) {
            next[usize::from(v)] = i;
        }
        let &(j, w, k) = self.tail.get(&inverse_key(&self.def.tail_base, &next))?;
        let (leaf, word, coset) = (
            &self.def.leaf[k as usize],
            &self.def.words[w as usize],
            self.def.cosets[j as usize].images(),
        );
        let is_product = |(&v, &c): (&u16, &u16)| usize::from(v) == leaf.at(word.at(c.into()));
        if !s.iter().zip(coset).all(is_product) {
            return None;
        }
        if self.def.cosets.len() > 1 {
            count(self.def.points.len(), j);
        }
        Some((shard, (block * self.def.words.len() as u32 + w) * 64 + k))
    }

    /// The group element at a position; `None` for unused positions.
    pub fn unrank(&self, shard: u32, position: u32) -> Option<Perm> {
        let (k, word) = (position % 64, position / 64);
        let words = self.def.words.len() as u32;
        let (w, block) = (word % words, word / words);
        let digits = radix::digits(&self.lengths, self.def.prefix, shard, block)?;
        let word = &self.def.words[w as usize];
        let mut s = self.def.leaf.get(k as usize)?.then(word);
        if self.def.cosets.len() > 1 {
            s = s.then(&self.def.cosets[digits[self.def.points.len()] as usize]);
        }
        for (digit, &x) in self.def.points.iter().zip(&digits).rev() {
            if x != 0 {
                s = s.then(&digit.transversal[x as usize]);
            }
        }
        Some(s)
    }
}
