//! The distances of one shard modulo 3, five states a byte.

use super::{Builder, DistanceError, Numbering};
use crate::bfs::frontier::{Frontier, ShardGeometry};
use crate::terms::Level;

/// 3^5 = 243 values of 256.
pub(super) const STATES_PER_BYTE: usize = 5;
pub(super) const POWERS: [u8; STATES_PER_BYTE] = [1, 3, 9, 27, 81];
const BYTE_VALUES: usize = 243;
/// First byte of the encoded form.
const VERSION: u8 = 1;
/// Version, positions of a group, states of a group, last level: little-endian.
const HEADER_BYTES: usize = 13;

/// The five trits of a byte.
static TRITS: [[u8; STATES_PER_BYTE]; 256] = trits();

const fn trits() -> [[u8; STATES_PER_BYTE]; 256] {
    let mut out = [[0; STATES_PER_BYTE]; 256];
    let mut byte = 0;
    while byte < BYTE_VALUES {
        let mut k = 0;
        while k < STATES_PER_BYTE {
            out[byte][k] = (byte / POWERS[k] as usize % 3) as u8;
            k += 1;
        }
        byte += 1;
    }
    out
}

/// Distance modulo 3 of every state of a shard, immutable once made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedDistances {
    numbering: Numbering,
    last: Level,
    bytes: Vec<u8>,
}

impl PackedDistances {
    /// From all levels of a shard, see [`Builder`].
    ///
    /// # Errors
    /// Levels that do not fit, states in two levels or in none.
    pub fn build<'a>(
        numbering: Numbering,
        levels: impl IntoIterator<Item = (Level, &'a Frontier)>,
    ) -> Result<PackedDistances, DistanceError> {
        let mut builder = Builder::new(numbering);
        for (level, frontier) in levels {
            builder.add(level, frontier)?;
        }
        builder.finish()
    }

    pub(super) fn new(numbering: Numbering, last: Level, bytes: Vec<u8>) -> PackedDistances {
        PackedDistances {
            numbering,
            last,
            bytes,
        }
    }

    /// How the shard's states are numbered.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// The last level with a state of this shard.
    pub fn last_level(&self) -> Level {
        self.last
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes.capacity() as u64
    }

    /// Distance modulo 3 of the state at a position; `None` where there is none.
    #[inline]
    pub fn get(&self, position: u32) -> Option<u8> {
        let number = self.numbering.number(position)?;
        let byte = self.bytes.get((number / STATES_PER_BYTE as u64) as usize)?;
        Some(TRITS[usize::from(*byte)][(number % STATES_PER_BYTE as u64) as usize])
    }

    /// How many states have each residue: the sums of the level counts modulo 3.
    pub fn population(&self) -> [u64; 3] {
        let mut times = [0u64; 256];
        for &byte in &self.bytes {
            times[usize::from(byte)] += 1;
        }
        let mut out = [0u64; 3];
        for (trits, n) in TRITS.iter().zip(times) {
            for &t in trits {
                out[usize::from(t)] += n;
            }
        }
        // The last byte may be filled in part, with zeros.
        out[0] -= (self.bytes.len() * STATES_PER_BYTE) as u64 - self.numbering.states();
        out
    }

    /// The states with a residue (0, 1 or 2), as a bitmap.
    pub fn residue(&self, residue: u8) -> Frontier {
        let mut masks = [0u8; 256];
        for (mask, trits) in masks.iter_mut().zip(&TRITS) {
            for (k, &t) in trits.iter().enumerate() {
                *mask |= u8::from(t == residue) << k;
            }
        }
        let mut bytes = self.bytes.iter();
        let (mut bits, mut ready) = (0u128, 0);
        let words = self
            .numbering
            .used_bits()
            .map(|used| {
                while ready < used
                    && let Some(&byte) = bytes.next()
                {
                    bits |= u128::from(masks[usize::from(byte)]) << ready;
                    ready += STATES_PER_BYTE as u32;
                }
                let word = bits as u64 & u64::MAX.checked_shr(64 - used).unwrap_or(0);
                bits >>= used;
                ready = ready.saturating_sub(used);
                word
            })
            .collect();
        Frontier::from_words(self.numbering.geometry(), words)
    }

    /// The distances as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES + self.bytes.len());
        let (group, used) = self.numbering.group();
        out.push(VERSION);
        for number in [group, used, self.last] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.bytes);
        out
    }

    /// The inverse of [`PackedDistances::encode`], for bytes from anywhere: version, length and values are
    /// checked and nothing panics. That they are the right distances is said by their digest.
    ///
    /// # Errors
    /// A sentence about what does not fit.
    pub fn decode(geometry: ShardGeometry, bytes: &[u8]) -> Result<PackedDistances, DistanceError> {
        let wrong =
            |what: String| DistanceError(format!("not the distances of this shard: {what}"));
        let Some((header, body)) = bytes.split_at_checked(HEADER_BYTES) else {
            return Err(wrong("the header is cut off".into()));
        };
        if header[0] != VERSION {
            return Err(wrong(format!(
                "version {}, this program knows {VERSION}",
                header[0]
            )));
        }
        let number = |k: usize| {
            let at = 1 + k * 4;
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (group, used, last) = (number(0), number(1), number(2));
        let Some(numbering) = Numbering::new(geometry, group, used) else {
            return Err(wrong(format!(
                "{used} states in every {group} positions do not make up the shard"
            )));
        };
        let wanted = geometry.states.div_ceil(STATES_PER_BYTE as u64);
        if body.len() as u64 != wanted {
            return Err(wrong(format!("{} bytes instead of {wanted}", body.len())));
        }
        if let Some(at) = body.iter().position(|&b| usize::from(b) >= BYTE_VALUES) {
            return Err(wrong(format!("byte {at} is {}, not below 243", body[at])));
        }
        let tail = (geometry.states % STATES_PER_BYTE as u64) as usize;
        if tail != 0
            && body
                .last()
                .is_some_and(|&b| TRITS[usize::from(b)][tail..].iter().any(|&t| t != 0))
        {
            return Err(wrong("something follows the last state".into()));
        }
        Ok(PackedDistances::new(numbering, last, body.to_vec()))
    }
}
