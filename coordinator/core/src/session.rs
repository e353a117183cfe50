//! Workers come, fall silent, and go.

use crate::artifact::ArtifactKind;
use crate::effect::{Effect, Order};
use crate::event::{ConnectionId, Now, Registration};
use crate::mutants::{self, Mutant};
use crate::place::place;
use crate::plan::bfs::TaskKey;
use crate::record::{ExpandResult, Phase, Record, WorkerRecord};
use crate::state::{Config, Coordinator, Worker};
use antipode_ids::{Attempt, JobId, WorkerId};
use antipode_solver_core::engine::Certificate;
use antipode_solver_core::job::Task;
use std::collections::BTreeMap;

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
        let mut refuse = |reason: String| {
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
        let record = WorkerRecord {
            name: registration.name.clone(),
            incarnation: registration.incarnation,
            left: false,
        };
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
        };
        self.workers.insert(id, worker);
        for job in self.jobs.values_mut() {
            job.bfs.remove_copies_of(id);
            job.opened.remove(&id);
            job.troubles
                .values_mut()
                .for_each(|trouble| _ = trouble.avoid.remove(&id));
        }
        self.take_up_copies(id, connection, registration.held, out);
        self.take_up_leases(id, old_leases, registration.running, out);
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
                .filter(|job| !job.progress.phase.is_final())
            else {
                let keeps = self
                    .jobs
                    .get(&copy.job)
                    .is_some_and(|job| {
                        job.progress.phase == Phase::Finished && job.keeps_artifacts()
                    });
                strange.insert(copy.job, keeps);
                continue;
            };
            let artifact = copy.artifact;
            let unknown = job
                .bfs
                .cell(artifact.level, artifact.shard)
                .is_some_and(|c| c.result.is_none());
            if unknown && artifact.kind == ArtifactKind::Frontier && artifact.level > 0 {
                let result = ExpandResult {
                    count: copy.count,
                    digest: copy.digest,
                    certificate: Certificate::default(),
                    fetched_bytes: 0,
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
        for (job, task, attempt) in running {
            let adopted = key_of(&task).filter(|&key| match self.jobs.get_mut(&job) {
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
            self.lose(id, out);
            self.rehome(id);
        }
        for job in self.jobs.values_mut() {
            job.opened.remove(&id);
        }
        self.place_all();
        self.touch_all();
    }

    /// The worker said goodbye.
    pub(crate) fn leave(&mut self, id: WorkerId, out: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        worker.record.left = true;
        let record = worker.record.clone();
        out.push(Effect::Persist(Record::Worker {
            worker: id,
            record,
            urgent: false,
        }));
        self.lose(id, out);
        self.rehome(id);
    }

    /// Its leases return, its copies count as gone, and it must register again.
    pub(crate) fn lose(&mut self, id: WorkerId, out: &mut Vec<Effect>) {
        self.awaited.remove(&id);
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        worker.lost = true;
        if let Some(connection) = worker.connection.take() {
            self.connections.remove(&connection);
            out.push(Effect::HangUp { connection });
        }
        let leases = std::mem::take(&mut worker.leases);
        for (job, key) in leases.into_values() {
            if mutants::has(Mutant::ForgetToRequeue) {
                continue;
            }
            if let Some(job) = self.jobs.get_mut(&job) {
                job.bfs.free(key, false);
            }
        }
        for job in self.jobs.values_mut() {
            job.bfs.remove_copies_of(id);
            job.opened.remove(&id);
        }
        self.touch_all();
    }

    /// Others take its shards.
    fn rehome(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.rehomed = true;
        }
        self.place_all();
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
        let lost: Vec<WorkerId> = self
            .workers
            .iter()
            .filter(|(_, w)| !w.lost && (silent(w) > lease || ended(w)))
            .map(|(&id, _)| id)
            .collect();
        lost.into_iter().for_each(|id| self.lose(id, out));
        let away: Vec<WorkerId> = self
            .workers
            .iter()
            .filter(|(_, w)| w.lost && !w.rehomed)
            .filter(|(_, w)| silent(w) > rebuild_after || ended(w))
            .map(|(&id, _)| id)
            .collect();
        away.into_iter().for_each(|id| self.rehome(id));
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
                .map(|(&id, w)| (id, w.threads))
                .collect()
        };
        let (expected, present) = (all(false), all(true));
        for job in self
            .jobs
            .values_mut()
            .filter(|job| !job.progress.phase.is_final())
        {
            let waits = job.bfs.reached() > 0 || present.is_empty();
            place(&mut job.owners, if waits { &expected } else { &present });
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

/// Which task of its job it is.
pub(crate) fn key_of(task: &Task) -> Option<TaskKey> {
    Some(match task {
        Task::Expand { level: 0, .. } => return None,
        Task::Expand { level, shard } => TaskKey::Expand {
            level: *level,
            shard: shard.0,
        },
        Task::Smallest { shard, .. } => TaskKey::Smallest { shard: shard.0 },
        Task::Words { .. } => TaskKey::Words,
        Task::Copy { .. } | Task::Pack { .. } => return None,
    })
}
