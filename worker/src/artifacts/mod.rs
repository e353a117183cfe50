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

mod basis;
mod budget;
mod content;
mod disk;
pub mod fetch;
mod overlay;
mod packed;
mod record;
mod serve;
mod store;

pub use basis::Basis;
pub use budget::{Need, Wanted};
pub use content::Content;
pub use disk::Persisted;
pub use packed::{Packed, UnpackError, unpack};
pub use serve::Server;
#[doc(hidden)]
pub use store::{Head, JobStore, New};
pub use store::{StoreError, folder_of, remove_folder, stored_jobs};

use crate::compute::Compute;
use crate::disk_room::DiskRoom;
use crate::gauges::Gauges;
use antipode_ids::JobId;
use antipode_proto::message::{ArtifactKind, ArtifactName, Held, Input};
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::engine::{Certificate, Digest, Level, ShardId};
use antipode_solver_core::job::{Task, TaskOutput};
use budget::Ledger;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// Artifacts that are gone, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    pub names: Vec<ArtifactName>,
    pub reason: String,
    /// They may have been wrong: whatever was made of them may be too.
    pub retracted: bool,
}

/// Where an artifact is.
#[derive(Debug)]
pub enum Place {
    Memory(Content),
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
    /// What it was made of. `None`: it was not made here, or by an earlier process, so it answers no lease.
    basis: Option<Basis>,
    memory: Option<Content>,
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
    /// Highest level that was computed here, and the one at which old copies were dropped.
    newest: Level,
    tidied: Level,
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
    disk: Arc<DiskRoom>,
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
        (gauges, disk): (Arc<Gauges>, Arc<DiskRoom>),
        losses: mpsc::UnboundedSender<Loss>,
    ) -> Result<Artifacts, StoreError> {
        let mut shelf = Shelf {
            ledger: Ledger::new(budget_bytes),
            ..Shelf::default()
        };
        for job in store::stored_jobs(data) {
            let Some((store, heads)) = JobStore::open(data, job)? else {
                // What was set aside stays until the job is over: a person may want it.
                if !store::has_set_aside(data, job) {
                    store::remove_folder(&store::folder_of(data, job));
                }
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
                    basis: None,
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
            disk,
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
            let theirs = old.as_ref().map_or("", |old| &old.fingerprint);
            let reason = format!(
                "{}: stored for another definition of the job (fingerprint {theirs} instead of {fingerprint})",
                store::folder_of(&self.data, job).display()
            );
            self.lose(names, &reason);
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
        let tidied = self.write(job, Vec::new(), true).and_then(|_| {
            let store = self
                .shelf()
                .jobs
                .get(&job)
                .and_then(|job| job.store.clone());
            store.map_or(Ok(()), |store| store.compact())
        });
        if let Err(error) = tidied {
            tracing::warn!(%error, %job, "cannot tidy up a closed job's store");
        }
    }

    /// The engine of an open job.
    pub fn engine(&self, job: JobId) -> Option<Arc<dyn Compute>> {
        self.shelf().jobs.get(&job)?.engine.clone()
    }

    /// The answer to a task that is leased with these inputs, where this process has made it of the same inputs and
    /// still holds all of it. What it made of others rests on results that were taken back meanwhile: it goes.
    pub fn known(&self, job: JobId, task: &Task, inputs: &[Input]) -> Option<TaskOutput> {
        const SET: &[ArtifactKind] = &[ArtifactKind::Frontier];
        const SETS: &[ArtifactKind] = &[ArtifactKind::Frontier, ArtifactKind::Visited];
        let mut shelf = self.shelf();
        let engine = shelf.jobs.get(&job)?.engine.as_ref()?;
        let (level, shard, kinds) = match *task {
            Task::Expand { level, shard } if engine.is_directed() => (level, shard, SETS),
            Task::Expand { level, shard } => (level, shard, SET),
            // Only one whose rows are here; of a record nothing is kept.
            Task::Item { item } => engine
                .batch()
                .map(|_| (crate::exec::item::LEVEL, item, SET))?,
            Task::Pack { last, shard } => (last, shard, &[ArtifactKind::Distances][..]),
            _ => return None,
        };
        let name = |&kind| ArtifactName {
            job,
            level,
            shard,
            kind,
        };
        let names: Vec<ArtifactName> = kinds.iter().map(name).collect();
        let made = names.iter().map(|name| shelf.items.get(name)?.basis);
        let made: Vec<Basis> = made.collect::<Option<_>>()?;
        let basis = Basis::of(inputs);
        if made.iter().any(|other| *other != basis) {
            names.iter().for_each(|&name| shelf.remove(name));
            self.gauges
                .resident_bytes
                .store(shelf.ledger.resident_bytes(), Relaxed);
            return None;
        }
        let item = shelf.items.get(names.first()?)?;
        let (count, digest) = (item.count, item.digest);
        Some(match task {
            Task::Item { .. } => TaskOutput::Item {
                count,
                digest,
                record: Vec::new(),
            },
            Task::Pack { .. } if item.disk != Disk::Durable => return None,
            Task::Pack { .. } => TaskOutput::Packed { count, digest },
            _ => TaskOutput::Expanded {
                count,
                digest,
                certificate: item.certificate?,
            },
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
                Some(content) => Place::Memory(content.clone()),
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
        memory.or_else(|| self.read(name))?.set().cloned()
    }

    /// Brings an artifact from the store back to memory. `None`: it is not held (any more).
    /// Blocks on the disk.
    pub fn load(&self, name: ArtifactName) -> Option<Content> {
        let content = self.read(name)?;
        let mut shelf = self.shelf();
        let item = shelf.items.get_mut(&name)?;
        if let Some(already) = &item.memory {
            return Some(already.clone());
        }
        item.memory = Some(content.clone());
        self.grew(&mut shelf, &content);
        Some(content)
    }

    fn lose(&self, names: Vec<ArtifactName>, reason: &str) {
        if !names.is_empty() {
            tracing::warn!(count = names.len(), first = ?names[0], reason, "artifacts are lost");
            // Nobody listens only while the worker ends.
            let _ = self.losses.send(Loss {
                names,
                reason: reason.into(),
                retracted: false,
            });
        }
    }

    /// Takes back what was announced, because it may be wrong: forgets it, here and on disk, and has the
    /// coordinator told, so that it is made again elsewhere. Names that are not held are told too: they
    /// may have been before.
    pub fn retract(&self, names: Vec<ArtifactName>, reason: &str) {
        if names.is_empty() {
            return;
        }
        let (count, job) = (names.len(), names[0].job);
        tracing::error!(count, %job, reason, "artifacts are taken back");
        self.release(&names);
        // Nobody listens only while the worker ends.
        let _ = self.losses.send(Loss {
            names,
            reason: reason.into(),
            retracted: true,
        });
    }

    /// A task's result is there: keep it and count it.
    pub fn insert_made(
        &self,
        name: ArtifactName,
        frontier: Frontier,
        digest: Digest,
        certificate: Certificate,
        basis: Basis,
    ) {
        let content = Content::Set(Arc::new(frontier));
        self.insert(name, content, digest, Some((Some(certificate), basis)));
    }

    /// What a task has made that is no set of states: it becomes this worker's own.
    pub fn insert_kept(&self, name: ArtifactName, content: Content, digest: Digest, basis: Basis) {
        self.insert(name, content, digest, Some((None, basis)));
    }

    /// About how many bytes an artifact takes in memory, by its number of states.
    fn stored_bytes(&self, name: ArtifactName) -> Option<u64> {
        let shelf = self.shelf();
        let count = shelf.items.get(&name)?.count;
        Some(match shelf.jobs.get(&name.job)?.engine.as_deref() {
            Some(engine) => Content::estimated_bytes(engine, name, count),
            // Only distances are loaded without an engine.
            None => count.div_ceil(5),
        })
    }

    /// A checked copy from another worker.
    pub fn insert_fetched(&self, name: ArtifactName, content: Content, digest: Digest) {
        self.insert(name, content, digest, None);
    }

    /// `made`: how it was made here; `None`: it was fetched.
    fn insert(
        &self,
        name: ArtifactName,
        content: Content,
        digest: Digest,
        made: Option<(Option<Certificate>, Basis)>,
    ) {
        let fetched = made.is_none();
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
            count: content.count(),
            certificate: made.and_then(|(certificate, _)| certificate),
            basis: made.map(|(_, basis)| basis),
            memory: Some(content.clone()),
            disk: if durable { Disk::Durable } else { Disk::No },
            fetched: fetched && !durable,
        };
        shelf.items.insert(name, item);
        self.grew(&mut shelf, &content);
    }

    fn grew(&self, shelf: &mut Shelf, content: &Content) {
        shelf.ledger.add_resident(content.memory_bytes());
        self.gauges
            .resident_bytes
            .store(shelf.ledger.resident_bytes(), Relaxed);
    }

    /// A copy from another worker with this digest becomes an artifact of this worker: announced, and
    /// brought to disk like what was made here.
    pub fn adopt(&self, name: ArtifactName, digest: Digest) {
        let mut shelf = self.shelf();
        if let Some(item) = shelf.items.get_mut(&name)
            && item.digest == digest
        {
            item.fetched = false;
            if let Some(job) = shelf.jobs.get_mut(&name.job) {
                job.fetched.remove(&name);
            }
        }
    }

    /// What a crash of the machine would take away: held by this worker as its own and not durable.
    /// The newest levels first.
    pub fn volatile(&self) -> Vec<ArtifactName> {
        let shelf = self.shelf();
        let volatile =
            |(_, item): &(&ArtifactName, &Item)| !item.fetched && item.disk != Disk::Durable;
        let mut names: Vec<ArtifactName> = shelf
            .items
            .iter()
            .filter(volatile)
            .map(|(name, _)| *name)
            .collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.level));
        names
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

    /// May there be copies from other workers that are too old? Once a level at most.
    pub fn has_old_copies(&self, job: JobId) -> bool {
        let mut shelf = self.shelf();
        let Some(open) = shelf.jobs.get_mut(&job) else {
            return false;
        };
        let grown = open.tidied < open.newest;
        open.tidied = open.newest;
        grown && !open.fetched.is_empty()
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
            tidied: 0,
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
            kind: ArtifactKind::Distances,
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
            .remove_resident(item.memory.map_or(0, |content| content.memory_bytes()));
        if let Some(job) = self.jobs.get_mut(&name.job) {
            job.fetched.remove(&name);
            if item.disk != Disk::No {
                job.garbage.insert(name);
            }
        }
    }

    fn drop_memory(&mut self, name: ArtifactName) {
        if let Some(content) = self
            .items
            .get_mut(&name)
            .and_then(|item| item.memory.take())
        {
            self.ledger.remove_resident(content.memory_bytes());
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
mod full_disk_tests;
#[cfg(test)]
mod fuzz_tests;
#[cfg(test)]
mod tests;
