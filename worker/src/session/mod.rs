//! What the worker says and decides: a state machine without IO. It is fed with events, each with
//! the time, and returns actions for the driver to perform in order.
//!
//! ```text
//! connection:  Away --Connected--> Registering --Welcome--> Registered --Disconnected--> Away
//! lease:       Waiting --> Preparing --> Ready --> Computing --> (Done or Failed is said)
//!                 ^            |
//!                 +--Crowded<--+   memory was short: again when another task is over
//!                 +--NoRoom<---+   and the disk is full: again when either has room
//! end:         Staying --> Draining --Shutdown--> (Leaving is said)
//!                             |                         ^
//!                             +--grace--> Storing ------+
//! ```
//!
//! Invariants:
//! - A task that has begun to compute is reported, once, with the attempt of its latest lease.
//! - Tasks that compute and tasks that only bring something to disk have a lane each. In a lane a
//!   few leases are at work and a few more are prepared; the lowest level, then the lowest shard,
//!   goes first.
//! - What has to be said while the coordinator is away is said after the next `Welcome`.
//! - A worker that drains forgets the leases that were waiting, and is told by the coordinator what
//!   is still wanted of it. It never ends with a result that could be said and was not.
//! - Without contact for the lease time minus a margin nothing is started any more: the leases
//!   belong to others by then. What runs goes on; its result is kept.

mod departure;
mod hear;
mod lease;
mod schedule;

use antipode_ids::{Attempt, JobId, WorkerId};
use antipode_proto::message::{ArtifactName, DiskUse, Failure, FromWorker, Input, ToWorker, Usage};
use antipode_solver_core::engine::{Level, ShardId};
use antipode_solver_core::job::{JobDefinition, Task, TaskOutput};
use departure::Departure;
use lease::{Key, Lease, Stage};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A failed write to disk is tried again after this time.
const RETRY_PERSIST: Duration = Duration::from_secs(5);

/// Names a lease between session and driver; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub u64);

/// What happened.
#[derive(Debug)]
pub enum Event {
    Connected,
    Disconnected,
    Message(ToWorker),
    /// A lease arrived; `known`: the answer, if its artifacts are held already.
    Leased {
        job: JobId,
        task: Task,
        attempt: Attempt,
        inputs: Vec<Input>,
        consume: bool,
        known: Option<TaskOutput>,
    },
    /// The engine of a job is there, or why it is not.
    Loaded {
        job: JobId,
        result: Result<(), Failure>,
    },
    /// The inputs of a lease are in memory.
    Prepared {
        lease: LeaseId,
    },
    /// Memory is short now, because of other tasks.
    Crowded {
        lease: LeaseId,
    },
    /// Memory is short, and what is in it cannot be brought to disk.
    NoRoom {
        lease: LeaseId,
    },
    /// The inputs of a lease cannot be had, or it can never fit.
    Unprepared {
        lease: LeaseId,
        failure: Failure,
    },
    /// A compute thread is through with a lease.
    Computed {
        lease: LeaseId,
        result: Result<TaskOutput, Failure>,
        usage: Usage,
        /// Used up, although it failed.
        lost: Vec<ArtifactName>,
    },
    Persisted {
        names: Vec<ArtifactName>,
        bytes: u64,
    },
    /// The disk did not take them; they are still held.
    NotPersisted {
        names: Vec<ArtifactName>,
    },
    Lost {
        names: Vec<ArtifactName>,
        reason: String,
    },
    /// Forgotten, because they may have been wrong.
    Retracted {
        names: Vec<ArtifactName>,
        reason: String,
    },
    /// Something that users who ask about this worker, or about the job, may want to know.
    Note {
        job: Option<JobId>,
        text: String,
    },
    /// Time passes; comes a few times a second. Memory of the process now and at its peak, in bytes.
    Tick {
        memory_bytes: u64,
        peak_memory_bytes: u64,
        disk: DiskUse,
    },
    /// All that was held only in memory is on disk, as far as the disk took it.
    Stored,
    /// The user wants the worker to end.
    Drain,
}

