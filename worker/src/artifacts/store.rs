//! The store of one job: a folder with one redb file, the only place of the worker that knows redb.
//!
//! Invariants:
//! - What `read` returns is what `write` was given, or an error: every record is framed (see
//!   [`super::record`]), and so is the head that says how many there are.
//! - An artifact is there wholly or not at all: its head and its chunks are written in one commit.
//! - A full disk is no fault of the store: nothing is set aside for it, and it is tried again later.
//! - redb is never trusted to survive a damaged file: every use of it is guarded against panics
//!   and errors; after one it is closed and opened again. A file that cannot be written any more
//!   is set aside (renamed) and a new one is begun: to the worker that is a lost disk.

use super::content::Content;
use super::overlay::Overlay;
use super::packed::Packed;
use super::record::{self, BODY_BYTES, RecordError, fingerprint_hash, frame, unframe};
use crate::disk_room::{is_out_of_room, says_no_room};
use crate::folder::{Folder, FolderError};
use crate::medium;
use antipode_ids::JobId;
use antipode_proto::codec::{self, CodecError};
use antipode_proto::killpoint;
use antipode_proto::message::{ArtifactKind, ArtifactName};
use antipode_solver_core::engine::{Certificate, Digest, ShardId};
use redb::{Database, Durability, ReadableDatabase, TableDefinition};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

const RECORDS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");
/// redb's default would be 1 GiB. Artifacts are read once and whole, a cache is of little use.
const CACHE_BYTES: usize = 8 << 20;
/// Pages freed since the last durable commit cannot be used again: make one this often.
const SYNC_EVERY_BYTES: u64 = 256 << 20;
/// Name of the file within the job's folder.
const FILE: &str = "store.redb";
const SET_ASIDE: &str = "store.damaged";

const META_KEY: &[u8] = &[0];
const HEAD: u8 = 1;
const CHUNK: u8 = 2;

/// What is known of a stored artifact without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub digest: Digest,
    pub count: u64,
    /// What was checked when it was made; `None` for what came from a peer.
    pub certificate: Option<Certificate>,
    encoding: String,
    length: u64,
    chunks: u32,
}

/// An artifact that is to be stored.
#[derive(Debug)]
pub struct New {
    pub name: ArtifactName,
    pub digest: Digest,
    pub certificate: Option<Certificate>,
    pub content: Content,
}

impl Head {
    fn new(new: &New, packed: &Packed) -> Head {
        Head {
            digest: new.digest,
            count: new.content.count(),
            certificate: new.certificate,
            encoding: packed.encoding.clone(),
            length: packed.bytes.len() as u64,
            chunks: packed.bytes.len().div_ceil(BODY_BYTES) as u32,
        }
    }
}

/// A store, and what it holds.
pub type LookedAt = (JobStore, Vec<(ArtifactName, Head)>);

#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    job: u64,
    fingerprint: String,
}

/// Why the store did not do it; a variant per thing the caller can do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Folder(FolderError),
    #[error("{path} was written in {what} format {theirs}, formats up to {ours} are known")]
    Newer {
        path: PathBuf,
        /// Which format: `store` for the frames of records, `record` for what is in them.
        what: &'static str,
        theirs: u16,
        ours: u16,
    },
    /// This artifact cannot be had from the store; the others can.
    #[error("damaged on disk: {0}")]
    Damaged(String),
    /// Nothing was written; what was there before still is. It works again when there is room.
    #[error("the disk of {path} is full: {reason}")]
    Full { path: PathBuf, reason: String },
    /// Nothing was written; what was there before still is.
    #[error("cannot write to {path}: {reason}")]
    Write { path: PathBuf, reason: String },
    /// Everything that was stored is gone; the store goes on, empty.
    #[error("{path} failed and was set aside: {reason}")]
    SetAside { path: PathBuf, reason: String },
}

