//! What the coordinator does about workers that end, lie, leave or come back empty: small scenes, each
//! told step by step.

use super::toy::{Toy, digest};
use super::worker::{SimWorker, compute};
use antipode_coordinator_core::artifact::Artifact;
use antipode_coordinator_core::record::{Phase, Record, Stored};
use antipode_coordinator_core::{
    Config, ConnectionId, Coordinator, DiskUse, Effect, Ended, Event, Failure, Now, Order, Reply,
    Report, RequestId, Submission, check,
};
use antipode_ids::{Cause, JobId, WorkerId};
use antipode_solver_core::engine::Digest;
use antipode_solver_core::job::{Keep, Task, TaskOutput};

pub(super) const JOB: JobId = JobId(1);

pub(super) struct Scene {
    pub(super) core: Coordinator,
    toy: Toy,
    pub(super) workers: Vec<SimWorker>,
    pub(super) now: Now,
    connections: u64,
    requests: u64,
    replies: Vec<(RequestId, Reply)>,
    pub(super) records: Vec<Record>,
    shut_down: Vec<usize>,
    /// Answers are falsified by these workers.
    liars: Vec<usize>,
}

impl Scene {
    pub(super) fn new(workers: usize, replicas: u32) -> Scene {
        let config = Config {
            heartbeat: 100,
            lease: 1000,
            rebuild_after: 3000,
            reconnect: 300,
            checkpoint_every: None,
            replicas: Some(replicas),
            crash_limit: 3,
        };
        let now = Now {
            millis: 1,
            unix: 1000,
        };
        let core = Coordinator::new(config, "sim".into(), 1, Stored::default(), now).unwrap();
        let mut scene = Scene {
            core,
            toy: Toy::cube(6, 4),
            workers: (0..workers).map(SimWorker::new).collect(),
            now,
            connections: 0,
            requests: 0,
            replies: Vec::new(),
            records: Vec::new(),
            shut_down: Vec::new(),
            liars: Vec::new(),
        };
        (0..workers).for_each(|at| scene.connect(at, None));
        scene
    }

    pub(super) fn submit(&mut self, keep: Keep) {
        let record = self.toy.record(2, keep, None, true);
        let request = self.request();
        let submission = Submission {
            request,
            key: "key".into(),
            fresh: false,
            definition: record.definition.clone(),
            roots: record.roots.clone(),
        };
        self.step(Event::Submit(Box::new(submission)));
    }

    fn request(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(self.requests)
    }

    pub(super) fn connect(&mut self, at: usize, ended: Option<Ended>) {
        self.connections += 1;
        let connection = ConnectionId(self.connections);
        self.workers[at].up = true;
        self.workers[at].connection = Some(connection);
        let mut registration = self.workers[at].registration();
        registration.ended = ended;
        let registration = Box::new(registration);
        self.step(Event::Register {
            connection,
            registration,
        });
    }

    fn step(&mut self, event: Event) {
        let effects = self.core.step(self.now, event);
        check::all(&self.core).unwrap();
        for effect in effects {
            match effect {
                Effect::Persist(record) => self.records.push(record),
                Effect::Reply { request, reply } => self.replies.push((request, reply)),
                Effect::Changed { .. } => {}
                Effect::HangUp { connection } => {
                    if let Some(at) = self.at(connection) {
                        self.workers[at].connection = None;
                    }
                }
                Effect::Send { connection, order } => {
                    let Some(at) = self.at(connection) else {
                        continue;
                    };
                    if order == Order::Shutdown {
                        self.shut_down.push(at);
                    }
                    self.workers[at].receive(order, "sim");
                }
            }
        }
    }

    fn at(&self, connection: ConnectionId) -> Option<usize> {
        self.workers
            .iter()
            .position(|w| w.connection == Some(connection))
    }

    /// Time passes; all that are connected are heard.
    fn pass(&mut self, millis: u64) {
        let until = self.now.millis + millis;
        while self.now.millis < until {
            self.now.millis += 100;
            self.now.unix += 1;
            for at in 0..self.workers.len() {
                self.report(
                    at,
                    Report::Heartbeat {
                        memory_bytes: 1,
                        peak_memory_bytes: 1,
                        disk: DiskUse::default(),
                    },
                );
            }
            self.step(Event::Tick);
        }
    }

