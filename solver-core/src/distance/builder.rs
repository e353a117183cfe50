//! Distances of a shard from its levels, in any order.

use super::packed::{POWERS, PackedDistances, STATES_PER_BYTE};
use super::{DistanceError, Numbering};
use crate::bfs::frontier::{Body, Frontier};
use crate::terms::Level;

/// Gathers the levels of one shard. Needs two bitmaps of the shard, and the result when it finishes.
#[derive(Debug, Clone)]
pub struct Builder {
    numbering: Numbering,
    /// The lower and upper bit of `level % 3 + 1`; both are 0 where nothing is known yet.
    low: Vec<u64>,
    high: Vec<u64>,
    masks: Vec<u64>,
    count: u64,
    last: Level,
}

impl Builder {
    /// Nothing known yet. The numbering is [`crate::engine::Engine::numbering`] of the shard.
    pub fn new(numbering: Numbering) -> Builder {
        let geometry = numbering.geometry();
        let words = geometry.blocks as usize * geometry.words as usize;
        // All superblocks are alike but the last, which has masks of its own.
        let per_block = geometry.words as usize;
        let bits: Vec<u32> = numbering.used_bits().take(per_block).collect();
        let end: Vec<u32> = numbering.used_bits().skip(words - per_block).collect();
        let mask = |&bits: &u32| u64::MAX.checked_shr(64 - bits).unwrap_or(0);
        Builder {
            numbering,
            low: vec![0; words],
            high: vec![0; words],
            masks: bits.iter().chain(&end).map(mask).collect(),
            count: 0,
            last: 0,
        }
    }

    /// The states of a level.
    ///
    /// # Errors
    /// A set of another shape, a state that has a distance already, a bit that is no state. What was
    /// gathered is of no use afterwards.
    pub fn add(&mut self, level: Level, frontier: &Frontier) -> Result<(), DistanceError> {
        let geometry = self.numbering.geometry();
        let wrong = |what: &str| {
            Err(DistanceError(format!(
                "level {level} does not fit the distances of its shard: {what}"
            )))
        };
        if frontier.geometry() != geometry {
            return wrong("it has another shape");
        }
        let value = level % 3 + 1;
        let mut bad = 0u64;
        match &frontier.body {
            Body::Empty => return Ok(()),
            Body::Keys(_) => return wrong("it has keys and no positions"),
            Body::Sparse(positions) => {
                for &p in positions {
                    if self.numbering.number(p).is_none() {
                        return wrong("a position is no state");
                    }
                    let (w, bit) = ((p / 64) as usize, 1 << (p % 64));
                    bad |= (self.low[w] | self.high[w]) & bit;
                    self.low[w] |= u64::from(value & 1) * bit;
                    self.high[w] |= u64::from(value >> 1) * bit;
                }
            }
            Body::Dense { words, counts } => {
                let per_block = geometry.words as usize;
                let (low, high) = (
                    u64::from(value & 1).wrapping_neg(),
                    u64::from(value >> 1).wrapping_neg(),
                );
                let (inner, end) = self.masks.split_at(per_block);
                for (block, _) in counts.iter().enumerate().filter(|(_, c)| **c != 0) {
                    let range = block * per_block..(block + 1) * per_block;
                    let masks = if block + 1 == counts.len() {
                        end
                    } else {
                        inner
                    };
                    let known = self.low[range.clone()]
                        .iter_mut()
                        .zip(&mut self.high[range.clone()]);
                    for (((l, h), &w), mask) in known.zip(&words[range]).zip(masks) {
                        bad |= w & (*l | *h | !mask);
                        *l |= w & low;
                        *h |= w & high;
                    }
                }
            }
        }
        if bad != 0 {
            return wrong("a state has a distance already, or a bit is no state");
        }
        self.count += frontier.count();
        self.last = self.last.max(level);
        Ok(())
    }

    /// The distances, once every state has one.
    ///
    /// # Errors
    /// States without a distance.
    pub fn finish(self) -> Result<PackedDistances, DistanceError> {
        let states = self.numbering.states();
        if self.count != states {
            return Err(DistanceError(format!(
                "{} of the {states} states of the shard have a distance",
                self.count
            )));
        }
        let table = bytes_of_bits();
        let mut bytes = Vec::with_capacity(states.div_ceil(STATES_PER_BYTE as u64) as usize);
        let (mut low, mut high, mut ready) = (0u128, 0u128, 0);
        for ((&l, &h), bits) in self
            .low
            .iter()
            .zip(&self.high)
            .zip(self.numbering.used_bits())
        {
            low |= u128::from(l) << ready;
            high |= u128::from(h) << ready;
            ready += bits as usize;
            while ready >= STATES_PER_BYTE {
                bytes.push(table[(low as usize & 31) | (high as usize & 31) << 5]);
                low >>= STATES_PER_BYTE;
                high >>= STATES_PER_BYTE;
                ready -= STATES_PER_BYTE;
            }
        }
        if ready > 0 {
            bytes.push(table[low as usize | (high as usize) << 5]);
        }
        Ok(PackedDistances::new(self.numbering, self.last, bytes))
    }
}

/// The byte of five states, by their lower and upper bits; unknown ones count as 0.
fn bytes_of_bits() -> Vec<u8> {
    (0..1u32 << (2 * STATES_PER_BYTE))
        .map(|bits| {
            (0..STATES_PER_BYTE)
                .map(|k| {
                    let value = (bits >> k & 1) + 2 * (bits >> (STATES_PER_BYTE + k) & 1);
                    value.saturating_sub(1) as u8 * POWERS[k]
                })
                .sum()
        })
        .collect()
}
