//! The coordinator's store: what is committed survives, a commit is all or nothing.

use antipode_coordinator_core::record::{Record, Stored, StoredJob};
use rand::Rng;
use rand::rngs::StdRng;

/// Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

pub trait Ledger: std::fmt::Debug {
    /// A start: its number, and all that is stored. `count`: is the start counted, as it must be?
    fn start(&mut self, count: bool) -> Result<(u64, Stored), String>;

    fn commit(&mut self, records: &[Record]) -> Result<(), Full>;

    /// The process ends while `unfinished` was being committed.
    fn crash(&mut self, unfinished: &[Record], rng: &mut StdRng);

    /// A bit of it is flipped while nobody has it open. True: it may have hit something.
    fn flip(&mut self, rng: &mut StdRng) -> bool;

    /// What was flipped is put right, as from a copy that somebody has. False: it is beyond that.
    fn mend(&mut self) -> bool;

    fn set_full(&mut self, full: bool);

    /// What would be found now. For judges, not for the coordinator.
    fn durable(&self) -> &Stored;
}

/// A store in a few lines.
#[derive(Debug, Default)]
pub struct ModelLedger {
    stored: Stored,
    epoch: u64,
    full: bool,
}

impl Ledger for ModelLedger {
    fn start(&mut self, count: bool) -> Result<(u64, Stored), String> {
        if count || self.epoch == 0 {
            self.epoch += 1;
        }
        Ok((self.epoch, self.stored.clone()))
    }

    fn commit(&mut self, records: &[Record]) -> Result<(), Full> {
        if self.full {
            return Err(Full);
        }
        records.iter().for_each(|r| apply(&mut self.stored, r));
        Ok(())
    }

    fn crash(&mut self, unfinished: &[Record], rng: &mut StdRng) {
        if !self.full && rng.random_bool(0.5) {
            unfinished.iter().for_each(|r| apply(&mut self.stored, r));
        }
    }

    fn flip(&mut self, _: &mut StdRng) -> bool {
        false
    }

    fn mend(&mut self) -> bool {
        true
    }

    fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    fn durable(&self) -> &Stored {
        &self.stored
    }
}

/// A record takes the place of the earlier one of the same name.
pub fn apply(stored: &mut Stored, record: &Record) {
    match record {
        Record::Job { job, record } => {
            let record = record.clone();
            let (progress, results, items) = Default::default();
            let stored_job = StoredJob {
                record,
                progress,
                results,
                items,
            };
            stored.jobs.insert(*job, stored_job);
        }
        Record::Progress { job, progress, .. } => {
            if let Some(job) = stored.jobs.get_mut(job) {
                job.progress = (**progress).clone();
            }
        }
        Record::Result {
            job,
            level,
            shard,
            result,
        } => {
            let Some(job) = stored.jobs.get_mut(job) else {
                return;
            };
            let same = |r: &&mut (u32, u32, _)| (r.0, r.1) == (*level, *shard);
            match job.results.iter_mut().find(same) {
                Some(old) => old.2 = *result,
                None => job.results.push((*level, *shard, *result)),
            }
        }
        Record::Item { job, item, record } => {
            if let Some(job) = stored.jobs.get_mut(job) {
                job.items.insert(*item, record.clone());
            }
        }
        Record::Refuted { job, cells } => {
            if let Some(job) = stored.jobs.get_mut(job) {
                job.items.retain(|item, _| !cells.contains(&(1, *item)));
                job.results.retain(|r| !cells.contains(&(r.0, r.1)));
            }
        }
        Record::Compacted { job } => {
            if let Some(job) = stored.jobs.get_mut(job) {
                job.results.clear();
            }
        }
        Record::Forgotten { job } => {
            stored.jobs.remove(job);
            stored.keys.retain(|_, (of, _)| of != job);
            stored.forgotten = stored.forgotten.max(Some(*job));
        }
        Record::Key { key, job, existing } => {
            stored.keys.insert(key.clone(), (*job, *existing));
        }
        Record::Worker { worker, record, .. } => {
            stored.workers.insert(*worker, record.clone());
        }
    }
}
