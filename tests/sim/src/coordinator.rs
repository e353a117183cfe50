//! The coordinator's machine, and the process on it: the real core, and around it what its driver
//! does: rounds of queued commands, one commit, then the sends.

use crate::clock::{Clock, MILLI, Micros, SECOND};
use crate::ledger::Ledger;
use crate::mutants::SimMutant;
use crate::network::{Arrival, ConnId, Way};
use crate::plan::CLUSTER;
use crate::sim::{Ev, Sim};
use crate::{invariants, tally};
use antipode_coordinator::bridge::{self, Heard};
use antipode_coordinator_core::record::{Phase, Record};
use antipode_coordinator_core::{
    ConnectionId, Coordinator, Effect, Event, Now, Order, RequestId, check,
};
use antipode_ids::JobId;
use antipode_proto::PROTOCOL_VERSION;
use antipode_proto::message::{FromWorker, ToWorker};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What is not urgent is committed this late.
const FLUSH: Micros = 20 * MILLI;
/// A commit that failed is tried again after this time.
const RETRY: Micros = SECOND;

/// Where in a round the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    BeforeCommit,
    /// It is all there, or nothing of it.
    InCommit,
    AfterCommit,
    /// After so many of what it sends.
    AmidSends(usize),
}

/// What survives a process.
#[derive(Debug)]
pub struct Server {
    pub ledger: Box<dyn Ledger>,
    pub clock: Clock,
    /// Seconds that the wall clock is wrong by.
    pub wall: i64,
    pub life: u64,
    pub process: Option<Driver>,
    /// Where the next round ends the process.
    pub crash_at: Option<CrashPoint>,
    /// Its disk has less room than is kept in reserve.
    pub full: bool,
}

/// What reaches the loop.
#[derive(Debug)]
pub enum Command {
    Heard(ConnId, FromWorker),
    Gone(ConnId),
    Ask(RequestId, Event),
}

/// The running process.
#[derive(Debug)]
pub struct Driver {
    pub core: Coordinator,
    started: Micros,
    inbox: VecDeque<Command>,
    round_planned: bool,
    pending: Vec<Record>,
    flush_planned: bool,
    /// The commit beside the loop.
    flushing: Option<Vec<Record>>,
    /// What must wait until a commit works again, because it promises what is not durable yet.
    held_back: Vec<Effect>,
    /// A commit failed and will be tried again.
    retrying: bool,
    /// What the core was told of the disk.
    full: bool,
    connections: BTreeSet<ConnId>,
    pub frozen: bool,
    mailbox: Vec<Ev>,
    phases: BTreeMap<JobId, Phase>,
}

impl Server {
    pub fn is_listening(&self) -> bool {
        self.process.as_ref().is_some_and(|p| !p.frozen)
    }

    pub fn core(&self) -> Option<&Coordinator> {
        self.process.as_ref().map(|p| &p.core)
    }

    pub fn attach(&mut self, id: ConnId) {
        if let Some(process) = &mut self.process {
            process.connections.insert(id);
        }
    }

    fn now(&self, now: Micros) -> Now {
        let started = self.process.as_ref().map_or(now, |p| p.started);
        let millis = 1 + (self.clock.show(now) - self.clock.show(started)) / MILLI;
        let unix = (1_000_000 + now / SECOND).saturating_add_signed(self.wall);
        Now { millis, unix }
    }
}

