//! Everything that can happen to a coordinator: a closed list.

use crate::artifact::Artifact;
use antipode_ids::{Attempt, Cause, Incarnation, JobId, WorkerId};
use antipode_solver_core::engine::{Digest, OnDevice};
use antipode_solver_core::job::{JobDefinition, Task, TaskOutput};
use std::sync::Arc;

/// The time of an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    /// The coordinator's monotonic clock in milliseconds; the only one that decides anything.
    pub millis: u64,
    /// Unix seconds, for users to read.
    pub unix: u64,
}

/// One connection of a worker; the driver numbers them and never reuses a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// One question of a client that waits for a [`crate::Reply`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);

#[derive(Debug, Clone)]
pub enum Event {
    /// Something happened beside the core that users may want to know of.
    Noted {
        what: String,
    },
    /// Time has passed; comes at least once a heartbeat.
    Tick,
    Submit(Box<Submission>),
    Cancel {
        request: RequestId,
        job: JobId,
    },
    Pause {
        request: RequestId,
        job: JobId,
    },
    Resume {
        request: RequestId,
        job: JobId,
        /// Also from the beginning, where all that was stored of it is gone.
        fresh: bool,
    },
    /// Drop a job that has ended.
    Forget {
        request: RequestId,
        job: JobId,
    },
    /// Ask a worker to end.
    Drain {
        request: RequestId,
        worker: WorkerId,
    },
    /// The coordinator's own disk: why nothing more may be stored, or that it may.
    Disk {
        full: Option<String>,
    },
    /// The first message of a connection.
    Register {
        connection: ConnectionId,
        registration: Box<Registration>,
    },
    /// The connection is gone.
    Disconnected {
        connection: ConnectionId,
    },
    /// Any other message of a worker.
    Report {
        connection: ConnectionId,
        report: Report,
    },
}

/// A job to be run, its index built.
#[derive(Debug, Clone)]
pub struct Submission {
    pub request: RequestId,
    /// The same key never makes a second job.
    pub key: String,
    pub fresh: bool,
    pub definition: Arc<JobDefinition>,
    /// Count and digest of level 0, by shard.
    pub roots: Vec<(u64, Digest)>,
}

/// Who a worker is and what it brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    pub worker: Option<WorkerId>,
    pub cluster: Option<String>,
    pub incarnation: Incarnation,
    pub name: String,
    pub version: String,
    pub address: Option<String>,
    pub threads: u32,
    pub memory_bytes: u64,
    pub kernel: String,
    /// Names of the devices that it computes on.
    pub devices: Vec<String>,
    /// It lives in the coordinator's own process, so its silence means nothing.
    pub local: bool,
    pub held: Vec<Held>,
    pub running: Vec<(JobId, Task, Attempt)>,
    /// How its process ended the time before, if not by a goodbye; at the first registration of a start.
    pub ended: Option<Ended>,
}

/// The end of a worker's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub cause: Cause,
    /// Unix seconds.
    pub at: u64,
    /// Tasks that were at work.
    pub running: Vec<(JobId, Task)>,
}

/// How a worker's disk stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskUse {
    pub free_bytes: Option<u64>,
    /// No new tasks.
    pub full: bool,
    /// Bytes stored for each job.
    pub jobs: Vec<(JobId, u64)>,
}

/// An artifact that a worker says it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub job: JobId,
    pub artifact: Artifact,
    pub digest: Digest,
    pub count: u64,
    pub durable: bool,
}

/// What a finished task took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub engine_nanos: u64,
    pub fetched_bytes: u64,
    /// `None`: the processor computed it.
    pub on_device: Option<OnDevice>,
}

/// What a registered worker says.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    Heartbeat {
        memory_bytes: u64,
        peak_memory_bytes: u64,
        disk: DiskUse,
    },
    Done {
        job: JobId,
        task: Task,
        attempt: Attempt,
        output: TaskOutput,
        usage: Usage,
    },
    Failed {
        job: JobId,
        task: Task,
        attempt: Attempt,
        failure: Failure,
    },
    Durable {
        artifacts: Vec<(JobId, Artifact)>,
    },
    Lost {
        artifacts: Vec<(JobId, Artifact)>,
        reason: String,
    },
    /// What it announced may be wrong.
    Retract {
        artifacts: Vec<(JobId, Artifact)>,
        reason: String,
    },
    /// For users who ask about it, or about the job that it was at.
    Note {
        job: Option<JobId>,
        text: String,
    },
    /// It is to end as soon as nothing depends on it.
    Draining {
        reason: String,
    },
    Leaving {
        reason: String,
    },
}

/// Why a task did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    InputMissing {
        artifact: Artifact,
        tried: Vec<WorkerId>,
        reason: String,
    },
    Violated(String),
    Memory {
        needed: u64,
        allowed: u64,
    },
    Other(String),
}
