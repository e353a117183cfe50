//! Most states that are looked up are not there; a few bits a key say so without touching the keys.

use super::ball::{Ball, Level, PARTS, part_of};
use super::key::Key;
use rayon::prelude::*;

/// A level that is asked often: a few bits a key say at once that most states are not in it.
#[derive(Default)]
pub(super) struct Filter {
    parts: Vec<Vec<u64>>,
}

impl Filter {
    /// About sixteen bits a key, four of them set in one word: one state in two hundred passes without being in the level.
    pub fn of<K: Key>(level: &Level<K>) -> Filter {
        let parts = level
            .parts()
            .par_iter()
            .map(|keys| {
                let mut words = vec![0u64; keys.len() / 4 + 1];
                for key in keys {
                    let (word, bits) = Filter::place(key.spread(), words.len());
                    words[word] |= bits;
                }
                words
            })
            .collect();
        Filter { parts }
    }

    /// Bytes of a filter of so many keys.
    pub fn bytes(keys: u64) -> u64 {
        keys / 4 * 8 + PARTS as u64 * 8
    }

    #[inline]
    fn place(hash: u64, words: usize) -> (usize, u64) {
        // The part took the top 8 bits; the next 32 say the word, the lowest 24 the bits.
        let place = hash >> 24 & 0xffff_ffff;
        let word = ((place * words as u64) >> 32) as usize;
        let bits = (0..4).fold(0, |bits, k| bits | 1 << (hash >> (6 * k) & 63));
        (word, bits)
    }

    #[inline]
    fn may_have(&self, hash: u64) -> bool {
        let words = &self.parts[part_of(hash)];
        let (word, bits) = Filter::place(hash, words.len());
        words[word] & bits == bits
    }

    /// Of `states`, the places of those that are in the level the filter was made of.
    pub fn members<K: Key>(
        &self,
        ball: &Ball<K>,
        level: &Level<K>,
        states: &[K],
        found: &mut Vec<usize>,
    ) {
        // Keys first and memory afterwards, so that the loads of one block are under way together.
        let mut block = [(K::default(), 0u64); 64];
        for (b, states) in states.chunks(block.len()).enumerate() {
            for (slot, &state) in block.iter_mut().zip(states) {
                let key = ball.standard(state);
                *slot = (key, key.spread());
            }
            for (i, &(key, hash)) in block[..states.len()].iter().enumerate() {
                if self.may_have(hash) && level.has(key, hash) {
                    found.push(b * 64 + i);
                }
            }
        }
    }
}
