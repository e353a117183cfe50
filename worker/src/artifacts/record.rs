//! One record of a job's store: a frame around bytes that lets every damage, every foreign and
//! every newer record be recognised when it is read.
//!
//! Frame, little endian: store format (u16), engine version (u16), length of the body (u32), hash
//! of the job's fingerprint (u64), checksum (u64), body. The checksum is xxh3 over the key, the
//! other fields of the frame and the body: a database that hands out the wrong record, or the
//! right one with a flipped bit, is caught. (redb itself returns most flipped bits as data.)

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Newest form of a store that is understood, and the one that is written.
pub const STORE_FORMAT: u16 = 1;
/// Grows when the bits of a frontier, its encoding or its digest come to mean something else.
pub const ENGINE_VERSION: u16 = 1;

pub const FRAME_BYTES: usize = 24;

/// redb gives a value the next power of two of pages, so a value just above one wastes half of it.
const VALUE_BYTES: usize = (1 << 20) - 512;
/// Most bytes in the body of one record.
pub const BODY_BYTES: usize = VALUE_BYTES - FRAME_BYTES;

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("it is in format {theirs}, formats up to {STORE_FORMAT} are known")]
    Newer { theirs: u16 },
    #[error("{0}")]
    Damaged(String),
}

/// The fingerprint of a job as it stands in each record.
pub fn fingerprint_hash(fingerprint: &str) -> u64 {
    xxh3_64(fingerprint.as_bytes())
}

/// The record of `body` under `key`.
pub fn frame(key: &[u8], fingerprint: u64, body: &[u8]) -> Vec<u8> {
    frame_in_format(STORE_FORMAT, key, fingerprint, body)
}

/// [`frame`] with any format, so that tests can write what a later version would.
pub(super) fn frame_in_format(format: u16, key: &[u8], fingerprint: u64, body: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(FRAME_BYTES + body.len());
    record.extend_from_slice(&format.to_le_bytes());
    record.extend_from_slice(&ENGINE_VERSION.to_le_bytes());
    record.extend_from_slice(&(body.len() as u32).to_le_bytes());
    record.extend_from_slice(&fingerprint.to_le_bytes());
    let checksum = checksum(key, &record, body);
    record.extend_from_slice(&checksum.to_le_bytes());
    record.extend_from_slice(body);
    record
}

/// The body of a record that was written under `key`, and the hash of the fingerprint in it.
pub fn unframe<'a>(key: &[u8], record: &'a [u8]) -> Result<(u64, &'a [u8]), RecordError> {
    let damaged = |what: &str| RecordError::Damaged(what.into());
    let Some((head, body)) = record.split_first_chunk::<FRAME_BYTES>() else {
        return Err(damaged("it is cut off"));
    };
    let (fields, sum) = head.split_at(FRAME_BYTES - 8);
    if sum != checksum(key, fields, body).to_le_bytes() {
        return Err(damaged("its checksum does not fit"));
    }
    // From here on the fields are what somebody once wrote.
    let format = u16::from_le_bytes([head[0], head[1]]);
    if format > STORE_FORMAT {
        return Err(RecordError::Newer { theirs: format });
    }
    if format != STORE_FORMAT {
        return Err(RecordError::Damaged(format!(
            "it is in store format {format}, which is not read any more"
        )));
    }
    let engine = u16::from_le_bytes([head[2], head[3]]);
    if engine != ENGINE_VERSION {
        return Err(RecordError::Damaged(format!(
            "its field 'engine version' is {engine} instead of {ENGINE_VERSION}"
        )));
    }
    if u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize != body.len() {
        return Err(damaged("its length does not fit"));
    }
    let mut hash = [0; 8];
    hash.copy_from_slice(&head[8..16]);
    Ok((u64::from_le_bytes(hash), body))
}

fn checksum(key: &[u8], fields: &[u8], body: &[u8]) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(key);
    hasher.update(fields);
    hasher.update(body);
    hasher.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_every_cut_and_every_other_key_is_seen() {
        let record = frame(b"key", 7, b"some body");
        assert_eq!(unframe(b"key", &record).unwrap(), (7, &b"some body"[..]));
        for bit in 0..record.len() * 8 {
            let mut flipped = record.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(unframe(b"key", &flipped).is_err(), "bit {bit}");
        }
        for cut in 0..record.len() {
            assert!(unframe(b"key", &record[..cut]).is_err(), "cut {cut}");
        }
        assert!(unframe(b"kez", &record).is_err());
    }

    #[test]
    fn a_newer_format_is_told_from_damage() {
        let record = frame_in_format(2, b"key", 7, b"body");
        assert_eq!(
            unframe(b"key", &record),
            Err(RecordError::Newer { theirs: 2 })
        );
    }
}
