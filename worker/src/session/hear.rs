//! What follows from the coordinator's messages, and from the ends of what was begun for them.

use super::lease::{Key, Lease, Stage};
use super::{Action, Connection, Engine, Exit, Job, LeaseId, Session};
use antipode_ids::JobId;
use antipode_proto::message::{ArtifactName, Failure, FromWorker, ToWorker, Usage};
use antipode_solver_core::job::{Task, TaskOutput};
use std::time::Instant;

impl Session {
    pub(super) fn hear(&mut self, now: Instant, message: ToWorker, actions: &mut Vec<Action>) {
        match message {
            ToWorker::Welcome {
                worker,
                cluster,
                heartbeat,
                lease,
            } => {
                self.connection = Connection::Registered { heartbeat, lease };
                self.lease_time = lease;
                self.heartbeat_at = now;
                self.resume_at = now;
                actions.push(Action::Join { worker, cluster });
                for message in std::mem::take(&mut self.outbox) {
                    if matches!(message, FromWorker::Retract { .. }) {
                        self.retracted.push((now, message.clone()));
                    }
                    actions.push(Action::Send(message));
                }
                self.say_again_that_it_drains(actions);
            }
            ToWorker::Refused { reason } => {
                self.exited = true;
                actions.push(Action::Exit(Exit::Refused { reason }));
            }
            ToWorker::Open { job, definition } => {
                let fingerprint = &definition.fingerprint;
                let known = self.jobs.get(&job).is_some_and(|open| {
                    open.fingerprint == *fingerprint && !matches!(open.engine, Engine::Broken(_))
                });
                if !known {
                    self.jobs.insert(
                        job,
                        Job {
                            fingerprint: fingerprint.clone(),
                            engine: Engine::Loading,
                        },
                    );
                    actions.push(Action::Load { job, definition });
                }
            }
            ToWorker::Lease {
                job,
                task,
                attempt,
                inputs,
                consume,
            } => {
                self.lease(
                    Lease {
                        job,
                        task,
                        attempt,
                        inputs,
                        consume,
                        stage: Stage::Waiting,
                    },
                    None,
                    actions,
                );
            }
            ToWorker::Revoke { attempts } => {
                let revoked: Vec<LeaseId> = self
                    .leases
                    .iter()
                    .filter(|(_, lease)| {
                        attempts.contains(&lease.attempt) && lease.stage != Stage::Computing
                    })
                    .map(|(key, _)| key.lease)
                    .collect();
                revoked
                    .into_iter()
                    .for_each(|lease| self.forget(lease, actions));
                // A long item ends early; a level is soon done, and may be of use yet.
                let revoked = |lease: &Lease| attempts.contains(&lease.attempt);
                self.stop_items(revoked, actions);
            }
            ToWorker::Release { names } => {
                if let Some((_, waiting)) = &mut self.retry_persist {
                    waiting.retain(|name| !names.contains(name));
                }
                actions.push(Action::Release { names });
                self.give_room();
            }
            ToWorker::Persist { names } => actions.push(Action::Persist { names }),
            ToWorker::Close { job, keep } => {
                self.jobs.remove(&job);
                let of_job: Vec<(LeaseId, Stage)> = self
                    .leases
                    .iter()
                    .filter(|(_, lease)| lease.job == job)
                    .map(|(key, lease)| (key.lease, lease.stage))
                    .collect();
                for (lease, stage) in of_job {
                    if stage == Stage::Computing {
                        self.abandon(lease, actions);
                    } else {
                        self.forget(lease, actions);
                    }
                }
                if let Some((_, waiting)) = &mut self.retry_persist {
                    waiting.retain(|name| name.job != job);
                }
                actions.push(Action::Close { job, keep });
            }
            ToWorker::Drain => self.drain(now, "the coordinator asked it to end", actions),
            ToWorker::Shutdown => self.shut_down(actions),
        }
    }

    /// Nobody wants these items, which are being computed, any more.
    pub(super) fn stop_items(
        &mut self,
        unwanted: impl Fn(&Lease) -> bool,
        actions: &mut Vec<Action>,
    ) {
        let is_item = |lease: &Lease| {
            matches!(lease.task, Task::Item { .. }) && lease.stage == Stage::Computing
        };
        let items = self.leases.iter();
        let items = items.filter(|(_, lease)| is_item(lease) && unwanted(lease));
        let items: Vec<LeaseId> = items.map(|(key, _)| key.lease).collect();
        for lease in items {
            self.abandon(lease, actions);
        }
    }

