//! The form in which an artifact is stored and sent: the encoded frontier, in fewer bytes where that makes
//! it clearly smaller. Positions and bitmaps are written as codes of the gaps between states (`rice`), which comes
//! close to the entropy of the level's density; the keys of a space without an index, and very regular sets,
//! by `lz4`.

use antipode_solver_core::bfs::frontier::{Frontier, FrontierError, ShardGeometry};

/// LZ4 must save at least a quarter to be worth its time at the reader.
const WORTH_NUMERATOR: usize = 3;
const WORTH_DENOMINATOR: usize = 4;
/// Gap codes are worth it from a sixteenth on: they are as fast as LZ4 and stored bytes count more.
const RICE_NUMERATOR: usize = 15;
const RICE_DENOMINATOR: usize = 16;
/// A piece of this size from the middle is tried first, in bytes.
const SAMPLE_BYTES: usize = 1 << 16;
/// Length of the uncompressed bytes in front of a compressed artifact.
const PREFIX_BYTES: u64 = 4;

const PLAIN: &str = "plain";
const LZ4: &str = "lz4";
const RICE: &str = "rice";

/// An artifact as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// `plain`, `rice` or `lz4`.
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

    /// In few bytes, for stores and for far peers.
    pub fn new(frontier: &Frontier) -> Packed {
        if let Some(bytes) = frontier.compress()
            && bytes.len() * RICE_DENOMINATOR <= frontier.encoded_bytes() * RICE_NUMERATOR
        {
            return Packed {
                encoding: RICE.into(),
                bytes,
            };
        }
        // Keys, and sets that are regular rather than thin.
        Packed::by_lz4(frontier.encode())
    }

    fn by_lz4(plain: Vec<u8>) -> Packed {
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

    /// More bytes than this no artifact of `count` states has in any form.
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
    let counted = |frontier| match frontier {
        Ok(frontier) if frontier.count() == count => Ok(frontier),
        Ok::<Frontier, FrontierError>(frontier) => Err(UnpackError(format!(
            "{} states instead of {count}",
            frontier.count()
        ))),
        Err(error) => Err(UnpackError(error.to_string())),
    };
    let decode = |plain: &[u8]| counted(Frontier::decode(geometry, plain));
    match encoding {
        PLAIN => decode(bytes),
        RICE => counted(Frontier::decompress(geometry, bytes)),
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

    fn keys(key: impl Fn(u64) -> u64) -> Frontier {
        let mut bytes = vec![3];
        (1..1000).for_each(|k| bytes.extend(key(k).to_le_bytes()));
        Frontier::decode(sparse(), &bytes).unwrap()
    }

    fn sparse() -> ShardGeometry {
        ShardGeometry {
            blocks: 0,
            words: 1,
            states: 0,
        }
    }

    #[test]
    fn all_forms_come_back() {
        let noise =
            |k: u64| (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) ^ (k << 40);
        let mut few = vec![1];
        (0..50u32).for_each(|k| few.extend((k * 1000).to_le_bytes()));
        let few = Frontier::decode(geometry(), &few).unwrap();
        for (frontier, form) in [
            (dense(noise), PLAIN),
            (dense(|k| noise(k) & noise(k + 7) & noise(k + 9)), RICE),
            (dense(|k| (k % 2) * u64::MAX), LZ4),
            (few, RICE),
            (keys(|k| k), LZ4),
            (keys(|k| k << 50 | noise(k) >> 14), PLAIN),
            (Frontier::empty(geometry()), PLAIN),
        ] {
            let geometry = || frontier.geometry();
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
        let regular = dense(|k| (k % 2) * u64::MAX);
        // As earlier versions stored bitmaps: still read.
        let lz4 = Packed::by_lz4(regular.encode());
        assert_eq!(lz4.encoding, LZ4);
        assert_eq!(unpack(geometry(), 32_768, LZ4, &lz4.bytes), Ok(regular));
        let mut bytes = lz4.bytes;
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
