//! What workers report: answers, failures, what is on disk and what is lost.

use crate::artifact::Artifact;
use crate::dispute::{Claim, Dispute};
use crate::effect::{Change, Effect, Order};
use crate::event::{ConnectionId, DiskUse, Failure, Now, Report, Usage};
use crate::mutants::{self, Mutant};
use crate::plan::bfs::{Lease, TaskKey};
use crate::record::{ExpandResult, Phase, Record};
use crate::session::key_of;
use crate::state::{Coordinator, Job};
use crate::trouble::MAX_FAILURES;
use antipode_ids::{Attempt, JobId, WorkerId};
use antipode_solver_core::engine::{Certificate, Level, output_fits};
use antipode_solver_core::job::{Task, TaskOutput};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A worker at which so many tasks failed in a row is to blame, not they.
const MAX_FAILING_TASKS: usize = 5;

/// Which task an answer is about, and who gives it.
#[derive(Debug, Clone, Copy)]
struct About<'a> {
    from: WorkerId,
    job: JobId,
    task: &'a Task,
    attempt: Attempt,
}

impl Coordinator {
    pub(crate) fn report(
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
            worker.seen_at_millis = now.millis;
            worker.seen_at = now.unix;
        }
        match report {
            Report::Heartbeat {
                memory_bytes: _,
                peak_memory_bytes,
                disk,
            } => {
                self.note_memory(id, peak_memory_bytes);
                self.note_disk(now, id, disk, out);
            }
            Report::Done {
                job,
                task,
                attempt,
                output,
                usage,
            } => {
                let about = About {
                    from: id,
                    job,
                    task: &task,
                    attempt,
                };
                self.done(now, about, output, usage, out);
                self.touched.insert(job);
            }
            Report::Failed {
                job,
                task,
                attempt,
                failure,
            } => {
                let about = About {
                    from: id,
                    job,
                    task: &task,
                    attempt,
                };
                self.failed(now, about, failure, out);
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
            Report::Lost { artifacts, reason } => self.lost(now, id, artifacts, &reason),
            Report::Retract { artifacts, reason } => {
                self.retract(now, id, &artifacts, &reason, out);
            }
            Report::Note { job, text } => self.note(now, id, job, text, out),
            Report::Draining { reason } => self.begin_drain(now, id, reason, out),
            Report::Leaving { reason: _ } => self.leave(now, id, out),
        }
    }

    fn lost(&mut self, now: Now, id: WorkerId, artifacts: Vec<(JobId, Artifact)>, reason: &str) {
        let name = self.name(id);
        let mut counted: BTreeMap<JobId, (usize, Artifact)> = BTreeMap::new();
        for (job_id, artifact) in artifacts {
            if let Some(job) = self.jobs.get_mut(&job_id)
                && job.bfs.remove_copy(artifact, id)
            {
                counted.entry(job_id).or_insert((0, artifact)).0 += 1;
            }
            self.touched.insert(job_id);
        }
        for (job_id, (count, first)) in counted {
            if let Some(job) = self.jobs.get_mut(&job_id) {
                let more = if count > 1 {
                    format!(" and {} more", count - 1)
                } else {
                    String::new()
                };
                let what = format!("worker {name} lost the {first}{more}: {reason}");
                job.progress.history.push(now.unix, what);
            }
        }
    }

    /// A worker says something that users may want to know when they ask about it.
    fn note(
        &mut self,
        now: Now,
        id: WorkerId,
        job: Option<JobId>,
        text: String,
        out: &mut Vec<Effect>,
    ) {
        let name = self.name(id);
        if let Some(job) = job.and_then(|job| self.jobs.get_mut(&job)) {
            let what = format!("worker {name}: {text}");
            job.progress.history.push(now.unix, what);
        }
        self.touched.extend(job);
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        worker.record.history.push(now.unix, text);
        out.push(Effect::Persist(Record::Worker {
            worker: id,
            record: worker.record.clone(),
            urgent: false,
        }));
    }

