//! The form in which an artifact is stored and sent: the encoded frontier, compressed where that
//! makes it clearly smaller (bitmaps of the middle levels do not compress, others do).

use antipode_solver_core::bfs::frontier::{Frontier, ShardGeometry};

/// Compression must save at least a quarter to be worth its time at the reader.
const WORTH_NUMERATOR: usize = 3;
const WORTH_DENOMINATOR: usize = 4;
/// A piece of this size from the middle is tried first, in bytes.
const SAMPLE_BYTES: usize = 1 << 16;
/// Length of the uncompressed bytes in front of a compressed artifact.
const PREFIX_BYTES: u64 = 4;

const PLAIN: &str = "plain";
const LZ4: &str = "lz4";

/// An artifact as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// `plain` or `lz4`.
    pub encoding: String,
    pub bytes: Vec<u8>,
}

/// Why bytes are no artifact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnpackError(pub String);

impl Packed {
    /// As it is: the fastest to make and to read.
    pub fn plain(frontier: &Frontier) -> Packed {
        Packed {
            encoding: PLAIN.into(),
            bytes: frontier.encode(),
        }
    }

    pub fn new(frontier: &Frontier) -> Packed {
        let plain = frontier.encode();
        let worth = |full: usize, small: usize| small * WORTH_DENOMINATOR <= full * WORTH_NUMERATOR;
        let start = (plain.len().saturating_sub(SAMPLE_BYTES)) / 2;
        let sample = &plain[start..plain.len().min(start + SAMPLE_BYTES)];
        let sized = plain.len() >= 64 && u32::try_from(plain.len()).is_ok();
        if sized && worth(sample.len(), lz4_flex::block::compress(sample).len()) {
            let bytes = lz4_flex::block::compress_prepend_size(&plain);
            if worth(plain.len(), bytes.len()) {
                return Packed {
                    encoding: LZ4.into(),
                    bytes,
                };
            }
        }
        Packed {
            encoding: PLAIN.into(),
            bytes: plain,
        }
    }

    /// More bytes than this no artifact of `count` states has in either form.
    pub fn limit_bytes(geometry: ShardGeometry, count: u64) -> u64 {
        geometry.encoded_bytes_at_most(count) + PREFIX_BYTES
    }
}

/// The frontier of `count` states behind `bytes`; nothing is trusted, and no more is allocated than
/// so many states need.
pub fn unpack(
    geometry: ShardGeometry,
    count: u64,
    encoding: &str,
    bytes: &[u8],
) -> Result<Frontier, UnpackError> {
    let decode = |plain: &[u8]| match Frontier::decode(geometry, plain) {
        Ok(frontier) if frontier.count() == count => Ok(frontier),
        Ok(frontier) => Err(UnpackError(format!(
            "{} states instead of {count}",
            frontier.count()
        ))),
        Err(error) => Err(UnpackError(error.to_string())),
    };
    match encoding {
        PLAIN => decode(bytes),
        LZ4 => {
            let (length, _) = lz4_flex::block::uncompressed_size(bytes)
                .map_err(|e| UnpackError(format!("not lz4: {e}")))?;
            if length as u64 > geometry.encoded_bytes_at_most(count) {
                return Err(UnpackError(format!(
                    "claims {length} bytes, more than {count} states have"
                )));
            }
            let plain = lz4_flex::block::decompress_size_prepended(bytes)
                .map_err(|e| UnpackError(format!("not lz4: {e}")))?;
            decode(&plain)
        }
        other => Err(UnpackError(format!("form '{other}' is not known"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry() -> ShardGeometry {
        ShardGeometry {
            blocks: 16,
            words: 64,
            states: 65_536,
        }
    }

    fn dense(word: impl Fn(u64) -> u64) -> Frontier {
        let mut bytes = vec![2];
        (0..1024).for_each(|k| bytes.extend(word(k).to_le_bytes()));
        Frontier::decode(geometry(), &bytes).unwrap()
    }

    #[test]
    fn both_forms_come_back() {
        let noisy =
            dense(|k| (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) ^ (k << 40));
        let regular = dense(|k| (k % 2) * u64::MAX);
        for (frontier, form) in [
            (noisy, PLAIN),
            (regular, LZ4),
            (Frontier::empty(geometry()), PLAIN),
        ] {
            let packed = Packed::new(&frontier);
            assert_eq!(packed.encoding, form);
            assert_eq!(
                unpack(
                    geometry(),
                    frontier.count(),
                    &packed.encoding,
                    &packed.bytes
                )
                .unwrap(),
                frontier
            );
        }
    }

    #[test]
    fn a_claimed_length_is_checked_before_memory_is_asked_for() {
        let mut bytes = Packed::new(&dense(|k| (k % 2) * u64::MAX)).bytes;
        bytes[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(
            unpack(geometry(), 32_768, LZ4, &bytes)
                .unwrap_err()
                .to_string()
                .contains("claims")
        );
        assert!(unpack(geometry(), 32_768, "zip", &bytes).is_err());
    }
}
