//! Whatever is sent comes back the same; whatever is not a message is refused by the name of its field.

use antipode_proto::client::{ClientError, Submission};
use antipode_proto::convert::{
    StatusReader, ToWorkerReader, client_error, error_status, to_worker_parts, without_definition,
};
use antipode_proto::data::{
    ArtifactSource, FetchError, Fetcher, LookingUp, NO_STATE, Opening, Payload, data_server,
};
use antipode_proto::ids::{Attempt, Cause, Incarnation, JobId, WorkerId};
use antipode_proto::message::{
    ArtifactKind, ArtifactName, DiskUse, Ended, Failure, FromWorker, Held, Holder, Input, ToWorker,
    Usage,
};
use antipode_proto::status::{
    Antipode, EngineName, JobState, JobStatus, LevelStatus, Resumed, WorkerStatus,
};
use antipode_proto::{codec, wire};
use antipode_solver_core::Perm;
use antipode_solver_core::engine::{Certificate, Digest, OnDevice, ShardId};
use antipode_solver_core::job::{BfsSpec, JobDefinition, JobSpec, Keep, Task, TaskOutput};
use antipode_solver_core::puzzle::{Generator, Metric, Puzzle};
use antipode_solver_core::space::{LayoutOptions, SpaceDef};
use std::sync::Arc;
use std::time::Duration;

fn puzzle() -> Puzzle {
    let turn = Generator {
        name: "L".into(),
        perm: Perm::from_images(&[1u16, 2, 0]).unwrap(),
    };
    Puzzle::new(
        "ring".into(),
        vec![turn],
        vec![],
        Metric::Custom,
        vec!["directed".into()],
    )
    .unwrap()
}

fn spec() -> JobSpec {
    JobSpec::Bfs(BfsSpec {
        puzzle: puzzle(),
        depth: Some(9),
        antipodes: 3,
        keep: Keep::Frontiers,
        layout: LayoutOptions::default(),
    })
}

fn definition(body: Vec<u8>) -> JobDefinition {
    let space = SpaceDef {
        kind: "chain".into(),
        shards: 1,
        sources: vec![vec![0]],
        shard_states: vec![3],
        shard_bytes: vec![8],
        directed: true,
        group_order: "3".into(),
        states: Some("3".into()),
        states_proof: "counted".into(),
        layout: "3".into(),
        body,
    };
    JobDefinition {
        spec: spec(),
        space,
        fingerprint: "f".into(),
    }
}

fn name(level: u32) -> ArtifactName {
    ArtifactName {
        job: JobId(1),
        level,
        shard: ShardId(4),
        kind: ArtifactKind::Visited,
    }
}

fn from_worker() -> Vec<FromWorker> {
    let (job, attempt) = (
        JobId(7),
        Attempt {
            epoch: 2,
            counter: 300,
        },
    );
    let task = Task::Expand {
        level: 3,
        shard: ShardId(4),
    };
    let certificate = Certificate {
        predecessors: 1,
        successors: 2,
    };
    let failures = [
        Failure::InputMissing {
            name: name(2),
            tried: vec![WorkerId(3)],
            reason: "gone".into(),
        },
        Failure::Violated("law".into()),
        Failure::Memory {
            needed: 2,
            allowed: 1,
        },
        Failure::Other("fire".into()),
    ];
    let mut list = vec![
        FromWorker::Register {
            protocol: 1,
            version: "0.1.0".into(),
            name: "host".into(),
            worker: Some(WorkerId(0)),
            cluster: None,
            incarnation: Incarnation(5),
            address: Some("127.0.0.1:1".into()),
            threads: 2,
            memory_bytes: 3,
            pid: 4,
            kernel: "avx2".into(),
            devices: vec!["llvmpipe".into(), "NVIDIA H200".into()],
            held: vec![Held {
                name: name(1),
                digest: Digest(u128::MAX - 1),
                count: 6,
                durable: true,
            }],
            running: vec![(job, task.clone(), attempt)],
            ended: Some(Box::new(Ended {
                cause: Cause::Signal(9),
                at: 7,
                running: vec![(job, task.clone())],
            })),
        },
        FromWorker::Heartbeat {
            memory_bytes: 1,
            peak_memory_bytes: 2,
            disk: DiskUse {
                free_bytes: Some(3),
                full: true,
                jobs: vec![(job, 4)],
            },
        },
        FromWorker::Done {
            job,
            task: task.clone(),
            attempt,
            output: TaskOutput::Expanded {
                count: 6,
                digest: Digest(7),
                certificate,
            },
            usage: Usage {
                engine_time: Duration::from_nanos(1),
                fetched_bytes: 9,
                on_device: Some(OnDevice { uploaded_bytes: 0 }),
            },
        },
        FromWorker::Done {
            job,
            task: task.clone(),
            attempt,
            output: TaskOutput::Copied,
            usage: Usage::default(),
        },
        FromWorker::Note {
            job: None,
            text: "device llvmpipe is not used any more".into(),
        },
        FromWorker::Note {
            job: Some(JobId(7)),
            text: "it was at this job".into(),
        },
        FromWorker::Durable {
            names: vec![name(1), name(2)],
            bytes: 8,
        },
        FromWorker::Lost {
            names: vec![name(1)],
            reason: "disk".into(),
        },
        FromWorker::Retract {
            names: vec![name(2)],
            reason: "a check failed".into(),
        },
        FromWorker::Draining {
            reason: "signal".into(),
        },
        FromWorker::Leaving {
            reason: "drain".into(),
        },
    ];
    list.extend(failures.map(|failure| FromWorker::Failed {
        job,
        task: task.clone(),
        attempt,
        failure,
    }));
    list
}

