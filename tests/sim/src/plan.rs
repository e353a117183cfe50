//! What a seed means: the cluster, the jobs, and what is to go wrong when.

use crate::clock::{Clock, MILLI, Micros, SECOND};
use crate::toy::{Question, Toy};
use antipode_coordinator_core::Config;
use antipode_solver_core::job::Keep;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use std::sync::Arc;

pub const CLUSTER: &str = "sim";
pub const LEAST_WORKERS: usize = 3;

/// A worker's machine.
#[derive(Debug, Clone)]
pub struct MachinePlan {
    pub threads: u32,
    pub clock: Clock,
    pub slowness: u64,
    pub budget: usize,
    pub is_small: bool,
}

/// What a client asks for, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Submit,
    /// The same question under another key.
    Again,
    Pause,
    Resume,
    Cancel,
    /// Drops a job that has ended.
    Forget,
    /// Asks some worker to end.
    Drain,
    /// Pauses a job that does not exist.
    Nonsense,
}

/// A client with one job.
#[derive(Debug, Clone)]
pub struct ClientPlan {
    /// Which graph.
    pub toy: usize,
    pub question: Question,
    /// Each so long after the answer to the one before.
    pub script: Vec<(Micros, Op)>,
}

/// What can go wrong. Where, is drawn when it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    WorkerKilled,
    WorkerKilledUnseen,
    WorkerDiskLost,
    WorkerStopped,
    WorkerDrained,
    DeviceFails,
    TaskKills,
    WorkerJoins,
    ForeignWorker,
    TaskFails,
    BitFlips,
    WorkerDiskFull,
    ConnectionBreaks,
    CoordinatorSeesBreakLate,
    WorkerSeesBreakLate,
    NothingToCoordinator,
    NothingToWorker,
    WorkersApart,
    SlowWay,
    AnswersDamaged,
    AnswersTwice,
    CoordinatorKilled,
    CoordinatorKilledInRound,
    CoordinatorRestarts,
    CoordinatorStopped,
    CoordinatorDiskFull,
    LedgerFlips,
    PowerCut,
    WallClockJumps,
}

const FAULTS: &[Fault] = &[
    Fault::WorkerKilled,
    Fault::WorkerKilledUnseen,
    Fault::WorkerDiskLost,
    Fault::WorkerStopped,
    Fault::WorkerDrained,
    Fault::DeviceFails,
    Fault::TaskKills,
    Fault::WorkerJoins,
    Fault::ForeignWorker,
    Fault::TaskFails,
    Fault::BitFlips,
    Fault::WorkerDiskFull,
    Fault::ConnectionBreaks,
    Fault::CoordinatorSeesBreakLate,
    Fault::WorkerSeesBreakLate,
    Fault::NothingToCoordinator,
    Fault::NothingToWorker,
    Fault::WorkersApart,
    Fault::SlowWay,
    Fault::AnswersDamaged,
    Fault::AnswersTwice,
    Fault::CoordinatorKilled,
    Fault::CoordinatorKilledInRound,
    Fault::CoordinatorRestarts,
    Fault::CoordinatorStopped,
    Fault::CoordinatorDiskFull,
    Fault::LedgerFlips,
    Fault::PowerCut,
    Fault::WallClockJumps,
];

#[derive(Debug, Clone)]
pub struct Plan {
    pub toys: Vec<Arc<Toy>>,
    pub clients: Vec<ClientPlan>,
    pub machines: Vec<MachinePlan>,
    pub coordinator_clock: Clock,
    pub config: Config,
    /// Least and most time that a task takes.
    pub task_micros: (Micros, Micros),
    pub faults: Vec<(Micros, Fault)>,
    /// From then on nothing goes wrong any more.
    pub calm_at: Micros,
    /// A worker whose results are wrong.
    pub liar: Option<usize>,
}

impl Plan {
    /// Nothing goes wrong, and clients only submit.
    pub fn make_calm(&mut self) {
        self.faults.clear();
        self.liar = None;
        for machine in &mut self.machines {
            machine.is_small = false;
        }
        for client in &mut self.clients {
            client.script.truncate(1);
        }
    }