    /// What comes of a lease that is computing is of no use.
    fn abandon(&mut self, lease: LeaseId, actions: &mut Vec<Action>) {
        self.take(lease);
        self.orphans.push(lease);
        actions.push(Action::Stop { lease });
    }

    pub(super) fn lease(
        &mut self,
        lease: Lease,
        known: Option<TaskOutput>,
        actions: &mut Vec<Action>,
    ) {
        let same = |other: &Lease| other.job == lease.job && other.task == lease.task;
        if let Some(output) = known {
            let idle = |other: &Lease| same(other) && other.stage != Stage::Computing;
            let idle = self
                .leases
                .iter()
                .find(|(_, other)| idle(other))
                .map(|(key, _)| key.lease);
            idle.into_iter().for_each(|idle| self.forget(idle, actions));
            let Lease {
                job, task, attempt, ..
            } = lease;
            let done = FromWorker::Done {
                job,
                task,
                attempt,
                output,
                usage: Usage::default(),
            };
            return self.say(done, actions);
        }
        if let Some((key, already)) = self.leases.iter_mut().find(|(_, other)| same(other)) {
            if already.attempt >= lease.attempt {
                return;
            }
            if already.reads_what(&lease) {
                already.attempt = lease.attempt;
                if already.stage == Stage::Waiting || already.stage == Stage::Crowded {
                    already.inputs = lease.inputs;
                    already.consume = lease.consume;
                }
                return;
            }
            // Results it rests on were taken back meanwhile: it is another computation.
            let (old, computing) = (key.lease, already.stage == Stage::Computing);
            if computing {
                self.abandon(old, actions);
            } else {
                self.forget(old, actions);
            }
        }
        match self.jobs.get(&lease.job).map(|job| &job.engine) {
            None => {
                let reason = format!("job {} was not opened on this connection", lease.job);
                self.fail(lease, Failure::Other(reason), actions);
            }
            Some(Engine::Broken(failure)) => {
                let failure = failure.clone();
                self.fail(lease, failure, actions);
            }
            Some(Engine::Loading | Engine::Loaded) => {
                let id = LeaseId(self.next_lease);
                self.next_lease += 1;
                let key = Key::new(&lease.task, id);
                self.keys.insert(id, key);
                self.leases.insert(key, lease);
            }
        }
    }

    pub(super) fn loaded(
        &mut self,
        job: JobId,
        result: Result<(), Failure>,
        actions: &mut Vec<Action>,
    ) {
        let Some(open) = self.jobs.get_mut(&job) else {
            return;
        };
        match result {
            Ok(()) => open.engine = Engine::Loaded,
            Err(failure) => {
                open.engine = Engine::Broken(failure.clone());
                let of_job: Vec<LeaseId> = self
                    .leases
                    .iter()
                    .filter(|(_, lease)| lease.job == job)
                    .map(|(key, _)| key.lease)
                    .collect();
                for lease in of_job {
                    if let Some(lease) = self.take(lease) {
                        self.fail(lease, failure.clone(), actions);
                    }
                }
            }
        }
    }

    pub(super) fn computed(
        &mut self,
        lease: LeaseId,
        result: Result<TaskOutput, Failure>,
        usage: Usage,
        lost: Vec<ArtifactName>,
        actions: &mut Vec<Action>,
    ) {
        self.uncrowd();
        if self.orphans.contains(&lease) {
            return self.orphans.retain(|orphan| *orphan != lease);
        }
        if self.tainted.remove(&lease)
            && result.is_ok()
            && let Some(again) = self.keys.get(&lease).and_then(|k| self.leases.get_mut(k))
        {
            again.stage = Stage::Waiting;
            let names = again.outputs();
            return actions.push(Action::Release { names });
        }
        let Some(lease) = self.take(lease) else {
            return;
        };
        match result {
            Ok(output) => {
                let Lease {
                    job, task, attempt, ..
                } = lease;
                let done = FromWorker::Done {
                    job,
                    task,
                    attempt,
                    output,
                    usage,
                };
                self.say(done, actions);
            }
            Err(failure) => self.fail(lease, failure, actions),
        }
        // After the failure: whoever hears of it takes the inputs for untouched.
        if !lost.is_empty() {
            let reason = "used up by a task that failed".into();
            self.say(
                FromWorker::Lost {
                    names: lost,
                    reason,
                },
                actions,
            );
        }
    }
}
