//! Mixed-radix numbers: the digits of a state as shard and superblock numbers, and back. The slow
//! indices use it; the kernels walk digits by their tables.

use super::SpaceError;
use crate::bfs::block::DIGITS_MAX;

/// Shards of one part at most.
pub(crate) const SHARDS_MAX: u128 = 1 << 20;

/// The number made of some digits, the first one most significant.
pub(crate) fn number(lengths: &[u64], digits: &[u32]) -> u32 {
    lengths
        .iter()
        .zip(digits)
        .fold(0, |n, (&len, &x)| n * len as u32 + x)
}

/// The digits of a state: the first `prefix` of them make the shard, the others the superblock.
/// `None` where one of the two numbers is too large.
pub(crate) fn digits(lengths: &[u64], prefix: usize, shard: u32, block: u32) -> Option<Vec<u32>> {
    let mut out = vec![0; lengths.len()];
    let (mut shard, mut block) = (shard, block);
    for (k, &len) in lengths.iter().enumerate().rev() {
        let rest = if k < prefix { &mut shard } else { &mut block };
        out[k] = *rest % len as u32;
        *rest /= len as u32;
    }
    (shard == 0 && block == 0).then_some(out)
}

/// Do shards and positions fit their 32-bit numbers? `words` are those of a superblock.
pub(crate) fn fits(lengths: &[u64], prefix: usize, words: u64) -> bool {
    let product = |range: &[u64]| {
        range
            .iter()
            .try_fold(1u128, |n, &len| n.checked_mul(u128::from(len)))
            .unwrap_or(u128::MAX)
    };
    if lengths.len() > DIGITS_MAX || prefix > lengths.len() || lengths.contains(&0) {
        return false;
    }
    let (shards, rest) = lengths.split_at(prefix);
    product(shards) <= SHARDS_MAX
        && product(rest).saturating_mul(u128::from(words) * 64) <= u128::from(u32::MAX)
}

/// The same of a stored layout.
pub(crate) fn check(lengths: &[u64], prefix: usize, words: u64) -> Result<(), SpaceError> {
    if fits(lengths, prefix, words) {
        Ok(())
    } else {
        Err(SpaceError::Damaged(
            "digits and shard prefix do not fit together".into(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_numbers_are_inverse() {
        let (lengths, prefix) = ([3u64, 4, 5, 2], 2);
        let mut seen = std::collections::HashSet::new();
        for shard in 0..12 {
            for block in 0..10 {
                let x = digits(&lengths, prefix, shard, block).unwrap();
                assert_eq!(number(&lengths[..prefix], &x[..prefix]), shard);
                assert_eq!(number(&lengths[prefix..], &x[prefix..]), block);
                assert!(seen.insert(x));
            }
        }
        assert_eq!(digits(&lengths, prefix, 12, 0), None);
        assert_eq!(digits(&lengths, prefix, 0, 10), None);
        assert_eq!(digits(&[], 0, 0, 0), Some(Vec::new()));
    }

    #[test]
    fn layouts_that_do_not_fit_are_refused() {
        assert!(fits(&[8, 7, 6], 2, 44));
        assert!(!fits(&[8, 7, 6], 4, 44));
        assert!(!fits(&[8, 0, 6], 1, 44));
        assert!(!fits(&[1 << 21, 2], 1, 1));
        assert!(!fits(&[2, 1 << 27], 1, 1));
        assert!(fits(&[2, (1 << 26) - 1], 1, 1));
        assert!(!fits(&[2; 61], 20, 1));
        assert!(!fits(&[u64::MAX; 3], 0, 1));
    }
}
