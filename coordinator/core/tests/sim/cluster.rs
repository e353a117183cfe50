//! The simulated cluster: one coordinator core, its store, some workers, and a seeded scheduler
//! that delivers, delays, repeats, crashes and cuts, as far as a budget of faults allows.

use super::toy::{Set, Toy};
use super::worker::{SimWorker, compute};
use antipode_coordinator_core::artifact::Artifact;
use antipode_coordinator_core::record::{JobRecord, Phase, Record, Stored, StoredJob};
use antipode_coordinator_core::{
    Config, ConnectionId, Coordinator, Effect, Event, Failure, Now, Order, Reply, Report,
    RequestId, Submission, check,
};
use antipode_ids::JobId;
use antipode_solver_core::job::Keep;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::fmt::Write;

const CLUSTER: &str = "sim";

/// What the scheduler may do to a run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub toy: Toy,
    pub workers: usize,
    pub antipodes: u32,
    pub keep: Keep,
    pub depth: Option<u32>,
    pub known: bool,
    /// Crashes, cuts, freezes, losses and false answers, in sum.
    pub faults: u32,
    pub coordinator_restarts: u32,
    pub pauses: u32,
    pub checkpoint_every: Option<u64>,
    pub replicas: Option<u32>,
}

/// The durable state, and what was written but is not durable yet.
#[derive(Default)]
struct Store {
    stored: Stored,
    pending: Vec<Record>,
}

impl Store {
    fn persist(&mut self, record: Record) {
        let urgent = record.is_urgent();
        self.pending.push(record);
        if urgent {
            self.flush(usize::MAX);
        }
    }

    /// Makes the first records durable; the others are lost with a crash.
    fn flush(&mut self, most: usize) {
        let records = self
            .pending
            .drain(..most.min(self.pending.len()))
            .collect::<Vec<_>>();
        for record in records {
            match record {
                Record::Job { job, record } => {
                    let stored = StoredJob {
                        record,
                        progress: Default::default(),
                        results: vec![],
                    };
                    self.stored.jobs.insert(job, stored);
                }
                Record::Progress { job, progress, .. } => {
                    self.stored.jobs.get_mut(&job).unwrap().progress = *progress;
                }
                Record::Result {
                    job,
                    level,
                    shard,
                    result,
                } => {
                    let results = &mut self.stored.jobs.get_mut(&job).unwrap().results;
                    assert!(
                        results.iter().all(|r| (r.0, r.1) != (level, shard)),
                        "a result counts once"
                    );
                    results.push((level, shard, result));
                }
                Record::Refuted { job, cells } => {
                    let results = &mut self.stored.jobs.get_mut(&job).unwrap().results;
                    results.retain(|r| !cells.contains(&(r.0, r.1)));
                }
                Record::Compacted { job } => {
                    self.stored.jobs.get_mut(&job).unwrap().results.clear();
                }
                Record::Forgotten { job } => {
                    self.stored.jobs.remove(&job);
                    self.stored.forgotten = self.stored.forgotten.max(Some(job));
                }
                Record::Key { key, job, existing } => {
                    _ = self.stored.keys.insert(key, (job, existing))
                }
                Record::Worker { worker, record, .. } => {
                    _ = self.stored.workers.insert(worker, record)
                }
            }
        }
    }
}

pub struct Cluster {
    plan: Plan,
    rng: StdRng,
    now: Now,
    last_tick: u64,
    epoch: u64,
    core: Coordinator,
    store: Store,
    workers: Vec<SimWorker>,
    next_connection: u64,
    next_request: u64,
    replies: BTreeMap<RequestId, Reply>,
    pause_asked: Option<RequestId>,
    faults: u32,
    restarts: u32,
    pauses: u32,
    /// Everything that happened, for the comparison of two runs of one seed.
    pub log: String,
    pub leases: u64,
    /// How often the interesting things happened.
    pub seen: Seen,
}

#[derive(Debug, Default)]
pub struct Seen {
    pub consumed: u64,
    pub released: u64,
    pub to_disk: u64,
    pub revoked: u64,
    pub checkpoints: u64,
    pub resumptions: u64,
    pub moved: u64,
    pub paused_at_end: u64,
}

impl std::ops::AddAssign for Seen {
    fn add_assign(&mut self, other: Seen) {
        self.consumed += other.consumed;
        self.released += other.released;
        self.to_disk += other.to_disk;
        self.revoked += other.revoked;
        self.checkpoints += other.checkpoints;
        self.resumptions += other.resumptions;
        self.moved += other.moved;
        self.paused_at_end += other.paused_at_end;
    }
}

