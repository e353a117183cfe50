//! What a user can see of a cluster: jobs, their levels so far, workers.

use crate::message::Input;
use antipode_ids::{JobId, WorkerId};
use antipode_solver_core::engine::{Certificate, Digest, Level};
use antipode_solver_core::job::JobDefinition;
use antipode_solver_core::puzzle::State;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Where a job stands. Nothing leaves `Finished`, `Failed` or `Cancelled`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    Queued,
    Running,
    /// No worker can go on; since when (unix seconds) and why.
    Stalled {
        since: u64,
        reason: String,
    },
    /// Stopped on request, resumable.
    Paused,
    /// Workers disagree and nobody could arbitrate; resumable.
    Suspect {
        reason: String,
    },
    /// Some tasks could not be done, or something that was stored is gone; the rest is done. Resumable.
    Incomplete {
        reason: String,
    },
    Finished,
    Failed {
        reason: String,
        internal: bool,
    },
    Cancelled,
}

impl JobState {
    /// Will it stay so unless somebody asks for more?
    pub fn is_at_rest(&self) -> bool {
        match self {
            JobState::Queued | JobState::Running | JobState::Stalled { .. } => false,
            JobState::Paused
            | JobState::Suspect { .. }
            | JobState::Incomplete { .. }
            | JobState::Finished
            | JobState::Failed { .. }
            | JobState::Cancelled => true,
        }
    }
}

/// A level of which all shards are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelStatus {
    pub level: Level,
    pub count: u64,
    pub digest: Digest,
    pub certificate: Certificate,
    /// Bytes that workers fetched from each other for it.
    pub fetched_bytes: u64,
    /// Bytes that were brought to devices for it.
    pub uploaded_bytes: u64,
    /// How many of its tasks devices computed.
    pub device_tasks: u64,
}

/// An example of a farthest state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Antipode {
    pub state: State,
    /// Generator numbers, or why there is no word.
    pub word: Result<Vec<u16>, String>,
}

/// All that is known about a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobStatus {
    pub job: JobId,
    pub definition: Arc<JobDefinition>,
    pub state: JobState,
    /// Complete levels from 0 on, without gaps.
    pub levels: Vec<LevelStatus>,
    /// States counted in shards of levels that are not complete yet.
    pub partial: u64,
    /// The space was exhausted (only with `Finished`).
    pub exhausted: bool,
    pub antipodes: Vec<Antipode>,
    /// Of a finished batch job whose items have records: these, by item.
    pub items: Vec<Vec<u8>>,
    pub tasks_done: u64,
    pub tasks_running: u64,
    /// Workers that finished at least one task of it, and the sum of their threads.
    pub workers: u32,
    pub threads: u32,
    /// From which level it was resumed last, tasks kept, tasks redone.
    pub resumed: Option<Resumed>,
    /// Unix seconds.
    pub submitted_at: u64,
    pub finished_at: Option<u64>,
    /// Summed over coordinator restarts.
    pub run_time: Duration,
    pub engine_time: Duration,
    /// Peak memory of each process that worked on it, by worker name.
    pub peak_memory: Vec<(String, u64)>,
    pub engine: Option<EngineName>,
    /// Bytes of its artifacts on disks, by worker name.
    pub stored: Vec<(String, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resumed {
    pub from_level: Level,
    pub tasks_kept: u64,
    pub tasks_redone: u64,
}

/// Block kind, kernel and devices, as workers report them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineName {
    pub kind: String,
    pub kernel: String,
    /// The devices of the workers that computed at least one task of the job on a device; sorted, each once.
    pub devices: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerStatus {
    pub worker: WorkerId,
    pub name: String,
    pub version: String,
    pub address: Option<String>,
    pub threads: u32,
    pub memory_bytes: u64,
    pub connected: bool,
    pub running: Vec<String>,
    pub tasks_done: u64,
    pub last_seen: u64,
    /// What keeps it from getting tasks, in words: `disk full`, `draining`, ...; empty: nothing does.
    pub condition: String,
    pub disk_free_bytes: Option<u64>,
    /// Names of the devices that it computes on.
    pub devices: Vec<String>,
}

/// What going on with a job would keep and what it would compute again, if it were resumed now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlook {
    /// Levels with a result, ascending.
    pub levels: Vec<LevelOutlook>,
    /// The level of the last complete checkpoint.
    pub checkpoint: Option<Level>,
    /// What is to be known besides, e.g. which workers did not announce themselves yet.
    pub notes: Vec<String>,
}

/// One level of an [`Outlook`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelOutlook {
    pub level: Level,
    /// Shards whose result stands and needs no work.
    pub kept: u32,
    /// Shards that are computed again, and why.
    pub redone: Vec<(u32, String)>,
    /// Shards that were never computed.
    pub open: u32,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subject {
    Job(u64),
    Task {
        job: u64,
        level: Level,
        shard: u32,
    },
    /// By name or number.
    Worker(String),
}

/// Why something is as it is: the present first, then what happened, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    pub now: Vec<String>,
    pub history: Vec<Incident>,
}

/// Something that happened to a job or a worker and that users may want to know later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Unix seconds.
    pub at: u64,
    pub what: String,
}

/// Where the artifacts of a job are, and what is needed to read them.
#[derive(Debug, Clone, PartialEq)]
pub struct Holdings {
    /// With the index.
    pub definition: Arc<JobDefinition>,
    pub artifacts: Vec<Input>,
}
