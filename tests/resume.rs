//! What is left of a run that was killed: looked at, explained, taken up again, dropped; and pausing, resuming and
//! draining in a cluster.

mod common;

use common::{Process, User, eventually};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// 362,880 states in 37 levels; every level waits for shard 0 of 9.
const JOB: &str = "run bfs lrx:9 --shards 9 --json --checkpoint-every 50ms";

/// A run that is killed at work, some levels after its first checkpoint.
fn killed(user: &User, data: &str) {
    let mut words: Vec<&str> = JOB.split(' ').collect();
    words.extend(["--data", data]);
    let mut command = user.command(words);
    command.env("ANTIPODE_TEST_DELAY", "shard=0,ms=120");
    let mut process = Process::of(command);
    // Checkpoints begin once a second: two are over by then.
    process.wait_for_level(22);
    process.signal("KILL");
    assert_eq!(process.finish().code, None, "it was killed");
}

/// The folders of the runs under `data`.
fn runs(user: &User, data: &str) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(user.path(data).join("runs"));
    runs.into_iter()
        .flatten()
        .flatten()
        .map(|run| run.path())
        .collect()
}

fn same_answer(one: &Value, two: &Value) {
    assert_eq!(one["states"], "362880");
    for field in [
        "counts",
        "level_digests",
        "antipodes",
        "fingerprint",
        "complete",
    ] {
        assert_eq!(one[field], two[field], "{field}");
    }
}

/// The folder of the only run under `data`.
fn folder(user: &User, data: &str) -> PathBuf {
    runs(user, data).pop().expect("a run")
}

/// Every file with its content.
fn snapshot(of: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(of).expect("a directory") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(snapshot(&path)),
            false => found.push((path.clone(), std::fs::read(&path).expect("a file"))),
        }
    }
    found.sort();
    found
}

#[test]
fn a_killed_run_says_what_it_would_keep_and_goes_on_to_the_same_answer() {
    let user = User::new();
    let quiet = user.json(&format!("{JOB} --data quiet"));
    killed(&user, "store");
    let worker = folder(&user, "store").join("worker");
    let before = snapshot(&worker);
    let outlook = user.json("resume last --dry-run --data store --json");
    common::fits("outlook", &outlook);
    assert_eq!(outlook["state"], "running", "{outlook}");
    let checkpoint = outlook["checkpoint"].as_u64().expect("a checkpoint");
    assert!(checkpoint >= 5, "{outlook}");
    let levels = outlook["levels"].as_array().expect("levels");
    assert!(levels.len() as u64 >= checkpoint, "{outlook}");
    let kept: u64 = levels.iter().filter_map(|l| l["kept"].as_u64()).sum();
    assert!(kept >= checkpoint, "{outlook}");
    assert_eq!(levels[0]["redone"], serde_json::json!([]), "{outlook}");
    assert!(before == snapshot(&worker), "a look changes nothing");

    let explained = user.json("explain last --data store --json");
    common::fits("explain", &explained);
    assert!(
        explained["now"][0]
            .as_str()
            .is_some_and(|text| text.contains("nobody works on it")),
        "{explained}"
    );
    let task = user.run("explain last/3/0 --data store");
    assert!(task.stdout.contains("its result is"), "{task:?}");

    let resumed = user.json("resume last --data store --json");
    common::fits("bfs", &resumed);
    let from = resumed["resumed"]["from_level"].as_u64();
    assert!(from >= Some(checkpoint), "{resumed}");
    same_answer(&quiet, &resumed);
    user.run("resume last --data store")
        .is_refused(&["finished already"]);
}

#[test]
fn a_run_without_its_worker_folder_says_what_is_gone_and_begins_anew_only_when_told() {
    let user = User::new();
    let quiet = user.json(&format!("{JOB} --data quiet"));
    for (data, gone) in [("deleted", "worker"), ("emptied", "worker/jobs")] {
        killed(&user, data);
        std::fs::remove_dir_all(folder(&user, data).join(gone)).expect("deleted");
        for command in [
            format!("{JOB} --data {data}"),
            format!("resume last --data {data}"),
        ] {
            let refused = user.run(&command);
            assert_eq!(refused.code, Some(1), "{refused:?}");
            for part in ["is gone", "checkpoint at level", "worker", "--fresh"] {
                assert!(refused.stderr.contains(part), "{part}: {refused:?}");
            }
        }
        let outlook = user.json(&format!("resume last --dry-run --data {data} --json"));
        let last = outlook["levels"].as_array().map_or(0, Vec::len) - 1;
        let redone = &outlook["levels"][last]["redone"][0]["reason"];
        assert!(
            redone
                .as_str()
                .is_some_and(|why| why.contains("no worker has")),
            "{outlook}"
        );
    }
    same_answer(&quiet, &user.json(&format!("{JOB} --data deleted --fresh")));
    same_answer(
        &quiet,
        &user.json("resume last --data emptied --fresh --json"),
    );
}

