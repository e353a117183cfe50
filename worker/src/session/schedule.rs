//! What is begun when: by time, by order, by memory.

use super::lease::Stage;
use super::{Action, Connection, Engine, Job, Session, is_for_the_disk};
use antipode_proto::message::{DiskUse, FromWorker};
use std::time::{Duration, Instant};

/// Tasks handed to the compute threads beyond those that run: one stands by, so that no thread waits for this
/// state machine.
const STANDING_BY: usize = 1;
/// Tasks handed to the disk at once: as many as it may take in one commit.
const FOR_THE_DISK: usize = 16;
/// Tasks of a kind whose inputs are brought together beforehand; as many as are computed side by side, if these are
/// more.
const AHEAD: usize = 4;

/// How many leases of one kind are where.
#[derive(Default)]
struct Lane {
    at_work: usize,
    ahead: usize,
}

impl Session {
    /// While the connection stands there is contact: it dies by itself when the other end does.
    /// But a process that stood still (stopped, swapped out, suspended) first hears what was said
    /// long ago; its leases may have been given away: leave the coordinator time to say so.
    pub(super) fn mark_time(&mut self, now: Instant) {
        if let Connection::Registered { heartbeat, lease } = self.connection {
            self.contact_at = now;
            if now.duration_since(self.stepped_at) + margin(lease) >= lease {
                self.resume_at = now + heartbeat;
            }
        }
        self.stepped_at = now;
    }

    pub(super) fn tick(
        &mut self,
        now: Instant,
        (memory_bytes, peak_memory_bytes): (u64, u64),
        disk: DiskUse,
        actions: &mut Vec<Action>,
    ) {
        let full = disk.full;
        let changed = std::mem::replace(&mut self.disk_full, full) != full;
        if changed
            && !full
            && let Some((at, _)) = &mut self.retry_persist
        {
            *at = now;
        }
        if !full {
            // Also where the want of room came and went between two ticks.
            self.give_room();
        }
        if let Connection::Registered { heartbeat, .. } = self.connection
            && (now >= self.heartbeat_at || changed)
        {
            self.heartbeat_at = now + heartbeat;
            actions.push(Action::Send(FromWorker::Heartbeat {
                memory_bytes,
                peak_memory_bytes,
                disk,
            }));
        }
        if let Some((_, names)) = self.retry_persist.take_if(|(at, _)| now >= *at && !full)
            && !names.is_empty()
        {
            actions.push(Action::Persist { names });
        }
    }

    /// May a lease be started now?
    pub(super) fn may_start(&self, now: Instant) -> bool {
        if !self.departure.may_start() || now < self.resume_at {
            return false;
        }
        let limit = self.lease_time.saturating_sub(margin(self.lease_time));
        self.is_registered() || now.duration_since(self.contact_at) < limit
    }

    pub(super) fn schedule(&mut self, now: Instant, actions: &mut Vec<Action>) {
        if !self.may_start(now) {
            return;
        }
        let at_work = [self.lanes + STANDING_BY, FOR_THE_DISK];
        let ahead = AHEAD.max(self.lanes);
        let mut lanes = [Lane::default(), Lane::default()];
        lanes[0].at_work = self.orphans.len();
        for lease in self.leases.values() {
            let lane = &mut lanes[usize::from(is_for_the_disk(&lease.task))];
            match lease.stage {
                Stage::Computing => lane.at_work += 1,
                Stage::Preparing | Stage::Ready => lane.ahead += 1,
                Stage::Waiting | Stage::Crowded | Stage::NoRoom => {}
            }
        }
        for (key, lease) in &mut self.leases {
            let k = usize::from(is_for_the_disk(&lease.task));
            if lanes[k].at_work < at_work[k] && lease.stage == Stage::Ready {
                lease.stage = Stage::Computing;
                lanes[k].at_work += 1;
                lanes[k].ahead -= 1;
                actions.push(Action::Compute { lease: key.lease });
            }
        }
        for (key, lease) in &mut self.leases {
            let alone = lanes.iter().all(|lane| lane.at_work + lane.ahead == 0);
            // What is crowded out keeps its place in the line: smaller tasks behind it must not take
            // the memory it waits for.
            if lease.stage == Stage::Crowded && !alone {
                break;
            }
            let lane = &mut lanes[usize::from(is_for_the_disk(&lease.task))];
            let turn = matches!(lease.stage, Stage::Waiting | Stage::Crowded);
            let loaded = matches!(
                self.jobs.get(&lease.job),
                Some(Job {
                    engine: Engine::Loaded,
                    ..
                })
            );
            if !turn || !loaded || lane.ahead >= ahead {
                continue;
            }
            lease.stage = Stage::Preparing;
            lane.ahead += 1;
            actions.push(Action::Prepare {
                lease: key.lease,
                job: lease.job,
                task: lease.task.clone(),
                inputs: lease.inputs.clone(),
                consume: lease.consume,
                alone,
            });
        }
    }
}

/// How long before the end of a lease a worker lets go of it by itself.
fn margin(lease: Duration) -> Duration {
    lease / 4
}