impl Sim {
    pub fn start_coordinator(&mut self) {
        if self.coordinator.process.is_some() {
            return;
        }
        self.coordinator.life += 1;
        self.coordinator.crash_at = None;
        let count = !self.is_mutant(SimMutant::RestartWithoutEpoch);
        let (epoch, stored) = match self.coordinator.ledger.start(count) {
            Ok(started) => started,
            Err(reason) => {
                // It says so and ends; somebody puts the store right.
                self.tally.count("coordinator refuses a damaged store");
                self.note("coordinator refuses its store", format_args!("{reason}"));
                if self.coordinator.ledger.mend() {
                    self.after(SECOND, Ev::StartCoordinator);
                } else {
                    // Bits were flipped, it was seen, and nothing wrong was said: all that can be asked.
                    self.tally.count("coordinator's store beyond repair");
                    self.abandoned = true;
                }
                return;
            }
        };
        self.note("coordinator starts", format_args!("epoch {epoch}"));
        self.ensure(invariants::promises_are_kept(&self.watch, &stored));
        let now = self.coordinator.now(self.now);
        let config = self.plan.config;
        let core = match Coordinator::new(config, CLUSTER.into(), epoch, stored, now) {
            Ok(core) => core,
            Err(reason) => return self.fail(format!("the coordinator does not start: {reason}")),
        };
        self.ensure(check::all(&core));
        self.watch.coordinator_started(&core);
        let phases = core
            .jobs()
            .iter()
            .map(|(&id, job)| (id, job.progress().phase.clone()))
            .collect();
        self.coordinator.process = Some(Driver {
            core,
            started: self.now,
            inbox: VecDeque::new(),
            round_planned: false,
            pending: Vec::new(),
            flush_planned: false,
            flushing: None,
            held_back: Vec::new(),
            retrying: false,
            full: false,
            connections: BTreeSet::new(),
            frozen: false,
            mailbox: Vec::new(),
            phases,
        });
        let life = self.coordinator.life;
        self.after(0, Ev::Tick { life });
    }

    /// The process of this life, unless it is stopped: then the event waits.
    fn driver(&mut self, life: u64, ev: impl FnOnce() -> Ev) -> Option<&mut Driver> {
        if self.coordinator.life != life {
            return None;
        }
        let process = self.coordinator.process.as_mut()?;
        if process.frozen {
            process.mailbox.push(ev());
            return None;
        }
        Some(process)
    }

    pub fn thaw_coordinator(&mut self) {
        let Some(process) = self.coordinator.process.as_mut() else {
            return;
        };
        process.frozen = false;
        for ev in std::mem::take(&mut process.mailbox) {
            self.after(0, ev);
        }
    }

    /// Something of a worker arrives.
    pub fn hear_up(&mut self, id: ConnId) {
        let life = self.coordinator.life;
        if self.coordinator.process.is_none() {
            self.network.deafen(id, Way::Up);
            return;
        }
        if self
            .driver(life, || Ev::Arrive { id, way: Way::Up })
            .is_none()
        {
            return;
        }
        match self.network.take_up(self.now, id) {
            Arrival::Nothing => {}
            Arrival::Message(message) => {
                self.note_old_connection(id);
                self.command(Command::Heard(id, message));
            }
            Arrival::End => {
                self.network.deafen(id, Way::Up);
                self.command(Command::Gone(id));
            }
        }
    }

    /// Counts what is heard of a worker that has registered on a newer connection.
    fn note_old_connection(&mut self, id: ConnId) {
        let worker = |id: ConnId| self.network.connections.get(&id).map(|c| c.worker);
        let newer = |id: ConnId, other: ConnId| other > id && worker(other) == worker(id);
        let registered = self.coordinator.core().is_some_and(|core| {
            let mut connections = core.workers().values().filter_map(|w| w.connection());
            connections.any(|other| newer(id, other.0))
        });
        if registered {
            self.tally
                .count("old connection heard after a newer one registered");
        }
    }

    /// Puts something into the queue of the loop.
    pub fn command(&mut self, command: Command) {
        let soon = self.rng.random_range(0..MILLI);
        let life = self.coordinator.life;
        let Some(process) = self.coordinator.process.as_mut() else {
            return;
        };
        process.inbox.push_back(command);
        if !std::mem::replace(&mut process.round_planned, true) {
            self.after(soon, Ev::Round { life });
        }
    }

    pub fn tick_coordinator(&mut self, life: u64) {
        let heartbeat = self.plan.config.heartbeat * MILLI;
        let next = self.coordinator.clock.span(heartbeat);
        if self.driver(life, || Ev::Tick { life }).is_none() {
            return;
        }
        self.after(next, Ev::Tick { life });
        let mut effects = self.look_at_disk();
        effects.extend(self.core_step(Event::Tick));
        self.perform_round(effects);
    }

