//! After an event: what changed in a job is followed up, until nothing is left to do.

use crate::artifact::Artifact;
use crate::effect::{Change, Effect, Order, Reply};
use crate::event::Now;
use crate::mutants::{self, Mutant};
use crate::plan::bfs::{News, Writing};
use crate::record::{Phase, Record};
use crate::state::Coordinator;
use antipode_ids::{JobId, WorkerId};
use std::collections::BTreeMap;

/// A job that nobody works on for so many heartbeats is called stalled.
const STALLED_AFTER: u64 = 2;
/// The first checkpoint by cost is not made before this, in milliseconds.
const FIRST_CHECKPOINT: u64 = 10_000;
/// Until a checkpoint was measured, disks are taken to write so many bytes a millisecond.
const ASSUMED_WRITE_RATE: u64 = 200_000;

impl Coordinator {
    pub(crate) fn start_checkpoints(&mut self, now: Now) {
        for (&id, job) in self.jobs.iter_mut().filter(|(_, job)| job.is_running()) {
            // After the last level little is left to do; only a pause makes a checkpoint of that.
            if job.bfs.checkpoint().unwrap_or(0) >= job.bfs.reached()
                || job.bfs.end().is_some()
                || *job.bfs.writing() != Writing::No
            {
                continue;
            }
            let due =
                self.config
                    .checkpoint_every
                    .unwrap_or_else(|| match job.checkpointing.took {
                        Some(took) => 10 * took,
                        None => FIRST_CHECKPOINT
                            .max(10 * job.bfs.checkpoint_bytes() / ASSUMED_WRITE_RATE),
                    });
            if now.millis.saturating_sub(job.checkpointing.last) >= due
                && job.bfs.begin_checkpoint()
            {
                job.checkpointing.began = Some(now.millis);
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
            job.progress.checkpoint = job.bfs.checkpoint();
            let began = job.checkpointing.began.take().unwrap_or(now.millis);
            job.checkpointing.took = Some(now.millis.saturating_sub(began));
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
            return self.end_job(now, id, Phase::Finished, out);
        }
        let nobody = self.live().next().is_none();
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if job.is_running() && !job.pausing.is_empty() {
            // Without workers nothing can be written; what was checkpointed before stands.
            if checkpointed || nobody || mutants::has(Mutant::PauseWithoutCheckpoint) {
                return self.paused(now, id, out);
            }
            // The search may have ended under the checkpoint that the pause had begun.
            if job.bfs.begin_checkpoint() {
                job.checkpointing.began = Some(now.millis);
                self.touched.insert(id);
            }
        }
        self.lease_ready(now, id, out);
        self.note_stall(now, id, out);
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
        let computing = self
            .live()
            .any(|(_, w)| w.leases.values().any(|(of, _)| *of == id));
        let writing = self.live().next().is_some()
            && (job.bfs.writing().missing().is_some()
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
        job.stop_clock(now);
        job.progress.phase = phase;
        job.progress.finished_at = Some(now.unix);
        job.stalled = None;
        job.troubles.clear();
        job.bfs.settle();
        let news = job.bfs.take_news();
        job.bfs.close();
        job.opened.clear();
        let pausing = std::mem::take(&mut job.pausing);
        self.tell(
            id,
            News {
                results: news.results,
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