#[test]
fn what_workers_say_comes_back() {
    for message in from_worker() {
        let wire = wire::FromWorker::from(message.clone());
        assert_eq!(FromWorker::try_from(wire), Ok(message));
    }
}

#[test]
fn what_the_coordinator_says_comes_back_also_in_parts() {
    let holders = vec![
        Holder {
            worker: WorkerId(1),
            address: Some("a:1".into()),
        },
        Holder {
            worker: WorkerId(2),
            address: None,
        },
    ];
    let attempt = Attempt {
        epoch: 1,
        counter: 2,
    };
    let large: Vec<u8> = (0..3_000_000u32).map(|i| i as u8).collect();
    let messages = [
        ToWorker::Welcome {
            worker: WorkerId(1),
            cluster: "c".into(),
            heartbeat: Duration::from_secs(1),
            lease: Duration::from_secs(10),
        },
        ToWorker::Refused {
            reason: "no".into(),
        },
        ToWorker::Open {
            job: JobId(1),
            definition: Arc::new(definition(large)),
        },
        ToWorker::Open {
            job: JobId(2),
            definition: Arc::new(definition(vec![])),
        },
        ToWorker::Lease {
            job: JobId(1),
            task: Task::Words {
                level: 2,
                states: vec![vec![0, 1].into()],
            },
            attempt,
            inputs: vec![Input {
                name: name(1),
                digest: Digest(3),
                count: 4,
                holders,
            }],
            consume: true,
        },
        ToWorker::Revoke {
            attempts: vec![attempt],
        },
        ToWorker::Release {
            names: vec![name(1)],
        },
        ToWorker::Persist {
            names: vec![name(2)],
        },
        ToWorker::Close {
            job: JobId(1),
            keep: true,
        },
        ToWorker::Drain,
        ToWorker::Shutdown,
    ];
    let mut reader = ToWorkerReader::default();
    let mut wire_messages = 0;
    for message in messages {
        let mut whole = None;
        for part in to_worker_parts(message.clone()) {
            assert_eq!(whole, None, "complete before its last part");
            whole = reader.read(part).unwrap();
            wire_messages += 1;
        }
        assert_eq!(whole, Some(message));
    }
    assert!(wire_messages > 11, "the large definition travels in parts");
}

#[test]
fn a_bad_field_is_named() {
    let wire = wire::FromWorker::from(from_worker().swap_remove(0));
    let Some(wire::from_worker::Message::Register(mut register)) = wire.message else {
        panic!()
    };
    register.held[0].digest.pop();
    let wire = wire::FromWorker {
        message: Some(wire::from_worker::Message::Register(register)),
    };
    assert_eq!(FromWorker::try_from(wire).unwrap_err().field, "Held.digest");

    assert_eq!(
        FromWorker::try_from(wire::FromWorker { message: None })
            .unwrap_err()
            .field,
        "FromWorker.message"
    );
    let kindless = wire::ArtifactRef {
        job: 1,
        level: 1,
        shard: 1,
        kind: 77,
    };
    assert_eq!(
        ArtifactName::try_from(kindless).unwrap_err().field,
        "ArtifactRef.kind"
    );
}

