//! Messages of workers to events of the core, and orders of the core to messages.

use antipode_coordinator_core as core;
use antipode_coordinator_core::artifact::{Artifact, ArtifactKind};
use antipode_coordinator_core::state::Coordinator;
use antipode_ids::JobId;
use antipode_proto::message::{self, ArtifactName, FromWorker, Holder, ToWorker};
use antipode_solver_core::engine::ShardId;
use std::time::Duration;

fn artifact(name: ArtifactName) -> Artifact {
    let kind = match name.kind {
        message::ArtifactKind::Frontier => ArtifactKind::Frontier,
        message::ArtifactKind::Visited => ArtifactKind::Visited,
    };
    Artifact {
        level: name.level,
        shard: name.shard.0,
        kind,
    }
}

fn name(job: JobId, artifact: Artifact) -> ArtifactName {
    let kind = match artifact.kind {
        ArtifactKind::Frontier => message::ArtifactKind::Frontier,
        ArtifactKind::Visited => message::ArtifactKind::Visited,
    };
    ArtifactName {
        job,
        level: artifact.level,
        shard: ShardId(artifact.shard),
        kind,
    }
}

fn names(job: JobId, artifacts: Vec<Artifact>) -> Vec<ArtifactName> {
    artifacts.into_iter().map(|a| name(job, a)).collect()
}

fn artifacts(names: Vec<ArtifactName>) -> Vec<(JobId, Artifact)> {
    names.into_iter().map(|n| (n.job, artifact(n))).collect()
}

/// What a worker said.
pub enum Heard {
    Register {
        protocol: u32,
        registration: Box<core::Registration>,
    },
    Report(core::Report),
}

pub fn heard(message: FromWorker, local: bool) -> Heard {
    let report = match message {
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
            pid: _,
            kernel,
            held,
            running,
        } => {
            let held = held.into_iter().map(|held| core::Held {
                job: held.name.job,
                artifact: artifact(held.name),
                digest: held.digest,
                count: held.count,
                durable: held.durable,
            });
            let registration = Box::new(core::Registration {
                worker,
                cluster,
                incarnation,
                name,
                version,
                address,
                threads,
                memory_bytes,
                kernel,
                local,
                held: held.collect(),
                running,
            });
            return Heard::Register {
                protocol,
                registration,
            };
        }
        FromWorker::Heartbeat {
            memory_bytes,
            peak_memory_bytes,
        } => core::Report::Heartbeat {
            memory_bytes,
            peak_memory_bytes,
        },
        FromWorker::Done {
            job,
            task,
            attempt,
            output,
            engine_time,
            fetched_bytes,
        } => {
            let engine_nanos = u64::try_from(engine_time.as_nanos()).unwrap_or(u64::MAX);
            core::Report::Done {
                job,
                task,
                attempt,
                output,
                engine_nanos,
                fetched_bytes,
            }
        }
        FromWorker::Failed {
            job,
            task,
            attempt,
            failure,
        } => {
            let failure = match failure {
                message::Failure::InputMissing {
                    name,
                    tried,
                    reason,
                } => core::Failure::InputMissing {
                    artifact: artifact(name),
                    tried,
                    reason,
                },
                message::Failure::Violated(reason) => core::Failure::Violated(reason),
                message::Failure::Memory { needed, allowed } => {
                    core::Failure::Memory { needed, allowed }
                }
                message::Failure::Other(reason) => core::Failure::Other(reason),
            };
            core::Report::Failed {
                job,
                task,
                attempt,
                failure,
            }
        }
        FromWorker::Durable { names, bytes: _ } => core::Report::Durable {
            artifacts: artifacts(names),
        },
        FromWorker::Lost { names, reason } => core::Report::Lost {
            artifacts: artifacts(names),
            reason,
        },
        FromWorker::Leaving { reason } => core::Report::Leaving { reason },
    };
    Heard::Report(report)
}

/// An order as a message. The core names holders; here they get their addresses.
pub fn message(order: core::Order, state: &Coordinator, cluster: &str) -> ToWorker {
    match order {
        core::Order::Welcome { worker } => ToWorker::Welcome {
            worker,
            cluster: cluster.into(),
            heartbeat: Duration::from_millis(state.config().heartbeat),
            lease: Duration::from_millis(state.config().lease),
        },
        core::Order::Refused { reason } => ToWorker::Refused { reason },
        core::Order::Open { job, definition } => ToWorker::Open { job, definition },
        core::Order::Lease {
            job,
            task,
            attempt,
            inputs,
            consume,
        } => {
            let holder = |worker| {
                let address = state
                    .workers()
                    .get(&worker)
                    .and_then(|w| w.address())
                    .map(Into::into);
                Holder { worker, address }
            };
            let inputs = inputs.into_iter().map(|input| message::Input {
                name: name(job, input.artifact),
                digest: input.digest,
                count: input.count,
                holders: input.holders.into_iter().map(holder).collect(),
            });
            ToWorker::Lease {
                job,
                task,
                attempt,
                inputs: inputs.collect(),
                consume,
            }
        }
        core::Order::Revoke { attempts } => ToWorker::Revoke { attempts },
        core::Order::Release { job, artifacts } => ToWorker::Release {
            names: names(job, artifacts),
        },
        core::Order::Persist { job, artifacts } => ToWorker::Persist {
            names: names(job, artifacts),
        },
        core::Order::Close { job, keep } => ToWorker::Close { job, keep },
    }
}
