//! What a coordinator keeps on disk, so that another start goes on where this one ended.

use crate::dispute::Dispute;
use crate::incident::History;
use crate::plan::bfs::TaskKey;
use crate::trouble::Crashes;
use antipode_ids::{Incarnation, JobId, WorkerId};
use antipode_solver_core::engine::{Certificate, Digest, Level, OnDevice};
use antipode_solver_core::job::JobDefinition;
use antipode_solver_core::puzzle::State;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One change of the store. A record replaces the earlier one of the same name.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    Job {
        job: JobId,
        record: Arc<JobRecord>,
    },
    Progress {
        job: JobId,
        progress: Box<Progress>,
        urgent: bool,
    },
    Result {
        job: JobId,
        level: Level,
        shard: u32,
        result: ExpandResult,
    },
    /// The record of an item of a batch job, a part of its answer.
    Item {
        job: JobId,
        item: u32,
        record: Arc<[u8]>,
    },
    /// Results that were refuted: they never were.
    Refuted {
        job: JobId,
        cells: Vec<(Level, u32)>,
    },
    /// A job has ended and its levels are in its progress: the results of its tasks are not needed.
    Compacted {
        job: JobId,
    },
    /// A job was dropped; its number is never given again.
    Forgotten {
        job: JobId,
    },
    Key {
        key: String,
        job: JobId,
        existing: bool,
    },
    Worker {
        worker: WorkerId,
        record: WorkerRecord,
        urgent: bool,
    },
}

impl Record {
    /// Somebody is promised something on the strength of it. Results are not urgent: what is lost
    /// with them is computed again, or announced again by the worker that holds the artifact.
    pub fn is_urgent(&self) -> bool {
        match self {
            Record::Job { .. }
            | Record::Key { .. }
            | Record::Refuted { .. }
            | Record::Forgotten { .. } => true,
            Record::Progress { urgent, .. } | Record::Worker { urgent, .. } => *urgent,
            Record::Result { .. } | Record::Item { .. } | Record::Compacted { .. } => false,
        }
    }
}

/// The parts of a job that never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    pub definition: Arc<JobDefinition>,
    /// Count and digest of level 0, by shard.
    pub roots: Vec<(u64, Digest)>,
    /// Unix seconds.
    pub submitted_at: u64,
}

/// Where a job stands, except for the results of its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub phase: Phase,
    /// The level of the last complete checkpoint.
    pub checkpoint: Option<Level>,
    pub finished_at: Option<u64>,
    pub run_millis: u64,
    pub engine_nanos: u64,
    pub tasks_done: u64,
    pub resumed: Option<Resumed>,
    /// Workers that finished at least one task of it.
    pub workers: BTreeMap<WorkerId, Participant>,
    /// Workers that were ever given a task of it: after a restart they are waited for.
    pub leased_to: BTreeSet<WorkerId>,
    /// With `Finished`: was the space exhausted?
    pub exhausted: bool,
    /// Farthest states with their words.
    pub antipodes: Vec<(State, Result<Vec<u16>, String>)>,
    /// Ends of workers, by the task that was at work.
    pub crashes: Vec<(TaskKey, Crashes)>,
    /// Answers that differ and wait for another worker's.
    pub disputes: Vec<Dispute>,
    /// Results were taken back: what rests on them may lie around anywhere. So a result counts only where
    /// it answers the present lease.
    pub mistrusts: bool,
    /// Somebody allowed it to begin anew after all that was stored was gone.
    pub begins_anew: bool,
    /// The levels of a job that has ended.
    pub levels: Vec<LevelRecord>,
    /// What was counted beyond them when it ended.
    pub partial: u64,
    /// Packed distances: shard, number of states, digest.
    pub packed: Vec<(u32, u64, Digest)>,
    pub history: History,
}

/// A level of a job that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelRecord {
    pub count: u64,
    pub digest: Digest,
    pub certificate: Certificate,
    pub fetched_bytes: u64,
    /// Bytes that were brought to devices, and how many tasks these computed.
    pub uploaded_bytes: u64,
    pub device_tasks: u64,
}

/// A worker as a job remembers it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant {
    pub name: String,
    pub threads: u32,
    pub kernel: String,
    /// The devices that it had when it finished tasks of the job on a device.
    pub devices: BTreeSet<String>,
    pub peak_memory_bytes: u64,
}

/// Queued -> Running -> Finished; Running <-> Paused, Suspect or Incomplete; anything unfinished -> Failed or
/// Cancelled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    #[default]
    Queued,
    Running,
    Paused,
    /// Workers disagree and nobody could arbitrate.
    Suspect {
        reason: String,
    },
    /// Some tasks cannot be done, or what was stored is gone.
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

impl Phase {
    /// Nothing is done until somebody resumes it.
    pub fn is_resting(&self) -> bool {
        matches!(
            self,
            Phase::Paused | Phase::Suspect { .. } | Phase::Incomplete { .. }
        )
    }

    /// Nothing leaves such a phase.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Phase::Finished | Phase::Failed { .. } | Phase::Cancelled
        )
    }
}

/// How a job was taken up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    pub from_level: Level,
    pub tasks_kept: u64,
    pub tasks_redone: u64,
}

/// The permanent result of one Expand task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpandResult {
    pub count: u64,
    pub digest: Digest,
    pub certificate: Certificate,
    pub fetched_bytes: u64,
    /// `None`: no device computed it.
    pub on_device: Option<OnDevice>,
    /// `None`: no task was needed, all source frontiers are empty.
    pub by: Option<WorkerId>,
}

/// A worker that has been here before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerRecord {
    pub name: String,
    pub incarnation: Incarnation,
    /// It said goodbye: nobody waits for it after a restart.
    pub left: bool,
    /// Ends without a goodbye since it last finished a task.
    pub crashes_in_a_row: u32,
    pub history: History,
}

/// All that a store holds, to start from.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    pub jobs: BTreeMap<JobId, StoredJob>,
    pub keys: BTreeMap<String, (JobId, bool)>,
    pub workers: BTreeMap<WorkerId, WorkerRecord>,
    /// The highest number of a job that was dropped.
    pub forgotten: Option<JobId>,
}

/// One job of a store.
#[derive(Debug, Clone)]
pub struct StoredJob {
    pub record: Arc<JobRecord>,
    pub progress: Progress,
    pub results: Vec<(Level, u32, ExpandResult)>,
    /// The records of the items of a batch job.
    pub items: BTreeMap<u32, Arc<[u8]>>,
}
