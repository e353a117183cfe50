//! The coordinator's store, and the only room that knows redb.
//!
//! Every value is a record of the codec, followed by an xxh3 checksum over table, key and record:
//! redb hands altered bytes on without an error. After an I/O error the database is opened anew,
//! as redb demands.

mod apply;
mod load;
mod lock;
mod tables;

use crate::error::OpenError;
use antipode_coordinator_core::record::{Record, Stored};
use antipode_proto::codec::{self, CodecError, kind};
use lock::Lock;
use redb::{Builder, Database};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file of a store, within its directory.
pub const STORE_FILE: &str = "coordinator.redb";

const CACHE_BYTES: usize = 16 << 20;

/// What identifies a store.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Meta {
    cluster: String,
    /// Number of starts.
    epoch: u64,
}

/// Why something could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(String);

pub struct Store {
    file: PathBuf,
    meta: Meta,
    /// `None` after an error, until it could be opened again.
    database: Mutex<Option<Database>>,
    _lock: Lock,
}

impl Store {
    /// Opens the store, or makes it; counts this start.
    pub fn open(data: &Path) -> Result<(Store, Stored), OpenError> {
        let unwritable = |reason: String| OpenError::Unwritable {
            path: data.into(),
            reason,
        };
        std::fs::create_dir_all(data).map_err(|error| unwritable(error.to_string()))?;
        let lock = Lock::take(data)?;
        let file = data.join(STORE_FILE);
        let is_new = !file.exists();
        let database = open_database(data, &file, true)?;
        let meta = if is_new {
            None
        } else {
            guarded(data, || load::meta(&database))?
        };
        let before = match meta {
            Some(bytes) => decode_meta(data, &bytes)?,
            None => Meta {
                cluster: uuid::Uuid::new_v4().to_string(),
                epoch: 0,
            },
        };
        let meta = Meta {
            epoch: before.epoch + 1,
            ..before
        };
        apply::meta(&database, &codec::encode(kind::CLUSTER_META, &meta))
            .map_err(|error| unwritable(error.to_string()))?;
        let stored = guarded(data, || load::all(&database))?;
        Ok((
            Store {
                file,
                meta,
                database: Mutex::new(Some(database)),
                _lock: lock,
            },
            stored,
        ))
    }

    /// Opens a store that is there; changes nothing.
    pub fn open_existing(data: &Path) -> Result<(Store, Stored), OpenError> {
        let file = data.join(STORE_FILE);
        if !file.exists() {
            return Err(OpenError::Missing { path: data.into() });
        }
        let lock = Lock::take(data)?;
        let database = open_database(data, &file, false)?;
        let bytes = guarded(data, || load::meta(&database))?;
        let meta = decode_meta(
            data,
            &bytes.ok_or_else(|| OpenError::damaged(data, "it has no description"))?,
        )?;
        let stored = guarded(data, || load::all(&database))?;
        Ok((
            Store {
                file,
                meta,
                database: Mutex::new(Some(database)),
                _lock: lock,
            },
            stored,
        ))
    }

    pub fn cluster(&self) -> &str {
        &self.meta.cluster
    }

    /// Number of this start.
    pub fn epoch(&self) -> u64 {
        self.meta.epoch
    }

    /// Writes all records in one transaction; they are durable when it returns. After an error
    /// nothing is written, and the same call may be repeated.
    pub fn commit(&self, records: &[Record]) -> Result<(), StoreError> {
        let mut slot = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let database = match slot.take() {
            Some(database) => database,
            None => builder()
                .open(&self.file)
                .map_err(|error| StoreError(error.to_string()))?,
        };
        // On an error the database is dropped: redb takes no more writes after a failed one.
        apply::records(&database, records).map_err(|error| StoreError(error.to_string()))?;
        *slot = Some(database);
        Ok(())
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn open_database(data: &Path, file: &Path, create: bool) -> Result<Database, OpenError> {
    let opened = guarded(data, || {
        let database = if create {
            builder().create(file)
        } else {
            builder().open(file)
        };
        Ok(database)
    })?;
    opened.map_err(|error| match error {
        redb::DatabaseError::DatabaseAlreadyOpen => OpenError::InUse {
            path: data.into(),
            pid: "unknown".into(),
        },
        redb::DatabaseError::Storage(redb::StorageError::Io(error)) => OpenError::Unwritable {
            path: data.into(),
            reason: error.to_string(),
        },
        other => OpenError::damaged(data, other.to_string()),
    })
}

/// redb may panic on a file that was altered from outside; that is a damaged store, not our end.
fn guarded<T>(
    data: &Path,
    read: impl FnOnce() -> Result<T, load::LoadError>,
) -> Result<T, OpenError> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(load::LoadError::Newer(found))) => Err(OpenError::newer(data, found)),
        Ok(Err(load::LoadError::Damaged(problem))) => Err(OpenError::damaged(data, problem)),
        Err(_) => Err(OpenError::damaged(
            data,
            "reading it failed inside the database",
        )),
    }
}

fn decode_meta(data: &Path, bytes: &[u8]) -> Result<Meta, OpenError> {
    codec::decode(kind::CLUSTER_META, bytes).map_err(|error| match error {
        CodecError::Newer { found, .. } => OpenError::newer(data, found),
        other => OpenError::damaged(data, other.to_string()),
    })
}
