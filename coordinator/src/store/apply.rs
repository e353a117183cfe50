//! Writing: records into tables.

use super::tables::{
    Bytes, CHECKSUM_BYTES, CLUSTER, FORGOTTEN, ITEMS, JOBS, KEYS, META, PROGRESS, RESULTS, WORKERS,
    seal, unseal,
};
use antipode_coordinator_core::record::Record;
use antipode_ids::JobId;
use antipode_proto::codec::{Kind, decode, encode, kind};
use antipode_proto::killpoint;
use redb::{Database, ReadableTable, TableHandle};
use serde::Serialize;

/// Writes the description of the store and makes all tables.
pub fn meta(database: &Database, record: &[u8]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    transaction.open_table(JOBS)?;
    transaction.open_table(PROGRESS)?;
    transaction.open_table(RESULTS)?;
    transaction.open_table(ITEMS)?;
    transaction.open_table(KEYS)?;
    transaction.open_table(WORKERS)?;
    let value = seal(META.name(), CLUSTER, record.to_vec());
    transaction
        .open_table(META)?
        .insert(CLUSTER, value.as_slice())?;
    transaction.commit()?;
    Ok(())
}

/// Writes records in their order, in one durable transaction.
pub fn records(database: &Database, records: &[Record]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut jobs = transaction.open_table(JOBS)?;
        let mut progress_of = transaction.open_table(PROGRESS)?;
        let mut results = transaction.open_table(RESULTS)?;
        let mut items = transaction.open_table(ITEMS)?;
        let mut keys = transaction.open_table(KEYS)?;
        let mut workers = transaction.open_table(WORKERS)?;
        for record in records {
            match record {
                Record::Job { job, record } => {
                    let value = value(JOBS.name(), &job.0.to_string(), kind::JOB_RECORD, &**record);
                    jobs.insert(job.0, value.as_slice())?;
                }
                Record::Progress {
                    job,
                    progress,
                    urgent: _,
                } => {
                    let value = value(
                        PROGRESS.name(),
                        &job.0.to_string(),
                        kind::JOB_PROGRESS,
                        &**progress,
                    );
                    progress_of.insert(job.0, value.as_slice())?;
                }
                Record::Result {
                    job,
                    level,
                    shard,
                    result,
                } => {
                    let name = format!("{}/{level}/{shard}", job.0);
                    let value = value(RESULTS.name(), &name, kind::TASK_RESULT, result);
                    results.insert((job.0, *level, *shard), value.as_slice())?;
                }
                Record::Item { job, item, record } => {
                    let name = format!("{}/{item}", job.0);
                    let value = value(ITEMS.name(), &name, kind::ITEM, &record.to_vec());
                    items.insert((job.0, *item), value.as_slice())?;
                }
                Record::Refuted { job, cells } => {
                    for &(level, shard) in cells {
                        results.remove((job.0, level, shard))?;
                        // Only batch jobs have any.
                        items.remove((job.0, shard))?;
                    }
                }
                Record::Compacted { job } => drop_results(&mut results, *job)?,
                Record::Forgotten { job } => {
                    jobs.remove(job.0)?;
                    progress_of.remove(job.0)?;
                    drop_results(&mut results, *job)?;
                    items.retain_in((job.0, 0)..=(job.0, u32::MAX), |_, _| false)?;
                    keys.retain(|_, value| key_of_other(value, *job))?;
                    let mut meta = transaction.open_table(META)?;
                    let last = forgotten(&meta)?.map_or(job.0, |before| before.max(job.0));
                    let value = value(META.name(), FORGOTTEN, kind::JOB_NUMBER, &last);
                    meta.insert(FORGOTTEN, value.as_slice())?;
                }
                Record::Key { key, job, existing } => {
                    let value = value(KEYS.name(), key, kind::SUBMISSION_KEY, &(*job, *existing));
                    keys.insert(key.as_str(), value.as_slice())?;
                }
                Record::Worker {
                    worker,
                    record,
                    urgent: _,
                } => {
                    let value = value(
                        WORKERS.name(),
                        &worker.0.to_string(),
                        kind::WORKER_RECORD,
                        record,
                    );
                    workers.insert(worker.0, value.as_slice())?;
                }
            }
        }
    }
    killpoint::pass("commit");
    transaction.commit()?;
    killpoint::pass("committed");
    if records.iter().any(|r| matches!(r, Record::Item { .. })) {
        killpoint::pass("items");
    }
    Ok(())
}

/// Forgets the results of a job's tasks.
fn drop_results(
    results: &mut redb::Table<(u64, u32, u32), Bytes>,
    job: JobId,
) -> Result<(), redb::Error> {
    let (first, last) = ((job.0, 0, 0), (job.0, u32::MAX, u32::MAX));
    results.retain_in(first..=last, |_, _| false)?;
    Ok(())
}

/// Does a submission's key stand for another job? What cannot be read is dropped when it is loaded.
fn key_of_other(value: &[u8], job: JobId) -> bool {
    let record = value.get(..value.len().saturating_sub(CHECKSUM_BYTES));
    let read = record.map(|record| decode::<(JobId, bool)>(kind::SUBMISSION_KEY, record));
    !matches!(read, Some(Ok((of, _))) if of == job)
}

/// The highest number of a dropped job.
pub fn forgotten(
    meta: &impl ReadableTable<&'static str, Bytes>,
) -> Result<Option<u64>, redb::Error> {
    let Some(value) = meta.get(FORGOTTEN)? else {
        return Ok(None);
    };
    let record = unseal(META.name(), FORGOTTEN, value.value());
    Ok(record.and_then(|record| decode(kind::JOB_NUMBER, record).ok()))
}

fn value<T: Serialize>(table: &str, key: &str, kind: Kind, record: &T) -> Vec<u8> {
    seal(table, key, encode(kind, record))
}
