//! How long a worker that went away is waited for. The wall clock jumps by centuries all the time:
//! it must not matter.

use super::toy::Toy;
use super::worker::SimWorker;
use antipode_coordinator_core::record::Stored;
use antipode_coordinator_core::{
    Config, ConnectionId, Coordinator, Effect, Event, Now, Order, Report, RequestId, Submission,
};
use antipode_ids::WorkerId;
use antipode_solver_core::job::Keep;

const CONFIG: Config = Config {
    heartbeat: 1000,
    lease: 10_000,
    rebuild_after: 30_000,
    reconnect: 2000,
    checkpoint_every: None,
    replicas: None,
    crash_limit: 5,
};
const FIRST: ConnectionId = ConnectionId(1);
const SECOND: ConnectionId = ConnectionId(2);

struct Scene {
    core: Coordinator,
    millis: u64,
}

impl Scene {
    /// A job of two shards, and two workers with a task each, at time 0.
    fn new() -> Scene {
        let now = Now { millis: 0, unix: 0 };
        let core = Coordinator::new(CONFIG, "sim".into(), 1, Stored::default(), now).unwrap();
        let mut scene = Scene { core, millis: 0 };
        for (k, connection) in [FIRST, SECOND].into_iter().enumerate() {
            scene.register(k, connection);
        }
        let record = Toy::cube(4, 2).record(0, Keep::Result, None, true);
        let submission = Submission {
            request: RequestId(1),
            key: "key".into(),
            fresh: false,
            definition: record.definition.clone(),
            roots: record.roots.clone(),
        };
        let effects = scene.step(Event::Submit(Box::new(submission)));
        assert_eq!(leases_to(&effects, FIRST), 1);
        assert_eq!(leases_to(&effects, SECOND), 1);
        scene
    }

    fn step(&mut self, event: Event) -> Vec<Effect> {
        let millis = self.millis;
        let unix = millis.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30;
        self.core.step(Now { millis, unix }, event)
    }

    fn register(&mut self, k: usize, connection: ConnectionId) -> Vec<Effect> {
        let mut registration = SimWorker::new(k).registration();
        registration.worker = Some(WorkerId(k as u64 + 1));
        registration.threads = 1;
        let registration = Box::new(registration);
        self.step(Event::Register {
            connection,
            registration,
        })
    }

    /// Time passes; these connections are heard every second. Effects of all of it.
    fn pass(&mut self, until: u64, heard: &[ConnectionId]) -> Vec<Effect> {
        let mut effects = Vec::new();
        while self.millis < until {
            self.millis += 1000;
            for &connection in heard {
                let report = Report::Heartbeat {
                    memory_bytes: 0,
                    peak_memory_bytes: 0,
                    disk: Default::default(),
                };
                effects.extend(self.step(Event::Report { connection, report }));
            }
            effects.extend(self.step(Event::Tick));
        }
        effects
    }
}

fn leases_to(effects: &[Effect], to: ConnectionId) -> usize {
    let lease = |effect: &&Effect| matches!(effect, Effect::Send { connection, order: Order::Lease { .. } } if *connection == to);
    effects.iter().filter(lease).count()
}

#[test]
fn the_shards_of_a_closed_connection_move_at_once() {
    let mut scene = Scene::new();
    scene.pass(3000, &[FIRST, SECOND]);
    scene.step(Event::Disconnected { connection: FIRST });
    let waiting = scene.pass(4000, &[SECOND]);
    assert_eq!(leases_to(&waiting, SECOND), 0, "it may connect again");
    let moved = scene.pass(5000, &[SECOND]);
    assert_eq!(leases_to(&moved, SECOND), 1);
}

#[test]
fn a_worker_that_connects_again_keeps_its_shards() {
    let mut scene = Scene::new();
    scene.step(Event::Disconnected { connection: FIRST });
    scene.pass(1000, &[SECOND]);
    let third = ConnectionId(3);
    let back = scene.register(0, third);
    assert_eq!(
        leases_to(&back, third),
        1,
        "it forgot its lease and gets it again"
    );
    let effects = scene.pass(60_000, &[SECOND, third]);
    assert_eq!(leases_to(&effects, SECOND), 0);
}

#[test]
fn a_silence_is_waited_for_longer() {
    for gives_up in [None, Some(15_000), Some(8000)] {
        let mut scene = Scene::new();
        let mut effects = scene.pass(gives_up.unwrap_or(8000), &[SECOND]);
        if gives_up.is_some() {
            // The network's own notice of a dead peer.
            effects.extend(scene.step(Event::Disconnected { connection: FIRST }));
        }
        effects.extend(scene.pass(30_000, &[SECOND]));
        assert_eq!(leases_to(&effects, SECOND), 0, "{gives_up:?}");
        let moved = scene.pass(31_000, &[SECOND]);
        assert_eq!(leases_to(&moved, SECOND), 1, "{gives_up:?}");
    }
}
