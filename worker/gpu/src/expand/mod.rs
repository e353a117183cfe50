//! Levels of a space on a device. The tables are sent once; sets of states stay on the device under their names, so that
//! a shard whose sets the device has made is never sent again. A level is a pull over the superblocks of its shard:
//! every word has one writer, and what a dispatch does is one run of superblocks.
//!
//! - [`tables`]: what is sent once.
//! - [`resident`]: which sets are here.
//! - [`upload`]: sets that come, while other work goes on.
//! - [`calls`]: which dispatches a run of superblocks takes.
//! - [`level`]: one level of one shard, run by run.
//! - [`several`]: the devices of a worker as one.
//!
//! The machine keeps a copy of everything: a device that is lost takes nothing with it.

mod benes;
mod calls;
mod level;
mod resident;
mod several;
mod tables;
mod upload;

use crate::error::GpuError;
use crate::kernels::Kernels;
use crate::pace::Pace;
use crate::vulkan::{Buffer, Place};
use antipode_solver_core::bfs::device::{
    Answer, DeviceBits, DeviceTables, DeviceTask, LevelDevice,
};
use antipode_solver_core::engine::OnDevice;
use resident::{Limit, Residents};
pub use several::{JobDevices, Offer};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;
use tables::Tables;

/// 64-bit words that are sent or brought back at once, at most.
const STAGED_WORDS: usize = 1 << 20;
/// After so many levels in a row without memory the device is not asked any more.
const SHORT_OF_MEMORY: u32 = 3;

/// Told once why a device is not used any more.
pub type OnFailure = Box<dyn Fn(&GpuError) + Send + Sync>;

/// A space on a device.
pub struct DeviceSpace {
    kernels: Arc<Kernels>,
    state: Mutex<State>,
    /// Why it is not asked any more.
    over: OnceLock<GpuError>,
    on_failure: OnFailure,
}

struct State {
    tables: Tables,
    /// The bits of a superblock's words that are states.
    masks: Buffer,
    residents: Residents,
    /// Origins of a run's superblocks.
    origins: Buffer,
    staging: Staging,
    /// In superblocks times moves.
    pace: Pace,
    /// Levels in a row that found no memory.
    short_of_memory: u32,
    /// Time that dispatches took, all together.
    computing: Duration,
}

/// Where sets come and go.
struct Staging {
    up: [Buffer; 2],
    down: Buffer,
    counts: Buffer,
    /// Positions before they are bits.
    positions: Buffer,
}

/// Words of the buffer of origins: two a superblock and move.
const ORIGIN_WORDS: usize = 1 << 21;

/// Levels that are worth keeping: the two before the one that is made, and what runs ahead or lags behind. More would take memory
/// anew instead of using it again.
const LEVELS: u64 = 5;

/// Bytes of the sets of one level.
fn level_bytes(tables: &DeviceTables<'_>) -> u64 {
    match tables {
        DeviceTables::Blocks(view) => {
            let shards = u64::from(view.shards) * u64::from(view.parts);
            shards * u64::from(view.blocks) * (8 * view.words as u64 + 4)
        }
        DeviceTables::States(view) => view.states / 8 + view.states / 1024 + (1 << 20),
    }
}

impl DeviceSpace {
    /// Brings the tables of a space to the device. `resident_bytes`: the most that sets may take there.
    ///
    /// # Errors
    /// Tables that the device has no room for, and those of the device.
    pub fn new(
        kernels: &Arc<Kernels>,
        tables: &DeviceTables<'_>,
        resident_bytes: u64,
        on_failure: OnFailure,
    ) -> Result<DeviceSpace, GpuError> {
        let device = kernels.device();
        let needed = tables::bytes(tables);
        if needed > device.info().memory_bytes / 2 {
            return Err(GpuError::TooLarge {
                device: device.info().name.clone(),
                what: "the tables of the moves",
                bytes: needed,
                limit: device.info().memory_bytes / 2,
            });
        }
        let block = match tables {
            DeviceTables::Blocks(view) => view.words as u64,
            DeviceTables::States(view) => view.words as u64,
        };
        let most = block as usize * kernels.rows_that_fit("a superblock", 8 * block)?;
        let origins = ORIGIN_WORDS.min(2 * most);
        let moves = calls::moves(tables);
        if 2 * moves > origins {
            return Err(GpuError::TooLarge {
                device: device.info().name.clone(),
                what: "where one superblock comes from",
                bytes: 8 * moves as u64,
                limit: 4 * origins as u64,
            });
        }
        let staged = 2 * STAGED_WORDS.min(most).max(block as usize);
        let make = |words, place| device.buffer(words, place);
        let limit = Limit {
            bytes: resident_bytes.min(LEVELS * level_bytes(tables)),
            sets: device.max_allocations() as usize / 8,
        };
        let operations = calls::operations(tables);
        let (tables, masks) = tables::send(kernels, tables)?;
        let state = State {
            tables,
            masks,
            residents: Residents::new(limit),
            origins: make(origins, Place::Device)?,
            staging: Staging {
                up: [make(staged, Place::Upload)?, make(staged, Place::Upload)?],
                down: make(staged, Place::Download)?,
                counts: make(staged, Place::Download)?,
                positions: make(staged, Place::Device)?,
            },
            pace: Pace::new(operations),
            short_of_memory: 0,
            computing: Duration::ZERO,
        };
        Ok(DeviceSpace {
            kernels: Arc::clone(kernels),
            state: Mutex::new(state),
            over: OnceLock::new(),
            on_failure,
        })
    }

