//! How often everything happened. The names are made by exhaustive matches: a new kind of event, effect or
//! message does not compile until it is named here, and a name that never occurs fails the test.

use antipode_coordinator_core::record::{Phase, Record};
use antipode_coordinator_core::{Change, Effect, Event, Failure, Order, Reply, Report};
use antipode_proto::message::{FromWorker, ToWorker};
use antipode_solver_core::job::Task;
use antipode_worker::session::{Action, Event as Heard, Exit};
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    pub fn count(&mut self, name: &'static str) {
        *self.0.entry(name).or_default() += 1;
    }

    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    pub fn add(&mut self, other: &Tally) {
        for (name, times) in &other.0 {
            *self.0.entry(name).or_default() += times;
        }
    }

    /// One line a name.
    pub fn table(&self) -> String {
        let mut table = String::new();
        for name in self
            .0
            .keys()
            .chain(MUST_OCCUR.iter().filter(|n| !self.0.contains_key(*n)))
        {
            // Writing to a string cannot fail.
            _ = writeln!(table, "{:>12}  {name}", self.get(name));
        }
        table
    }

    /// Names of `expected` that never occurred.
    pub fn missing(&self, expected: &[&'static str]) -> Vec<&'static str> {
        let never = |name: &&&str| self.get(name) == 0;
        expected.iter().filter(never).copied().collect()
    }
}

pub fn core_event(event: &Event) -> &'static str {
    match event {
        Event::Tick => "event: Tick",
        Event::Submit(_) => "event: Submit",
        Event::Cancel { .. } => "event: Cancel",
        Event::Pause { .. } => "event: Pause",
        Event::Resume { fresh: false, .. } => "event: Resume",
        Event::Resume { fresh: true, .. } => "event: Resume fresh",
        Event::Forget { .. } => "event: Forget",
        Event::Drain { .. } => "event: Drain",
        Event::Disk { full: Some(_) } => "event: Disk full",
        Event::Disk { full: None } => "event: Disk has room",
        Event::Noted { .. } => "event: Noted",
        Event::Register { .. } => "event: Register",
        Event::Disconnected { .. } => "event: Disconnected",
        Event::Report { report, .. } => match report {
            Report::Heartbeat { .. } => "report: Heartbeat",
            Report::Done { task, .. } => match task {
                Task::Expand { .. } => "report: Done Expand",
                Task::Smallest { .. } => "report: Done Smallest",
                Task::Words { .. } => "report: Done Words",
                Task::Copy { .. } => "report: Done Copy",
                Task::Pack { .. } => "report: Done Pack",
                Task::Item { .. } => "report: Done Item",
            },
            Report::Failed { failure, .. } => match failure {
                Failure::InputMissing { .. } => "report: Failed InputMissing",
                Failure::Violated(_) => "report: Failed Violated",
                Failure::Memory { .. } => "report: Failed Memory",
                Failure::Other(_) => "report: Failed Other",
            },
            Report::Durable { .. } => "report: Durable",
            Report::Lost { .. } => "report: Lost",
            Report::Retract { .. } => "report: Retract",
            Report::Note { .. } => "report: Note",
            Report::Draining { .. } => "report: Draining",
            Report::Leaving { .. } => "report: Leaving",
        },
    }
}

pub fn effect(effect: &Effect) -> &'static str {
    match effect {
        Effect::Persist(_) => "effect: Persist",
        Effect::Send { .. } => "effect: Send",
        Effect::HangUp { .. } => "effect: HangUp",
        Effect::Reply { reply, .. } => match reply {
            Reply::Submitted {
                existing: false, ..
            } => "reply: Submitted",
            Reply::Submitted { existing: true, .. } => "reply: Submitted, existing",
            Reply::Done { .. } => "reply: Done",
            Reply::NoSuchJob { .. } => "reply: NoSuchJob",
            Reply::Invalid { .. } => "reply: Invalid",
            Reply::NotNow { .. } => "reply: NotNow",
            Reply::NoSuchWorker { .. } => "reply: NoSuchWorker",
            Reply::Told => "reply: Told",
        },
        Effect::Changed { change, .. } => match change {
            Change::Progress => "changed: Progress",
            Change::Level(_) => "changed: Level",
            Change::State => "changed: State",
        },
    }
}

pub fn record(record: &Record) -> &'static str {
    match record {
        Record::Job { .. } => "committed: Job",
        Record::Progress { .. } => "committed: Progress",
        Record::Result { .. } => "committed: Result",
        Record::Item { .. } => "committed: Item",
        Record::Refuted { .. } => "committed: Refuted",
        Record::Compacted { .. } => "committed: Compacted",
        Record::Forgotten { .. } => "committed: Forgotten",
        Record::Key { .. } => "committed: Key",
        Record::Worker { .. } => "committed: Worker",
    }
}

