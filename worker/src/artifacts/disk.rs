//! Between memory and the stores: reading back, writing for durability or for room.

use super::store::{self, Head, JobStore, New};
use super::{Artifacts, Content, Disk, Item, Packed, StoreError};
use antipode_ids::JobId;
use antipode_proto::message::ArtifactName;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

/// What bringing artifacts to disk came to.
#[derive(Debug, Default)]
pub struct Persisted {
    /// Asked for, but not held.
    pub missing: Vec<ArtifactName>,
    /// Still in memory, but the disk did not take them; worth another try later.
    pub failed: Vec<ArtifactName>,
    pub reason: String,
}

/// Neither in memory nor in the store.
struct NotHeld;

impl Artifacts {
    pub(super) fn read(&self, name: ArtifactName) -> Option<Content> {
        let (head, packed) = self.read_packed(name)?;
        let engine = self.engine(name.job);
        match Content::unpack_stored(engine.as_deref(), name, head.count, &packed) {
            Ok(content) => Some(content),
            Err(reason) => self.damaged(name, &reason),
        }
    }

    /// The stored form of an artifact that is on disk; damage is reported, and `None`.
    pub(super) fn read_packed(&self, name: ArtifactName) -> Option<(Head, Packed)> {
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
            // It is there, and can be had when there is room.
            Err(error @ StoreError::Full { .. }) => {
                tracing::warn!(%error, ?name, "a stored artifact cannot be read now");
                None
            }
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
                let mut named = Vec::new();
                let mut batch: Vec<New> = Vec::new();
                let mut bytes = 0;
                while let Some(name) = left.next_if(|_| bytes < self.commit_bytes()) {
                    match self.to_be_written(name) {
                        Err(NotHeld) => outcome.missing.push(name),
                        Ok(new) => {
                            named.push(name);
                            bytes += new.as_ref().map_or(0, |new| new.content.memory_bytes());
                            batch.extend(new);
                        }
                    }
                }
                match self.write(job, batch, true) {
                    Ok(written) => {
                        let (replaced, gone) = self.mark_durable(&mut named);
                        outcome.missing.extend(gone);
                        if !replaced.is_empty() {
                            outcome.reason = "another copy took their place meanwhile".into();
                            outcome.failed.extend(replaced);
                        }
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

    /// After a durable commit all that was written before it is durable too; what went meanwhile is
    /// taken off the list. Returns what is still held, but not as it was written, so that it is to be written
    /// again, and what is not held any more: whoever asked for it may not know.
    fn mark_durable(
        &self,
        names: &mut Vec<ArtifactName>,
    ) -> (Vec<ArtifactName>, Vec<ArtifactName>) {
        let mut shelf = self.shelf();
        let (mut replaced, mut gone) = (Vec::new(), Vec::new());
        names.retain(|name| match shelf.items.get_mut(name) {
            Some(item) if item.disk != Disk::No => {
                item.disk = Disk::Durable;
                true
            }
            Some(_) => {
                replaced.push(*name);
                false
            }
            None => {
                gone.push(*name);
                false
            }
        });
        (replaced, gone)
    }

    /// What must be written to have the artifact in the store: `None` if it is there already.
    fn to_be_written(&self, name: ArtifactName) -> Result<Option<New>, NotHeld> {
        let shelf = self.shelf();
        let item = shelf.items.get(&name).ok_or(NotHeld)?;
        match (&item.memory, item.disk) {
            (_, Disk::Spilled | Disk::Durable) => Ok(None),
            (None, Disk::No) => Err(NotHeld),
            (Some(content), Disk::No) => Ok(Some(New {
                name,
                digest: item.digest,
                certificate: item.certificate,
                content: content.clone(),
            })),
        }
    }

    /// Size of one commit: large enough to be fast, small against the budget.
    pub(super) fn commit_bytes(&self) -> u64 {
        (self.budget_and_tables().0 / 32).clamp(1 << 20, 64 << 20)
    }

    fn note(&self, error: &StoreError) {
        if matches!(error, StoreError::Full { .. }) {
            self.disk.refused();
        }
    }

    /// Writes artifacts and takes the garbage along; marks what is on disk now. A store that had to
    /// be set aside is a loss of all that was only there.
    pub(super) fn write(
        &self,
        job: JobId,
        batch: Vec<New>,
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
                let store = JobStore::create(&self.data, job, &fingerprint);
                let store = Arc::new(store.inspect_err(|error| self.note(error))?);
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
        let written = store.write(&batch, &garbage, durable);
        match &written {
            Ok(0) => {}
            Ok(_) => self.disk.accepted(),
            Err(error) => self.note(error),
        }
        let mut shelf = self.shelf();
        match written {
            Ok(bytes) => {
                for New { name, content, .. } in batch {
                    let same =
                        |item: &&mut Item| item.memory.as_ref().is_some_and(|m| m.is(&content));
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