#[test]
fn what_can_be_dropped_is_said_before_it_is() {
    let user = User::new();
    user.json("run bfs lrx:6 --data store --json");
    killed(&user, "store");
    let jobs = user.json("jobs --data store --json");
    common::fits("jobs", &jobs);
    let name = |k: usize| jobs["jobs"][k]["job"].as_str().expect("a name").to_string();
    let (ended, unfinished) = (name(0), name(1));
    assert!(jobs["jobs"][1]["stored_bytes"].as_u64() > Some(0), "{jobs}");

    // What no job needs: a set-aside store, frontiers of a job that nobody knows, a folder without a job.
    let jobs_of = user
        .path("store/runs")
        .join(&unfinished)
        .join("worker/jobs");
    let own = std::fs::read_dir(&jobs_of)
        .expect("jobs")
        .next()
        .expect("one")
        .expect("it")
        .path();
    std::fs::write(own.join("store.damaged"), vec![7; 100_000]).expect("written");
    std::fs::create_dir_all(jobs_of.join("77")).expect("made");
    std::fs::create_dir_all(user.path("store/runs/empty-0123/worker")).expect("made");
    let garbage = user.json("gc --data store --dry-run --json");
    common::fits("gc", &garbage);
    assert_eq!(
        garbage["dropped"].as_array().map(Vec::len),
        Some(3),
        "{garbage}"
    );
    assert!(garbage["bytes"].as_u64() >= Some(100_000), "{garbage}");
    assert!(own.join("store.damaged").exists(), "only said");
    assert_eq!(
        user.json("gc --data store --json")["bytes"],
        garbage["bytes"]
    );
    assert!(!own.join("store.damaged").exists() && !jobs_of.join("77").exists());
    assert!(own.join("store.redb").exists(), "what the job needs stays");

    user.run(&format!("gc {unfinished} --data store"))
        .is_refused(&["not finished", "--unfinished"]);
    user.run("gc nothing --data store")
        .is_refused(&["nothing", "it has"]);
    let dropped = user.json("gc --all-ended --data store --json");
    assert_eq!(
        dropped["dropped"].as_array().map(Vec::len),
        Some(1),
        "{dropped}"
    );
    let left = user.json("jobs --data store --json");
    assert_eq!(left["jobs"].as_array().map(Vec::len), Some(1), "{left}");
    assert!(!user.path("store/runs").join(&ended).exists());
    user.json(&format!("gc {unfinished} --unfinished --data store --json"));
    assert_eq!(
        user.json("jobs --data store --json")["jobs"],
        serde_json::json!([])
    );
}

#[test]
fn a_run_that_is_at_work_is_not_dropped() {
    let user = User::new();
    let mut words: Vec<&str> = JOB.split(' ').collect();
    words.extend(["--data", "store"]);
    let mut command = user.command(words);
    command.env("ANTIPODE_TEST_DELAY", "shard=0,ms=100");
    let mut process = Process::of(command);
    process.wait_for_level(2);
    let name = folder(&user, "store")
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let refused = user.run(&format!("gc {name} --unfinished --data store"));
    refused.is_refused(&["in use", &process.pid().to_string()]);
    user.run("gc --all-ended --data store");
    assert!(folder(&user, "store").join("coordinator").exists());
}

/// A worker that lets every task of shard 0 wait.
fn slow_worker(user: &User, name: &str, wait_ms: u32) -> Process {
    let mut command = user.command(["worker", "--data", name, "--name", name, "--threads", "1"]);
    command.env("ANTIPODE_TEST_DELAY", format!("shard=0,ms={wait_ms}"));
    Process::of(command)
}

