//! A set of states as bytes and back. Checksums, compression and names are the store's business.

use super::frontier::{Body, Frontier, ShardGeometry};

/// Why bytes are no frontier of a shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a frontier of this shard: {0}")]
pub struct FrontierError(pub String);

impl Frontier {
    /// The set as bytes: a tag (0 empty, 1 sparse, 2 dense, 3 keys, 4 dense with few states), then
    /// little-endian positions (u32; tags 1 and 4) or words (u64).
    pub fn encode(&self) -> Vec<u8> {
        match &self.body {
            Body::Empty => vec![0],
            Body::Sparse(v) => {
                let mut out = Vec::with_capacity(1 + v.len() * 4);
                out.push(1);
                v.iter()
                    .for_each(|p| out.extend_from_slice(&p.to_le_bytes()));
                out
            }
            // A bitmap with few bits takes less as a list of them.
            Body::Dense { .. } if self.is_thin() => {
                let mut out = Vec::with_capacity(1 + self.count() as usize * 4);
                out.push(4);
                self.for_each(|p| out.extend_from_slice(&p.to_le_bytes()));
                out
            }
            Body::Dense { words, .. } | Body::Keys(words) => {
                let mut out = Vec::with_capacity(1 + words.len() * 8);
                out.push(if let Body::Keys(_) = self.body { 3 } else { 2 });
                words
                    .iter()
                    .for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
                out
            }
        }
    }

    /// Number of bytes that [`Frontier::encode`] gives.
    pub fn encoded_bytes(&self) -> usize {
        1 + match &self.body {
            Body::Empty => 0,
            Body::Sparse(v) => v.len() * 4,
            Body::Dense { .. } if self.is_thin() => self.count() as usize * 4,
            Body::Dense { words, .. } | Body::Keys(words) => words.len() * 8,
        }
    }

    /// The inverse of [`Frontier::encode`], for bytes from anywhere: tag, length, order and range are checked
    /// and nothing panics. A geometry does not say which bits of a word are states, so a set that was not
    /// made here is to be compared with its digest before it is used.
    pub fn decode(geometry: ShardGeometry, bytes: &[u8]) -> Result<Frontier, FrontierError> {
        let wrong = |what: &str| FrontierError(what.to_string());
        let (&tag, rest) = bytes.split_first().ok_or_else(|| wrong("no bytes"))?;
        let limit = u64::from(geometry.blocks) * u64::from(geometry.words) * 64;
        let fits = |set: Frontier| {
            if geometry.blocks > 0 && set.count > geometry.states {
                return Err(wrong("more states than the shard has"));
            }
            Ok(set)
        };
        match tag {
            0 if rest.is_empty() => Ok(Frontier::empty(geometry)),
            1 if rest.len() % 4 == 0 => {
                let v: Vec<u32> = positions_of(rest).collect();
                if v.windows(2).any(|w| w[0] >= w[1]) {
                    return Err(wrong("positions are not ascending"));
                }
                if v.last().is_some_and(|&p| u64::from(p) >= limit) {
                    return Err(wrong("a position is outside the shard"));
                }
                fits(Frontier::from_positions(geometry, v))
            }
            4 if geometry.dense_bytes() > 0 && rest.len() % 4 == 0 => {
                let mut words = vec![0u64; (geometry.dense_bytes() / 8) as usize];
                let mut next = 0;
                for p in positions_of(rest) {
                    if u64::from(p) < next {
                        return Err(wrong("positions are not ascending"));
                    }
                    next = u64::from(p) + 1;
                    let Some(word) = words.get_mut((p / 64) as usize) else {
                        return Err(wrong("a position is outside the shard"));
                    };
                    *word |= 1 << (p % 64);
                }
                fits(Frontier::from_words(geometry, words))
            }
            2 if geometry.dense_bytes() > 0 && rest.len() as u64 == geometry.dense_bytes() => {
                fits(Frontier::from_words(geometry, words_of(rest)))
            }
            3 if geometry.blocks == 0
                && geometry.words > 0
                && rest.len() % (geometry.words as usize * 8) == 0 =>
            {
                let keys = words_of(rest);
                let width = geometry.words as usize;
                let ordered = keys
                    .chunks_exact(width)
                    .zip(keys.chunks_exact(width).skip(1))
                    .all(|(a, b)| a < b);
                if !ordered {
                    return Err(wrong("keys are not ascending"));
                }
                Ok(Frontier::from_keys(geometry, keys))
            }
            _ => Err(wrong("the length or the tag does not fit")),
        }
    }
}

fn positions_of(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes
        .chunks_exact(4)
        .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
}

