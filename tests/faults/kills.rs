//! Processes that end or stand still.

use crate::common::eventually;
use crate::stage::{Stage, WORKERS};

const TIMES: usize = 20;

#[test]
fn the_coordinator_is_killed_again_and_again() {
    let mut stage = Stage::new();
    let mut levels = 1;
    for _ in 0..TIMES {
        levels = stage.reach(levels) + 1;
        stage.kill_coordinator();
        stage.start_coordinator(None);
    }
    let report = stage.finish();
    assert_eq!(stage.faults, TIMES);
    assert_eq!(
        report["resumed"]["tasks_redone"], 0,
        "what workers hold is not computed again: {}",
        report["resumed"]
    );
}

#[test]
fn workers_are_killed_again_and_again() {
    let mut stage = Stage::new();
    let mut levels = 2;
    for round in 0..TIMES {
        levels = stage.reach(levels) + 1;
        let at = round % WORKERS;
        stage.kill_worker(at);
        stage.start_worker(at);
    }
    stage.finish();
    assert_eq!(stage.faults, TIMES);
    let explained = stage.user.run("explain w0");
    assert!(explained.stdout.contains("without a word"), "{explained:?}");
}

#[test]
fn everything_is_killed_at_once_again_and_again() {
    let mut stage = Stage::new();
    let mut levels = 2;
    for _ in 0..TIMES {
        levels = stage.reach(levels) + 1;
        for at in 0..WORKERS {
            stage.workers[at].as_ref().expect("it runs").signal("KILL");
        }
        stage.kill_coordinator();
        for at in 0..WORKERS {
            stage.kill_worker(at);
        }
        stage.start_all();
    }
    stage.finish();
    assert_eq!(stage.faults, TIMES);
}

/// Past the lease, so that others have its tasks by then.
#[test]
fn workers_stand_still_past_their_lease_and_go_on() {
    let mut stage = Stage::new();
    let mut levels = 2;
    for round in 0..TIMES {
        levels = stage.reach(levels) + 1;
        let at = round % WORKERS;
        let stopped = stage.workers[at].as_ref().expect("it runs");
        stopped.signal("STOP");
        if round % 4 == 0 {
            // Until the coordinator has given it up.
            eventually("the silence is noticed", || {
                let list = stage.user.json("workers --json");
                let list = list["workers"].as_array().expect("a list").clone();
                list.iter().any(|w| w["connected"] == false)
            });
        }
        stage.workers[at].as_ref().expect("it runs").signal("CONT");
    }
    stage.finish();
    assert_eq!(stage.faults, TIMES);
}

#[test]
fn the_coordinator_stands_still_and_goes_on() {
    let mut stage = Stage::new();
    let mut levels = 2;
    for _ in 0..TIMES {
        levels = stage.reach(levels) + 1;
        let coordinator = stage.coordinator.as_ref().expect("it runs");
        coordinator.signal("STOP");
        std::thread::sleep(std::time::Duration::from_millis(150));
        coordinator.signal("CONT");
    }
    stage.finish();
}

/// At the n-th commit, with the transaction filled and not committed, or just committed.
#[test]
fn the_coordinator_ends_in_the_middle_of_a_commit() {
    let mut stage = Stage::new();
    let mut ends = 0;
    for round in 0..TIMES {
        stage.kill_coordinator();
        let point = ["commit", "committed"][round % 2];
        stage.start_coordinator(Some(&format!("{point}={}", 2 + round % 5)));
        let coordinator = stage.coordinator.take().expect("it was started");
        let ended = coordinator.finish();
        assert!(
            ended.stderr.contains("ANTIPODE_TEST_KILL: the end"),
            "{ended:?}"
        );
        ends += 1;
    }
    assert_eq!(ends, TIMES);
    stage.start_coordinator(None);
    stage.finish();
}

/// An artifact is half written.
#[test]
fn a_worker_ends_in_the_middle_of_a_commit() {
    let mut stage = Stage::prepared("--keep frontiers", "", vec![String::new(); WORKERS]);
    stage.start_all();
    stage.submit();
    for round in 0..TIMES {
        let at = round % WORKERS;
        stage.kill_worker(at);
        let point = ["commit", "committed"][round % 2];
        stage.worker_kill = Some(format!("{point}={}", 1 + round % 3));
        stage.start_worker(at);
        stage.worker_kill = None;
        let ended = stage.workers[at].take().expect("it was started").finish();
        assert!(
            ended.stderr.contains("ANTIPODE_TEST_KILL: the end"),
            "{ended:?}"
        );
        stage.start_worker(at);
    }
    stage.finish();
}
