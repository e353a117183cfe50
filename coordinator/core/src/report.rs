//! What workers report: answers, failures, what is on disk and what is lost.

use crate::artifact::Artifact;
use crate::effect::{Change, Effect, Order};
use crate::event::{ConnectionId, Failure, Now, Report};
use crate::mutants::{self, Mutant};
use crate::plan::bfs::{Lease, TaskKey};
use crate::record::{ExpandResult, Phase};
use crate::session::key_of;
use crate::state::{Coordinator, Job};
use antipode_ids::{Attempt, JobId, WorkerId};
use antipode_solver_core::engine::{Level, output_fits};
use antipode_solver_core::job::{Task, TaskOutput};

/// A task that failed so often fails the job.
const MAX_FAILURES: u32 = 5;
/// A task whose inputs were not to be had so often fails the job: the network must be broken.
const MAX_INPUTS_MISSING: u32 = 25;

/// Which task an answer is about, and who gives it.
#[derive(Debug, Clone, Copy)]
struct About<'a> {
    from: WorkerId,
    job: JobId,
    task: &'a Task,
    attempt: Attempt,
}

/// What a finished task cost.
#[derive(Debug, Clone, Copy)]
struct Usage {
    engine_nanos: u64,
    fetched_bytes: u64,
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
                disk: _,
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
            Report::Retract { .. } | Report::Draining { .. } => {}
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

    fn done(
        &mut self,
        now: Now,
        about: About,
        output: TaskOutput,
        usage: Usage,
        out: &mut Vec<Effect>,
    ) {
        self.forget_lease(about);
        let Some(job) = self.unfinished(about.job) else {
            return;
        };
        let Some(key) = key_of(about.task).filter(|_| output_fits(about.task, &output)) else {
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
                let Some(first) = job.bfs.cell(level, shard).map(|cell| cell.result) else {
                    return;
                };
                if let Some(first) =
                    first.filter(|first| (first.count, first.digest) != (count, digest))
                {
                    let reason = format!(
                        "two answers for level {level}, shard {shard}: {} states, digest {} from {}; {count} states, digest {digest} from {}",
                        first.count,
                        first.digest,
                        name_of(job, first.by),
                        self.name(about.from),
                    );
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
                let fetched_bytes = usage.fetched_bytes;
                let result = ExpandResult {
                    count,
                    digest,
                    certificate,
                    fetched_bytes,
                    by: Some(about.from),
                };
                let again = mutants::has(Mutant::CountTwice);
                take_in(job, (level, shard), result, first.is_none() || again);
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
                if let Some(other) = lease.filter(|lease| lease.attempt != about.attempt) {
                    self.revoke(other, out);
                }
                self.note_work(about, key, usage);
                out.push(Effect::Changed {
                    job: about.job,
                    change: Change::Progress,
                });
            }
            Err(reason) => self.failed(now, about, Failure::Other(reason), out),
        }
    }

    /// Counts a task for its job and its worker.
    fn note_work(&mut self, about: About, key: TaskKey, usage: Usage) {
        let Some(job) = self.jobs.get_mut(&about.job) else {
            return;
        };
        job.troubles.remove(&key);
        job.progress.tasks_done += 1;
        job.progress.engine_nanos += usage.engine_nanos;
        let Some(worker) = self.workers.get_mut(&about.from) else {
            return;
        };
        worker.tasks_done += 1;
        let participant = job.progress.workers.entry(about.from).or_default();
        participant.name.clone_from(&worker.record.name);
        participant.kernel.clone_from(&worker.kernel);
        participant.threads = worker.threads;
        participant.peak_memory_bytes = participant.peak_memory_bytes.max(worker.peak_memory_bytes);
    }

    fn failed(&mut self, now: Now, about: About, failure: Failure, out: &mut Vec<Effect>) {
        self.forget_lease(about);
        let worker = self.name(about.from);
        let unfinished = |job: &&mut Job| !job.progress.phase.is_final();
        let Some(job) = self.jobs.get_mut(&about.job).filter(unfinished) else {
            return;
        };
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
        let Some(key) = key_of(about.task) else {
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
                trouble.avoid.insert(about.from);
                trouble.memory = Some((needed, allowed.max(trouble.memory.map_or(0, |m| m.1))));
                // Another worker may join a cluster, but not a single process.
                let mut live = self.workers.iter().filter(|(_, w)| w.is_live());
                if !live.all(|(id, w)| w.local && trouble.avoid.contains(id)) {
                    return;
                }
                let reason = format!(
                    "{task} needs {needed} bytes of memory, {allowed} are allowed; give --memory more"
                );
                return self.end_job(
                    now,
                    about.job,
                    Phase::Failed {
                        reason,
                        internal: false,
                    },
                    out,
                );
            }
            Failure::Other(reason) => {
                trouble.failures += 1;
                trouble.avoid.insert(about.from);
                reason
            }
            Failure::Violated(_) => return,
        };
        if trouble.failures >= MAX_FAILURES || trouble.inputs_missing >= MAX_INPUTS_MISSING {
            let times = trouble.failures.max(trouble.inputs_missing);
            let reason = format!("{task} failed {times} times, last at worker {worker}: {reason}");
            self.end_job(
                now,
                about.job,
                Phase::Failed {
                    reason,
                    internal: false,
                },
                out,
            );
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

    fn unfinished(&mut self, id: JobId) -> Option<&mut Job> {
        self.jobs
            .get_mut(&id)
            .filter(|job| !job.progress.phase.is_final())
    }

    fn name(&self, worker: WorkerId) -> String {
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
