//! The coordinator's store, and the only room that knows redb.
//!
//! Every value is a record of the codec, followed by an xxh3 checksum over table, key and record:
//! redb hands altered bytes on without an error. After an I/O error the database is opened anew,
//! as redb demands.

mod apply;
mod begun;
mod load;
mod lock;
mod tables;

use crate::error::OpenError;
use crate::medium;
use antipode_coordinator_core::record::{Record, Stored};
use antipode_proto::codec::{self, CodecError, kind};
use lock::Lock;
use redb::{Builder, Database};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file of a store, within its directory.
pub const STORE_FILE: &str = "coordinator.redb";

const CACHE_BYTES: usize = 16 << 20;

/// Is there a store in this directory? One whose making was cut off is none: nothing was promised of it.
pub fn is_store(data: &Path) -> bool {
    data.join(STORE_FILE).is_file() && !begun::is_marked(data)
}

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
    database: Mutex<Option<Opened>>,
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
        let is_new = begun::clear(data).map_err(|error| unwritable(error.to_string()))?;
        if is_new {
            begun::mark(data).map_err(|error| unwritable(error.to_string()))?;
        }
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
        if is_new {
            begun::done(data).map_err(|error| unwritable(error.to_string()))?;
        }
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
        if !is_store(data) {
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
            None => medium::open(&builder(), &self.file)
                .map(|database| Opened(Some(database)))
                .map_err(|error| StoreError(error.to_string()))?,
        };
        // On an error the database is dropped: redb takes no more writes after a failed one.
        apply::records(&database, records).map_err(|error| StoreError(error.to_string()))?;
        *slot = Some(database);
        Ok(())
    }
}

/// An open database. Closing writes, and where the file was altered from outside redb may panic over that:
/// what is to be said of such a file is said when it is read.
struct Opened(Option<Database>);

impl std::ops::Deref for Opened {
    type Target = Database;

