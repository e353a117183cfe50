//! A simulated worker: it computes real sets, keeps them in memory or on disk, and forgets.

use super::toy::{Set, Toy, digest};
use antipode_coordinator_core::artifact::Artifact;
use antipode_coordinator_core::{
    ConnectionId, Failure, Held, Input, Order, Registration, Report, Usage,
};
use antipode_ids::{Attempt, Incarnation, JobId, WorkerId};
use antipode_solver_core::engine::{Certificate, OnDevice};
use antipode_solver_core::job::{Task, TaskOutput};
use std::collections::{BTreeMap, VecDeque};

/// Bytes that each level computed on a device brings there.
pub const UPLOADED: u64 = 16;

/// A copy of an artifact.
#[derive(Debug, Clone)]
pub struct Copy {
    pub set: Set,
    pub durable: bool,
}

#[derive(Debug, Clone)]
pub struct Leased {
    pub job: JobId,
    pub task: Task,
    pub attempt: Attempt,
    pub inputs: Vec<Input>,
    pub consume: bool,
}

/// One worker process and its disk.
#[derive(Debug)]
pub struct SimWorker {
    pub name: String,
    pub id: Option<WorkerId>,
    pub cluster: Option<String>,
    pub incarnation: u64,
    pub threads: u32,
    /// With any, it computes all levels there.
    pub devices: Vec<String>,
    pub up: bool,
    /// Does nothing and says nothing, but its connection stays open.
    pub frozen: bool,
    pub connection: Option<ConnectionId>,
    pub copies: BTreeMap<(JobId, Artifact), Copy>,
    pub leases: Vec<Leased>,
    pub to_disk: Vec<(JobId, Artifact)>,
    /// On their way, in order, on the present connection.
    pub inbox: VecDeque<Order>,
    pub outbox: VecDeque<Report>,
}

impl SimWorker {
    pub fn new(number: usize) -> SimWorker {
        SimWorker {
            name: format!("sim{number}"),
            id: None,
            cluster: None,
            incarnation: 1,
            threads: 1 + number as u32 % 3,
            devices: Vec::new(),
            up: true,
            frozen: false,
            connection: None,
            copies: BTreeMap::new(),
            leases: Vec::new(),
            to_disk: Vec::new(),
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
        }
    }

    /// The process ends; what was on disk may survive.
    pub fn crash(&mut self, disk_survives: bool) {
        self.up = false;
        self.frozen = false;
        self.connection = None;
        self.copies.retain(|_, copy| copy.durable && disk_survives);
        self.leases.clear();
        self.to_disk.clear();
        self.inbox.clear();
        self.outbox.clear();
    }

    pub fn start(&mut self) {
        self.up = true;
        self.incarnation += 1;
    }

    pub fn registration(&self) -> Registration {
        let held = self.copies.iter().map(|(&(job, artifact), copy)| Held {
            job,
            artifact,
            digest: digest(&copy.set),
            count: copy.set.len() as u64,
            durable: copy.durable,
        });
        Registration {
            worker: self.id,
            cluster: self.cluster.clone(),
            incarnation: Incarnation(self.incarnation),
            name: self.name.clone(),
            version: "0".into(),
            address: None,
            threads: self.threads,
            memory_bytes: 0,
            kernel: "portable".into(),
            devices: self.devices.clone(),
            local: false,
            held: held.collect(),
            running: self
                .leases
                .iter()
                .map(|l| (l.job, l.task.clone(), l.attempt))
                .collect(),
            ended: None,
        }
    }

    /// Takes in one order.
    pub fn receive(&mut self, order: Order, cluster: &str) {
        match order {
            Order::Welcome { worker } => {
                self.id = Some(worker);
                self.cluster = Some(cluster.into());
            }
            Order::Refused { reason } => panic!("{} was refused: {reason}", self.name),
            Order::Open { .. } | Order::Drain | Order::Shutdown => {}
            Order::Lease {
                job,
                task,
                attempt,
                inputs,
                consume,
            } => {
                self.leases.push(Leased {
                    job,
                    task,
                    attempt,
                    inputs,
                    consume,
                });
            }
            Order::Revoke { attempts } => self.leases.retain(|l| !attempts.contains(&l.attempt)),
            Order::Release { job, artifacts } => {
                artifacts
                    .into_iter()
                    .for_each(|a| _ = self.copies.remove(&(job, a)));
            }
            Order::Persist { job, artifacts } => {
                self.to_disk.extend(artifacts.into_iter().map(|a| (job, a)))
            }
            Order::Close { job, keep } => {
                self.leases.retain(|l| l.job != job);
                self.copies
                    .retain(|(of, _), copy| *of != job || (keep && copy.durable));
            }
        }
    }

    /// Brings one artifact to disk, if it is still there.
    pub fn write(&mut self) {
        let (job, artifact) = self.to_disk.remove(0);
        let report = match self.copies.get_mut(&(job, artifact)) {
            Some(copy) => {
                copy.durable = true;
                Report::Durable {
                    artifacts: vec![(job, artifact)],
                }
            }
            None => Report::Lost {
                artifacts: vec![(job, artifact)],
                reason: "not there".into(),
            },
        };
        self.outbox.push_back(report);
    }
}

