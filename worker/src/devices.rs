//! The devices (graphics processors) of a worker: how they come into a job's engine, and what is told when one fails.

use crate::exec::item::LEVEL;
use crate::net::Announcer;
use crate::scrambles::Watch;
use antipode_gpu::{GpuError, JobDevices, Kernels, Offer};
use antipode_solver_core::bfs::device::{Answer, DeviceBits, DeviceTask, LevelDevice};
use antipode_solver_core::engine::{Engine, Level, ShardId};
use antipode_solver_core::scramble::ScramblesSpec;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// About as many rows of scrambles are made at once.
const ROWS_AT_ONCE: u64 = 1 << 16;

/// The devices of one worker, all ready to compute. As many tasks are computed side by side; without any, one after the
/// other on the processor.
#[derive(Clone, Default)]
pub struct Devices {
    offers: Arc<[Offer]>,
    names: Vec<String>,
    journal: Arc<Journal>,
}

impl Devices {
    pub fn new(offers: Vec<Offer>) -> Devices {
        let name = |offer: &Offer| offer.kernels.device().info().name.clone();
        Devices {
            names: offers.iter().map(name).collect(),
            offers: offers.into(),
            journal: Arc::default(),
        }
    }

    /// Devices that compute nothing.
    #[cfg(test)]
    pub(crate) fn named(names: &[&str]) -> Devices {
        Devices {
            names: names.iter().map(ToString::to_string).collect(),
            ..Devices::default()
        }
    }

    /// As users see them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What they compute with, and from which size on.
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// Those that make rows of scrambles quicker than the CPU, or are to make them anyway, by their numbers.
    pub fn for_rows(&self) -> Vec<(u32, Arc<Kernels>)> {
        let wants = |(_, offer): &(u32, &Offer)| {
            let costs = offer.costs.as_ref();
            costs.is_none_or(|costs| costs.wants_rows(ROWS_AT_ONCE))
        };
        let offers = (0..).zip(self.offers.iter()).filter(wants);
        offers
            .map(|(number, offer)| (number, Arc::clone(&offer.kernels)))
            .collect()
    }

    /// Watches devices that make the rows of a job of scrambles.
    pub(crate) fn watch(&self, spec: &ScramblesSpec, announcer: &Announcer) -> Arc<dyn Watch> {
        Arc::new(Rows {
            part_rows: u64::from(spec.part_rows.max(1)),
            offset: spec.offset,
            announcer: announcer.clone(),
            work: self.begin(announcer),
        })
    }

    fn begin(&self, announcer: &Announcer) -> Work {
        Work {
            number: self.journal.begin(announcer),
            journal: Arc::clone(&self.journal),
        }
    }

    /// The engine of a job with those devices that have room for its tables.
    pub(crate) fn attach(&self, engine: Engine, announcer: &Announcer) -> Engine {
        if self.offers.is_empty() {
            return engine;
        }
        let Some(tables) = engine.device_tables() else {
            tracing::info!("a space without an index is searched by the CPU alone");
            return engine;
        };
        let work = self.begin(announcer);
        let (devices, refusals) = JobDevices::new(&self.offers, &tables, |number| {
            let (journal, announcer) = (Arc::clone(&self.journal), announcer.clone());
            Box::new(move |why| journal.tell(number as u32, why, &announcer))
        });
        for why in refusals {
            announcer.note(format!("{why}; the CPU computes this job"));
        }
        drop(tables);
        if devices.is_empty() {
            return engine;
        }
        engine.with_device(Arc::new(Recorded { devices, work }))
    }
}

impl fmt::Debug for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.names).finish()
    }
}

/// Which tasks the devices have done, of all jobs that are open: a device that was wrong for one may have been for all.
#[derive(Default)]
struct Journal(Mutex<Jobs>);

#[derive(Default)]
struct Jobs {
    next: u64,
    open: BTreeMap<u64, Done>,
}

/// What was done for a job.
struct Done {
    announcer: Announcer,
    tasks: Vec<(u32, Level, ShardId)>,
}

