//! Messages of workers to events of the core, and orders of the core to messages.

use antipode_coordinator_core as core;
use antipode_coordinator_core::artifact::Artifact;
use antipode_coordinator_core::state::Coordinator;
use antipode_ids::JobId;
use antipode_proto::message::{self, ArtifactName, FromWorker, Holder, ToWorker};
use antipode_solver_core::engine::ShardId;
use std::time::Duration;

fn artifact(name: ArtifactName) -> Artifact {
    Artifact {
        level: name.level,
        shard: name.shard.0,
        kind: name.kind,
    }
}

pub fn name(job: JobId, artifact: Artifact) -> ArtifactName {
    ArtifactName {
        job,
        level: artifact.level,
        shard: ShardId(artifact.shard),
        kind: artifact.kind,
    }
}

fn names(job: JobId, artifacts: Vec<Artifact>) -> Vec<ArtifactName> {
    artifacts.into_iter().map(|a| name(job, a)).collect()
}

fn artifacts(names: Vec<ArtifactName>) -> Vec<(JobId, Artifact)> {
    names.into_iter().map(|n| (n.job, artifact(n))).collect()
}

/// An artifact that a worker announces.
pub fn held(held: message::Held) -> core::Held {
    core::Held {
        job: held.name.job,
        artifact: artifact(held.name),
        digest: held.digest,
        count: held.count,
        durable: held.durable,
    }
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
            devices,
            held,
            running,
            ended,
        } => {
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
                devices,
                local,
                held: held.into_iter().map(self::held).collect(),
                running,
                ended: ended.map(|ended| core::Ended {
                    cause: ended.cause,
                    at: ended.at,
                    running: ended.running,
                }),
            });
            return Heard::Register {
                protocol,
                registration,
            };
        }
        FromWorker::Heartbeat {
            memory_bytes,
            peak_memory_bytes,
            disk,
        } => core::Report::Heartbeat {
            memory_bytes,
            peak_memory_bytes,
            disk: core::DiskUse {
                free_bytes: disk.free_bytes,
                full: disk.full,
                jobs: disk.jobs,
            },
        },
        FromWorker::Done {
            job,
            task,
            attempt,
            output,
            usage,
        } => core::Report::Done {
            job,
            task,
            attempt,
            output,
            usage: core::Usage {
                engine_nanos: u64::try_from(usage.engine_time.as_nanos()).unwrap_or(u64::MAX),
                fetched_bytes: usage.fetched_bytes,
                on_device: usage.on_device,
            },
        },
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
        FromWorker::Retract { names, reason } => core::Report::Retract {
            artifacts: artifacts(names),
            reason,
        },
        FromWorker::Note { job, text } => core::Report::Note { job, text },
        FromWorker::Draining { reason } => core::Report::Draining { reason },
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
            let inputs = inputs.into_iter().map(|i| input(job, i, state)).collect();
            ToWorker::Lease {
                job,
                task,
                attempt,
                inputs,
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
        core::Order::Drain => ToWorker::Drain,
        core::Order::Shutdown => ToWorker::Shutdown,
    }
}

/// An artifact and who holds it, with the holders' addresses.
pub fn input(job: JobId, input: core::Input, state: &Coordinator) -> message::Input {
    let holder = |worker| {
        let known = state.workers().get(&worker);
        Holder {
            worker,
            address: known.and_then(|w| w.address()).map(Into::into),
        }
    };
    message::Input {
        name: name(job, input.artifact),
        digest: input.digest,
        count: input.count,
        holders: input.holders.into_iter().map(holder).collect(),
    }
}
