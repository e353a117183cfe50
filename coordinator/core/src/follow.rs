//! After an event: what changed in a job is followed up, until nothing is left to do.

use crate::artifact::Artifact;
use crate::effect::{Change, Effect, Order, Reply};
use crate::event::{ConnectionId, Now};
use crate::lease::Obstacle;
use crate::mutants::{self, Mutant};
use crate::plan::bfs::{News, Writing};
use crate::record::{Phase, Record};
use crate::state::{Coordinator, Worker};
use antipode_ids::{JobId, WorkerId};
use std::collections::BTreeMap;

/// A job that nobody works on for so many heartbeats is called stalled.
const STALLED_AFTER: u64 = 2;
impl Coordinator {
    pub(crate) fn start_checkpoints(&mut self, now: Now) {
        for (&id, job) in self.jobs.iter_mut().filter(|(_, job)| job.is_running()) {
            // After the last level little is left to do; only a pause makes a checkpoint of that.
            // Items need none: their results are stored one by one, and what they make is kept.
            if job.bfs.graph().is_batch()
                || job.bfs.checkpoint().unwrap_or(0) >= job.bfs.reached()
                || job.bfs.end().is_some()
                || *job.bfs.writing() != Writing::No
            {
                continue;
            }
            let bytes = job.bfs.checkpoint_bytes();
            let due = self.config.checkpoint_every;
            let due = due.unwrap_or_else(|| job.checkpointing.due_after(bytes));
            if now.millis.saturating_sub(job.checkpointing.last) >= due
                && job.bfs.begin_checkpoint()
            {
                job.checkpointing.began = Some(now.millis);
                job.checkpointing.bytes = bytes;
                self.touched.insert(id);
            }
        }
    }

