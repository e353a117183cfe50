//! Handing out tasks: which ready task goes to which worker.

use crate::effect::{Effect, Order};
use crate::event::Now;
use crate::plan::bfs::TaskKey;
use crate::state::{Coordinator, Job, Trouble, Worker};
use antipode_ids::{JobId, WorkerId};
use antipode_solver_core::engine::ShardId;
use antipode_solver_core::job::Task;
use std::collections::BTreeMap;
use std::sync::Arc;

/// At most so many leases wait at one worker.
const LEASES_PER_WORKER: usize = 256;

impl Coordinator {
    /// Leases what is ready to the owners of the shards.
    pub(crate) fn lease_ready(&mut self, now: Now, id: JobId, out: &mut Vec<Effect>) {
        if self.is_waiting_for_workers(now) {
            return;
        }
        let Some(job) = self.jobs.get(&id).filter(|job| job.is_running()) else {
            return;
        };
        let mut granted: Vec<(TaskKey, WorkerId)> = Vec::new();
        let mut load: BTreeMap<WorkerId, usize> = self
            .live()
            .map(|(worker, w)| (worker, w.leases.len()))
            .collect();
        if load.is_empty() {
            return;
        }
        let expand = job
            .bfs
            .ready()
            .iter()
            .map(|&(level, shard)| TaskKey::Expand { level, shard });
        // A pause does not wait for what comes after the last level.
        let finals = if job.pausing.is_empty() {
            job.bfs.ready_finals()
        } else {
            Vec::new()
        };
        for key in expand.chain(finals) {
            let trouble = job.troubles.get(&key);
            let Some(worker) = choose(job, key, trouble, &load, &self.workers) else {
                continue;
            };
            if let Some(load) = load.get_mut(&worker) {
                *load += 1;
            }
            granted.push((key, worker));
        }
        for (key, worker) in granted {
            self.lease(id, key, worker, out);
        }
    }

    fn lease(&mut self, id: JobId, key: TaskKey, to: WorkerId, out: &mut Vec<Effect>) {
        let attempt = self.next_attempt();
        let (Some(job), Some(worker)) = (self.jobs.get_mut(&id), self.workers.get_mut(&to)) else {
            return;
        };
        let Some(connection) = worker.connection else {
            return;
        };
        let (task, inputs, consume) = match key {
            TaskKey::Expand { level, shard } => {
                let again = job
                    .bfs
                    .cell(level, shard)
                    .is_some_and(|cell| cell.result.is_some());
                if let Some(resumed) = job.progress.resumed.as_mut().filter(|_| again) {
                    resumed.from_level = resumed.from_level.min(level - 1);
                    resumed.tasks_redone += 1;
                }
                let (inputs, consume) = job.bfs.grant(level, shard, to, attempt);
                (
                    Task::Expand {
                        level,
                        shard: ShardId(shard),
                    },
                    inputs,
                    consume,
                )
            }
            TaskKey::Smallest { .. } | TaskKey::Words => {
                let Some((task, inputs)) = job.bfs.grant_final(key, to, attempt) else {
                    return;
                };
                (task, inputs, false)
            }
        };
        if job.opened.insert(to) {
            let definition = Arc::clone(&job.record.definition);
            out.push(Effect::Send {
                connection,
                order: Order::Open {
                    job: id,
                    definition,
                },
            });
        }
        worker.leases.insert(attempt, (id, key));
        let order = Order::Lease {
            job: id,
            task,
            attempt,
            inputs,
            consume,
        };
        out.push(Effect::Send { connection, order });
    }

    /// After a restart, are there workers that may still be computing and did not come back yet?
    pub(crate) fn is_waiting_for_workers(&self, now: Now) -> bool {
        !self.awaited.is_empty() && self.awaited_until.is_some_and(|until| now.millis < until)
    }
}

/// The owner of the shard if it has room; another one for a task that does not work there.
fn choose(
    job: &Job,
    key: TaskKey,
    trouble: Option<&Trouble>,
    load: &BTreeMap<WorkerId, usize>,
    workers: &BTreeMap<WorkerId, Worker>,
) -> Option<WorkerId> {
    let avoided = |worker: &WorkerId| trouble.is_some_and(|t| t.avoid.contains(worker));
    let has_room = |worker: &WorkerId| load.get(worker).is_some_and(|&n| n < LEASES_PER_WORKER);
    let owner = match key {
        TaskKey::Expand { shard, .. } | TaskKey::Smallest { shard } => {
            job.owners.get(shard as usize).copied().flatten()
        }
        // The search for words uses all threads of one worker.
        TaskKey::Words => {
            let threads = |worker: &WorkerId| workers.get(worker).map_or(0, |w| w.threads);
            let free = load.keys().filter(|w| !avoided(w)).copied();
            free.max_by_key(|w| (threads(w), std::cmp::Reverse(*w)))
                .or_else(|| load.keys().next().copied())
        }
    };
    let owner = owner?;
    if !avoided(&owner) {
        return Some(owner).filter(|w| has_room(w));
    }
    let other = load
        .keys()
        .filter(|w| !avoided(w) && has_room(w))
        .min_by_key(|w| (load[w], **w));
    match other {
        Some(&other) => Some(other),
        // More memory will not come by asking again; anything else may work at the second try.
        None if trouble.is_some_and(|t| t.memory.is_some()) => None,
        None => Some(owner).filter(|w| has_room(w)),
    }
}