    fn deref(&self) -> &Database {
        let Some(database) = &self.0 else {
            unreachable!("it is closed when it is dropped")
        };
        database
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let database = self.0.take();
        _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(database)));
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn open_database(data: &Path, file: &Path, create: bool) -> Result<Opened, OpenError> {
    let opened = guarded(data, || {
        let database = if create {
            medium::create(&builder(), file)
        } else {
            medium::open(&builder(), file)
        };
        Ok(database.map(|database| Opened(Some(database))))
    })?;
    opened.map_err(|error| match error {
        redb::DatabaseError::DatabaseAlreadyOpen => OpenError::InUse {
            path: data.into(),
            pid: "unknown".into(),
        },
        redb::DatabaseError::Storage(redb::StorageError::Io(error))
            if matches!(
                error.kind(),
                ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::IsADirectory
            ) =>
        {
            OpenError::damaged(data, error.to_string())
        }
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
        Ok(Err(load::LoadError::Older(found))) => Err(OpenError::older(data, found)),
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
        CodecError::Older { found, .. } => OpenError::older(data, found),
        other => OpenError::damaged(data, other.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use antipode_coordinator_core::record::{ExpandResult, Progress, WorkerRecord};
    use antipode_ids::{Incarnation, JobId, WorkerId};
    use antipode_solver_core::engine::{Certificate, Digest};
    use rand::{Rng, SeedableRng};

    fn result(level: u32, shard: u32) -> Record {
        let (count, digest) = (
            u64::from(level * 1000 + shard),
            Digest(u128::from(level) << 70),
        );
        let certificate = Certificate::default();
        let result = ExpandResult {
            count,
            digest,
            certificate,
            fetched_bytes: 1,
            on_device: None,
            by: Some(WorkerId(1)),
        };
        Record::Result {
            job: JobId(1),
            level,
            shard,
            result,
        }
    }

    fn worker(number: u64) -> Record {
        let record = WorkerRecord {
            name: "w".into(),
            incarnation: Incarnation(number),
            left: false,
            crashes_in_a_row: 0,
            history: Default::default(),
        };
        Record::Worker {
            worker: WorkerId(number),
            record,
            urgent: true,
        }
    }

    #[test]
    fn the_epoch_grows_with_every_start_and_the_cluster_stays() {
        let data = tempfile::tempdir().unwrap();
        let (first, _) = Store::open(data.path()).unwrap();
        let cluster = first.cluster().to_string();
        assert_eq!(first.epoch(), 1);
        first.commit(&[worker(1), worker(2)]).unwrap();
        drop(first);
        let (second, stored) = Store::open(data.path()).unwrap();
        assert_eq!((second.epoch(), second.cluster()), (2, cluster.as_str()));
        assert_eq!(stored.workers.len(), 2);
        drop(second);
        let (read, _) = Store::open_existing(data.path()).unwrap();
        assert_eq!(read.epoch(), 2, "a look changes nothing");
    }

    #[test]
    fn a_newer_format_is_refused_by_a_sentence() {
        let data = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(data.path()).unwrap();
        let meta = Meta {
            cluster: "c".into(),
            epoch: 1,
        };
        let mut record = codec::encode(kind::CLUSTER_META, &meta);
        record[0] = 200;
        apply::meta(store.database.lock().unwrap().as_ref().unwrap(), &record).unwrap();
        drop(store);
        let refused = Store::open(data.path()).err().unwrap();
        assert!(
            matches!(refused, OpenError::NewerFormat { found: 200, .. }),
            "{refused}"
        );
        assert!(refused.to_string().contains("newer antipode"), "{refused}");
    }

    #[test]
    fn what_is_refuted_compacted_or_dropped_is_gone() {
        let data = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(data.path()).unwrap();
        let progress = Record::Progress {
            job: JobId(1),
            progress: Box::default(),
            urgent: true,
        };
        let key = |key: &str, job| Record::Key {
            key: key.into(),
            job: JobId(job),
            existing: false,
        };
        let mut records = vec![test_job(), progress, key("a", 1), key("b", 2)];
        records.extend((1..6).map(|level| result(level, 0)));
        store.commit(&records).unwrap();
        let reopen = |store: Store| {
            drop(store);
            Store::open(data.path()).unwrap()
        };
        let cells = vec![(2, 0), (4, 0)];
        store
            .commit(&[Record::Refuted {
                job: JobId(1),
                cells,
            }])
            .unwrap();
        let (store, stored) = reopen(store);
        let levels: Vec<u32> = stored.jobs[&JobId(1)].results.iter().map(|r| r.0).collect();
        assert_eq!(levels, [1, 3, 5]);
        store
            .commit(&[Record::Compacted { job: JobId(1) }])
            .unwrap();
        let (store, stored) = reopen(store);
        assert!(stored.jobs[&JobId(1)].results.is_empty());
        assert_eq!(stored.forgotten, None);
        store
            .commit(&[Record::Forgotten { job: JobId(1) }])
            .unwrap();
        let (_store, stored) = reopen(store);
        assert!(stored.jobs.is_empty());
        assert_eq!(stored.keys.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(stored.forgotten, Some(JobId(1)));
    }

    #[test]
    fn a_flipped_bit_is_never_taken_for_data() {
        let data = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(data.path()).unwrap();
        let job = test_job();
        let progress = Box::new(Progress::default());
        let progress = Record::Progress {
            job: JobId(1),
            progress,
            urgent: true,
        };
        let mut records = vec![job, progress];
        records.extend((0..400).map(|i| result(i / 20 + 1, i % 20)));
        records.extend((1..50).map(worker));
        store.commit(&records).unwrap();
        drop(store);
        let (store, whole) = Store::open_existing(data.path()).unwrap();
        drop(store);
        let file = data.path().join(STORE_FILE);
        let bytes = std::fs::read(&file).unwrap();
        let used: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
        let mut rng = rand::rngs::StdRng::seed_from_u64(7);
        let (mut refused, mut smaller) = (0, 0);
        let silent = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        for _ in 0..150 {
            let mut damaged = bytes.clone();
            damaged[used[rng.random_range(0..used.len())]] ^= 1 << rng.random_range(0..8);
            std::fs::write(&file, &damaged).unwrap();
            match Store::open_existing(data.path()) {
                Err(_) => refused += 1,
                Ok((_, stored)) => {
                    for (id, job) in &stored.jobs {
                        let known = &whole.jobs[id];
                        assert_eq!(
                            (&job.record, &job.progress),
                            (&known.record, &known.progress)
                        );
                        assert!(job.results.iter().all(|r| known.results.contains(r)));
                        smaller += u32::from(job.results.len() < known.results.len());
                    }
                    assert!(
                        stored
                            .workers
                            .iter()
                            .all(|(id, w)| whole.workers.get(id) == Some(w))
                    );
                }
            }
        }
        std::panic::set_hook(silent);
        assert!(
            refused + smaller > 0,
            "the flips hit nothing that is in use"
        );
    }

    #[test]
    fn a_store_whose_making_was_cut_off_is_made_again() {
        let data = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(data.path()).unwrap();
        assert!(is_store(data.path()));
        drop(store);
        // As if the first start had ended before its first commit.
        std::fs::write(data.path().join(STORE_FILE), b"half a header").unwrap();
        begun::mark(data.path()).unwrap();
        assert!(!is_store(data.path()));
        let missing = Store::open_existing(data.path()).err();
        assert!(
            matches!(missing, Some(OpenError::Missing { .. })),
            "{missing:?}"
        );
        let (store, stored) = Store::open(data.path()).unwrap();
        assert_eq!((store.epoch(), stored.jobs.len()), (1, 0));
        drop(store);
        let (store, _) = Store::open(data.path()).unwrap();
        assert_eq!(store.epoch(), 2, "now it counts");
    }

    fn test_job() -> Record {
        use antipode_coordinator_core::record::JobRecord;
        use antipode_solver_core::job::{BfsSpec, JobDefinition, Keep};
        use antipode_solver_core::puzzle::{Generator, Metric, Puzzle};
        use antipode_solver_core::space::{LayoutOptions, SpaceDef};
        let perm = antipode_solver_core::Perm::identity(2);
        let generators = vec![Generator {
            name: "x".into(),
            perm,
        }];
        let puzzle = Puzzle::new("p".into(), generators, vec![], Metric::Custom, vec![]).unwrap();
        let layout = LayoutOptions::default();
        let spec = BfsSpec {
            puzzle,
            depth: None,
            antipodes: 0,
            keep: Keep::Result,
            layout,
        };
        let space = SpaceDef {
            kind: "table".into(),
            shards: 1,
            sources: vec![vec![0]],
            shard_states: vec![1],
            shard_bytes: vec![8],
            directed: false,
            group_order: "1".into(),
            states: None,
            states_proof: String::new(),
            layout: String::new(),
            body: vec![1; 100],
        };
        let definition = std::sync::Arc::new(JobDefinition {
            spec: spec.into(),
            space,
            fingerprint: "f".into(),
        });
        let record = JobRecord {
            definition,
            roots: vec![(1, Digest(1))],
            submitted_at: 3,
        };
        Record::Job {
            job: JobId(1),
            record: std::sync::Arc::new(record),
        }
    }
}