#[derive(Debug)]
pub struct JobStore {
    path: PathBuf,
    /// `None`: somebody only looks; what is on disk is not changed.
    lock: Option<Folder>,
    job: JobId,
    fingerprint: String,
    hash: u64,
    /// `None` after a fault, until the next use.
    database: RwLock<Option<Database>>,
    unsynced_bytes: AtomicU64,
}

/// What a guarded use of redb came to.
enum Fault {
    /// There is no room on the disk.
    NoRoom(String),
    /// The operating system said no.
    Io(String),
    /// redb found its file damaged, or panicked.
    Broken(String),
}

impl JobStore {
    /// The store of `job` under `data`; a new one, or the one that is there if it has the same
    /// fingerprint. One of another definition, or a damaged one, makes room.
    pub fn create(data: &Path, job: JobId, fingerprint: &str) -> Result<JobStore, StoreError> {
        let folder = lock(&folder_of(data, job))?;
        let is_new = !folder.path().join(FILE).exists();
        let store = JobStore {
            path: folder.path().into(),
            lock: Some(folder),
            job,
            fingerprint: fingerprint.into(),
            hash: fingerprint_hash(fingerprint),
            database: RwLock::new(None),
            unsynced_bytes: AtomicU64::new(0),
        };
        match store.meta() {
            Ok(Some(meta)) if meta.fingerprint == fingerprint => {}
            Ok(None) => store.write_meta()?,
            Err(error @ StoreError::Full { .. }) => {
                if is_new {
                    store.close();
                    let _ = std::fs::remove_file(store.file());
                }
                return Err(error);
            }
            Ok(Some(_)) => {
                store.set_aside();
                store.write_meta()?;
            }
            Err(error @ StoreError::Newer { .. }) => return Err(error),
            Err(_) => {
                store.set_aside();
                store.write_meta()?;
            }
        }
        Ok(store)
    }

    /// The store that is in `folder`, and what it holds. `None`: there is nothing of use.
    pub fn open(data: &Path, job: JobId) -> Result<Option<LookedAt>, StoreError> {
        let path = folder_of(data, job);
        let folder = lock(&path)?;
        if !path.join(FILE).exists() {
            return Ok(None);
        }
        let mut store = JobStore {
            path,
            lock: Some(folder),
            job,
            fingerprint: String::new(),
            hash: 0,
            database: RwLock::new(None),
            unsynced_bytes: AtomicU64::new(0),
        };
        match store.meta() {
            Ok(Some(meta)) => {
                store.hash = fingerprint_hash(&meta.fingerprint);
                store.fingerprint = meta.fingerprint;
            }
            Err(error @ (StoreError::Newer { .. } | StoreError::Full { .. })) => return Err(error),
            Ok(None) => return Ok(None),
            Err(error) => {
                tracing::warn!(store = %store.file().display(), %error, "a job's store is of no use any more; it is set aside, what it held is computed again");
                store.set_aside();
                return Ok(None);
            }
        }
        match store.heads() {
            Ok(heads) if heads.is_empty() => Ok(None),
            Ok(heads) => Ok(Some((store, heads))),
            Err(error @ (StoreError::Newer { .. } | StoreError::Full { .. })) => Err(error),
            Err(error) => {
                tracing::warn!(store = %store.file().display(), %error, "a job's store is of no use any more; it is set aside, what it held is computed again");
                store.set_aside();
                Ok(None)
            }
        }
    }

