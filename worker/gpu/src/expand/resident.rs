//! Sets that are on the device: under the names of the sets, as long as there is room; those that were used last stay.

use crate::error::GpuError;
use crate::kernels::Kernels;
use crate::vulkan::{Buffer, Place, Step};
use antipode_solver_core::bfs::frontier::{FrontierId, ShardGeometry};
use std::collections::HashMap;
use std::sync::Arc;

/// A set of states of a shard.
pub(super) struct Set {
    /// One bit a position.
    pub bits: Buffer,
    /// Number of states in each superblock. Of a set that grew here (what was seen) they are those of before: nothing
    /// is gathered from such a set.
    pub counts: Buffer,
}

impl Set {
    fn bytes(&self) -> u64 {
        4 * (self.bits.words() + self.counts.words()) as u64
    }

    fn shape(&self) -> [usize; 2] {
        [self.bits.words(), self.counts.words()]
    }
}

struct Kept {
    set: Arc<Set>,
    used_at: u64,
}

/// How much may be kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub bytes: u64,
    /// A driver gives out so many pieces of memory and no more; a set takes two.
    pub sets: usize,
}

/// The sets on one device, of one job.
pub(super) struct Residents {
    limit: Limit,
    kept: HashMap<FrontierId, Kept>,
    /// Out of use: the next set of the same shape takes one.
    free: Vec<Set>,
    /// Bytes and number of all, lent ones too.
    bytes: u64,
    sets: usize,
    clock: u64,
}

impl Residents {
    pub fn new(limit: Limit) -> Residents {
        Residents {
            limit,
            kept: HashMap::new(),
            free: Vec::new(),
            bytes: 0,
            sets: 0,
            clock: 0,
        }
    }

    /// The set of that name, if it is here.
    pub fn get(&mut self, id: FrontierId) -> Option<Arc<Set>> {
        self.clock += 1;
        let kept = self.kept.get_mut(&id)?;
        kept.used_at = self.clock;
        Some(Arc::clone(&kept.set))
    }

    /// Keeps a set under its name.
    pub fn keep(&mut self, id: FrontierId, set: Arc<Set>) {
        self.clock += 1;
        let used_at = self.clock;
        self.kept.insert(id, Kept { set, used_at });
    }

    /// The name says nothing any more; the set itself lives as long as it is used.
    pub fn forget(&mut self, id: FrontierId) {
        self.kept.remove(&id);
    }

    /// Takes back a set that is not kept.
    pub fn give_back(&mut self, set: Arc<Set>) {
        if let Ok(set) = Arc::try_unwrap(set) {
            self.free.push(set);
        }
    }

    /// Everything is forgotten and freed that is not in use.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.free.clear();
        self.bytes = 0;
        self.sets = 0;
    }

    /// Room for a set, whose content is anything. What was not used for longest makes place.
    ///
    /// # Errors
    /// A device without memory for it, even when nothing else is kept.
    pub fn room(
        &mut self,
        kernels: &Kernels,
        geometry: ShardGeometry,
    ) -> Result<Arc<Set>, GpuError> {
        let shape = [
            2 * geometry.blocks as usize * geometry.words as usize,
            geometry.blocks as usize,
        ];
        let bytes = 4 * (shape[0] + shape[1]) as u64;
        loop {
            if let Some(at) = self.free.iter().position(|set| set.shape() == shape) {
                return Ok(Arc::new(self.free.swap_remove(at)));
            }
            let is_full = self.bytes + bytes > self.limit.bytes || self.sets >= self.limit.sets;
            if is_full && self.evict() {
                continue;
            }
            match make(kernels, shape) {
                Ok(set) => {
                    self.bytes += bytes;
                    self.sets += 1;
                    return Ok(Arc::new(set));
                }
                Err(GpuError::OutOfMemory { .. }) if self.evict() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Room for a set, filled with the bits of another one; its counts are anything.
    ///
    /// # Errors
    /// As [`Residents::room`].
    pub fn copy(
        &mut self,
        kernels: &Kernels,
        set: &Set,
        geometry: ShardGeometry,
    ) -> Result<Arc<Set>, GpuError> {
        let to = self.room(kernels, geometry)?;
        kernels.device().run(&[Step::Copy {
            from: &set.bits,
            to: &to.bits,
            words: set.bits.words(),
        }])?;
        Ok(to)
    }

    /// Gives up the free set, or the one that was used the longest ago and is not in use; false where there is none.
    fn evict(&mut self) -> bool {
        if let Some(set) = self.free.pop() {
            self.bytes -= set.bytes().min(self.bytes);
            self.sets = self.sets.saturating_sub(1);
            return true;
        }
        let idle = self
            .kept
            .iter()
            .filter(|(_, k)| Arc::strong_count(&k.set) == 1);
        let oldest = idle.min_by_key(|(_, k)| k.used_at).map(|(id, _)| *id);
        let Some(kept) = oldest.and_then(|id| self.kept.remove(&id)) else {
            return false;
        };
        self.give_back(kept.set);
        true
    }
}

fn make(kernels: &Kernels, [bits, counts]: [usize; 2]) -> Result<Set, GpuError> {
    let device = kernels.device();
    kernels.rows_that_fit("a shard", 4 * bits as u64)?;
    Ok(Set {
        bits: device.buffer(bits, Place::Device)?,
        counts: device.buffer(counts, Place::Device)?,
    })
}
