//! What the worker holds: artifacts in memory within a budget, on disk when memory is short or
//! when the coordinator wants them durable.
//!
//! Invariants:
//! - An item that is listed can be had: from memory, or from the job's store. When the store turns
//!   out damaged, the item goes and the loss is reported, once, through the channel given at the start.
//! - What is in memory is right: made by the engine here, or fetched and checked against the digest,
//!   or read from a store that checks every byte.
//! - `resident_bytes` is the memory of all items; the budget bounds it together with the engines'
//!   tables and what running and prepared tasks reserved.
//! - Nothing waits for a disk while the lock is held.

mod budget;
pub mod fetch;
mod packed;
mod record;
mod serve;
mod store;

pub use budget::{Need, Wanted};
pub use packed::{Packed, UnpackError, unpack};
pub use record::STORE_FORMAT;
pub use serve::Server;
pub use store::StoreError;

use crate::compute::Compute;
use crate::gauges::Gauges;
use antipode_ids::JobId;
use antipode_proto::message::{ArtifactKind, ArtifactName, Held};
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::engine::{Certificate, Digest, Level, ShardId};
use antipode_solver_core::job::{Task, TaskOutput};
use budget::Ledger;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Head, JobStore};
use tokio::sync::mpsc;

/// Artifacts are brought to disk in commits of about this size.
const COMMIT_BYTES: u64 = 64 << 20;

/// Artifacts that are gone, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    pub names: Vec<ArtifactName>,
    pub reason: String,
}

/// What bringing artifacts to disk came to.
#[derive(Debug, Default)]
pub struct Persisted {
    /// Asked for, but not held.
    pub missing: Vec<ArtifactName>,
    /// Still in memory, but the disk did not take them; worth another try later.
    pub failed: Vec<ArtifactName>,
    pub reason: String,
}