    /// The store of a job and what it holds, for somebody who only looks: nothing on disk is changed, not
    /// even a lock. What `write` would do stays in memory. `None`: there is no store.
    pub fn look(data: &Path, job: JobId) -> Result<Option<LookedAt>, StoreError> {
        let path = folder_of(data, job);
        if !path.join(FILE).exists() {
            return Ok(None);
        }
        let mut store = JobStore {
            path,
            lock: None,
            job,
            fingerprint: String::new(),
            hash: 0,
            database: RwLock::new(None),
            unsynced_bytes: AtomicU64::new(0),
        };
        let Some(meta) = store.meta()? else {
            return Ok(None);
        };
        store.hash = fingerprint_hash(&meta.fingerprint);
        store.fingerprint = meta.fingerprint;
        let heads = store.heads()?;
        Ok(Some((store, heads)))
    }

    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Writes artifacts and forgets others, in one commit. Without `durable` the commit may be lost
    /// in a crash, but never a part of it. Returns the bytes written.
    pub fn write(
        &self,
        artifacts: &[New],
        forget: &[ArtifactName],
        durable: bool,
    ) -> Result<u64, StoreError> {
        let expected: u64 = artifacts.iter().map(|new| new.content.memory_bytes()).sum();
        let unsynced = self.unsynced_bytes.fetch_add(expected, Ordering::Relaxed) + expected;
        let durable = durable || unsynced >= SYNC_EVERY_BYTES;
        let written = self.commit(durable, |table| {
            for name in forget {
                remove(table, *name)?;
            }
            let mut bytes = 0;
            for new in artifacts {
                remove(table, new.name)?;
                // One at a time: packed bytes are memory that nobody accounts for.
                let packed = new.content.stored();
                for (k, body) in packed.bytes.chunks(BODY_BYTES).enumerate() {
                    let key = key_of(CHUNK, new.name, Some(k as u32));
                    table.insert(&key[..], &frame(&key, self.hash, body)[..])?;
                }
                let key = key_of(HEAD, new.name, None);
                let body = codec::encode(codec::kind::ARTIFACT_RECORD, &Head::new(new, &packed));
                table.insert(&key[..], &frame(&key, self.hash, &body)[..])?;
                bytes += packed.bytes.len() as u64;
            }
            Ok(bytes)
        })?;
        if durable {
            self.unsynced_bytes.store(0, Ordering::Relaxed);
        }
        Ok(written)
    }

    /// The artifact, every byte checked. `None`: it was never stored, or is forgotten. Damage names the file.
    pub fn read(&self, name: ArtifactName) -> Result<Option<(Head, Packed)>, StoreError> {
        self.read_checked(name).map_err(|error| match error {
            StoreError::Damaged(reason) => {
                StoreError::Damaged(format!("{}: {reason}", self.file().display()))
            }
            other => other,
        })
    }

    fn read_checked(&self, name: ArtifactName) -> Result<Option<(Head, Packed)>, StoreError> {
        let Some(head) = self.record(&key_of(HEAD, name, None))? else {
            return Ok(None);
        };
        let head: Head = self.decoded(codec::kind::ARTIFACT_RECORD, &head)?;
        let mut bytes = Vec::new();
        for k in 0..head.chunks {
            match self.record(&key_of(CHUNK, name, Some(k)))? {
                Some(body) => bytes.extend_from_slice(&body),
                None => {
                    return Err(StoreError::Damaged(format!(
                        "piece {k} of {} is missing",
                        head.chunks
                    )));
                }
            }
        }
        if bytes.len() as u64 != head.length {
            return Err(StoreError::Damaged(format!(
                "{} bytes instead of {}",
                bytes.len(),
                head.length
            )));
        }
        let packed = Packed {
            encoding: head.encoding.clone(),
            bytes,
        };
        Ok(Some((head, packed)))
    }

    /// Deletes the folder with everything in it.
    pub fn destroy(self) {
        let path = self.path.clone();
        drop(self);
        remove_folder(&path);
    }

    fn file(&self) -> PathBuf {
        self.path.join(FILE)
    }

    fn meta(&self) -> Result<Option<Meta>, StoreError> {
        // The fingerprint is not known before this record is read.
        let Some(record) = self.raw(META_KEY)? else {
            return Ok(None);
        };
        let (hash, body) = self.unframe(META_KEY, &record)?;
        let meta: Meta = self.decoded(codec::kind::WORKER_META, body)?;
        if fingerprint_hash(&meta.fingerprint) != hash || meta.job != self.job.0 {
            return Err(StoreError::Damaged(format!(
                "its fields 'job' ({}) and 'fingerprint' ({}) are not those of job {}",
                meta.job, meta.fingerprint, self.job
            )));
        }
        Ok(Some(meta))
    }

