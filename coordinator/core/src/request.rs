//! What clients ask: submit, cancel, pause, resume.

use crate::effect::{Change, Effect, Order, Reply};
use crate::event::{Now, RequestId, Submission};
use crate::record::{JobRecord, Phase, Record};
use crate::state::{Coordinator, Job};
use antipode_ids::JobId;
use antipode_solver_core::job::{JobDefinition, Keep};
use std::sync::Arc;

impl Coordinator {
    pub(crate) fn submit(&mut self, now: Now, submission: Submission, out: &mut Vec<Effect>) {
        let Submission {
            request,
            key,
            fresh,
            definition,
            roots,
        } = submission;
        if let Some(reason) = self
            .disk_full
            .clone()
            .filter(|_| !self.keys.contains_key(&key))
        {
            let reply = Reply::NotNow { reason };
            out.push(Effect::Reply { request, reply });
            return;
        }
        if let Some(&(job, existing)) = self.keys.get(&key) {
            out.push(Effect::Reply {
                request,
                reply: Reply::Submitted { job, existing },
            });
            return;
        }
        let same = self
            .jobs
            .iter()
            .rev()
            .find(|(_, job)| !fresh && job.answers(&definition))
            .map(|(&id, _)| id);
        let existing = same.is_some();
        let job = match same {
            Some(id) => {
                if self
                    .jobs
                    .get(&id)
                    .is_some_and(|job| job.progress.phase.is_resting())
                {
                    self.go_on(now, id, out);
                }
                id
            }
            None => {
                let last = self.jobs.keys().next_back().copied().max(self.forgotten);
                let id = JobId(last.map_or(1, |last| last.0 + 1));
                let record = Arc::new(JobRecord {
                    definition,
                    roots,
                    submitted_at: now.unix,
                });
                match Job::new(Arc::clone(&record)) {
                    Err(reason) => {
                        out.push(Effect::Reply {
                            request,
                            reply: Reply::Invalid { reason },
                        });
                        return;
                    }
                    Ok(job) => {
                        out.push(Effect::Persist(Record::Job { job: id, record }));
                        out.push(Effect::Persist(job.progress_record(id, now, true)));
                        self.jobs.insert(id, job);
                    }
                }
                self.place_all();
                self.touched.insert(id);
                id
            }
        };
        self.keys.insert(key.clone(), (job, existing));
        out.push(Effect::Persist(Record::Key { key, job, existing }));
        out.push(Effect::Reply {
            request,
            reply: Reply::Submitted { job, existing },
        });
    }

    /// Starts the oldest queued job when no other job is being worked on, nor could be.
    pub(crate) fn start_queued(&mut self, now: Now, out: &mut Vec<Effect>) {
        let nobody = self.live().next().is_none();
        if self
            .jobs
            .values()
            .any(|job| job.is_running() && (nobody || job.stalled.is_none()))
        {
            return;
        }
        let queued = self
            .jobs
            .iter_mut()
            .find(|(_, job)| job.progress.phase == Phase::Queued);
        if let Some((&id, job)) = queued {
            job.progress.phase = Phase::Running;
            job.start_clock(now);
            out.push(Effect::Persist(job.progress_record(id, now, false)));
            out.push(Effect::Changed {
                job: id,
                change: Change::State,
            });
            self.touched.insert(id);
            self.place_all();
        }
    }

    pub(crate) fn cancel(
        &mut self,
        now: Now,
        request: RequestId,
        id: JobId,
        out: &mut Vec<Effect>,
    ) {
        let Some(job) = self.jobs.get(&id) else {
            out.push(Effect::Reply {
                request,
                reply: Reply::NoSuchJob { job: id },
            });
            return;
        };
        if !job.progress.phase.is_final() {
            self.end_job(now, id, Phase::Cancelled, out);
        }
        out.push(Effect::Reply {
            request,
            reply: Reply::Done { job: id },
        });
    }

