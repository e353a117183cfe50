//! The tables, and the form of their values: a record of the codec and its checksum.

use redb::TableDefinition;
use xxhash_rust::xxh3::Xxh3;

pub type Bytes = &'static [u8];

pub const META: TableDefinition<&str, Bytes> = TableDefinition::new("meta");
/// Key of [`META`]: what identifies the store.
pub const CLUSTER: &str = "cluster";
/// Key of [`META`]: the highest number of a job that was dropped.
pub const FORGOTTEN: &str = "forgotten";
pub const JOBS: TableDefinition<u64, Bytes> = TableDefinition::new("jobs");
pub const PROGRESS: TableDefinition<u64, Bytes> = TableDefinition::new("progress");
/// By job, level, shard.
pub const RESULTS: TableDefinition<(u64, u32, u32), Bytes> = TableDefinition::new("results");
/// By job, item: the records of the items of batch jobs. They are the answer, and stay as long as the job.
pub const ITEMS: TableDefinition<(u64, u32), Bytes> = TableDefinition::new("items");
pub const KEYS: TableDefinition<&str, Bytes> = TableDefinition::new("keys");
pub const WORKERS: TableDefinition<u64, Bytes> = TableDefinition::new("workers");

pub const CHECKSUM_BYTES: usize = 8;

/// The record with its checksum, as it is stored under `key` (any unambiguous text).
pub fn seal(table: &str, key: &str, mut record: Vec<u8>) -> Vec<u8> {
    let sum = checksum(table, key, &record);
    record.extend_from_slice(&sum.to_le_bytes());
    record
}

/// The record of a stored value, or `None` when any bit of it, its key or its table is another.
pub fn unseal<'a>(table: &str, key: &str, value: &'a [u8]) -> Option<&'a [u8]> {
    let (record, sum) = value.split_last_chunk::<CHECKSUM_BYTES>()?;
    (checksum(table, key, record) == u64::from_le_bytes(*sum)).then_some(record)
}

fn checksum(table: &str, key: &str, record: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    for part in [table.as_bytes(), key.as_bytes(), record] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.digest()
}
