//! Elements of a small subgroup, told apart by where they put its base labels: one number each.

use crate::group::rng::mix;
use crate::perm::Perm;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Positions of the base labels of the tail, packed: equal exactly for equal elements of H.
pub(super) type Key = u128;

/// Packs where an element puts the given labels.
pub(super) fn key(base: &[u16], s: &Perm) -> Key {
    let images = s.images();
    base.iter().fold(0, |key, &b| {
        let x = images.iter().position(|&v| v == b).unwrap_or(0);
        key * images.len() as u128 + x as u128
    })
}

/// The same from inverse images.
pub(super) fn inverse_key(base: &[u16], inverse: &[u16]) -> Key {
    base.iter().fold(0, |key, &b| {
        key * inverse.len() as u128 + u128::from(inverse[usize::from(b)])
    })
}

/// The same of the product `a * b`, from inverse images.
pub(super) fn product_key(base: &[u16], inverse_a: &[u16], inverse_b: &[u16]) -> Key {
    base.iter().fold(0, |key, &l| {
        let x = inverse_b[usize::from(inverse_a[usize::from(l)])];
        key * inverse_a.len() as u128 + u128::from(x)
    })
}

/// Keys are positions packed by us, so any mixing of their bits will do for hashing.
#[derive(Default, Clone, Copy)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = mix(self.0 ^ u64::from(b));
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = mix(key as u64 ^ mix((key >> 64) as u64));
    }
}

/// A map from keys.
pub(super) type KeyMap<T> = HashMap<Key, T, BuildHasherDefault<KeyHasher>>;

/// Fewer bits than this many are needed for a key, or there is none.
pub(super) fn key_fits(degree: usize, labels: usize) -> bool {
    (degree.max(2) as f64).log2() * labels as f64 <= 127.0
}
