//! The worker's real stores, one for each job, on files that fail.

use super::{Damaged, Disk, Head, Hit, New, OfJob, WriteError};
use crate::medium::Medium;
use crate::toy::Set;
use antipode_ids::JobId;
use antipode_proto::message::ArtifactName;
use antipode_solver_core::bfs::frontier::{Frontier, ShardGeometry};
use antipode_solver_core::engine::Digest;
use antipode_worker::artifacts::{
    Content, JobStore, New as RealNew, StoreError, folder_of, remove_folder, stored_jobs, unpack,
};
use rand::Rng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::sync::Arc;
use tempfile::TempDir;

/// Large enough that small sets are stored as positions, as they would be.
const GEOMETRY: ShardGeometry = ShardGeometry {
    blocks: 64,
    words: 64,
    states: 1 << 18,
};

#[derive(Debug)]
pub struct RedbDisk {
    folder: TempDir,
    medium: Medium,
    stores: BTreeMap<JobId, JobStore>,
    fingerprints: BTreeMap<JobId, String>,
    /// What must survive: name and digest of what is synced.
    durable: BTreeMap<ArtifactName, Digest>,
    /// Written since the last durable commit.
    volatile: BTreeMap<ArtifactName, Digest>,
    /// Bits were flipped: anything may be gone.
    flipped: bool,
    full: bool,
}

impl RedbDisk {
    pub fn new() -> RedbDisk {
        let folder = TempDir::new().expect("a folder for the test");
        let medium = Medium::new(folder.path());
        RedbDisk {
            folder,
            medium,
            stores: BTreeMap::new(),
            fingerprints: BTreeMap::new(),
            durable: BTreeMap::new(),
            volatile: BTreeMap::new(),
            flipped: false,
            full: false,
        }
    }

    fn store(&mut self, job: JobId, fingerprint: &str) -> Result<&JobStore, StoreError> {
        if !self.stores.contains_key(&job) {
            let store = JobStore::create(self.folder.path(), job, fingerprint)?;
            self.medium.set_full(self.full);
            self.stores.insert(job, store);
            self.fingerprints.insert(job, fingerprint.into());
        }
        Ok(&self.stores[&job])
    }
}

fn real(new: &New) -> RealNew {
    let mut bytes = vec![1];
    new.set.states().for_each(|x| bytes.extend(x.to_le_bytes()));
    if new.set.is_empty() {
        bytes = vec![0];
    }
    let set = Frontier::decode(GEOMETRY, &bytes).expect("ascending positions");
    RealNew {
        name: new.name,
        digest: new.head.digest,
        certificate: new.head.certificate,
        content: Content::Set(Arc::new(set)),
    }
}

fn set_of(frontier: &Frontier) -> Set {
    let mut set = Set::EMPTY;
    for position in frontier.encode()[1..].chunks_exact(4) {
        set.insert(u32::from_le_bytes([
            position[0],
            position[1],
            position[2],
            position[3],
        ]));
    }
    set
}

impl Disk for RedbDisk {
    fn start(&mut self) -> Vec<OfJob> {
        self.stores.clear();
        let mut found = Vec::new();
        let mut held = BTreeMap::new();
        for job in stored_jobs(self.folder.path()) {
            match JobStore::open(self.folder.path(), job) {
                Ok(Some((store, heads))) => {
                    let heads: Vec<(ArtifactName, Head)> = heads
                        .into_iter()
                        .map(|(name, head)| {
                            let (digest, count) = (head.digest, head.count);
                            let certificate = head.certificate;
                            held.insert(name, digest);
                            let head = Head {
                                digest,
                                count,
                                certificate,
                            };
                            (name, head)
                        })
                        .collect();
                    let fingerprint = store.fingerprint().to_string();
                    self.fingerprints.insert(job, fingerprint.clone());
                    self.stores.insert(job, store);
                    found.push(OfJob {
                        job,
                        fingerprint,
                        heads,
                    });
                }
                Ok(None) => remove_folder(&folder_of(self.folder.path(), job)),
                // A full disk; the job is looked at another time.
                Err(error) => assert!(self.full || self.flipped, "{error}"),
            }
        }
        if !self.flipped && !self.full {
            for (name, digest) in &self.durable {
                assert_eq!(held.get(name), Some(digest), "{name:?} was durable");
            }
        }
        self.durable = held;
        found
    }

