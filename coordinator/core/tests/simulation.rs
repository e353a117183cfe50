//! Whatever order things happen in and whatever fails: the counts are those of the dull search, the
//! job ends, and every invariant holds after every step.

mod sim;

use antipode_solver_core::job::Keep;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sim::cluster::{Cluster, Plan, Seen};
use sim::toy::Toy;

/// More with e.g. ANTIPODE_SIM_SEEDS=20000.
fn seeds() -> u64 {
    std::env::var("ANTIPODE_SIM_SEEDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(300)
}

fn plan(seed: u64) -> Plan {
    let mut rng = StdRng::seed_from_u64(seed ^ 0xA5A5);
    let toy = match rng.random_range(0..3) {
        0 => Toy::cube(rng.random_range(3..8), rng.random_range(1..8)),
        1 => Toy::directed(rng.random_range(20..120), rng.random_range(1..7), &mut rng),
        _ => Toy::path(rng.random_range(10..60), rng.random_range(1..9), &mut rng),
    };
    Plan {
        toy,
        workers: rng.random_range(1..5),
        antipodes: rng.random_range(0..4),
        keep: if rng.random_bool(0.2) {
            Keep::Frontiers
        } else {
            Keep::Result
        },
        depth: rng.random_bool(0.2).then(|| rng.random_range(0..8)),
        known: rng.random_bool(0.6),
        faults: 0,
        coordinator_restarts: 0,
        pauses: 0,
        checkpoint_every: rng.random_bool(0.5).then(|| rng.random_range(50..2000)),
        replicas: [None, Some(0), Some(2)][rng.random_range(0..3)],
    }
}

#[test]
fn without_faults_every_order_gives_the_counts() {
    for seed in 0..seeds() {
        Cluster::new(plan(seed), seed).run();
    }
}

#[test]
fn crashes_cuts_and_repeats_change_nothing() {
    for seed in 0..seeds() {
        Cluster::new(
            Plan {
                faults: 12,
                ..plan(seed)
            },
            seed,
        )
        .run();
    }
}

#[test]
fn restarts_of_the_coordinator_change_nothing() {
    for seed in 0..seeds() {
        Cluster::new(
            Plan {
                coordinator_restarts: 3,
                ..plan(seed)
            },
            seed,
        )
        .run();
    }
}

#[test]
fn pauses_keep_what_they_promise() {
    let mut at_end = 0;
    for seed in 0..seeds() {
        let mut cluster = Cluster::new(
            Plan {
                pauses: 3,
                ..plan(seed)
            },
            seed,
        );
        cluster.run();
        at_end += cluster.seen.paused_at_end;
    }
    assert!(at_end > 0, "no pause came after the last level");
}

#[test]
fn everything_at_once() {
    let mut seen = Seen::default();
    for seed in 0..seeds() {
        let plan = Plan {
            faults: 10,
            coordinator_restarts: 2,
            pauses: 2,
            ..plan(seed)
        };
        let mut cluster = Cluster::new(plan, seed);
        cluster.run();
        seen += cluster.seen;
    }
    // A simulation in which nothing happens proves nothing.
    let least = [
        seen.consumed,
        seen.released,
        seen.to_disk,
        seen.revoked,
        seen.checkpoints,
        seen.resumptions,
        seen.moved,
    ];
    assert!(least.iter().all(|&times| times >= seeds() / 10), "{seen:?}");
}

#[test]
fn one_seed_gives_one_history() {
    for seed in 0..5 {
        let plan = || Plan {
            faults: 8,
            coordinator_restarts: 1,
            pauses: 1,
            ..plan(seed)
        };
        let (mut a, mut b) = (Cluster::new(plan(), seed), Cluster::new(plan(), seed));
        a.run();
        b.run();
        assert_eq!(a.log, b.log);
    }
}

#[test]
fn without_faults_no_task_is_leased_twice() {
    for seed in 0..100 {
        let plan = Plan {
            replicas: Some(0),
            ..plan(seed)
        };
        let levels = plan.toy.levels().len() as u64;
        // Every shard of every level, one empty level at the end, levels ahead, the final tasks and distances.
        let most = u64::from(plan.toy.shards) * (levels + 6) + 1;
        let mut cluster = Cluster::new(plan, seed);
        cluster.run();
        assert!(
            cluster.leases <= most,
            "seed {seed}: {} leases, {most} expected at most",
            cluster.leases
        );
    }
}