    pub(super) fn report(&mut self, at: usize, report: Report) {
        if let Some(connection) = self.workers[at].connection {
            self.step(Event::Report { connection, report });
        }
    }

    /// A worker does one task, writes what it is to write, and says so. False: it had nothing to do.
    fn work(&mut self, at: usize) -> bool {
        if !self.workers[at].up || self.workers[at].connection.is_none() {
            return false;
        }
        let busy = !self.workers[at].leases.is_empty() || !self.workers[at].to_disk.is_empty();
        if !self.workers[at].leases.is_empty() {
            compute(&self.toy, &mut self.workers, at, 0, None);
        }
        while !self.workers[at].to_disk.is_empty() {
            self.workers[at].write();
        }
        while let Some(mut report) = self.workers[at].outbox.pop_front() {
            if let (
                true,
                Report::Done {
                    output: TaskOutput::Expanded { digest, .. },
                    ..
                },
            ) = (self.liars.contains(&at), &mut report)
            {
                *digest = digest.plus(Digest(1));
            }
            self.report(at, report);
        }
        busy
    }

    /// Everybody works until nobody can, or the condition holds.
    pub(super) fn work_until(&mut self, enough: impl Fn(&Scene) -> bool) {
        for _ in 0..10_000 {
            let mut busy = false;
            for at in 0..self.workers.len() {
                if enough(self) {
                    return;
                }
                busy |= self.work(at);
            }
            if !busy {
                return;
            }
        }
        panic!("no end in sight");
    }

    fn phase(&self) -> Phase {
        self.core.jobs()[&JOB].progress().phase.clone()
    }

    pub(super) fn complete(&self) -> u32 {
        self.core.jobs()[&JOB].bfs().complete()
    }

    pub(super) fn said(&self, what: &str) -> bool {
        let explained = self.core.explain_job(self.now, JOB).unwrap();
        explained
            .history
            .iter()
            .any(|incident| incident.what.contains(what))
            || explained.now.iter().any(|line| line.contains(what))
    }

    pub(super) fn finish(&mut self) {
        for _ in 0..100 {
            self.work_until(|scene| scene.phase().is_final());
            if self.phase().is_final() {
                break;
            }
            self.pass(500);
        }
        assert_eq!(self.phase(), Phase::Finished);
        let levels = self.core.jobs()[&JOB].levels();
        let counts: Vec<u64> = levels.iter().map(|level| level.count).collect();
        assert_eq!(counts, [1, 6, 15, 20, 15, 6, 1]);
        let digests: Vec<Digest> = levels.iter().map(|level| level.digest).collect();
        let expected = self.toy.levels();
        let expected: Vec<Digest> = expected.iter().map(digest).collect();
        assert_eq!(digests, expected);
    }

    fn checkpoint(&mut self) {
        let request = self.request();
        self.step(Event::Pause { request, job: JOB });
        self.work_until(|scene| scene.phase() == Phase::Paused);
        assert_eq!(self.phase(), Phase::Paused);
        self.resume(false);
    }

    fn resume(&mut self, fresh: bool) {
        let request = self.request();
        self.step(Event::Resume {
            request,
            job: JOB,
            fresh,
        });
        assert_eq!(
            self.replies.pop(),
            Some((request, Reply::Done { job: JOB }))
        );
    }

    /// The process ends; the coordinator sees the connection close, and gives the worker up.
    fn end(&mut self, at: usize, disk_survives: bool) {
        let connection = self.workers[at].connection.take().unwrap();
        self.workers[at].crash(disk_survives);
        self.step(Event::Disconnected { connection });
        self.pass(500);
    }

    fn restart(&mut self, at: usize, ended: Option<Ended>) {
        self.workers[at].start();
        self.connect(at, ended);
    }
}

fn ended(cause: Cause, tasks: &[Task]) -> Option<Ended> {
    let running = tasks.iter().map(|task| (JOB, task.clone())).collect();
    Some(Ended {
        cause,
        at: 7,
        running,
    })
}

