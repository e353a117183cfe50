//! The devices (graphics processors) of a worker: how they come into a job's engine, and what is told when one fails.

use crate::net::Announcer;
use antipode_gpu::{GpuError, JobDevices, Kernels, Offer};
use antipode_solver_core::bfs::device::{Answer, DeviceBits, DeviceTask, LevelDevice};
use antipode_solver_core::engine::{Engine, Level, ShardId};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// About as many rows of scrambles are made at once.
const ROWS_AT_ONCE: u64 = 1 << 16;

/// The devices of one worker, all ready to compute. As many tasks are computed side by side; without any, one after the
/// other on the processor.
#[derive(Clone, Default)]
pub struct Devices {
    offers: Arc<[Offer]>,
    names: Vec<String>,
}

impl Devices {
    pub fn new(offers: Vec<Offer>) -> Devices {
        let name = |offer: &Offer| offer.kernels.device().info().name.clone();
        Devices {
            names: offers.iter().map(name).collect(),
            offers: offers.into(),
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

    /// Those that make rows of scrambles quicker than the CPU, or are to make them anyway.
    pub fn for_rows(&self) -> Vec<Arc<Kernels>> {
        let wants = |offer: &&Offer| {
            let costs = offer.costs.as_ref();
            costs.is_none_or(|costs| costs.wants_rows(ROWS_AT_ONCE))
        };
        let offers = self.offers.iter().filter(wants);
        offers.map(|offer| Arc::clone(&offer.kernels)).collect()
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
        let journal = Arc::new(Journal::default());
        let (devices, refusals) = JobDevices::new(&self.offers, &tables, |number| {
            let (journal, announcer) = (Arc::clone(&journal), announcer.clone());
            Box::new(move |why| journal.tell(number as u32, why, &announcer))
        });
        for why in refusals {
            announcer.note(format!("{why}; the CPU computes this job"));
        }
        drop(tables);
        if devices.is_empty() {
            return engine;
        }
        engine.with_device(Arc::new(Recorded { devices, journal }))
    }
}

impl fmt::Debug for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.names).finish()
    }
}

/// Which tasks the devices of a job have done: device, level and shard.
#[derive(Default)]
struct Journal(Mutex<Vec<(u32, Level, ShardId)>>);

impl Journal {
    fn note(&self, by: u32, task: &DeviceTask<'_>) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.push((by, task.level, task.shard));
    }

    /// A device is given up. What one that was wrong has made may be wrong too.
    fn tell(&self, by: u32, why: &GpuError, announcer: &Announcer) {
        announcer.note(format!("{why}; the CPU goes on"));
        if let GpuError::Wrong { .. } = why {
            let tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let made = tasks.iter().filter(|(device, ..)| *device == by);
            let made: Vec<(Level, ShardId)> =
                made.map(|&(_, level, shard)| (level, shard)).collect();
            drop(tasks);
            announcer.retract(&made, &why.to_string());
        }
    }
}

/// Devices whose work is written down.
struct Recorded {
    devices: JobDevices,
    journal: Arc<Journal>,
}

impl LevelDevice for Recorded {
    fn level(&self, task: &DeviceTask<'_>, out: &mut DeviceBits<'_>) -> Option<Answer> {
        let answer = self.devices.level(task, out)?;
        self.journal.note(answer.by, task);
        Some(answer)
    }

    fn wrong(&self, by: u32, what: &str) {
        self.devices.wrong(by, what);
    }
}
