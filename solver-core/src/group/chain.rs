//! Stabiliser chain of a permutation group (Schreier-Sims), completely verified.
//!
//! Convention: level `i` belongs to the label `b_i`. The digit of an element `s` is the position
//! `x` with `s[x] = b_i`; the transversal element `u_x` has `u_x[x] = b_i`; then
//! `s = h * u_x` with `h` in the next subgroup, the elements that fix `b_0 .. b_i`.
//! Source: Seress, Permutation Group Algorithms (2003), chapter 4; the random phase only finds
//! generators, the proof is the sifting of every Schreier generator of every level.

use super::rng::SplitMix;
use crate::perm::Perm;
use num_bigint::BigUint;

/// One level: the subgroup `G_i` that fixes the labels before, and the orbit of its own label.
#[derive(Debug, Clone)]
pub struct Level {
    /// The label `b_i`.
    pub base: u16,
    /// Generators of `G_i`.
    pub generators: Vec<Perm>,
    /// The positions the label can have, in order of discovery, `orbit[0] = b_i`.
    pub orbit: Vec<u16>,
    /// `u_x` for every `x` of `orbit`, in the same order.
    pub transversal: Vec<Perm>,
    /// Inverses of `transversal`.
    inverses: Vec<Perm>,
    /// Position -> place in `orbit`, or `u32::MAX`.
    place: Vec<u32>,
}

/// A verified chain. Levels with an orbit of one position are left out.
#[derive(Debug, Clone)]
pub struct Chain {
    degree: usize,
    levels: Vec<Level>,
}

/// More transversal elements than this many bytes are not built.
const TRANSVERSAL_BYTES_MAX: usize = 1 << 30;

/// The group is too large for an explicit chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the stabiliser chain on {degree} points needs more than 1 GiB")]
pub struct ChainTooLarge {
    pub degree: usize,
}

impl Level {
    fn new(degree: usize, base: u16) -> Level {
        let mut level = Level {
            base,
            generators: Vec::new(),
            orbit: Vec::new(),
            transversal: Vec::new(),
            inverses: Vec::new(),
            place: vec![u32::MAX; degree],
        };
        level.push(usize::from(base), Perm::identity(degree));
        level
    }

    fn push(&mut self, x: usize, u: Perm) {
        self.place[x] = self.orbit.len() as u32;
        self.orbit.push(x as u16);
        self.inverses.push(u.inverse());
        self.transversal.push(u);
    }

    /// Adds a generator and extends the orbit.
    fn add_generator(&mut self, g: Perm) {
        self.generators.push(g);
        let inverses: Vec<Perm> = self.generators.iter().map(Perm::inverse).collect();
        let mut at = 0;
        while at < self.orbit.len() {
            let x = usize::from(self.orbit[at]);
            for (g, inverse) in self.generators.iter().zip(&inverses) {
                // The label moves from x to g^-1(x).
                let y = inverse.at(x);
                if self.place[y] == u32::MAX {
                    let u = self.transversal[at].then(g);
                    self.place[y] = self.orbit.len() as u32;
                    self.orbit.push(y as u16);
                    self.inverses.push(u.inverse());
                    self.transversal.push(u);
                }
            }
            at += 1;
        }
    }

    /// Place in the orbit of the digit of `s`, if the label is where the orbit says it can be.
    pub fn digit(&self, s: &Perm) -> Option<usize> {
        let x = s.images().iter().position(|&v| v == self.base)?;
        let k = self.place[x];
        (k != u32::MAX).then_some(k as usize)
    }

    /// Inverse of the `k`-th transversal element.
    pub fn inverse(&self, k: usize) -> &Perm {
        &self.inverses[k]
    }
}

impl Chain {
    /// The chain of the group of `generators`, with base labels in the order `base_order` (a
    /// permutation of all points). If `order` is the known order of the group it serves as the
    /// proof of completeness, otherwise every Schreier generator is sifted.
    pub fn build(
        degree: usize,
        generators: &[Perm],
        base_order: &[u16],
        order: Option<&BigUint>,
    ) -> Result<Chain, ChainTooLarge> {
        let mut chain = Chain::sample(degree, generators, base_order, order)?;
        if order.is_none_or(|o| chain.order() != *o) {
            chain.verify()?;
        }
        chain.levels.retain(|level| level.orbit.len() > 1);
        Ok(chain)
    }

