//! Content digest of a set of states, superblock by superblock.
//!
//! The words of a superblock are combined linearly with fixed odd multipliers, so that a dense
//! superblock is summed in vector registers and a sparse one bit by bit, with the same result;
//! then the two sums are mixed with the number of the superblock. A level's digest is the wrapping
//! sum over its non-empty superblocks, so it does not depend on shards or on the order of work.

use crate::group::rng::mix;

/// Digest of superblock number `index` of the whole index with these words.
#[inline(always)]
pub(crate) fn block(index: u64, words: &[u64], keys: &[[u32; 4]]) -> u128 {
    let (mut h1, mut h2) = (0u64, 0u64);
    for (&w, k) in words.iter().zip(keys) {
        let (low, high) = (w & 0xffff_ffff, w >> 32);
        h1 = h1
            .wrapping_add(low.wrapping_mul(u64::from(k[0])))
            .wrapping_add(high.wrapping_mul(u64::from(k[1])));
        h2 = h2
            .wrapping_add(low.wrapping_mul(u64::from(k[2])))
            .wrapping_add(high.wrapping_mul(u64::from(k[3])));
    }
    finish(index, h1, h2)
}

/// The part that one bit of a superblock contributes to the two sums.
#[inline(always)]
pub(crate) fn bit(inside: u32, keys: &[[u32; 4]]) -> (u64, u64) {
    let k = keys[(inside / 64) as usize];
    let bit = inside % 64;
    if bit < 32 {
        (u64::from(k[0]) << bit, u64::from(k[2]) << bit)
    } else {
        (u64::from(k[1]) << (bit - 32), u64::from(k[3]) << (bit - 32))
    }
}

/// Mixes the sums of a superblock with its number.
#[inline(always)]
pub(crate) fn finish(index: u64, h1: u64, h2: u64) -> u128 {
    let a = mix(h1 ^ mix(index.wrapping_mul(2).wrapping_add(1)));
    let b = mix(h2 ^ mix(index.wrapping_mul(2).wrapping_add(2)));
    u128::from(a) << 64 | u128::from(b)
}