pub fn order(order: &Order) -> &'static str {
    match order {
        Order::Welcome { .. } => "order: Welcome",
        Order::Refused { .. } => "order: Refused",
        Order::Open { .. } => "order: Open",
        Order::Lease { task, consume, .. } => match task {
            Task::Expand { .. } if *consume => "order: Lease Expand, consuming",
            Task::Expand { .. } => "order: Lease Expand",
            Task::Smallest { .. } => "order: Lease Smallest",
            Task::Words { .. } => "order: Lease Words",
            Task::Copy { .. } => "order: Lease Copy",
            Task::Pack { .. } => "order: Lease Pack",
            Task::Item { .. } => "order: Lease Item",
        },
        Order::Revoke { .. } => "order: Revoke",
        Order::Release { .. } => "order: Release",
        Order::Persist { .. } => "order: Persist",
        Order::Close { keep: false, .. } => "order: Close",
        Order::Close { keep: true, .. } => "order: Close, keeping",
        Order::Drain => "order: Drain",
        Order::Shutdown => "order: Shutdown",
    }
}

pub fn session_event(event: &Heard) -> &'static str {
    match event {
        Heard::Connected => "session hears: Connected",
        Heard::Disconnected => "session hears: Disconnected",
        Heard::Message(message) => match message {
            ToWorker::Welcome { .. } => "session hears: Welcome",
            ToWorker::Refused { .. } => "session hears: Refused",
            ToWorker::Open { .. } => "session hears: Open",
            ToWorker::Lease { .. } => "session hears: Lease",
            ToWorker::Revoke { .. } => "session hears: Revoke",
            ToWorker::Release { .. } => "session hears: Release",
            ToWorker::Persist { .. } => "session hears: Persist",
            ToWorker::Close { .. } => "session hears: Close",
            ToWorker::Drain => "session hears: Drain order",
            ToWorker::Shutdown => "session hears: Shutdown",
        },
        Heard::Leased { known: None, .. } => "session hears: Leased",
        Heard::Leased { known: Some(_), .. } => "session hears: Leased, answer known",
        Heard::Loaded { .. } => "session hears: Loaded",
        Heard::Prepared { .. } => "session hears: Prepared",
        Heard::Crowded { .. } => "session hears: Crowded",
        Heard::NoRoom { .. } => "session hears: NoRoom",
        Heard::Unprepared { .. } => "session hears: Unprepared",
        Heard::Computed { result: Ok(_), .. } => "session hears: Computed",
        Heard::Computed { result: Err(_), .. } => "session hears: Computed, failed",
        Heard::Persisted { .. } => "session hears: Persisted",
        Heard::NotPersisted { .. } => "session hears: NotPersisted",
        Heard::Lost { .. } => "session hears: Lost",
        Heard::Retracted { .. } => "session hears: Retracted",
        Heard::Note { .. } => "session hears: Note",
        Heard::Tick { .. } => "session hears: Tick",
        Heard::Stored => "session hears: Stored",
        Heard::Drain => "session hears: Drain",
    }
}

pub fn session_action(action: &Action) -> &'static str {
    match action {
        Action::Register { .. } => "session: Register",
        Action::Send(message) => match message {
            FromWorker::Register { .. } => "session says: Register",
            FromWorker::Heartbeat { .. } => "session says: Heartbeat",
            FromWorker::Done { .. } => "session says: Done",
            FromWorker::Failed { .. } => "session says: Failed",
            FromWorker::Durable { .. } => "session says: Durable",
            FromWorker::Lost { .. } => "session says: Lost",
            FromWorker::Retract { .. } => "session says: Retract",
            FromWorker::Note { .. } => "session says: Note",
            FromWorker::Draining { .. } => "session says: Draining",
            FromWorker::Leaving { .. } => "session says: Leaving",
        },
        Action::Join { .. } => "session: Join",
        Action::Load { .. } => "session: Load",
        Action::Prepare { alone: false, .. } => "session: Prepare",
        Action::Prepare { alone: true, .. } => "session: Prepare, alone",
        Action::Compute { .. } => "session: Compute",
        Action::Forget { .. } => "session: Forget",
        Action::Stop { .. } => "session: Stop",
        Action::Persist { .. } => "session: Persist",
        Action::PersistAll { .. } => "session: PersistAll",
        Action::Release { .. } => "session: Release",
        Action::Close { .. } => "session: Close",
        Action::Exit(Exit::Done) => "session: Exit",
        Action::Exit(Exit::Overdue) => "session: Exit, overdue",
        Action::Exit(Exit::Refused { .. }) => "session: Exit, refused",
    }
}

