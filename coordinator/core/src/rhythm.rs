//! How often checkpoints are made: so that they cost at most about a tenth of the time.

/// The first checkpoint by cost is not made before this, in milliseconds.
const FIRST: u64 = 10_000;
/// A checkpoint is due after so many times what it is expected to take.
const SHARE: u64 = 10;
/// Until a large checkpoint was measured, encoding and disk are taken to manage so many bytes of sets a
/// millisecond.
const ASSUMED_RATE: u64 = 200_000;
/// What a smaller checkpoint took says little about the next one: frontiers grow tenfold in a level.
const TELLING_BYTES: u64 = 256 << 20;

/// When the next checkpoint is due. Times in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Checkpointing {
    /// The last one was complete (or the job started) at this time.
    pub last: u64,
    /// The present one began at this time.
    pub began: Option<u64>,
    /// About how many bytes the present one writes.
    pub bytes: u64,
    /// How long the last one took, and how large it was thought to be.
    pub last_one: Option<(u64, u64)>,
}

impl Checkpointing {
    /// How long after the last one a checkpoint of about so many bytes is worth its cost.
    pub fn due_after(&self, bytes: u64) -> u64 {
        let Some((took, of)) = self.last_one else {
            return FIRST.max(SHARE * (bytes / ASSUMED_RATE));
        };
        let by_size = if of >= TELLING_BYTES {
            u128::from(bytes) * u128::from(took) / u128::from(of)
        } else {
            u128::from(bytes / ASSUMED_RATE)
        };
        let expected = u64::try_from(by_size).unwrap_or(u64::MAX).max(took);
        expected.saturating_mul(SHARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_one_says_little_about_a_large_one() {
        let gib = 1 << 30;
        let fresh = Checkpointing::default();
        assert_eq!(fresh.due_after(0), FIRST);
        assert_eq!(fresh.due_after(4 * gib), SHARE * (4 * gib / ASSUMED_RATE));
        let small = Checkpointing {
            last_one: Some((50, 1 << 20)),
            ..fresh
        };
        assert_eq!(small.due_after(1 << 20), SHARE * 50);
        assert_eq!(small.due_after(4 * gib), SHARE * (4 * gib / ASSUMED_RATE));
        let large = Checkpointing {
            last_one: Some((3000, gib)),
            ..fresh
        };
        assert_eq!(large.due_after(gib), SHARE * 3000);
        assert_eq!(large.due_after(2 * gib), SHARE * 6000);
        let endless = Checkpointing {
            last_one: Some((u64::MAX, gib)),
            ..fresh
        };
        assert_eq!(endless.due_after(u64::MAX), u64::MAX);
    }
}
