//! How much work goes into one dispatch: watchdogs of desktops end what takes seconds, and small dispatches waste time.

use std::time::Duration;

/// What a dispatch is meant to take; even one that is four times as slow is far below a second.
const GOAL: Duration = Duration::from_millis(100);

/// Operations of the first dispatch: about a sixth of a second on one slow core.
const FIRST_OPERATIONS: u64 = 1 << 24;

/// The most items of the next dispatch.
#[derive(Debug)]
pub struct Pace {
    items: u64,
}

impl Pace {
    /// For items of about so many operations each.
    pub fn new(operations_per_item: u64) -> Pace {
        Pace {
            items: (FIRST_OPERATIONS / operations_per_item.max(1)).max(1),
        }
    }

    /// How many of the `left` items come next.
    pub fn next(&self, left: u64) -> u64 {
        self.items.min(left)
    }

    /// Tells that a dispatch of `items` took so long.
    pub fn took(&mut self, items: u64, time: Duration) {
        let fits = GOAL.as_secs_f64() / time.as_secs_f64().max(1e-6) * items as f64;
        let fits = (fits as u64).max(1);
        if items >= self.items.div_ceil(2) {
            // Not more than four times as many before that many were seen to be quick.
            self.items = fits.min(items.saturating_mul(4));
        } else if time > GOAL {
            self.items = fits.min(self.items);
        }
        // Otherwise they were the last few, which say little.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_devices_get_less_and_quick_ones_more() {
        let mut pace = Pace::new(1 << 10);
        assert_eq!(pace.next(u64::MAX), 1 << 14);
        assert_eq!(pace.next(5), 5);
        pace.took(1 << 14, Duration::from_secs(1));
        let slow = pace.next(u64::MAX);
        assert!((1500..1700).contains(&slow), "{slow}");
        pace.took(slow, Duration::from_micros(1));
        assert_eq!(pace.next(u64::MAX), 4 * slow);
        for (items, time, next) in [
            // The last few of a batch: quick ones say nothing, slow ones say that it is enough.
            (3, Duration::from_micros(1), 4 * slow),
            (3, Duration::from_millis(300), 1),
        ] {
            pace.took(items, time);
            assert_eq!(pace.next(u64::MAX), next);
        }
    }

    #[test]
    fn runs_that_are_rounded_down_let_it_grow_too() {
        let mut pace = Pace::new(1 << 14);
        assert_eq!(pace.next(u64::MAX), 1 << 10);
        pace.took(994, Duration::from_micros(1));
        assert_eq!(pace.next(u64::MAX), 4 * 994);
    }

    #[test]
    fn there_is_always_one_item() {
        let mut pace = Pace::new(u64::MAX);
        assert_eq!(pace.next(9), 1);
        pace.took(1, Duration::from_secs(100));
        assert_eq!(pace.next(9), 1);
    }
}