#[test]
fn a_submission_comes_back_and_a_puzzle_is_checked_again() {
    let submission = Submission {
        key: "k".into(),
        spec: spec(),
        fresh: true,
    };
    let wire = wire::SubmitRequest::from(submission.clone());
    assert_eq!(Submission::try_from(wire.clone()), Ok(submission));

    // The same fields with two generators of one name, as a hostile program could write them.
    #[derive(serde::Serialize)]
    struct RawPuzzle(
        String,
        usize,
        Vec<Generator>,
        Vec<Vec<u16>>,
        Metric,
        Vec<String>,
    );
    let twice = Generator {
        name: "L".into(),
        perm: Perm::identity(3),
    };
    let raw = RawPuzzle(
        "p".into(),
        3,
        vec![twice.clone(), twice],
        vec![],
        Metric::Custom,
        vec![],
    );
    let record = codec::encode(
        codec::kind::JOB_SPEC,
        &(
            0u32, // a breadth-first search
            raw,
            None::<u32>,
            3u32,
            Keep::Result,
            LayoutOptions::default(),
        ),
    );
    let refused = Submission::try_from(wire::SubmitRequest {
        spec_record: record,
        ..wire
    })
    .unwrap_err();
    assert!(
        refused.to_string().contains("two generators are called L"),
        "{refused}"
    );
}

#[test]
fn a_list_of_workers_comes_back() {
    let worker = |number: u64, devices: &[&str]| WorkerStatus {
        worker: WorkerId(number),
        name: "host".into(),
        version: "0.1.0".into(),
        address: Some("127.0.0.1:1".into()),
        threads: 2,
        memory_bytes: 3,
        connected: true,
        running: vec!["1/2/3".into()],
        tasks_done: 4,
        last_seen: 5,
        condition: "disk full".into(),
        disk_free_bytes: Some(6),
        devices: devices.iter().map(ToString::to_string).collect(),
    };
    let workers = vec![worker(1, &[]), worker(2, &["NVIDIA H200", "llvmpipe"])];
    let sent = wire::WorkerList::from(workers.clone());
    assert_eq!(Vec::<WorkerStatus>::from(sent), workers);
}

#[test]
fn a_status_comes_back_and_its_definition_travels_once() {
    let mut status = JobStatus {
        job: JobId(1),
        definition: Arc::new(definition(vec![1, 2, 3])),
        state: JobState::Stalled {
            since: 5,
            reason: "no worker".into(),
        },
        items: vec![vec![1, 2], vec![3]],
        levels: vec![LevelStatus {
            level: 0,
            count: 1,
            digest: Digest(9),
            certificate: Certificate {
                predecessors: 1,
                successors: 2,
            },
            fetched_bytes: 3,
            uploaded_bytes: 4,
            device_tasks: 5,
        }],
        partial: 4,
        exhausted: false,
        antipodes: vec![
            Antipode {
                state: vec![2, 1, 0].into(),
                word: Ok(vec![0, 0]),
            },
            Antipode {
                state: vec![2, 0, 1].into(),
                word: Err("memory".into()),
            },
        ],
        tasks_done: 6,
        tasks_running: 7,
        workers: 8,
        threads: 9,
        resumed: Some(Resumed {
            from_level: 1,
            tasks_kept: 2,
            tasks_redone: 3,
        }),
        submitted_at: 10,
        finished_at: Some(11),
        run_time: Duration::from_millis(12),
        engine_time: Duration::from_millis(13),
        peak_memory: vec![("w".into(), 14)],
        engine: Some(EngineName {
            kind: "chain".into(),
            kernel: "avx2".into(),
            devices: vec!["llvmpipe".into()],
        }),
        stored: vec![("host".into(), 11)],
    };
    let mut reader = StatusReader::default();
    let first = reader.read(status.clone().into()).unwrap();
    let sent = status.definition.clone();
    assert!(
        first.definition.space.body.is_empty(),
        "the index is for workers"
    );
    assert_eq!(first.definition.spec, sent.spec);
    status.definition = first.definition.clone();
    assert_eq!(first, status);

    status.partial = 99;
    assert_eq!(
        reader.read(without_definition(status.clone())).unwrap(),
        status
    );
    let unknown = StatusReader::default()
        .read(without_definition(status))
        .unwrap_err();
    assert_eq!(unknown.field, "JobStatus.definition_record");
}

#[test]
fn errors_keep_their_meaning_as_grpc_codes() {
    let errors = [
        ClientError::Invalid("too large".into()),
        ClientError::NoSuchJob(JobId(12)),
        ClientError::Internal("disk".into()),
        ClientError::Unreachable {
            address: "a:1".into(),
            tried: Duration::from_secs(3),
        },
    ];
    for error in errors {
        assert_eq!(
            client_error(error_status(&error), "a:1", Duration::from_secs(3)),
            error
        );
    }
}