/// What the driver has to do.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Say who we are, what is held, and that these leases are still here.
    Register {
        running: Vec<(JobId, Task, Attempt)>,
    },
    Send(FromWorker),
    /// The coordinator told who we are.
    Join {
        worker: WorkerId,
        cluster: String,
    },
    Load {
        job: JobId,
        definition: Arc<JobDefinition>,
    },
    /// Reserve memory and bring the inputs together; answered by `Prepared`, `Crowded` or `Unprepared`.
    /// `alone`: no other task is prepared or computing, so `Crowded` would be no answer.
    Prepare {
        lease: LeaseId,
        job: JobId,
        task: Task,
        inputs: Vec<Input>,
        consume: bool,
        alone: bool,
    },
    /// Hand a prepared lease to the compute threads.
    Compute {
        lease: LeaseId,
    },
    /// Nobody wants the answer of a lease that is computing: it may end early.
    Stop {
        lease: LeaseId,
    },
    /// Give up a lease that is not computing.
    Forget {
        lease: LeaseId,
    },
    Persist {
        names: Vec<ArtifactName>,
    },
    /// Bring what was made here to disk, until this time at most; answered by `Stored`.
    PersistAll {
        until: Instant,
    },
    Release {
        names: Vec<ArtifactName>,
    },
    Close {
        job: JobId,
        keep: bool,
    },
    /// The worker is done; what was sent before must still get out.
    Exit(Exit),
}

/// Why the worker ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It was asked to.
    Done,
    /// It was asked to, and the grace time is over while the disk still works.
    Overdue,
    /// The coordinator does not want it.
    Refused { reason: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    Away,
    Registering,
    Registered {
        heartbeat: Duration,
        lease: Duration,
    },
}

#[derive(Debug)]
enum Engine {
    Loading,
    Loaded,
    Broken(Failure),
}

struct Job {
    fingerprint: String,
    engine: Engine,
}

/// The state. See the module for what it guarantees.
pub struct Session {
    connection: Connection,
    /// What could not be said yet.
    outbox: Vec<FromWorker>,
    jobs: BTreeMap<JobId, Job>,
    leases: BTreeMap<Key, Lease>,
    keys: BTreeMap<LeaseId, Key>,
    next_lease: u64,
    /// Computing leases of closed jobs: their results are of no use.
    orphans: Vec<LeaseId>,
    /// Computing leases whose results were taken back before they were there: they are computed again.
    tainted: BTreeSet<LeaseId>,
    departure: Departure,
    /// Tasks that are computed side by side.
    lanes: usize,
    /// From the wish that the worker ends to its end; `None`: it ends as soon as nothing computes.
    grace: Option<Duration>,
    exited: bool,
    /// Lease time of the latest `Welcome`.
    lease_time: Duration,
    contact_at: Instant,
    stepped_at: Instant,
    heartbeat_at: Instant,
    /// Nothing is started before this time.
    resume_at: Instant,
    retry_persist: Option<(Instant, Vec<ArtifactName>)>,
    /// What was retracted lately, and when it was said. Unlike all else it cannot be told from what is
    /// announced after a broken connection.
    retracted: Vec<(Instant, FromWorker)>,
    /// As the coordinator was told last.
    disk_full: bool,
}

