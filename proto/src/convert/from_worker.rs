//! What workers say.

use super::artifact::{attempt, names, read_names};
use super::{WireError, all, nanos, record, required};
use crate::codec::{self, kind};
use crate::message::{DiskUse, Failure, FromWorker, Usage};
use crate::wire::{self, failed, from_worker::Message};
use antipode_ids::{Attempt, Incarnation, JobId, WorkerId};
use antipode_solver_core::engine::OnDevice;
use antipode_solver_core::job::Task;
use std::time::Duration;

impl From<FromWorker> for wire::FromWorker {
    fn from(message: FromWorker) -> Self {
        let message = match message {
            FromWorker::Register {
                protocol,
                version,
                name,
                worker,
                cluster,
                incarnation,
                address,
                threads,
                memory_bytes,
                pid,
                kernel,
                devices,
                held,
                running,
                ended,
            } => Message::Register(wire::Register {
                protocol,
                version,
                name,
                worker: worker.map(|w| w.0),
                cluster,
                incarnation: incarnation.0,
                address,
                threads,
                memory_bytes,
                pid,
                kernel,
                devices,
                held: held.into_iter().map(Into::into).collect(),
                running: running.into_iter().map(running_task).collect(),
                ended_record: ended.map(|ended| codec::encode(kind::ENDED, &*ended)),
            }),
            FromWorker::Heartbeat {
                memory_bytes,
                peak_memory_bytes,
                disk,
            } => Message::Heartbeat(wire::Heartbeat {
                memory_bytes,
                peak_memory_bytes,
                disk_free_bytes: disk.free_bytes,
                disk_full: disk.full,
                stored: disk
                    .jobs
                    .into_iter()
                    .map(|(job, bytes)| wire::JobBytes { job: job.0, bytes })
                    .collect(),
            }),
            FromWorker::Done {
                job,
                task,
                attempt,
                output,
                usage,
            } => Message::Done(wire::Done {
                job: job.0,
                task_record: codec::encode(kind::TASK, &task),
                attempt: Some(attempt.into()),
                output_record: codec::encode(kind::TASK_OUTPUT, &output),
                engine_time_ns: nanos(usage.engine_time),
                fetched_bytes: usage.fetched_bytes,
                uploaded_bytes: usage.on_device.map(|device| device.uploaded_bytes),
            }),
            FromWorker::Failed {
                job,
                task,
                attempt,
                failure,
            } => Message::Failed(wire::Failed {
                job: job.0,
                task_record: codec::encode(kind::TASK, &task),
                attempt: Some(attempt.into()),
                failure: Some(write_failure(failure)),
            }),
            FromWorker::Durable { names: list, bytes } => Message::Durable(wire::Durable {
                names: names(list),
                bytes,
            }),
            FromWorker::Lost {
                names: list,
                reason,
            } => Message::Lost(wire::Lost {
                names: names(list),
                reason,
            }),
            FromWorker::Retract {
                names: list,
                reason,
            } => Message::Retract(wire::Lost {
                names: names(list),
                reason,
            }),
            FromWorker::Note { job, text } => Message::Note(wire::Note {
                text,
                job: job.map(|job| job.0),
            }),
            FromWorker::Draining { reason } => Message::Draining(wire::Leaving { reason }),
            FromWorker::Leaving { reason } => Message::Leaving(wire::Leaving { reason }),
        };
        wire::FromWorker {
            message: Some(message),
        }
    }
}