    /// How a worker's disk stands.
    fn note_disk(&mut self, now: Now, id: WorkerId, disk: DiskUse, out: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        let before = std::mem::replace(&mut worker.disk, disk).full;
        if before != worker.disk.full {
            let what = if worker.disk.full {
                "its disk is full: no new tasks"
            } else {
                "there is room on its disk again"
            };
            worker.record.history.push(now.unix, what.into());
            let is_full = worker.disk.full;
            if is_full && self.lasting().next().is_some() {
                // What it has not begun, others can do.
                self.take_back_leases_of(id, out);
            }
            self.place_all();
            self.touch_all();
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

    fn done(
        &mut self,
        now: Now,
        about: About,
        output: TaskOutput,
        usage: Usage,
        out: &mut Vec<Effect>,
    ) {
        self.forget_lease(about);
        let open = |job: &&mut Job| !job.progress.phase.is_final() || job.is_database();
        let Some(job) = self.jobs.get_mut(&about.job).filter(open) else {
            // It was not there when the others were told.
            let (job, keep) = (about.job, false);
            return self.order(about.from, Order::Close { job, keep }, out);
        };
        let key = key_of(about.task, about.from).filter(|_| output_fits(about.task, &output));
        let Some(key) = key else {
            let failure = Failure::Other("the answer does not fit the task".into());
            return self.failed(now, about, failure, out);
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
                let result = ExpandResult {
                    count,
                    digest,
                    certificate,
                    fetched_bytes: usage.fetched_bytes,
                    on_device: usage.on_device,
                    by: Some(about.from),
                };
                return self.expanded(now, about, (level, shard), result, usage, out);
            }
            (
                TaskKey::Expand { level, shard },
                TaskOutput::Item {
                    count,
                    digest,
                    record,
                },
            ) => {
                let result = ExpandResult {
                    count,
                    digest,
                    certificate: Certificate::default(),
                    fetched_bytes: usage.fetched_bytes,
                    on_device: usage.on_device,
                    by: Some(about.from),
                };
                if job.bfs.graph().is_batch() && job.has_records() == record.is_empty() {
                    let failure = Failure::Other("the item's record does not fit its kind".into());
                    return self.failed(now, about, failure, out);
                }
                if job.bfs.graph().is_batch() {
                    return self.item_done(
                        now,
                        about,
                        (level, shard),
                        (result, record),
                        usage,
                        out,
                    );
                }
                Err("the answer of an item came for a level".into())
            }
            (TaskKey::Smallest { shard }, TaskOutput::Smallest { states }) => {
                job.bfs.accept_smallest(shard, states)
            }
            (TaskKey::Words, TaskOutput::Words { words }) => job.bfs.accept_words(words),
            (TaskKey::Pack { shard }, TaskOutput::Packed { count, digest }) => {
                job.bfs.accept_packed(shard, (count, digest), about.from)
            }
            (TaskKey::Copy { artifact, to }, TaskOutput::Copied) => {
                Ok(job.bfs.accept_copy(artifact, to))
            }
            _ => Ok(false),
        };
        self.counted(now, about, key, (lease, usage), counted, out);
    }

    /// An answer was taken in, was not waited for, or does not fit.
    fn counted(
        &mut self,
        now: Now,
        about: About,
        key: TaskKey,
        (lease, usage): (Option<Lease>, Usage),
        counted: Result<bool, String>,
        out: &mut Vec<Effect>,
    ) {
        // The answer is here, whoever else was to give it.
        let other = lease.filter(|lease| lease.attempt != about.attempt);
        let is_over = |job: &Job| job.bfs.lease(key) != other;
        if let Some(other) = other
            && self.jobs.get(&about.job).is_some_and(is_over)
        {
            self.revoke(other, out);
        }
        match counted {
            Ok(false) => {}
            Ok(true) => {
                self.note_work(about, key, usage);
                out.push(Effect::Changed {
                    job: about.job,
                    change: Change::Progress,
                });
            }
            Err(reason) => self.failed(now, about, Failure::Other(reason), out),
        }
    }

    /// The answer of an item: its record is kept beside its result.
    fn item_done(
        &mut self,
        now: Now,
        about: About,
        (level, item): (Level, u32),
        (result, record): (ExpandResult, Vec<u8>),
        usage: Usage,
        out: &mut Vec<Effect>,
    ) {
        self.expanded(now, about, (level, item), result, usage, out);
        let Some(job) = self.unfinished(about.job) else {
            return;
        };
        let cell = job.bfs.cell(level, item);
        let counts = cell.and_then(|cell| cell.result) == Some(result);
        if counts && !job.items.contains_key(&item) && !record.is_empty() {
            let record: Arc<[u8]> = record.into();
            job.items.insert(item, Arc::clone(&record));
            let job = about.job;
            out.push(Effect::Persist(Record::Item { job, item, record }));
        }
    }

    /// The answer of an Expand task: the first one, the same again, or another one.
    fn expanded(
        &mut self,
        now: Now,
        about: About,
        (level, shard): (Level, u32),
        result: ExpandResult,
        usage: Usage,
        out: &mut Vec<Effect>,
    ) {
        let key = TaskKey::Expand { level, shard };
        let Some(job) = self.unfinished(about.job) else {
            return self.release_spare(about, (level, shard), out);
        };
        // A cell that the plan does not reach (any more) has no result, and nobody asked for one.
        let cell = job.bfs.cell(level, shard);
        let (is_beyond, first) = (cell.is_none(), cell.and_then(|cell| cell.result));
        let same =
            |known: &ExpandResult| (known.count, known.digest) == (result.count, result.digest);
        let lease = job.bfs.lease(key);
        let is_present = lease.is_some_and(|lease| lease.attempt == about.attempt);
        if is_beyond || (first.is_none() && job.progress.mistrusts && !is_present) {
            let artifacts = job.bfs.graph().outputs(level, shard).collect();
            let job = about.job;
            return self.order(about.from, Order::Release { job, artifacts }, out);
        }
        if first.is_some_and(|first| !same(&first))
            || (first.is_none() && job.dispute(key).is_some())
        {
            return self.disputed(now, about, (level, shard), result, out);
        }
        let again = mutants::has(Mutant::CountTwice);
        take_in(job, (level, shard), result, first.is_none() || again);
        self.counted(now, about, key, (lease, usage), Ok(true), out);
    }

    /// An answer that comes after the end of a job that keeps something: what is not to be kept goes.
    fn release_spare(&self, about: About, (level, shard): (Level, u32), out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&about.job) else {
            return;
        };
        let counts = |artifact: &Artifact| {
            let holders = job.bfs.holders(*artifact);
            holders.is_some_and(|holders| holders.contains(about.from))
        };
        let made = job.bfs.graph().outputs(level, shard);
        let artifacts: Vec<Artifact> = made.filter(|artifact| !counts(artifact)).collect();
        let job = about.job;
        self.order(about.from, Order::Release { job, artifacts }, out);
    }

