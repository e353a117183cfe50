//! Why a job is not moving, in a few words.

use crate::event::Now;
use crate::record::Phase;
use crate::state::{Coordinator, Job};
use antipode_ids::JobId;

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

    pub(crate) fn explain_running(&self, now: Now, job: &Job) -> String {
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