impl TryFrom<wire::FromWorker> for FromWorker {
    type Error = WireError;
    fn try_from(message: wire::FromWorker) -> Result<Self, WireError> {
        Ok(match required("FromWorker.message", message.message)? {
            Message::Register(m) => FromWorker::Register {
                protocol: m.protocol,
                version: m.version,
                name: m.name,
                worker: m.worker.map(WorkerId),
                cluster: m.cluster,
                incarnation: Incarnation(m.incarnation),
                address: m.address,
                threads: m.threads,
                memory_bytes: m.memory_bytes,
                pid: m.pid,
                kernel: m.kernel,
                devices: m.devices,
                held: all(m.held)?,
                running: m
                    .running
                    .into_iter()
                    .map(read_running_task)
                    .collect::<Result<_, _>>()?,
                ended: m
                    .ended_record
                    .map(|bytes| record("Register.ended_record", kind::ENDED, &bytes))
                    .transpose()?
                    .map(Box::new),
            },
            Message::Heartbeat(m) => FromWorker::Heartbeat {
                memory_bytes: m.memory_bytes,
                peak_memory_bytes: m.peak_memory_bytes,
                disk: DiskUse {
                    free_bytes: m.disk_free_bytes,
                    full: m.disk_full,
                    jobs: m
                        .stored
                        .into_iter()
                        .map(|j| (JobId(j.job), j.bytes))
                        .collect(),
                },
            },
            Message::Done(m) => FromWorker::Done {
                job: JobId(m.job),
                task: record("Done.task_record", kind::TASK, &m.task_record)?,
                attempt: attempt("Done.attempt", m.attempt)?,
                output: record("Done.output_record", kind::TASK_OUTPUT, &m.output_record)?,
                usage: Usage {
                    engine_time: Duration::from_nanos(m.engine_time_ns),
                    fetched_bytes: m.fetched_bytes,
                    on_device: m
                        .uploaded_bytes
                        .map(|uploaded_bytes| OnDevice { uploaded_bytes }),
                },
            },
            Message::Failed(m) => FromWorker::Failed {
                job: JobId(m.job),
                task: record("Failed.task_record", kind::TASK, &m.task_record)?,
                attempt: attempt("Failed.attempt", m.attempt)?,
                failure: read_failure(required("Failed.failure", m.failure)?)?,
            },
            Message::Durable(m) => FromWorker::Durable {
                names: read_names(m.names)?,
                bytes: m.bytes,
            },
            Message::Lost(m) => FromWorker::Lost {
                names: read_names(m.names)?,
                reason: m.reason,
            },
            Message::Retract(m) => FromWorker::Retract {
                names: read_names(m.names)?,
                reason: m.reason,
            },
            Message::Note(m) => FromWorker::Note {
                job: m.job.map(JobId),
                text: m.text,
            },
            Message::Draining(m) => FromWorker::Draining { reason: m.reason },
            Message::Leaving(m) => FromWorker::Leaving { reason: m.reason },
        })
    }
}

fn running_task((job, task, attempt): (JobId, Task, Attempt)) -> wire::RunningTask {
    wire::RunningTask {
        job: job.0,
        task_record: codec::encode(kind::TASK, &task),
        attempt: Some(attempt.into()),
    }
}

fn read_running_task(running: wire::RunningTask) -> Result<(JobId, Task, Attempt), WireError> {
    Ok((
        JobId(running.job),
        record("RunningTask.task_record", kind::TASK, &running.task_record)?,
        attempt("RunningTask.attempt", running.attempt)?,
    ))
}

fn write_failure(failure: Failure) -> failed::Failure {
    match failure {
        Failure::InputMissing {
            name,
            tried,
            reason,
        } => failed::Failure::InputMissing(wire::InputMissing {
            name: Some(name.into()),
            tried: tried.into_iter().map(|w| w.0).collect(),
            reason,
        }),
        Failure::Violated(reason) => failed::Failure::Violated(reason),
        Failure::Memory { needed, allowed } => {
            failed::Failure::Memory(wire::MemoryShort { needed, allowed })
        }
        Failure::Other(reason) => failed::Failure::Other(reason),
    }
}

fn read_failure(failure: failed::Failure) -> Result<Failure, WireError> {
    Ok(match failure {
        failed::Failure::InputMissing(m) => Failure::InputMissing {
            name: required("InputMissing.name", m.name)?.try_into()?,
            tried: m.tried.into_iter().map(WorkerId).collect(),
            reason: m.reason,
        },
        failed::Failure::Violated(reason) => Failure::Violated(reason),
        failed::Failure::Memory(m) => Failure::Memory {
            needed: m.needed,
            allowed: m.allowed,
        },
        failed::Failure::Other(reason) => Failure::Other(reason),
    })
}
