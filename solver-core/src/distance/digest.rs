//! What the distances of a shard say, as one number that the levels' digests foretell.
//!
//! The states of one residue are the union of every third level, and digests of disjoint sets add up.
//! So whoever knows the digests of the accepted levels knows what the finished distances must have,
//! and a whole database is checked without computing anything again.

use super::PackedDistances;
use crate::space::Space;
use crate::terms::{Digest, Level, ShardId};

/// Odd numbers that keep the residues apart.
const KEYS: [u64; 3] = [
    0x9e37_79b9_7f4a_7c15,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
];

/// The digest that the distances of a shard have, from the digests of the shard's levels
/// (in any order, level 0 included). Linear: digests of shards add up to that of all
/// distances, as for levels.
pub fn expected_digest(levels: impl IntoIterator<Item = (Level, Digest)>) -> Digest {
    levels
        .into_iter()
        .fold(Digest::default(), |sum, (level, digest)| {
            sum.plus(keyed(level % 3, digest))
        })
}

fn keyed(residue: u32, digest: Digest) -> Digest {
    let key = KEYS[residue as usize];
    let (low, high) = (digest.0 as u64, (digest.0 >> 64) as u64);
    Digest(u128::from(high.wrapping_mul(key)) << 64 | u128::from(low.wrapping_mul(key)))
}

/// The digest of distances as they are.
pub(crate) fn digest_of(space: &dyn Space, shard: ShardId, distances: &PackedDistances) -> Digest {
    (0..3u8).fold(Digest::default(), |sum, residue| {
        let set = distances.residue(residue);
        sum.plus(keyed(residue.into(), space.digest(shard, &set)))
    })
}
