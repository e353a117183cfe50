//! An automorphism of the list of moves that is its own inverse: it maps spheres to themselves, so one
//! of each two mirrored states is enough.

use super::key::{Key, Renaming, Shifts};
use crate::perm::Perm;
use std::collections::HashSet;

/// The reflections and half turns of the ring of points, and nothing else, are tried: TopSpin's and LRX's mirror
/// image (L for R) is among them.
pub(super) fn mirror(moves: &[Perm]) -> Option<Perm> {
    let n = moves.first()?.len();
    let all: HashSet<&Perm> = moves.iter().collect();
    let reflections = (0..n).map(|k| (0..n).map(|i| ((k + n - i) % n) as u16).collect());
    let half = (n % 2 == 0).then(|| (0..n).map(|i| ((i + n / 2) % n) as u16).collect());
    reflections
        .chain(half)
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
    shifts: Shifts<K>,
    renaming: Renaming<K>,
}

impl<K: Key> Mirror<K> {
    pub fn of(p: &Perm) -> Mirror<K> {
        Mirror {
            shifts: Shifts::of(p),
            renaming: Renaming::of(p),
        }
    }

    #[inline]
    pub fn image(&self, key: K) -> K {
        self.renaming.apply(self.shifts.apply(key))
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