#[test]
fn a_checkpoint_is_on_two_disks_and_survives_the_loss_of_one() {
    let mut scene = Scene::new(3, 1);
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 3);
    scene.checkpoint();
    let bfs = scene.core.jobs()[&JOB].bfs();
    let level = bfs.checkpoint().unwrap();
    for shard in 0..4 {
        for artifact in bfs.graph().checkpoint(level, shard) {
            if bfs.content(artifact).unwrap().0 > 0 {
                assert_eq!(
                    bfs.holders(artifact).unwrap().durable_places(),
                    2,
                    "{artifact}"
                );
            }
        }
    }
    let redone = |scene: &Scene| {
        let outlook = scene.core.outlook(scene.now, JOB).unwrap();
        outlook
            .levels
            .iter()
            .map(|level| level.redone.len())
            .sum::<usize>()
    };
    scene.work_until(|scene| scene.complete() > level + 1);
    let before = scene.complete();
    scene.end(0, false);
    assert!(
        scene.said("do not count until it comes back"),
        "the loss is remembered"
    );
    // What was computed since the checkpoint is made again, nothing before it.
    let lowest = scene.core.jobs()[&JOB].bfs();
    let lowest = (1..before).find(|&l| (0..4).any(|s| lowest.cell(l, s).unwrap().wanted));
    assert!(lowest.is_none_or(|lowest| lowest > level), "{lowest:?}");
    assert!(redone(&scene) <= 4 * 2);
    scene.finish();
}

#[test]
fn when_all_is_gone_the_job_says_so_and_begins_anew_only_when_told() {
    let mut scene = Scene::new(1, 1);
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 3);
    scene.checkpoint();
    scene.end(0, false);
    scene.restart(0, None);
    scene.pass(500);
    let Phase::Incomplete { reason } = scene.phase() else {
        panic!("{:?}", scene.phase());
    };
    assert!(
        reason.contains("gone") && reason.contains("--fresh"),
        "{reason}"
    );
    let outlook = scene.core.outlook(scene.now, JOB).unwrap();
    assert!(
        outlook.notes.iter().any(|note| note.contains("--fresh")),
        "{outlook:?}"
    );
    scene.resume(false);
    scene.pass(200);
    assert!(
        matches!(scene.phase(), Phase::Incomplete { .. }),
        "still gone"
    );
    scene.resume(true);
    scene.finish();
}

#[test]
fn what_was_gone_and_comes_back_is_taken_up() {
    let mut scene = Scene::new(2, 0);
    scene.workers[1].threads = 1;
    scene.submit(Keep::Result);
    // All work is done by the first worker.
    let connection = scene.workers[1].connection.take().unwrap();
    scene.step(Event::Disconnected { connection });
    scene.pass(4000);
    scene.work_until(|scene| scene.complete() >= 3);
    scene.checkpoint();
    scene.end(0, true);
    scene.connect(1, None);
    scene.pass(4000);
    assert!(
        matches!(scene.phase(), Phase::Incomplete { .. }),
        "{:?}",
        scene.phase()
    );
    scene.restart(0, ended(Cause::Signal(9), &[]));
    assert_eq!(scene.phase(), Phase::Running);
    let resumed = scene.core.jobs()[&JOB].progress().resumed.unwrap();
    scene.finish();
    let redone = scene.core.jobs()[&JOB]
        .progress()
        .resumed
        .unwrap()
        .tasks_redone;
    assert_eq!(redone, 0, "{resumed:?}");
}

#[test]
fn a_task_that_ends_its_worker_alone_too_often_is_set_aside() {
    let mut scene = Scene::new(1, 0);
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 2);
    let bad = scene.workers[0].leases[0].task.clone();
    let others: Vec<Task> = scene.workers[0]
        .leases
        .iter()
        .map(|l| l.task.clone())
        .collect();
    assert!(others.len() > 1);
    let (mut ends, mut alone) = (0, 0);
    for _ in 0..100 {
        let running: Vec<Task> = scene.workers[0]
            .leases
            .iter()
            .map(|l| l.task.clone())
            .collect();
        if !running.contains(&bad) {
            // Its turn comes later, or never again.
            if running.is_empty() {
                break;
            }
            scene.work(0);
            continue;
        }
        ends += 1;
        if ends > 2 {
            assert_eq!(
                running,
                std::slice::from_ref(&bad),
                "after two ends it runs alone"
            );
            alone += 1;
        }
        let connection = scene.workers[0].connection.take().unwrap();
        scene.workers[0].crash(true);
        scene.step(Event::Disconnected { connection });
        scene.restart(0, ended(Cause::Signal(11), &running));
    }
    assert_eq!(alone, 3);
    scene.work_until(|_| false);
    let Phase::Incomplete { reason } = scene.phase() else {
        panic!("{:?}", scene.phase());
    };
    assert!(reason.contains("SIGSEGV"), "{reason}");
    assert!(scene.said("set aside"));
    scene.resume(false);
    scene.finish();
}

