//! Why a job, a task or a worker is as it is: the present in a few words, then what happened.

use crate::event::Now;
use crate::incident::{History, Incident};
use crate::lease::Obstacle;
use crate::plan::bfs::{Lack, TaskKey};
use crate::record::Phase;
use crate::state::{Coordinator, Job};
use antipode_ids::{JobId, WorkerId};
use antipode_solver_core::engine::Level;

/// The present first, then the past, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation {
    pub now: Vec<String>,
    pub history: Vec<Incident>,
}

impl Coordinator {
    /// What the job waits for; `None` where there is no such job.
    pub fn explain(&self, now: Now, id: JobId) -> Option<String> {
        let job = self.jobs.get(&id)?;
        Some(match &job.progress.phase {
            Phase::Queued => "it waits for the jobs before it".into(),
            Phase::Paused => format!("it is paused; `antipode resume {id}` goes on with it"),
            Phase::Suspect { reason } | Phase::Incomplete { reason } => {
                format!("{reason}; `antipode resume {id}` tries again")
            }
            Phase::Finished => "it is finished".into(),
            Phase::Failed { reason, .. } => format!("it failed: {reason}"),
            Phase::Cancelled => "it was cancelled".into(),
            Phase::Running => self.explain_running(now, job),
        })
    }

    /// A job with all that is known to be in its way, and its history.
    pub fn explain_job(&self, now: Now, id: JobId) -> Option<Explanation> {
        let job = self.jobs.get(&id)?;
        let mut lines = vec![self.explain(now, id)?];
        if job.is_running() {
            lines.extend(self.present(now, job));
        }
        lines.extend(
            job.progress
                .disputes
                .iter()
                .map(|d| format!("alarm: {}", d.describe())),
        );
        let limit = self.config.crash_limit;
        let troubled = job
            .troubles
            .keys()
            .chain(job.progress.crashes.iter().map(|(key, _)| key));
        let tasks = troubled.filter(|key| !matches!(key, TaskKey::Copy { .. }));
        for key in tasks.collect::<std::collections::BTreeSet<_>>() {
            let name = job.name_of(*key);
            if let Some(reason) = job.set_aside(*key, limit) {
                lines.push(format!("{name} is set aside: {reason}"));
            } else if let Some(crashes) = job.crashes(*key) {
                lines.push(format!(
                    "{name} was at work when its worker ended: {} times beside others, {} times alone of at most {limit} (last: {})",
                    crashes.together, crashes.alone, crashes.last
                ));
            } else if let Some(trouble) = job.troubles.get(key) {
                lines.push(format!(
                    "{name} failed {} times: {}",
                    trouble.failures.max(trouble.inputs_missing).max(1),
                    trouble.last
                ));
            }
        }
        let scarce = job.bfs.scarce().len();
        if scarce > 0 {
            lines.push(format!(
                "{scarce} artifacts of the last checkpoint are on fewer than {} disks",
                job.bfs.places()
            ));
        }
        Some(Explanation {
            now: lines,
            history: all(&job.progress.history),
        })
    }

