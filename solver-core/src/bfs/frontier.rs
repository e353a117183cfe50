//! A set of states of one shard: empty, sparse (sorted positions) or dense (one bit a state).

use serde::{Deserialize, Serialize};

/// The shape of a shard: `blocks` superblocks of `words` words of 64 bits. Bit `k` of word `w` of
/// superblock `t` is the position `(t * words + w) * 64 + k`; not every bit of a word is used.
/// Positions of a shard are below 2^32. A space without an index has no blocks: its states are keys
/// of `words` words each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardGeometry {
    pub blocks: u32,
    pub words: u32,
    /// Number of states of the shard.
    pub states: u64,
}

impl ShardGeometry {
    /// Bytes of the set as a bitmap.
    pub fn dense_bytes(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.words) * 8
    }

    /// About how many bytes in memory a set of `count` states takes.
    pub fn memory_bytes(&self, count: u64) -> u64 {
        if self.blocks == 0 {
            count.saturating_mul(u64::from(self.words) * 8)
        } else if count < Frontier::sparse_limit(*self) {
            count * 4
        } else {
            self.dense_bytes() + u64::from(self.blocks) * 2
        }
    }

    /// No set of `count` states has more bytes than this when it is encoded.
    pub fn encoded_bytes_at_most(&self, count: u64) -> u64 {
        let body = if self.blocks == 0 {
            count.saturating_mul(u64::from(self.words) * 8)
        } else {
            self.dense_bytes().max(count.saturating_mul(4))
        };
        body.saturating_add(1)
    }
}

/// A set of states of one shard, immutable once made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontier {
    pub(crate) geometry: ShardGeometry,
    pub(crate) count: u64,
    pub(crate) body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Empty,
    /// Sorted positions.
    Sparse(Vec<u32>),
    /// The bitmap, and the number of states in each superblock.
    Dense {
        words: Vec<u64>,
        counts: Vec<u16>,
    },
    /// Packed states of a space without an index: sorted keys of `geometry.words` words each.
    Keys(Vec<u64>),
}

/// Why bytes are no frontier of a shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a frontier of this shard: {0}")]
pub struct FrontierError(pub String);

impl Frontier {
    /// The empty set.
    pub fn empty(geometry: ShardGeometry) -> Frontier {
        Frontier {
            geometry,
            count: 0,
            body: Body::Empty,
        }
    }

