//! Permutations packed into one number: 16 points of 4 bits in 64, or 24 points of 5 bits in 128.

use crate::group::rng::mix;
use crate::perm::Perm;
use std::ops::{BitAnd, BitOr, Shl, Shr};

/// No search packs more points than this: 25 would fill 128 bits with an odd field left over, which mirror images need.
pub const MAX_POINTS: usize = 24;

/// A packed permutation: the label of position `i` in the bits from `BITS * i` on.
pub(super) trait Key:
    Copy
    + Ord
    + Send
    + Sync
    + Default
    + std::hash::Hash
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + 'static
{
    const BITS: u32;
    const BYTES: u64;
    /// This small number.
    fn of(value: u16) -> Self;
    /// The lowest `2 * BITS` bits.
    fn low_pair(self) -> usize;
    /// A hash whose every bit depends on every label.
    fn spread(self) -> u64;

    fn label(self, at: usize) -> usize {
        (self >> (Self::BITS * at as u32)).low_pair() & ((1 << Self::BITS) - 1)
    }

    fn put(label: usize, at: usize) -> Self {
        Self::of(label as u16) << (Self::BITS * at as u32)
    }

    fn pack(labels: impl Iterator<Item = usize>) -> Self {
        labels
            .enumerate()
            .fold(Self::default(), |key, (at, label)| {
                key | Self::put(label, at)
            })
    }
}

impl Key for u64 {
    const BITS: u32 = 4;
    const BYTES: u64 = 8;
    fn of(value: u16) -> u64 {
        value.into()
    }
    #[inline]
    fn low_pair(self) -> usize {
        (self & 0xff) as usize
    }
    #[inline]
    fn spread(self) -> u64 {
        mix(self)
    }
}

impl Key for u128 {
    const BITS: u32 = 5;
    const BYTES: u64 = 16;
    fn of(value: u16) -> u128 {
        value.into()
    }
    #[inline]
    fn low_pair(self) -> usize {
        (self & 0x3ff) as usize
    }
    #[inline]
    fn spread(self) -> u64 {
        mix(self as u64 ^ mix((self >> 64) as u64))
    }
}

/// A move as masks and shifts: all positions that travel the same way travel together.
#[derive(Debug, Clone)]
pub(super) struct Shifts<K> {
    /// Bits to take, and how far up.
    up: Vec<(K, u32)>,
    /// Bits to take, and how far down.
    down: Vec<(K, u32)>,
}

impl<K: Key> Shifts<K> {
    pub fn of(p: &Perm) -> Shifts<K> {
        let full = (1usize << K::BITS) - 1;
        let mut up: Vec<(K, u32)> = Vec::new();
        let mut down: Vec<(K, u32)> = Vec::new();
        for to in 0..p.len() {
            let from = p.at(to);
            let (list, by) = if to >= from {
                (&mut up, to - from)
            } else {
                (&mut down, from - to)
            };
            let by = by as u32 * K::BITS;
            let mask = K::put(full, from);
            match list.iter_mut().find(|(_, b)| *b == by) {
                Some((m, _)) => *m = *m | mask,
                None => list.push((mask, by)),
            }
        }
        Shifts { up, down }
    }

    /// `key * p`.
    #[inline]
    pub fn apply(&self, key: K) -> K {
        let mut out = K::default();
        for &(mask, by) in &self.up {
            out = out | (key & mask) << by;
        }
        for &(mask, by) in &self.down {
            out = out | (key & mask) >> by;
        }
        out
    }
}

/// A renaming of labels, two at a time.
pub(super) struct Renaming<K> {
    pairs: Vec<u16>,
    steps: u32,
    mask: K,
}

impl<K: Key> Renaming<K> {
    /// `label -> p[label]`.
    pub fn of(p: &Perm) -> Renaming<K> {
        let (n, size) = (p.len(), 1usize << K::BITS);
        let to = |v: usize| if v < n { p.at(v) } else { 0 };
        let pairs = (0..size * size)
            .map(|pair| (to(pair % size) | to(pair / size) << K::BITS) as u16)
            .collect();
        Renaming {
            pairs,
            steps: n.div_ceil(2) as u32,
            mask: K::pack((0..n).map(|_| size - 1)),
        }
    }

    /// `p * key`.
    #[inline]
    pub fn apply(&self, key: K) -> K {
        let mut out = K::default();
        for step in 0..self.steps {
            let by = step * 2 * K::BITS;
            out = out | K::of(self.pairs[(key >> by).low_pair()]) << by;
        }
        out & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::rng::SplitMix;

    fn random(n: usize, rng: &mut SplitMix) -> Perm {
        let mut images: Vec<u16> = (0..n as u16).collect();
        for i in (1..n).rev() {
            images.swap(i, rng.below(i + 1));
        }
        Perm::from_images(&images).unwrap()
    }

    fn check<K: Key + std::fmt::Debug>(n: usize) {
        let mut rng = SplitMix(n as u64);
        let pack = |p: &Perm| K::pack((0..n).map(|i| p.at(i)));
        for _ in 0..50 {
            let (a, b) = (random(n, &mut rng), random(n, &mut rng));
            assert_eq!(Shifts::<K>::of(&b).apply(pack(&a)), pack(&a.then(&b)));
            assert_eq!(Renaming::<K>::of(&a).apply(pack(&b)), pack(&a.then(&b)));
            assert!((0..n).all(|i| pack(&a).label(i) == a.at(i)));
        }
    }

    #[test]
    fn packed_products_are_products() {
        for n in 1..=16 {
            check::<u64>(n);
        }
        for n in 1..=MAX_POINTS {
            check::<u128>(n);
        }
    }
}