/// Where a job is, without the reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    Queued,
    Running,
    Paused,
    Suspect,
    Incomplete,
    Final,
}

fn place(phase: Option<&Phase>) -> Place {
    match phase {
        None => Place::Nowhere,
        Some(Phase::Queued) => Place::Queued,
        Some(Phase::Running) => Place::Running,
        Some(Phase::Paused) => Place::Paused,
        Some(Phase::Suspect { .. }) => Place::Suspect,
        Some(Phase::Incomplete { .. }) => Place::Incomplete,
        Some(Phase::Finished | Phase::Failed { .. } | Phase::Cancelled) => Place::Final,
    }
}

/// A change of phase, as it is seen between two steps of the core: a job may pass through several in one.
pub fn phases(before: Option<&Phase>, after: &Phase) -> &'static str {
    match (place(before), place(Some(after)), after) {
        (Place::Final, _, _) => "phase: out of a final one",
        (Place::Nowhere, Place::Queued, _) => "phase: new, Queued",
        (Place::Nowhere, Place::Running, _) => "phase: new, Running",
        (Place::Nowhere, _, _) => "phase: new and elsewhere",
        (Place::Queued, Place::Running, _) => "phase: Queued, Running",
        (Place::Queued, Place::Paused, _) => "phase: Queued, Paused",
        (Place::Running, Place::Paused, _) => "phase: Running, Paused",
        (Place::Running, Place::Suspect, _) => "phase: Running, Suspect",
        (Place::Running, Place::Incomplete, _) => "phase: Running, Incomplete",
        (Place::Running, Place::Queued, _) => "phase: Running, Queued",
        (Place::Paused, Place::Queued, _) => "phase: Paused, Queued",
        (Place::Paused, Place::Running, _) => "phase: Paused, Running",
        (Place::Suspect, Place::Queued | Place::Running, _) => "phase: Suspect, taken up",
        (Place::Incomplete, Place::Queued | Place::Running, _) => "phase: Incomplete, taken up",
        (Place::Suspect | Place::Incomplete, Place::Suspect | Place::Incomplete, _) => {
            "phase: taken up in vain"
        }
        (Place::Queued | Place::Paused, Place::Suspect | Place::Incomplete, _) => {
            "phase: taken up in vain"
        }
        (Place::Queued, _, Phase::Cancelled) => "phase: Queued, Cancelled",
        (Place::Running, _, Phase::Cancelled) => "phase: Running, Cancelled",
        (Place::Paused, _, Phase::Cancelled) => "phase: Paused, Cancelled",
        (_, _, Phase::Cancelled) => "phase: Suspect or Incomplete, Cancelled",
        (Place::Running, _, Phase::Finished) => "phase: Running, Finished",
        (Place::Running, _, Phase::Failed { .. }) => "phase: Running, Failed",
        (_, Place::Final, _) => "phase: ended without running",
        _ => "phase: another change",
    }
}

/// What may never occur.
pub const MUST_NOT_OCCUR: &[&str] = &["phase: out of a final one", "phase: another change"];