/// Where an artifact is.
#[derive(Debug)]
pub enum Place {
    Memory(Arc<Frontier>),
    Disk,
    Nowhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disk {
    No,
    /// There to save memory; a crash may lose it.
    Spilled,
    Durable,
}

struct Item {
    digest: Digest,
    count: u64,
    certificate: Option<Certificate>,
    memory: Option<Arc<Frontier>>,
    disk: Disk,
    /// A copy from another worker: used, served, but not announced.
    fetched: bool,
}

struct Job {
    /// `None` for a job that only lies on disk since an earlier start.
    engine: Option<Arc<dyn Compute>>,
    fingerprint: String,
    store: Option<Arc<JobStore>>,
    fetched: BTreeSet<ArtifactName>,
    newest: Level,
    /// Stored, but not wanted any more; goes with the next commit.
    garbage: BTreeSet<ArtifactName>,
}

#[derive(Default)]
struct Shelf {
    jobs: BTreeMap<JobId, Job>,
    items: BTreeMap<ArtifactName, Item>,
    ledger: Ledger,
}

pub struct Artifacts {
    data: PathBuf,
    gauges: Arc<Gauges>,
    losses: mpsc::UnboundedSender<Loss>,
    shelf: Mutex<Shelf>,
    /// One writer at a time: what is forgotten and what is written must not overtake each other.
    writing: Mutex<()>,
}

impl Artifacts {
    /// Opens what an earlier start left under `data` (which the caller has locked).
    pub fn open(
        data: &Path,
        budget_bytes: u64,
        gauges: Arc<Gauges>,
        losses: mpsc::UnboundedSender<Loss>,
    ) -> Result<Artifacts, StoreError> {
        let mut shelf = Shelf {
            ledger: Ledger::new(budget_bytes),
            ..Shelf::default()
        };
        for job in store::stored_jobs(data) {
            let Some((store, heads)) = JobStore::open(data, job)? else {
                store::remove_folder(&store::folder_of(data, job));
                continue;
            };
            let fingerprint = store.fingerprint().to_string();
            shelf.jobs.insert(
                job,
                Job {
                    store: Some(Arc::new(store)),
                    ..Job::new(None, fingerprint)
                },
            );
            for (name, head) in heads {
                let Head {
                    digest,
                    count,
                    certificate,
                    ..
                } = head;
                let item = Item {
                    digest,
                    count,
                    certificate,
                    memory: None,
                    disk: Disk::Durable,
                    fetched: false,
                };
                shelf.items.insert(name, item);
            }
        }
        Ok(Artifacts {
            data: data.into(),
            gauges,
            losses,
            shelf: Mutex::new(shelf),
            writing: Mutex::new(()),
        })
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job's engine is there. What lies on disk of the same definition counts; of another, it goes.
    pub fn open_job(&self, job: JobId, fingerprint: &str, engine: Arc<dyn Compute>) {
        let mut shelf = self.shelf();
        let foreign = shelf
            .jobs
            .get(&job)
            .is_some_and(|old| old.fingerprint != fingerprint);
        if foreign {
            let names = shelf.names_of(job);
            let old = shelf.remove_job(job);
            let reason = "stored for another definition of the job (the fingerprint differs)";
            self.lose(names, reason);
            drop(shelf);
            destroy(&self.data, job, old);
            shelf = self.shelf();
        }
        shelf.ledger.add_tables(engine.table_bytes());
        let entry = shelf
            .jobs
            .entry(job)
            .or_insert_with(|| Job::new(None, fingerprint.into()));
        if let Some(before) = entry.engine.replace(engine) {
            shelf.ledger.remove_tables(before.table_bytes());
        }
    }

    /// Forgets a job; its durable artifacts stay on disk if `keep`. Blocks on the disk.
    pub fn close_job(&self, job: JobId, keep: bool) {
        let mut shelf = self.shelf();
        if !keep {
            let old = shelf.remove_job(job);
            self.gauges
                .resident_bytes
                .store(shelf.ledger.resident_bytes(), Relaxed);
            drop(shelf);
            destroy(&self.data, job, old);
            return;
        }
        for name in shelf.names_of(job) {
            if shelf
                .items
                .get(&name)
                .is_some_and(|item| item.disk == Disk::Durable)
            {
                shelf.drop_memory(name);
            } else {
                shelf.remove(name);
            }
        }
        if let Some(engine) = shelf.jobs.get_mut(&job).and_then(|j| j.engine.take()) {
            shelf.ledger.remove_tables(engine.table_bytes());
        }
        self.gauges
            .resident_bytes
            .store(shelf.ledger.resident_bytes(), Relaxed);
        drop(shelf);
        if let Err(error) = self.write(job, Vec::new(), true) {
            tracing::warn!(%error, %job, "cannot tidy up a closed job's store");
        }
    }

    /// The engine of an open job.
    pub fn engine(&self, job: JobId) -> Option<Arc<dyn Compute>> {
        self.shelf().jobs.get(&job)?.engine.clone()
    }

    /// The answer to a task whose artifacts are all held here.
    pub fn known(&self, job: JobId, task: &Task) -> Option<TaskOutput> {
        let Task::Expand { level, shard } = *task else {
            return None;
        };
        let shelf = self.shelf();
        let directed = shelf.jobs.get(&job)?.engine.as_ref()?.is_directed();
        let name = |kind| ArtifactName {
            job,
            level,
            shard,
            kind,
        };
        let made = |kind| shelf.items.get(&name(kind)).filter(|item| !item.fetched);
        if directed {
            made(ArtifactKind::Visited)?;
        }
        let item = made(ArtifactKind::Frontier)?;
        Some(TaskOutput::Expanded {
            count: item.count,
            digest: item.digest,
            certificate: item.certificate?,
        })
    }

    /// What is announced to the coordinator.
    pub fn held(&self) -> Vec<Held> {
        let shelf = self.shelf();
        let own = shelf.items.iter().filter(|(_, item)| !item.fetched);
        own.map(|(&name, item)| Held {
            name,
            digest: item.digest,
            count: item.count,
            durable: item.disk == Disk::Durable,
        })
        .collect()
    }

    /// Where the artifact with this name and digest is.
    pub fn place(&self, name: ArtifactName, digest: Digest) -> Place {
        match self.shelf().items.get(&name) {
            Some(item) if item.digest == digest => match &item.memory {
                Some(frontier) => Place::Memory(frontier.clone()),
                None => Place::Disk,
            },
            _ => Place::Nowhere,
        }
    }

    /// The frontier of a shard if it is held, wherever; for searches that profit from it. Blocks
    /// on the disk; what is read from there is not kept in memory.
    pub fn any_frontier(&self, job: JobId, level: Level, shard: ShardId) -> Option<Arc<Frontier>> {
        let name = ArtifactName {
            job,
            level,
            shard,
            kind: ArtifactKind::Frontier,
        };
        let memory = self.shelf().items.get(&name)?.memory.clone();
        memory.or_else(|| self.read(name).map(Arc::new))
    }

    /// Brings an artifact from the store back to memory. `None`: it is not held (any more).
    /// Blocks on the disk.
    pub fn load(&self, name: ArtifactName) -> Option<Arc<Frontier>> {
        let frontier = Arc::new(self.read(name)?);
        let mut shelf = self.shelf();
        let item = shelf.items.get_mut(&name)?;
        if let Some(already) = &item.memory {
            return Some(already.clone());
        }
        item.memory = Some(frontier.clone());
        self.grew(&mut shelf, &frontier);
        Some(frontier)
    }

    fn read(&self, name: ArtifactName) -> Option<Frontier> {
        let (head, packed) = self.read_packed(name)?;
        let geometry = self.engine(name.job)?.geometry(name.shard);
        match unpack(geometry, &packed.encoding, &packed.bytes) {
            Ok(frontier) if frontier.count() == head.count => Some(frontier),
            Ok(_) => self.damaged(name, "the number of states does not fit"),
            Err(error) => self.damaged(name, &error.to_string()),
        }
    }

    /// The stored form of an artifact that is on disk; damage is reported, and `None`.
    fn read_packed(&self, name: ArtifactName) -> Option<(Head, Packed)> {
        let (store, digest) = {
            let shelf = self.shelf();
            (
                shelf.jobs.get(&name.job)?.store.clone()?,
                shelf.items.get(&name)?.digest,
            )
        };
        match store.read(name) {
            Ok(Some((head, packed))) if head.digest == digest => Some((head, packed)),
            Ok(_) => self.damaged(name, "it is not what it was"),
            Err(error) => self.damaged(name, &error.to_string()),
        }
    }

    fn damaged<T>(&self, name: ArtifactName, reason: &str) -> Option<T> {
        let mut shelf = self.shelf();
        // Released or computed again in the meantime: then nothing is lost.
        if shelf
            .items
            .get(&name)
            .is_some_and(|item| item.memory.is_none())
        {
            shelf.remove(name);
            drop(shelf);
            self.lose(vec![name], reason);
        }
        None
    }

    fn lose(&self, names: Vec<ArtifactName>, reason: &str) {
        if !names.is_empty() {
            tracing::warn!(count = names.len(), first = ?names[0], reason, "artifacts are lost");
            // Nobody listens only while the worker ends.
            let _ = self.losses.send(Loss {
                names,
                reason: reason.into(),
            });
        }
    }

    /// A task's result is there: keep it and count it.
    pub fn insert_made(
        &self,
        name: ArtifactName,
        frontier: Frontier,
        digest: Digest,
        certificate: Certificate,
    ) {
        self.insert(name, Arc::new(frontier), digest, Some(certificate), false);
    }

    /// A checked copy from another worker.
    pub fn insert_fetched(&self, name: ArtifactName, frontier: Arc<Frontier>, digest: Digest) {
        self.insert(name, frontier, digest, None, true);
    }

    fn insert(
        &self,
        name: ArtifactName,
        frontier: Arc<Frontier>,
        digest: Digest,
        certificate: Option<Certificate>,
        fetched: bool,
    ) {
        let mut shelf = self.shelf();
        let Some(job) = shelf
            .jobs
            .get_mut(&name.job)
            .filter(|job| job.engine.is_some())
        else {
            return; // The job was closed while this was on its way.
        };
        if fetched {
            job.fetched.insert(name);
        } else {
            job.fetched.remove(&name);
            job.newest = job.newest.max(name.level);
        }
        let durable = shelf
            .items
            .get(&name)
            .is_some_and(|old| old.digest == digest && old.disk == Disk::Durable);
        if !durable {
            shelf.remove(name);
        } else {
            shelf.drop_memory(name);
        }
        let item = Item {
            digest,
            count: frontier.count(),
            certificate,
            memory: Some(frontier.clone()),
            disk: if durable { Disk::Durable } else { Disk::No },
            fetched: fetched && !durable,
        };
        shelf.items.insert(name, item);
        self.grew(&mut shelf, &frontier);
    }

    fn grew(&self, shelf: &mut Shelf, frontier: &Frontier) {
        shelf.ledger.add_resident(frontier.memory_bytes());
        self.gauges
            .resident_bytes
            .store(shelf.ledger.resident_bytes(), Relaxed);
    }

    /// Takes an artifact out of memory for good, because its buffer is used up by a task. A durable
    /// copy stays on disk until it is released. True: there is no copy left.
    pub fn consume(&self, name: ArtifactName) -> bool {
        let mut shelf = self.shelf();
        let durable = shelf
            .items
            .get(&name)
            .is_some_and(|item| item.disk == Disk::Durable);
        if durable {
            shelf.drop_memory(name);
        } else {
            shelf.remove(name);
        }
        self.gauges
            .resident_bytes
            .store(shelf.ledger.resident_bytes(), Relaxed);
        !durable
    }

    /// Forgets artifacts, also durable ones. The disk is tidied with the next commit.
    pub fn release(&self, names: &[ArtifactName]) {
        let mut shelf = self.shelf();
        names.iter().for_each(|&name| shelf.remove(name));
        self.gauges
            .resident_bytes
            .store(shelf.ledger.resident_bytes(), Relaxed);
    }

    /// Are there copies from other workers of this job's artifacts?
    pub fn has_copies(&self, job: JobId) -> bool {
        self.shelf()
            .jobs
            .get(&job)
            .is_some_and(|open| !open.fetched.is_empty())
    }

    /// Forgets copies from other workers that no leased task wants and that are too old for any
    /// task to come.
    pub fn drop_old_copies(&self, job: JobId, wanted: &Wanted) {
        let mut shelf = self.shelf();
        let Some(open) = shelf.jobs.get(&job) else {
            return;
        };
        let old: Vec<ArtifactName> = open
            .fetched
            .iter()
            .filter(|name| name.level + 2 < open.newest && !wanted.contains_key(name))
            .copied()
            .collect();
        old.into_iter().for_each(|name| shelf.remove(name));
        self.gauges
            .resident_bytes
            .store(shelf.ledger.resident_bytes(), Relaxed);
    }

    /// Brings artifacts to disk; `done` hears of every commit, when it is durable. Blocks.
    pub fn persist(
        &self,
        names: &[ArtifactName],
        mut done: impl FnMut(Vec<ArtifactName>, u64),
    ) -> Persisted {
        let mut outcome = Persisted::default();
        let mut by_job: BTreeMap<JobId, Vec<ArtifactName>> = BTreeMap::new();
        // Every worker makes level 0 from the definition: it needs no disk.
        let roots: Vec<ArtifactName> = names
            .iter()
            .filter(|name| name.level == 0)
            .copied()
            .collect();
        if !roots.is_empty() {
            done(roots, 0);
        }
        for &name in names.iter().filter(|name| name.level > 0) {
            by_job.entry(name.job).or_default().push(name);
        }
        for (job, names) in by_job {
            let mut left = names.into_iter().peekable();
            while left.peek().is_some() {
                let mut batch = Vec::new();
                let mut named = Vec::new();
                let mut bytes = 0;
                while let Some(name) = left.next_if(|_| bytes < COMMIT_BYTES) {
                    match self.pack_for_store(name) {
                        None => outcome.missing.push(name),
                        Some(packed) => {
                            named.push(name);
                            if let Some((head, frontier, packed)) = packed {
                                bytes += packed.bytes.len() as u64;
                                batch.push((name, head, packed, frontier));
                            }
                        }
                    }
                }
                match self.write(job, batch, true) {
                    Ok(written) => {
                        let mut shelf = self.shelf();
                        named.retain(|name| match shelf.items.get_mut(name) {
                            Some(item) if item.disk != Disk::No => {
                                item.disk = Disk::Durable;
                                true
                            }
                            _ => false,
                        });
                        drop(shelf);
                        if !named.is_empty() {
                            done(named, written);
                        }
                    }
                    Err(error) => {
                        outcome.reason = error.to_string();
                        outcome.failed.extend(named);
                    }
                }
            }
        }
        outcome
    }

    /// What must be written to have the artifact in the store: `Some(None)` if it is there already.
    #[allow(clippy::type_complexity)]
    fn pack_for_store(&self, name: ArtifactName) -> Option<Option<(Head, Arc<Frontier>, Packed)>> {
        let (digest, count, certificate, frontier) = {
            let shelf = self.shelf();
            let item = shelf.items.get(&name)?;
            match (&item.memory, item.disk) {
                (_, Disk::Spilled | Disk::Durable) => return Some(None),
                (Some(frontier), Disk::No) => {
                    (item.digest, item.count, item.certificate, frontier.clone())
                }
                (None, Disk::No) => return None,
            }
        };
        let packed = Packed::new(&frontier);
        Some(Some((
            Head::new(digest, count, certificate, &packed),
            frontier,
            packed,
        )))
    }

    /// Writes artifacts and takes the garbage along; marks what is on disk now. A store that had to
    /// be set aside is a loss of all that was only there.
    fn write(
        &self,
        job: JobId,
        batch: Vec<(ArtifactName, Head, Packed, Arc<Frontier>)>,
        durable: bool,
    ) -> Result<u64, StoreError> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((store, fingerprint)) = self
            .shelf()
            .jobs
            .get(&job)
            .map(|open| (open.store.clone(), open.fingerprint.clone()))
        else {
            return Ok(0);
        };
        let store = match store {
            Some(store) => store,
            None if batch.is_empty() => return Ok(0),
            None => {
                let store = Arc::new(JobStore::create(&self.data, job, &fingerprint)?);
                let mut shelf = self.shelf();
                match shelf.jobs.get_mut(&job) {
                    Some(open) => open.store = Some(store.clone()),
                    None => {
                        drop(shelf);
                        store::remove_folder(&store::folder_of(&self.data, job));
                        return Ok(0);
                    }
                }
                store
            }
        };
        let garbage: Vec<ArtifactName> = {
            let mut shelf = self.shelf();
            let open = shelf.jobs.get_mut(&job);
            open.map(|open| std::mem::take(&mut open.garbage))
                .into_iter()
                .flatten()
                .collect()
        };
        let mut records = Vec::with_capacity(batch.len());
        let mut frontiers = Vec::with_capacity(batch.len());
        for (name, head, packed, frontier) in batch {
            frontiers.push((name, frontier));
            records.push((name, head, packed));
        }
        let written = store.write(&records, &garbage, durable);
        let mut shelf = self.shelf();
        match written {
            Ok(bytes) => {
                for (name, frontier) in frontiers {
                    let same = |item: &&mut Item| {
                        item.memory
                            .as_ref()
                            .is_some_and(|m| Arc::ptr_eq(m, &frontier))
                    };
                    match shelf.items.get_mut(&name).filter(same) {
                        Some(item) if item.disk == Disk::No => {
                            item.disk = if durable {
                                Disk::Durable
                            } else {
                                Disk::Spilled
                            };
                        }
                        Some(_) => {}
                        // Released, consumed or replaced while it was written.
                        None => {
                            if let Some(open) = shelf.jobs.get_mut(&job) {
                                open.garbage.insert(name);
                            }
                        }
                    }
                }
                Ok(bytes)
            }
            Err(error) => {
                if matches!(error, StoreError::SetAside { .. }) {
                    let mut gone = Vec::new();
                    for name in shelf.names_of(job) {
                        let Some(item) = shelf.items.get_mut(&name) else {
                            continue;
                        };
                        // What was promised to be durable is a loss, though it may be in memory.
                        if item.disk == Disk::Durable
                            || (item.disk == Disk::Spilled && item.memory.is_none())
                        {
                            gone.push(name);
                            shelf.remove(name);
                        } else {
                            item.disk = Disk::No;
                        }
                    }
                    if let Some(open) = shelf.jobs.get_mut(&job) {
                        open.garbage.clear();
                    }
                    self.lose(gone, &error.to_string());
                } else if let Some(open) = shelf.jobs.get_mut(&job) {
                    open.garbage.extend(garbage);
                }
                Err(error)
            }
        }
    }
}

impl Job {
    fn new(engine: Option<Arc<dyn Compute>>, fingerprint: String) -> Job {
        let (fetched, garbage) = (BTreeSet::new(), BTreeSet::new());
        Job {
            engine,
            fingerprint,
            store: None,
            fetched,
            newest: 0,
            garbage,
        }
    }
}

impl Shelf {
    fn names_of(&self, job: JobId) -> Vec<ArtifactName> {
        let first = ArtifactName {
            job,
            level: 0,
            shard: ShardId(0),
            kind: ArtifactKind::Frontier,
        };
        let last = ArtifactName {
            job,
            level: Level::MAX,
            shard: ShardId(u32::MAX),
            kind: ArtifactKind::Visited,
        };
        self.items
            .range(first..=last)
            .map(|(&name, _)| name)
            .collect()
    }