    fn write_meta(&self) -> Result<(), StoreError> {
        let meta = Meta {
            job: self.job.0,
            fingerprint: self.fingerprint.clone(),
        };
        let body = codec::encode(codec::kind::WORKER_META, &meta);
        self.commit(true, |table| {
            table.insert(META_KEY, &frame(META_KEY, self.hash, &body)[..])?;
            Ok(())
        })
    }

    /// All heads that can be read; what cannot is as good as lost and is not listed.
    fn heads(&self) -> Result<Vec<(ArtifactName, Head)>, StoreError> {
        let range = self.guarded(|database| {
            let table = database.begin_read()?.open_table(RECORDS)?;
            let mut found = Vec::new();
            for entry in table.range([HEAD].as_slice()..[CHUNK].as_slice())? {
                let (key, value) = entry?;
                found.push((key.value().to_vec(), value.value().to_vec()));
            }
            Ok(found)
        });
        let mut heads = Vec::new();
        for (key, record) in range.map_err(|fault| self.unreadable(fault))? {
            let head = self
                .body(&key, &record)
                .and_then(|body| self.decoded(codec::kind::ARTIFACT_RECORD, &body));
            match (name_of(self.job, &key), head) {
                (Some(name), Ok(head)) => heads.push((name, head)),
                (_, Err(error @ StoreError::Newer { .. })) => return Err(error),
                (None, _) => {
                    tracing::warn!(store = %self.file().display(), "a stored artifact has no name that is known; it is forgotten");
                }
                (Some(name), Err(error)) => {
                    tracing::warn!(store = %self.file().display(), ?name, %error, "a stored artifact is forgotten");
                }
            }
        }
        Ok(heads)
    }

    fn record(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.raw(key)?
            .map(|record| self.body(key, &record))
            .transpose()
    }

    fn raw(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.guarded(|database| {
            let table = match database.begin_read()?.open_table(RECORDS) {
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
                other => other?,
            };
            Ok(table.get(key)?.map(|value| value.value().to_vec()))
        })
        .map_err(|fault| self.unreadable(fault))
    }

    fn unreadable(&self, fault: Fault) -> StoreError {
        match fault {
            Fault::NoRoom(reason) => StoreError::Full {
                path: self.file(),
                reason,
            },
            Fault::Io(reason) | Fault::Broken(reason) => StoreError::Damaged(reason),
        }
    }

