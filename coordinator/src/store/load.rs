//! Reading: tables into what the core starts from. A damaged result is dropped, since it is
//! computed again; without a damaged job nothing can be promised, so the store is refused.

use super::apply;
use super::tables::{CLUSTER, ITEMS, JOBS, KEYS, META, PROGRESS, RESULTS, WORKERS, unseal};
use antipode_coordinator_core::record::{JobRecord, Stored, StoredJob};
use antipode_ids::{JobId, WorkerId};
use antipode_proto::codec::{CodecError, Kind, decode, kind};
use redb::{Database, ReadableDatabase, ReadableTable, TableHandle};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a store cannot be read.
#[derive(Debug)]
pub enum LoadError {
    Newer(u16),
    Older(u16),
    Damaged(String),
}

impl<E: Into<redb::Error>> From<E> for LoadError {
    fn from(error: E) -> LoadError {
        LoadError::Damaged(error.into().to_string())
    }
}

/// The description's record, where the store has one.
pub fn meta(database: &Database) -> Result<Option<Vec<u8>>, LoadError> {
    let table = match database.begin_read()?.open_table(META) {
        Ok(table) => table,
        // The first start ended before anything was written.
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let Some(value) = table.get(CLUSTER)? else {
        return Ok(None);
    };
    match unseal(META.name(), CLUSTER, value.value()) {
        Some(record) => Ok(Some(record.to_vec())),
        None => Err(LoadError::Damaged(
            "the checksum of its description differs".into(),
        )),
    }
}

/// Everything stored.
pub fn all(database: &Database) -> Result<Stored, LoadError> {
    let transaction = database.begin_read()?;
    let mut stored = Stored::default();

    let progress_of = transaction.open_table(PROGRESS)?;
    for entry in transaction.open_table(JOBS)?.iter()? {
        let (id, value) = entry?;
        let id = id.value();
        let name = id.to_string();
        let record: JobRecord = read(JOBS.name(), &name, kind::JOB_RECORD, value.value())?;
        let progress = match progress_of.get(id)? {
            Some(value) => read(PROGRESS.name(), &name, kind::JOB_PROGRESS, value.value())?,
            None => {
                return Err(LoadError::Damaged(format!(
                    "job {id} has no progress record"
                )));
            }
        };
        let job = StoredJob {
            record: Arc::new(record),
            progress,
            results: Vec::new(),
            items: BTreeMap::new(),
        };
        stored.jobs.insert(JobId(id), job);
    }
    for entry in transaction.open_table(RESULTS)?.iter()? {
        let (key, value) = entry?;
        let (job, level, shard) = key.value();
        let name = format!("{job}/{level}/{shard}");
        let result = tolerate(read(
            RESULTS.name(),
            &name,
            kind::TASK_RESULT,
            value.value(),
        ))?;
        if let (Some(result), Some(job)) = (result, stored.jobs.get_mut(&JobId(job))) {
            job.results.push((level, shard, result));
        }
    }
    for entry in transaction.open_table(ITEMS)?.iter()? {
        let (key, value) = entry?;
        let (job, item) = key.value();
        let name = format!("{job}/{item}");
        let record: Option<Vec<u8>> =
            tolerate(read(ITEMS.name(), &name, kind::ITEM, value.value()))?;
        if let (Some(record), Some(job)) = (record, stored.jobs.get_mut(&JobId(job))) {
            job.items.insert(item, record.into());
        }
    }
    for entry in transaction.open_table(KEYS)?.iter()? {
        let (key, value) = entry?;
        let read = read(
            KEYS.name(),
            key.value(),
            kind::SUBMISSION_KEY,
            value.value(),
        );
        if let Some(job) = tolerate(read)? {
            stored.keys.insert(key.value().to_string(), job);
        }
    }
    for entry in transaction.open_table(WORKERS)?.iter()? {
        let (id, value) = entry?;
        let name = id.value().to_string();
        if let Some(worker) = tolerate(read(
            WORKERS.name(),
            &name,
            kind::WORKER_RECORD,
            value.value(),
        ))? {
            stored.workers.insert(WorkerId(id.value()), worker);
        }
    }
    stored.forgotten = apply::forgotten(&transaction.open_table(META)?)?.map(JobId);
    Ok(stored)
}

fn read<T: DeserializeOwned>(
    table: &str,
    key: &str,
    kind: Kind,
    value: &[u8],
) -> Result<T, LoadError> {
    let Some(record) = unseal(table, key, value) else {
        return Err(LoadError::Damaged(format!(
            "the checksum of {table} {key} differs"
        )));
    };
    decode(kind, record).map_err(|error| match error {
        CodecError::Newer { found, .. } => LoadError::Newer(found),
        CodecError::Older { found, .. } => LoadError::Older(found),
        other => LoadError::Damaged(format!("{table} {key}: {other}")),
    })
}

/// Damage to what can be made again is said, not fatal.
fn tolerate<T>(read: Result<T, LoadError>) -> Result<Option<T>, LoadError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(LoadError::Damaged(problem)) => {
            tracing::warn!("left out of the store: {problem}");
            Ok(None)
        }
        Err(newer) => Err(newer),
    }
}