/// What ten thousand seeds on the model must have seen.
pub const MUST_OCCUR: &[&str] = &[
    "event: Tick",
    "event: Submit",
    "event: Cancel",
    "event: Pause",
    "event: Resume",
    "event: Register",
    "event: Disconnected",
    "report: Heartbeat",
    "report: Done Expand",
    "report: Done Smallest",
    "report: Done Words",
    "report: Failed InputMissing",
    "report: Failed Memory",
    "report: Failed Other",
    "report: Durable",
    "report: Lost",
    "report: Leaving",
    "effect: Persist",
    "effect: Send",
    "effect: HangUp",
    "reply: Submitted",
    "reply: Submitted, existing",
    "reply: Done",
    "reply: NoSuchJob",
    "reply: Invalid",
    "changed: Progress",
    "changed: Level",
    "changed: State",
    "committed: Job",
    "committed: Progress",
    "committed: Result",
    "committed: Key",
    "committed: Worker",
    "order: Welcome",
    "order: Refused",
    "order: Open",
    "order: Lease Expand, consuming",
    "order: Lease Expand",
    "order: Lease Smallest",
    "order: Lease Words",
    "order: Revoke",
    "order: Release",
    "order: Persist",
    "order: Close",
    "order: Close, keeping",
    "session hears: Connected",
    "session hears: Disconnected",
    "session hears: Welcome",
    "session hears: Refused",
    "session hears: Open",
    "session hears: Revoke",
    "session hears: Release",
    "session hears: Persist",
    "session hears: Close",
    "session hears: Leased",
    "session hears: Leased, answer known",
    "session hears: Loaded",
    "session hears: Prepared",
    "session hears: Crowded",
    "session hears: Unprepared",
    "session hears: Computed",
    "session hears: Computed, failed",
    "session hears: Persisted",
    "session hears: NotPersisted",
    "session hears: Lost",
    "session hears: Tick",
    "session hears: Drain",
    "session: Register",
    "session says: Heartbeat",
    "session says: Done",
    "session says: Failed",
    "session says: Durable",
    "session says: Lost",
    "session says: Leaving",
    "session: Join",
    "session: Load",
    "session: Prepare",
    "session: Prepare, alone",
    "session: Compute",
    "session: Forget",
    "session: Stop",
    "session: Persist",
    "session: Release",
    "session: Close",
    "session: Exit",
    "session: Exit, refused",
    "phase: new, Queued",
    "phase: Queued, Running",
    "phase: Queued, Paused",
    "phase: Queued, Cancelled",
    "phase: Running, Paused",
    "phase: Running, Finished",
    "phase: Running, Cancelled",
    "phase: Running, Failed",
    "phase: Paused, Queued",
    "phase: Paused, Cancelled",
    "fault: worker killed",
    "fault: worker killed, unseen",
    "fault: worker's disk lost",
    "fault: worker stopped",
    "fault: worker drained",
    "fault: worker joins",
    "fault: worker of another cluster",
    "fault: task failed",
    "fault: memory refused",
    "fault: wrong result",
    "fault: torn write",
    "fault: unsynced writes lost",
    "fault: bit flipped on a worker's disk",
    "fault: worker's disk full",
    "fault: connection breaks",
    "fault: connection breaks, coordinator sees it late",
    "fault: connection breaks, worker sees it late",
    "fault: nothing gets to the coordinator",
    "fault: nothing gets to the worker",
    "fault: workers do not reach each other",
    "fault: way is slow",
    "fault: answer damaged",
    "fault: answer twice",
    "fault: coordinator killed",
    "fault: coordinator ends before a commit",
    "fault: coordinator ends in a commit",
    "fault: coordinator ends after a commit",
    "fault: coordinator ends amid sends",
    "fault: coordinator ends and starts again",
    "fault: coordinator stopped",
    "fault: coordinator's disk full",
    "fault: everything at once",
    "fault: wall clock jumps",
    "fault: clocks at different rates",
    "committed: Compacted",
    "committed: Forgotten",
    "committed: Item",
    "committed: Refuted",
    "event: Disk full",
    "event: Disk has room",
    "event: Drain",
    "event: Forget",
    "event: Resume fresh",
    "event: Noted",
    "fault: a task kills its worker",
    "fault: coordinator's disk nearly full",
    "fault: device fails",
    "fault: worker retracts",
    "fault: worker's disk nearly full",
    "fault: law violated",
    "fault: worker of another version",
    "order: Drain",
    "order: Lease Copy",
    "order: Lease Pack",
    "order: Lease Item",
    "order: Shutdown",
    "phase: Incomplete, taken up",
    "phase: Paused, Running",
    "phase: Running, Incomplete",
    "phase: Running, Suspect",
    "phase: Suspect, taken up",
    "phase: new, Running",
    "reply: NoSuchWorker",
    "reply: NotNow",
    "reply: Told",
    "report: Done Copy",
    "report: Done Pack",
    "report: Done Item",
    "report: Draining",
    "report: Retract",
    "report: Note",
    "report: Failed Violated",
    "session hears: Drain order",
    "session hears: NoRoom",
    "session hears: Retracted",
    "session hears: Note",
    "session hears: Shutdown",
    "session hears: Stored",
    "session says: Draining",
    "session says: Retract",
    "session says: Note",
    "session: PersistAll",
    "a task killed its worker",
    "old connection heard after a newer one registered",
    "late answer of an older lease",
    "wrong answer refused",
    "damage found when read",
    "input fetched",
    "input read from disk",
    "fetch timed out",
    "lease answered from what is held",
    "memory was made free",
    "several commands in a round",
    "commit beside the loop",
    "commit failed",
    "checkpoint checked on disks",
    "pause kept its promise",
];