    /// The random phase: a chain of elements of the group, complete or not.
    fn sample(
        degree: usize,
        generators: &[Perm],
        base_order: &[u16],
        order: Option<&BigUint>,
    ) -> Result<Chain, ChainTooLarge> {
        let mut chain = Chain {
            degree,
            levels: base_order.iter().map(|&b| Level::new(degree, b)).collect(),
        };
        let moved: Vec<Perm> = generators
            .iter()
            .filter(|g| !g.is_identity())
            .cloned()
            .collect();
        if moved.is_empty() {
            return Ok(chain);
        }
        for g in &moved {
            chain.insert(g.clone(), 0)?;
        }
        let mut source = RandomElements::new(&moved);
        let mut quiet = 0;
        while quiet < 30 {
            if order.is_some_and(|o| chain.order() == *o) {
                break;
            }
            if chain.insert(source.next(), 0)? {
                quiet = 0;
            } else {
                quiet += 1;
            }
        }
        Ok(chain)
    }

    /// Do the generators, elements of a group of order `wanted`, generate all of it? A yes is proved
    /// by the orbit lengths; a no may be bad luck of the random elements.
    pub fn reaches(
        degree: usize,
        generators: &[Perm],
        wanted: &BigUint,
    ) -> Result<bool, ChainTooLarge> {
        let base: Vec<u16> = (0..degree as u16).collect();
        let chain = Chain::sample(degree, generators, &base, Some(wanted))?;
        Ok(chain.order() == *wanted)
    }

    /// All group elements `g` with `from * g = to`, or `None` when more than `max` partial ones are open
    /// on the way. A backtrack search along the levels: once a level's digit is chosen, every position
    /// that the next subgroup fixes must already carry its final label.
    pub fn elements_between(&self, from: &[u16], to: &[u16], max: usize) -> Option<Vec<Perm>> {
        let mut open: Vec<(Vec<u16>, Perm)> = vec![(to.to_vec(), Perm::identity(self.degree))];
        for (i, level) in self.levels.iter().enumerate() {
            let deeper = self.levels.get(i + 1).map_or(&[][..], |l| &l.generators);
            let settled: Vec<usize> = (0..self.degree)
                .filter(|&x| deeper.iter().all(|g| g.at(x) == x))
                .collect();
            let mut next = Vec::new();
            for (state, made) in &open {
                for (k, &x) in level.orbit.iter().enumerate() {
                    if state[usize::from(x)] != from[usize::from(level.base)] {
                        continue;
                    }
                    let rest = level.inverses[k].apply(state);
                    if settled.iter().all(|&x| rest[x] == from[x]) {
                        if next.len() == max {
                            return None;
                        }
                        next.push((rest, level.transversal[k].then(made)));
                    }
                }
            }
            open = next;
        }
        Some(
            open.into_iter()
                .filter(|(rest, _)| rest == from)
                .map(|(_, made)| made)
                .collect(),
        )
    }

    /// Number of points.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The levels, largest subgroup first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Order of the group: the product of the orbit lengths.
    pub fn order(&self) -> BigUint {
        self.levels
            .iter()
            .map(|level| BigUint::from(level.orbit.len()))
            .product()
    }

    /// Is `s` an element of the group?
    pub fn contains(&self, s: &Perm) -> bool {
        let (rest, _) = self.sift(s, 0);
        rest.is_identity()
    }

    /// Divides out transversal elements from level `from` on; the rest, and the level that stopped.
    fn sift(&self, s: &Perm, from: usize) -> (Perm, usize) {
        // The inverse tells where a label is without a search: (s * u^-1)^-1 = u * s^-1.
        let mut inverse = s.inverse();
        for (i, level) in self.levels.iter().enumerate().skip(from) {
            let x = inverse.at(usize::from(level.base));
            match level.place[x] {
                0 => {}
                u32::MAX => return (inverse.inverse(), i),
                k => inverse = level.transversal[k as usize].then(&inverse),
            }
        }
        (inverse.inverse(), self.levels.len())
    }

    /// Makes `s`, an element of `G_from`, a member of the chain; true if it was not one before.
    fn insert(&mut self, s: Perm, from: usize) -> Result<bool, ChainTooLarge> {
        let (rest, stop) = self.sift(&s, from);
        if rest.is_identity() {
            return Ok(false);
        }
        // All labels are in the base, so a rest that is no identity stopped somewhere.
        debug_assert!(stop < self.levels.len());
        for level in &mut self.levels[from..=stop] {
            // A generator that fixes the label of a level belongs to the deeper levels too.
            level.add_generator(rest.clone());
        }
        let bytes: usize = self
            .levels
            .iter()
            .map(|l| l.transversal.len() * self.degree * 4)
            .sum();
        if bytes > TRANSVERSAL_BYTES_MAX {
            return Err(ChainTooLarge {
                degree: self.degree,
            });
        }
        Ok(true)
    }

