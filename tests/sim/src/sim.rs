//! The simulation: one queue of events in true time, and nothing else that moves.

use crate::client::{Client, Desk};
use crate::clock::{Clock, MILLI, Micros, SECOND};
use crate::coordinator::Server;
use crate::disk::{Disk, ModelDisk, RedbDisk};
use crate::invariants::{self, Toys, Verdict, Watch};
use crate::ledger::{Ledger, ModelLedger};
use crate::ledger_redb::RedbLedger;
use crate::medium;
use crate::mutants::{Mutant, SimMutant};
use crate::network::{ConnId, Due, Network, Node, Way};
use crate::plan::{Fault, Plan};
use crate::tally::Tally;
use crate::trace::{Trace, Tracing};
use crate::worker::{Answer, FetchId, Machine};
use antipode_coordinator_core::record::Phase;
use antipode_ids::{Cause, Incarnation, JobId, WorkerId};
use antipode_proto::PROTOCOL_VERSION;
use antipode_solver_core::engine::Level;
use antipode_worker::session::LeaseId;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// From the end of all faults every job is over within this time.
const LIVENESS: Micros = 60 * SECOND;
/// After the end of all jobs the cluster has this time to come to rest.
const REST: Micros = 2 * SECOND;
/// Checks of everything at once.
const REVIEW: Micros = 500 * MILLI;

/// True time 0, the same in all runs of one process, so that their traces can be compared.
static BASE: OnceLock<Instant> = OnceLock::new();

/// What disks are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    Model,
    /// The real stores, over a file that forgets and errs.
    Redb,
}

#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub backing: Backing,
    pub mutant: Option<Mutant>,
    /// Without them nothing goes wrong, and clients only submit.
    pub faults: bool,
    pub tracing: Tracing,
}

/// Something that happens at its time. Those with a life concern one process only.
#[derive(Debug, Clone)]
pub enum Ev {
    Tick {
        life: u64,
    },
    Round {
        life: u64,
    },
    Flush {
        life: u64,
    },
    Flushed {
        life: u64,
    },
    Retry {
        life: u64,
    },
    StartCoordinator,
    ThawCoordinator,
    LedgerHasRoom,
    Retract {
        w: usize,
    },
    /// No task kills its worker any more.
    Antidote,
    Arrive {
        id: ConnId,
        way: Way,
    },
    Connect {
        w: usize,
        life: u64,
    },
    WorkerTick {
        w: usize,
        life: u64,
    },
    Gather {
        w: usize,
        life: u64,
        lease: LeaseId,
    },
    /// A worker asks another for an artifact.
    Fetch {
        w: usize,
        life: u64,
        lease: LeaseId,
        id: FetchId,
        to: usize,
    },
    Answer {
        w: usize,
        life: u64,
        lease: LeaseId,
        id: FetchId,
        answer: Answer,
    },
    Computed {
        w: usize,
        life: u64,
    },
    Chore {
        w: usize,
        life: u64,
    },
    /// `anew`: also where it had left for good.
    StartWorker {
        w: usize,
        anew: bool,
    },
    Thaw {
        w: usize,
    },
    DiskHasRoom {
        w: usize,
    },
    Unblock {
        from: Node,
        to: Node,
    },
    SpeedUp {
        from: Node,
        to: Node,
    },
    Ask {
        k: usize,
    },
    NextOp {
        k: usize,
    },
    Fault(Fault),
    Calm,
    Urge,
    Review,
}

pub struct Sim {
    pub plan: Plan,
    pub options: Options,
    pub rng: StdRng,
    pub now: Micros,
    /// What a worker's clock starts from; its value is never looked at.
    pub base: Instant,
    queue: BTreeMap<(Micros, u64), Ev>,
    number: u64,
    pub network: Network,
    pub coordinator: Server,
    pub workers: Vec<Machine>,
    pub desk: Desk,
    pub toys: Toys,
    pub watch: Watch,
    pub tally: Tally,
    pub trace: Trace,
    /// Steps of the core.
    pub steps: u64,
    pub is_calm: bool,
    /// When a worker started last.
    pub started: Micros,
    /// There is no store any more to go on from.
    pub abandoned: bool,
    /// Workers that were added because a job asked for them, and when the last one was.
    pub helpers: u32,
    pub helped_at: Micros,
    /// How processes of workers end at present.
    pub cause_of_death: Cause,
    /// Level and shard of a task that kills its worker.
    pub poison: Option<(Level, u32)>,
    broken: Option<String>,
}