    /// Another answer than one that was given before. The results that rest on the first one are
    /// taken back, and a worker that has not answered yet decides.
    fn disputed(
        &mut self,
        now: Now,
        about: About,
        (level, shard): (Level, u32),
        result: ExpandResult,
        out: &mut Vec<Effect>,
    ) {
        let key = TaskKey::Expand { level, shard };
        let name = self.name(about.from);
        let Some(job) = self.unfinished(about.job) else {
            return;
        };
        let known = job.bfs.cell(level, shard).and_then(|cell| cell.result);
        let claim = Claim {
            by: about.from,
            name,
            count: result.count,
            digest: result.digest,
        };
        let mut dispute = match job.dispute(key) {
            Some(dispute) => dispute.clone(),
            None => {
                let claims = known.iter().map(|first| Claim {
                    by: first.by.unwrap_or(WorkerId(0)),
                    name: name_of(job, first.by),
                    count: first.count,
                    digest: first.digest,
                });
                let claims = claims.collect();
                Dispute {
                    level,
                    shard,
                    claims,
                }
            }
        };
        let is_it = |d: &Dispute| (d.level, d.shard) == (level, shard);
        if let Some(wrong) = dispute.refuted_by(&result) {
            // Two agree: the others are not to be trusted with anything they did for this job.
            job.progress.disputes.retain(|d| !is_it(d));
            let names: Vec<String> = wrong.iter().map(|&w| name_of(job, Some(w))).collect();
            let of_wrong = job.bfs.task_results();
            let of_wrong = of_wrong.filter(|(_, _, r)| r.by.is_some_and(|by| wrong.contains(&by)));
            let cells: BTreeSet<(Level, u32)> = of_wrong.map(|(l, s, _)| (l, s)).collect();
            let what = format!(
                "alarm settled: {}; {} decided, {} gave wrong answers: its {} results and what rests on them are computed again",
                dispute.describe(),
                name_of(job, Some(about.from)),
                names.join(", "),
                cells.len()
            );
            job.progress.history.push(now.unix, what);
            job.bfs.free(key, false);
            take_in(job, (level, shard), result, known.is_none());
            let distrusted: BTreeSet<WorkerId> = wrong.into_iter().collect();
            self.distrust(now, &distrusted);
            self.refute(now, about.job, cells, &distrusted, out);
        } else if known.is_some() || !dispute.has_claim_of(about.from) {
            dispute.claims.push(claim);
            let what = format!("alarm: {}", dispute.describe());
            job.progress.history.push(now.unix, what);
            job.progress.disputes.retain(|d| !is_it(d));
            job.progress.disputes.push(dispute);
            job.bfs.free(key, false);
            // What either holds may be wrong.
            let cells = BTreeSet::from([(level, shard)]);
            self.refute(now, about.job, cells, &BTreeSet::new(), out);
            if let Some(job) = self.jobs.get(&about.job) {
                out.push(Effect::Persist(job.progress_record(about.job, now, true)));
            }
        } else {
            // It was asked before; somebody else must answer.
            job.bfs.free(key, false);
        }
        self.touched.insert(about.job);
        out.push(Effect::Changed {
            job: about.job,
            change: Change::State,
        });
    }