impl Session {
    /// `grace`: how long the end may take, once it is wished for. `None` within one process with the
    /// coordinator: the worker then ends as soon as nothing computes any more. `lanes`: how many tasks the
    /// driver computes side by side, at least 1.
    pub fn new(now: Instant, grace: Option<Duration>, lanes: usize) -> Session {
        Session {
            connection: Connection::Away,
            outbox: Vec::new(),
            jobs: BTreeMap::new(),
            leases: BTreeMap::new(),
            keys: BTreeMap::new(),
            next_lease: 0,
            orphans: Vec::new(),
            tainted: BTreeSet::new(),
            departure: Departure::Staying,
            lanes: lanes.max(1),
            grace,
            exited: false,
            lease_time: Duration::MAX,
            contact_at: now,
            stepped_at: now,
            heartbeat_at: now,
            resume_at: now,
            retry_persist: None,
            retracted: Vec::new(),
            disk_full: false,
        }
    }

    /// What follows from `event` at `now`.
    pub fn step(&mut self, now: Instant, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.exited {
            return actions;
        }
        self.mark_time(now);
        self.absorb(now, event, &mut actions);
        self.schedule(now, &mut actions);
        self.depart(now, &mut actions);
        actions
    }

    /// The inputs of leases that do not compute yet, by the order in which their tasks come.
    pub fn wanted(&self) -> BTreeMap<ArtifactName, usize> {
        let mut wanted = BTreeMap::new();
        for (rank, lease) in self.leases.values().enumerate() {
            for input in &lease.inputs {
                wanted.entry(input.name).or_insert(rank);
            }
        }
        wanted
    }

