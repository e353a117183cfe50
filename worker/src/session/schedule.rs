//! What is begun when: by time, by order, by memory; and when the worker is through.

use super::lease::Stage;
use super::{Action, Connection, Engine, Exit, Job, LeaseId, Session};
use antipode_proto::message::FromWorker;
use std::time::{Duration, Instant};

/// Tasks handed to the compute thread at once: one runs, one stands by, so that it never waits for
/// this state machine.
const COMPUTING: usize = 2;
/// Tasks whose inputs are brought together beforehand.
const AHEAD: usize = 4;
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
        memory_bytes: u64,
        peak_memory_bytes: u64,
        actions: &mut Vec<Action>,
    ) {
        if let Connection::Registered { heartbeat, .. } = self.connection
            && now >= self.heartbeat_at
        {
            self.heartbeat_at = now + heartbeat;
            actions.push(Action::Send(FromWorker::Heartbeat {
                memory_bytes,
                peak_memory_bytes,
                disk: Default::default(),
            }));
        }
        if let Some((_, names)) = self.retry_persist.take_if(|(at, _)| now >= *at)
            && !names.is_empty()
        {
            actions.push(Action::Persist { names });
        }
    }

    /// May a lease be started now?
    pub(super) fn may_start(&self, now: Instant) -> bool {
        if self.draining || now < self.resume_at {
            return false;
        }
        let limit = self.lease_time.saturating_sub(margin(self.lease_time));
        self.is_registered() || now.duration_since(self.contact_at) < limit
    }

    pub(super) fn schedule(&mut self, now: Instant, actions: &mut Vec<Action>) {
        if !self.may_start(now) {
            return;
        }
        let count = |stages: &[Stage]| {
            self.leases
                .values()
                .filter(|l| stages.contains(&l.stage))
                .count()
        };
        let mut computing = count(&[Stage::Computing]) + self.orphans.len();
        let mut ahead = count(&[Stage::Preparing, Stage::Ready]);
        for (key, lease) in &mut self.leases {
            if computing < COMPUTING && lease.stage == Stage::Ready {
                lease.stage = Stage::Computing;
                computing += 1;
                ahead -= 1;
                actions.push(Action::Compute { lease: key.lease });
            }
        }
        for (key, lease) in &mut self.leases {
            if ahead >= AHEAD {
                break;
            }
            let alone = computing + ahead == 0;
            let turn = lease.stage == Stage::Waiting || (lease.stage == Stage::Crowded && alone);
            let loaded = matches!(
                self.jobs.get(&lease.job),
                Some(Job {
                    engine: Engine::Loaded,
                    ..
                })
            );
            if !turn || !loaded {
                // What is crowded out keeps its place in the line: smaller tasks behind it must not
                // take the memory it waits for.
                if lease.stage == Stage::Crowded {
                    break;
                }
                continue;
            }
            lease.stage = Stage::Preparing;
            ahead += 1;
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

    /// Ends a draining worker as soon as nothing computes any more.
    pub(super) fn finish(&mut self, actions: &mut Vec<Action>) {
        let computing = self
            .leases
            .values()
            .any(|lease| lease.stage == Stage::Computing);
        if !self.draining || computing || !self.orphans.is_empty() {
            return;
        }
        let leases: Vec<LeaseId> = self.keys.keys().copied().collect();
        leases
            .into_iter()
            .for_each(|lease| self.forget(lease, actions));
        self.say(
            FromWorker::Leaving {
                reason: "the worker was asked to end".into(),
            },
            actions,
        );
        self.exited = true;
        actions.push(Action::Exit(Exit::Done));
    }
}

/// How long before the end of a lease a worker lets go of it by itself.
fn margin(lease: Duration) -> Duration {
    lease / 4
}
