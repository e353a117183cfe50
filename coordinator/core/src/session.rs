//! Workers come, fall silent, and go.

use crate::artifact::{Artifact, ArtifactKind};
use crate::effect::{Effect, Order};
use crate::event::{ConnectionId, Now, Registration};
use crate::mutants::{self, Mutant};
use crate::place::place;
use crate::plan::bfs::TaskKey;
use crate::record::{ExpandResult, Phase, Record, WorkerRecord};
use crate::state::{Config, Coordinator, Job, Worker};
use crate::trouble::Crashes;
use antipode_ids::{Attempt, Cause, JobId, WorkerId};
use antipode_solver_core::engine::Certificate;
use antipode_solver_core::job::Task;
use std::collections::{BTreeMap, BTreeSet};

/// So many heartbeats in a row that do not come are a silence.
const SILENT: u64 = 3;

impl Coordinator {
    pub(crate) fn register(
        &mut self,
        now: Now,
        connection: ConnectionId,
        registration: Registration,
        out: &mut Vec<Effect>,
    ) {
        let (name, refusals) = (registration.name.clone(), &mut self.history);
        let mut refuse = |reason: String| {
            refusals.push(now.unix, format!("worker {name} was refused: {reason}"));
            out.push(Effect::Send {
                connection,
                order: Order::Refused { reason },
            });
            out.push(Effect::HangUp { connection });
        };
        if let Some(theirs) = registration
            .cluster
            .as_ref()
            .filter(|theirs| **theirs != self.cluster)
        {
            return refuse(format!(
                "this worker's data belong to cluster {theirs}, the coordinator is of cluster {}; give the worker another --data directory, or start the coordinator with its old one",
                self.cluster
            ));
        }
        let known = registration.worker.and_then(|id| self.workers.get(&id));
        if let Some(known) =
            known.filter(|known| registration.incarnation < known.record.incarnation)
        {
            return refuse(format!(
                "worker {} was started again since ({} after {}); only the later start may go on",
                known.record.name, known.record.incarnation.0, registration.incarnation.0
            ));
        }
        let id = registration.worker.unwrap_or_else(|| {
            WorkerId(self.workers.keys().next_back().map_or(1, |last| last.0 + 1))
        });
        if let Some(old) = self.workers.get_mut(&id).and_then(|w| w.connection.take()) {
            self.connections.remove(&old);
            out.push(Effect::HangUp { connection: old });
        }
        self.connections.insert(connection, id);
        self.awaited.remove(&id);
        let old = self.workers.get(&id);
        let mut record = WorkerRecord {
            name: registration.name.clone(),
            incarnation: registration.incarnation,
            left: false,
            crashes_in_a_row: old.map_or(0, |w| w.record.crashes_in_a_row),
            history: old.map(|w| w.record.history.clone()).unwrap_or_default(),
        };
        let same_start = old.is_some_and(|w| w.record.incarnation == registration.incarnation);
        // A repeated registration of one start repeats what it said.
        let ended = registration.ended.filter(|_| !same_start);
        if let Some(ended) = &ended {
            record.history.push(ended.at, ended.cause.to_string());
            if ended.cause.may_be_the_task() {
                record.crashes_in_a_row += 1;
            }
        }
        out.push(Effect::Persist(Record::Worker {
            worker: id,
            record: record.clone(),
            urgent: true,
        }));
        out.push(Effect::Send {
            connection,
            order: Order::Welcome { worker: id },
        });

        // What it says now replaces all that was believed of it before.
        let before = self.workers.remove(&id);
        let old_leases = before
            .as_ref()
            .map(|w| w.leases.clone())
            .unwrap_or_default();
        let worker = Worker {
            record,
            version: registration.version,
            address: registration.address,
            threads: registration.threads,
            memory_bytes: registration.memory_bytes,
            kernel: registration.kernel,
            devices: registration.devices,
            local: registration.local,
            connection: Some(connection),
            seen_at_millis: now.millis,
            seen_at: now.unix,
            closed_at: None,
            lost: false,
            rehomed: false,
            leases: BTreeMap::new(),
            tasks_done: before.as_ref().map_or(0, |w| w.tasks_done),
            peak_memory_bytes: before.as_ref().map_or(0, |w| w.peak_memory_bytes),
            draining: before
                .as_ref()
                .filter(|_| same_start)
                .and_then(|w| w.draining.clone()),
            disk: before.as_ref().map(|w| w.disk.clone()).unwrap_or_default(),
            failures: BTreeSet::new(),
            quarantined: None,
            doubted: false,
            at_loss: Vec::new(),
        };
        self.workers.insert(id, worker);
        if let Some(ended) = ended {
            let keys = ended.running.iter();
            let keys = keys.filter_map(|(job, task)| Some((*job, key_of(task, id)?)));
            self.note_end(now, id, ended.cause, &keys.collect::<Vec<_>>(), out);
        }
        self.quarantine_if_crashing(now, id);
        let mut without_copies = Vec::new();
        for (&job_id, job) in &mut self.jobs {
            job.bfs.remove_copies_of(id);
            let incomplete = matches!(job.progress.phase, Phase::Incomplete { .. });
            if incomplete && !job.bfs.has_useful_copy() {
                without_copies.push(job_id);
            }
            job.opened.remove(&id);
            job.troubles
                .values_mut()
                .for_each(|trouble| trouble.forgive(id));
        }
        self.take_up_copies(id, connection, registration.held, out);
        self.take_up_leases(id, old_leases, registration.running, out);
        for job in without_copies {
            // What was gone has come back.
            if self
                .jobs
                .get(&job)
                .is_some_and(|job| job.bfs.has_useful_copy())
            {
                self.go_on(now, job, out);
            }
        }
        self.place_all();
        self.touch_all();
    }