impl Sim {
    pub fn new(seed: u64, options: Options) -> Sim {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut plan = Plan::of(&mut rng);
        if !options.faults {
            plan.make_calm();
        }
        let desk = Desk::new(&plan.clients, |k, client| {
            let mut record = plan.toys[client.toy].record(client.question);
            let definition = Arc::make_mut(&mut record.definition);
            definition.fingerprint = format!("{} {k}", definition.fingerprint);
            record
        });
        let toy_of = |k: usize| plan.toys[plan.clients[k].toy].clone();
        let toys = desk
            .clients
            .iter()
            .enumerate()
            .map(|(k, c)| (c.record.definition.fingerprint.clone(), toy_of(k)))
            .collect();
        let coordinator = Server {
            ledger: match options.backing {
                Backing::Model => Box::new(ModelLedger::default()) as Box<dyn Ledger>,
                Backing::Redb => Box::new(RedbLedger::new()),
            },
            clock: plan.coordinator_clock,
            wall: 0,
            life: 0,
            process: None,
            crash_at: None,
            full: false,
        };
        if options.backing == Backing::Redb {
            medium::install();
        }
        let core_mutant = match options.mutant {
            Some(Mutant::Core(mutant)) => Some(mutant),
            _ => None,
        };
        antipode_coordinator_core::mutants::set(core_mutant);
        let mut sim = Sim {
            options,
            rng,
            now: 0,
            base: *BASE.get_or_init(Instant::now),
            queue: BTreeMap::new(),
            number: 0,
            network: Network::default(),
            coordinator,
            workers: Vec::new(),
            desk,
            toys,
            watch: Watch::default(),
            tally: Tally::default(),
            trace: Trace::new(options.tracing),
            steps: 0,
            is_calm: false,
            started: 0,
            abandoned: false,
            helpers: 0,
            helped_at: 0,
            cause_of_death: Cause::Signal(9),
            poison: None,
            broken: None,
            plan,
        };
        sim.begin();
        sim
    }

    fn begin(&mut self) {
        for k in 0..self.plan.machines.len() {
            let w = self.add_worker(None);
            self.workers[w].lies = self.plan.liar == Some(k);
            let late = if k == 0 { 0 } else { k as u64 * 7 * MILLI };
            self.after(late, Ev::StartWorker { w, anew: false });
        }
        if self.workers.iter().any(|m| m.clock.rate != 1000) {
            self.tally.count("fault: clocks at different rates");
        }
        self.after(0, Ev::StartCoordinator);
        for k in 0..self.desk.clients.len() {
            if let Some(&(late, _)) = self.desk.clients[k].script.front() {
                self.after(5 * MILLI + late, Ev::NextOp { k });
            }
        }
        for (at, fault) in self.plan.faults.clone() {
            self.after(at, Ev::Fault(fault));
        }
        self.after(self.plan.calm_at, Ev::Calm);
        self.after(REVIEW, Ev::Review);
    }

    /// A machine more; `member` of another cluster, or a newcomer.
    pub fn add_worker(&mut self, member: Option<(WorkerId, String)>) -> usize {
        let w = self.workers.len();
        let plan = self.plan.machines.get(w).cloned();
        let plan = plan.unwrap_or(crate::plan::MachinePlan {
            threads: 2,
            clock: Clock {
                offset: 5,
                rate: 1000,
            },
            slowness: 1,
            budget: 1000,
            is_small: false,
        });
        let disk = self.new_disk();
        self.workers.push(Machine {
            name: format!("sim{w}"),
            threads: plan.threads,
            // Every other machine has one.
            devices: if w % 2 == 1 {
                vec![format!("device {w}")]
            } else {
                Vec::new()
            },
            clock: plan.clock,
            slowness: plan.slowness,
            budget: plan.budget,
            is_small: plan.is_small,
            protocol: PROTOCOL_VERSION,
            lies: false,
            faulty: None,
            retracted: Vec::new(),
            disk,
            incarnation: Incarnation(0),
            member,
            life: 0,
            process: None,
            retired: false,
            low_disk: false,
            failures: 0,
            ended: None,
        });
        w
    }

    pub fn new_disk(&mut self) -> Box<dyn Disk> {
        let verify = !self.is_mutant(SimMutant::AcceptWrongChecksum);
        match self.options.backing {
            Backing::Model => Box::new(ModelDisk::new(verify)),
            Backing::Redb => Box::new(RedbDisk::new()),
        }
    }

    pub fn is_mutant(&self, mutant: SimMutant) -> bool {
        self.options.mutant == Some(Mutant::Sim(mutant))
    }

    /// Lets something happen `late` from now.
    pub fn after(&mut self, late: Micros, ev: Ev) {
        self.number += 1;
        self.queue.insert((self.now + late, self.number), ev);
    }

