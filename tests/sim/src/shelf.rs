//! What a worker process holds: artifacts in memory, on disk, or both. The rules are those of the
//! worker's own `artifacts`, without its threads.

use crate::disk::{Disk, Head, New, OfJob, WriteError};
use crate::toy::{Set, Toy};
use antipode_ids::JobId;
use antipode_proto::message::{ArtifactKind, ArtifactName, Held, Input};
use antipode_solver_core::engine::{Digest, Level};
use antipode_solver_core::job::{Task, TaskOutput};
use antipode_worker::artifacts::Basis;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDisk {
    No,
    /// There to save memory; a crash may lose it.
    Spilled,
    Durable,
}

#[derive(Debug, Clone, Copy)]
pub struct Item {
    pub head: Head,
    pub memory: Option<Set>,
    pub disk: OnDisk,
    /// A copy from another worker: used, served, but not announced.
    fetched: bool,
    /// What it was made of, if this process made it.
    basis: Option<Basis>,
    /// Another one for each copy that was ever put here.
    version: u64,
}

#[derive(Debug)]
struct Job {
    toy: Option<Arc<Toy>>,
    fingerprint: String,
    newest: Level,
    tidied: Level,
    garbage: BTreeSet<ArtifactName>,
}

/// Artifacts that are being written, and which copies they were.
#[derive(Debug, Default)]
pub struct Batch {
    pub job: Option<JobId>,
    pub new: Vec<New>,
    versions: Vec<u64>,
    /// All that was asked for and is held, whether it needs to be written or not.
    named: Vec<ArtifactName>,
    pub missing: Vec<ArtifactName>,
}

/// How a write ended.
#[derive(Debug, Default)]
pub struct Written {
    pub durable: Vec<ArtifactName>,
    pub failed: Vec<ArtifactName>,
    /// The disk had no room.
    pub refused: bool,
    pub lost: Vec<ArtifactName>,
}

#[derive(Debug, Default)]
pub struct Shelf {
    jobs: BTreeMap<JobId, Job>,
    items: BTreeMap<ArtifactName, Item>,
    version: u64,
}

impl Batch {
    /// All that is held of what was asked for.
    pub fn named(&self) -> impl Iterator<Item = ArtifactName> + '_ {
        self.named.iter().copied()
    }
}

impl Job {
    fn new(fingerprint: String) -> Job {
        Job {
            toy: None,
            fingerprint,
            newest: 0,
            tidied: 0,
            garbage: BTreeSet::new(),
        }
    }
}

impl Shelf {
    /// What an earlier process left on the disk.
    pub fn open(disk: &mut dyn Disk) -> Shelf {
        let mut shelf = Shelf::default();
        for OfJob {
            job,
            fingerprint,
            heads,
        } in disk.start()
        {
            shelf.jobs.insert(job, Job::new(fingerprint));
            for (name, head) in heads {
                shelf.put(name, head, None, OnDisk::Durable, (false, None));
            }
        }
        shelf
    }

    fn put(
        &mut self,
        name: ArtifactName,
        head: Head,
        memory: Option<Set>,
        disk: OnDisk,
        (fetched, basis): (bool, Option<Basis>),
    ) {
        self.version += 1;
        let version = self.version;
        self.items.insert(
            name,
            Item {
                head,
                memory,
                disk,
                fetched,
                basis,
                version,
            },
        );
    }

    /// The engine of a job is there. Returns what was stored for another definition and is gone.
    pub fn open_job(
        &mut self,
        job: JobId,
        fingerprint: &str,
        toy: Arc<Toy>,
        disk: &mut dyn Disk,
    ) -> Vec<ArtifactName> {
        let mut gone = Vec::new();
        if self
            .jobs
            .get(&job)
            .is_some_and(|old| old.fingerprint != fingerprint)
        {
            gone = self.names_of(job);
            self.remove_job(job);
            disk.remove(job);
        }
        let entry = self
            .jobs
            .entry(job)
            .or_insert_with(|| Job::new(fingerprint.into()));
        entry.toy = Some(toy);
        gone
    }