    fn look_at_disk(&mut self) -> Vec<Effect> {
        let low = self.coordinator.full;
        let Some(process) = self.coordinator.process.as_mut() else {
            return Vec::new();
        };
        let full = low || process.retrying;
        if std::mem::replace(&mut process.full, full) == full {
            return Vec::new();
        }
        let full = full.then(|| "no room".to_string());
        self.core_step(Event::Disk { full })
    }

    /// The loop takes what is queued.
    pub fn round(&mut self, life: u64) {
        let Some(process) = self.driver(life, || Ev::Round { life }) else {
            return;
        };
        process.round_planned = false;
        let commands: Vec<Command> = process.inbox.drain(..).collect();
        let mut effects = Vec::new();
        if commands.len() > 1 {
            self.tally.count("several commands in a round");
        }
        for command in commands {
            effects.extend(self.take(command));
            if self.is_over() {
                return;
            }
        }
        self.perform_round(effects);
    }

    fn take(&mut self, command: Command) -> Vec<Effect> {
        match command {
            Command::Ask(_, event) => self.core_step(event),
            Command::Heard(id, message) => {
                let connection = ConnectionId(id);
                let registered = self.coordinator.core().is_some_and(|core| {
                    let mut workers = core.workers().values();
                    workers.any(|w| w.connection() == Some(connection))
                });
                if matches!(message, FromWorker::Retract { .. })
                    && let Some(connection) = self.network.connections.get(&id)
                    && registered
                {
                    self.watch.confessed.insert(connection.worker);
                }
                match bridge::heard(message, false) {
                    Heard::Register { protocol, .. } if protocol != PROTOCOL_VERSION => {
                        self.refuse(id);
                        let what = "a worker was refused".into();
                        self.core_step(Event::Noted { what })
                    }
                    Heard::Register { registration, .. } => self.core_step(Event::Register {
                        connection,
                        registration,
                    }),
                    Heard::Report(report) => self.core_step(Event::Report { connection, report }),
                }
            }
            Command::Gone(id) => {
                if let Some(process) = &mut self.coordinator.process {
                    process.connections.remove(&id);
                }
                self.close_down(id);
                self.core_step(Event::Disconnected {
                    connection: ConnectionId(id),
                })
            }
        }
    }

    /// A worker of another version is told so by the driver itself.
    fn refuse(&mut self, id: ConnId) {
        let reason = "another protocol".into();
        let message = ToWorker::Refused { reason };
        let due = self.network.send_down(self.now, id, message, &mut self.rng);
        self.arrive(due);
        if let Some(process) = self.coordinator.process.as_mut() {
            process.connections.remove(&id);
        }
        self.close_down(id);
    }

    /// One event for the core; every invariant is looked at.
    fn core_step(&mut self, event: Event) -> Vec<Effect> {
        let now = self.coordinator.now(self.now);
        self.steps += 1;
        self.tally.count(tally::core_event(&event));
        self.trace
            .add(self.now, format_args!("coordinator hears {event:?}"));
        let Some(process) = self.coordinator.process.as_mut() else {
            return Vec::new();
        };
        let about = self.watch.before(&process.core, &event);
        if about.is_stale() {
            self.tally.count("late answer of an older lease");
        }
        let effects = process.core.step(now, event);
        for effect in &effects {
            self.tally.count(tally::effect(effect));
            self.trace.add(self.now, format_args!("  {effect:?}"));
        }
        for (&id, job) in process.core.jobs() {
            let phase = &job.progress().phase;
            let before = process.phases.get(&id);
            if before != Some(phase) {
                self.tally.count(tally::phases(before, phase));
                process.phases.insert(id, phase.clone());
            }
        }
        for effect in effects.iter().filter(|_| self.watch.lies) {
            if let Some(toy) = invariants::wrong_result(&process.core, &self.toys, effect) {
                self.tally.count("a wrong result is taken in");
                self.trace
                    .add(self.now, format_args!("** a wrong result: {toy}"));
            }
        }
        let lies = self.watch.lies;
        let verdict = check::all(&process.core).and_then(|()| {
            self.watch
                .after_step(&process.core, &self.toys, about, &effects, lies)
        });
        self.ensure(verdict);
        effects
    }

