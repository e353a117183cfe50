//! Writing: records into tables.

use super::tables::{CLUSTER, JOBS, KEYS, META, PROGRESS, RESULTS, WORKERS, seal};
use antipode_coordinator_core::record::Record;
use antipode_proto::codec::{Kind, encode, kind};
use redb::{Database, TableHandle};
use serde::Serialize;

/// Writes the description of the store and makes all tables.
pub fn meta(database: &Database, record: &[u8]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    transaction.open_table(JOBS)?;
    transaction.open_table(PROGRESS)?;
    transaction.open_table(RESULTS)?;
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
    transaction.commit()?;
    Ok(())
}

fn value<T: Serialize>(table: &str, key: &str, kind: Kind, record: &T) -> Vec<u8> {
    seal(table, key, encode(kind, record))
}
