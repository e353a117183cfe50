//! Handing out tasks: which ready task goes to which worker, and which ones nobody may have.

use crate::artifact::Artifact;
use crate::effect::{Effect, Order};
use crate::event::Now;
use crate::plan::bfs::TaskKey;
use crate::state::{Coordinator, Job, Worker};
use antipode_ids::{JobId, WorkerId};
use antipode_solver_core::engine::ShardId;
use antipode_solver_core::job::Task;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// At most so many leases wait at one worker.
const LEASES_PER_WORKER: usize = 256;
/// Items take unlike times and may run anywhere: a worker gets few beyond those that it computes.
const ITEMS_AHEAD: usize = 2;

/// Why a ready task is given to nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It failed or ended its worker too often.
    SetAside(String),
    /// Answers differ, and there is no worker that has not given one.
    NoArbiter(String),
    /// It needs more memory than any worker there allows: needed, allowed.
    Memory(u64, u64),
    /// Nobody has room just now, or it is to run alone and others run.
    Later,
}

/// Workers that may be given tasks, with the number of leases they have.
struct Room<'a> {
    load: BTreeMap<WorkerId, usize>,
    /// They run a task that is to run alone.
    solo: BTreeSet<WorkerId>,
    workers: &'a BTreeMap<WorkerId, Worker>,
}

impl Coordinator {
    /// Leases what is ready to the owners of the shards.
    pub(crate) fn lease_ready(&mut self, now: Now, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        let granted = if job.is_running() && !self.may_not_lease(now) {
            self.choose_all(job, job.ready_tasks().into_iter())
        } else {
            Vec::new()
        };
        for (key, worker) in granted {
            if let Ok(worker) = worker {
                self.lease(now, id, key, worker, out);
            }
        }
        self.lease_copies(now, id, out);
    }

    /// Is nothing to be leased at present, whatever is ready?
    fn may_not_lease(&self, now: Now) -> bool {
        self.is_waiting_for_workers(now) || self.disk_full.is_some()
    }

    /// What keeps the ready tasks of a running job from being leased, if nothing is leased and nothing
    /// could be. Empty: something can go on, or nothing is ready.
    pub(crate) fn obstacles(&self, now: Now, job: &Job) -> Vec<(TaskKey, Obstacle)> {
        if self.may_not_lease(now) || self.lasting().next().is_none() {
            return Vec::new();
        }
        let mut obstacles = Vec::new();
        for (key, chosen) in self.choose_all(job, job.ready_tasks().into_iter()) {
            match chosen {
                Ok(_) | Err(Obstacle::Later) => return Vec::new(),
                Err(obstacle) => obstacles.push((key, obstacle)),
            }
        }
        obstacles
    }

    fn choose_all(
        &self,
        job: &Job,
        ready: impl Iterator<Item = TaskKey>,
    ) -> Vec<(TaskKey, Result<WorkerId, Obstacle>)> {
        let mut room = self.room();
        if room.load.is_empty() {
            return Vec::new();
        }
        let limit = self.config.crash_limit;
        let mut chosen = Vec::new();
        for key in ready {
            let worker = match job.set_aside(key, limit) {
                Some(reason) => Err(Obstacle::SetAside(reason)),
                None => choose(job, key, &room),
            };
            if let Ok(worker) = worker {
                room.take(worker, job.crashes(key).is_some_and(|c| c.is_solo()));
            }
            chosen.push((key, worker));
        }
        chosen
    }