    /// Lets something arrive.
    pub fn arrive(&mut self, due: Option<Due>) {
        if let Some((at, id, way)) = due {
            self.number += 1;
            self.queue
                .insert((at.max(self.now), self.number), Ev::Arrive { id, way });
        }
    }

    pub fn note(&mut self, what: &str, more: Arguments) {
        self.trace.add(self.now, format_args!("** {what} {more}"));
    }

    /// The first thing that is wrong ends the run.
    pub fn ensure(&mut self, verdict: Verdict) {
        if let Err(wrong) = verdict {
            self.fail(wrong);
        }
    }

    pub fn fail(&mut self, wrong: String) {
        self.note("wrong:", format_args!("{wrong}"));
        self.broken.get_or_insert(wrong);
    }

    pub fn is_over(&self) -> bool {
        self.broken.is_some()
    }

    /// Until all jobs have ended and the cluster is at rest.
    pub fn run(&mut self) -> Verdict {
        let (mut deadline, mut ended) = (Micros::MAX, false);
        while let Some(((at, _), ev)) = self.queue.pop_first() {
            self.now = at;
            self.happen(ev);
            if let Some(wrong) = self.broken.take() {
                return Err(wrong);
            }
            if self.abandoned {
                return Ok(());
            }
            if self.is_calm && deadline == Micros::MAX {
                deadline = self.now + LIVENESS;
            }
            if !ended && self.is_calm && self.all_ended() {
                ended = true;
                deadline = self.now + REST;
            }
            if ended {
                // Whoever comes late is told, too, and clears away what it has.
                deadline = deadline.max(self.started + REST);
            }
            if self.now > deadline {
                return if ended {
                    self.final_review()
                } else if self.plan.liar.is_some() || !self.watch.undisclosed.is_empty() {
                    // What was never taken back may contradict itself for ever.
                    Ok(())
                } else {
                    Err(self.why_not_ended())
                };
            }
        }
        Err("nothing happens any more".into())
    }

    fn all_ended(&self) -> bool {
        let ended = |client: &Client| {
            client.forgotten || self.phase(client.job).is_some_and(Phase::is_final)
        };
        self.desk.is_content() && self.desk.clients.iter().all(ended)
    }

    fn why_not_ended(&self) -> String {
        let Some(core) = self.coordinator.core() else {
            return "no coordinator runs".into();
        };
        let explain = |id: &JobId| {
            let job = &core.jobs()[id];
            let unsaved = job.bfs().unsaved().iter();
            let unsaved: Vec<_> = unsaved.map(|&a| (a, job.bfs().holders(a))).collect();
            format!(
                "job {id} is {:?}: {:?}; ready {:?}, writing {:?}, unsaved {:?}, packed {:?}, {} places, copying {:?}",
                job.progress().phase,
                job.stalled(),
                job.bfs().ready(),
                job.bfs().writing(),
                unsaved,
                job.bfs().packed(),
                job.bfs().places(),
                job.bfs().copying(),
            )
        };
        let jobs: Vec<String> = core.jobs().keys().map(explain).collect();
        format!("no end in sight: {}", jobs.join("; "))
    }

    /// At the end: the answers, and what is left behind.
    fn final_review(&mut self) -> Verdict {
        let Some(core) = self.coordinator.core() else {
            return Err("no coordinator runs at the end".into());
        };
        for client in &self.desk.clients {
            if let Some(job) = client.job.filter(|_| client.forgotten) {
                self.nothing_is_left_behind(job, false)?;
                continue;
            }
            let Some((id, state)) = client.job.and_then(|id| Some((id, core.jobs().get(&id)?)))
            else {
                return Err(format!("job {:?} is not there", client.job));
            };
            match &state.progress().phase {
                Phase::Finished | Phase::Failed { internal: true, .. }
                    if self.plan.liar.is_some() || self.watch.misled.contains(&id) => {}
                Phase::Finished => {
                    let toy = &self.toys[&client.record.definition.fingerprint];
                    invariants::the_answer_is_right(id, state, toy)?;
                }
                Phase::Cancelled if client.cancelled => {}
                other => return Err(format!("job {id} ended as {other:?}")),
            }
            self.nothing_is_left_behind(id, state.progress().phase == Phase::Finished)?;
        }
        if !self.options.faults {
            let kinds = ["order: Lease Expand", "order: Lease Expand, consuming"];
            let leases = kinds.iter().map(|kind| self.tally.get(kind)).sum();
            invariants::no_task_was_leased_twice(&self.toys, leases)?;
        }
        invariants::promises_are_kept(&self.watch, self.coordinator.ledger.durable())
    }

