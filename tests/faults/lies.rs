//! Workers that give wrong answers, and tasks that end or fail their workers.

use crate::common::{User, eventually};
use crate::stage::{JOB, Stage, WORKERS};
use std::time::Duration;

/// Nobody looks at an answer twice unless it must be made again: the liar's disk goes, and others make
/// what it held.
#[test]
fn a_lie_is_found_and_a_third_worker_decides() {
    let coordinator = "--replicas 0 --checkpoint-every 1h";
    let mut stage = Stage::prepared("", coordinator, vec![String::new(); WORKERS]);
    stage.start_coordinator(None);
    stage.worker_environment = Some(("ANTIPODE_TEST_LIE".into(), "level=6".into()));
    stage.start_worker(0);
    stage.worker_environment = None;
    (1..WORKERS).for_each(|at| stage.start_worker(at));
    stage.submit();
    stage.reach(8);
    stage.kill_worker(0);
    std::fs::remove_dir_all(stage.user.path("worker0")).expect("its folder");
    // A third one, to decide.
    stage.start_worker(0);
    stage.finish();
    let explained = stage.user.run("explain last");
    assert!(explained.stdout.contains("alarm"), "{explained:?}");
    assert!(explained.stdout.contains("wrong answers"), "{explained:?}");
}

/// The whole process ends each time, as it does in a `run`.
#[test]
fn a_task_that_ends_its_process_is_set_aside_and_done_when_it_works_again() {
    let user = User::new();
    let run = |crash: bool| {
        let line = format!("run {JOB} --crash-limit 3 --data data --json");
        let mut command = user.command(line.split_whitespace());
        if crash {
            command.env("ANTIPODE_TEST_CRASH", "shard=3,level=5");
        }
        crate::common::Process::of(command).finish()
    };
    let mut ends = 0;
    let incomplete = loop {
        let ended = run(true);
        match ended.code {
            // Ended by a signal.
            None => ends += 1,
            Some(code) => break (code, ended),
        }
        assert!(ends < 10, "it is never set aside");
    };
    assert_eq!(incomplete.0, 1, "{incomplete:?}");
    assert!(
        incomplete.1.stderr.contains("level 5, shard 3"),
        "{incomplete:?}"
    );
    assert!((3..=5).contains(&ends), "{ends}");
    let explained = user.run("explain last --data data");
    assert!(explained.stdout.contains("set aside"), "{explained:?}");
    let report = run(false).json();
    assert_eq!(report["states"], "362880");
    assert_eq!(report["complete"], true);
}

#[test]
fn a_task_that_fails_everywhere_leaves_the_job_incomplete_and_resumable() {
    let mut stage = Stage::prepared("", "", vec![String::new(); WORKERS]);
    stage.start_coordinator(None);
    stage.worker_environment = Some(("ANTIPODE_TEST_FAIL".into(), "shard=2,level=4".into()));
    (0..WORKERS).for_each(|at| stage.start_worker(at));
    stage.submit();
    eventually("the job is incomplete", || {
        stage
            .status()
            .is_some_and(|status| status["state"] == "incomplete")
    });
    let status = stage.status().expect("the coordinator answers");
    let reason = status["reason"].as_str().unwrap_or("").to_string();
    assert!(reason.contains("level 4, shard 2"), "{reason}");
    stage.worker_environment = None;
    for at in 0..WORKERS {
        stage.kill_worker(at);
        stage.start_worker(at);
    }
    let resumed = stage.user.run("resume 1");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    stage.finish();
}

/// What a worker was doing when it was killed is told by its next start, and nobody is blamed for one end.
#[test]
fn one_kill_costs_little() {
    let mut stage = Stage::new();
    stage.reach(6);
    let before = std::time::Instant::now();
    stage.kill_worker(1);
    stage.start_worker(1);
    stage.finish();
    assert!(before.elapsed() < Duration::from_secs(30));
}

/// With a depth limit there is no sum that would show it.
#[test]
fn verification_finds_a_wrong_answer_that_nothing_else_did() {
    let user = User::new();
    let line = "run bfs lrx:8 --depth 9 --data data --json";
    let mut command = user.command(line.split_whitespace());
    command.env("ANTIPODE_TEST_LIE", "level=9");
    let wrong = crate::common::Process::of(command).finish().json();
    let right = user.json("run bfs lrx:8 --depth 9 --data other --json");
    assert_ne!(wrong["level_digests"], right["level_digests"]);
    assert_eq!(user.run("verify last --all --data other").code, Some(0));
    let verified = user.run("verify last --all --data data");
    assert_eq!(verified.code, Some(70), "{verified:?}");
    assert!(verified.stdout.contains("differs"), "{verified:?}");
}
