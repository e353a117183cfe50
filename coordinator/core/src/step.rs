//! One event in, effects out.

use crate::artifact::Artifact;
use crate::effect::{Change, Effect, Order, Reply};
use crate::event::{ConnectionId, Event, Failure, Now, Report, RequestId};
use crate::plan::bfs::{News, TaskKey, Writing};
use crate::record::{ExpandResult, JobRecord, Phase, Record};
use crate::session::key_of;
use crate::state::{Coordinator, Job};
use antipode_ids::{Attempt, JobId, WorkerId};
use antipode_solver_core::engine::output_fits;
use antipode_solver_core::job::{JobDefinition, Keep, Task, TaskOutput};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A task that failed so often fails the job.
const MAX_FAILURES: u32 = 5;
/// A task whose inputs were not to be had so often fails the job: the network must be broken.
const MAX_INPUTS_MISSING: u32 = 25;
/// A job that nobody works on for so many heartbeats is called stalled.
const STALLED_AFTER: u64 = 2;
/// The first checkpoint by cost is not made before this, in milliseconds.
const FIRST_CHECKPOINT: u64 = 10_000;
/// Until a checkpoint was measured, disks are taken to write so many bytes a millisecond.
const ASSUMED_WRITE_RATE: u64 = 200_000;

impl Coordinator {
    /// Takes in one event. Effects are to be performed in order.
    pub fn step(&mut self, now: Now, event: Event) -> Vec<Effect> {
        let mut out = Vec::new();
        match event {
            Event::Tick => {
                self.tick(now, &mut out);
                self.start_checkpoints(now);
                self.touch_all();
            }
            Event::Submit {
                request,
                key,
                fresh,
                definition,
                roots,
            } => {
                self.submit(now, request, key, fresh, definition, roots, &mut out);
            }
            Event::Cancel { request, job } => self.cancel(now, request, job, &mut out),
            Event::Pause { request, job } => self.pause(now, request, job, &mut out),
            Event::Resume { request, job } => self.resume(now, request, job, &mut out),
            Event::Register {
                connection,
                registration,
            } => {
                self.register(now, connection, *registration, &mut out);
            }
            Event::Disconnected { connection } => self.disconnected(now, connection, &mut out),
            Event::Report { connection, report } => self.report(now, connection, report, &mut out),
        }
        while let Some(job) = self.touched.pop_first() {
            self.advance(now, job, &mut out);
            self.start_queued(now, &mut out);
        }
        out
    }

    #[allow(clippy::too_many_arguments)]
    fn submit(
        &mut self,
        now: Now,
        request: RequestId,
        key: String,
        fresh: bool,
        definition: Arc<JobDefinition>,
        roots: Vec<(u64, antipode_solver_core::engine::Digest)>,
        out: &mut Vec<Effect>,
    ) {
        if let Some(&(job, existing)) = self.keys.get(&key) {
            out.push(Effect::Reply {
                request,
                reply: Reply::Submitted { job, existing },
            });
            return;
        }
        let same = self
            .jobs
            .iter()
            .rev()
            .find(|(_, job)| !fresh && job.answers(&definition))
            .map(|(&id, _)| id);
        let existing = same.is_some();
        let job = match same {
            Some(id) => {
                if self
                    .jobs
                    .get(&id)
                    .is_some_and(|job| job.progress.phase == Phase::Paused)
                {
                    self.go_on(now, id, out);
                }
                id
            }
            None => {
                let id = JobId(self.jobs.keys().next_back().map_or(1, |last| last.0 + 1));
                let record = Arc::new(JobRecord {
                    definition,
                    roots,
                    submitted_at: now.unix,
                });
                match Job::new(Arc::clone(&record)) {
                    Err(reason) => {
                        out.push(Effect::Reply {
                            request,
                            reply: Reply::Invalid { reason },
                        });
                        return;
                    }
                    Ok(job) => {
                        out.push(Effect::Persist(Record::Job { job: id, record }));
                        out.push(Effect::Persist(job.progress_record(id, now, true)));
                        self.jobs.insert(id, job);
                    }
                }
                self.place_all();
                self.touched.insert(id);
                id
            }
        };
        self.keys.insert(key.clone(), (job, existing));
        out.push(Effect::Persist(Record::Key { key, job, existing }));
        out.push(Effect::Reply {
            request,
            reply: Reply::Submitted { job, existing },
        });
    }