    fn write(
        &mut self,
        job: JobId,
        fingerprint: &str,
        batch: &[New],
        forget: &[ArtifactName],
        durable: bool,
    ) -> Result<u64, WriteError> {
        if batch.is_empty() && !self.stores.contains_key(&job) {
            return Ok(0);
        }
        let news: Vec<RealNew> = batch.iter().map(real).collect();
        let written = self
            .store(job, fingerprint)
            .and_then(|store| store.write(&news, forget, durable));
        match written {
            Ok(bytes) => {
                for name in forget {
                    self.durable.remove(name);
                    self.volatile.remove(name);
                }
                for new in batch {
                    self.durable.remove(&new.name);
                    self.volatile.insert(new.name, new.head.digest);
                }
                if durable {
                    // Each job has a file of its own.
                    let of_job = |(name, _): &(&ArtifactName, &Digest)| name.job == job;
                    let synced = self.volatile.iter().filter(of_job);
                    self.durable
                        .extend(synced.map(|(name, digest)| (*name, *digest)));
                    self.volatile.retain(|name, _| name.job != job);
                }
                Ok(bytes)
            }
            Err(StoreError::SetAside { reason, .. }) => {
                assert!(self.flipped, "it was set aside: {reason}");
                self.durable.retain(|name, _| name.job != job);
                self.volatile.retain(|name, _| name.job != job);
                Err(WriteError::SetAside(reason))
            }
            Err(StoreError::Full { .. } | StoreError::Write { .. }) => Err(WriteError::Full),
            Err(error) => {
                assert!(self.flipped || self.full, "{error}");
                Err(WriteError::Full)
            }
        }
    }

    fn read(&mut self, name: ArtifactName) -> Result<Option<(Head, Set)>, Damaged> {
        let Some(store) = self.stores.get(&name.job) else {
            return Ok(None);
        };
        match store.read(name) {
            Ok(Some((head, packed))) => {
                let read = unpack(GEOMETRY, head.count, &packed.encoding, &packed.bytes);
                let frontier = read.map_err(|error| Damaged(error.to_string()))?;
                let (digest, count, certificate) = (head.digest, head.count, head.certificate);
                let head = Head {
                    digest,
                    count,
                    certificate,
                };
                Ok(Some((head, set_of(&frontier))))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                assert!(self.flipped || self.full, "{name:?}: {error}");
                Err(Damaged(error.to_string()))
            }
        }
    }

    fn remove(&mut self, job: JobId) {
        match self.stores.remove(&job) {
            Some(store) => store.destroy(),
            None => remove_folder(&folder_of(self.folder.path(), job)),
        }
        self.durable.retain(|name, _| name.job != job);
        self.volatile.retain(|name, _| name.job != job);
    }

    fn crash(&mut self, unfinished: &[New], rng: &mut StdRng) {
        let job = unfinished.first().map(|new| new.name.job);
        if let Some(job) = job.filter(|_| !self.full) {
            // The process ends amid this write.
            let fingerprint = self.fingerprints.get(&job).cloned();
            let news: Vec<RealNew> = unfinished.iter().map(real).collect();
            let file = Medium::new(&folder_of(self.folder.path(), job));
            let opened = fingerprint.and_then(|f| self.store(job, &f).ok());
            if let Some(store) = opened {
                file.set_fuse(rng.random_range(0..12));
                if store.write(&news, &[], true).is_ok() {
                    let written = unfinished.iter().map(|new| (new.name, new.head.digest));
                    self.durable.extend(written);
                }
            }
        }
        self.medium.cut(rng);
        self.stores.clear();
        self.volatile.clear();
    }

    fn flip(&mut self, rng: &mut StdRng) -> Option<Hit> {
        self.flipped |= self.medium.flip(rng).is_some();
        self.flipped.then_some(Hit::Anything)
    }

    fn set_full(&mut self, full: bool) {
        self.full = full;
        self.medium.set_full(full);
    }

    fn holds(&self, name: ArtifactName, digest: Digest) -> bool {
        self.flipped || self.durable.get(&name) == Some(&digest)
    }
}