#[test]
fn a_machine_that_restarts_blames_no_task() {
    let mut scene = Scene::new(1, 0);
    scene.submit(Keep::Result);
    for _ in 0..6 {
        let running: Vec<Task> = scene.workers[0]
            .leases
            .iter()
            .map(|l| l.task.clone())
            .collect();
        let connection = scene.workers[0].connection.take().unwrap();
        scene.workers[0].crash(true);
        scene.step(Event::Disconnected { connection });
        scene.restart(0, ended(Cause::MachineRestarted, &running[..1]));
    }
    assert!(scene.core.jobs()[&JOB].progress().crashes.is_empty());
    let explained = scene.core.explain_worker(scene.now, WorkerId(1)).unwrap();
    assert!(
        explained
            .history
            .iter()
            .any(|i| i.what.contains("machine started again"))
    );
    scene.finish();
}

#[test]
fn a_third_worker_decides_between_two_answers() {
    let mut scene = Scene::new(3, 0);
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 2);
    // The liar's next answer is taken; the same task is then done again elsewhere.
    let liar = (0..3)
        .find(|&at| !scene.workers[at].leases.is_empty())
        .unwrap();
    let task = scene.workers[liar].leases[0].task.clone();
    let Task::Expand { level, shard } = task else {
        panic!("{task:?}");
    };
    scene.liars.push(liar);
    scene.work(liar);
    scene.liars.clear();
    let first = scene.core.jobs()[&JOB]
        .bfs()
        .cell(level, shard.0)
        .unwrap()
        .result
        .unwrap();
    assert_eq!(first.by, scene.workers[liar].id);
    scene.end(liar, true);
    scene.finish();
    assert!(
        scene.said("alarm settled"),
        "{:?}",
        scene.core.explain_job(scene.now, JOB)
    );
    assert!(
        scene
            .records
            .iter()
            .any(|record| matches!(record, Record::Refuted { .. }))
    );
}

#[test]
fn without_a_third_worker_the_job_is_suspect() {
    let mut scene = Scene::new(2, 0);
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 2);
    let liar = (0..2)
        .find(|&at| !scene.workers[at].leases.is_empty())
        .unwrap();
    scene.liars.push(liar);
    scene.work(liar);
    scene.liars.clear();
    scene.end(liar, false);
    scene.work_until(|_| false);
    scene.pass(4000);
    scene.work_until(|_| false);
    let Phase::Suspect { reason } = scene.phase() else {
        panic!(
            "{:?} {:?}",
            scene.phase(),
            scene.core.explain_job(scene.now, JOB)
        );
    };
    assert!(
        reason.contains("sim0") && reason.contains("sim1"),
        "{reason}"
    );
    // A third one comes and decides.
    scene.workers.push(SimWorker::new(2));
    scene.connect(2, None);
    scene.resume(false);
    scene.finish();
}

#[test]
fn what_a_worker_retracts_is_made_again_by_another() {
    let mut scene = Scene::new(2, 0);
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 4);
    let held: Vec<(JobId, Artifact)> = scene.workers[0].copies.keys().copied().collect();
    assert!(!held.is_empty());
    for name in &held {
        scene.workers[0].copies.remove(name);
    }
    scene.report(
        0,
        Report::Retract {
            artifacts: held,
            reason: "a check failed".into(),
        },
    );
    assert!(scene.said("retracted"));
    assert!(scene.said("a check failed"));
    scene.finish();
}