    fn remove(&mut self, name: ArtifactName) {
        let Some(item) = self.items.remove(&name) else {
            return;
        };
        self.ledger
            .remove_resident(item.memory.map_or(0, |frontier| frontier.memory_bytes()));
        if let Some(job) = self.jobs.get_mut(&name.job) {
            job.fetched.remove(&name);
            if item.disk != Disk::No {
                job.garbage.insert(name);
            }
        }
    }

    fn drop_memory(&mut self, name: ArtifactName) {
        if let Some(frontier) = self
            .items
            .get_mut(&name)
            .and_then(|item| item.memory.take())
        {
            self.ledger.remove_resident(frontier.memory_bytes());
        }
    }

    fn remove_job(&mut self, job: JobId) -> Option<Job> {
        self.names_of(job)
            .into_iter()
            .for_each(|name| self.remove(name));
        let old = self.jobs.remove(&job)?;
        if let Some(engine) = &old.engine {
            self.ledger.remove_tables(engine.table_bytes());
        }
        Some(old)
    }
}

/// Deletes a closed job's folder; a reader that is still at it keeps the files until it is done.
fn destroy(data: &Path, job: JobId, old: Option<Job>) {
    match old.and_then(|job| job.store).map(Arc::try_unwrap) {
        Some(Ok(store)) => store.destroy(),
        _ => store::remove_folder(&store::folder_of(data, job)),
    }
}

#[cfg(test)]
mod tests;
