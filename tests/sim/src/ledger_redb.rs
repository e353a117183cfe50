//! The coordinator's real store, on a file that fails.

use crate::ledger::{Full, Ledger, apply};
use crate::medium::{Flip, Medium};
use antipode_coordinator::store::Store;
use antipode_coordinator_core::record::{Record, Stored, StoredJob};
use antipode_ids::JobId;
use rand::Rng;
use rand::rngs::StdRng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tempfile::TempDir;

pub struct RedbLedger {
    folder: TempDir,
    medium: Medium,
    store: Option<Store>,
    /// What must be found.
    mirror: Stored,
    /// What may be found instead: a commit was under way when the process ended.
    perhaps: Option<Stored>,
    epoch: u64,
    /// Not put right yet.
    flips: Vec<Flip>,
    /// What was computed from a wrong bit may be wrong for good.
    was_flipped: bool,
    full: bool,
}

impl std::fmt::Debug for RedbLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedbLedger").finish_non_exhaustive()
    }
}

impl RedbLedger {
    pub fn new() -> RedbLedger {
        let folder = TempDir::new().expect("a folder for the test");
        let medium = Medium::new(folder.path());
        RedbLedger {
            folder,
            medium,
            store: None,
            mirror: Stored::default(),
            perhaps: None,
            epoch: 0,
            flips: Vec::new(),
            was_flipped: false,
            full: false,
        }
    }
}

/// The same, whatever order it is in.
fn text(stored: &Stored) -> String {
    let mut stored = stored.clone();
    for job in stored.jobs.values_mut() {
        job.results.sort_by_key(|r| (r.0, r.1));
    }
    format!("{stored:?}")
}

/// Is nothing missing but results, keys and workers, and nothing altered?
fn is_part(found: &Stored, whole: &Stored) -> bool {
    let same = |(id, job): (&JobId, &StoredJob)| {
        whole.jobs.get(id).is_some_and(|known| {
            let results = job.results.iter().all(|r| known.results.contains(r));
            results && job.progress == known.progress && job.record == known.record
        })
    };
    let keys = found.keys.iter().all(|(k, v)| whole.keys.get(k) == Some(v));
    let mut workers = found.workers.iter();
    let workers = workers.all(|(id, worker)| whole.workers.get(id) == Some(worker));
    found.jobs.len() == whole.jobs.len() && found.jobs.iter().all(same) && keys && workers
}

impl Ledger for RedbLedger {
    fn start(&mut self, _: bool) -> Result<(u64, Stored), String> {
        self.store = None;
        let before = (!self.flips.is_empty()).then(|| self.medium.copy());
        let opened = Store::open(self.folder.path());
        let (store, stored) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                assert!(self.was_flipped || self.full, "{error}");
                if let Some(before) = before {
                    self.medium.restore(before);
                }
                return Err(error.to_string());
            }
        };
        self.medium.set_full(self.full);
        let grows = store.epoch() > self.epoch;
        assert!(grows || before.is_some(), "the number of starts must grow");
        let found = text(&stored);
        let perhaps = self.perhaps.take();
        let expected = [Some(&self.mirror), perhaps.as_ref()];
        let known = expected.into_iter().flatten().any(|e| text(e) == found);
        if !known || !grows {
            assert!(
                self.was_flipped,
                "found {found}, expected {}",
                text(&self.mirror)
            );
            // What can be made again may be missing. But a flipped bit in the newest commit looks like a commit
            // that was never completed: then the one before counts.
            if !grows || !is_part(&stored, &self.mirror) {
                drop(store);
                self.medium.restore(before.unwrap_or_default());
                self.perhaps = perhaps;
                return Err("an earlier commit was found".into());
            }
        }
        self.epoch = store.epoch();
        self.mirror = stored.clone();
        self.store = Some(store);
        Ok((self.epoch, stored))
    }

    fn commit(&mut self, records: &[Record]) -> Result<(), Full> {
        let Some(store) = &self.store else {
            return Err(Full);
        };
        match catch_unwind(AssertUnwindSafe(|| store.commit(records))) {
            Ok(Ok(())) => {
                records.iter().for_each(|r| apply(&mut self.mirror, r));
                Ok(())
            }
            Ok(Err(error)) => {
                assert!(self.full || self.was_flipped, "{error}");
                Err(Full)
            }
            Err(_) => {
                assert!(self.was_flipped, "it panicked");
                Err(Full)
            }
        }
    }

    fn crash(&mut self, unfinished: &[Record], rng: &mut StdRng) {
        if !unfinished.is_empty() && !self.full {
            self.medium.set_fuse(rng.random_range(0..16));
            let mut after = self.mirror.clone();
            unfinished.iter().for_each(|r| apply(&mut after, r));
            if let Some(store) = &self.store {
                let written = catch_unwind(AssertUnwindSafe(|| store.commit(unfinished)));
                if matches!(written, Ok(Ok(()))) {
                    self.mirror = after;
                } else {
                    self.perhaps = Some(after);
                }
            }
        }
        self.medium.cut(rng);
        let store = self.store.take();
        // Closing a dead database may panic.
        _ = catch_unwind(AssertUnwindSafe(|| drop(store)));
    }

    fn flip(&mut self, rng: &mut StdRng) -> bool {
        let flip = self.medium.flip(rng);
        let hit = flip.is_some();
        self.flips.extend(flip);
        self.was_flipped |= hit;
        hit
    }

    fn mend(&mut self) -> bool {
        if self.flips.is_empty() {
            return self.full;
        }
        self.flips.drain(..).rev().for_each(|flip| flip.mend());
        true
    }

    fn set_full(&mut self, full: bool) {
        self.full = full;
        self.medium.set_full(full);
    }

    fn durable(&self) -> &Stored {
        &self.mirror
    }
}