#[test]
fn a_draining_worker_hands_over_and_may_go() {
    let mut scene = Scene::new(2, 0);
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 3);
    let request = scene.request();
    scene.step(Event::Drain {
        request,
        worker: WorkerId(1),
    });
    assert_eq!(scene.replies.pop(), Some((request, Reply::Told)));
    let draining = Report::Draining {
        reason: "a signal".into(),
    };
    scene.report(0, draining);
    assert!(
        scene.workers[0].leases.is_empty(),
        "its leases were revoked"
    );
    for _ in 0..100 {
        if scene.shut_down == [0] {
            break;
        }
        scene.work(1);
        scene.work(0);
    }
    assert_eq!(scene.shut_down, [0]);
    scene.report(
        0,
        Report::Leaving {
            reason: String::new(),
        },
    );
    scene.workers[0].connection = None;
    scene.workers[0].crash(false);
    let outlook = scene.core.outlook(scene.now, JOB).unwrap();
    let redone: usize = outlook.levels.iter().map(|level| level.redone.len()).sum();
    assert_eq!(redone, 0, "{outlook:?}");
    scene.finish();
}

#[test]
fn the_only_worker_drains_to_its_disk() {
    let mut scene = Scene::new(1, 1);
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 3);
    let draining = Report::Draining {
        reason: "a signal".into(),
    };
    scene.report(0, draining);
    scene.work(0);
    assert_eq!(scene.shut_down, [0]);
    scene.report(
        0,
        Report::Leaving {
            reason: String::new(),
        },
    );
    scene.workers[0].connection = None;
    scene.workers[0].crash(true);
    scene.pass(1000);
    let (since, reason) = scene.core.jobs()[&JOB].stalled().cloned().unwrap();
    assert!(
        since >= 1000 && reason.contains("no worker"),
        "{since} {reason}"
    );
    scene.restart(0, None);
    let outlook = scene.core.outlook(scene.now, JOB).unwrap();
    let redone: usize = outlook.levels.iter().map(|level| level.redone.len()).sum();
    assert_eq!(redone, 0, "{outlook:?}");
    scene.finish();
}

#[test]
fn a_worker_at_which_all_fails_gets_nothing_more() {
    let mut scene = Scene::new(2, 0);
    scene.submit(Keep::Result);
    for _ in 0..400 {
        if scene.phase().is_final() {
            break;
        }
        if let Some(leased) = scene.workers[0].leases.pop() {
            let failed = Report::Failed {
                job: JOB,
                task: leased.task,
                attempt: leased.attempt,
                failure: Failure::Other("no".into()),
            };
            scene.report(0, failed);
        }
        scene.work(1);
    }
    assert_eq!(scene.phase(), Phase::Finished);
    let condition = scene.core.workers()[&WorkerId(1)].condition();
    assert!(condition.contains("quarantined"), "{condition}");
}

#[test]
fn a_full_disk_takes_no_tasks_and_submissions() {
    let mut scene = Scene::new(1, 0);
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 2);
    let full = |full| Report::Heartbeat {
        memory_bytes: 1,
        peak_memory_bytes: 1,
        disk: DiskUse {
            full,
            ..DiskUse::default()
        },
    };
    scene.report(0, full(true));
    scene.work_until(|_| false);
    assert!(!scene.phase().is_final());
    assert_eq!(scene.core.workers()[&WorkerId(1)].condition(), "disk full");
    scene.report(0, full(false));
    scene.work_until(|scene| scene.complete() >= 3);
    scene.step(Event::Disk {
        full: Some("the coordinator's disk is full".into()),
    });
    scene.work_until(|_| false);
    assert!(!scene.phase().is_final());
    let record = scene.toy.record(0, Keep::Result, None, true);
    let request = scene.request();
    let submission = Submission {
        request,
        key: "another".into(),
        fresh: true,
        definition: record.definition.clone(),
        roots: record.roots,
    };
    scene.step(Event::Submit(Box::new(submission)));
    assert!(matches!(
        scene.replies.pop(),
        Some((_, Reply::NotNow { .. }))
    ));
    scene.step(Event::Disk { full: None });
    scene.finish();
}