    /// The kernels of the device.
    pub fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// Is no other thread's level being computed?
    pub fn is_free(&self) -> bool {
        !matches!(self.state.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// May the device still be asked?
    pub fn is_usable(&self) -> bool {
        self.over.get().is_none()
    }

    /// Why it is not asked any more.
    pub fn why_over(&self) -> Option<GpuError> {
        self.over.get().cloned()
    }

    /// Time that its dispatches took, all together.
    pub fn computing(&self) -> Duration {
        self.lock().computing
    }

    /// Bytes of the task's sets that are not on the device, each counted once.
    pub fn missing_bytes(&self, task: &DeviceTask<'_>) -> u64 {
        let mut state = self.lock();
        let sets = task.sources.iter().map(|(_, set)| *set);
        // As in a level: what was seen by now contains the level before.
        let own = (!task.seen_grows).then_some(task.own);
        let sets = sets.chain(own).chain([task.seen]);
        let sets: HashMap<_, _> = sets
            .filter(|set| set.count() > 0)
            .map(|set| (set.id(), set))
            .collect();
        let missing = sets
            .into_iter()
            .filter(|(id, _)| state.residents.get(*id).is_none());
        missing.map(|(_, set)| upload::bytes(set)).sum()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device is not asked any more, which is told once.
    fn give_up(&self, state: &mut State, why: GpuError) {
        state.residents.clear();
        if self.over.set(why.clone()).is_ok() {
            (self.on_failure)(&why);
        }
    }

    /// As [`LevelDevice::level`].
    pub fn level(&self, task: &DeviceTask<'_>, out: &mut DeviceBits<'_>) -> Option<OnDevice> {
        let mut state = self.lock();
        if !self.is_usable() {
            return None;
        }
        let before = self.kernels.device().uploaded_bytes();
        let mut made = state.level(&self.kernels, task, out);
        if let Err(GpuError::OutOfMemory { .. }) = made {
            // Once more, with nothing that is not needed.
            state.residents.clear();
            out.words.fill(0);
            made = state.level(&self.kernels, task, out);
        }
        match made {
            Ok(()) => {
                state.short_of_memory = 0;
                let after = self.kernels.device().uploaded_bytes();
                Some(OnDevice {
                    uploaded_bytes: after - before,
                })
            }
            Err(why) => {
                state.residents.clear();
                state.short_of_memory += 1;
                let is_short = matches!(why, GpuError::OutOfMemory { .. });
                if !is_short || state.short_of_memory >= SHORT_OF_MEMORY {
                    self.give_up(&mut state, why);
                }
                None
            }
        }
    }

    /// As [`LevelDevice::wrong`].
    pub fn wrong(&self, what: &str) {
        let why = self.kernels.device().quarantine(what.into());
        self.give_up(&mut self.lock(), why);
    }
}

impl LevelDevice for DeviceSpace {
    fn level(&self, task: &DeviceTask<'_>, out: &mut DeviceBits<'_>) -> Option<Answer> {
        let used = DeviceSpace::level(self, task, out)?;
        Some(Answer { by: 0, used })
    }

    fn wrong(&self, _by: u32, what: &str) {
        DeviceSpace::wrong(self, what);
    }
}