    /// Sifts every Schreier generator of every level, deepest level first; what does not sift is
    /// added and the levels from there on are done again.
    fn verify(&mut self) -> Result<(), ChainTooLarge> {
        let mut i = self.levels.len();
        while i > 0 {
            i -= 1;
            let mut at = 0;
            'level: while at < self.levels[i].orbit.len() {
                for g in 0..self.levels[i].generators.len() {
                    let level = &self.levels[i];
                    let product = level.transversal[at].then(&level.generators[g]);
                    let Some(k) = level.digit(&product) else {
                        unreachable!("orbits are closed")
                    };
                    let schreier = product.then(&level.inverses[k]);
                    let (rest, stop) = self.sift(&schreier, i + 1);
                    if !rest.is_identity() {
                        for level in &mut self.levels[i + 1..=stop] {
                            level.add_generator(rest.clone());
                        }
                        i = stop + 1;
                        break 'level;
                    }
                }
                at += 1;
            }
        }
        Ok(())
    }
}

/// Product replacement with an accumulator (Leedham-Green's rattle): nearly random elements.
struct RandomElements {
    pool: Vec<Perm>,
    rattle: Perm,
    rng: SplitMix,
}

impl RandomElements {
    fn new(generators: &[Perm]) -> RandomElements {
        let mut pool = generators.to_vec();
        while pool.len() < 11 {
            pool.push(generators[pool.len() % generators.len()].clone());
        }
        let mut out = RandomElements {
            rattle: Perm::identity(generators[0].len()),
            pool,
            rng: SplitMix(0x0a17_1b0d_e000_0001),
        };
        for _ in 0..60 {
            out.next();
        }
        out
    }

    fn next(&mut self) -> Perm {
        let i = self.rng.below(self.pool.len());
        let mut j = self.rng.below(self.pool.len() - 1);
        if j >= i {
            j += 1;
        }
        let other = if self.rng.below(2) == 0 {
            self.pool[j].clone()
        } else {
            self.pool[j].inverse()
        };
        self.pool[i] = if self.rng.below(2) == 0 {
            self.pool[i].then(&other)
        } else {
            other.then(&self.pool[i])
        };
        self.rattle = self.rattle.then(&self.pool[i]);
        self.rattle.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(n: usize, points: &[u16]) -> Perm {
        Perm::from_cycles(n, &[points.to_vec()]).unwrap()
    }

    fn order(degree: usize, generators: &[Perm]) -> BigUint {
        let base: Vec<u16> = (0..degree as u16).collect();
        Chain::build(degree, generators, &base, None)
            .unwrap()
            .order()
    }

    #[test]
    fn orders_of_known_groups() {
        let s7 = [cycle(7, &[0, 1, 2, 3, 4, 5, 6]), cycle(7, &[0, 1])];
        assert_eq!(order(7, &s7), BigUint::from(5040u32));
        let a7 = [cycle(7, &[0, 1, 2, 3, 4, 5, 6]), cycle(7, &[0, 1, 2])];
        assert_eq!(order(7, &a7), BigUint::from(2520u32));
        // M12 in its usual generators (Conway, Sloane).
        let m12 = [
            Perm::from_cycles(12, &[(0..11).collect()]).unwrap(),
            Perm::from_cycles(12, &[vec![2, 6, 10, 7], vec![3, 9, 4, 5]]).unwrap(),
            Perm::from_cycles(
                12,
                &[
                    vec![0, 11],
                    vec![1, 10],
                    vec![2, 5],
                    vec![3, 7],
                    vec![4, 8],
                    vec![6, 9],
                ],
            )
            .unwrap(),
        ];
        assert_eq!(order(12, &m12), BigUint::from(95_040u32));
        assert_eq!(order(5, &[Perm::identity(5)]), BigUint::from(1u32));
    }

    #[test]
    fn the_base_order_does_not_change_the_group() {
        let g = [
            cycle(9, &[0, 1, 2, 3, 4, 5]),
            cycle(9, &[4, 6, 7, 8]),
            cycle(9, &[0, 8]),
        ];
        let base: Vec<u16> = (0..9).collect();
        let chain = Chain::build(9, &g, &base, None).unwrap();
        let back: Vec<u16> = (0..9).rev().collect();
        let other = Chain::build(9, &g, &back, Some(&chain.order())).unwrap();
        assert_eq!(chain.order(), other.order());
        assert!(other.contains(&g[0].then(&g[1]).then(&g[2].inverse())));
    }
}