    /// A finished job keeps what it was to keep; of all others nothing stays at those who are there.
    fn nothing_is_left_behind(&self, job: JobId, finished: bool) -> Verdict {
        let keeps = |client: &&Client| {
            client.job == Some(job)
                && client.record.definition.spec.keep()
                    == antipode_solver_core::job::Keep::Frontiers
        };
        if finished && self.desk.clients.iter().any(|c| keeps(&c)) {
            return Ok(());
        }
        for (w, machine) in self.workers.iter().enumerate() {
            let Some(process) = machine
                .process
                .as_ref()
                .filter(|p| p.session.is_registered())
            else {
                continue;
            };
            // Copies of others are nothing that the coordinator knows of.
            if let Some(name) = process.shelf.own().find(|name| name.job == job) {
                return Err(format!("{name:?} is left at worker {w}"));
            }
        }
        Ok(())
    }

    /// Whatever a complete checkpoint consists of lies on some disk.
    pub fn check_checkpoint(&mut self, job: JobId, checkpoint: Option<Level>) {
        let (Some(level), Some(core)) = (checkpoint, self.coordinator.core()) else {
            return;
        };
        if self.watch.lies {
            return;
        }
        let toy = core
            .jobs()
            .get(&job)
            .filter(|job| !job.progress().phase.is_final())
            .and_then(|job| self.toys.get(&job.record().definition.fingerprint));
        let Some(toy) = toy else { return };
        let verdict =
            invariants::a_checkpoint_is_on_disks(core, job, toy, level, |name, digest| {
                self.watch.is_harmed(name)
                    || self.workers.iter().any(|m| m.disk.holds(name, digest))
            });
        self.tally.count("checkpoint checked on disks");
        self.ensure(verdict);
    }

    fn review(&mut self) {
        let Some(core) = self.coordinator.core() else {
            return;
        };
        let checkpoints: Vec<(JobId, Option<Level>)> = core
            .jobs()
            .iter()
            .map(|(&id, job)| (id, job.progress().checkpoint))
            .collect();
        for (job, checkpoint) in checkpoints {
            self.check_checkpoint(job, checkpoint);
        }
    }

    fn happen(&mut self, ev: Ev) {
        match ev {
            Ev::Tick { life } => self.tick_coordinator(life),
            Ev::Round { life } => self.round(life),
            Ev::Flush { life } => self.start_flush(life),
            Ev::Flushed { life } => self.end_flush(life),
            Ev::Retry { life } => self.retry_commit(life),
            Ev::StartCoordinator => self.start_coordinator(),
            Ev::ThawCoordinator => self.thaw_coordinator(),
            Ev::Retract { w } => self.retract(w),
            Ev::Antidote => self.poison = None,
            Ev::LedgerHasRoom => {
                self.coordinator.full = false;
                self.coordinator.ledger.set_full(false);
            }
            Ev::Arrive { id, way: Way::Up } => self.hear_up(id),
            Ev::Arrive { id, way: Way::Down } => self.hear_down(id),
            Ev::Connect { w, life } => self.connect(w, life),
            Ev::WorkerTick { w, life } => self.worker_tick(w, life),
            Ev::Gather { w, life, lease } => self.gather(w, life, lease),
            Ev::Fetch {
                w,
                life,
                lease,
                id,
                to,
            } => self.serve(w, life, lease, id, to),
            Ev::Answer {
                w,
                life,
                lease,
                id,
                answer,
            } => self.answered(w, life, lease, id, answer),
            Ev::Computed { w, life } => self.computed(w, life),
            Ev::Chore { w, life } => self.chore_done(w, life),
            Ev::StartWorker { w, anew } => {
                if anew && !self.workers[w].is_up() {
                    self.workers[w].retired = false;
                }
                self.start_worker(w);
            }
            Ev::Thaw { w } => self.thaw(w),
            Ev::DiskHasRoom { w } => {
                self.workers[w].low_disk = false;
                self.workers[w].disk.set_full(false);
            }
            Ev::Unblock { from, to } => {
                let due = self.network.unblock(self.now, from, to);
                due.into_iter().for_each(|due| self.arrive(Some(due)));
            }
            Ev::SpeedUp { from, to } => self.network.speed_up(from, to),
            Ev::Ask { k } => self.ask(k),
            Ev::NextOp { k } => self.next_op(k),
            Ev::Fault(fault) => {
                if !self.is_calm {
                    self.inject(fault);
                }
            }
            Ev::Calm => self.calm(),
            Ev::Urge => {
                self.urge();
                self.after(REVIEW, Ev::Urge);
            }
            Ev::Review => {
                self.review();
                self.after(REVIEW, Ev::Review);
            }
        }
    }
}
