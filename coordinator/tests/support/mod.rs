//! A fabricated search and a worker that answers for it without computing anything: the n-cube,
//! cut by its top coordinates, whose counts are binomial coefficients.

#![allow(dead_code)]

use antipode_coordinator::{Config, Prepare, Prepared};
use antipode_proto::PROTOCOL_VERSION;
use antipode_proto::client::{Client, Submission};
use antipode_proto::ids::{Attempt, Incarnation, JobId, WorkerId};
use antipode_proto::link::WorkerLink;
use antipode_proto::message::{
    ArtifactKind, ArtifactName, DiskUse, Failure, FromWorker, Held, Input, ToWorker, Usage,
};
use antipode_proto::status::{JobState, JobStatus};
use antipode_solver_core::Perm;
use antipode_solver_core::engine::{Certificate, Digest, Level};
use antipode_solver_core::job::{BfsSpec, JobDefinition, Keep, Task, TaskOutput};
use antipode_solver_core::puzzle::{Generator, Metric, Puzzle};
use antipode_solver_core::space::{LayoutOptions, SpaceDef};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The cube has this many coordinates, of which the top ones number the shards.
pub const COORDINATES: u32 = 12;
pub const CUT: u32 = 3;
pub const SHARDS: u32 = 1 << CUT;

fn binomial(n: u32, k: u32) -> u64 {
    if k > n {
        0
    } else {
        (0..k).fold(1, |b, i| b * u64::from(n - i) / u64::from(i + 1))
    }
}

/// Number of states of a level of a shard.
pub fn count(level: Level, shard: u32) -> u64 {
    level
        .checked_sub(shard.count_ones())
        .map_or(0, |rest| binomial(COORDINATES - CUT, rest))
}

pub fn digest(level: Level, shard: u32) -> Digest {
    if count(level, shard) == 0 {
        return Digest::default();
    }
    let factor = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;
    let level = (u128::from(level) + 1).wrapping_mul(factor);
    Digest(level.wrapping_add(u128::from(shard) * 77_777))
}

pub fn levels() -> Vec<u64> {
    (0..=COORDINATES)
        .map(|level| binomial(COORDINATES, level))
        .collect()
}

pub fn spec() -> BfsSpec {
    let swap = Generator {
        name: "x".into(),
        perm: Perm::from_images(&[1u16, 0]).unwrap(),
    };
    let puzzle = Puzzle::new("cube".into(), vec![swap], vec![], Metric::Custom, vec![]).unwrap();
    let layout = LayoutOptions::default();
    BfsSpec {
        puzzle,
        depth: None,
        antipodes: 2,
        keep: Keep::Result,
        layout,
    }
}

/// Makes the fabricated definition of any question.
pub fn prepare() -> Prepare {
    Arc::new(|spec| {
        let sources = |shard: u32| {
            (0..CUT)
                .map(|bit| shard ^ (1 << bit))
                .chain([shard])
                .collect()
        };
        let space = SpaceDef {
            kind: "chain".into(),
            shards: SHARDS,
            sources: (0..SHARDS).map(sources).collect(),
            shard_states: vec![1 << (COORDINATES - CUT); SHARDS as usize],
            shard_bytes: vec![1 << (COORDINATES - CUT); SHARDS as usize],
            directed: false,
            group_order: (1u64 << COORDINATES).to_string(),
            states: Some((1u64 << COORDINATES).to_string()),
            states_proof: "counted".into(),
            layout: "cube".into(),
            body: vec![7; 3_000_000],
        };
        let roots = (0..SHARDS)
            .map(|shard| (count(0, shard), digest(0, shard)))
            .collect();
        let definition = Arc::new(JobDefinition {
            spec,
            space,
            fingerprint: "cube".into(),
        });
        Ok(Prepared { definition, roots })
    })
}

/// Quick timers, and no checkpoint unless somebody pauses.
pub fn config(data: &Path) -> Config {
    Config {
        heartbeat: Duration::from_millis(20),
        lease: Duration::from_millis(500),
        rebuild_after: Duration::from_millis(1000),
        checkpoint_every: Some(Duration::from_secs(3600)),
        ..Config::new(data.to_path_buf())
    }
}