    /// These workers gave wrong answers: they get no more tasks until they are started again.
    fn distrust(&mut self, now: Now, wrong: &BTreeSet<WorkerId>) {
        for worker in wrong {
            if let Some(worker) = self.workers.get_mut(worker) {
                let reason = "it gave a wrong answer; check its memory and processor".to_string();
                worker
                    .record
                    .history
                    .push(now.unix, format!("quarantined: {reason}"));
                worker.quarantined = Some(reason);
            }
        }
        self.place_all();
    }

    /// Counts a task for its job and its worker.
    fn note_work(&mut self, about: About, key: TaskKey, usage: Usage) {
        let Some(job) = self.jobs.get_mut(&about.job) else {
            return;
        };
        if job.progress.phase.is_final() {
            // A copy of what it left; the job itself has ended.
            return;
        }
        job.troubles.remove(&key);
        job.progress.crashes.retain(|(of, _)| *of != key);
        job.progress.tasks_done += 1;
        job.progress.engine_nanos += usage.engine_nanos;
        let Some(worker) = self.workers.get_mut(&about.from) else {
            return;
        };
        worker.tasks_done += 1;
        worker.failures.clear();
        worker.record.crashes_in_a_row = 0;
        let participant = job.progress.workers.entry(about.from).or_default();
        participant.name.clone_from(&worker.record.name);
        participant.kernel.clone_from(&worker.kernel);
        participant.threads = worker.threads;
        if usage.on_device.is_some() {
            participant.devices.extend(worker.devices.iter().cloned());
        }
        participant.peak_memory_bytes = participant.peak_memory_bytes.max(worker.peak_memory_bytes);
    }

    fn failed(&mut self, now: Now, about: About, failure: Failure, out: &mut Vec<Effect>) {
        self.forget_lease(about);
        let worker = self.name(about.from);
        let open = |job: &&mut Job| !job.progress.phase.is_final() || job.is_database();
        let Some(job) = self.jobs.get_mut(&about.job).filter(open) else {
            return;
        };
        if job.is_database() {
            // A copy of what it left; there is another try at the next tick.
            if let Some(key) = key_of(about.task, about.from)
                && job
                    .bfs
                    .lease(key)
                    .is_some_and(|lease| lease.attempt == about.attempt)
            {
                job.bfs.free(key, true);
            }
            return;
        }
        let task = describe(about.task);
        if let Failure::Violated(reason) = failure {
            let reason = format!("worker {worker}, {task}: {reason}");
            return self.end_job(
                now,
                about.job,
                Phase::Failed {
                    reason,
                    internal: true,
                },
                out,
            );
        }
        let Some(key) = key_of(about.task, about.from) else {
            return;
        };
        // Only the present lease may be given back; an older one says nothing about it.
        if job
            .bfs
            .lease(key)
            .is_none_or(|lease| lease.attempt != about.attempt)
            && !mutants::has(Mutant::StaleFailedFreesLease)
        {
            return;
        }
        job.bfs.free(key, true);
        let is_fault = matches!(failure, Failure::Other(_));
        let trouble = job.troubles.entry(key).or_default();
        let reason = match failure {
            Failure::InputMissing {
                artifact,
                tried,
                reason,
            } => {
                let mut gone = tried;
                gone.retain(|&worker| job.bfs.remove_copy(artifact, worker));
                for worker in &gone {
                    if let Some(worker) = self.workers.get_mut(worker) {
                        worker.doubted = true;
                    }
                }
                trouble.inputs_missing += 1;
                if gone.is_empty() {
                    trouble.failures += 1;
                }
                format!("the {artifact} was not to be had: {reason}")
            }
            Failure::Memory { needed, allowed } => {
                trouble.avoid.insert(about.from);
                trouble.too_small.insert(about.from);
                trouble.memory = Some((needed, allowed.max(trouble.memory.map_or(0, |m| m.1))));
                format!("it needs {needed} bytes of memory, {allowed} are allowed")
            }
            Failure::Other(reason) => {
                trouble.failures += 1;
                trouble.avoid.insert(about.from);
                reason
            }
            Failure::Violated(_) => return,
        };
        trouble.last = format!("worker {worker}: {reason}");
        let times = trouble.failures.max(trouble.inputs_missing);
        if times == 1 || times == MAX_FAILURES {
            let what = format!("worker {worker}, {task}: {reason}");
            job.progress.history.push(now.unix, what);
        }
        if is_fault {
            self.note_failing_worker(now, about, key);
        }
    }