    fn room(&self) -> Room<'_> {
        let load = self.lasting().map(|(id, w)| (id, w.leases.len()));
        let is_solo = |w: &Worker| {
            let mut leases = w.leases.values();
            leases.any(|(job, key)| {
                let job = self.jobs.get(job);
                job.and_then(|job| job.crashes(*key))
                    .is_some_and(|c| c.is_solo())
            })
        };
        let troubled = self
            .jobs
            .values()
            .any(|job| !job.progress.crashes.is_empty());
        let solo = if troubled {
            self.lasting()
                .filter(|(_, w)| is_solo(w))
                .map(|(id, _)| id)
                .collect()
        } else {
            BTreeSet::new()
        };
        Room {
            load: load.collect(),
            solo,
            workers: &self.workers,
        }
    }

    /// What jobs that have ended left to be asked gets its copies, too.
    pub(crate) fn copy_databases(&mut self, now: Now, out: &mut Vec<Effect>) {
        let databases = self.jobs.iter().filter(|(_, job)| job.is_database());
        let databases: Vec<JobId> = databases.map(|(&id, _)| id).collect();
        for id in databases {
            self.lease_copies(now, id, out);
        }
    }

    /// Leases copies of what is on too few disks, or at a worker that is to end.
    fn lease_copies(&mut self, now: Now, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        let open = !job.progress.phase.is_final() || job.is_database();
        let due = if open {
            job.bfs.copies_due()
        } else {
            Vec::new()
        };
        let mut wanted = due;
        let draining: Vec<WorkerId> = self
            .live()
            .filter(|(_, w)| w.draining.is_some())
            .map(|(id, _)| id)
            .collect();
        let lasting: BTreeSet<WorkerId> = self.lasting().map(|(id, _)| id).collect();
        if !lasting.is_empty() && (!job.progress.phase.is_final() || job.is_database()) {
            for worker in draining {
                let only = job.bfs.only_at(worker, &lasting);
                let idle = only.into_iter().filter(|a| !job.bfs.is_copying(*a));
                wanted.extend(idle.map(|artifact| (artifact, 1)));
            }
        }
        let mut load: BTreeMap<WorkerId, usize> =
            self.lasting().map(|(id, w)| (id, w.leases.len())).collect();
        let mut granted = Vec::new();
        for (artifact, copies) in wanted {
            let holds = |worker: &WorkerId| {
                let holders = job.bfs.holders(artifact);
                holders.is_some_and(|h| h.contains(*worker))
                    || job.bfs.copying().contains_key(&(artifact, *worker))
            };
            for _ in 0..copies {
                let key = |to| TaskKey::Copy { artifact, to };
                let limit = self.config.crash_limit;
                let free = load.iter().filter(|(worker, load)| {
                    **load < LEASES_PER_WORKER
                        && !holds(worker)
                        && !granted.contains(&key(**worker))
                        && job.set_aside(key(**worker), limit).is_none()
                });
                let Some((&to, _)) = free.min_by_key(|&(worker, load)| (*load, *worker)) else {
                    break;
                };
                load.entry(to).and_modify(|n| *n += 1);
                granted.push(key(to));
            }
        }
        for key in granted {
            if let TaskKey::Copy { to, .. } = key {
                self.lease(now, id, key, to, out);
            }
        }
    }

    fn lease(&mut self, now: Now, id: JobId, key: TaskKey, to: WorkerId, out: &mut Vec<Effect>) {
        let attempt = self.next_attempt();
        let (Some(job), Some(worker)) = (self.jobs.get_mut(&id), self.workers.get_mut(&to)) else {
            return;
        };
        let Some(connection) = worker.connection else {
            return;
        };
        let mut consume = false;
        let granted = match key {
            TaskKey::Expand { level, shard } => {
                let again = job
                    .bfs
                    .cell(level, shard)
                    .is_some_and(|cell| cell.result.is_some());
                if let Some(resumed) = job.progress.resumed.as_mut().filter(|_| again) {
                    resumed.from_level = resumed.from_level.min(level - 1);
                    resumed.tasks_redone += 1;
                }
                let (inputs, used_up) = job.bfs.grant(level, shard, to, attempt);
                consume = used_up;
                let shard = ShardId(shard);
                let task = if job.bfs.graph().is_batch() {
                    Task::Item { item: shard }
                } else {
                    Task::Expand { level, shard }
                };
                Some((task, inputs))
            }
            TaskKey::Smallest { .. } | TaskKey::Words => job.bfs.grant_final(key, to, attempt),
            TaskKey::Pack { shard } => job.bfs.grant_pack(shard, to, attempt),
            TaskKey::Copy { artifact, to } => job.bfs.grant_copy(artifact, to, attempt),
        };
        let Some((task, inputs)) = granted else {
            return;
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
        if job.progress.leased_to.insert(to) {
            // Before the task is sent: whoever starts after a crash knows whom to wait for.
            out.push(Effect::Persist(job.progress_record(id, now, true)));
        }
        if let TaskKey::Expand { level, shard } = key
            && job.progress.mistrusts
        {
            // It may have the answer to an earlier lease, which rests on what was taken back. What it
            // is known to hold is right.
            let known = |artifact: &Artifact| {
                let holders = job.bfs.holders(*artifact);
                holders.is_some_and(|holders| holders.contains(to))
            };
            let made = job.bfs.graph().outputs(level, shard);
            let artifacts: Vec<Artifact> = made.filter(|artifact| !known(artifact)).collect();
            if !artifacts.is_empty() {
                let order = Order::Release { job: id, artifacts };
                out.push(Effect::Send { connection, order });
            }
        }
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

impl Job {
    /// Tasks whose inputs are there, lowest level first.
    pub(crate) fn ready_tasks(&self) -> Vec<TaskKey> {
        if self.bfs.graph().is_batch() && !self.pausing.is_empty() {
            return Vec::new();
        }
        let expand = self
            .bfs
            .ready()
            .iter()
            .map(|&(level, shard)| TaskKey::Expand { level, shard });
        let mut ready: Vec<TaskKey> = expand.collect();
        // A pause does not wait for what comes after the last level.
        if self.pausing.is_empty() {
            ready.extend(self.bfs.ready_finals());
            let packs = self.bfs.ready_packs().into_iter();
            ready.extend(packs.map(|shard| TaskKey::Pack { shard }));
        }
        ready
    }
}

impl Room<'_> {
    fn take(&mut self, worker: WorkerId, solo: bool) {
        if let Some(load) = self.load.get_mut(&worker) {
            *load += 1;
        }
        if solo {
            self.solo.insert(worker);
        }
    }

    /// How many tasks it computes side by side: one on each of its devices.
    fn lanes(&self, worker: WorkerId) -> usize {
        let devices = self.workers.get(&worker).map_or(0, |w| w.devices.len());
        devices.max(1)
    }

    fn has_room(&self, worker: WorkerId, solo: bool) -> bool {
        let most = if solo { 1 } else { LEASES_PER_WORKER };
        self.load.get(&worker).is_some_and(|&n| n < most) && !self.solo.contains(&worker)
    }
}

/// The owner of the shard if it has room; another one for a task that does not work there.
fn choose(job: &Job, key: TaskKey, room: &Room) -> Result<WorkerId, Obstacle> {
    let trouble = job.troubles.get(&key);
    let dispute = job.dispute(key);
    let solo = job.crashes(key).is_some_and(|c| c.is_solo());
    let claims = |worker: WorkerId| dispute.is_some_and(|d| d.has_claim_of(worker));
    let avoided = |worker: WorkerId| trouble.is_some_and(|t| t.avoid.contains(&worker));
    let all = || room.load.keys().copied();
    if let Some(dispute) = dispute
        && all().all(claims)
    {
        return Err(Obstacle::NoArbiter(dispute.describe()));
    }
    let owner = match key {
        TaskKey::Expand { .. } if job.bfs.graph().is_batch() => {
            let free = || all().filter(|&w| !avoided(w) && !claims(w));
            let idle = free().filter(|&w| room.load[&w] < room.lanes(w) + ITEMS_AHEAD);
            let idlest = idle.min_by_key(|w| (room.load[w], *w));
            if idlest.is_none() && free().next().is_some() {
                return Err(Obstacle::Later);
            }
            idlest.or_else(|| all().next())
        }
        TaskKey::Expand { shard, .. } | TaskKey::Smallest { shard } | TaskKey::Pack { shard } => {
            job.owners.get(shard as usize).copied().flatten()
        }
        // The search for words uses all threads of one worker.
        TaskKey::Words => {
            let threads = |worker: WorkerId| room.workers.get(&worker).map_or(0, |w| w.threads);
            let free = all().filter(|&w| !avoided(w));
            free.max_by_key(|&w| (threads(w), std::cmp::Reverse(w)))
                .or_else(|| all().next())
        }
        TaskKey::Copy { to, .. } => Some(to),
    };
    let Some(owner) = owner else {
        return Err(Obstacle::Later);
    };
    let if_room = |worker: WorkerId| {
        let fits = room.has_room(worker, solo);
        if fits {
            Ok(worker)
        } else {
            Err(Obstacle::Later)
        }
    };
    let there = room.load.contains_key(&owner);
    if !avoided(owner) && !claims(owner) {
        // An owner that is away for a moment is waited for; one that can take nothing is not.
        let stuck = room
            .workers
            .get(&owner)
            .is_some_and(|w| w.is_live() && !w.may_take_work());
        if there || !stuck {
            return if_room(owner);
        }
    }
    let others = || all().filter(|&w| !avoided(w) && !claims(w));
    let other = others()
        .filter(|&w| room.has_room(w, solo))
        .min_by_key(|w| (room.load[w], *w));
    if let Some(other) = other {
        return Ok(other);
    }
    if others().next().is_some() {
        return Err(Obstacle::Later);
    }
    // More memory will not come by asking again; anything else may work at the second try.
    let too_small = |worker: WorkerId| trouble.is_some_and(|t| t.too_small.contains(&worker));
    let again = || all().filter(|&w| !claims(w) && !too_small(w));
    match (
        again().find(|&w| w == owner).or(again().next()),
        trouble.and_then(|t| t.memory),
    ) {
        (Some(any), _) => if_room(any),
        (None, Some((needed, allowed))) => Err(Obstacle::Memory(needed, allowed)),
        (None, None) => Err(Obstacle::Later),
    }
}
