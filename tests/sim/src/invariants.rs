//! What must always hold, as named functions, beside those of the core (`antipode_coordinator_core::check`).
//! Each returns what is wrong, in a sentence.

use crate::network::ConnId;
use crate::toy::Toy;
use antipode_coordinator_core::artifact::{Artifact, ArtifactKind};
use antipode_coordinator_core::plan::bfs::TaskKey;
use antipode_coordinator_core::record::{ExpandResult, LevelRecord, Phase, Record, Stored};
use antipode_coordinator_core::state::Job;
use antipode_coordinator_core::{Coordinator, Effect, Event, Input, Order, Report};
use antipode_ids::{Attempt, JobId, WorkerId};
use antipode_proto::message::ArtifactName;
use antipode_solver_core::engine::{Digest, Level};
use antipode_solver_core::job::Task;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub type Verdict = Result<(), String>;
/// Graphs by the fingerprint of their jobs.
pub type Toys = BTreeMap<String, Arc<Toy>>;

/// Something that a client was told, and may count on from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    Submitted {
        key: String,
        job: JobId,
    },
    /// Until somebody resumes it.
    Paused {
        job: JobId,
        checkpoint: Option<Level>,
    },
    /// The end, with the levels.
    Ended {
        job: JobId,
        phase: Phase,
        levels: Vec<LevelRecord>,
    },
}

/// What the invariants need to know of the past.
#[derive(Debug, Default)]
pub struct Watch {
    pub promises: Vec<Promise>,
    newest: Option<Attempt>,
    given: BTreeMap<Attempt, ConnId>,
    /// Results that this life of the coordinator has counted.
    counted: BTreeSet<(JobId, Level, u32)>,
    ended: BTreeMap<JobId, Phase>,
    phases: BTreeMap<JobId, Phase>,
    /// Artifacts that a fault of a disk may have hit.
    harmed: BTreeSet<ArtifactName>,
    all_harmed: bool,
    /// Some worker has given wrong results.
    pub lies: bool,
    /// Workers that gave wrong results and have not taken them back.
    pub undisclosed: BTreeSet<usize>,
    /// Those that just have, in the present round of the coordinator.
    pub confessed: BTreeSet<usize>,
    /// Jobs that ended on wrong results which nobody had taken back.
    pub misled: BTreeSet<JobId>,
    /// The coordinator's own store was hit: what it tolerates to lose may be lost.
    pub ledger_harmed: bool,
}

/// What was so before a step.
#[derive(Debug)]
pub struct Before {
    leases: BTreeMap<Attempt, (WorkerId, JobId, TaskKey)>,
    /// The worker and the attempt that the event is about.
    from: Option<WorkerId>,
    attempt: Option<Attempt>,
    /// The worker may be lost or say anew what it has.
    sweeping: bool,
}

impl Before {
    /// The event answers a lease that is not current any more.
    pub fn is_stale(&self) -> bool {
        self.attempt
            .is_some_and(|attempt| !self.leases.contains_key(&attempt))
    }
}

impl Watch {
    pub fn coordinator_started(&mut self, core: &Coordinator) {
        self.counted.clear();
        // An end that nobody was told of may be forgotten; what was told is a promise.
        self.ended.clear();
        self.phases.clear();
        for (&id, job) in core.jobs() {
            if job.progress().phase.is_final() {
                self.ended.insert(id, job.progress().phase.clone());
            }
        }
    }

    /// A fault of a disk may have hit these.
    pub fn harm(&mut self, names: impl IntoIterator<Item = ArtifactName>) {
        self.harmed.extend(names);
    }

    pub fn harm_all(&mut self) {
        self.all_harmed = true;
    }

    /// Has a fault of a disk hit anything?
    pub fn has_harm(&self) -> bool {
        self.all_harmed || !self.harmed.is_empty()
    }

    pub fn is_harmed(&self, name: ArtifactName) -> bool {
        self.all_harmed || self.harmed.contains(&name)
    }

    pub fn before(&self, core: &Coordinator, event: &Event) -> Before {
        let leases = leases(core).collect();
        let (mut from, mut attempt, mut sweeping) = (None, None, false);
        match event {
            Event::Report { connection, report } => {
                from = core
                    .workers()
                    .iter()
                    .find(|(_, w)| w.connection() == Some(*connection))
                    .map(|(&id, _)| id);
                match report {
                    Report::Done { attempt: a, .. } | Report::Failed { attempt: a, .. } => {
                        attempt = Some(*a);
                    }
                    Report::Leaving { .. } | Report::Draining { .. } => sweeping = true,
                    Report::Heartbeat { .. }
                    | Report::Durable { .. }
                    | Report::Lost { .. }
                    | Report::Retract { .. }
                    | Report::Note { .. } => {}
                }
            }
            Event::Register { registration, .. } => {
                from = registration.worker;
                sweeping = true;
            }
            Event::Disconnected { .. } | Event::Tick => {}
            Event::Submit(_)
            | Event::Cancel { .. }
            | Event::Pause { .. }
            | Event::Resume { .. }
            | Event::Forget { .. }
            | Event::Drain { .. }
            | Event::Disk { .. }
            | Event::Noted { .. } => {}
        }
        Before {
            leases,
            from,
            attempt,
            sweeping,
        }
    }