fn config(plan: &Plan) -> Config {
    Config {
        heartbeat: 100,
        lease: 1000,
        rebuild_after: 3000,
        reconnect: 300,
        checkpoint_every: plan.checkpoint_every,
        replicas: plan.replicas,
        crash_limit: 5,
    }
}

impl Cluster {
    pub fn new(plan: Plan, seed: u64) -> Cluster {
        let now = Now {
            millis: 1,
            unix: 1_000_000,
        };
        let core =
            Coordinator::new(config(&plan), CLUSTER.into(), 1, Stored::default(), now).unwrap();
        Cluster {
            rng: StdRng::seed_from_u64(seed),
            now,
            last_tick: 0,
            epoch: 1,
            core,
            store: Store::default(),
            workers: (0..plan.workers).map(SimWorker::new).collect(),
            next_connection: 1,
            next_request: 1,
            replies: BTreeMap::new(),
            pause_asked: None,
            faults: plan.faults,
            restarts: plan.coordinator_restarts,
            pauses: plan.pauses,
            log: String::new(),
            leases: 0,
            seen: Seen::default(),
            plan,
        }
    }

    fn step(&mut self, event: Event) {
        writeln!(self.log, "{} {event:?}", self.now.millis).unwrap();
        let effects = self.core.step(self.now, event);
        if let Err(wrong) = check::all(&self.core) {
            let tail: Vec<&str> = self.log.lines().rev().take(12).collect();
            panic!("{wrong}\n{}", tail.join("\n"));
        }
        for effect in effects {
            writeln!(self.log, "    {effect:?}").unwrap();
            match effect {
                Effect::Persist(record) => {
                    if let Record::Progress {
                        progress,
                        urgent: true,
                        ..
                    } = &record
                    {
                        self.seen.checkpoints += u64::from(progress.checkpoint.is_some());
                        self.seen.resumptions += u64::from(progress.resumed.is_some());
                    }
                    self.store.persist(record);
                }
                Effect::Send { connection, order } => {
                    self.note(connection, &order);
                    if let Some(worker) = self
                        .workers
                        .iter_mut()
                        .find(|w| w.connection == Some(connection))
                    {
                        worker.inbox.push_back(order);
                    }
                }
                Effect::HangUp { connection } => {
                    if let Some(worker) = self
                        .workers
                        .iter_mut()
                        .find(|w| w.connection == Some(connection))
                    {
                        worker.connection = None;
                        worker.inbox.clear();
                        worker.outbox.clear();
                    }
                }
                Effect::Reply { request, reply } => _ = self.replies.insert(request, reply),
                Effect::Changed { .. } => {}
            }
        }
    }

    fn note(&mut self, connection: ConnectionId, order: &Order) {
        match order {
            Order::Lease {
                consume, inputs, ..
            } => {
                self.leases += 1;
                self.seen.consumed += u64::from(*consume);
                let to = self
                    .workers
                    .iter()
                    .find(|w| w.connection == Some(connection))
                    .and_then(|w| w.id);
                let elsewhere = |input: &&antipode_coordinator_core::Input| {
                    input.count > 0 && to.is_some_and(|to| !input.holders.contains(&to))
                };
                self.seen.moved += inputs.iter().filter(elsewhere).count() as u64;
            }
            Order::Release { artifacts, .. } => self.seen.released += artifacts.len() as u64,
            Order::Persist { artifacts, .. } => self.seen.to_disk += artifacts.len() as u64,
            Order::Revoke { .. } => self.seen.revoked += 1,
            _ => {}
        }
    }

