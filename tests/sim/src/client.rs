//! The clients: they ask, ask again where no answer comes, and remember what they were told.

use crate::clock::{MILLI, SECOND};
use crate::coordinator::Command;
use crate::invariants::{self, Promise};
use crate::plan::{ClientPlan, Op};
use crate::sim::{Ev, Sim};
use antipode_coordinator_core::record::{JobRecord, Phase};
use antipode_coordinator_core::{Event, Reply, RequestId, Submission};
use antipode_ids::{JobId, WorkerId};
use std::collections::{BTreeMap, VecDeque};

/// Without an answer a client asks again after this time.
const AGAIN: u64 = 400 * MILLI;

#[derive(Debug)]
pub struct Client {
    pub record: JobRecord,
    pub script: VecDeque<(u64, Op)>,
    pub job: Option<JobId>,
    /// What it waits for an answer to, and which life of the coordinator was asked.
    pub open: Option<(Op, Option<u64>)>,
    pub cancelled: bool,
    /// Its job was dropped.
    pub forgotten: bool,
}

/// Who waits for a reply.
#[derive(Debug, Default)]
pub struct Desk {
    pub clients: Vec<Client>,
    waiting: BTreeMap<RequestId, usize>,
    next: u64,
}

impl Desk {
    pub fn new(plans: &[ClientPlan], record: impl Fn(usize, &ClientPlan) -> JobRecord) -> Desk {
        let client = |(k, plan): (usize, &ClientPlan)| Client {
            record: record(k, plan),
            script: plan.script.iter().copied().collect(),
            job: None,
            open: None,
            cancelled: false,
            forgotten: false,
        };
        Desk {
            clients: plans.iter().enumerate().map(client).collect(),
            ..Desk::default()
        }
    }

    /// Everybody has what he wanted, as far as answers go.
    pub fn is_content(&self) -> bool {
        let content = |c: &Client| c.script.is_empty() && c.open.is_none() && c.job.is_some();
        self.clients.iter().all(content)
    }
}

fn key(k: usize) -> String {
    format!("key {k}")
}

impl Sim {
    /// The next thing on a client's list.
    pub fn next_op(&mut self, k: usize) {
        let client = &mut self.desk.clients[k];
        if client.open.is_some() {
            return;
        }
        if let Some((_, op)) = client.script.pop_front() {
            client.open = Some((op, None));
            self.ask(k);
        }
    }

    /// Asks, unless this coordinator was asked already.
    pub fn ask(&mut self, k: usize) {
        let client = &mut self.desk.clients[k];
        let Some((op, asked)) = &mut client.open else {
            return;
        };
        let life = self.coordinator.life;
        if self.coordinator.is_listening() && *asked != Some(life) {
            *asked = Some(life);
            let op = *op;
            self.desk.next += 1;
            let request = RequestId(self.desk.next);
            let event = self.question(k, op, request);
            self.desk.waiting.insert(request, k);
            self.command(Command::Ask(request, event));
        }
        self.after(AGAIN, Ev::Ask { k });
    }

    fn question(&mut self, k: usize, op: Op, request: RequestId) -> Event {
        let client = &mut self.desk.clients[k];
        let job = client.job.unwrap_or(JobId(99));
        let (definition, roots) = (
            client.record.definition.clone(),
            client.record.roots.clone(),
        );
        match op {
            Op::Resume | Op::Again | Op::Cancel => {
                let other =
                    |p: &Promise| !matches!(p, Promise::Paused { job: of, .. } if *of == job);
                self.watch.promises.retain(other);
            }
            Op::Forget => {
                let other = |p: &Promise| match p {
                    Promise::Submitted { job: of, .. }
                    | Promise::Paused { job: of, .. }
                    | Promise::Ended { job: of, .. } => *of != job,
                };
                self.watch.promises.retain(other);
            }
            Op::Submit | Op::Pause | Op::Drain | Op::Nonsense => {}
        }
        client.cancelled |= op == Op::Cancel;
        match op {
            Op::Submit | Op::Again => {
                let again = op == Op::Again;
                let key = if again { format!("again {k}") } else { key(k) };
                Event::Submit(Box::new(Submission {
                    request,
                    key,
                    fresh: false,
                    definition,
                    roots,
                }))
            }
            Op::Pause => Event::Pause { request, job },
            // Where disks were damaged all may be gone: then it is to begin anew.
            Op::Resume => Event::Resume {
                request,
                job,
                fresh: self.is_calm && self.watch.has_harm(),
            },
            Op::Cancel => Event::Cancel { request, job },
            Op::Forget => Event::Forget { request, job },
            Op::Drain => {
                let worker = WorkerId(1 + request.0 % 4);
                Event::Drain { request, worker }
            }
            Op::Nonsense => Event::Pause {
                request,
                job: JobId(99),
            },
        }
    }