    /// A worker at which everything fails gets no more tasks, while there are others.
    fn note_failing_worker(&mut self, now: Now, about: About, key: TaskKey) {
        let others = self.lasting().any(|(other, _)| other != about.from);
        let Some(worker) = self.workers.get_mut(&about.from) else {
            return;
        };
        worker.failures.insert((about.job, key));
        if worker.failures.len() >= MAX_FAILING_TASKS && others && worker.quarantined.is_none() {
            let reason = format!("{MAX_FAILING_TASKS} tasks in a row failed there");
            worker
                .record
                .history
                .push(now.unix, format!("quarantined: {reason}"));
            worker.quarantined = Some(reason);
            // What failed there only may work elsewhere.
            let failed = std::mem::take(&mut worker.failures);
            for (job, key) in failed {
                if let Some(trouble) = self
                    .jobs
                    .get_mut(&job)
                    .and_then(|j| j.troubles.get_mut(&key))
                {
                    trouble.failures = 0;
                }
            }
            self.place_all();
            self.touch_all();
        }
    }

    fn forget_lease(&mut self, about: About) {
        if let Some(worker) = self.workers.get_mut(&about.from) {
            worker.leases.remove(&about.attempt);
        }
    }

    /// Tells a worker that nobody waits for its answer.
    pub(crate) fn revoke(&mut self, lease: Lease, out: &mut Vec<Effect>) {
        if let Some(worker) = self.workers.get_mut(&lease.worker) {
            worker.leases.remove(&lease.attempt);
        }
        self.order(
            lease.worker,
            Order::Revoke {
                attempts: vec![lease.attempt],
            },
            out,
        );
    }

    pub(crate) fn unfinished(&mut self, id: JobId) -> Option<&mut Job> {
        self.jobs
            .get_mut(&id)
            .filter(|job| !job.progress.phase.is_final())
    }

    pub(crate) fn name(&self, worker: WorkerId) -> String {
        self.workers.get(&worker).map_or_else(
            || worker.to_string(),
            |w| format!("{} ({worker})", w.name()),
        )
    }
}

/// Takes in the answer of an Expand task: a first one counts, any one tells where copies are.
fn take_in(job: &mut Job, (level, shard): (Level, u32), result: ExpandResult, first: bool) {
    job.bfs.free(TaskKey::Expand { level, shard }, false);
    if first {
        job.bfs.accept(level, shard, result);
    }
    let made: Vec<Artifact> = job.bfs.graph().outputs(level, shard).collect();
    for artifact in made {
        // A visited set needs all results below it; where they are not known it is made again.
        let content = job.bfs.content(artifact).filter(|content| content.0 > 0);
        if let (Some(content), Some(worker)) = (content, result.by) {
            // A copy that nobody needs is released by the refusal.
            _ = job.bfs.add_copy(artifact, content, worker, false);
        }
    }
}

fn name_of(job: &Job, worker: Option<WorkerId>) -> String {
    let Some(id) = worker else {
        return "the coordinator (all sources are empty)".into();
    };
    job.progress.workers.get(&id).map_or_else(
        || id.to_string(),
        |participant| format!("{} ({id})", participant.name),
    )
}

fn describe(task: &Task) -> String {
    match task {
        Task::Expand { level, shard } => format!("level {level}, shard {shard}"),
        Task::Item { item } => format!("item {item}"),
        Task::Smallest { level, shard, .. } => {
            format!("the smallest states of level {level}, shard {shard}")
        }
        Task::Words { level, .. } => format!("the words of level {level}"),
        Task::Copy { kind, level, shard } => {
            let shard = shard.0;
            let artifact = Artifact {
                level: *level,
                shard,
                kind: *kind,
            };
            format!("a copy of the {artifact}")
        }
        Task::Pack { shard, .. } => format!("the distances of shard {shard}"),
    }
}