    /// Copies that a worker brings. A frontier without a known result brings the result along.
    fn take_up_copies(
        &mut self,
        id: WorkerId,
        connection: ConnectionId,
        mut held: Vec<crate::event::Held>,
        out: &mut Vec<Effect>,
    ) {
        held.sort_by_key(|h| (h.artifact.kind, h.artifact.level, h.artifact.shard));
        let mut strange: BTreeMap<JobId, bool> = BTreeMap::new();
        for copy in held {
            let Some(job) = self
                .jobs
                .get_mut(&copy.job)
                .filter(|job| !job.progress.phase.is_final() || job.is_database())
            else {
                let keeps = self.jobs.get(&copy.job).is_some_and(|job| {
                    job.progress.phase == Phase::Finished && job.keeps_artifacts()
                });
                strange.insert(copy.job, keeps);
                continue;
            };
            let artifact = copy.artifact;
            let unknown = job
                .bfs
                .cell(artifact.level, artifact.shard)
                .is_some_and(|c| c.result.is_none())
                && !job.is_database()
                && !job.progress.mistrusts
                && job
                    .dispute(TaskKey::Expand {
                        level: artifact.level,
                        shard: artifact.shard,
                    })
                    .is_none();
            if unknown && artifact.kind == ArtifactKind::Frontier && artifact.level > 0 {
                let result = ExpandResult {
                    count: copy.count,
                    digest: copy.digest,
                    certificate: Certificate::default(),
                    fetched_bytes: 0,
                    on_device: None,
                    by: Some(id),
                };
                job.bfs.accept(artifact.level, artifact.shard, result);
                job.bfs.settle();
            }
            // A refusal has told the worker to drop it.
            _ = job
                .bfs
                .add_copy(artifact, (copy.count, copy.digest), id, copy.durable);
        }
        for (job, keep) in strange {
            out.push(Effect::Send {
                connection,
                order: Order::Close { job, keep },
            });
        }
    }