    /// After every step of the core. `lies`: a worker gives wrong results.
    pub fn after_step(
        &mut self,
        core: &Coordinator,
        toys: &Toys,
        before: Before,
        effects: &[Effect],
        lies: bool,
    ) -> Verdict {
        leases_end_for_a_reason(core, &before, effects)?;
        self.ended_jobs_stay_so(core)?;
        self.a_pause_has_its_checkpoint(core)?;
        for effect in effects {
            match effect {
                Effect::Persist(Record::Refuted { job, cells }) => {
                    let back = cells.iter().map(|&(level, shard)| (*job, level, shard));
                    back.for_each(|cell| _ = self.counted.remove(&cell));
                    // The checkpoint may rest on what was taken back.
                    let other =
                        |p: &Promise| !matches!(p, Promise::Paused { job: of, .. } if of == job);
                    self.promises.retain(other);
                }
                Effect::Persist(Record::Result {
                    job,
                    level,
                    shard,
                    result,
                }) => {
                    self.a_result_counts_once(*job, *level, *shard)?;
                    let toy = toy_of(core, toys, *job);
                    if let Some(toy) = toy.filter(|_| !lies) {
                        a_result_is_true(toy, *level, *shard, result)?;
                    }
                }
                Effect::Send {
                    order:
                        Order::Lease {
                            job,
                            task,
                            attempt,
                            inputs,
                            ..
                        },
                    ..
                } => {
                    self.attempts_only_grow(*attempt)?;
                    let toy = toy_of(core, toys, *job);
                    if let Some(toy) = toy.filter(|_| !lies) {
                        inputs_were_available(core, toy, *job, task, inputs)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// No attempt is ever given twice, also over restarts of the coordinator.
    fn attempts_only_grow(&mut self, attempt: Attempt) -> Verdict {
        let before = self.newest.replace(attempt);
        ensure(before.is_none_or(|before| before < attempt), || {
            format!("attempt {attempt} comes after {before:?}")
        })
    }

    /// A lease is told to one worker only.
    pub fn a_lease_is_sent(&mut self, attempt: Attempt, to: ConnId) -> Verdict {
        let before = self.given.insert(attempt, to);
        ensure(before.is_none_or(|before| before == to), || {
            format!("attempt {attempt} was given to two connections")
        })
    }

    fn a_result_counts_once(&mut self, job: JobId, level: Level, shard: u32) -> Verdict {
        ensure(self.counted.insert((job, level, shard)), || {
            format!("job {job}: level {level}, shard {shard} is counted twice")
        })
    }

    /// While somebody is there to write, a job that has results is not paused before a checkpoint is complete. A
    /// batch job has none: whatever its items made is on disk.
    fn a_pause_has_its_checkpoint(&mut self, core: &Coordinator) -> Verdict {
        for (&id, job) in core.jobs() {
            let phase = &job.progress().phase;
            let before = self.phases.insert(id, phase.clone());
            if *phase != Phase::Paused || before != Some(Phase::Running) {
                continue;
            }
            let bfs = job.bfs();
            let mut live = core.workers().values().filter(|w| w.is_live());
            let nobody = live.all(|w| w.disk().full);
            let even = bfs.graph().is_batch() && bfs.unsaved().is_empty();
            let kept = job.progress().checkpoint.is_some() || bfs.end().is_some() || even;
            ensure(bfs.results() == 0 || kept || nobody, || {
                format!("job {id} is paused without a checkpoint")
            })?;
        }
        Ok(())
    }

    /// The phase of a job that has ended never changes.
    fn ended_jobs_stay_so(&mut self, core: &Coordinator) -> Verdict {
        for (&id, job) in core.jobs() {
            let phase = &job.progress().phase;
            match self.ended.get(&id) {
                Some(ended) => ensure(ended == phase, || {
                    format!("job {id} was {ended:?} and is {phase:?}")
                })?,
                None if phase.is_final() => {
                    self.ended.insert(id, phase.clone());
                    if !self.undisclosed.is_empty() {
                        self.misled.insert(id);
                    }
                }
                None => {}
            }
        }
        Ok(())
    }
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn toy_of<'a>(core: &Coordinator, toys: &'a Toys, job: JobId) -> Option<&'a Arc<Toy>> {
    toys.get(&core.jobs().get(&job)?.record().definition.fingerprint)
}

fn leases(core: &Coordinator) -> impl Iterator<Item = (Attempt, (WorkerId, JobId, TaskKey))> + '_ {
    core.workers().iter().flat_map(|(&worker, w)| {
        let of = w.leases().iter();
        of.map(move |(&attempt, &(job, key))| (attempt, (worker, job, key)))
    })
}

/// A lease ends when its own attempt is answered, when its worker is lost or comes anew without it, when the
/// worker is told that nobody waits for it, or with the job. Whatever is said about another attempt
/// does not end it.
fn leases_end_for_a_reason(core: &Coordinator, before: &Before, effects: &[Effect]) -> Verdict {
    let revoked = |attempt: &Attempt| {
        effects.iter().any(|effect| {
            matches!(effect, Effect::Send { order: Order::Revoke { attempts }, .. } if attempts.contains(attempt))
        })
    };
    for (attempt, (worker, job, key)) in &before.leases {
        let Some(now) = core.workers().get(worker) else {
            return Err(format!("worker {worker} is forgotten"));
        };
        if now.leases().contains_key(attempt) {
            continue;
        }
        let own =
            before.from == Some(*worker) && (before.sweeping || before.attempt == Some(*attempt));
        let over = core.jobs().get(job).is_none_or(|job| !is_running(job));
        // Whoever is away cannot be told.
        let away = now.connection().is_none();
        ensure(own || over || away || revoked(attempt), || {
            format!("lease {attempt} of {worker} for {key:?} of job {job} ended without a reason")
        })?;
    }
    Ok(())
}

fn is_running(job: &Job) -> bool {
    job.progress().phase == Phase::Running
}

/// A result that is accepted is the one that the graph has.
fn a_result_is_true(toy: &Toy, level: Level, shard: u32, result: &ExpandResult) -> Verdict {
    let truth = toy.frontier(level, shard);
    ensure((result.count, result.digest) == truth, || {
        format!("level {level}, shard {shard}: {result:?} was accepted, the truth is {truth:?}")
    })
}

/// What is wrong with the result that is taken in, if anything.
pub fn wrong_result(core: &Coordinator, toys: &Toys, effect: &Effect) -> Option<String> {
    let Effect::Persist(Record::Result {
        job,
        level,
        shard,
        result,
    }) = effect
    else {
        return None;
    };
    a_result_is_true(toy_of(core, toys, *job)?, *level, *shard, result).err()
}

/// When a task is leased its inputs are known, true, and available as far as the coordinator believes.
fn inputs_were_available(
    core: &Coordinator,
    toy: &Toy,
    job: JobId,
    task: &Task,
    inputs: &[Input],
) -> Verdict {
    for input in inputs {
        let Artifact { level, shard, kind } = input.artifact;
        let truth = match kind {
            ArtifactKind::Frontier => toy.frontier(level, shard),
            ArtifactKind::Visited | ArtifactKind::Distances => toy.visited(level, shard),
        };
        ensure((input.count, input.digest) == truth, || {
            format!("job {job}: {task:?} is leased with {input:?}, the truth is {truth:?}")
        })?;
        ensure(input.count == 0 || !input.holders.is_empty(), || {
            format!(
                "job {job}: {task:?} is leased, but nobody holds the {}",
                input.artifact
            )
        })?;
        let lost = input.holders.iter().find(|id| {
            let known = core.workers().get(id);
            known.is_none_or(|w| w.is_lost())
        });
        // What is consumed is listed no more; the rest must be where it is said to be.
        ensure(lost.is_none(), || {
            format!("job {job}: {task:?} is leased with an input at lost worker {lost:?}")
        })?;
    }
    Ok(())
}

/// Whatever a client was told is in the store.
pub fn promises_are_kept(watch: &Watch, stored: &Stored) -> Verdict {
    for promise in &watch.promises {
        match promise {
            Promise::Submitted { key, job } => {
                ensure(stored.jobs.contains_key(job), || {
                    format!("job {job} was submitted and is gone")
                })?;
                let known = stored.keys.get(key).map(|k| k.0);
                let tolerable = watch.ledger_harmed && known.is_none();
                ensure(known == Some(*job) || tolerable, || {
                    format!("key {key} stands for {known:?}, not for job {job}")
                })?;
            }
            Promise::Paused { job, checkpoint } => {
                let known = stored.jobs.get(job).map(|j| &j.progress);
                let kept = known.is_some_and(|p| {
                    (p.phase == Phase::Paused && p.checkpoint == *checkpoint) || p.phase.is_final()
                });
                ensure(kept, || {
                    format!("job {job} was paused at {checkpoint:?}, the store says {known:?}")
                })?;
            }
            Promise::Ended { job, phase, levels } => {
                let known = stored.jobs.get(job);
                let stands = known
                    .is_some_and(|j| j.progress.phase == *phase && j.progress.levels == *levels);
                ensure(stands, || {
                    let said = known.map(|j| (&j.progress.phase, &j.progress.levels));
                    format!("job {job} was {phase:?} with {levels:?}, the store says {said:?}")
                })?;
            }
        }
    }
    Ok(())
}

/// Every artifact of a complete checkpoint lies on a disk, whole. `on_disk` looks for it.
pub fn a_checkpoint_is_on_disks(
    core: &Coordinator,
    job: JobId,
    toy: &Toy,
    level: Level,
    on_disk: impl Fn(ArtifactName, Digest) -> bool,
) -> Verdict {
    let Some(state) = core.jobs().get(&job) else {
        return Ok(());
    };
    for shard in 0..toy.shards {
        for artifact in state.bfs().graph().checkpoint(level, shard) {
            let (count, digest) = match artifact.kind {
                ArtifactKind::Frontier => toy.frontier(artifact.level, shard),
                ArtifactKind::Visited | ArtifactKind::Distances => {
                    toy.visited(artifact.level, shard)
                }
            };
            // Once results were taken back, what the coordinator believes to be nowhere is made anew, and
            // whoever makes it drops what he may have.
            let bfs = state.bfs();
            let nowhere = bfs.holders(artifact).is_none_or(|h| h.is_empty());
            if state.progress().mistrusts && nowhere {
                continue;
            }
            let name = antipode_coordinator::bridge::name(job, artifact);
            ensure(count == 0 || on_disk(name, digest), || {
                format!(
                    "job {job}: the checkpoint at level {level} is complete, but the {artifact} is on no disk"
                )
            })?;
        }
    }
    Ok(())
}

/// Without faults no task is leased twice: each shard of each level once, one level that turns out empty, and
/// a few levels ahead of it.
pub fn no_task_was_leased_twice(toys: &Toys, leases: u64) -> Verdict {
    let tasks = |toy: &Arc<Toy>| u64::from(toy.shards) * (toy.levels().len() as u64 + 4);
    let most: u64 = toys.values().map(tasks).sum();
    ensure(leases <= most, || {
        format!("{leases} leases, {most} expected at most")
    })
}

/// The answer of a finished job is that of the graph.
pub fn the_answer_is_right(job: JobId, state: &Job, toy: &Toy) -> Verdict {
    let question = &state.record().definition.spec;
    let deepest = toy.levels().len() - 1;
    let last = question
        .depth()
        .map_or(deepest, |d| deepest.min(d as usize));
    let levels = state.levels();
    let found: Vec<(u64, Digest)> = levels.iter().map(|l| (l.count, l.digest)).collect();
    let truth: Vec<(u64, Digest)> = toy.levels()[..=last]
        .iter()
        .filter(|level| !level.is_empty())
        .map(|level| (level.len(), level.digest()))
        .collect();
    ensure(found == truth, || {
        format!("job {job} found {found:?}, the truth is {truth:?}")
    })?;
    if toy.batch == Some(false) {
        let due: Vec<Vec<u8>> = (0..toy.shards).map(|item| toy.record_of(item)).collect();
        let records: Vec<Vec<u8>> = state.items().values().map(|r| r.to_vec()).collect();
        ensure(records == due, || {
            format!("job {job} has the records {records:?} instead of {due:?}")
        })?;
    }
    let known = state.record().definition.space.states.is_some();
    let noticed = known || question.depth().is_none_or(|d| d as usize > deepest);
    let exhausted = last == deepest && noticed;
    ensure(state.progress().exhausted == exhausted, || {
        format!("job {job}: exhausted is {}", state.progress().exhausted)
    })?;
    if !exhausted {
        return Ok(());
    }
    let due: Vec<u16> = toy.levels()[last]
        .states()
        .take(question.antipodes() as usize)
        .map(|x| x as u16)
        .collect();
    let named: Vec<u16> = state.progress().antipodes.iter().map(|a| a.0[0]).collect();
    ensure(named == due, || {
        format!("job {job} names the antipodes {named:?} instead of {due:?}")
    })
}
