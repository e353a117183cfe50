//! A disk in a few lines: records with checksums, each synced or not.

use super::{Damaged, Disk, Head, Hit, New, OfJob, WriteError};
use crate::toy::Set;
use antipode_ids::JobId;
use antipode_proto::message::ArtifactName;
use antipode_solver_core::engine::Digest;
use rand::Rng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;

/// An artifact as it lies there.
#[derive(Debug, Clone, Copy)]
struct Record {
    head: Head,
    body: [u64; 3],
    /// Over name and body, as they were written.
    checksum: u64,
    synced: bool,
}

#[derive(Debug)]
pub struct ModelDisk {
    records: BTreeMap<ArtifactName, Record>,
    /// Forgotten, but not synced: there again after a crash.
    forgotten: BTreeMap<ArtifactName, Record>,
    fingerprints: BTreeMap<JobId, String>,
    full: bool,
    /// Without it, flipped bits are read as if they were right.
    verify: bool,
}

impl ModelDisk {
    pub fn new(verify: bool) -> ModelDisk {
        ModelDisk {
            records: BTreeMap::new(),
            forgotten: BTreeMap::new(),
            fingerprints: BTreeMap::new(),
            full: false,
            verify,
        }
    }
}

fn checksum(name: ArtifactName, body: &[u64; 3]) -> u64 {
    let place = u64::from(name.level) << 32 | u64::from(name.shard.0) << 8 | name.kind as u64;
    let words = [name.job.0, place, body[0], body[1], body[2]];
    words.iter().fold(0x9e37_79b9_7f4a_7c15, |sum: u64, word| {
        (sum ^ word)
            .wrapping_mul(0xd6e8_feb8_6659_fd93)
            .rotate_left(29)
    })
}

impl Disk for ModelDisk {
    fn start(&mut self) -> Vec<OfJob> {
        let mut jobs: BTreeMap<JobId, Vec<(ArtifactName, Head)>> = BTreeMap::new();
        for (name, record) in &self.records {
            jobs.entry(name.job).or_default().push((*name, record.head));
        }
        let fingerprint = |job: JobId| self.fingerprints.get(&job).cloned().unwrap_or_default();
        jobs.into_iter()
            .map(|(job, heads)| OfJob {
                job,
                fingerprint: fingerprint(job),
                heads,
            })
            .collect()
    }

    fn write(
        &mut self,
        job: JobId,
        fingerprint: &str,
        batch: &[New],
        forget: &[ArtifactName],
        durable: bool,
    ) -> Result<u64, WriteError> {
        if self.full && !batch.is_empty() {
            return Err(WriteError::Full);
        }
        self.fingerprints
            .entry(job)
            .or_insert_with(|| fingerprint.into());
        for name in forget {
            if let Some(old) = self.records.remove(name).filter(|old| old.synced) {
                self.forgotten.insert(*name, old);
            }
        }
        for new in batch {
            let record = Record {
                head: new.head,
                body: new.set.0,
                checksum: checksum(new.name, &new.set.0),
                synced: false,
            };
            let old = self.records.insert(new.name, record);
            if let Some(old) = old.filter(|old| old.synced) {
                self.forgotten.insert(new.name, old);
            }
        }
        if durable {
            self.records.values_mut().for_each(|r| r.synced = true);
            self.forgotten.clear();
        }
        Ok(batch.len() as u64 * 32)
    }

    fn read(&mut self, name: ArtifactName) -> Result<Option<(Head, Set)>, Damaged> {
        let Some(record) = self.records.get(&name) else {
            return Ok(None);
        };
        if self.verify && checksum(name, &record.body) != record.checksum {
            return Err(Damaged("its checksum does not fit".into()));
        }
        Ok(Some((record.head, Set(record.body))))
    }

    fn remove(&mut self, job: JobId) {
        self.records.retain(|name, _| name.job != job);
        self.forgotten.retain(|name, _| name.job != job);
        self.fingerprints.remove(&job);
    }

    fn crash(&mut self, unfinished: &[New], rng: &mut StdRng) {
        self.records.retain(|_, record| record.synced);
        self.records.append(&mut self.forgotten);
        // Of what was being written anything may be there: nothing, all, or the first half of it.
        for new in unfinished {
            let mut body = new.set.0;
            match rng.random_range(0..3) {
                0 => continue,
                1 => body[1..].fill(0),
                _ => {}
            }
            if self.records.contains_key(&new.name) {
                continue;
            }
            let checksum = checksum(new.name, &new.set.0);
            let (head, synced) = (new.head, true);
            let record = Record {
                head,
                body,
                checksum,
                synced,
            };
            self.records.insert(new.name, record);
        }
    }

    fn flip(&mut self, rng: &mut StdRng) -> Option<Hit> {
        if self.records.is_empty() {
            return None;
        }
        let at = rng.random_range(0..self.records.len());
        let (name, record) = self.records.iter_mut().nth(at)?;
        // Where a set has states: a flip among unused bits would be a fault as well, but never matter.
        let used: Vec<u32> = Set(record.body).states().collect();
        if used.is_empty() {
            return None;
        }
        let bit = used[rng.random_range(0..used.len())];
        record.body[bit as usize / 64] ^= 1 << (bit % 64);
        Some(Hit::One(*name))
    }

    fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    fn holds(&self, name: ArtifactName, digest: Digest) -> bool {
        self.records
            .get(&name)
            .is_some_and(|r| r.synced && r.head.digest == digest && Set(r.body).digest() == digest)
    }
}
