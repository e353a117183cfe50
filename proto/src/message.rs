//! What coordinator and worker say to each other. In one process these values travel over
//! channels; between processes they are converted to the wire form and back.

use antipode_ids::{Attempt, Cause, Incarnation, JobId, WorkerId};
use antipode_solver_core::engine::{Digest, Level, OnDevice, ShardId};
pub use antipode_solver_core::job::ArtifactKind;
use antipode_solver_core::job::{JobDefinition, Task, TaskOutput};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// A named output of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactName {
    pub job: JobId,
    pub level: Level,
    pub shard: ShardId,
    pub kind: ArtifactKind,
}

/// An input of a leased task: its name, the digest it must have, and who holds it. A holder may be
/// the worker itself. Level 0 is never listed: every worker makes it from the definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    pub name: ArtifactName,
    pub digest: Digest,
    /// Number of states; with 0 nobody needs to hold it.
    pub count: u64,
    pub holders: Vec<Holder>,
}

/// A worker that holds an artifact, and where it serves it (`None`: it serves nobody, only itself).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub worker: WorkerId,
    pub address: Option<String>,
}

/// An artifact that a worker has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub name: ArtifactName,
    pub digest: Digest,
    pub count: u64,
    /// On disk, not only in memory.
    pub durable: bool,
}

/// How the worker's process ended the time before, where it did not say goodbye.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub cause: Cause,
    /// Unix seconds, as far as known.
    pub at: u64,
    /// Tasks that were at work (being prepared or computed) when it ended.
    pub running: Vec<(JobId, Task)>,
}

/// How a worker's disk stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUse {
    /// `None`: unknown.
    pub free_bytes: Option<u64>,
    /// Free room is below the watermark, or the last write found none: no new tasks, please.
    pub full: bool,
    /// Bytes of each job's stored artifacts.
    pub jobs: Vec<(JobId, u64)>,
}

/// What a finished task took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time in the engine.
    pub engine_time: Duration,
    /// Bytes fetched from other workers for it.
    pub fetched_bytes: u64,
    /// `None`: the processor computed it.
    pub on_device: Option<OnDevice>,
}

/// From a worker to the coordinator.
#[derive(Debug, Clone, PartialEq)]
pub enum FromWorker {
    /// First message of a connection. `worker` and `cluster` are `None` at the very first start.
    Register {
        protocol: u32,
        version: String,
        name: String,
        worker: Option<WorkerId>,
        cluster: Option<String>,
        incarnation: Incarnation,
        address: Option<String>,
        threads: u32,
        memory_bytes: u64,
        pid: u32,
        /// The leaf kernel it uses: `portable`, `avx2` or `avx512`.
        kernel: String,
        /// Names of the devices (graphics processors) that it computes on; empty: none.
        devices: Vec<String>,
        /// What it holds of any job, so that nothing is recomputed.
        held: Vec<Held>,
        /// Tasks that it is still computing or holds leased.
        running: Vec<(JobId, Task, Attempt)>,
        /// Said at the first registration of a start only.
        ended: Option<Box<Ended>>,
    },
    Heartbeat {
        /// Memory of the process now, and its peak, in bytes.
        memory_bytes: u64,
        peak_memory_bytes: u64,
        disk: DiskUse,
    },
    /// A leased task is finished; its artifacts are available at this worker.
    Done {
        job: JobId,
        task: Task,
        attempt: Attempt,
        output: TaskOutput,
        usage: Usage,
    },
    /// A leased task did not work.
    Failed {
        job: JobId,
        task: Task,
        attempt: Attempt,
        failure: Failure,
    },
    /// Artifacts are on disk now.
    Durable {
        names: Vec<ArtifactName>,
        bytes: u64,
    },
    /// Artifacts are gone (dropped after a fault, damaged, evicted).
    Lost {
        names: Vec<ArtifactName>,
        reason: String,
    },
    /// What was announced before may be wrong (a device failed a check): make it again elsewhere.
    Retract {
        names: Vec<ArtifactName>,
        reason: String,
    },
    /// Something that users who ask about this worker, or about the job that it was at, may want to know: a device
    /// that it gave up, say.
    Note { job: Option<JobId>, text: String },
    /// The worker is to end: no new leases, please; what only it holds is to be brought elsewhere or to
    /// disk. Answered by `Shutdown`.
    Draining { reason: String },
    /// The worker is going; its leases are free.
    Leaving { reason: String },
}

/// Why a task did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// An input could be had from none of its holders.
    InputMissing {
        name: ArtifactName,
        tried: Vec<WorkerId>,
        reason: String,
    },
    /// A law or a certificate is violated: the job stops, exit code 70.
    Violated(String),
    /// More memory than this worker has.
    Memory { needed: u64, allowed: u64 },
    /// Anything else; another worker may do better.
    Other(String),
}

/// From the coordinator to a worker.
#[derive(Debug, Clone, PartialEq)]
pub enum ToWorker {
    /// Answer to `Register`.
    Welcome {
        worker: WorkerId,
        cluster: String,
        /// Send a heartbeat this often.
        heartbeat: Duration,
        /// Without any word for this long the worker counts as lost.
        lease: Duration,
    },
    /// Answer to `Register`: the worker must end, with this sentence.
    Refused { reason: String },
    /// Comes once a connection before the first lease of a job.
    Open {
        job: JobId,
        definition: Arc<JobDefinition>,
    },
    /// Compute this when all inputs can be had. Inputs not listed are at level 0.
    /// `consume`: nobody else needs the shard's own frontier(level-2) (directed: visited(level-1))
    /// any more, its buffer may be used for the result; it then counts as gone.
    Lease {
        job: JobId,
        task: Task,
        attempt: Attempt,
        inputs: Vec<Input>,
        consume: bool,
    },
    /// Forget these leases if not yet started.
    Revoke { attempts: Vec<Attempt> },
    /// These artifacts are not needed any more (a durable one may be deleted too).
    Release { names: Vec<ArtifactName> },
    /// Bring these artifacts to disk and answer `Durable`.
    Persist { names: Vec<ArtifactName> },
    /// Nothing more of this job will be asked; `keep` names artifacts that stay on disk.
    Close { job: JobId, keep: bool },
    /// Begin to drain, as if asked by a signal.
    Drain,
    /// Nothing more is needed of this worker: end now, cleanly.
    Shutdown,
}