#[test]
fn a_job_of_a_cluster_is_paused_resumed_explained_and_dropped() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let _worker = slow_worker(&user, "worker", 40);
    user.json("submit bfs lrx:9 --shards 9 --json");
    eventually("some levels are done", || {
        user.json("show 1 --json")["counts"]
            .as_array()
            .map_or(0, Vec::len)
            > 4
    });
    let paused = user.json("pause 1 --json");
    common::fits("bfs", &paused);
    assert_eq!(paused["state"], "paused");
    let outlook = user.json("resume 1 --dry-run --json");
    common::fits("outlook", &outlook);
    assert!(outlook["checkpoint"].as_u64() >= Some(4), "{outlook}");
    let explained = user.json("explain 1 --json");
    common::fits("explain", &explained);
    assert!(
        explained["now"][0]
            .as_str()
            .is_some_and(|text| text.contains("paused")),
        "{explained}"
    );
    for (subject, part) in [
        ("1/2/0", "result"),
        ("worker", "connected"),
        ("w1", "connected"),
    ] {
        let said = user.run(&format!("explain {subject}"));
        assert!(
            said.code == Some(0) && said.stdout.contains(part),
            "{said:?}"
        );
    }
    user.run("gc 1").is_refused(&["paused", "--unfinished"]);
    let resumed = user.run("resume 1");
    assert!(resumed.stdout.contains("goes on"), "{resumed:?}");
    eventually("it is finished", || {
        user.json("show 1 --json")["state"] == "finished"
    });
    assert!(user.run("resume 1").stdout.contains("finished already"));
    assert!(user.run("pause 1").stdout.contains("nothing to pause"));
    common::fits("gc", &user.json("gc 1 --dry-run --json"));
    assert_eq!(
        user.json("jobs --json")["jobs"].as_array().map(Vec::len),
        Some(1)
    );
    user.json("gc --all-ended --json");
    assert_eq!(user.json("jobs --json")["jobs"], serde_json::json!([]));
}

#[test]
fn a_drained_worker_leaves_and_the_job_goes_on_without_it() {
    let user = User::new();
    let quiet = user.json(&format!("{JOB} --data quiet"));
    let (_coordinator, _) = user.coordinator("coordinator");
    let _stays = slow_worker(&user, "stays", 30);
    let goes = slow_worker(&user, "goes", 30);
    eventually("both are connected", || {
        user.json("workers --json")["workers"]
            .as_array()
            .map_or(0, Vec::len)
            == 2
    });
    let mut waiting = user.start("submit bfs lrx:9 --shards 9 --wait --json");
    waiting.wait_for_level(5);
    let drained = user.json("worker drain goes --json");
    common::fits("drain", &drained);
    assert_eq!(drained["condition"], "left", "{drained}");
    assert_eq!(goes.finish().code, Some(0));
    let list = user.json("workers --json");
    common::fits("workers", &list);
    let gone = list["workers"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|w| w["name"] == "goes");
    assert_eq!(
        gone.map(|w| &w["connected"]),
        Some(&Value::Bool(false)),
        "{list}"
    );
    same_answer(&quiet, &waiting.finish().json());
}

#[test]
fn a_damaged_store_hides_no_other_and_is_set_aside_when_told() {
    let user = User::new();
    user.json("run bfs lrx:6 --data data --json");
    user.json("run bfs lrx:7 --data data --json");
    let runs = std::fs::read_dir(user.path("data/runs")).expect("runs");
    let damaged = runs
        .flatten()
        .map(|run| run.path())
        .find(|run| run.to_string_lossy().contains("lrx-7"))
        .expect("the run");
    let store = damaged.join("coordinator/coordinator.redb");
    std::fs::write(&store, b"something else").expect("it is written");
    let jobs = user.run("jobs --data data --json");
    assert_eq!(
        jobs.json()["jobs"].as_array().map(Vec::len),
        Some(1),
        "{jobs:?}"
    );
    assert!(jobs.stderr.contains("damaged"), "{jobs:?}");
    user.run("run bfs lrx:7 --data data")
        .is_refused(&["damaged"]);
    let fresh = user.run("run bfs lrx:7 --data data --fresh --json");
    assert_eq!(fresh.json()["states"], "5040");
    assert!(fresh.stderr.contains("set aside"), "{fresh:?}");
    // The results gone, and what the worker held left over.
    std::fs::remove_dir_all(damaged.join("coordinator")).expect("it was there");
    assert_eq!(
        user.json("run bfs lrx:7 --data data --json")["states"],
        "5040"
    );
}