#[test]
fn kept_frontiers_end_as_distances_and_the_frontiers_go() {
    let mut scene = Scene::new(2, 1);
    scene.submit(Keep::Frontiers);
    scene.finish();
    let bfs = scene.core.jobs()[&JOB].bfs();
    for (shard, packed) in bfs.packed().iter().enumerate() {
        assert_eq!(packed.holders.durable_places(), 2, "shard {shard}");
        assert_eq!(packed.result.unwrap().0, 16);
    }
    for worker in &scene.workers {
        assert!(!worker.copies.is_empty());
        for (_, artifact) in worker.copies.keys() {
            assert_eq!(*artifact, Artifact::distances(6, artifact.shard));
        }
    }
    // A worker that comes back brings them along.
    scene.end(0, true);
    scene.restart(0, None);
    assert!(
        scene.core.jobs()[&JOB]
            .bfs()
            .packed()
            .iter()
            .all(|p| p.holders.durable_places() == 2)
    );
}

#[test]
fn a_dropped_job_is_gone_and_its_number_too() {
    let mut scene = Scene::new(1, 0);
    scene.submit(Keep::Result);
    let request = scene.request();
    scene.step(Event::Forget { request, job: JOB });
    assert!(
        matches!(scene.replies.pop(), Some((_, Reply::Invalid { .. }))),
        "it has not ended"
    );
    scene.finish();
    let request = scene.request();
    scene.step(Event::Forget { request, job: JOB });
    assert_eq!(
        scene.replies.pop(),
        Some((request, Reply::Done { job: JOB }))
    );
    assert!(scene.core.jobs().is_empty());
    scene.submit(Keep::Result);
    assert_eq!(scene.core.jobs().keys().next(), Some(&JobId(2)));
}

#[test]
fn a_checkpoint_that_lost_a_place_gets_another() {
    let mut scene = Scene::new(3, 1);
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 3);
    let request = scene.request();
    scene.step(Event::Pause { request, job: JOB });
    scene.work_until(|scene| scene.phase() == Phase::Paused);
    assert!(scene.core.jobs()[&JOB].bfs().scarce().is_empty());
    scene.end(0, false);
    scene.pass(4000);
    // Also while nothing is computed.
    scene.work_until(|_| false);
    assert!(scene.core.jobs()[&JOB].bfs().scarce().is_empty());
    scene.end(1, false);
    scene.resume(false);
    scene.finish();
    let resumed = scene.core.jobs()[&JOB].progress().resumed.unwrap();
    assert_eq!(resumed.tasks_redone, 0, "{resumed:?}");
}

#[test]
fn kept_frontiers_of_a_directed_list_are_on_two_disks_and_stay_so() {
    let mut scene = Scene::new(3, 1);
    scene.toy.directed = true;
    scene.submit(Keep::Frontiers);
    scene.finish();
    let places = |scene: &Scene| {
        let bfs = scene.core.jobs()[&JOB].bfs();
        let cells = (1..=6).flat_map(|level| (0..4).map(move |shard| (level, shard)));
        let held = cells
            .filter(|&(level, shard)| bfs.content(Artifact::frontier(level, shard)).unwrap().0 > 0);
        let places = held.map(|(level, shard)| {
            let holders = bfs.holders(Artifact::frontier(level, shard));
            holders.unwrap().durable_places()
        });
        places.min().unwrap()
    };
    assert_eq!(places(&scene), 2);
    scene.end(0, false);
    scene.pass(4000);
    scene.work_until(|_| false);
    assert_eq!(
        places(&scene),
        2,
        "what was lost is copied again, although the job has ended"
    );
}

#[test]
fn copies_of_a_dropped_job_are_nobodys_work_any_more() {
    let mut scene = Scene::new(3, 1);
    scene.toy.directed = true;
    scene.submit(Keep::Frontiers);
    scene.finish();
    scene.end(0, false);
    scene.pass(4000);
    let leases = |scene: &Scene| -> usize {
        let workers = scene.core.workers().values();
        workers.map(|worker| worker.leases().len()).sum()
    };
    assert!(leases(&scene) > 0, "what was lost is being copied");
    let request = scene.request();
    scene.step(Event::Forget { request, job: JOB });
    assert_eq!(leases(&scene), 0);
}