    pub fn close_job(&mut self, job: JobId, keep: bool, disk: &mut dyn Disk) {
        if !keep {
            self.remove_job(job);
            disk.remove(job);
            return;
        }
        for name in self.names_of(job) {
            match self.items.get_mut(&name) {
                Some(item) if item.disk == OnDisk::Durable => item.memory = None,
                _ => self.remove(name),
            }
        }
        if let Some(open) = self.jobs.get_mut(&job) {
            open.toy = None;
        }
        // A full disk is tidied another time.
        _ = self.tidy(job, disk);
    }

    /// Writes nothing, but what was forgotten until now goes.
    fn tidy(&mut self, job: JobId, disk: &mut dyn Disk) -> Result<(), WriteError> {
        let Some(open) = self.jobs.get_mut(&job) else {
            return Ok(());
        };
        let garbage: Vec<ArtifactName> = std::mem::take(&mut open.garbage).into_iter().collect();
        disk.write(job, &open.fingerprint, &[], &garbage, true)?;
        Ok(())
    }

    fn remove_job(&mut self, job: JobId) {
        self.items.retain(|name, _| name.job != job);
        self.jobs.remove(&job);
    }

    fn names_of(&self, job: JobId) -> Vec<ArtifactName> {
        self.items
            .keys()
            .filter(|name| name.job == job)
            .copied()
            .collect()
    }

    pub fn toy(&self, job: JobId) -> Option<Arc<Toy>> {
        self.jobs.get(&job)?.toy.clone()
    }

    pub fn names(&self) -> impl Iterator<Item = &ArtifactName> {
        self.items.keys()
    }

    /// Without copies from other workers.
    pub fn own(&self) -> impl Iterator<Item = &ArtifactName> {
        let own = self.items.iter().filter(|(_, item)| !item.fetched);
        own.map(|(name, _)| name)
    }

    pub fn item(&self, name: ArtifactName) -> Option<&Item> {
        self.items.get(&name)
    }

    /// Sets in memory.
    pub fn resident(&self) -> usize {
        self.items.values().filter(|i| i.memory.is_some()).count()
    }

    /// What is announced to the coordinator.
    pub fn held(&self) -> Vec<Held> {
        let own = self.items.iter().filter(|(_, item)| !item.fetched);
        own.map(|(&name, item)| Held {
            name,
            digest: item.head.digest,
            count: item.head.count,
            durable: item.disk == OnDisk::Durable,
        })
        .collect()
    }

    /// The answer to a task, where this process made it of these inputs and holds all of it; what it made of
    /// others goes.
    pub fn known(&mut self, job: JobId, task: &Task, inputs: &[Input]) -> Option<TaskOutput> {
        let toy = self.jobs.get(&job)?.toy.as_ref()?;
        let (level, shard) = match *task {
            Task::Expand { level, shard } => (level, shard),
            Task::Item { item } => (1, item),
            _ => return None,
        };
        let mut kinds = vec![ArtifactKind::Frontier];
        if toy.directed && matches!(task, Task::Expand { .. }) {
            kinds.push(ArtifactKind::Visited);
        }
        let name = |kind| ArtifactName {
            job,
            level,
            shard,
            kind,
        };
        let names: Vec<ArtifactName> = kinds.into_iter().map(name).collect();
        let made = names.iter().map(|name| self.items.get(name)?.basis);
        let made: Vec<Basis> = made.collect::<Option<_>>()?;
        let basis = Basis::of(inputs);
        if made.iter().any(|other| *other != basis) {
            self.release(&names);
            return None;
        }
        let head = self.items.get(&names[0])?.head;
        let (count, digest) = (head.count, head.digest);
        Some(match task {
            Task::Item { .. } => TaskOutput::Item {
                count,
                digest,
                record: Vec::new(),
            },
            _ => TaskOutput::Expanded {
                count,
                digest,
                certificate: head.certificate?,
            },
        })
    }

    /// Is the input in memory?
    pub fn in_memory(&self, input: &Input) -> Option<Set> {
        let item = self.items.get(&input.name)?;
        item.memory.filter(|_| item.head.digest == input.digest)
    }

    /// Is it to be read from the disk?
    pub fn only_on_disk(&self, input: &Input) -> bool {
        self.items
            .get(&input.name)
            .is_some_and(|item| item.head.digest == input.digest && item.memory.is_none())
    }