    /// Number of states.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The shard's shape.
    pub fn geometry(&self) -> ShardGeometry {
        self.geometry
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> u64 {
        match &self.body {
            Body::Empty => 0,
            Body::Sparse(v) => v.capacity() as u64 * 4,
            Body::Keys(v) => v.capacity() as u64 * 8,
            Body::Dense { words, counts } => {
                words.capacity() as u64 * 8 + counts.capacity() as u64 * 2
            }
        }
    }

    /// The set as bytes: a tag (0 empty, 1 sparse, 2 dense, 3 keys), then little-endian positions (u32) or words (u64).
    /// Checksums and compression are the store's business.
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
                let mut out = Vec::with_capacity(1 + self.count as usize * 4);
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

    /// The inverse of [`Frontier::encode`]; every byte is checked, nothing is trusted.
    pub fn decode(geometry: ShardGeometry, bytes: &[u8]) -> Result<Frontier, FrontierError> {
        let wrong = |what: &str| FrontierError(what.to_string());
        let (&tag, rest) = bytes.split_first().ok_or_else(|| wrong("no bytes"))?;
        let limit = u64::from(geometry.blocks) * u64::from(geometry.words) * 64;
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
                Ok(Frontier {
                    geometry,
                    count: v.len() as u64,
                    body: Body::Sparse(v),
                })
            }
            4 if geometry.blocks > 0 && rest.len() % 4 == 0 => {
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
                Ok(Frontier::from_words(geometry, words))
            }
            2 if geometry.blocks > 0 && rest.len() as u64 == geometry.dense_bytes() => {
                Ok(Frontier::from_words(geometry, words_of(rest)))
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

    /// A set of sorted keys.
    pub(crate) fn from_keys(geometry: ShardGeometry, keys: Vec<u64>) -> Frontier {
        if keys.is_empty() {
            return Frontier::empty(geometry);
        }
        let count = keys.len() as u64 / u64::from(geometry.words);
        Frontier {
            geometry,
            count,
            body: Body::Keys(keys),
        }
    }

    /// A sparse set of sorted positions.
    pub(crate) fn from_positions(geometry: ShardGeometry, positions: Vec<u32>) -> Frontier {
        if positions.is_empty() {
            return Frontier::empty(geometry);
        }
        let count = positions.len() as u64;
        Frontier {
            geometry,
            count,
            body: Body::Sparse(positions),
        }
    }

    /// Is the position in the set?
    pub(crate) fn contains(&self, position: u32) -> bool {
        match &self.body {
            Body::Empty | Body::Keys(_) => false,
            Body::Sparse(v) => v.binary_search(&position).is_ok(),
            Body::Dense { words, .. } => {
                words[(position / 64) as usize] >> (position % 64) & 1 == 1
            }
        }
    }

    /// Calls `visit` with every position, ascending.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(u32)) {
        match &self.body {
            Body::Empty | Body::Keys(_) => {}
            Body::Sparse(v) => v.iter().copied().for_each(visit),
            Body::Dense { words, counts } => {
                let per_block = self.geometry.words as usize;
                for (block, _) in counts.iter().enumerate().filter(|(_, c)| **c != 0) {
                    for w in block * per_block..(block + 1) * per_block {
                        let mut word = words[w];
                        while word != 0 {
                            visit(w as u32 * 64 + word.trailing_zeros());
                            word &= word - 1;
                        }
                    }
                }
            }
        }
    }

    /// All positions, ascending.
    pub(crate) fn positions(&self) -> Vec<u32> {
        let mut out = Vec::with_capacity(self.count as usize);
        self.for_each(|p| out.push(p));
        out
    }

    /// The states that are in both sets.
    pub(crate) fn common(&self, other: &Frontier) -> Frontier {
        let mut positions = Vec::new();
        self.for_each(|p| {
            if other.contains(p) {
                positions.push(p);
            }
        });
        Frontier::from_positions(self.geometry, positions)
    }

    /// As positions where those take less memory than bits.
    pub(crate) fn compact(self) -> Frontier {
        match &self.body {
            Body::Dense { .. } if self.is_thin() => {
                Frontier::from_positions(self.geometry, self.positions())
            }
            _ => self,
        }
    }

    /// Do its positions take less than half of a bitmap?
    fn is_thin(&self) -> bool {
        self.count * 4 < self.geometry.dense_bytes() / 2
    }

    /// Below this many states a set is stored as positions (4 bytes a state) rather than bits.
    pub(crate) fn sparse_limit(geometry: ShardGeometry) -> u64 {
        geometry.states / 900
    }

    pub(crate) fn from_words(geometry: ShardGeometry, words: Vec<u64>) -> Frontier {
        let counts: Vec<u16> = words
            .chunks_exact(geometry.words as usize)
            .map(|block| block.iter().map(|w| w.count_ones()).sum::<u32>() as u16)
            .collect();
        let count = counts.iter().map(|&c| u64::from(c)).sum();
        if count == 0 {
            return Frontier::empty(geometry);
        }
        Frontier {
            geometry,
            count,
            body: Body::Dense { words, counts },
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

    const SHAPE: ShardGeometry = ShardGeometry {
        blocks: 8,
        words: 16,
        states: 8192,
    };

    /// A bitmap with every `step`-th bit.
    fn dense(step: usize) -> Frontier {
        let mut words = vec![0u64; 128];
        for p in (0..8192).step_by(step) {
            words[p / 64] |= 1 << (p % 64);
        }
        Frontier::from_words(SHAPE, words)
    }

    #[test]
    fn a_thin_bitmap_travels_as_positions_and_is_a_bitmap_again() {
        for (step, bytes) in [
            (2, 1 + 1024),
            (64, 1 + 1024),
            (65, 1 + 127 * 4),
            (8192, 1 + 4),
        ] {
            let frontier = dense(step);
            let encoded = frontier.encode();
            assert_eq!(encoded.len(), bytes, "every {step}");
            assert!(encoded.len() as u64 <= SHAPE.encoded_bytes_at_most(frontier.count()));
            assert_eq!(Frontier::decode(SHAPE, &encoded), Ok(frontier));
        }
    }

    #[test]
    fn positions_of_a_thin_bitmap_are_not_trusted() {
        let of = |positions: &[u32]| {
            let mut bytes = vec![4];
            positions.iter().for_each(|p| bytes.extend(p.to_le_bytes()));
            Frontier::decode(SHAPE, &bytes)
        };
        assert!(of(&[1, 2, 8191]).is_ok());
        assert!(of(&[2, 1]).is_err());
        assert!(of(&[0, 0]).is_err());
        assert!(of(&[8192]).is_err());
        assert!(of(&[u32::MAX]).is_err());
        assert!(Frontier::decode(SHAPE, &[4, 0, 0]).is_err());
    }
}
