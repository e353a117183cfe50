//! The memory budget: who uses how much of it, and which artifacts go to disk when it is short.

use super::store::New;
use super::{Artifacts, Content, Disk, Item, Shelf, StoreError};
use crate::gauges::Gauges;
use antipode_ids::JobId;
use antipode_proto::message::ArtifactName;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// The inputs of leased tasks, and how many tasks come before the first that needs each.
pub type Wanted = BTreeMap<ArtifactName, usize>;

/// Memory that a task needs besides what is held already, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Need {
    /// Inputs that are not in memory yet.
    pub incoming: u64,
    /// Working memory and result.
    pub working: u64,
}

/// The sums behind the budget.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    budget: u64,
    tables: u64,
    resident: u64,
    reserved: BTreeMap<u64, Need>,
}

impl Ledger {
    pub fn new(budget: u64) -> Ledger {
        Ledger {
            budget,
            ..Ledger::default()
        }
    }
    pub fn add_tables(&mut self, bytes: u64) {
        self.tables += bytes;
    }
    pub fn remove_tables(&mut self, bytes: u64) {
        self.tables = self.tables.saturating_sub(bytes);
    }
    pub fn add_resident(&mut self, bytes: u64) {
        self.resident += bytes;
    }
    pub fn remove_resident(&mut self, bytes: u64) {
        self.resident = self.resident.saturating_sub(bytes);
    }
    pub fn resident_bytes(&self) -> u64 {
        self.resident
    }

    /// Bytes above the budget.
    fn excess(&self) -> u64 {
        let reserved: u64 = self
            .reserved
            .values()
            .map(|need| need.incoming + need.working)
            .sum();
        (self.tables + self.resident + reserved).saturating_sub(self.budget)
    }
}

impl Artifacts {
    /// Reserves memory for a task if it is free. `id` is any number that no other task has.
    pub fn reserve(&self, id: u64, need: Need) -> bool {
        let mut shelf = self.shelf();
        shelf.ledger.reserved.insert(id, need);
        let fits = shelf.ledger.excess() == 0;
        if !fits {
            shelf.ledger.reserved.remove(&id);
        }
        fits
    }

    /// Reserves memory for a task, bringing artifacts to disk that are not in use: first those that
    /// no leased task wants, the ones of the newest levels first (their turn comes last), then those
    /// that are wanted last. False if even that is not enough now. Blocks on the disk.
    ///
    /// # Errors
    /// [`StoreError::Full`] where something would have to be written and the disk has no room.
    pub fn make_room(&self, id: u64, need: Need, wanted: &Wanted) -> Result<bool, StoreError> {
        self.shelf().ledger.reserved.insert(id, need);
        let made = self.spill_excess(wanted);
        if !matches!(made, Ok(true)) {
            self.unreserve(id);
        }
        made
    }

    /// Reserves memory for a task that nothing else runs beside, whether it is free or not.
    pub fn reserve_alone(&self, id: u64, need: Need) {
        self.shelf().ledger.reserved.insert(id, need);
    }

    /// The inputs of a task are all in memory: from now on they are counted there.
    pub fn settle(&self, id: u64) {
        if let Some(need) = self.shelf().ledger.reserved.get_mut(&id) {
            need.incoming = 0;
        }
    }

    /// The task is over.
    pub fn unreserve(&self, id: u64) {
        self.shelf().ledger.reserved.remove(&id);
    }

    /// The budget without the tables of the engines, in bytes.
    pub fn usable_bytes(&self) -> u64 {
        let ledger = &self.shelf().ledger;
        ledger.budget.saturating_sub(ledger.tables)
    }

    /// The whole budget and the part of it that tables take, in bytes.
    pub fn budget_and_tables(&self) -> (u64, u64) {
        let ledger = &self.shelf().ledger;
        (ledger.budget, ledger.tables)
    }

    fn spill_excess(&self, wanted: &Wanted) -> Result<bool, StoreError> {
        let commit_bytes = self.commit_bytes();
        loop {
            let victims = {
                let mut shelf = self.shelf();
                let excess = shelf.ledger.excess();
                if excess == 0 {
                    return Ok(true);
                }
                let full = self.disk.is_full();
                let victims = shelf.victims(wanted, excess.min(commit_bytes), full);
                if victims.is_empty() && full && !shelf.victims(wanted, 1, false).is_empty() {
                    return Err(StoreError::Full {
                        path: self.data.clone(),
                        reason: "less is free than is to be kept free".into(),
                    });
                }
                if victims.is_empty() {
                    return Ok(false);
                }
                shelf.drop_clean(&victims);
                self.gauges
                    .resident_bytes
                    .store(shelf.ledger.resident_bytes(), Relaxed);
                victims
            };
            let mut dirty: BTreeMap<JobId, Vec<New>> = BTreeMap::new();
            for victim in victims.into_iter().filter(|victim| !victim.clean) {
                dirty
                    .entry(victim.new.name.job)
                    .or_default()
                    .push(victim.new);
            }
            for (job, batch) in dirty {
                let names: Vec<ArtifactName> = batch.iter().map(|new| new.name).collect();
                let written = self.write(job, batch, false)?;
                Gauges::add(&self.gauges.spilled_bytes, written);
                let mut shelf = self.shelf();
                for name in names {
                    // Somebody may have begun to use it meanwhile: then it stays, and is clean now.
                    let free = shelf.items.get(&name).is_some_and(|item| {
                        item.disk != Disk::No
                            && item.memory.as_ref().is_some_and(Content::is_unused)
                    });
                    if free {
                        shelf.drop_memory(name);
                    }
                }
                self.gauges
                    .resident_bytes
                    .store(shelf.ledger.resident_bytes(), Relaxed);
            }
        }
    }
}

/// An artifact that has to leave memory.
struct Victim {
    new: New,
    /// It can be had again without writing it: it is on disk, or at the worker it came from.
    clean: bool,
}

impl Shelf {
    /// Artifacts in memory that nobody uses, in the order in which they should go, `bytes` of them.
    /// `clean_only`: those that need not be written.
    fn victims(&self, wanted: &Wanted, bytes: u64, clean_only: bool) -> Vec<Victim> {
        let clean = |item: &Item| item.disk != Disk::No || item.fetched;
        let free = |memory: &Content| memory.is_unused() && memory.memory_bytes() > 0;
        let mut order: Vec<_> = self
            .items
            .iter()
            .filter_map(|(name, item)| {
                item.memory
                    .as_ref()
                    .filter(|m| free(m) && (!clean_only || clean(item)))
                    .map(|m| (name, item, m))
            })
            .collect();
        // `None` (wanted by no lease) sorts before all ranks here.
        order.sort_by_key(|(name, ..)| {
            (
                wanted.get(name).map(|rank| usize::MAX - rank),
                u32::MAX - name.level,
                u32::MAX - name.shard.0,
            )
        });
        let mut sum = 0;
        let mut victims = Vec::new();
        for (name, item, memory) in order {
            if sum >= bytes {
                break;
            }
            sum += memory.memory_bytes();
            victims.push(Victim {
                new: New {
                    name: *name,
                    digest: item.digest,
                    certificate: item.certificate,
                    content: memory.clone(),
                },
                clean: clean(item),
            });
        }
        victims
    }

    fn drop_clean(&mut self, victims: &[Victim]) {
        for victim in victims.iter().filter(|victim| victim.clean) {
            if self
                .items
                .get(&victim.new.name)
                .is_some_and(|item| item.disk != Disk::No)
            {
                self.drop_memory(victim.new.name);
            } else {
                self.remove(victim.new.name);
            }
        }
    }
}
