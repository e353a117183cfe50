//! Bytes from disks and networks, any bytes: a value or an error, never a panic, never more memory than
//! the bytes can stand for.

use antipode_proto::client::Submission;
use antipode_proto::codec::{self, Kind, kind};
use antipode_proto::convert::{StatusReader, ToWorkerReader, to_worker_parts};
use antipode_proto::ids::{Attempt, Cause, Incarnation, JobId, WorkerId};
use antipode_proto::message::{
    ArtifactKind, ArtifactName, DiskUse, Ended, FromWorker, Held, ToWorker,
};
use antipode_proto::status::{Explanation, Incident, LevelOutlook, Outlook, Subject, WorkerStatus};
use antipode_proto::wire;
use antipode_solver_core::engine::{Certificate, Digest, ShardId};
use antipode_solver_core::job::{JobDefinition, JobSpec, Task, TaskOutput};
use proptest::prelude::*;
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Flips, cuts or lengthens.
#[derive(Debug, Clone)]
enum Damage {
    Flip(usize, u8),
    Cut(usize),
    Add(Vec<u8>),
    Nothing,
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<usize>(), 0u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        any::<usize>().prop_map(Damage::Cut),
        proptest::collection::vec(any::<u8>(), 1..9).prop_map(Damage::Add),
        Just(Damage::Nothing),
    ]
}

fn damaged(mut bytes: Vec<u8>, damage: &[Damage]) -> Vec<u8> {
    for damage in damage {
        match damage {
            Damage::Flip(at, bit) if !bytes.is_empty() => {
                let at = at % bytes.len();
                bytes[at] ^= 1 << bit;
            }
            Damage::Cut(at) if !bytes.is_empty() => bytes.truncate(at % bytes.len()),
            Damage::Add(more) => bytes.extend(more),
            _ => {}
        }
    }
    bytes
}

/// Whatever is read says the same when it is written and read again.
fn settles<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    kind: Kind,
    bytes: &[u8],
) {
    if let Ok(value) = codec::decode::<T>(kind, bytes) {
        let again = codec::decode::<T>(kind, &codec::encode(kind, &value));
        assert_eq!(again.as_ref(), Ok(&value));
    }
}

fn all_records(bytes: &[u8]) {
    settles::<Task>(kind::TASK, bytes);
    settles::<TaskOutput>(kind::TASK_OUTPUT, bytes);
    settles::<Ended>(kind::ENDED, bytes);
    settles::<Outlook>(kind::OUTLOOK, bytes);
    settles::<Subject>(kind::SUBJECT, bytes);
    settles::<Explanation>(kind::EXPLANATION, bytes);
    settles::<JobSpec>(kind::JOB_SPEC, bytes);
    settles::<JobDefinition>(kind::JOB_DEFINITION, bytes);
}

fn all_messages(bytes: &[u8]) {
    if let Ok(message) = wire::FromWorker::decode(bytes)
        && let Ok(message) = FromWorker::try_from(message)
    {
        let again = FromWorker::try_from(wire::FromWorker::from(message.clone()));
        assert_eq!(again, Ok(message));
    }
    if let Ok(message) = wire::ToWorker::decode(bytes) {
        _ = ToWorkerReader::default().read(message);
    }
    if let Ok(message) = wire::JobStatus::decode(bytes) {
        _ = StatusReader::default().read(message);
    }
    if let Ok(message) = wire::SubmitRequest::decode(bytes) {
        _ = Submission::try_from(message);
    }
    if let Ok(message) = wire::WorkerList::decode(bytes) {
        _ = Vec::<WorkerStatus>::from(message);
    }
    if let Ok(message) = wire::HoldingsReply::decode(bytes) {
        _ = antipode_proto::status::Holdings::try_from(message);
    }
}

fn task() -> Task {
    Task::Copy {
        kind: ArtifactKind::Visited,
        level: 300,
        shard: ShardId(70_000),
    }
}

