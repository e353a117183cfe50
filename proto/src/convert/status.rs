//! What users see: jobs, levels, workers.

use super::artifact::{digest, digest_bytes};
use super::{WireError, all, nanos, record, required};
use crate::codec::{self, kind};
use crate::status::{
    Antipode, EngineName, Explanation, Holdings, JobState, JobStatus, LevelStatus, Outlook,
    Resumed, Subject, WorkerStatus,
};
use crate::wire::{self, job_state::State};
use antipode_ids::{JobId, WorkerId};
use antipode_solver_core::engine::Certificate;
use antipode_solver_core::job::JobDefinition;
use antipode_solver_core::space::SpaceDef;
use std::sync::Arc;
use std::time::Duration;

impl From<JobStatus> for wire::JobStatus {
    fn from(status: JobStatus) -> Self {
        let definition = codec::encode(kind::JOB_DEFINITION, &for_users(&status.definition));
        wire::JobStatus {
            definition_record: Some(definition),
            ..without_definition(status)
        }
    }
}

/// The status without the definition, for receivers that have it already.
pub fn without_definition(status: JobStatus) -> wire::JobStatus {
    let antipodes: Vec<_> = status
        .antipodes
        .into_iter()
        .map(|a| (a.state, a.word))
        .collect();
    wire::JobStatus {
        job: status.job.0,
        definition_record: None,
        state: Some(write_state(status.state)),
        levels: status.levels.into_iter().map(write_level).collect(),
        partial: status.partial,
        exhausted: status.exhausted,
        antipodes_record: codec::encode(kind::ANTIPODES, &antipodes),
        items: status.items,
        tasks_done: status.tasks_done,
        tasks_running: status.tasks_running,
        workers: status.workers,
        threads: status.threads,
        resumed: status.resumed.map(|r| wire::Resumed {
            from_level: r.from_level,
            tasks_kept: r.tasks_kept,
            tasks_redone: r.tasks_redone,
        }),
        submitted_at: status.submitted_at,
        finished_at: status.finished_at,
        run_time_ns: nanos(status.run_time),
        engine_time_ns: nanos(status.engine_time),
        peak_memory: status
            .peak_memory
            .into_iter()
            .map(|(worker, bytes)| wire::PeakMemory { worker, bytes })
            .collect(),
        engine: status.engine.map(|e| wire::EngineName {
            kind: e.kind,
            kernel: e.kernel,
            devices: e.devices,
        }),
        stored: status
            .stored
            .into_iter()
            .map(|(worker, bytes)| wire::PeakMemory { worker, bytes })
            .collect(),
    }
}

/// The definition as users need it: the index itself can be large and serves workers only.
fn for_users(definition: &JobDefinition) -> JobDefinition {
    let space = &definition.space;
    JobDefinition {
        spec: definition.spec.clone(),
        space: SpaceDef {
            sources: Vec::new(),
            shard_states: Vec::new(),
            shard_bytes: Vec::new(),
            body: Vec::new(),
            kind: space.kind.clone(),
            shards: space.shards,
            directed: space.directed,
            group_order: space.group_order.clone(),
            states: space.states.clone(),
            states_proof: space.states_proof.clone(),
            layout: space.layout.clone(),
        },
        fingerprint: definition.fingerprint.clone(),
    }
}

/// Reads the statuses of one job, of which only the first carries the definition.
#[derive(Debug, Default)]
pub struct StatusReader {
    definition: Option<Arc<JobDefinition>>,
}

impl StatusReader {
    /// The next status.
    pub fn read(&mut self, status: wire::JobStatus) -> Result<JobStatus, WireError> {
        if let Some(bytes) = &status.definition_record {
            let definition = record("JobStatus.definition_record", kind::JOB_DEFINITION, bytes)?;
            self.definition = Some(Arc::new(definition));
        }
        let definition = required("JobStatus.definition_record", self.definition.clone())?;
        let antipodes: Vec<(_, _)> = record(
            "JobStatus.antipodes_record",
            kind::ANTIPODES,
            &status.antipodes_record,
        )?;
        Ok(JobStatus {
            job: JobId(status.job),
            definition,
            state: read_state(required("JobStatus.state", status.state)?)?,
            levels: status
                .levels
                .into_iter()
                .map(read_level)
                .collect::<Result<_, _>>()?,
            partial: status.partial,
            exhausted: status.exhausted,
            antipodes: antipodes
                .into_iter()
                .map(|(state, word)| Antipode { state, word })
                .collect(),
            items: status.items,
            tasks_done: status.tasks_done,
            tasks_running: status.tasks_running,
            workers: status.workers,
            threads: status.threads,
            resumed: status.resumed.map(|r| Resumed {
                from_level: r.from_level,
                tasks_kept: r.tasks_kept,
                tasks_redone: r.tasks_redone,
            }),
            submitted_at: status.submitted_at,
            finished_at: status.finished_at,
            run_time: Duration::from_nanos(status.run_time_ns),
            engine_time: Duration::from_nanos(status.engine_time_ns),
            peak_memory: status
                .peak_memory
                .into_iter()
                .map(|p| (p.worker, p.bytes))
                .collect(),
            engine: status.engine.map(|e| EngineName {
                kind: e.kind,
                kernel: e.kernel,
                devices: e.devices,
            }),
            stored: status
                .stored
                .into_iter()
                .map(|p| (p.worker, p.bytes))
                .collect(),
        })
    }
}

impl TryFrom<wire::JobStatus> for JobStatus {
    type Error = WireError;
    fn try_from(status: wire::JobStatus) -> Result<Self, WireError> {
        StatusReader::default().read(status)
    }
}

