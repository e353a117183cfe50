//! Content digest of a set of states, superblock by superblock.
//!
//! The words of a superblock are combined linearly with fixed odd multipliers, so that a dense
//! superblock is summed in vector registers and a sparse one bit by bit, with the same result;
//! then the two sums are multiplied with odd numbers that belong to the superblock. A set's digest is
//! the sum over its superblocks, so it does not depend on shards or on the order of work, and
//! it is additive: the digest of a union of disjoint sets is the sum of theirs, also where they share
//! superblocks. The cluster relies on that: it knows the digest of a visited set by adding up levels.

use super::frontier::{Body, Frontier};
use crate::group::rng::mix;
use crate::terms::Digest;
use rayon::prelude::*;

/// Digest of superblock number `index` of the whole index with these words.
#[inline(always)]
pub(crate) fn block(index: u64, words: &[u64], keys: &[[u32; 4]]) -> Digest {
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

/// Binds the sums of a superblock to its number. Linear in the sums, so that digests add up.
#[inline(always)]
pub(crate) fn finish(index: u64, h1: u64, h2: u64) -> Digest {
    let a = h1.wrapping_mul(mix(index.wrapping_mul(2).wrapping_add(1)) | 1);
    let b = h2.wrapping_mul(mix(index.wrapping_mul(2).wrapping_add(2)) | 1);
    Digest(u128::from(a) << 64 | u128::from(b))
}

/// Digest of sorted positions, equal to that of the same states as a bitmap. `stride` positions are a
/// superblock; `first_block` is the number of the shard's first one in the whole index.
pub(crate) fn of_positions(
    positions: &[u32],
    first_block: u64,
    stride: u32,
    keys: &[[u32; 4]],
) -> Digest {
    let mut sum = Digest::default();
    let mut at = 0;
    while at < positions.len() {
        let block = positions[at] / stride;
        let (mut h1, mut h2) = (0u64, 0u64);
        while at < positions.len() && positions[at] / stride == block {
            let (a, b) = bit(positions[at] - block * stride, keys);
            h1 = h1.wrapping_add(a);
            h2 = h2.wrapping_add(b);
            at += 1;
        }
        sum = sum.plus(finish(first_block + u64::from(block), h1, h2));
    }
    sum
}

/// Digest of any set.
pub(crate) fn of(frontier: &Frontier, first_block: u64, keys: &[[u32; 4]]) -> Digest {
    let words = frontier.geometry.words as usize;
    match &frontier.body {
        Body::Empty | Body::Keys(_) => Digest::default(),
        Body::Sparse(v) => of_positions(v, first_block, frontier.geometry.words * 64, keys),
        Body::Dense { words: all, counts } => all
            .par_chunks(words)
            .zip(counts)
            .enumerate()
            .filter(|(_, (_, c))| **c != 0)
            .map(|(t, (words, _))| block(first_block + t as u64, words, keys))
            .reduce(Digest::default, Digest::plus),
    }
}