    /// The set, wherever it is; `Err` names an artifact that turned out damaged and is gone.
    pub fn read(
        &mut self,
        name: ArtifactName,
        disk: &mut dyn Disk,
    ) -> Result<Option<(Digest, Set)>, ArtifactName> {
        let Some(item) = self.items.get(&name) else {
            return Ok(None);
        };
        if let Some(set) = item.memory {
            return Ok(Some((item.head.digest, set)));
        }
        match disk.read(name) {
            Ok(Some((head, set))) if head.digest == item.head.digest => {
                Ok(Some((head.digest, set)))
            }
            _ => {
                self.remove(name);
                Err(name)
            }
        }
    }

    /// The same, and it stays in memory.
    pub fn load(
        &mut self,
        name: ArtifactName,
        disk: &mut dyn Disk,
    ) -> Result<Option<Set>, ArtifactName> {
        let found = self.read(name, disk)?;
        if let (Some((_, set)), Some(item)) = (found, self.items.get_mut(&name)) {
            item.memory = Some(set);
        }
        Ok(found.map(|(_, set)| set))
    }

    pub fn insert_made(&mut self, name: ArtifactName, set: Set, head: Head, basis: Basis) {
        self.insert(name, set, head, Some(basis));
    }

    pub fn insert_fetched(&mut self, name: ArtifactName, set: Set, digest: Digest) {
        let (count, certificate) = (set.len(), None);
        let head = Head {
            digest,
            count,
            certificate,
        };
        self.insert(name, set, head, None);
    }

    fn insert(&mut self, name: ArtifactName, set: Set, head: Head, basis: Option<Basis>) {
        let Some(job) = self.jobs.get_mut(&name.job).filter(|job| job.toy.is_some()) else {
            return;
        };
        if basis.is_some() {
            job.newest = job.newest.max(name.level);
        }
        let durable = self
            .items
            .get(&name)
            .is_some_and(|old| old.head.digest == head.digest && old.disk == OnDisk::Durable);
        if !durable {
            self.remove(name);
        }
        let disk = if durable { OnDisk::Durable } else { OnDisk::No };
        let fetched = basis.is_none() && !durable;
        self.put(name, head, Some(set), disk, (fetched, basis));
    }

    /// A copy from another worker becomes an own one.
    pub fn adopt(&mut self, name: ArtifactName, digest: Digest) {
        let item = self.items.get_mut(&name);
        if let Some(item) = item.filter(|item| item.head.digest == digest) {
            item.fetched = false;
        }
    }

    /// Own artifacts of one job that are only in memory, the newest first.
    pub fn volatile(&self) -> Vec<ArtifactName> {
        let own = self
            .items
            .iter()
            .filter(|(_, i)| !i.fetched && i.disk == OnDisk::No);
        let mut names: Vec<ArtifactName> = own.map(|(&name, _)| name).collect();
        let first = names.first().map(|name| name.job);
        names.retain(|name| Some(name.job) == first);
        names.sort_by_key(|name| std::cmp::Reverse(name.level));
        names
    }

    /// Used up by a task. True: there is no copy left.
    pub fn consume(&mut self, name: ArtifactName) -> bool {
        match self.items.get_mut(&name) {
            Some(item) if item.disk == OnDisk::Durable => {
                item.memory = None;
                false
            }
            _ => {
                self.remove(name);
                true
            }
        }
    }

    pub fn release(&mut self, names: &[ArtifactName]) {
        names.iter().for_each(|&name| self.remove(name));
    }

    fn remove(&mut self, name: ArtifactName) {
        let Some(item) = self.items.remove(&name) else {
            return;
        };
        if let Some(job) = self.jobs.get_mut(&name.job)
            && item.disk != OnDisk::No
        {
            job.garbage.insert(name);
        }
    }

    /// Forgets copies from other workers that are too old for any task to come.
    pub fn drop_old_copies(&mut self, job: JobId, wanted: &BTreeMap<ArtifactName, usize>) {
        let Some(open) = self.jobs.get_mut(&job) else {
            return;
        };
        if open.tidied >= open.newest {
            return;
        }
        open.tidied = open.newest;
        let newest = open.newest;
        let old = |name: &&ArtifactName| name.level + 2 < newest && !wanted.contains_key(name);
        let old: Vec<ArtifactName> = self
            .items
            .iter()
            .filter(|(name, item)| name.job == job && item.fetched && old(name))
            .map(|(name, _)| *name)
            .collect();
        old.into_iter().for_each(|name| self.remove(name));
    }