fn write_state(state: JobState) -> wire::JobState {
    let nothing = wire::Nothing {};
    let state = match state {
        JobState::Queued => State::Queued(nothing),
        JobState::Running => State::Running(nothing),
        JobState::Stalled { since, reason } => State::Stalled(wire::Stalled { since, reason }),
        JobState::Paused => State::Paused(nothing),
        JobState::Finished => State::Finished(nothing),
        JobState::Failed { reason, internal } => {
            State::Failed(wire::JobFailed { reason, internal })
        }
        JobState::Cancelled => State::Cancelled(nothing),
        JobState::Suspect { reason } => State::Suspect(wire::Resting { reason }),
        JobState::Incomplete { reason } => State::Incomplete(wire::Resting { reason }),
    };
    wire::JobState { state: Some(state) }
}

fn read_state(state: wire::JobState) -> Result<JobState, WireError> {
    Ok(match required("JobState.state", state.state)? {
        State::Queued(_) => JobState::Queued,
        State::Running(_) => JobState::Running,
        State::Stalled(s) => JobState::Stalled {
            since: s.since,
            reason: s.reason,
        },
        State::Paused(_) => JobState::Paused,
        State::Finished(_) => JobState::Finished,
        State::Failed(f) => JobState::Failed {
            reason: f.reason,
            internal: f.internal,
        },
        State::Cancelled(_) => JobState::Cancelled,
        State::Suspect(s) => JobState::Suspect { reason: s.reason },
        State::Incomplete(s) => JobState::Incomplete { reason: s.reason },
    })
}

fn write_level(level: LevelStatus) -> wire::LevelStatus {
    wire::LevelStatus {
        level: level.level,
        count: level.count,
        digest: digest_bytes(level.digest),
        certified_predecessors: level.certificate.predecessors,
        certified_successors: level.certificate.successors,
        fetched_bytes: level.fetched_bytes,
        uploaded_bytes: level.uploaded_bytes,
        device_tasks: level.device_tasks,
    }
}

fn read_level(level: wire::LevelStatus) -> Result<LevelStatus, WireError> {
    Ok(LevelStatus {
        level: level.level,
        count: level.count,
        digest: digest("LevelStatus.digest", &level.digest)?,
        certificate: Certificate {
            predecessors: level.certified_predecessors,
            successors: level.certified_successors,
        },
        fetched_bytes: level.fetched_bytes,
        uploaded_bytes: level.uploaded_bytes,
        device_tasks: level.device_tasks,
    })
}

impl From<Vec<JobStatus>> for wire::JobList {
    fn from(jobs: Vec<JobStatus>) -> Self {
        wire::JobList {
            jobs: jobs.into_iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<wire::JobList> for Vec<JobStatus> {
    type Error = WireError;
    fn try_from(list: wire::JobList) -> Result<Self, WireError> {
        all(list.jobs)
    }
}

impl From<Vec<WorkerStatus>> for wire::WorkerList {
    fn from(workers: Vec<WorkerStatus>) -> Self {
        let workers = workers
            .into_iter()
            .map(|w| wire::WorkerStatus {
                worker: w.worker.0,
                name: w.name,
                version: w.version,
                address: w.address,
                threads: w.threads,
                memory_bytes: w.memory_bytes,
                connected: w.connected,
                running: w.running,
                tasks_done: w.tasks_done,
                last_seen: w.last_seen,
                condition: w.condition,
                disk_free_bytes: w.disk_free_bytes,
                devices: w.devices,
            })
            .collect();
        wire::WorkerList { workers }
    }
}

impl From<wire::WorkerList> for Vec<WorkerStatus> {
    fn from(list: wire::WorkerList) -> Self {
        list.workers
            .into_iter()
            .map(|w| WorkerStatus {
                worker: WorkerId(w.worker),
                name: w.name,
                version: w.version,
                address: w.address,
                threads: w.threads,
                memory_bytes: w.memory_bytes,
                connected: w.connected,
                running: w.running,
                tasks_done: w.tasks_done,
                last_seen: w.last_seen,
                condition: w.condition,
                disk_free_bytes: w.disk_free_bytes,
                devices: w.devices,
            })
            .collect()
    }
}

impl TryFrom<wire::HoldingsReply> for Holdings {
    type Error = WireError;
    fn try_from(reply: wire::HoldingsReply) -> Result<Self, WireError> {
        let definition: JobDefinition = record(
            "HoldingsReply.definition_record",
            kind::JOB_DEFINITION,
            &reply.definition_record,
        )?;
        Ok(Holdings {
            definition: Arc::new(definition),
            artifacts: all(reply.artifacts)?,
        })
    }
}

impl From<Holdings> for wire::HoldingsReply {
    fn from(holdings: Holdings) -> Self {
        wire::HoldingsReply {
            definition_record: codec::encode(kind::JOB_DEFINITION, &*holdings.definition),
            artifacts: holdings.artifacts.into_iter().map(Into::into).collect(),
        }
    }
}

/// A value that only Rust reads, as a message.
macro_rules! as_record {
    ($type:ty, $kind:expr, $field:literal) => {
        impl From<$type> for wire::Record {
            fn from(value: $type) -> Self {
                wire::Record {
                    record: codec::encode($kind, &value),
                }
            }
        }

        impl TryFrom<wire::Record> for $type {
            type Error = WireError;
            fn try_from(message: wire::Record) -> Result<Self, WireError> {
                record($field, $kind, &message.record)
            }
        }
    };
}

as_record!(Outlook, kind::OUTLOOK, "Outlook");
as_record!(Subject, kind::SUBJECT, "Subject");
as_record!(Explanation, kind::EXPLANATION, "Explanation");