    /// One Expand task.
    pub fn explain_task(&self, id: JobId, level: Level, shard: u32) -> Option<Explanation> {
        let job = self.jobs.get(&id)?;
        let cell = job.bfs.cell(level, shard)?;
        let key = TaskKey::Expand { level, shard };
        let mut lines = Vec::new();
        if job.progress.phase.is_final() && !job.is_database() {
            let ended = "its job has ended: the levels are kept, results of single tasks are not";
            return Some(Explanation {
                now: vec![ended.into()],
                history: Vec::new(),
            });
        }
        match cell.result {
            Some(result) => {
                let by = result
                    .by
                    .map_or("without a task: all its sources are empty".into(), |by| {
                        format!("by {}", self.name(by))
                    });
                lines.push(format!(
                    "its result is {} states, digest {}, {by}",
                    result.count, result.digest
                ));
            }
            None => lines.push("it has no result yet".into()),
        }
        if let Some(lease) = cell.lease {
            lines.push(format!(
                "worker {} computes it (attempt {})",
                self.name(lease.worker),
                lease.attempt
            ));
        } else if cell.wanted {
            lines.push(if cell.result.is_some() {
                "it is to be computed again: a copy of its frontier is needed, and nobody has one"
                    .into()
            } else {
                "it is to be computed next in its shard".to_string()
            });
            for input in job.bfs.graph().inputs(level, shard) {
                match job.bfs.lack(input) {
                    Lack::Nothing => {}
                    Lack::Result => {
                        lines.push(format!("it waits for the {input}, not computed yet"))
                    }
                    Lack::Copy => {
                        lines.push(format!("it waits for the {input}: no worker has a copy"))
                    }
                }
            }
        }
        for output in job.bfs.graph().outputs(level, shard) {
            let holders: Vec<String> = job
                .bfs
                .holders(output)
                .into_iter()
                .flat_map(|h| h.iter())
                .map(|(worker, durable)| {
                    let place = if durable { "on disk" } else { "in memory" };
                    format!("{} ({place})", self.name(worker))
                })
                .collect();
            if !holders.is_empty() {
                lines.push(format!("the {output} is held by {}", holders.join(", ")));
            }
        }
        if let Some(reason) = job.set_aside(key, self.config.crash_limit) {
            lines.push(format!("it is set aside: {reason}"));
        }
        if let Some(trouble) = job.troubles.get(&key) {
            lines.push(format!(
                "it failed {} times, its inputs were missing {} times; last: {}",
                trouble.failures, trouble.inputs_missing, trouble.last
            ));
        }
        if let Some(dispute) = job.dispute(key) {
            lines.push(format!("alarm: {}", dispute.describe()));
        }
        let name = key.to_string();
        let mine = job
            .progress
            .history
            .iter()
            .filter(|i| i.what.contains(&name))
            .cloned();
        Some(Explanation {
            now: lines,
            history: mine.collect(),
        })
    }

    /// A worker.
    pub fn explain_worker(&self, now: Now, id: WorkerId) -> Option<Explanation> {
        let worker = self.workers.get(&id)?;
        let mut lines = Vec::new();
        lines.push(match (worker.is_live(), worker.condition().as_str()) {
            (true, "") => "it is connected".to_string(),
            (true, condition) => format!("it is connected; {condition}"),
            (false, "left") => "it left when asked to".into(),
            (false, _) if !worker.rehomed => format!(
                "it is away for {} s; others take its shards soon",
                now.millis.saturating_sub(worker.seen_at_millis) / 1000
            ),
            (false, _) => "it is away; others have its shards".into(),
        });
        if !worker.leases.is_empty() {
            let some: Vec<String> = worker
                .leases
                .values()
                .take(4)
                .map(|(id, key)| {
                    let known = self.jobs.get(id);
                    let name = known.map_or_else(|| key.to_string(), |job| job.name_of(*key));
                    format!("job {id}, {name}")
                })
                .chain((worker.leases.len() > 4).then(|| "...".into()))
                .collect();
            lines.push(format!(
                "it has {} tasks: {}",
                worker.leases.len(),
                some.join("; ")
            ));
        }
        if !worker.devices().is_empty() {
            lines.push(format!(
                "it has devices: {}; what became of them is told below",
                worker.devices().join(", ")
            ));
        }
        if let Some(free) = worker.disk.free_bytes {
            lines.push(format!(
                "{:.1} GiB are free on its disk",
                free as f64 / f64::from(1u32 << 30)
            ));
        }
        if worker.record.crashes_in_a_row > 0 {
            lines.push(format!(
                "it ended {} times in a row without finishing a task",
                worker.record.crashes_in_a_row
            ));
        }
        Some(Explanation {
            now: lines,
            history: all(&worker.record.history),
        })
    }

    /// What happened that concerns no known worker: refusals, the coordinator's own disk.
    pub fn own_history(&self) -> Vec<Incident> {
        all(&self.history)
    }

