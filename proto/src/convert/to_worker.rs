//! What the coordinator says to workers. One message, the definition of a job, can be larger than
//! a wire message may be: it travels in parts.

use super::artifact::{attempt, names, read_names};
use super::{WireError, all, nanos, record, required};
use crate::codec::{self, kind};
use crate::message::ToWorker;
use crate::wire::{self, to_worker::Message};
use antipode_ids::{JobId, WorkerId};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a definition in one wire message.
const PIECE_BYTES: usize = 1 << 20;

/// The message as one wire message, or several for a job's definition.
pub fn to_worker_parts(message: ToWorker) -> Vec<wire::ToWorker> {
    let message = match message {
        ToWorker::Welcome {
            worker,
            cluster,
            heartbeat,
            lease,
        } => Message::Welcome(wire::Welcome {
            worker: worker.0,
            cluster,
            heartbeat_ns: nanos(heartbeat),
            lease_ns: nanos(lease),
        }),
        ToWorker::Refused { reason } => Message::Refused(wire::Refused { reason }),
        ToWorker::Open { job, definition } => {
            let bytes = codec::encode(kind::JOB_DEFINITION, &*definition);
            let total = bytes.len() as u64;
            return bytes
                .chunks(PIECE_BYTES)
                .map(|piece| {
                    let part = wire::OpenPart {
                        job: job.0,
                        total,
                        piece: piece.to_vec(),
                    };
                    wire::ToWorker {
                        message: Some(Message::Open(part)),
                    }
                })
                .collect();
        }
        ToWorker::Lease {
            job,
            task,
            attempt,
            inputs,
            consume,
        } => Message::Lease(wire::Lease {
            job: job.0,
            task_record: codec::encode(kind::TASK, &task),
            attempt: Some(attempt.into()),
            inputs: inputs.into_iter().map(Into::into).collect(),
            consume,
        }),
        ToWorker::Revoke { attempts } => Message::Revoke(wire::Revoke {
            attempts: attempts.into_iter().map(Into::into).collect(),
        }),
        ToWorker::Release { names: list } => Message::Release(wire::Names { names: names(list) }),
        ToWorker::Persist { names: list } => Message::Persist(wire::Names { names: names(list) }),
        ToWorker::Close { job, keep } => Message::Close(wire::Close { job: job.0, keep }),
        ToWorker::Drain => Message::Drain(wire::Nothing {}),
        ToWorker::Shutdown => Message::Shutdown(wire::Nothing {}),
    };
    vec![wire::ToWorker {
        message: Some(message),
    }]
}

/// Puts the coordinator's messages together again.
#[derive(Debug, Default)]
pub struct ToWorkerReader {
    definition: Vec<u8>,
}

impl ToWorkerReader {
    /// The next message, or `None` where more parts must come first.
    pub fn read(&mut self, message: wire::ToWorker) -> Result<Option<ToWorker>, WireError> {
        Ok(Some(match required("ToWorker.message", message.message)? {
            Message::Welcome(m) => ToWorker::Welcome {
                worker: WorkerId(m.worker),
                cluster: m.cluster,
                heartbeat: Duration::from_nanos(m.heartbeat_ns),
                lease: Duration::from_nanos(m.lease_ns),
            },
            Message::Refused(m) => ToWorker::Refused { reason: m.reason },
            Message::Open(m) => {
                self.definition.extend_from_slice(&m.piece);
                let so_far = self.definition.len() as u64;
                if so_far < m.total && !m.piece.is_empty() {
                    return Ok(None);
                }
                if so_far != m.total || m.total > codec::MAX_RECORD_BYTES as u64 {
                    let problem = format!("{so_far} bytes came, {} were announced", m.total);
                    return Err(WireError::new("OpenPart.total", problem));
                }
                let bytes = std::mem::take(&mut self.definition);
                ToWorker::Open {
                    job: JobId(m.job),
                    definition: Arc::new(record("OpenPart.piece", kind::JOB_DEFINITION, &bytes)?),
                }
            }
            Message::Lease(m) => ToWorker::Lease {
                job: JobId(m.job),
                task: record("Lease.task_record", kind::TASK, &m.task_record)?,
                attempt: attempt("Lease.attempt", m.attempt)?,
                inputs: all(m.inputs)?,
                consume: m.consume,
            },
            Message::Revoke(m) => ToWorker::Revoke {
                attempts: m
                    .attempts
                    .into_iter()
                    .map(|a| attempt("Revoke.attempts", Some(a)))
                    .collect::<Result<_, _>>()?,
            },
            Message::Release(m) => ToWorker::Release {
                names: read_names(m.names)?,
            },
            Message::Persist(m) => ToWorker::Persist {
                names: read_names(m.names)?,
            },
            Message::Close(m) => ToWorker::Close {
                job: JobId(m.job),
                keep: m.keep,
            },
            Message::Drain(_) => ToWorker::Drain,
            Message::Shutdown(_) => ToWorker::Shutdown,
        }))
    }
}
