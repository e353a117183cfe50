//! What users see, made from what the core knows.

use crate::bridge;
use antipode_coordinator_core as core;
use antipode_coordinator_core::artifact::Artifact;
use antipode_coordinator_core::plan::bfs::TaskKey;
use antipode_coordinator_core::record::Phase;
use antipode_coordinator_core::state::{Coordinator, Job};
use antipode_ids::{JobId, WorkerId};
use antipode_proto::status::{
    Antipode, EngineName, Explanation, Holdings, Incident, JobState, JobStatus, LevelOutlook,
    LevelStatus, Outlook, Resumed, Subject, WorkerStatus,
};
use antipode_solver_core::engine::Level;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The status of a job of a running coordinator.
pub fn job_status(state: &Coordinator, now: core::Now, id: JobId) -> Option<JobStatus> {
    let job = state.jobs().get(&id)?;
    let of_job =
        |w: &core::state::Worker| w.leases().values().filter(|(of, _)| *of == id).count() as u64;
    let tasks_running = state.workers().values().map(of_job).sum();
    let stored = |w: &core::state::Worker| {
        let mine = w.disk().jobs.iter().find(|(of, _)| *of == id);
        mine.map(|&(_, bytes)| (w.name().to_string(), bytes))
    };
    Some(JobStatus {
        stored: state.workers().values().filter_map(stored).collect(),
        tasks_running,
        run_time: Duration::from_millis(job.run_millis(now)),
        ..at_rest(id, job)
    })
}

/// The status of a job that nobody works on.
pub fn at_rest(id: JobId, job: &Job) -> JobStatus {
    let progress = job.progress();
    let levels = levels(job);
    let complete: u64 = levels.iter().map(|level| level.count).sum();
    // Of a job that has ended the plan is gone.
    let partial = if progress.phase.is_final() {
        progress.partial
    } else {
        let total = u64::try_from(job.bfs().total()).unwrap_or(u64::MAX);
        total.saturating_sub(complete)
    };
    let kernels: BTreeSet<&str> = progress
        .workers
        .values()
        .map(|w| w.kernel.as_str())
        .collect();
    let kernel = kernels.into_iter().collect::<Vec<_>>().join("+");
    let devices: BTreeSet<&String> = progress.workers.values().flat_map(|w| &w.devices).collect();
    let devices = devices.into_iter().cloned().collect();
    let kind = job.record().definition.space.kind.clone();
    let is_over = progress.phase == Phase::Finished;
    let records = job.items().values().filter(|_| is_over);
    JobStatus {
        items: records.map(|record| record.to_vec()).collect(),
        job: id,
        definition: Arc::clone(&job.record().definition),
        state: job_state(job),
        partial,
        levels,
        exhausted: progress.exhausted,
        antipodes: progress
            .antipodes
            .iter()
            .map(|(state, word)| Antipode {
                state: state.clone(),
                word: word.clone(),
            })
            .collect(),
        tasks_done: progress.tasks_done,
        tasks_running: 0,
        workers: progress.workers.len() as u32,
        threads: progress.workers.values().map(|w| w.threads).sum(),
        resumed: progress.resumed.map(|r| Resumed {
            from_level: r.from_level,
            tasks_kept: r.tasks_kept.saturating_sub(r.tasks_redone),
            tasks_redone: r.tasks_redone,
        }),
        submitted_at: job.record().submitted_at,
        finished_at: progress.finished_at,
        run_time: Duration::from_millis(progress.run_millis),
        engine_time: Duration::from_nanos(progress.engine_nanos),
        peak_memory: progress
            .workers
            .values()
            .filter(|w| w.peak_memory_bytes > 0)
            .map(|w| (w.name.clone(), w.peak_memory_bytes))
            .collect(),
        engine: (!kernel.is_empty()).then_some(EngineName {
            kind,
            kernel,
            devices,
        }),
        stored: Vec::new(),
    }
}

/// Complete levels that have states.
fn levels(job: &Job) -> Vec<LevelStatus> {
    let levels = job.levels().into_iter().enumerate();
    levels
        .map(|(level, record)| LevelStatus {
            level: level as Level,
            count: record.count,
            digest: record.digest,
            certificate: record.certificate,
            fetched_bytes: record.fetched_bytes,
            uploaded_bytes: record.uploaded_bytes,
            device_tasks: record.device_tasks,
        })
        .collect()
}

fn job_state(job: &Job) -> JobState {
    match (&job.progress().phase, job.stalled()) {
        (Phase::Queued, _) => JobState::Queued,
        (Phase::Running, Some((since, reason))) => JobState::Stalled {
            since: *since,
            reason: reason.clone(),
        },
        (Phase::Running, None) => JobState::Running,
        (Phase::Paused, _) => JobState::Paused,
        (Phase::Suspect { reason }, _) => JobState::Suspect {
            reason: reason.clone(),
        },
        (Phase::Incomplete { reason }, _) => JobState::Incomplete {
            reason: reason.clone(),
        },
        (Phase::Finished, _) => JobState::Finished,
        (Phase::Failed { reason, internal }, _) => JobState::Failed {
            reason: reason.clone(),
            internal: *internal,
        },
        (Phase::Cancelled, _) => JobState::Cancelled,
    }
}

/// All workers, also those that are away.
pub fn workers(state: &Coordinator) -> Vec<WorkerStatus> {
    let workers = state.workers().iter();
    workers
        .map(|(&id, w)| WorkerStatus {
            worker: id,
            name: w.name().into(),
            version: w.version().into(),
            address: w.address().map(Into::into),
            threads: w.threads(),
            memory_bytes: w.memory_bytes(),
            connected: w.is_live(),
            running: w
                .leases()
                .values()
                .map(|&(job, key)| task_name(state, job, key))
                .collect(),
            tasks_done: w.tasks_done(),
            last_seen: w.last_seen(),
            condition: w.condition(),
            disk_free_bytes: w.disk().free_bytes,
            devices: w.devices().to_vec(),
        })
        .collect()
}