struct OneArtifact(Payload);

impl ArtifactSource for OneArtifact {
    fn open(&self, name: ArtifactName, digest: Digest, _near: bool) -> Opening {
        let payload = self.0.clone();
        Box::pin(async move {
            if name.level == 1 && digest == payload.digest {
                Ok(payload)
            } else {
                Err("never had it".into())
            }
        })
    }

    fn look_up(&self, name: ArtifactName, digest: Digest, positions: Vec<u32>) -> LookingUp {
        let known = digest == self.0.digest;
        Box::pin(async move {
            match name.level {
                1 if known => Ok(positions
                    .iter()
                    .map(|&p| {
                        if p == u32::MAX {
                            NO_STATE
                        } else {
                            (p % 3) as u8
                        }
                    })
                    .collect()),
                2 => Ok(vec![9; positions.len()]),
                3 => Ok(vec![]),
                _ => Err("never had it".into()),
            }
        })
    }
}

#[tokio::test]
async fn distances_are_looked_up_in_order_and_what_cannot_be_is_refused() {
    let payload = Payload {
        digest: Digest(5),
        count: 0,
        encoding: String::new(),
        bytes: vec![].into(),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
    let server = tonic::transport::Server::builder()
        .add_service(data_server(Arc::new(OneArtifact(payload))))
        .serve_with_incoming(incoming);
    tokio::spawn(server);
    let name = |level| ArtifactName {
        job: JobId(1),
        level,
        shard: ShardId(0),
        kind: ArtifactKind::Distances,
    };
    let fetcher = Fetcher::default();
    let digest = Digest(5);
    let ask = |level, digest, positions: Vec<u32>| {
        let (fetcher, address) = (fetcher.clone(), address.clone());
        async move {
            fetcher
                .look_up(&address, name(level), digest, &positions)
                .await
        }
    };
    assert_eq!(ask(1, digest, vec![]).await, Ok(vec![]));
    let some = ask(1, digest, vec![5, u32::MAX, 3]).await;
    assert_eq!(some, Ok(vec![2, NO_STATE, 0]));
    let many: Vec<u32> = (0..antipode_proto::data::MAX_POSITIONS as u32).collect();
    let values = ask(1, digest, many.clone()).await.unwrap();
    assert!(
        values
            .iter()
            .zip(&many)
            .all(|(v, p)| u32::from(*v) == p % 3)
    );
    let too_many = (0..=antipode_proto::data::MAX_POSITIONS as u32).collect();
    assert!(ask(1, digest, too_many).await.is_err());
    for (level, digest) in [(1, Digest(6)), (4, digest)] {
        let refused = ask(level, digest, vec![1]).await;
        assert!(
            matches!(refused, Err(FetchError::NotHeld { .. })),
            "{refused:?}"
        );
    }
    for level in [2, 3] {
        let refused = ask(level, digest, vec![1]).await;
        assert!(
            matches!(refused, Err(FetchError::Damaged { .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn an_artifact_crosses_in_chunks_and_is_checked() {
    let bytes: Vec<u8> = (0..2_500_000u32).map(|i| (i * i) as u8).collect();
    let payload = Payload {
        digest: Digest(5),
        count: 77,
        encoding: "plain".into(),
        bytes: bytes.into(),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
    let server = tonic::transport::Server::builder()
        .add_service(data_server(Arc::new(OneArtifact(payload.clone()))))
        .serve_with_incoming(incoming);
    tokio::spawn(server);

    let fetcher = Fetcher::default();
    let fetched = fetcher.fetch(&address, name(1), Digest(5), 1 << 30).await;
    assert_eq!(fetched, Ok(payload));
    let missing = fetcher.fetch(&address, name(2), Digest(5), 1 << 30).await;
    assert!(
        matches!(missing, Err(FetchError::NotHeld { .. })),
        "{missing:?}"
    );
    let too_large = fetcher.fetch(&address, name(1), Digest(5), 1000).await;
    assert!(
        matches!(too_large, Err(FetchError::Damaged { .. })),
        "{too_large:?}"
    );
    let nobody = fetcher.fetch("127.0.0.1:1", name(1), Digest(5), 1000).await;
    assert!(
        matches!(nobody, Err(FetchError::Unreachable { .. })),
        "{nobody:?}"
    );
}
