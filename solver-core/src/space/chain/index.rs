//! The slow, independent way between elements and numbers: raw permutations and transversals, none of
//! the tables that the kernels use. Certificates rest on it.

use super::ChainDef;
use super::key::{KeyMap, key, key_fits};
use crate::perm::Perm;
use crate::space::{SpaceError, radix};

/// A stored chain, checked and made ready for look-ups.
pub(crate) struct ChainIndex {
    pub def: ChainDef,
    /// Inverses of the transversal elements of every point digit.
    pub(super) inverses: Vec<Vec<Perm>>,
    /// Position -> value of every point digit, or `u32::MAX`.
    pub(super) places: Vec<Vec<u32>>,
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
        let &(j, w, k) = self.tail.get(&key(&self.def.tail_base, &s))?;
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
        let shard = radix::number(&lengths[..self.def.prefix], &digits);
        let block = radix::number(&lengths[self.def.prefix..], &digits[self.def.prefix..]);
        Some((shard, (block * self.def.words.len() as u32 + w) * 64 + k))
    }

    /// The group element at a position; `None` for unused positions.
    pub fn unrank(&self, shard: u32, position: u32) -> Option<Perm> {
        let lengths = self.def.lengths();
        let (k, word) = (position % 64, position / 64);
        let (w, block) = (
            word % self.def.words.len() as u32,
            word / self.def.words.len() as u32,
        );
        let digits = radix::digits(&lengths, self.def.prefix, shard, block)?;
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
}
