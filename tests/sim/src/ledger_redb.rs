//! The coordinator's real store, on a file that fails.

use crate::ledger::{Full, Ledger, apply};
use crate::medium::Medium;
use antipode_coordinator::store::Store;
use antipode_coordinator_core::record::{Record, Stored};
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
    /// As it was before a bit was flipped.
    copy: Option<Vec<Vec<u8>>>,
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
            copy: None,
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

impl Ledger for RedbLedger {
    fn start(&mut self, _: bool) -> Result<(u64, Stored), String> {
        self.store = None;
        let opened = Store::open(self.folder.path());
        let (store, stored) = opened.map_err(|error| {
            assert!(self.copy.is_some() || self.full, "{error}");
            error.to_string()
        })?;
        self.medium.set_full(self.full);
        assert!(store.epoch() > self.epoch, "the number of starts must grow");
        self.epoch = store.epoch();
        let found = text(&stored);
        let expected = [Some(&self.mirror), self.perhaps.as_ref()];
        let known = expected.into_iter().flatten().any(|s| text(s) == found);
        assert!(
            known || self.copy.is_some(),
            "found {found}, expected {}",
            text(&self.mirror)
        );
        self.perhaps = None;
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
                self.copy = None;
                Ok(())
            }
            Ok(Err(error)) => {
                assert!(self.full || self.copy.is_some(), "{error}");
                Err(Full)
            }
            Err(_) => {
                assert!(self.copy.is_some(), "it panicked");
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
        if self.copy.is_none() {
            self.copy = Some(self.medium.copy());
        }
        self.medium.flip(rng)
    }

    fn mend(&mut self) {
        if let Some(copy) = self.copy.take() {
            self.medium.restore(&copy);
        }
    }

    fn set_full(&mut self, full: bool) {
        self.full = full;
        self.medium.set_full(full);
    }

    fn durable(&self) -> &Stored {
        &self.mirror
    }
}