    /// Follows up whatever changed in a job: results to the store, orders to workers, leases, ends.
    pub(crate) fn advance(&mut self, now: Now, id: JobId, out: &mut Vec<Effect>) {
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
            job.progress.begins_anew = false;
            job.progress.checkpoint = job.bfs.checkpoint();
            let began = job.checkpointing.began.take().unwrap_or(now.millis);
            let took = now.millis.saturating_sub(began);
            job.checkpointing.last_one = Some((took, job.checkpointing.bytes));
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
            let packed = job.bfs.packed().iter().enumerate();
            let packed = packed.filter_map(|(shard, packed)| Some((shard as u32, packed.result?)));
            job.progress.packed = packed
                .map(|(shard, (count, digest))| (shard, count, digest))
                .collect();
            return self.end_job(now, id, Phase::Finished, out);
        }
        let nobody = self.live().all(|(_, w)| w.disk.full);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if job.is_running() && !job.pausing.is_empty() {
            // Without workers nothing can be written; what was checkpointed before stands.
            let even = job.bfs.graph().is_batch() && job.bfs.unsaved().is_empty();
            if checkpointed || nobody || even || mutants::has(Mutant::PauseWithoutCheckpoint) {
                return self.paused(now, id, out);
            }
            // The search may have ended under the checkpoint that the pause had begun.
            if !job.bfs.graph().is_batch() && job.bfs.begin_checkpoint() {
                job.checkpointing.began = Some(now.millis);
                self.touched.insert(id);
            }
        }
        if let Some(reason) = self.is_gone(now, id) {
            if self.ask_what_is_held(now, out) {
                return;
            }
            return self.rest(now, id, Phase::Incomplete { reason }, out);
        }
        self.lease_ready(now, id, out);
        if let Some(phase) = self.is_stuck(now, id) {
            return self.rest(now, id, phase, out);
        }
        self.note_stall(now, id, out);
    }

    /// Is all gone that a checkpoint promised to keep? Then the job says so and waits: it may come back.
    fn is_gone(&self, now: Now, id: JobId) -> Option<String> {
        let job = self.jobs.get(&id).filter(|job| job.is_running())?;
        // Everybody makes level 0 by himself: it is never gone.
        let level = job.progress.checkpoint.filter(|&level| level > 0)?;
        let expected = self.workers.values().any(|w| !w.is_live() && !w.rehomed);
        if job.progress.begins_anew
            || job.bfs.has_useful_copy()
            || job.bfs.end().is_some() && !job.bfs.finals().is_pending()
            || expected
            || self.is_waiting_for_workers(now)
            || self.lasting().next().is_none()
        {
            return None;
        }
        let held: Vec<&str> = job
            .progress
            .workers
            .values()
            .map(|p| p.name.as_str())
            .collect();
        Some(format!(
            "everything that was stored of it is gone: the checkpoint at level {level} and all frontiers were held by {}; start that worker on its old --data, or begin anew with --fresh",
            held.join(", ")
        ))
    }

    /// Lets workers announce anew what they hold, where others could not fetch it: they connect again at once.
    /// False: there is none to be asked.
    fn ask_what_is_held(&mut self, now: Now, out: &mut Vec<Effect>) -> bool {
        let doubted = |(_, w): &(WorkerId, &Worker)| w.doubted && !w.local;
        let asked: Vec<WorkerId> = self.live().filter(doubted).map(|(id, _)| id).collect();
        let connections = asked
            .iter()
            .filter_map(|id| self.workers.get(id)?.connection);
        let connections: Vec<ConnectionId> = connections.collect();
        for &connection in &connections {
            out.push(Effect::HangUp { connection });
            self.disconnected(now, connection, out);
        }
        !connections.is_empty()
    }

    /// Can nothing go on, because of tasks that nobody may have?
    fn is_stuck(&self, now: Now, id: JobId) -> Option<Phase> {
        let job = self.jobs.get(&id).filter(|job| job.is_running())?;
        if self.works_for(id) || job.bfs.is_being_written() {
            return None;
        }
        let obstacles = self.obstacles(now, job);
        let mut aside = Vec::new();
        for (key, obstacle) in &obstacles {
            match obstacle {
                Obstacle::NoArbiter(evidence) => {
                    let reason = format!(
                        "{evidence}; no third worker is there to decide: start one, then resume the job"
                    );
                    return Some(Phase::Suspect { reason });
                }
                Obstacle::SetAside(reason) => {
                    aside.push(format!("{}: {reason}", job.name_of(*key)))
                }
                // Another worker may join a cluster, but not a single process.
                Obstacle::Memory(needed, allowed) if self.lasting().all(|(_, w)| w.local) => {
                    aside.push(format!(
                        "{} needs {needed} bytes of memory, {allowed} are allowed; give --memory more",
                        job.name_of(*key)
                    ));
                }
                Obstacle::Memory(..) | Obstacle::Later => return None,
            }
        }
        let (first, count) = (aside.first()?, aside.len());
        let more = if count > 1 {
            format!(" (and {} more)", count - 1)
        } else {
            String::new()
        };
        Some(Phase::Incomplete {
            reason: format!(
                "{count} tasks cannot be done, all others that do not need them are: {first}{more}"
            ),
        })
    }

    /// Has any worker a task of the job?
    pub(crate) fn works_for(&self, id: JobId) -> bool {
        let mut live = self.live();
        live.any(|(_, w)| w.leases.values().any(|(of, _)| *of == id))
    }

    /// Nothing more is done for the job until somebody resumes it. What is held in memory only goes to
    /// disk.
    fn rest(&mut self, now: Now, id: JobId, phase: Phase, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.bfs.abandon_checkpoint();
        self.take_back_leases(id, out);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let what = match &phase {
            Phase::Suspect { reason } => format!("the job is suspect: {reason}"),
            Phase::Incomplete { reason } => format!("the job is incomplete: {reason}"),
            _ => String::new(),
        };
        job.progress.history.push(now.unix, what);
        job.stop_clock(now);
        job.progress.phase = phase;
        job.stalled = None;
        let in_memory = job
            .bfs
            .copies()
            .into_iter()
            .filter(|&(_, _, durable)| !durable);
        let persist: Vec<(WorkerId, Artifact)> =
            in_memory.map(|(a, worker, _)| (worker, a)).collect();
        out.push(Effect::Persist(job.progress_record(id, now, true)));
        let pausing = std::mem::take(&mut job.pausing);
        for (worker, artifacts) in by_worker(persist) {
            self.order(worker, Order::Persist { job: id, artifacts }, out);
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

    /// Performs what the planner found out.
    pub(crate) fn tell(&mut self, id: JobId, news: News, out: &mut Vec<Effect>) {
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
            self.revoke(lease, out);
        }
        for (worker, artifacts) in by_worker(news.released) {
            self.order(worker, Order::Release { job: id, artifacts }, out);
        }
        for (worker, artifacts) in by_worker(news.persist) {
            self.order(worker, Order::Persist { job: id, artifacts }, out);
        }
    }

    pub(crate) fn order(&self, worker: WorkerId, order: Order, out: &mut Vec<Effect>) {
        if let Some(connection) = self.workers.get(&worker).and_then(|w| w.connection) {
            out.push(Effect::Send { connection, order });
        }
    }

    /// Is anybody at work for the job? If not: since when, and why.
    pub(crate) fn note_stall(&mut self, now: Now, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&id).filter(|job| job.is_running()) else {
            return;
        };
        let computing = self.works_for(id);
        let writing = self.live().next().is_some()
            && (job.bfs.is_being_written()
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
        let said =
            |stalled: &Option<(u64, String)>| stalled.as_ref().map(|(_, reason)| reason.clone());
        if said(&job.stalled) != said(&stalled) {
            job.stalled = stalled;
            out.push(Effect::Changed {
                job: id,
                change: Change::State,
            });
        }
    }

    /// The end of a job, for whatever reason.
    pub(crate) fn end_job(&mut self, now: Now, id: JobId, phase: Phase, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let keep = phase == Phase::Finished && job.keeps_artifacts();
        job.progress.levels = job.levels();
        let complete: u128 = job
            .progress
            .levels
            .iter()
            .map(|l| u128::from(l.count))
            .sum();
        let partial = job.bfs.total().saturating_sub(complete);
        job.progress.partial = u64::try_from(partial).unwrap_or(u64::MAX);
        if let Phase::Failed { reason, .. } = &phase {
            job.progress
                .history
                .push(now.unix, format!("the job failed: {reason}"));
        }
        job.stop_clock(now);
        job.progress.phase = phase;
        job.progress.finished_at = Some(now.unix);
        job.stalled = None;
        job.troubles.clear();
        job.bfs.settle();
        let mut news = job.bfs.take_news();
        if keep {
            // Packed distances stand for the frontiers.
            let spare = job.bfs.copies().into_iter();
            let spare = spare.filter(|&(artifact, _, _)| job.bfs.is_spare_at_end(artifact));
            news.released = spare
                .map(|(artifact, worker, _)| (worker, artifact))
                .collect();
            job.bfs.close_keeping();
        } else {
            news.released.clear();
            job.bfs.close();
        }
        job.opened.clear();
        let pausing = std::mem::take(&mut job.pausing);
        self.tell(
            id,
            News {
                results: if keep { news.results } else { Vec::new() },
                released: news.released,
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
        if !keep {
            out.push(Effect::Persist(Record::Compacted { job: id }));
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

fn by_worker(list: Vec<(WorkerId, Artifact)>) -> BTreeMap<WorkerId, Vec<Artifact>> {
    let mut grouped: BTreeMap<WorkerId, Vec<Artifact>> = BTreeMap::new();
    for (worker, artifact) in list {
        grouped.entry(worker).or_default().push(artifact);
    }
    grouped
}
