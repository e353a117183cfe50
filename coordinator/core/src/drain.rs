//! A worker that is to end: what only it holds is copied to others, or brought to its disk where there
//! are none; then it may go.

use crate::artifact::Artifact;
use crate::effect::{Effect, Order, Reply};
use crate::event::{Now, RequestId};
use crate::state::Coordinator;
use antipode_ids::{JobId, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// How far a worker that is to end has come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drain {
    pub reason: String,
    /// What it was asked to bring to disk.
    asked: BTreeSet<(JobId, Artifact)>,
    /// It was told that it may go.
    released: bool,
}

impl Coordinator {
    /// A user wants the worker to end.
    pub(crate) fn ask_to_drain(&self, request: RequestId, worker: WorkerId, out: &mut Vec<Effect>) {
        let there = self.workers.get(&worker).is_some_and(|w| w.is_live());
        if there {
            self.order(worker, Order::Drain, out);
        }
        let reply = if there {
            Reply::Told
        } else {
            Reply::NoSuchWorker { worker }
        };
        out.push(Effect::Reply { request, reply });
    }

    /// The worker says that it is to end. It gives back what it has not begun.
    pub(crate) fn begin_drain(
        &mut self,
        now: Now,
        id: WorkerId,
        reason: String,
        out: &mut Vec<Effect>,
    ) {
        let Some(worker) = self.workers.get_mut(&id).filter(|w| w.draining.is_none()) else {
            return;
        };
        worker
            .record
            .history
            .push(now.unix, format!("it drains: {reason}"));
        worker.draining = Some(Drain {
            reason,
            ..Drain::default()
        });
        self.take_back_leases_of(id, out);
        self.place_all();
        self.touch_all();
    }

    /// Its leases return; it forgets those that it has not begun.
    pub(crate) fn take_back_leases_of(&mut self, id: WorkerId, out: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        let leases = std::mem::take(&mut worker.leases);
        let attempts: Vec<_> = leases.keys().copied().collect();
        for (job, key) in leases.into_values() {
            // What a lease may use up is still there, unless the task has begun: then the worker says so
            // when it is asked for it.
            if let Some(job) = self.jobs.get_mut(&job) {
                job.bfs.free(key, true);
            }
        }
        if !attempts.is_empty() {
            self.order(id, Order::Revoke { attempts }, out);
        }
    }

    /// Lets workers go of which nothing more is needed; asks the others for what is.
    pub(crate) fn advance_drains(&mut self, out: &mut Vec<Effect>) {
        let draining: Vec<WorkerId> = self
            .live()
            .filter(|(_, w)| w.draining.as_ref().is_some_and(|d| !d.released))
            .map(|(id, _)| id)
            .collect();
        if draining.is_empty() {
            return;
        }
        let others: BTreeSet<WorkerId> = self.lasting().map(|(id, _)| id).collect();
        for id in draining {
            let mut needed = 0;
            let mut persist: BTreeMap<JobId, Vec<Artifact>> = BTreeMap::new();
            for (&job_id, job) in &self.jobs {
                if job.progress.phase.is_final() && !job.is_database() {
                    continue;
                }
                let durable_here = |artifact: Artifact| {
                    job.bfs
                        .holders(artifact)
                        .is_some_and(|h| h.is_durable_at(id))
                };
                for artifact in job.bfs.only_at(id, &others) {
                    if others.is_empty() && durable_here(artifact) {
                        continue;
                    }
                    needed += 1;
                    // Also where it is copied: the copy may come too late.
                    if !durable_here(artifact) {
                        persist.entry(job_id).or_default().push(artifact);
                    }
                }
            }
            let Some(drain) = self.workers.get_mut(&id).and_then(|w| w.draining.as_mut()) else {
                continue;
            };
            drain.released = needed == 0;
            for (&job, artifacts) in &mut persist {
                artifacts.retain(|&artifact| drain.asked.insert((job, artifact)));
            }
            for (job, artifacts) in persist.into_iter().filter(|(_, list)| !list.is_empty()) {
                self.order(id, Order::Persist { job, artifacts }, out);
            }
            if needed == 0 {
                self.order(id, Order::Shutdown, out);
            }
        }
    }
}
