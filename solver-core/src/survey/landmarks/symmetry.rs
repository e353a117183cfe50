//! A reflection of the ring of points that permutes the moves: it maps spheres to themselves, so one of each
//! two mirrored states is enough.

use super::key::Key;
use crate::perm::Perm;
use std::collections::HashSet;

/// The first reflection `i -> k - i` modulo `n` that permutes the moves and does not keep them all: TopSpin's and LRX's
/// mirror image (L for R) is one.
pub(super) fn mirror(moves: &[Perm]) -> Option<Perm> {
    let n = moves.first()?.len();
    let all: HashSet<&Perm> = moves.iter().collect();
    let reflections = (0..n).map(|k| (0..n).map(|i| ((k + n - i) % n) as u16).collect());
    reflections
        .filter_map(|images: Vec<u16>| Perm::from_images(&images).ok())
        .find(|p| {
            !p.is_identity()
                && moves.iter().all(|g| all.contains(&conjugate(p, g)))
                && moves.iter().any(|g| conjugate(p, g) != *g)
        })
}

/// `p * g * p`, for `p` that is its own inverse.
pub(super) fn conjugate(p: &Perm, g: &Perm) -> Perm {
    p.then(g).then(p)
}

/// The mirror on packed states.
pub(super) struct Mirror<K> {
    /// The reflection, by position and by label.
    images: Vec<u8>,
    /// Of two neighbouring labels: both reflected, in the other order.
    pairs: Vec<u16>,
    steps: u32,
    /// Fields that are padding after the order of positions is reversed.
    padding: u32,
    /// Reversed positions are turned by so many fields upwards.
    turn: u32,
    n: u32,
    mask: K,
}

impl<K: Key> Mirror<K> {
    /// `p` must be a reflection `i -> k - i`.
    pub fn of(p: &Perm) -> Mirror<K> {
        let (n, size) = (p.len(), 1usize << K::BITS);
        let to = |v: usize| if v < n { p.at(v) } else { 0 };
        let steps = n.div_ceil(2) as u32;
        Mirror {
            images: (0..n).map(|i| p.at(i) as u8).collect(),
            pairs: (0..size * size)
                .map(|pair| (to(pair / size) | to(pair % size) << K::BITS) as u16)
                .collect(),
            steps,
            padding: 2 * steps - n as u32,
            // n-1-i must become k-i, where k is the image of 0.
            turn: ((p.at(0) + 1) % n) as u32,
            n: n as u32,
            mask: K::pack((0..n).map(|_| size - 1)),
        }
    }

    #[inline]
    pub fn image(&self, key: K) -> K {
        let mut reversed = K::default();
        for step in 0..self.steps {
            let pair = self.pairs[(key >> (step * 2 * K::BITS)).low_pair()];
            reversed = reversed | K::of(pair) << ((self.steps - 1 - step) * 2 * K::BITS);
        }
        let reversed = reversed >> (self.padding * K::BITS);
        if self.turn == 0 {
            return reversed & self.mask;
        }
        let up = reversed << (self.turn * K::BITS);
        let down = reversed >> ((self.n - self.turn) * K::BITS);
        (up | down) & self.mask
    }

    /// The smaller of a key and its image. The labels at the last position mostly tell which it is.
    #[inline]
    pub fn smaller(&self, key: K) -> K {
        let last = self.n as usize - 1;
        let own = key.label(last);
        let other = usize::from(self.images[key.label(usize::from(self.images[last]))]);
        if own < other {
            key
        } else if own > other {
            self.image(key)
        } else {
            key.min(self.image(key))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::{PuzzleOptions, resolve};

    fn moves(spec: &str) -> Vec<Perm> {
        let puzzle = resolve(spec, &PuzzleOptions::default()).unwrap();
        puzzle.generators().iter().map(|g| g.perm.clone()).collect()
    }

    fn check<K: Key + std::fmt::Debug>(n: usize) {
        let mut rng = crate::group::rng::SplitMix(n as u64);
        for k in 0..n {
            let images: Vec<u16> = (0..n).map(|i| ((k + n - i) % n) as u16).collect();
            let p = Perm::from_images(&images).unwrap();
            let mirror = Mirror::<K>::of(&p);
            for _ in 0..20 {
                let mut labels: Vec<u16> = (0..n as u16).collect();
                for i in (1..n).rev() {
                    labels.swap(i, rng.below(i + 1));
                }
                let s = Perm::from_images(&labels).unwrap();
                let pack = |p: &Perm| K::pack((0..n).map(|i| p.at(i)));
                let image = pack(&conjugate(&p, &s));
                assert_eq!(mirror.image(pack(&s)), image, "{s} by {p}");
                assert_eq!(mirror.smaller(pack(&s)), pack(&s).min(image));
            }
        }
    }

    #[test]
    fn packed_mirror_images_are_conjugates() {
        for n in 3..=16 {
            check::<u64>(n);
        }
        for n in 3..=24 {
            check::<u128>(n);
        }
    }

    #[test]
    fn rings_have_a_mirror_and_exchange_left_and_right() {
        for spec in ["topspin:9,4", "topspin:12,5", "lrx:8", "lrx:9,3"] {
            let moves = moves(spec);
            let p = mirror(&moves).unwrap();
            assert_eq!(p.then(&p), Perm::identity(p.len()));
            assert_eq!(conjugate(&p, &moves[0]), moves[1], "{spec}");
            assert_eq!(conjugate(&p, &moves[2]), moves[2], "{spec}");
        }
        assert_eq!(mirror(&moves("lx:8")), None);
        assert_eq!(mirror(&moves("pancake:7")), None);
    }
}