    /// What a write of these artifacts of one job would consist of.
    pub fn batch(&self, names: &[ArtifactName]) -> Batch {
        let mut batch = Batch {
            job: names.first().map(|name| name.job),
            ..Batch::default()
        };
        for &name in names {
            match self.items.get(&name) {
                Some(Item {
                    disk: OnDisk::No,
                    memory: Some(set),
                    head,
                    version,
                    ..
                }) => {
                    let (head, set) = (*head, *set);
                    batch.new.push(New { name, head, set });
                    batch.versions.push(*version);
                    batch.named.push(name);
                }
                Some(Item {
                    disk: OnDisk::No,
                    memory: None,
                    ..
                })
                | None => batch.missing.push(name),
                Some(_) => batch.named.push(name),
            }
        }
        batch
    }

    /// Performs the write.
    pub fn write(&mut self, batch: Batch, durable: bool, disk: &mut dyn Disk) -> Written {
        let Batch {
            job: Some(job),
            new,
            versions,
            mut named,
            ..
        } = batch
        else {
            return Written::default();
        };
        let Some(open) = self.jobs.get_mut(&job) else {
            return Written::default();
        };
        let garbage: Vec<ArtifactName> = std::mem::take(&mut open.garbage).into_iter().collect();
        match disk.write(job, &open.fingerprint, &new, &garbage, durable) {
            Ok(_) => {
                for (new, version) in new.iter().zip(versions) {
                    match self.items.get_mut(&new.name) {
                        Some(item) if item.version == version => {
                            if item.disk == OnDisk::No {
                                item.disk = if durable {
                                    OnDisk::Durable
                                } else {
                                    OnDisk::Spilled
                                };
                            }
                        }
                        // Released, consumed or replaced while it was written.
                        _ => _ = open.garbage.insert(new.name),
                    }
                }
                let (mut failed, mut lost) = (Vec::new(), Vec::new());
                if durable {
                    let items = &mut self.items;
                    named.retain(|name| match items.get_mut(name) {
                        Some(item) if item.disk != OnDisk::No => {
                            item.disk = OnDisk::Durable;
                            true
                        }
                        // Another copy has taken its place meanwhile.
                        Some(_) => {
                            failed.push(*name);
                            false
                        }
                        // Whoever asked for it may not know.
                        None => {
                            lost.push(*name);
                            false
                        }
                    });
                }
                Written {
                    durable: named,
                    failed,
                    lost,
                    ..Written::default()
                }
            }
            Err(WriteError::Full) => {
                open.garbage.extend(garbage);
                Written {
                    failed: named,
                    refused: true,
                    ..Written::default()
                }
            }
            Err(WriteError::SetAside(_)) => {
                open.garbage.clear();
                let mut lost = Vec::new();
                for name in self.names_of(job) {
                    let Some(item) = self.items.get_mut(&name) else {
                        continue;
                    };
                    let only_there = item.disk == OnDisk::Spilled && item.memory.is_none();
                    if item.disk == OnDisk::Durable || only_there {
                        lost.push(name);
                        self.items.remove(&name);
                    } else {
                        item.disk = OnDisk::No;
                    }
                }
                Written {
                    failed: named,
                    lost,
                    ..Written::default()
                }
            }
        }
    }

    /// Takes up to `most` artifacts out of memory that no task wants; what is not on disk is
    /// spilled. False: the disk is full.
    pub fn evict(
        &mut self,
        most: usize,
        spared: &BTreeMap<ArtifactName, usize>,
        disk: &mut dyn Disk,
    ) -> bool {
        let victims: Vec<ArtifactName> = self
            .items
            .iter()
            .filter(|(name, item)| item.memory.is_some() && !spared.contains_key(name))
            .map(|(name, _)| *name)
            .take(most)
            .collect();
        for name in victims {
            let Some(item) = self.items.get(&name) else {
                continue;
            };
            if item.fetched && item.disk == OnDisk::No {
                self.remove(name);
                continue;
            }
            if item.disk == OnDisk::No {
                let batch = self.batch(&[name]);
                if !self.write(batch, false, disk).failed.is_empty() {
                    return false;
                }
            }
            if let Some(item) = self.items.get_mut(&name).filter(|i| i.disk != OnDisk::No) {
                item.memory = None;
            }
        }
        true
    }
}