    pub(crate) fn pause(&mut self, now: Now, request: RequestId, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&id) else {
            out.push(Effect::Reply {
                request,
                reply: Reply::NoSuchJob { job: id },
            });
            return;
        };
        match job.progress.phase {
            Phase::Running => {
                job.pausing.push(request);
                self.touched.insert(id);
            }
            Phase::Queued => {
                job.pausing.push(request);
                self.paused(now, id, out);
            }
            _ => out.push(Effect::Reply {
                request,
                reply: Reply::Done { job: id },
            }),
        }
    }

    pub(crate) fn paused(&mut self, now: Now, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.bfs.abandon_checkpoint();
        self.touched.insert(id);
        // Tasks after the last level may be at work still; nobody will wait for them.
        self.take_back_leases(id, out);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.stop_clock(now);
        job.progress.phase = Phase::Paused;
        job.stalled = None;
        out.push(Effect::Persist(job.progress_record(id, now, true)));
        out.push(Effect::Changed {
            job: id,
            change: Change::State,
        });
        for request in job.pausing.drain(..) {
            out.push(Effect::Reply {
                request,
                reply: Reply::Done { job: id },
            });
        }
    }

    /// Nobody waits for what workers do for the job.
    pub(crate) fn take_back_leases(&mut self, id: JobId, out: &mut Vec<Effect>) {
        let leases = self.workers.values().flat_map(|w| w.leases.values());
        let leases: Vec<_> = leases
            .filter(|(of, _)| *of == id)
            .map(|&(_, key)| key)
            .collect();
        for key in leases {
            let Some(job) = self.jobs.get_mut(&id) else {
                return;
            };
            if let Some(lease) = job.bfs.lease(key) {
                job.bfs.free(key, true);
                self.revoke(lease, out);
            }
        }
    }

    pub(crate) fn resume(
        &mut self,
        now: Now,
        request: RequestId,
        (id, fresh): (JobId, bool),
        out: &mut Vec<Effect>,
    ) {
        let Some(job) = self.jobs.get_mut(&id) else {
            out.push(Effect::Reply {
                request,
                reply: Reply::NoSuchJob { job: id },
            });
            return;
        };
        if !job.progress.phase.is_final() {
            // Whoever resumes has done something about what went wrong.
            job.troubles.clear();
            job.progress.crashes.clear();
            job.progress.begins_anew |= fresh;
            out.push(Effect::Persist(job.progress_record(id, now, true)));
            self.touched.insert(id);
        }
        match job.progress.phase {
            Phase::Paused | Phase::Suspect { .. } | Phase::Incomplete { .. } => {
                self.go_on(now, id, out);
            }
            Phase::Failed { .. } | Phase::Cancelled => {
                let reason = format!("job {id} has ended; submit it again to compute it anew");
                out.push(Effect::Reply {
                    request,
                    reply: Reply::Invalid { reason },
                });
                return;
            }
            Phase::Queued | Phase::Running | Phase::Finished => {}
        }
        out.push(Effect::Reply {
            request,
            reply: Reply::Done { job: id },
        });
    }

    /// Drops a job that has ended, with everything of it.
    pub(crate) fn forget(&mut self, request: RequestId, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&id) else {
            let reply = Reply::NoSuchJob { job: id };
            out.push(Effect::Reply { request, reply });
            return;
        };
        if !job.progress.phase.is_final() {
            let reason = format!("job {id} has not ended; `antipode cancel {id}` ends it");
            let reply = Reply::Invalid { reason };
            out.push(Effect::Reply { request, reply });
            return;
        }
        self.jobs.remove(&id);
        self.keys.retain(|_, (job, _)| *job != id);
        self.forgotten = self.forgotten.max(Some(id));
        out.push(Effect::Persist(Record::Forgotten { job: id }));
        // Copies of what it left may be on their way.
        for worker in self.workers.values_mut() {
            worker.leases.retain(|_, (of, _)| *of != id);
        }
        let connected: Vec<_> = self.live().map(|(worker, _)| worker).collect();
        for worker in connected {
            let order = Order::Close {
                job: id,
                keep: false,
            };
            self.order(worker, order, out);
        }
        let reply = Reply::Done { job: id };
        out.push(Effect::Reply { request, reply });
    }

    /// The coordinator's own disk is full, or has room again.
    pub(crate) fn note_own_disk(&mut self, now: Now, full: Option<String>) {
        if self.disk_full.is_some() != full.is_some() {
            let what = match &full {
                Some(reason) => reason.clone(),
                None => "there is room on the coordinator's disk again".into(),
            };
            self.history.push(now.unix, what);
            self.touch_all();
        }
        self.disk_full = full;
    }

    pub(crate) fn go_on(&mut self, now: Now, id: JobId, out: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.note_resumption();
        job.progress.phase = Phase::Queued;
        out.push(Effect::Persist(job.progress_record(id, now, true)));
        out.push(Effect::Changed {
            job: id,
            change: Change::State,
        });
        self.touched.insert(id);
    }
}

impl Job {
    /// Does its answer, once there, answer this question too?
    fn answers(&self, asked: &JobDefinition) -> bool {
        let mine = &self.record.definition;
        let alive = !matches!(self.progress.phase, Phase::Failed { .. } | Phase::Cancelled);
        let keeps = self.keeps_artifacts() || asked.spec.keep() == Keep::Result;
        alive
            && mine.fingerprint == asked.fingerprint
            && mine.spec.antipodes() >= asked.spec.antipodes()
            && keeps
    }

    pub(crate) fn keeps_artifacts(&self) -> bool {
        self.record.definition.spec.keep() == Keep::Frontiers
    }
}