    /// What a running job has on its way.
    fn present(&self, now: Now, job: &Job) -> Vec<String> {
        let mut lines = Vec::new();
        let ready = job.bfs.ready().len();
        lines.push(if job.bfs.graph().is_batch() {
            format!(
                "{} of {} items are done; {ready} are ready and not leased",
                job.bfs.results(),
                job.bfs.graph().shards()
            )
        } else {
            format!(
                "{} levels are complete; {ready} tasks are ready and not leased",
                job.bfs.complete()
            )
        });
        let redone = job.bfs.rows().iter().flat_map(|row| &row.cells);
        let redone = redone
            .filter(|cell| cell.wanted && cell.result.is_some())
            .count();
        if redone > 0 {
            lines.push(format!(
                "{redone} results are computed again, because copies were lost"
            ));
        }
        if let Some(missing) = job.bfs.writing().missing() {
            lines.push(format!(
                "a checkpoint is being written: {} artifacts are not on {} disks yet",
                missing.len(),
                job.bfs.writing().places()
            ));
        }
        for (key, obstacle) in self.obstacles(now, job) {
            match obstacle {
                Obstacle::SetAside(_) | Obstacle::Later => {}
                Obstacle::NoArbiter(evidence) => lines.push(evidence),
                Obstacle::Memory(needed, allowed) => lines.push(format!(
                    "{} needs {needed} bytes of memory, no worker allows more than {allowed}",
                    job.name_of(key)
                )),
            }
        }
        lines
    }

    pub(crate) fn explain_running(&self, now: Now, job: &Job) -> String {
        if let Some(reason) = &self.disk_full {
            return reason.clone();
        }
        if self.is_waiting_for_workers(now) {
            let names: Vec<&str> = self
                .awaited
                .iter()
                .filter_map(|id| self.workers.get(id))
                .map(|w| w.name())
                .collect();
            return format!(
                "after a restart it waits for workers to come back: {}",
                names.join(", ")
            );
        }
        if self.live().next().is_none() {
            return "no worker is connected; start one with `antipode worker`".into();
        }
        let leases: usize = self.live().map(|(_, w)| w.leases.len()).sum();
        if leases > 0 {
            return format!("{leases} tasks are being computed");
        }
        if self.lasting().next().is_none() {
            let conditions = self
                .live()
                .map(|(_, w)| format!("{}: {}", w.name(), w.condition()));
            let conditions: Vec<String> = conditions.collect();
            return format!("no worker takes tasks ({})", conditions.join("; "));
        }
        if let Some((needed, allowed)) = job.troubles.values().find_map(|t| t.memory) {
            return format!(
                "a task needs {needed} bytes of memory, but no worker allows more than {allowed}; start a worker with more --memory"
            );
        }
        if let Some(missing) = job.bfs.writing().missing() {
            return format!(
                "a checkpoint: {} artifacts are not on disk yet",
                missing.len()
            );
        }
        if job.bfs.end().is_some() && !job.bfs.unsaved().is_empty() {
            return format!("{} frontiers are not on disk yet", job.bfs.unsaved().len());
        }
        let absent = job
            .owners
            .iter()
            .flatten()
            .find(|id| self.workers.get(id).is_some_and(|w| !w.is_live()));
        match absent.and_then(|id| Some((id, self.workers.get(id)?))) {
            Some((id, worker)) => {
                let (since, patience) = match worker.closed_at {
                    Some(at) => (at, self.config.reconnect),
                    None => (worker.seen_at_millis, self.config.rebuild_after),
                };
                let left = (since + patience).saturating_sub(now.millis).div_ceil(1000);
                format!(
                    "worker {} ({id}) is away; others take its shards in {left} s",
                    worker.name()
                )
            }
            None => "nothing is ready".into(),
        }
    }
}

fn all(history: &History) -> Vec<Incident> {
    history.iter().cloned().collect()
}