fn words_of(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks_exact(8)
        .map(|c| u64::from_le_bytes([c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHARD: ShardGeometry = ShardGeometry {
        blocks: 3,
        words: 2,
        states: 3 * 2 * 60,
    };
    const KEYS: ShardGeometry = ShardGeometry {
        blocks: 0,
        words: 2,
        states: 0,
    };

    fn refused(geometry: ShardGeometry, bytes: &[u8]) -> String {
        Frontier::decode(geometry, bytes).unwrap_err().0
    }

    fn sparse(positions: &[u32]) -> Vec<u8> {
        let mut bytes = vec![1];
        positions.iter().for_each(|p| bytes.extend(p.to_le_bytes()));
        bytes
    }

    #[test]
    fn bad_bytes_are_refused_with_a_reason() {
        assert_eq!(refused(SHARD, &[]), "no bytes");
        for bytes in [
            &[0, 0][..],
            &[1, 0, 0],
            &[2],
            &[2, 0],
            &[3],
            &[4, 0, 0],
            &[255],
        ] {
            assert_eq!(
                refused(SHARD, bytes),
                "the length or the tag does not fit",
                "{bytes:?}"
            );
        }
        assert_eq!(
            refused(SHARD, &sparse(&[5, 5])),
            "positions are not ascending"
        );
        assert_eq!(
            refused(SHARD, &sparse(&[6, 5])),
            "positions are not ascending"
        );
        assert_eq!(
            refused(SHARD, &sparse(&[3 * 2 * 64])),
            "a position is outside the shard"
        );
        let full = [vec![2], vec![255; 48]].concat();
        assert_eq!(refused(SHARD, &full), "more states than the shard has");
        let every: Vec<u32> = (0..384).collect();
        assert_eq!(
            refused(SHARD, &sparse(&every)),
            "more states than the shard has"
        );
        assert_eq!(refused(KEYS, &[3, 0]), "the length or the tag does not fit");
        let twice = [vec![3], vec![7; 32]].concat();
        assert_eq!(refused(KEYS, &twice), "keys are not ascending");
        assert_eq!(refused(KEYS, &[2]), "the length or the tag does not fit");
        let none = ShardGeometry {
            blocks: 3,
            words: 0,
            states: 0,
        };
        assert_eq!(refused(none, &[2]), "the length or the tag does not fit");
    }

    #[test]
    fn all_shapes_of_the_empty_set_are_the_empty_set() {
        for bytes in [vec![0], vec![1], vec![4], [vec![2], vec![0; 48]].concat()] {
            assert_eq!(
                Frontier::decode(SHARD, &bytes).unwrap(),
                Frontier::empty(SHARD)
            );
        }
        assert_eq!(Frontier::decode(KEYS, &[3]).unwrap(), Frontier::empty(KEYS));
    }

    #[test]
    fn a_thin_bitmap_travels_as_positions_and_is_a_bitmap_again() {
        const SHAPE: ShardGeometry = ShardGeometry {
            blocks: 8,
            words: 16,
            states: 8192,
        };
        for (step, bytes) in [
            (2, 1 + 1024),
            (64, 1 + 1024),
            (65, 1 + 127 * 4),
            (8192, 1 + 4),
        ] {
            let mut words = vec![0u64; 128];
            for p in (0..8192).step_by(step) {
                words[p / 64] |= 1 << (p % 64);
            }
            let frontier = Frontier::from_words(SHAPE, words);
            let encoded = frontier.encode();
            assert_eq!(encoded.len(), bytes, "every {step}");
            assert!(encoded.len() as u64 <= SHAPE.encoded_bytes_at_most(frontier.count()));
            assert_eq!(Frontier::decode(SHAPE, &encoded), Ok(frontier));
        }
        for positions in [&[2u32, 1][..], &[0, 0], &[8192], &[u32::MAX]] {
            let mut bytes = vec![4];
            positions.iter().for_each(|p| bytes.extend(p.to_le_bytes()));
            assert!(Frontier::decode(SHAPE, &bytes).is_err(), "{positions:?}");
        }
    }

    proptest! {
        #[test]
        fn positions_and_bits_round_trip(
            positions in prop::collection::btree_set((0u32..6, 0u32..60), 0..360)
        ) {
            let positions: Vec<u32> = positions.into_iter().map(|(w, k)| w * 64 + k).collect();
            let mut words = vec![0u64; 6];
            positions.iter().for_each(|p| words[(p / 64) as usize] |= 1 << (p % 64));
            for set in [
                Frontier::from_positions(SHARD, positions.clone()),
                Frontier::from_words(SHARD, words),
            ] {
                let bytes = set.encode();
                prop_assert_eq!(bytes.len(), set.encoded_bytes());
                prop_assert!(bytes.len() as u64 <= SHARD.encoded_bytes_at_most(set.count()));
                let back = Frontier::decode(SHARD, &bytes).unwrap();
                prop_assert_eq!(back.count(), positions.len() as u64);
                prop_assert_eq!(back.positions(), positions.clone());
                prop_assert_eq!(back, set);
            }
        }

        #[test]
        fn keys_round_trip(keys in prop::collection::btree_set((any::<u64>(), any::<u64>()), 0..50)) {
            let count = keys.len() as u64;
            let keys: Vec<u64> = keys.into_iter().flat_map(|(a, b)| [a, b]).collect();
            let set = Frontier::from_keys(KEYS, keys);
            let bytes = set.encode();
            prop_assert_eq!(set.count(), count);
            prop_assert!(bytes.len() as u64 <= KEYS.encoded_bytes_at_most(count));
            prop_assert_eq!(Frontier::decode(KEYS, &bytes).unwrap(), set);
        }

        /// Whatever the bytes: a set of the shard that encodes to an equal set, or an error.
        #[test]
        fn no_bytes_panic(
            tag in 0u8..6,
            rest in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..60),
                prop::collection::vec(any::<u8>(), 48),
                prop::collection::vec(prop::sample::select(vec![0u8, 1, 2]), 0..20),
            ],
            blocks in 0u32..4,
            words in 0u32..3,
        ) {
            let geometry = ShardGeometry {
                blocks,
                words,
                states: u64::from(blocks) * u64::from(words) * 60,
            };
            let bytes = [vec![tag], rest].concat();
            if let Ok(set) = Frontier::decode(geometry, &bytes) {
                prop_assert!(blocks == 0 || set.count() <= geometry.states);
                prop_assert!(set.positions().windows(2).all(|w| w[0] < w[1]));
                prop_assert_eq!(Frontier::decode(geometry, &set.encode()).unwrap(), set);
            }
        }
    }
}