    /// A reply reaches its client, who counts on it from now on.
    pub fn told(&mut self, request: RequestId, reply: Reply) {
        let Some(k) = self.desk.waiting.remove(&request) else {
            return;
        };
        let client = &mut self.desk.clients[k];
        let Some((op, _)) = client.open.take() else {
            return;
        };
        self.trace.add(
            self.now,
            format_args!("client {k} is told {reply:?} of {op:?}"),
        );
        match (op, reply) {
            (Op::Forget, Reply::Done { .. } | Reply::NoSuchJob { .. }) => client.forgotten = true,
            (Op::Submit, Reply::Submitted { job, .. }) if client.forgotten => {
                let number_again = client.job.is_some_and(|old| job <= old);
                (client.job, client.forgotten, client.cancelled) = (Some(job), false, false);
                let key = key(k);
                self.watch.promises.push(Promise::Submitted { key, job });
                if number_again {
                    return self.fail(format!("the number of job {job} was given again"));
                }
            }
            (Op::Submit | Op::Again, Reply::Submitted { job, .. }) => {
                let known = client.job.replace(job);
                let key = if op == Op::Again {
                    format!("again {k}")
                } else {
                    key(k)
                };
                self.watch.promises.push(Promise::Submitted { key, job });
                if known.is_some_and(|known| known != job) && !client.cancelled {
                    let failed = self.phase(known).is_some_and(|p| p.is_final());
                    if !failed {
                        return self.fail(format!("job {known:?} was submitted again as {job}"));
                    }
                }
            }
            (Op::Pause, Reply::Done { job }) => self.told_of_pause(job),
            (Op::Cancel, Reply::Done { job }) => self.watched(job),
            (_, Reply::NotNow { .. }) => {
                // Again, a moment later.
                client.open = Some((op, None));
                return;
            }
            _ => {}
        }
        let stored = self.coordinator.ledger.durable();
        let verdict = invariants::promises_are_kept(&self.watch, stored);
        self.ensure(verdict);
        if let Some(&(pause, _)) = self.desk.clients[k].script.front() {
            self.after(pause, Ev::NextOp { k });
        }
    }

    /// The job is paused: what it needs to go on is on disks.
    fn told_of_pause(&mut self, job: JobId) {
        let Some(core) = self.coordinator.core() else {
            return;
        };
        let Some(state) = core.jobs().get(&job) else {
            return;
        };
        if state.progress().phase != Phase::Paused {
            return self.watched(job);
        }
        let checkpoint = state.progress().checkpoint;
        self.watch
            .promises
            .push(Promise::Paused { job, checkpoint });
        self.check_checkpoint(job, checkpoint);
        self.tally.count("pause kept its promise");
    }

    /// Whoever watches a job sees its state. An end is a promise.
    pub fn watched(&mut self, job: JobId) {
        let Some(state) = self.coordinator.core().and_then(|c| c.jobs().get(&job)) else {
            return;
        };
        let phase = state.progress().phase.clone();
        if !phase.is_final() {
            return;
        }
        let known = |p: &Promise| matches!(p, Promise::Ended { job: of, .. } if *of == job);
        if self.watch.promises.iter().any(known) {
            return;
        }
        let levels = state.levels();
        self.watch
            .promises
            .push(Promise::Ended { job, phase, levels });
        let stored = self.coordinator.ledger.durable();
        let verdict = invariants::promises_are_kept(&self.watch, stored);
        self.ensure(verdict);
    }

    /// Does what the job says that it needs: a worker more, three at most.
    fn help(&mut self, job: Option<JobId>) {
        let state = self.coordinator.core().zip(job);
        let Some(state) = state.and_then(|(core, job)| core.jobs().get(&job)) else {
            return;
        };
        let suspect = matches!(state.progress().phase, Phase::Suspect { .. });
        let short = state
            .stalled()
            .is_some_and(|(_, why)| why.contains("of memory"));
        let (least, most) = (3 * SECOND, 3);
        let rested = self.now >= self.helped_at + least;
        if (suspect || short) && rested && self.helpers < most {
            (self.helpers, self.helped_at) = (self.helpers + 1, self.now);
            self.tally.count("one worker more was needed");
            let w = self.add_worker(None);
            self.start_worker(w);
        }
    }

    pub fn phase(&self, job: Option<JobId>) -> Option<&Phase> {
        let job = self.coordinator.core()?.jobs().get(&job?)?;
        Some(&job.progress().phase)
    }

    /// Nobody asks for pauses any more; what rests is taken up again.
    pub fn urge(&mut self) {
        for k in 0..self.desk.clients.len() {
            let client = &mut self.desk.clients[k];
            let submitted = client.job.is_some();
            client.script.retain(|(_, op)| {
                matches!(op, Op::Submit) || (submitted && matches!(op, Op::Cancel | Op::Forget))
            });
            let (job, idle) = (client.job, client.open.is_none());
            self.help(job);
            if idle && self.phase(job).is_some_and(|p| p.is_resting()) {
                self.desk.clients[k].script.push_front((0, Op::Resume));
            }
            if idle && !self.desk.clients[k].script.is_empty() {
                self.next_op(k);
            }
        }
    }
}
