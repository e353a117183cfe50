//! The devices of a worker as one, for one job: which of them makes a level, or the processor.

use super::{DeviceSpace, OnFailure, calls};
use crate::costs::{Costs, LevelSize, Task};
use crate::error::GpuError;
use crate::kernels::Kernels;
use antipode_solver_core::bfs::device::{
    Answer, DeviceBits, DeviceTables, DeviceTask, LevelDevice,
};
use std::sync::Arc;
use std::time::Duration;

/// A device, and when it is used.
pub struct Offer {
    pub kernels: Arc<Kernels>,
    /// `None`: for everything that it can do.
    pub costs: Option<Costs>,
    /// The most bytes of sets that a job keeps on it.
    pub resident_bytes: u64,
}

/// The devices that take the tables of a job.
pub struct JobDevices {
    kind: Task,
    moves: usize,
    spaces: Vec<Member>,
}

struct Member {
    /// Number of its offer.
    number: u32,
    space: DeviceSpace,
    costs: Option<Costs>,
}

impl JobDevices {
    /// Brings the tables of a space to all devices; those that do not take them come back with the reason. `on_failure` makes,
    /// for the number of an offer, what is told once that device is given up.
    pub fn new(
        offers: &[Offer],
        tables: &DeviceTables<'_>,
        on_failure: impl Fn(usize) -> OnFailure,
    ) -> (JobDevices, Vec<GpuError>) {
        let (mut spaces, mut refusals) = (Vec::new(), Vec::new());
        for (at, offer) in offers.iter().enumerate() {
            let space =
                DeviceSpace::new(&offer.kernels, tables, offer.resident_bytes, on_failure(at));
            match space {
                Ok(space) => spaces.push(Member {
                    number: at as u32,
                    space,
                    costs: offer.costs.clone(),
                }),
                Err(why) => refusals.push(why),
            }
        }
        let devices = JobDevices {
            kind: Task::of(tables),
            moves: calls::moves(tables),
            spaces,
        };
        (devices, refusals)
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.spaces.is_empty()
    }

    /// May this device still be asked, for this job and any other? `by`: as in an answer.
    pub fn is_usable(&self, by: u32) -> bool {
        let mut members = self.spaces.iter().filter(|member| member.number == by);
        members.all(|m| m.space.is_usable() && m.space.kernels().device().is_usable())
    }

    /// Time that dispatches took, of all devices together.
    pub fn computing(&self) -> Duration {
        self.spaces
            .iter()
            .map(|member| member.space.computing())
            .sum()
    }

    /// The device that has most of a shard's sets, if it is not busy, or another one that is not.
    fn pick(&self, task: &DeviceTask<'_>) -> Option<&Member> {
        let usable: Vec<&Member> = self.spaces.iter().filter(|m| m.space.is_usable()).collect();
        let home = *usable.get(task.shard.0 as usize % usable.len().max(1))?;
        if home.space.is_free() {
            return Some(home);
        }
        let free = usable.iter().find(|member| member.space.is_free());
        Some(free.copied().unwrap_or(home))
    }
}

impl LevelDevice for JobDevices {
    fn level(&self, task: &DeviceTask<'_>, out: &mut DeviceBits<'_>) -> Option<Answer> {
        let member = self.pick(task)?;
        if let Some(costs) = &member.costs {
            let size = LevelSize::of(self.kind, task, self.moves);
            if !costs.wants_level(self.kind, &size, member.space.missing_bytes(task)) {
                return None;
            }
        }
        let used = member.space.level(task, out)?;
        Some(Answer {
            by: member.number,
            used,
        })
    }

    fn wrong(&self, by: u32, what: &str) {
        let members = self.spaces.iter().filter(|member| member.number == by);
        members.for_each(|member| member.space.wrong(what));
    }
}