    /// Is this job open?
    pub fn is_open(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job)
    }

    /// Was the disk full at the last tick?
    pub fn is_disk_full(&self) -> bool {
        self.disk_full
    }

    /// Is the connection open and the coordinator's welcome there?
    pub fn is_registered(&self) -> bool {
        matches!(self.connection, Connection::Registered { .. })
    }

    fn absorb(&mut self, now: Instant, event: Event, actions: &mut Vec<Action>) {
        match event {
            Event::Connected => {
                self.connection = Connection::Registering;
                let running = self
                    .leases
                    .values()
                    .map(|lease| (lease.job, lease.task.clone(), lease.attempt))
                    .collect();
                actions.push(Action::Register { running });
            }
            Event::Disconnected => {
                self.connection = Connection::Away;
                self.retract_again(now);
                self.left_alone(now);
            }
            Event::Message(message) => self.hear(now, message, actions),
            Event::Leased {
                job,
                task,
                attempt,
                inputs,
                consume,
                known,
            } => {
                self.lease(
                    Lease {
                        job,
                        task,
                        attempt,
                        inputs,
                        consume,
                        stage: Stage::Waiting,
                    },
                    known,
                    actions,
                );
            }
            Event::Loaded { job, result } => self.loaded(job, result, actions),
            Event::Prepared { lease } => self.set_stage(lease, Stage::Ready),
            Event::Crowded { lease } => self.set_stage(lease, Stage::Crowded),
            Event::NoRoom { lease } => self.set_stage(lease, Stage::NoRoom),
            Event::Unprepared { lease, failure } => {
                if let Some(lease) = self.take(lease) {
                    self.fail(lease, failure, actions);
                    self.uncrowd();
                }
            }
            Event::Computed {
                lease,
                result,
                usage,
                lost,
            } => self.computed(lease, result, usage, lost, actions),
            Event::Persisted { names, bytes } => {
                self.say(FromWorker::Durable { names, bytes }, actions);
                // What is on disk may leave memory.
                self.give_room();
            }
            Event::NotPersisted { names } => {
                let (_, waiting) = self
                    .retry_persist
                    .get_or_insert((now + RETRY_PERSIST, Vec::new()));
                waiting.extend(names);
            }
            Event::Lost { names, reason } => self.say(FromWorker::Lost { names, reason }, actions),
            Event::Retracted { names, reason } => {
                if let Some((_, waiting)) = &mut self.retry_persist {
                    waiting.retain(|name| !names.contains(name));
                }
                self.taint(&names);
                let message = FromWorker::Retract { names, reason };
                if self.is_registered() {
                    self.retracted.push((now, message.clone()));
                }
                self.say(message, actions);
            }
            Event::Note { job, text } => self.say(FromWorker::Note { job, text }, actions),
            Event::Tick {
                memory_bytes,
                peak_memory_bytes,
                disk,
            } => {
                self.tick(now, (memory_bytes, peak_memory_bytes), disk, actions);
            }
            Event::Stored => self.stored(actions),
            Event::Drain => self.drain(now, "a signal asked it to end", actions),
        }
    }

    /// Results are taken back: those of tasks that are computing as well, once they are there.
    fn taint(&mut self, names: &[ArtifactName]) {
        let computing = self.leases.iter();
        let computing = computing.filter(|(_, lease)| lease.stage == Stage::Computing);
        let taken_back =
            computing.filter(|(_, lease)| lease.outputs().iter().any(|name| names.contains(name)));
        self.tainted.extend(taken_back.map(|(key, _)| key.lease));
    }

    fn fail(&mut self, lease: Lease, failure: Failure, actions: &mut Vec<Action>) {
        let Lease {
            job, task, attempt, ..
        } = lease;
        self.say(
            FromWorker::Failed {
                job,
                task,
                attempt,
                failure,
            },
            actions,
        );
    }

    fn say(&mut self, message: FromWorker, actions: &mut Vec<Action>) {
        if self.is_registered() {
            actions.push(Action::Send(message));
        } else {
            self.outbox.push(message);
        }
    }

    /// The connection broke: what was retracted shortly before may not have been heard. After two lease times
    /// it was, or the coordinator would have given the connection up.
    fn retract_again(&mut self, now: Instant) {
        let patience = self.lease_time.saturating_mul(2);
        let said = std::mem::take(&mut self.retracted).into_iter();
        let unsure = said.filter(|(at, _)| now.duration_since(*at) < patience);
        self.outbox.extend(unsure.map(|(_, message)| message));
    }

    fn set_stage(&mut self, lease: LeaseId, stage: Stage) {
        let lease = self
            .keys
            .get(&lease)
            .and_then(|key| self.leases.get_mut(key));
        if let Some(lease) = lease.filter(|lease| lease.stage == Stage::Preparing) {
            lease.stage = stage;
        }
    }

    /// Memory became free: whoever waits for it may try again.
    fn uncrowd(&mut self) {
        for lease in self
            .leases
            .values_mut()
            .filter(|lease| matches!(lease.stage, Stage::Crowded | Stage::NoRoom))
        {
            lease.stage = Stage::Waiting;
        }
    }

    /// There may be room again: whoever waits for it may try.
    fn give_room(&mut self) {
        for lease in self
            .leases
            .values_mut()
            .filter(|lease| lease.stage == Stage::NoRoom)
        {
            lease.stage = Stage::Waiting;
        }
    }

    fn take(&mut self, lease: LeaseId) -> Option<Lease> {
        self.leases.remove(&self.keys.remove(&lease)?)
    }

    fn forget(&mut self, lease: LeaseId, actions: &mut Vec<Action>) {
        if let Some(taken) = self.take(lease) {
            if matches!(taken.stage, Stage::Preparing | Stage::Ready) {
                actions.push(Action::Forget { lease });
            }
            self.uncrowd();
        }
    }
}

/// Does the task end on the disk and not in the engine?
pub fn is_for_the_disk(task: &Task) -> bool {
    matches!(task, Task::Copy { .. } | Task::Pack { .. })
}

/// Level and shard that a task is sorted by.
fn place_in_line(task: &Task) -> (Level, ShardId) {
    match *task {
        Task::Expand { level, shard } | Task::Smallest { level, shard, .. } => (level, shard),
        Task::Copy { level, shard, .. } => (level, shard),
        Task::Pack { last, shard } => (last, shard),
        Task::Item { item } => (crate::exec::item::LEVEL, item),
        Task::Words { level, .. } => (level, ShardId(u32::MAX)),
    }
}

#[cfg(test)]
mod tests;