    /// First everything to the store, at once if any of it is urgent; then the others, in order. While the
    /// store takes nothing they wait.
    fn perform_round(&mut self, effects: Vec<Effect>) {
        let early = self.is_mutant(SimMutant::AcknowledgeBeforePersist);
        let Some(process) = self.coordinator.process.as_mut() else {
            return;
        };
        let mut urgent = false;
        for effect in effects {
            match effect {
                Effect::Persist(record) => {
                    urgent |= record.is_urgent();
                    process.pending.push(record);
                }
                other => process.held_back.push(other),
            }
        }
        if early {
            self.send_all();
        }
        let waits = self.coordinator.process.as_ref().is_none_or(|p| p.retrying);
        if waits || (urgent && !self.commit()) {
            return;
        }
        for w in std::mem::take(&mut self.watch.confessed) {
            self.watch.undisclosed.remove(&w);
        }
        self.plan_flush(FLUSH);
        self.send_all();
    }

    /// Makes everything durable. False: the process has ended, or waits for room.
    fn commit(&mut self) -> bool {
        match self.coordinator.crash_at {
            Some(CrashPoint::BeforeCommit) => {
                self.tally.count("fault: coordinator ends before a commit");
                self.crash_coordinator(false);
                return false;
            }
            Some(CrashPoint::InCommit) => {
                self.tally.count("fault: coordinator ends in a commit");
                self.crash_coordinator(true);
                return false;
            }
            _ => {}
        }
        let Some(process) = self.coordinator.process.as_mut() else {
            return false;
        };
        // The commit beside the loop comes first.
        let mut records = process.flushing.take().unwrap_or_default();
        records.append(&mut process.pending);
        if !self.try_commit(records) {
            return false;
        }
        if self.coordinator.crash_at == Some(CrashPoint::AfterCommit) {
            self.tally.count("fault: coordinator ends after a commit");
            self.crash_coordinator(false);
            return false;
        }
        true
    }

    /// What cannot be written is pending again, and tried again later.
    fn try_commit(&mut self, mut records: Vec<Record>) -> bool {
        if self.coordinator.ledger.commit(&records).is_ok() {
            self.committed(&records);
            return true;
        }
        self.tally.count("commit failed");
        let life = self.coordinator.life;
        if let Some(process) = self.coordinator.process.as_mut() {
            records.append(&mut process.pending);
            process.pending = records;
            process.retrying = true;
        }
        self.after(RETRY, Ev::Retry { life });
        false
    }

    /// A commit was made: does it say what is true?
    fn committed(&mut self, records: &[Record]) {
        let mut checkpoints = BTreeMap::new();
        for record in records {
            self.tally.count(tally::record(record));
            if let Record::Progress { job, progress, .. } = record {
                checkpoints.insert(*job, progress.checkpoint);
            }
        }
        for (job, checkpoint) in checkpoints {
            self.check_checkpoint(job, checkpoint);
        }
    }

    /// A commit that failed is tried again.
    pub fn retry_commit(&mut self, life: u64) {
        let Some(process) = self.driver(life, || Ev::Retry { life }) else {
            return;
        };
        process.retrying = false;
        if self.commit() {
            let effects = self.look_at_disk();
            self.perform_round(effects);
        }
    }

    fn plan_flush(&mut self, late: Micros) {
        let life = self.coordinator.life;
        let Some(process) = self.coordinator.process.as_mut() else {
            return;
        };
        if !process.pending.is_empty() && !std::mem::replace(&mut process.flush_planned, true) {
            self.after(late, Ev::Flush { life });
        }
    }