    fn request(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request)
    }

    pub fn submit(&mut self, key: &str, record: &JobRecord, fresh: bool) -> Reply {
        let request = self.request();
        let (definition, roots) = (record.definition.clone(), record.roots.clone());
        let key = key.into();
        let submission = Submission {
            request,
            key,
            fresh,
            definition,
            roots,
        };
        self.step(Event::Submit(Box::new(submission)));
        self.replies
            .remove(&request)
            .expect("a submission is answered at once")
    }

    fn phase(&self, job: JobId) -> Phase {
        self.core.jobs()[&job].progress().phase.clone()
    }

    /// Runs until the job has ended, and compares everything with the dull search.
    pub fn run(&mut self) {
        let record = self.plan.toy.record(
            self.plan.antipodes,
            self.plan.keep,
            self.plan.depth,
            self.plan.known,
        );
        let job = JobId(1);
        assert_eq!(
            self.submit("key", &record, false),
            Reply::Submitted {
                job,
                existing: false
            }
        );
        let mut actions = 0u64;
        while !self.phase(job).is_final() {
            self.act(job);
            actions += 1;
            assert!(
                actions < 400_000,
                "no end in sight: {:?}\n{}",
                self.core.explain(self.now, job),
                self.log
                    .lines()
                    .rev()
                    .take(30)
                    .collect::<Vec<_>>()
                    .join("\n")
            );
        }
        self.compare(job);
        assert_eq!(
            self.submit("key", &record, false),
            Reply::Submitted {
                job,
                existing: false
            }
        );
        assert_eq!(
            self.submit("again", &record, false),
            Reply::Submitted {
                job,
                existing: true
            }
        );
    }

    fn compare(&self, job: JobId) {
        let state = &self.core.jobs()[&job];
        assert_eq!(
            state.progress().phase,
            Phase::Finished,
            "{}",
            self.log.lines().last().unwrap_or("")
        );
        let levels = self.plan.toy.levels();
        let deepest = self
            .plan
            .depth
            .map_or(levels.len() - 1, |d| (d as usize).min(levels.len() - 1));
        let counted: Vec<u128> = state
            .levels()
            .iter()
            .map(|level| u128::from(level.count))
            .collect();
        let expected: Vec<u128> = levels[..=deepest].iter().map(|l| l.len() as u128).collect();
        assert_eq!(counted, expected);

        let all = deepest + 1 == levels.len();
        let noticed = self.plan.known || self.plan.depth.is_none_or(|d| d as usize >= levels.len());
        assert_eq!(state.progress().exhausted, all && noticed);
        if state.progress().exhausted {
            let smallest: Vec<u16> = levels[deepest]
                .iter()
                .take(self.plan.antipodes as usize)
                .map(|&x| x as u16)
                .collect();
            let found: Vec<u16> = state
                .progress()
                .antipodes
                .iter()
                .map(|(state, _)| state[0])
                .collect();
            assert_eq!(found, smallest);
        }
        if self.plan.keep == Keep::Frontiers {
            let kept: Set = self
                .workers
                .iter()
                .flat_map(|w| &w.copies)
                .filter(|((of, _), copy)| *of == job && copy.durable)
                .map(|(_, copy)| copy)
                .flat_map(|copy| copy.set.iter().copied())
                .collect();
            let due: Set = levels[1..=deepest].iter().flatten().copied().collect();
            assert!(
                self.faults < self.plan.faults || kept.is_superset(&due),
                "a level is nowhere on disk"
            );
        }
    }

    /// One random thing happens.
    fn act(&mut self, job: JobId) {
        self.now.millis += self.rng.random_range(0..10);
        self.now.unix = 1_000_000 + self.now.millis / 1000;
        if self.now.millis >= self.last_tick + 100 {
            self.last_tick = self.now.millis;
            self.step(Event::Tick);
        }
        self.answer_pause(job);
        let at = self.rng.random_range(0..self.workers.len());
        match self.rng.random_range(0..100u32) {
            0..=1 => self.fault(at),
            2 => self.client_acts(job),
            3..=4 if self.rng.random_bool(0.1) => self.restart_coordinator(),
            5..=9 => self.store.flush(3),
            _ => self.work(at),
        }
    }

    /// A worker does one of the things it has to do.
    fn work(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        if !worker.up {
            if self.rng.random_bool(0.02) || self.faults == 0 {
                worker.start();
            }
            return;
        }
        if worker.frozen {
            if self.rng.random_bool(0.005) || self.faults == 0 {
                worker.frozen = false;
            }
            return;
        }
        let Some(connection) = worker.connection else {
            if self.rng.random_bool(0.2) {
                let connection = ConnectionId(self.next_connection);
                self.next_connection += 1;
                worker.connection = Some(connection);
                let registration = Box::new(worker.registration());
                self.step(Event::Register {
                    connection,
                    registration,
                });
            }
            return;
        };
        if self.now.millis >= worker.next_heartbeat {
            worker.next_heartbeat = self.now.millis + 100;
            worker.outbox.push_back(Report::Heartbeat {
                memory_bytes: 1,
                peak_memory_bytes: 2,
                disk: Default::default(),
            });
        }
        match self.rng.random_range(0..4) {
            0 => {
                if let Some(order) = worker.inbox.pop_front() {
                    worker.receive(order, CLUSTER);
                }
            }
            1 => {
                let Some(report) = worker.outbox.pop_front() else {
                    return;
                };
                if self.faults > 0 && self.rng.random_bool(0.02) {
                    self.faults -= 1;
                    worker.outbox.push_back(report.clone());
                }
                self.step(Event::Report { connection, report });
            }
            2 if !worker.to_disk.is_empty() => worker.write(),
            _ if !worker.leases.is_empty() => {
                let lease = self.rng.random_range(0..worker.leases.len());
                let fault = (self.faults > 0 && self.rng.random_bool(0.004)).then(|| {
                    self.faults -= 1;
                    Failure::Other("a fault".into())
                });
                compute(&self.plan.toy, &mut self.workers, at, lease, fault);
            }
            _ => {}
        }
    }

    fn fault(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        if self.faults == 0 || !worker.up || self.rng.random_bool(0.8) {
            return;
        }
        self.faults -= 1;
        let connection = worker.connection;
        match self.rng.random_range(0..5) {
            0 => {
                worker.crash(self.rng.random_bool(0.7));
                // The end of the connection is noticed at once, or only by the silence.
                if let Some(connection) = connection.filter(|_| self.rng.random_bool(0.5)) {
                    self.step(Event::Disconnected { connection });
                }
            }
            1 => worker.frozen = true,
            2 => {
                worker.connection = None;
                worker.inbox.clear();
                worker.outbox.clear();
                if let Some(connection) = connection.filter(|_| self.rng.random_bool(0.5)) {
                    self.step(Event::Disconnected { connection });
                }
            }
            3 => worker.damage(&mut self.rng),
            _ => {
                if let Some(connection) = connection.filter(|_| !worker.frozen) {
                    self.step(Event::Report {
                        connection,
                        report: Report::Leaving {
                            reason: "drain".into(),
                        },
                    });
                    self.workers[at].crash(true);
                }
            }
        }
    }

    /// The coordinator's process ends and starts again on what was durable.
    fn restart_coordinator(&mut self) {
        if self.restarts == 0 {
            return;
        }
        self.restarts -= 1;
        let most = self.rng.random_range(0..=self.store.pending.len());
        self.store.flush(most);
        self.store.pending.clear();
        self.epoch += 1;
        self.pause_asked = None;
        for worker in &mut self.workers {
            worker.connection = None;
            worker.inbox.clear();
            worker.outbox.clear();
        }
        writeln!(self.log, "{} coordinator starts again", self.now.millis).unwrap();
        let stored = self.store.stored.clone();
        self.core = Coordinator::new(
            config(&self.plan),
            CLUSTER.into(),
            self.epoch,
            stored,
            self.now,
        )
        .unwrap();
        check::all(&self.core).unwrap();
    }

    fn client_acts(&mut self, job: JobId) {
        if self.pauses > 0 && self.pause_asked.is_none() && self.rng.random_bool(0.1) {
            self.pauses -= 1;
            let request = self.request();
            self.pause_asked = Some(request);
            self.step(Event::Pause { request, job });
        }
        if self.phase(job).is_resting() && self.pause_asked.is_none() && self.rng.random_bool(0.5) {
            let request = self.request();
            self.step(Event::Resume {
                request,
                job,
                fresh: true,
            });
            assert_eq!(self.replies.remove(&request), Some(Reply::Done { job }));
        }
    }

    fn answer_pause(&mut self, job: JobId) {
        let Some(request) = self.pause_asked else {
            return;
        };
        if self.replies.remove(&request).is_none() {
            return;
        }
        self.pause_asked = None;
        let state = &self.core.jobs()[&job];
        let phase = &state.progress().phase;
        assert!(phase.is_resting() || phase.is_final(), "{phase:?}");
        // Promised: the checkpoint is in the store and on the workers' disks.
        let stored = &self.store.stored.jobs[&job];
        assert_eq!(stored.progress.phase, state.progress().phase);
        assert_eq!(stored.progress.checkpoint, state.progress().checkpoint);
        if state.progress().phase != Phase::Paused || self.faults < self.plan.faults {
            return;
        }
        let bfs = state.bfs();
        let shards = 0..self.plan.toy.shards;
        let promised: Vec<Artifact> = match (bfs.end(), bfs.checkpoint()) {
            (Some(end), _) => shards
                .map(|s| Artifact::frontier(end.last, s))
                .filter(|a| a.level > 0)
                .collect(),
            (None, Some(level)) => shards
                .flat_map(|s| bfs.graph().checkpoint(level, s))
                .collect(),
            (None, None) => Vec::new(),
        };
        self.seen.paused_at_end += u64::from(bfs.end().is_some());
        for artifact in promised
            .into_iter()
            .filter(|&a| bfs.content(a).unwrap().0 > 0)
        {
            let mut copies = self
                .workers
                .iter()
                .filter_map(|w| w.copies.get(&(job, artifact)));
            assert!(copies.any(|c| c.durable), "the {artifact} is not on disk");
        }
    }
}