    fn unframe<'a>(&self, key: &[u8], record: &'a [u8]) -> Result<(u64, &'a [u8]), StoreError> {
        unframe(key, record).map_err(|error| match error {
            RecordError::Newer { theirs } => StoreError::Newer {
                path: self.file(),
                what: "store",
                theirs,
                ours: record::STORE_FORMAT,
            },
            RecordError::Damaged(reason) => StoreError::Damaged(reason),
        })
    }

    fn decoded<T: DeserializeOwned>(
        &self,
        kind: codec::Kind,
        body: &[u8],
    ) -> Result<T, StoreError> {
        codec::decode(kind, body).map_err(|error| match error {
            CodecError::Newer { found, .. } => StoreError::Newer {
                path: self.file(),
                what: "record",
                theirs: found,
                ours: codec::FORMAT,
            },
            other => StoreError::Damaged(other.to_string()),
        })
    }

    fn body(&self, key: &[u8], record: &[u8]) -> Result<Vec<u8>, StoreError> {
        let (hash, body) = self.unframe(key, record)?;
        if hash != self.hash {
            return Err(StoreError::Damaged(format!(
                "its field 'fingerprint' is {hash:016x} instead of {:016x}: a record of another job",
                self.hash
            )));
        }
        Ok(body.to_vec())
    }

    fn commit<T>(
        &self,
        durable: bool,
        change: impl Fn(&mut redb::Table<&[u8], &[u8]>) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let done = self.guarded(|database| {
            let mut transaction = database.begin_write()?;
            if !durable {
                transaction.set_durability(Durability::None)?;
            }
            let changed = change(&mut transaction.open_table(RECORDS)?)?;
            killpoint::pass("commit");
            transaction.commit()?;
            killpoint::pass("committed");
            Ok(changed)
        });
        done.map_err(|fault| match fault {
            Fault::NoRoom(reason) => StoreError::Full {
                path: self.file(),
                reason,
            },
            Fault::Io(reason) => StoreError::Write {
                path: self.file(),
                reason,
            },
            Fault::Broken(reason) => {
                self.set_aside();
                // If not even an empty store can be begun, the next use says so.
                let _ = self.write_meta_once();
                StoreError::SetAside {
                    path: self.file(),
                    reason,
                }
            }
        })
    }

    /// Like `write_meta`, but a second fault in a row does not set aside again.
    fn write_meta_once(&self) -> Result<(), Fault> {
        let meta = Meta {
            job: self.job.0,
            fingerprint: self.fingerprint.clone(),
        };
        let body = codec::encode(codec::kind::WORKER_META, &meta);
        self.guarded(|database| {
            let transaction = database.begin_write()?;
            transaction
                .open_table(RECORDS)?
                .insert(META_KEY, &frame(META_KEY, self.hash, &body)[..])?;
            Ok(transaction.commit()?)
        })
    }

    /// Gives the system back what the file does not use (a database does not shrink by itself). What is
    /// stored stays as it is, whatever becomes of it.
    pub fn compact(&self) -> Result<(), StoreError> {
        let compacted = catch_unwind(AssertUnwindSafe(|| {
            drop(self.opened()?);
            let mut slot = self
                .database
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            match slot.as_mut() {
                Some(database) => Ok(database.compact().map(|_| ())?),
                None => Err(redb::Error::DatabaseClosed),
            }
        }));
        let reason = match compacted {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the database panicked".into(),
        };
        self.close();
        Err(StoreError::Write {
            path: self.file(),
            reason,
        })
    }

    /// Uses the database; after a fault it is closed, opened again, and tried once more.
    fn guarded<T>(&self, work: impl Fn(&Database) -> Result<T, redb::Error>) -> Result<T, Fault> {
        let mut fault = Fault::Broken(String::new());
        let mut no_room = None;
        for _ in 0..2 {
            let used = catch_unwind(AssertUnwindSafe(|| {
                let guard = self.opened()?;
                match guard.as_ref() {
                    Some(database) => work(database),
                    None => Err(redb::Error::DatabaseClosed),
                }
            }));
            fault = match used {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(error)) => classify(error),
                Err(_) => Fault::Broken("the database panicked".into()),
            };
            if let Fault::NoRoom(reason) = &fault {
                no_room = Some(reason.clone());
            }
            self.close();
        }
        // What a full disk does to an open database is not always called by its name.
        match no_room {
            Some(reason) => Err(Fault::NoRoom(reason)),
            None if is_out_of_room(&self.path) => Err(Fault::NoRoom(fault.text())),
            None => Err(fault),
        }
    }

    fn opened(&self) -> Result<RwLockReadGuard<'_, Option<Database>>, redb::Error> {
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        if guard.is_some() {
            return Ok(guard);
        }
        drop(guard);
        let mut slot = self
            .database
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            let mut builder = Database::builder();
            builder.set_cache_size(CACHE_BYTES);
            *slot = Some(match self.lock {
                Some(_) => medium::create(&builder, &self.file())?,
                None => builder.create_with_backend(Overlay::open(&self.file())?)?,
            });
        }
        drop(slot);
        Ok(self.database.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn close(&self) {
        let database = self
            .database
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // Closing writes, and a damaged database may panic once more.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }

    /// Renames the file, so that a person can look at it until the job is over.
    fn set_aside(&self) {
        self.close();
        let file = self.file();
        if let Err(error) = std::fs::rename(&file, self.path.join(SET_ASIDE)) {
            tracing::warn!(%error, path = %file.display(), "cannot set a damaged store aside; it is removed");
            let _ = std::fs::remove_file(&file);
        }
    }
}

impl Drop for JobStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl Fault {
    fn text(self) -> String {
        match self {
            Fault::NoRoom(reason) | Fault::Io(reason) | Fault::Broken(reason) => reason,
        }
    }
}

fn lock(path: &Path) -> Result<Folder, StoreError> {
    Folder::lock(path).map_err(|error| match error {
        FolderError::Unwritable { path, reason } if says_no_room(&reason) => StoreError::Full {
            path,
            reason: reason.to_string(),
        },
        other => StoreError::Folder(other),
    })
}

fn classify(error: redb::Error) -> Fault {
    match error {
        redb::Error::Io(reason) if says_no_room(&reason) => Fault::NoRoom(reason.to_string()),
        redb::Error::Io(reason) => Fault::Io(reason.to_string()),
        redb::Error::PreviousIo => Fault::Io(error.to_string()),
        other => Fault::Broken(other.to_string()),
    }
}

fn remove(table: &mut redb::Table<&[u8], &[u8]>, name: ArtifactName) -> Result<(), redb::Error> {
    if table.remove(&key_of(HEAD, name, None)[..])?.is_none() {
        return Ok(());
    }
    let (first, last) = (
        key_of(CHUNK, name, Some(0)),
        key_of(CHUNK, name, Some(u32::MAX)),
    );
    table.retain_in(&first[..]..=&last[..], |_, _| false)?;
    Ok(())
}

/// Tag, level, shard, kind, and the number of the chunk: sorted so that levels lie together.
fn key_of(tag: u8, name: ArtifactName, chunk: Option<u32>) -> Vec<u8> {
    let mut key = Vec::with_capacity(14);
    key.push(tag);
    key.extend_from_slice(&name.level.to_be_bytes());
    key.extend_from_slice(&name.shard.0.to_be_bytes());
    key.push(match name.kind {
        ArtifactKind::Frontier => 0,
        ArtifactKind::Visited => 1,
        ArtifactKind::Distances => 2,
    });
    key.extend(chunk.into_iter().flat_map(u32::to_be_bytes));
    key
}

fn name_of(job: JobId, key: &[u8]) -> Option<ArtifactName> {
    let [HEAD, a, b, c, d, e, f, g, h, kind] = *key else {
        return None;
    };
    let kind = match kind {
        0 => ArtifactKind::Frontier,
        1 => ArtifactKind::Visited,
        2 => ArtifactKind::Distances,
        _ => return None,
    };
    let level = u32::from_be_bytes([a, b, c, d]);
    Some(ArtifactName {
        job,
        level,
        shard: ShardId(u32::from_be_bytes([e, f, g, h])),
        kind,
    })
}

/// Where the store of a job is.
pub fn folder_of(data: &Path, job: JobId) -> PathBuf {
    data.join("jobs").join(job.to_string())
}

/// Is there a store that was set aside?
pub fn has_set_aside(data: &Path, job: JobId) -> bool {
    folder_of(data, job).join(SET_ASIDE).exists()
}

/// The jobs that have a folder under `data`.
pub fn stored_jobs(data: &Path) -> Vec<JobId> {
    let Ok(entries) = std::fs::read_dir(data.join("jobs")) else {
        return Vec::new();
    };
    let mut jobs: Vec<JobId> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok().map(JobId))
        .collect();
    jobs.sort_unstable();
    jobs
}

/// Deletes a job's folder; failing is said and does no harm.
pub fn remove_folder(path: &Path) {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, path = %path.display(), "cannot delete the folder of a closed job");
        }
        _ => {}
    }
}