    /// Leases that go on, and those that are free because the worker does not know of them.
    fn take_up_leases(
        &mut self,
        id: WorkerId,
        old: BTreeMap<Attempt, (JobId, TaskKey)>,
        running: Vec<(JobId, Task, Attempt)>,
        out: &mut Vec<Effect>,
    ) {
        let mut unwanted = Vec::new();
        let mut going_on = BTreeMap::new();
        let mut over = BTreeSet::new();
        for (job, task, attempt) in running {
            let adopted = key_of(&task, id).filter(|&key| match self.jobs.get_mut(&job) {
                Some(job) if job.is_running() => {
                    old.contains_key(&attempt)
                        && job.bfs.lease(key).is_some_and(|l| l.attempt == attempt)
                        || job.bfs.adopt_lease(key, id, attempt)
                }
                _ => false,
            });
            match adopted {
                Some(key) => _ = going_on.insert(attempt, (job, key)),
                None => unwanted.push(attempt),
            }
            let open = |job: &Job| !job.progress.phase.is_final() || job.is_database();
            if !self.jobs.get(&job).is_some_and(open) {
                over.insert(job);
            }
        }
        for (attempt, (job, key)) in old {
            if !going_on.contains_key(&attempt)
                && let Some(job) = self.jobs.get_mut(&job)
            {
                job.bfs.free(key, false);
            }
        }
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        worker.leases = going_on;
        if let Some(connection) = worker.connection.filter(|_| !unwanted.is_empty()) {
            out.push(Effect::Send {
                connection,
                order: Order::Revoke { attempts: unwanted },
            });
        }
        for job in over {
            self.order(id, Order::Close { job, keep: false }, out);
        }
    }

    /// A closed connection tells of the end of a process at once. One that is closed after a
    /// silence tells nothing: the network gave up.
    pub(crate) fn disconnected(
        &mut self,
        now: Now,
        connection: ConnectionId,
        out: &mut Vec<Effect>,
    ) {
        let Some(id) = self.connections.remove(&connection) else {
            return;
        };
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        worker.connection = None;
        let silent = now.millis.saturating_sub(worker.seen_at_millis);
        worker.closed_at = (silent <= SILENT * self.config.heartbeat).then_some(now.millis);
        if worker.local {
            self.lose(now, id, Cause::Closed, out);
            self.rehome(now, id, out);
        }
        for job in self.jobs.values_mut() {
            job.opened.remove(&id);
        }
        self.place_all();
        self.touch_all();
    }

    /// The worker said goodbye.
    pub(crate) fn leave(&mut self, now: Now, id: WorkerId, out: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        worker.record.left = true;
        worker
            .record
            .history
            .push(now.unix, Cause::Left.to_string());
        let record = worker.record.clone();
        out.push(Effect::Persist(Record::Worker {
            worker: id,
            record,
            urgent: false,
        }));
        self.lose(now, id, Cause::Left, out);
        self.rehome(now, id, out);
    }

    /// Its leases return, its copies count as gone, and it must register again.
    pub(crate) fn lose(&mut self, now: Now, id: WorkerId, cause: Cause, out: &mut Vec<Effect>) {
        self.awaited.remove(&id);
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        worker.lost = true;
        if cause != Cause::Left {
            worker.record.history.push(now.unix, cause.to_string());
        }
        let name = format!("{} ({id})", worker.record.name);
        if let Some(connection) = worker.connection.take() {
            self.connections.remove(&connection);
            out.push(Effect::HangUp { connection });
        }
        let leases = std::mem::take(&mut worker.leases);
        if cause.may_be_the_task() {
            worker.at_loss = leases.values().copied().collect();
        }
        let mut lost_leases: BTreeMap<JobId, usize> = BTreeMap::new();
        for (job, key) in leases.into_values() {
            if mutants::has(Mutant::ForgetToRequeue) {
                continue;
            }
            *lost_leases.entry(job).or_default() += 1;
            if let Some(job) = self.jobs.get_mut(&job) {
                job.bfs.free(key, false);
            }
        }
        for (job_id, job) in &mut self.jobs {
            let copies = job.bfs.remove_copies_of(id);
            job.opened.remove(&id);
            let leases = lost_leases.get(job_id).copied().unwrap_or(0);
            if !job.progress.phase.is_final() && (copies > 0 || leases > 0) {
                let what = format!(
                    "worker {name} is gone ({cause}); {copies} artifacts that it holds and {leases} tasks that it had do not count until it comes back"
                );
                job.progress.history.push(now.unix, what);
            }
        }
        self.touch_all();
    }

