//! What the coordinator costs: CPU time of the state machine for each task, bytes of its store for a
//! million results, and the time of a restart with 50,000 of them. Run with
//! `cargo bench -p antipode-coordinator --bench coordinator`.

use antipode_coordinator::{Config as DriverConfig, Coordinator as Driver, store_for_benches};
use antipode_coordinator_core::record::{ExpandResult, JobRecord, Phase, Record, Stored};
use antipode_coordinator_core::{
    Config, ConnectionId, Coordinator, Effect, Event, Now, Order, Registration, Report, RequestId,
    Submission, Usage,
};
use antipode_ids::{Attempt, Incarnation, JobId, WorkerId};
use antipode_proto::client::Client;
use antipode_solver_core::Perm;
use antipode_solver_core::engine::{Certificate, Digest};
use antipode_solver_core::job::{BfsSpec, JobDefinition, Keep, Task, TaskOutput};
use antipode_solver_core::puzzle::{Generator, Metric, Puzzle};
use antipode_solver_core::space::{LayoutOptions, SpaceDef};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

const LEVELS: u32 = 50;

/// A job of this many shards with ten sources each and 50 levels.
fn job(shards: u32) -> JobRecord {
    let generator = Generator {
        name: "x".into(),
        perm: Perm::from_images(&[1u16, 0]).expect("a permutation"),
    };
    let puzzle = Puzzle::new(
        "bench".into(),
        vec![generator],
        vec![],
        Metric::Custom,
        vec![],
    );
    let sources = (0..shards).map(|s| {
        let mut list: Vec<u32> = (0..10).map(|k| (s * 7 + k * 31) % shards).collect();
        list.sort_unstable();
        list.dedup();
        list
    });
    let space = SpaceDef {
        kind: "chain".into(),
        shards,
        sources: sources.collect(),
        shard_states: vec![1 << 20; shards as usize],
        shard_bytes: vec![1 << 17; shards as usize],
        directed: false,
        group_order: "1".into(),
        states: None,
        states_proof: String::new(),
        layout: String::new(),
        body: Vec::new(),
    };
    let spec = BfsSpec {
        puzzle: puzzle.expect("a puzzle"),
        depth: Some(LEVELS),
        antipodes: 0,
        keep: Keep::Result,
        layout: LayoutOptions::default(),
    };
    JobRecord {
        definition: Arc::new(JobDefinition {
            spec: spec.into(),
            space,
            fingerprint: "bench".into(),
        }),
        roots: (0..shards)
            .map(|s| (1, Digest(u128::from(s) + 1)))
            .collect(),
        submitted_at: 0,
    }
}

fn registration(name: &str) -> Box<Registration> {
    Box::new(Registration {
        worker: None,
        cluster: None,
        incarnation: Incarnation(1),
        name: name.into(),
        version: String::new(),
        address: None,
        threads: 2,
        memory_bytes: 1 << 34,
        kernel: "portable".into(),
        devices: Vec::new(),
        local: false,
        held: Vec::new(),
        running: Vec::new(),
        ended: None,
    })
}

/// Steps the core through a whole job with four workers; microseconds of CPU for each task.
fn cpu_per_task(shards: u32) -> (u64, f64) {
    let config = Config {
        heartbeat: 1000,
        lease: 10_000,
        rebuild_after: 30_000,
        reconnect: 2000,
        checkpoint_every: None,
        replicas: None,
        crash_limit: 5,
    };
    let now = Now { millis: 1, unix: 1 };
    let core = Coordinator::new(config, "bench".into(), 1, Stored::default(), now);
    let mut core = core.expect("an empty store");
    let record = job(shards);
    let mut leases: VecDeque<(ConnectionId, Task, Attempt)> = VecDeque::new();
    let take = |effects: Vec<Effect>, leases: &mut VecDeque<_>| {
        for effect in effects {
            if let Effect::Send {
                connection,
                order: Order::Lease { task, attempt, .. },
            } = effect
            {
                leases.push_back((connection, task, attempt));
            }
        }
    };
    for k in 1..=4 {
        let event = Event::Register {
            connection: ConnectionId(k),
            registration: registration(&format!("w{k}")),
        };
        take(core.step(now, event), &mut leases);
    }
    let begin = Instant::now();
    let submission = Submission {
        request: RequestId(1),
        key: "k".into(),
        fresh: false,
        definition: record.definition,
        roots: record.roots,
    };
    take(
        core.step(now, Event::Submit(Box::new(submission))),
        &mut leases,
    );
    let mut tasks = 0;
    while let Some((connection, task, attempt)) = leases.pop_front() {
        tasks += 1;
        let Task::Expand { level, shard } = task else {
            continue;
        };
        let output = TaskOutput::Expanded {
            count: 1000,
            digest: Digest(u128::from(level) << 64 | u128::from(shard.0)),
            certificate: Certificate::default(),
        };
        let report = Report::Done {
            job: JobId(1),
            task,
            attempt,
            output,
            usage: Usage {
                engine_nanos: 1,
                ..Usage::default()
            },
        };
        take(
            core.step(now, Event::Report { connection, report }),
            &mut leases,
        );
    }
    let micros = begin.elapsed().as_secs_f64() * 1e6 / tasks as f64;
    assert_eq!(core.jobs()[&JobId(1)].progress().phase, Phase::Finished);
    (tasks, micros)
}

/// A store with a running job of so many results; bytes of its file.
fn fill(data: &std::path::Path, results: u32) -> u64 {
    let shards = results / LEVELS;
    let progress = antipode_coordinator_core::record::Progress {
        phase: Phase::Running,
        ..Default::default()
    };
    let mut records = vec![
        Record::Job {
            job: JobId(1),
            record: Arc::new(job(shards)),
        },
        Record::Progress {
            job: JobId(1),
            progress: Box::new(progress),
            urgent: true,
        },
    ];
    for level in 1..=LEVELS {
        for shard in 0..shards {
            let result = ExpandResult {
                count: 1000,
                digest: Digest(u128::from(level) << 64 | u128::from(shard)),
                certificate: Certificate {
                    predecessors: 10,
                    successors: 100,
                },
                fetched_bytes: 1 << 20,
                on_device: None,
                by: Some(WorkerId(1)),
            };
            records.push(Record::Result {
                job: JobId(1),
                level,
                shard,
                result,
            });
        }
    }
    // The last level lacks one, so that the job goes on.
    records.pop();
    store_for_benches(data, &records)
}

fn main() {
    for shards in [56, 336, 1000] {
        let (tasks, micros) = cpu_per_task(shards);
        println!("core: {shards} shards, {tasks} tasks: {micros:.1} us of CPU a task");
    }
    let data = tempfile::tempdir().expect("a folder");
    let begin = Instant::now();
    let bytes = fill(data.path(), 50_000);
    println!(
        "store: 50,000 results in one commit: {:.2} s, {:.1} MB",
        begin.elapsed().as_secs_f64(),
        bytes as f64 / 1e6
    );
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let begin = Instant::now();
    runtime.block_on(async {
        let driver = Driver::open(DriverConfig::new(data.path().into())).await;
        let driver = driver.expect("the store that was filled");
        let status = driver.client().show(JobId(1)).await.expect("the job");
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "restart with 50,000 results: {seconds:.2} s to the first answer ({} levels)",
            status.levels.len()
        );
        driver.close().await;
    });
    let data = tempfile::tempdir().expect("a folder");
    let bytes = fill(data.path(), 1_000_000);
    println!("store: 1,000,000 results: {:.0} MB", bytes as f64 / 1e6);
}