impl Journal {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job begins, under a number of its own.
    fn begin(&self, announcer: &Announcer) -> u64 {
        let mut jobs = self.jobs();
        let number = jobs.next;
        jobs.next += 1;
        let done = Done {
            announcer: announcer.clone(),
            tasks: Vec::new(),
        };
        jobs.open.insert(number, done);
        number
    }

    /// What this device has done and that was not taken back before, by job.
    fn take(&self, by: u32) -> Vec<(Announcer, Vec<(Level, ShardId)>)> {
        let mut taken = Vec::new();
        for done in self.jobs().open.values_mut() {
            let its = done.tasks.extract_if(.., |(device, ..)| *device == by);
            let its: Vec<_> = its.map(|(_, level, shard)| (level, shard)).collect();
            if !its.is_empty() {
                taken.push((done.announcer.clone(), its));
            }
        }
        taken
    }

    /// A device is given up. What one that was wrong has made may be wrong too.
    fn tell(&self, by: u32, why: &GpuError, announcer: &Announcer) {
        announcer.note(format!("{why}; the CPU goes on"));
        if let GpuError::Wrong { .. } = why {
            for (announcer, made) in self.take(by) {
                announcer.retract(&made, &why.to_string());
            }
        }
    }
}

/// A job in the journal, as long as it is open.
struct Work {
    journal: Arc<Journal>,
    number: u64,
}

impl Work {
    fn change(&self, change: impl FnOnce(&mut Vec<(u32, Level, ShardId)>)) {
        if let Some(done) = self.journal.jobs().open.get_mut(&self.number) {
            change(&mut done.tasks);
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.journal.jobs().open.remove(&self.number);
    }
}

/// Devices whose work is written down.
struct Recorded {
    devices: JobDevices,
    work: Work,
}

impl LevelDevice for Recorded {
    fn level(&self, task: &DeviceTask<'_>, out: &mut DeviceBits<'_>) -> Option<Answer> {
        let answer = self.devices.level(task, out)?;
        let entry = (answer.by, task.level, task.shard);
        self.work.change(|tasks| tasks.push(entry));
        if self.devices.is_usable(answer.by) {
            return Some(answer);
        }
        // It was found wrong meanwhile, and what it had made may have been taken back before this was written down.
        self.work
            .change(|tasks| tasks.retain(|other| *other != entry));
        None
    }

    fn wrong(&self, by: u32, what: &str) {
        self.devices.wrong(by, what);
    }
}

/// A job of scrambles whose rows devices make.
struct Rows {
    part_rows: u64,
    offset: u64,
    announcer: Announcer,
    work: Work,
}

impl Watch for Rows {
    fn drawn(&self, device: u32, first: u64) {
        let item = (first - self.offset) / self.part_rows;
        let entry = (device, LEVEL, ShardId(item as u32));
        self.work.change(|tasks| {
            if !tasks.contains(&entry) {
                tasks.push(entry);
            }
        });
    }

    fn failed(&self, device: u32, why: &GpuError) {
        self.work.journal.tell(device, why, &self.announcer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use antipode_ids::JobId;

    #[test]
    fn what_a_device_has_made_is_taken_back_once_in_all_open_jobs() {
        let journal = Arc::new(Journal::default());
        let begin = |job| Work {
            number: journal.begin(&Announcer::alone(JobId(job))),
            journal: Arc::clone(&journal),
        };
        let works = [begin(1), begin(2), begin(3)];
        for (k, work) in works.iter().enumerate() {
            let level = k as Level + 1;
            work.change(|tasks| {
                tasks.extend([(0, level, ShardId(5)), (1, level, ShardId(6))]);
            });
        }
        let [first, _second, third] = works;
        drop(third);
        let taken = |by| -> Vec<_> {
            let taken = journal.take(by).into_iter();
            taken.map(|(_, made)| made).collect()
        };
        assert_eq!(taken(1), [vec![(1, ShardId(6))], vec![(2, ShardId(6))]]);
        assert_eq!(taken(1), Vec::<Vec<_>>::new());
        drop(first);
        assert_eq!(taken(0), [vec![(2, ShardId(5))]]);
    }
}
