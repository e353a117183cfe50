//! A 53-bit key of a state, as cayleyR computes it, so that it is exact as a double. It collides from some ten
//! million states on: for equality compare the states.

const OFFSET: u64 = 1_469_598_103_934_665_603;
const PRIME: u64 = 1_099_511_628_211;

/// The key of 0-based labels: FNV-1a over the labels + 1 as 32-bit numbers, folded to 53 bits. (The offset is not the
/// customary one; it lacks its last digit.)
pub fn key(labels: impl Iterator<Item = u16>) -> u64 {
    let h = labels.fold(OFFSET, |h, label| {
        (h ^ (u64::from(label) + 1)).wrapping_mul(PRIME)
    });
    (h ^ (h >> 53)) & ((1 << 53) - 1)
}