    /// Starts the oldest queued job when no other job is being worked on, nor could be.
    fn start_queued(&mut self, now: Now, out: &mut Vec<Effect>) {
        let nobody = self.live().next().is_none();
        if self
            .jobs
            .values()
            .any(|job| job.is_running() && (nobody || job.stalled.is_none()))
        {
            return;
        }
        let queued = self
            .jobs
            .iter_mut()
            .find(|(_, job)| job.progress.phase == Phase::Queued);
        if let Some((&id, job)) = queued {
            job.progress.phase = Phase::Running;
            job.start_clock(now);
            out.push(Effect::Persist(job.progress_record(id, now, false)));
            out.push(Effect::Changed {
                job: id,
                change: Change::State,
            });
            self.touched.insert(id);
        }
    }

    fn cancel(&mut self, now: Now, request: RequestId, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&id) else {
            out.push(Effect::Reply {
                request,
                reply: Reply::NoSuchJob { job: id },
            });
            return;
        };
        if !job.progress.phase.is_final() {
            self.end_job(now, id, Phase::Cancelled, out);
        }
        out.push(Effect::Reply {
            request,
            reply: Reply::Done { job: id },
        });
    }

    fn pause(&mut self, now: Now, request: RequestId, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&id) else {
            out.push(Effect::Reply {
                request,
                reply: Reply::NoSuchJob { job: id },
            });
            return;
        };
        match job.progress.phase {
            Phase::Running => {
                job.pausing.push(request);
                if job.bfs.begin_checkpoint() {
                    job.checkpointing.began = Some(now.millis);
                }
                self.touched.insert(id);
            }
            Phase::Queued => {
                job.pausing.push(request);
                self.paused(now, id, out);
            }
            _ => out.push(Effect::Reply {
                request,
                reply: Reply::Done { job: id },
            }),
        }
    }

    fn paused(&mut self, now: Now, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.bfs.abandon_checkpoint();
        self.touched.insert(id);
        job.stop_clock(now);
        job.progress.phase = Phase::Paused;
        job.stalled = None;
        out.push(Effect::Persist(job.progress_record(id, now, true)));
        out.push(Effect::Changed {
            job: id,
            change: Change::State,
        });
        for request in job.pausing.drain(..) {
            out.push(Effect::Reply {
                request,
                reply: Reply::Done { job: id },
            });
        }
    }

    fn resume(&mut self, now: Now, request: RequestId, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&id) else {
            out.push(Effect::Reply {
                request,
                reply: Reply::NoSuchJob { job: id },
            });
            return;
        };
        match job.progress.phase {
            Phase::Paused => self.go_on(now, id, out),
            Phase::Failed { .. } | Phase::Cancelled => {
                let reason = format!("job {id} has ended; submit it again to compute it anew");
                out.push(Effect::Reply {
                    request,
                    reply: Reply::Invalid { reason },
                });
                return;
            }
            Phase::Queued | Phase::Running | Phase::Finished => {}
        }
        out.push(Effect::Reply {
            request,
            reply: Reply::Done { job: id },
        });
    }

    fn go_on(&mut self, now: Now, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.note_resumption();
        job.progress.phase = Phase::Queued;
        out.push(Effect::Persist(job.progress_record(id, now, true)));
        out.push(Effect::Changed {
            job: id,
            change: Change::State,
        });
        self.touched.insert(id);
    }

    fn report(
        &mut self,
        now: Now,
        connection: ConnectionId,
        report: Report,
        out: &mut Vec<Effect>,
    ) {
        // Whoever is not registered on this connection is told by its end, and comes again.
        let Some(&id) = self.connections.get(&connection) else {
            return;
        };
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.last_seen = now.millis;
            worker.last_seen_unix = now.unix;
        }
        match report {
            Report::Heartbeat {
                memory_bytes: _,
                peak_memory_bytes,
            } => self.note_memory(id, peak_memory_bytes),
            Report::Done {
                job,
                task,
                attempt,
                output,
                engine_nanos,
                fetched_bytes,
            } => {
                let usage = Usage {
                    engine_nanos,
                    fetched_bytes,
                };
                self.done(now, id, job, &task, attempt, output, usage, out);
                self.touched.insert(job);
            }
            Report::Failed {
                job,
                task,
                attempt,
                failure,
            } => {
                self.failed(now, id, job, &task, attempt, failure, out);
                self.touched.insert(job);
            }
            Report::Durable { artifacts } => {
                for (job, artifact) in artifacts {
                    if let Some(job) = self.jobs.get_mut(&job) {
                        job.bfs.copy_is_durable(artifact, id);
                    }
                    self.touched.insert(job);
                }
            }
            Report::Lost {
                artifacts,
                reason: _,
            } => {
                for (job, artifact) in artifacts {
                    if let Some(job) = self.jobs.get_mut(&job) {
                        job.bfs.remove_copy(artifact, id);
                    }
                    self.touched.insert(job);
                }
            }
            Report::Leaving { reason: _ } => self.leave(id, out),
        }
    }

    fn note_memory(&mut self, id: WorkerId, peak: u64) {
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        worker.peak_memory_bytes = worker.peak_memory_bytes.max(peak);
        let peak = worker.peak_memory_bytes;
        for job in self.jobs.values_mut().filter(|job| job.is_running()) {
            if let Some(participant) = job.progress.workers.get_mut(&id) {
                participant.peak_memory_bytes = participant.peak_memory_bytes.max(peak);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn done(
        &mut self,
        now: Now,
        from: WorkerId,
        id: JobId,
        task: &Task,
        attempt: Attempt,
        output: TaskOutput,
        usage: Usage,
        out: &mut Vec<Effect>,
    ) {
        self.forget_lease(from, attempt);
        let Some(job) = self
            .jobs
            .get_mut(&id)
            .filter(|job| !job.progress.phase.is_final())
        else {
            return;
        };
        let Some(key) = key_of(task).filter(|_| output_fits(task, &output)) else {
            let failure = Failure::Other("the answer does not fit the task".into());
            return self.failed(now, from, id, task, attempt, failure, out);
        };
        let lease = job.bfs.lease(key);
        let counted = match (key, output) {
            (
                TaskKey::Expand { level, shard },
                TaskOutput::Expanded {
                    count,
                    digest,
                    certificate,
                },
            ) => {
                let Some(cell) = job.bfs.cell(level, shard) else {
                    return;
                };
                let first = cell.result;
                if let Some(first) =
                    first.filter(|first| (first.count, first.digest) != (count, digest))
                {
                    let reason = format!(
                        "two answers for level {level}, shard {shard}: {} states, digest {} from {}; {count} states, digest {digest} from {}",
                        first.count,
                        first.digest,
                        name_of(job, first.by),
                        self.workers.get(&from).map_or("", |w| w.name()),
                    );
                    return self.end_job(
                        now,
                        id,
                        Phase::Failed {
                            reason,
                            internal: true,
                        },
                        out,
                    );
                }
                job.bfs.free(key, false);
                if first.is_none() {
                    let fetched_bytes = usage.fetched_bytes;
                    let result = ExpandResult {
                        count,
                        digest,
                        certificate,
                        fetched_bytes,
                        by: Some(from),
                    };
                    job.bfs.accept(level, shard, result);
                }
                let made: Vec<Artifact> = job.bfs.graph().outputs(level, shard).collect();
                for artifact in made {
                    // A visited set needs all results below it; they are known, levels run in order.
                    if let Some(content) = job.bfs.content(artifact).filter(|content| content.0 > 0)
                    {
                        _ = job.bfs.add_copy(artifact, content, from, false);
                    }
                }
                Ok(true)
            }
            (TaskKey::Smallest { shard }, TaskOutput::Smallest { states }) => {
                job.bfs.accept_smallest(shard, states)
            }
            (TaskKey::Words, TaskOutput::Words { words }) => job.bfs.accept_words(words),
            _ => Ok(false),
        };
        match counted {
            Ok(false) => {}
            Ok(true) => {
                // The answer is here, whoever else was to give it.
                if let Some(other) = lease.filter(|lease| lease.attempt != attempt) {
                    revoke(&mut self.workers, other.worker, other.attempt, out);
                }
                job.troubles.remove(&key);
                job.progress.tasks_done += 1;
                job.progress.engine_nanos += usage.engine_nanos;
                if let Some(worker) = self.workers.get_mut(&from) {
                    worker.tasks_done += 1;
                    let participant = job.progress.workers.entry(from).or_default();
                    participant.name.clone_from(&worker.record.name);
                    participant.kernel.clone_from(&worker.kernel);
                    participant.threads = worker.threads;
                    participant.peak_memory_bytes =
                        participant.peak_memory_bytes.max(worker.peak_memory_bytes);
                }
                out.push(Effect::Changed {
                    job: id,
                    change: Change::Progress,
                });
            }
            Err(reason) => self.failed(now, from, id, task, attempt, Failure::Other(reason), out),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn failed(
        &mut self,
        now: Now,
        from: WorkerId,
        id: JobId,
        task: &Task,
        attempt: Attempt,
        failure: Failure,
        out: &mut Vec<Effect>,
    ) {
        self.forget_lease(from, attempt);
        let Some(job) = self
            .jobs
            .get_mut(&id)
            .filter(|job| !job.progress.phase.is_final())
        else {
            return;
        };
        let worker = self.workers.get(&from).map_or("", |w| w.name()).to_string();
        if let Failure::Violated(reason) = failure {
            let reason = format!("worker {worker}, {}: {reason}", describe(task));
            return self.end_job(
                now,
                id,
                Phase::Failed {
                    reason,
                    internal: true,
                },
                out,
            );
        }
        let Some(key) = key_of(task) else { return };
        // Only the present lease may be given back; an older one says nothing about it.
        if job
            .bfs
            .lease(key)
            .is_none_or(|lease| lease.attempt != attempt)
        {
            return;
        }
        job.bfs.free(key, true);
        let trouble = job.troubles.entry(key).or_default();
        let reason = match failure {
            Failure::InputMissing {
                artifact,
                tried,
                reason,
            } => {
                let gone = tried
                    .iter()
                    .filter(|&&worker| job.bfs.remove_copy(artifact, worker))
                    .count();
                trouble.inputs_missing += 1;
                if gone == 0 {
                    trouble.failures += 1;
                }
                format!("the {artifact} was not to be had: {reason}")
            }
            Failure::Memory { needed, allowed } => {
                trouble.avoid.insert(from);
                trouble.memory = Some((needed, allowed.max(trouble.memory.map_or(0, |m| m.1))));
                let live = self.workers.iter().filter(|(_, w)| w.is_live());
                let stuck = live
                    .clone()
                    .all(|(id, w)| w.local && trouble.avoid.contains(id));
                if stuck {
                    let reason = format!(
                        "{} needs {needed} bytes of memory, {allowed} are allowed; give --memory more",
                        describe(task)
                    );
                    return self.end_job(
                        now,
                        id,
                        Phase::Failed {
                            reason,
                            internal: false,
                        },
                        out,
                    );
                }
                return;
            }
            Failure::Other(reason) => {
                trouble.failures += 1;
                trouble.avoid.insert(from);
                reason
            }
            Failure::Violated(_) => return,
        };
        if trouble.failures >= MAX_FAILURES || trouble.inputs_missing >= MAX_INPUTS_MISSING {
            let times = trouble.failures.max(trouble.inputs_missing);
            let reason = format!(
                "{} failed {times} times, last at worker {worker}: {reason}",
                describe(task)
            );
            self.end_job(
                now,
                id,
                Phase::Failed {
                    reason,
                    internal: false,
                },
                out,
            );
        }
    }

    fn forget_lease(&mut self, worker: WorkerId, attempt: Attempt) {
        if let Some(worker) = self.workers.get_mut(&worker) {
            worker.leases.remove(&attempt);
        }
    }

    fn start_checkpoints(&mut self, now: Now) {
        for (&id, job) in self.jobs.iter_mut().filter(|(_, job)| job.is_running()) {
            if job.bfs.checkpoint().unwrap_or(0) >= job.bfs.reached()
                || *job.bfs.writing() != Writing::No
            {
                continue;
            }
            let due =
                self.config
                    .checkpoint_every
                    .unwrap_or_else(|| match job.checkpointing.took {
                        Some(took) => 10 * took,
                        None => FIRST_CHECKPOINT
                            .max(10 * job.bfs.checkpoint_bytes() / ASSUMED_WRITE_RATE),
                    });
            if now.millis.saturating_sub(job.checkpointing.last) >= due
                && job.bfs.begin_checkpoint()
            {
                job.checkpointing.began = Some(now.millis);
                self.touched.insert(id);
            }
        }
    }

    /// Follows up whatever changed in a job: results to the store, orders to workers, leases, ends.
    fn advance(&mut self, now: Now, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self
            .jobs
            .get_mut(&id)
            .filter(|job| !job.progress.phase.is_final())
        else {
            return;
        };
        job.bfs.settle();
        let news = job.bfs.take_news();
        let checkpointed = news.checkpointed;
        let levels = news.levels.clone();
        let violation = news.violation.clone();
        self.tell(id, news, out);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if let Some(reason) = violation {
            return self.end_job(
                now,
                id,
                Phase::Failed {
                    reason,
                    internal: true,
                },
                out,
            );
        }
        if checkpointed {
            job.progress.checkpoint = job.bfs.checkpoint();
            let began = job.checkpointing.began.take().unwrap_or(now.millis);
            job.checkpointing.took = Some(now.millis.saturating_sub(began));
            job.checkpointing.last = now.millis;
            out.push(Effect::Persist(job.progress_record(id, now, true)));
        } else if !levels.is_empty() {
            out.push(Effect::Persist(job.progress_record(id, now, false)));
        }
        out.extend(levels.into_iter().map(|l| Effect::Changed {
            job: id,
            change: Change::Level(l),
        }));
        if job.is_running() && job.bfs.is_finished() {
            job.progress.exhausted = job.bfs.end().is_some_and(|end| end.exhausted);
            job.progress.antipodes = job.bfs.finals().antipodes().to_vec();
            return self.end_job(now, id, Phase::Finished, out);
        }
        let nobody = self.live().next().is_none();
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        if job.is_running() && !job.pausing.is_empty() && job.bfs.end().is_none() {
            // Without workers nothing can be written; what was checkpointed before stands.
            if checkpointed || nobody {
                return self.paused(now, id, out);
            }
        }
        self.lease_ready(now, id, out);
        self.note_stall(now, id, out);
    }

    /// Performs what the planner found out.
    fn tell(&mut self, id: JobId, news: News, out: &mut Vec<Effect>) {
        let results = news.results.into_iter();
        out.extend(results.map(|(level, shard, result)| {
            Effect::Persist(Record::Result {
                job: id,
                level,
                shard,
                result,
            })
        }));
        for lease in news.revoked {
            revoke(&mut self.workers, lease.worker, lease.attempt, out);
        }
        for (worker, artifacts) in by_worker(news.released) {
            self.order(worker, Order::Release { job: id, artifacts }, out);
        }
        for (worker, artifacts) in by_worker(news.persist) {
            self.order(worker, Order::Persist { job: id, artifacts }, out);
        }
    }

    fn order(&self, worker: WorkerId, order: Order, out: &mut Vec<Effect>) {
        if let Some(connection) = self.workers.get(&worker).and_then(|w| w.connection) {
            out.push(Effect::Send { connection, order });
        }
    }

    /// Is anybody at work for the job? If not: since when, and why.
    fn note_stall(&mut self, now: Now, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&id).filter(|job| job.is_running()) else {
            return;
        };
        let computing = self
            .live()
            .any(|(_, w)| w.leases.values().any(|(of, _)| *of == id));
        let writing = self.live().next().is_some()
            && (matches!(job.bfs.writing(), Writing::Writing { .. })
                || (job.bfs.end().is_some() && !job.bfs.unsaved().is_empty()));
        let reason = (!computing && !writing).then(|| self.explain_running(now, job));
        let patience = STALLED_AFTER * self.config.heartbeat;
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let stalled = match reason {
            None => {
                job.idle_since = None;
                None
            }
            Some(reason) => {
                let idle = now.millis - *job.idle_since.get_or_insert(now.millis);
                (idle >= patience).then_some((now.unix.saturating_sub(idle / 1000), reason))
            }
        };
        let said = |stalled: &Option<(u64, String)>| stalled.as_ref().map(|(_, reason)| reason.clone());
        if said(&job.stalled) != said(&stalled) {
            job.stalled = stalled;
            out.push(Effect::Changed {
                job: id,
                change: Change::State,
            });
        }
    }

    /// The end of a job, for whatever reason.
    fn end_job(&mut self, now: Now, id: JobId, phase: Phase, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let keep = phase == Phase::Finished && job.keeps_artifacts();
        job.stop_clock(now);
        job.progress.phase = phase;
        job.progress.finished_at = Some(now.unix);
        job.stalled = None;
        job.troubles.clear();
        job.bfs.settle();
        let news = job.bfs.take_news();
        job.bfs.close();
        job.opened.clear();
        let pausing = std::mem::take(&mut job.pausing);
        self.tell(
            id,
            News {
                results: news.results,
                ..News::default()
            },
            out,
        );
        for worker in self.workers.values_mut() {
            worker.leases.retain(|_, (of, _)| *of != id);
        }
        if let Some(job) = self.jobs.get(&id) {
            out.push(Effect::Persist(job.progress_record(id, now, true)));
        }
        // Also to those that were not asked on this connection: they may hold something of it.
        let connected: Vec<WorkerId> = self.live().map(|(id, _)| id).collect();
        for worker in connected {
            self.order(worker, Order::Close { job: id, keep }, out);
        }
        out.push(Effect::Changed {
            job: id,
            change: Change::State,
        });
        for request in pausing {
            out.push(Effect::Reply {
                request,
                reply: Reply::Done { job: id },
            });
        }
        self.touch_all();
    }
}

/// What a finished task cost.
#[derive(Debug, Clone, Copy)]
struct Usage {
    engine_nanos: u64,
    fetched_bytes: u64,
}

impl Job {
    /// Does its answer, once there, answer this question too?
    fn answers(&self, asked: &JobDefinition) -> bool {
        let mine = &self.record.definition;
        let alive = !matches!(self.progress.phase, Phase::Failed { .. } | Phase::Cancelled);
        let keeps = self.keeps_artifacts() || asked.spec.keep == Keep::Result;
        alive
            && mine.fingerprint == asked.fingerprint
            && mine.spec.antipodes >= asked.spec.antipodes
            && keeps
    }

    pub(crate) fn keeps_artifacts(&self) -> bool {
        self.record.definition.spec.keep == Keep::Frontiers
    }
}

fn name_of(job: &Job, worker: Option<WorkerId>) -> String {
    let Some(id) = worker else {
        return "the coordinator (all sources are empty)".into();
    };
    job.progress
        .workers
        .get(&id)
        .map_or_else(|| id.to_string(), |participant| participant.name.clone())
}

fn describe(task: &Task) -> String {
    match task {
        Task::Expand { level, shard } => format!("level {level}, shard {shard}"),
        Task::Smallest { level, shard, .. } => {
            format!("the smallest states of level {level}, shard {shard}")
        }
        Task::Words { level, .. } => format!("the words of level {level}"),
    }
}

fn by_worker(list: Vec<(WorkerId, Artifact)>) -> BTreeMap<WorkerId, Vec<Artifact>> {
    let mut grouped: BTreeMap<WorkerId, Vec<Artifact>> = BTreeMap::new();
    for (worker, artifact) in list {
        grouped.entry(worker).or_default().push(artifact);
    }
    grouped
}

fn revoke(
    workers: &mut BTreeMap<WorkerId, crate::state::Worker>,
    worker: WorkerId,
    attempt: Attempt,
    out: &mut Vec<Effect>,
) {
    let Some(worker) = workers.get_mut(&worker) else {
        return;
    };
    worker.leases.remove(&attempt);
    if let Some(connection) = worker.connection {
        out.push(Effect::Send {
            connection,
            order: Order::Revoke {
                attempts: vec![attempt],
            },
        });
    }
}