    pub fn of(rng: &mut StdRng) -> Plan {
        let second = rng.random_bool(0.15);
        let toys: Vec<Arc<Toy>> = (0..1 + usize::from(second))
            .map(|k| {
                let is_batch = k == 1 && rng.random_bool(0.6);
                let toy = if is_batch {
                    Toy::batch(rng.random_bool(0.5), rng)
                } else {
                    Toy::any(rng)
                };
                Arc::new(toy)
            })
            .collect();
        let liar = rng
            .random_bool(0.03)
            .then(|| rng.random_range(0..LEAST_WORKERS));
        let clients: Vec<ClientPlan> = (0..toys.len())
            .map(|k| client(k, &toys[k], liar.is_some(), rng))
            .collect();
        let skewed = rng.random_bool(0.5);
        let workers = rng.random_range(LEAST_WORKERS..=5);
        let small = rng.random_bool(0.1).then(|| rng.random_range(0..workers));
        let tight = rng.random_bool(0.2);
        let machines = (0..workers)
            .map(|k| MachinePlan {
                threads: rng.random_range(1..4),
                clock: clock(skewed, rng),
                slowness: *[1, 1, 1, 4].choose(rng).unwrap_or(&1),
                budget: if tight {
                    rng.random_range(14..30)
                } else {
                    1000
                },
                is_small: small == Some(k),
            })
            .collect();
        let config = Config {
            heartbeat: 200,
            lease: 1500,
            rebuild_after: 3500,
            reconnect: 500,
            checkpoint_every: rng.random_bool(0.7).then(|| rng.random_range(50..1200)),
            replicas: rng.random_bool(0.7).then(|| rng.random_range(0..3)),
            crash_limit: 5,
        };
        let longest = *[2 * MILLI, 20 * MILLI, 80 * MILLI]
            .choose(rng)
            .unwrap_or(&MILLI);
        // Each seed knows a few kinds of faults only, so that rare ones meet undisturbed.
        let kinds: Vec<Fault> = FAULTS
            .iter()
            .copied()
            .filter(|_| rng.random_bool(0.35))
            .collect();
        let span = *[SECOND / 2, SECOND, 3 * SECOND]
            .choose(rng)
            .unwrap_or(&SECOND);
        let number = rng.random_range(0..=12);
        let mut faults: Vec<(Micros, Fault)> = (0..number)
            .filter_map(|_| Some((rng.random_range(0..span), *kinds.choose(rng)?)))
            .collect();
        faults.sort_unstable();
        Plan {
            toys,
            clients,
            machines,
            coordinator_clock: clock(skewed, rng),
            config,
            task_micros: (MILLI, longest + MILLI),
            faults,
            calm_at: span + SECOND,
            liar,
        }
    }
}

fn clock(skewed: bool, rng: &mut StdRng) -> Clock {
    let rate = if skewed {
        rng.random_range(750..1300)
    } else {
        1000
    };
    Clock {
        offset: rng.random_range(0..1000 * SECOND),
        rate,
    }
}

fn client(k: usize, toy: &Toy, lies: bool, rng: &mut StdRng) -> ClientPlan {
    let deepest = toy.levels().len() as u32 - 1;
    let depth = rng
        .random_bool(0.15)
        .then(|| rng.random_range(6.min(deepest)..=deepest + 1));
    let question = Question {
        antipodes: rng.random_range(0..4),
        keep: if rng.random_bool(0.2) {
            Keep::Frontiers
        } else {
            Keep::Result
        },
        depth,
        known: lies || rng.random_bool(0.6),
    };
    let mut script = vec![(k as Micros * rng.random_range(0..300 * MILLI), Op::Submit)];
    let mut later = |rng: &mut StdRng, op| {
        let pause = rng.random_range(0..600 * MILLI);
        script.push((pause, op));
    };
    if rng.random_bool(0.3) {
        later(rng, Op::Pause);
        if rng.random_bool(0.1) {
            later(rng, Op::Cancel);
        } else {
            later(rng, Op::Resume);
            if rng.random_bool(0.3) {
                later(rng, Op::Pause);
                later(rng, Op::Resume);
            }
        }
    } else if rng.random_bool(if k == 0 { 0.03 } else { 0.4 }) {
        later(rng, Op::Cancel);
        if rng.random_bool(0.3) {
            later(rng, Op::Resume);
        }
        if rng.random_bool(0.4) {
            later(rng, Op::Forget);
            later(rng, Op::Submit);
        }
    } else if rng.random_bool(0.1) {
        later(rng, Op::Drain);
    } else if rng.random_bool(0.1) {
        later(rng, Op::Again);
    } else if rng.random_bool(0.05) {
        later(rng, Op::Nonsense);
    }
    ClientPlan {
        toy: k,
        question,
        script,
    }
}