pub fn submission(key: &str) -> Submission {
    Submission {
        key: key.into(),
        spec: spec().into(),
        fresh: false,
    }
}

/// A task to be computed.
#[derive(Debug, Clone)]
pub struct Lease {
    job: JobId,
    task: Task,
    attempt: Attempt,
    inputs: Vec<Input>,
    consume: bool,
}

/// A worker's process: who it is and what it holds; several conversations may follow each other.
pub struct FakeWorker {
    pub id: Option<WorkerId>,
    pub cluster: Option<String>,
    pub protocol: u32,
    pub held: BTreeMap<ArtifactName, Held>,
    /// Leases; they outlive a conversation.
    pub running: Vec<Lease>,
    /// Tasks of levels beyond this one are left lying.
    pub up_to: watch::Receiver<Level>,
    pub computed: u64,
    pub opened: u64,
}

impl FakeWorker {
    pub fn new(up_to: watch::Receiver<Level>) -> FakeWorker {
        FakeWorker {
            id: None,
            cluster: None,
            protocol: PROTOCOL_VERSION,
            held: BTreeMap::new(),
            running: Vec::new(),
            up_to,
            computed: 0,
            opened: 0,
        }
    }

    /// Only what is on disk survives the end of a process.
    pub fn crash(&mut self) {
        self.held.retain(|_, held| held.durable);
        self.running.clear();
    }

    /// One conversation, until the coordinator ends it. The reason of a refusal is returned.
    pub async fn converse(&mut self, mut link: WorkerLink) -> Option<String> {
        let register = FromWorker::Register {
            protocol: self.protocol,
            version: "test".into(),
            name: "fake".into(),
            worker: self.id,
            cluster: self.cluster.clone(),
            incarnation: Incarnation(1),
            address: None,
            threads: 2,
            memory_bytes: 1 << 30,
            pid: std::process::id(),
            kernel: "portable".into(),
            devices: Vec::new(),
            held: self.held.values().cloned().collect(),
            running: self
                .running
                .iter()
                .map(|lease| (lease.job, lease.task.clone(), lease.attempt))
                .collect(),
            ended: None,
        };
        link.send.send(register).ok()?;
        let mut heartbeat = tokio::time::interval(Duration::from_millis(20));
        loop {
            let up_to = *self.up_to.borrow_and_update();
            let (now, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.running)
                .into_iter()
                .partition(|lease| level_of(&lease.task) <= up_to);
            self.running = later;
            for lease in now {
                let done = self.compute(lease);
                link.send.send(done).ok()?;
            }
            tokio::select! {
                message = link.receive.recv() => match message? {
                    ToWorker::Welcome { worker, cluster, .. } => {
                        self.id = Some(worker);
                        self.cluster = Some(cluster);
                    }
                    ToWorker::Refused { reason } => return Some(reason),
                    ToWorker::Open { definition, .. } => {
                        assert_eq!(definition.space.body.len(), 3_000_000, "workers get the whole index");
                        self.opened += 1;
                    }
                    ToWorker::Lease { job, task, attempt, inputs, consume } => {
                        self.running.push(Lease { job, task, attempt, inputs, consume });
                    }
                    ToWorker::Revoke { attempts } => {
                        self.running.retain(|lease| !attempts.contains(&lease.attempt));
                    }
                    ToWorker::Release { names } => names.iter().for_each(|name| _ = self.held.remove(name)),
                    ToWorker::Persist { names } => {
                        for name in &names {
                            self.held.get_mut(name).expect("only what is held is to be stored").durable = true;
                        }
                        link.send.send(FromWorker::Durable { names, bytes: 1 }).ok()?;
                    }
                    ToWorker::Close { job, .. } => self.held.retain(|name, _| name.job != job),
                    ToWorker::Drain | ToWorker::Shutdown => return None,
                },
                _ = heartbeat.tick() => {
                    link.send.send(FromWorker::Heartbeat { memory_bytes: 5, peak_memory_bytes: 6, disk: DiskUse::default() }).ok()?;
                }
                changed = self.up_to.changed() => changed.ok()?,
            }
        }
    }