fn records() -> Vec<Vec<u8>> {
    let ended = Ended {
        cause: Cause::Signal(11),
        at: 1 << 40,
        running: vec![(JobId(1), task())],
    };
    let outlook = Outlook {
        levels: vec![LevelOutlook {
            level: 3,
            kept: 1,
            redone: vec![(2, "gone".into())],
            open: 4,
        }],
        checkpoint: Some(2),
        notes: vec!["a note".into()],
    };
    let explanation = Explanation {
        now: vec!["it waits".into()],
        history: vec![Incident {
            at: 5,
            what: "an end".into(),
        }],
    };
    let output = TaskOutput::Expanded {
        count: 1 << 50,
        digest: Digest(u128::MAX),
        certificate: Certificate {
            predecessors: 1,
            successors: 2,
        },
    };
    let words = Task::Words {
        level: 2,
        states: vec![vec![0u16, 1, 2].into(); 3],
    };
    vec![
        codec::encode(kind::TASK, &task()),
        codec::encode(kind::TASK, &words),
        codec::encode(kind::TASK_OUTPUT, &output),
        codec::encode(kind::ENDED, &ended),
        codec::encode(kind::OUTLOOK, &outlook),
        codec::encode(kind::SUBJECT, &Subject::Worker("w1".into())),
        codec::encode(kind::EXPLANATION, &explanation),
    ]
}

fn messages() -> Vec<Vec<u8>> {
    let attempt = Attempt {
        epoch: 3,
        counter: 1 << 33,
    };
    let name = ArtifactName {
        job: JobId(1),
        level: 2,
        shard: ShardId(3),
        kind: ArtifactKind::Distances,
    };
    let register = FromWorker::Register {
        protocol: 2,
        version: "v".into(),
        name: "n".into(),
        worker: Some(WorkerId(1)),
        cluster: Some("c".into()),
        incarnation: Incarnation(2),
        address: None,
        threads: 2,
        memory_bytes: 3,
        pid: 4,
        kernel: "k".into(),
        devices: vec!["llvmpipe".into()],
        held: vec![Held {
            name,
            digest: Digest(9),
            count: 8,
            durable: true,
        }],
        running: vec![(JobId(1), task(), attempt)],
        ended: Some(Box::new(Ended {
            cause: Cause::OutOfMemory,
            at: 1,
            running: vec![(JobId(1), task())],
        })),
    };
    let heartbeat = FromWorker::Heartbeat {
        memory_bytes: 1,
        peak_memory_bytes: 2,
        disk: DiskUse {
            free_bytes: Some(3),
            full: true,
            jobs: vec![(JobId(1), 9)],
        },
    };
    let lease = ToWorker::Lease {
        job: JobId(1),
        task: task(),
        attempt,
        inputs: Vec::new(),
        consume: true,
    };
    let mut bytes = vec![
        wire::FromWorker::from(register).encode_to_vec(),
        wire::FromWorker::from(heartbeat).encode_to_vec(),
    ];
    bytes.extend(to_worker_parts(lease).iter().map(Message::encode_to_vec));
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        all_records(&bytes);
        // Behind a right header too.
        for tag in [2u16, 1, 3, 4, 6, 7, 8, 9] {
            let header = [codec::FORMAT.to_le_bytes(), tag.to_le_bytes()].concat();
            all_records(&[header, bytes.clone()].concat());
        }
    }

    #[test]
    fn damaged_records_are_records_or_errors(
        at in any::<prop::sample::Index>(),
        damage in proptest::collection::vec(damage(), 1..4),
    ) {
        let all = records();
        all_records(&damaged(all[at.index(all.len())].clone(), &damage));
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        all_messages(&bytes);
    }

    #[test]
    fn damaged_messages_are_messages_or_errors(
        at in any::<prop::sample::Index>(),
        damage in proptest::collection::vec(damage(), 1..4),
    ) {
        let all = messages();
        all_messages(&damaged(all[at.index(all.len())].clone(), &damage));
    }
}
