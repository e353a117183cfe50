//! Everything a coordinator can want done: a closed list. The executor decides nothing.

use crate::artifact::Artifact;
use crate::event::{ConnectionId, RequestId};
use crate::record::Record;
use antipode_ids::{Attempt, JobId, WorkerId};
use antipode_solver_core::engine::{Digest, Level};
use antipode_solver_core::job::{JobDefinition, Task};
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// To the store. An urgent record ([`Record::is_urgent`]) must be durable before any later effect.
    Persist(Record),
    /// To a worker.
    Send {
        connection: ConnectionId,
        order: Order,
    },
    /// End this connection after what was sent.
    HangUp { connection: ConnectionId },
    /// To a waiting client.
    Reply { request: RequestId, reply: Reply },
    /// To those who watch the job.
    Changed { job: JobId, change: Change },
}

/// What a worker is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    Welcome {
        worker: WorkerId,
    },
    Refused {
        reason: String,
    },
    Open {
        job: JobId,
        definition: Arc<JobDefinition>,
    },
    Lease {
        job: JobId,
        task: Task,
        attempt: Attempt,
        inputs: Vec<Input>,
        consume: bool,
    },
    Revoke {
        attempts: Vec<Attempt>,
    },
    Release {
        job: JobId,
        artifacts: Vec<Artifact>,
    },
    Persist {
        job: JobId,
        artifacts: Vec<Artifact>,
    },
    Close {
        job: JobId,
        keep: bool,
    },
    Drain,
    Shutdown,
}

/// An input of a leased task; level 0 is never listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    pub artifact: Artifact,
    pub digest: Digest,
    pub count: u64,
    pub holders: Vec<WorkerId>,
}

/// Answer to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Submitted {
        job: JobId,
        existing: bool,
    },
    /// The request is fulfilled; the driver answers with the job's status.
    Done {
        job: JobId,
    },
    NoSuchJob {
        job: JobId,
    },
    /// The request makes no sense in the job's state.
    Invalid {
        reason: String,
    },
    /// Not at present.
    NotNow {
        reason: String,
    },
    NoSuchWorker {
        worker: WorkerId,
    },
    /// A worker was told.
    Told,
}

/// How much a watcher wants to hear of it at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Some more tasks are done.
    Progress,
    /// A level is complete.
    Level(Level),
    /// The job's state is another.
    State,
}