    fn compute(&mut self, lease: Lease) -> FromWorker {
        let Lease {
            job,
            task,
            attempt,
            inputs,
            consume,
        } = lease;
        for input in &inputs {
            let ArtifactName { level, shard, .. } = input.name;
            assert_eq!(
                (input.count, input.digest),
                (count(level, shard.0), digest(level, shard.0))
            );
            if input.count > 0 && !self.held.contains_key(&input.name) {
                let tried = self.id.into_iter().collect();
                let reason = "used up by a lease of before".into();
                let failure = Failure::InputMissing {
                    name: input.name,
                    tried,
                    reason,
                };
                return FromWorker::Failed {
                    job,
                    task,
                    attempt,
                    failure,
                };
            }
        }
        let output = match &task {
            Task::Expand { level, shard } => {
                let name = ArtifactName {
                    job,
                    level: *level,
                    shard: *shard,
                    kind: ArtifactKind::Frontier,
                };
                if consume {
                    self.held.remove(&ArtifactName {
                        level: level - 2,
                        ..name
                    });
                }
                let (count, digest) = (count(*level, shard.0), digest(*level, shard.0));
                if count > 0 {
                    self.held.insert(
                        name,
                        Held {
                            name,
                            digest,
                            count,
                            durable: false,
                        },
                    );
                }
                let certificate = Certificate {
                    predecessors: 1,
                    successors: 1,
                };
                TaskOutput::Expanded {
                    count,
                    digest,
                    certificate,
                }
            }
            Task::Smallest {
                level,
                shard,
                limit,
            } => {
                let states = (0..count(*level, shard.0).min(u64::from(*limit)))
                    .map(|i| vec![shard.0 as u16, i as u16].into());
                TaskOutput::Smallest {
                    states: states.collect(),
                }
            }
            Task::Copy { kind, level, shard } => {
                let name = ArtifactName {
                    job,
                    level: *level,
                    shard: *shard,
                    kind: *kind,
                };
                let (count, digest) = (count(*level, shard.0), digest(*level, shard.0));
                let held = Held {
                    name,
                    digest,
                    count,
                    durable: true,
                };
                self.held.insert(name, held);
                TaskOutput::Copied
            }
            Task::Pack { .. } => unreachable!("no job here keeps its frontiers"),
            Task::Item { .. } => unreachable!("no job here is a batch job"),
            Task::Words { states, .. } => TaskOutput::Words {
                words: states.iter().map(|_| Ok(vec![0])).collect(),
            },
        };
        self.computed += 1;
        let usage = Usage {
            engine_time: Duration::from_nanos(10),
            ..Usage::default()
        };
        FromWorker::Done {
            job,
            task,
            attempt,
            output,
            usage,
        }
    }
}

fn level_of(task: &Task) -> Level {
    match task {
        Task::Expand { level, .. }
        | Task::Smallest { level, .. }
        | Task::Copy { level, .. }
        | Task::Words { level, .. } => *level,
        Task::Pack { last, .. } => *last,
        Task::Item { .. } => 1,
    }
}

/// Watches until the job satisfies the condition, or for a minute.
pub async fn wait_for(
    client: &dyn Client,
    job: JobId,
    condition: impl Fn(&JobStatus) -> bool,
) -> JobStatus {
    let watching = async {
        loop {
            let mut statuses = client.watch(job).await.unwrap();
            while let Some(status) = statuses.recv().await {
                if condition(&status) {
                    return status;
                }
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), watching)
        .await
        .expect("it never came to that")
}

pub fn is_finished(status: &JobStatus) -> bool {
    status.state == JobState::Finished
}

pub fn counts(status: &JobStatus) -> Vec<u64> {
    status.levels.iter().map(|level| level.count).collect()
}