/// A task as users see it: job, stage, shard.
fn task_name(state: &Coordinator, job: JobId, key: TaskKey) -> String {
    let graph = state.jobs().get(&job).map(|job| job.bfs().graph());
    match key {
        TaskKey::Expand { shard, .. } if graph.is_some_and(|graph| graph.is_batch()) => {
            format!("{job}/item/{shard}")
        }
        TaskKey::Expand { level, shard } => format!("{job}/{level}/{shard}"),
        TaskKey::Smallest { shard } => format!("{job}/smallest/{shard}"),
        TaskKey::Words => format!("{job}/words"),
        TaskKey::Pack { shard } => format!("{job}/distances/{shard}"),
        TaskKey::Copy { artifact, .. } => {
            format!("{job}/copy/{}/{}", artifact.level, artifact.shard)
        }
    }
}

/// The worker that a user names, by its name or number.
pub fn worker_named(state: &Coordinator, named: &str) -> Result<WorkerId, String> {
    let all = || state.workers().iter();
    let number = named.strip_prefix('w').unwrap_or(named).parse().ok();
    let by_name = all().filter(|(_, w)| w.name() == named);
    let found: Vec<WorkerId> = by_name.map(|(&id, _)| id).collect();
    match (found.as_slice(), number.map(WorkerId)) {
        ([one], _) => Ok(*one),
        (_, Some(id)) if state.workers().contains_key(&id) => Ok(id),
        ([], _) => {
            let names: Vec<String> = all()
                .map(|(id, w)| format!("{} ({id})", w.name()))
                .collect();
            let names = if names.is_empty() {
                "none".into()
            } else {
                names.join(", ")
            };
            Err(format!("there is no worker '{named}'; known are: {names}"))
        }
        (several, _) => Err(format!(
            "'{named}' is the name of {} workers; give one of their numbers: {}",
            several.len(),
            several
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        )),
    }
}

/// What going on with a job would keep and redo.
pub fn outlook(state: &Coordinator, now: core::Now, id: JobId) -> Option<Outlook> {
    let outlook = state.outlook(now, id)?;
    let levels = outlook.levels.into_iter().map(|level| LevelOutlook {
        level: level.level,
        kept: level.kept,
        redone: level.redone,
        open: level.open,
    });
    Some(Outlook {
        levels: levels.collect(),
        checkpoint: outlook.checkpoint,
        notes: outlook.notes,
    })
}

/// Why something is as it is.
pub fn explain(
    state: &Coordinator,
    now: core::Now,
    subject: &Subject,
) -> Result<Explanation, String> {
    let no_job = |job: u64| format!("there is no job {job}; `antipode jobs` lists them");
    let (explanation, own) = match *subject {
        Subject::Job(job) => {
            let explained = state.explain_job(now, JobId(job));
            let explained = explained.ok_or_else(|| no_job(job))?;
            // What happened before it was there does not concern it.
            let since = state
                .jobs()
                .get(&JobId(job))
                .map_or(0, |j| j.record().submitted_at);
            let mut own = state.own_history();
            own.retain(|incident| incident.at >= since);
            (explained, own)
        }
        Subject::Task { job, level, shard } => {
            let Some(known) = state.jobs().get(&JobId(job)) else {
                return Err(no_job(job));
            };
            let graph = known.bfs().graph();
            if graph.is_batch() && (level != 1 || shard as usize >= graph.shards()) {
                return Err(format!(
                    "job {job} has the items 0 to {}; write {job}/item/N",
                    graph.shards() - 1
                ));
            }
            let explained = state.explain_task(JobId(job), level, shard);
            let explained = explained.ok_or_else(|| {
                if known.progress().phase.is_final() {
                    return format!(
                        "job {job} has ended, and nothing is known of level {level}, shard {shard}: where no frontiers are kept only the sums of the levels are"
                    );
                }
                format!(
                    "job {job} has no level {level} of shard {shard}; it has {} shards and {} levels so far",
                    known.bfs().graph().shards(),
                    known.bfs().rows().len()
                )
            })?;
            (explained, Vec::new())
        }
        Subject::Worker(ref named) => {
            let worker = worker_named(state, named)?;
            (
                state.explain_worker(now, worker).unwrap_or_default(),
                Vec::new(),
            )
        }
    };
    let mut history: Vec<Incident> = explanation
        .history
        .into_iter()
        .chain(own)
        .map(|incident| Incident {
            at: incident.at,
            what: incident.what,
        })
        .collect();
    history.sort_by_key(|incident| incident.at);
    Ok(Explanation {
        now: explanation.now,
        history,
    })
}

/// Where the artifacts of a job are.
pub fn holdings(state: &Coordinator, id: JobId) -> Option<Holdings> {
    let job = state.jobs().get(&id)?;
    let mut artifacts: BTreeMap<Artifact, core::Input> = BTreeMap::new();
    for (artifact, worker, _) in job.bfs().copies() {
        let Some((count, digest)) = job.bfs().content(artifact) else {
            continue;
        };
        let entry = artifacts.entry(artifact).or_insert_with(|| core::Input {
            artifact,
            digest,
            count,
            holders: Vec::new(),
        });
        entry.holders.push(worker);
    }
    let artifacts = artifacts
        .into_values()
        .map(|input| bridge::input(id, input, state));
    Some(Holdings {
        definition: Arc::clone(&job.record().definition),
        artifacts: artifacts.collect(),
    })
}