/// Computes a lease of `workers[at]`, fetching from the others, and reports.
pub fn compute(
    toy: &Toy,
    workers: &mut [SimWorker],
    at: usize,
    lease: usize,
    fault: Option<Failure>,
) {
    let leased = workers[at].leases.remove(lease);
    let Leased {
        job,
        ref task,
        attempt,
        ref inputs,
        consume,
    } = leased;
    let failed = |failure| Report::Failed {
        job,
        task: task.clone(),
        attempt,
        failure,
    };
    if let Some(fault) = fault {
        workers[at].outbox.push_back(failed(fault));
        return;
    }
    let mut sets: BTreeMap<Artifact, Set> = BTreeMap::new();
    for input in inputs {
        match fetch(workers, at, job, input) {
            Ok(set) => _ = sets.insert(input.artifact, set),
            Err(failure) => {
                workers[at].outbox.push_back(failed(failure));
                return;
            }
        }
    }
    let get = |artifact: Artifact| match artifact.level {
        0 => toy.root(artifact.shard),
        _ => sets
            .get(&artifact)
            .cloned()
            .unwrap_or_else(|| panic!("{task:?} came without the {artifact}")),
    };
    let output = match task {
        Task::Item { .. } => unreachable!("no job here is a batch job"),
        Task::Expand { level, shard } => {
            let (level, shard) = (*level, shard.0);
            let mut from = Set::new();
            for source in 0..toy.shards {
                let listed = sets.contains_key(&Artifact::frontier(level - 1, source));
                if level == 1 || listed {
                    from.extend(get(Artifact::frontier(level - 1, source)));
                }
            }
            let own = get(Artifact::frontier(level - 1, shard));
            let seen = match (toy.directed, level) {
                (true, _) => Artifact::visited(level - 1, shard),
                (false, 1) => Artifact::frontier(0, shard),
                (false, _) => Artifact::frontier(level - 2, shard),
            };
            let seen_set = get(seen);
            let set = toy.expand(shard, &from, &[&own, &seen_set]);
            if consume {
                workers[at].copies.remove(&(job, seen));
            }
            let (count, digest) = (set.len() as u64, digest(&set));
            let mut keep = |artifact, set: Set| {
                if !set.is_empty() {
                    workers[at].copies.insert(
                        (job, artifact),
                        Copy {
                            set,
                            durable: false,
                        },
                    );
                }
            };
            if toy.directed {
                keep(
                    Artifact::visited(level, shard),
                    seen_set.union(&set).copied().collect(),
                );
            }
            keep(Artifact::frontier(level, shard), set);
            TaskOutput::Expanded {
                count,
                digest,
                certificate: Certificate::default(),
            }
        }
        Task::Smallest {
            level,
            shard,
            limit,
        } => {
            let set = get(Artifact::frontier(*level, shard.0));
            let states = set
                .iter()
                .take(*limit as usize)
                .map(|&x| vec![x as u16].into());
            TaskOutput::Smallest {
                states: states.collect(),
            }
        }
        Task::Copy { kind, level, shard } => {
            let artifact = Artifact {
                level: *level,
                shard: shard.0,
                kind: *kind,
            };
            let set = sets[&artifact].clone();
            let copy = Copy { set, durable: true };
            workers[at].copies.insert((job, artifact), copy);
            TaskOutput::Copied
        }
        Task::Pack { last, shard } => {
            let mut set = toy.root(shard.0);
            set.extend(sets.values().flatten());
            let (count, digest) = (set.len() as u64, digest(&set));
            let copy = Copy { set, durable: true };
            let name = Artifact::distances(*last, shard.0);
            workers[at].copies.insert((job, name), copy);
            TaskOutput::Packed { count, digest }
        }
        Task::Words { level, states } => {
            let word = vec![0u16; *level as usize];
            TaskOutput::Words {
                words: states.iter().map(|_| Ok(word.clone())).collect(),
            }
        }
    };
    let is_level = matches!(task, Task::Expand { .. });
    let on_device = (is_level && !workers[at].devices.is_empty()).then_some(OnDevice {
        uploaded_bytes: UPLOADED,
    });
    let task = task.clone();
    let done = Report::Done {
        job,
        task,
        attempt,
        output,
        usage: Usage {
            engine_nanos: 1,
            fetched_bytes: 1,
            on_device,
        },
    };
    workers[at].outbox.push_back(done);
}

fn fetch(workers: &[SimWorker], at: usize, job: JobId, input: &Input) -> Result<Set, Failure> {
    if input.count == 0 {
        return Ok(Set::new());
    }
    let artifact = input.artifact;
    let place = |id: WorkerId| {
        workers
            .iter()
            .find(|w| w.id == Some(id) && w.up && !w.frozen)
    };
    let own = &workers[at];
    let holders = input.holders.iter().filter_map(|&id| place(id));
    let copy = std::iter::once(own)
        .chain(holders)
        .find_map(|w| w.copies.get(&(job, artifact)));
    match copy {
        Some(copy) => {
            assert_eq!(
                digest(&copy.set),
                input.digest,
                "the {artifact} is not what was promised"
            );
            assert_eq!(copy.set.len() as u64, input.count);
            Ok(copy.set.clone())
        }
        None => {
            let mut tried = input.holders.clone();
            tried.extend(own.id);
            Err(Failure::InputMissing {
                artifact,
                tried,
                reason: "nobody has it".into(),
            })
        }
    }
}