    /// Others take its shards. It did not come back to say what it was doing when it ended: all that it
    /// was leased may be to blame.
    fn rehome(&mut self, now: Now, id: WorkerId, out: &mut Vec<Effect>) {
        let mut at_loss = Vec::new();
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.rehomed = true;
            at_loss = std::mem::take(&mut worker.at_loss);
        }
        self.note_end(now, id, Cause::Closed, &at_loss, out);
        self.place_all();
    }

    /// A worker's process ended with these tasks at work.
    fn note_end(
        &mut self,
        now: Now,
        id: WorkerId,
        cause: Cause,
        at_work: &[(JobId, TaskKey)],
        out: &mut Vec<Effect>,
    ) {
        if !cause.may_be_the_task() || at_work.is_empty() {
            return;
        }
        let alone = at_work.len() == 1;
        let (name, crash_limit) = (self.name(id), self.config.crash_limit);
        for &(job_id, key) in at_work {
            let Some(job) = self.unfinished(job_id) else {
                continue;
            };
            let known = job.progress.crashes.iter().position(|(of, _)| *of == key);
            let at = known.unwrap_or_else(|| {
                let new = Crashes {
                    together: 0,
                    alone: 0,
                    last: cause,
                    at: now.unix,
                };
                job.progress.crashes.push((key, new));
                job.progress.crashes.len() - 1
            });
            let crashes = &mut job.progress.crashes[at].1;
            *(if alone {
                &mut crashes.alone
            } else {
                &mut crashes.together
            }) += 1;
            (crashes.last, crashes.at) = (cause, now.unix);
            let crashes = *crashes;
            if alone {
                let task = job.name_of(key);
                let what = format!(
                    "worker {name} ended while {task} ran alone, for the {}. time: {cause}",
                    crashes.alone
                );
                job.progress.history.push(now.unix, what);
                if crashes.alone == crash_limit {
                    let what =
                        format!("{task} is set aside: it ended its worker {crash_limit} times");
                    job.progress.history.push(now.unix, what);
                }
            }
            out.push(Effect::Persist(job.progress_record(job_id, now, true)));
            self.touched.insert(job_id);
        }
    }

    /// A worker that ends again and again without finishing anything gets no more tasks, while there
    /// are others.
    fn quarantine_if_crashing(&mut self, now: Now, id: WorkerId) {
        let limit = self.config.crash_limit;
        let others = self.lasting().any(|(other, _)| other != id);
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        if worker.record.crashes_in_a_row >= limit && others {
            let reason = format!(
                "it ended {} times in a row without finishing a task",
                worker.record.crashes_in_a_row
            );
            worker
                .record
                .history
                .push(now.unix, format!("quarantined: {reason}"));
            worker.quarantined = Some(reason);
        }
    }

    pub(crate) fn tick(&mut self, now: Now, out: &mut Vec<Effect>) {
        // If this process itself was asleep, nobody could be heard: that is not the workers' fault.
        let slept = self
            .last_tick
            .map_or(0, |last| now.millis.saturating_sub(last));
        if slept > SILENT * self.config.heartbeat {
            let missed = slept - self.config.heartbeat;
            let later = |time: u64| (time + missed).min(now.millis);
            for worker in self.workers.values_mut() {
                worker.seen_at_millis = later(worker.seen_at_millis);
                worker.closed_at = worker.closed_at.map(later);
            }
        }
        self.last_tick = Some(now.millis);
        if self.awaited_until.is_some_and(|until| now.millis >= until) {
            self.awaited.clear();
        }
        if self.awaited_until.is_some() && self.awaited.is_empty() {
            self.awaited_until = None;
            self.touch_all();
        }
        let silent = |worker: &Worker| {
            if worker.local && worker.connection.is_some() {
                0
            } else {
                now.millis - worker.seen_at_millis.min(now.millis)
            }
        };
        let Config {
            lease,
            rebuild_after,
            reconnect,
            ..
        } = self.config;
        let ended = |worker: &Worker| {
            let since = |at| now.millis.saturating_sub(at);
            worker.closed_at.is_some_and(|at| since(at) >= reconnect)
        };
        // Unlike a task, a copy harms nobody: it is tried again after a while.
        for job in self.jobs.values_mut() {
            job.troubles
                .retain(|key, _| !matches!(key, TaskKey::Copy { .. }));
        }
        let lost: Vec<WorkerId> = self
            .workers
            .iter()
            .filter(|(_, w)| !w.lost && (silent(w) > lease || ended(w)))
            .map(|(&id, _)| id)
            .collect();
        for id in lost {
            let closed = self.workers.get(&id).is_some_and(ended);
            let cause = if closed { Cause::Closed } else { Cause::Silent };
            self.lose(now, id, cause, out);
        }
        let away: Vec<WorkerId> = self
            .workers
            .iter()
            .filter(|(_, w)| w.lost && !w.rehomed)
            .filter(|(_, w)| silent(w) > rebuild_after || ended(w))
            .map(|(&id, _)| id)
            .collect();
        away.into_iter().for_each(|id| self.rehome(now, id, out));
    }

    /// Gives the shards of all unfinished jobs to the workers there are.
    ///
    /// A worker that is away for a moment keeps the shards of a job that has begun, since it may
    /// come back with their frontiers; a job that has not begun waits for nobody.
    pub(crate) fn place_all(&mut self) {
        let all = |present: bool| -> Vec<(WorkerId, u32)> {
            let workers = self.workers.iter();
            workers
                .filter(|(_, w)| if present { w.is_live() } else { !w.rehomed })
                .filter(|(_, w)| w.draining.is_none() && w.quarantined.is_none())
                .map(|(&id, w)| (id, w.threads))
                .collect()
        };
        let (expected, present) = (all(false), all(true));
        let places = self.config.places(self.lasting().count());
        let databases = self.jobs.values_mut().filter(|job| job.is_database());
        for job in databases.filter(|job| job.bfs.places() != places) {
            job.bfs.set_places(places);
        }
        for job in self
            .jobs
            .values_mut()
            .filter(|job| !job.progress.phase.is_final())
        {
            let waits = job.bfs.reached() > 0 || present.is_empty();
            place(&mut job.owners, if waits { &expected } else { &present });
            if job.bfs.places() != places {
                job.bfs.set_places(places);
            }
        }
    }

    pub(crate) fn touch_all(&mut self) {
        let unfinished = self
            .jobs
            .iter()
            .filter(|(_, job)| !job.progress.phase.is_final());
        self.touched.extend(unfinished.map(|(&id, _)| id));
    }
}

/// Which task of its job it is, done by this worker.
pub(crate) fn key_of(task: &Task, by: WorkerId) -> Option<TaskKey> {
    Some(match task {
        Task::Expand { level: 0, .. } => return None,
        Task::Expand { level, shard } => TaskKey::Expand {
            level: *level,
            shard: shard.0,
        },
        Task::Item { item } => TaskKey::Expand {
            level: 1,
            shard: item.0,
        },
        Task::Smallest { shard, .. } => TaskKey::Smallest { shard: shard.0 },
        Task::Words { .. } => TaskKey::Words,
        Task::Pack { shard, .. } => TaskKey::Pack { shard: shard.0 },
        Task::Copy { kind, level, shard } => TaskKey::Copy {
            artifact: Artifact {
                level: *level,
                shard: shard.0,
                kind: *kind,
            },
            to: by,
        },
    })
}