    /// Starts the commit beside the loop.
    pub fn start_flush(&mut self, life: u64) {
        let span = self.rng.random_range(500..10 * MILLI);
        let Some(process) = self.driver(life, || Ev::Flush { life }) else {
            return;
        };
        process.flush_planned = false;
        if process.pending.is_empty() || process.flushing.is_some() || process.retrying {
            return;
        }
        process.flushing = Some(std::mem::take(&mut process.pending));
        self.after(span, Ev::Flushed { life });
    }

    pub fn end_flush(&mut self, life: u64) {
        let Some(process) = self.driver(life, || Ev::Flushed { life }) else {
            return;
        };
        let Some(records) = process.flushing.take() else {
            return;
        };
        if self.try_commit(records) {
            self.tally.count("commit beside the loop");
            self.plan_flush(FLUSH);
        }
    }

    fn send_all(&mut self) {
        let Some(process) = self.coordinator.process.as_mut() else {
            return;
        };
        let effects = std::mem::take(&mut process.held_back);
        for (sent, effect) in effects.into_iter().enumerate() {
            if self.coordinator.crash_at == Some(CrashPoint::AmidSends(sent)) {
                self.tally.count("fault: coordinator ends amid sends");
                return self.crash_coordinator(false);
            }
            match effect {
                Effect::Persist(_) => {}
                Effect::Send { connection, order } => self.send(connection.0, order),
                Effect::HangUp { connection } => {
                    if let Some(process) = self.coordinator.process.as_mut() {
                        process.connections.remove(&connection.0);
                    }
                    self.close_down(connection.0);
                }
                Effect::Reply { request, reply } => self.told(request, reply),
                Effect::Changed { job, .. } => self.watched(job),
            }
        }
    }

    fn send(&mut self, id: ConnId, order: Order) {
        self.tally.count(tally::order(&order));
        if let Order::Lease { attempt, .. } = &order {
            let verdict = self.watch.a_lease_is_sent(*attempt, id);
            self.ensure(verdict);
        }
        let Some(process) = self.coordinator.process.as_ref() else {
            return;
        };
        let message = bridge::message(order, &process.core, CLUSTER);
        if process.connections.contains(&id) {
            let due = self.network.send_down(self.now, id, message, &mut self.rng);
            self.arrive(due);
        }
    }

    /// The coordinator's half of a connection ends; what was said before still arrives.
    fn close_down(&mut self, id: ConnId) {
        let due = self.network.close(self.now, id, Way::Down, 0, usize::MAX);
        self.arrive(due);
    }

    /// The process is gone from one moment to the next.
    pub fn crash_coordinator(&mut self, in_commit: bool) {
        let Some(process) = self.coordinator.process.take() else {
            return;
        };
        let mut unfinished = process.flushing.unwrap_or_default();
        if in_commit {
            unfinished.extend(process.pending);
        }
        self.coordinator.ledger.crash(&unfinished, &mut self.rng);
        self.coordinator.crash_at = None;
        self.watch.confessed.clear();
        self.note("coordinator is gone", format_args!(""));
        self.cut_all();
    }

    /// The process ends as it should: everything is stored.
    pub fn close_coordinator(&mut self) {
        let now = self.coordinator.now(self.now);
        let Some(mut process) = self.coordinator.process.take() else {
            return;
        };
        let mut records = process.flushing.take().unwrap_or_default();
        records.append(&mut process.pending);
        records.extend(process.core.snapshot(now));
        if self.coordinator.ledger.commit(&records).is_ok() {
            self.committed(&records);
        }
        self.coordinator.ledger.crash(&[], &mut self.rng);
        self.note("coordinator ends", format_args!(""));
        self.cut_all();
    }

    /// All connections break at the coordinator's end.
    fn cut_all(&mut self) {
        let ids: Vec<ConnId> = self.network.connections.keys().copied().collect();
        for id in ids {
            self.network.deafen(id, Way::Up);
            let late = crate::network::some_delay(&mut self.rng);
            let kept = self.rng.random_range(0..4);
            let due = self.network.close(self.now, id, Way::Down, late, kept);
            self.arrive(due);
        }
        let back = self.rng.random_range(50 * MILLI..3 * SECOND);
        self.after(back, Ev::StartCoordinator);
    }
}
