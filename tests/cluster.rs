//! A coordinator and workers as real processes on loopback.

mod common;

use common::{Process, User, eventually, fits, workers};

/// `growth_cayleypy.json`, row `topspin-9-4`.
const TOPSPIN_9: [u64; 24] = [
    1, 3, 6, 12, 24, 46, 88, 168, 322, 613, 1137, 2095, 3745, 6385, 10697, 17134, 24461, 30412,
    32269, 27633, 17101, 5884, 1112, 92,
];

#[test]
fn one_two_and_three_workers_count_the_same() {
    for number in 1..=3 {
        let user = User::new();
        let (_coordinator, _) = user.coordinator("coordinator");
        let _workers = workers(&user, number);
        let report = user.json("submit bfs topspin:9,4 --shards 9 --wait --json");
        let counts: Vec<String> = TOPSPIN_9.iter().map(u64::to_string).collect();
        assert_eq!(
            report["counts"],
            serde_json::json!(counts),
            "{number} workers"
        );
        assert_eq!(
            report["workers"], number,
            "each worker ran a task: {report}"
        );
        assert_eq!(report["threads"], number);
    }
}

#[test]
fn a_job_can_be_submitted_watched_listed_and_shown_again() {
    let user = User::new();
    let (_coordinator, address) = user.coordinator("coordinator");
    let submitted = user.json(&format!("submit bfs pocket --json --coordinator {address}"));
    assert_eq!(submitted["existing"], false);
    let job = submitted["job"].as_u64().expect("a number");
    // Nobody computes yet: the job is there and waits.
    let waiting = user.json(&format!("show {job} --json"));
    assert_eq!(waiting["complete"], false);
    let _workers = workers(&user, 1);
    eventually("the job is finished", || {
        user.json("show last --json")["state"] == "finished"
    });
    let shown = user.run(&format!("show {job}"));
    assert_eq!(shown.level_counts(), common::POCKET_LEVELS);
    let again = user.json("submit bfs pocket --wait --json");
    assert_eq!(again["job"], job, "the stored answer stands");
    assert!(again["cached"].is_string());
    let jobs = user.json("jobs --json");
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(jobs["jobs"][0]["state"], "finished");
}

#[test]
fn a_submission_retried_with_its_key_is_one_job() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let first = user.json("submit bfs lrx:7 --json --fresh --key mine");
    let second = user.json("submit bfs lrx:7 --json --fresh --key mine");
    assert_eq!(first["job"], second["job"]);
    let other = user.json("submit bfs lrx:7 --json --fresh --key other");
    assert_ne!(first["job"], other["job"]);
}

#[test]
fn a_cancelled_job_stays_cancelled() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    user.json("submit bfs lrx:9 --json");
    let cancelled = user.json("cancel 1 --json");
    assert_eq!(cancelled["state"], "cancelled");
    let _workers = workers(&user, 1);
    // A later job is finished, so the worker was at work; the cancelled one was not taken up.
    user.json("submit bfs lrx:6 --wait --json");
    assert_eq!(user.json("show 1 --json")["state"], "cancelled");
}

#[test]
fn a_worker_that_is_killed_never_costs_a_count() {
    let user = User::new();
    let mut coordinator = user.start(
        "coordinator --data coordinator --listen 127.0.0.1:0 --heartbeat 200ms --lease 1s --rebuild-after 1s",
    );
    coordinator.wait_for_line("access file");
    let mut workers = workers(&user, 2);
    let mut waiting = user.start("submit bfs lrx:10 --shards 10 --wait --json");
    waiting.wait_for_level(10);
    workers.remove(0).signal("KILL");
    let report = waiting.finish().json();
    assert_eq!(report["states"], "3628800");
    assert_eq!(report["complete"], true);
}

/// With the usual durations, of which the longest is 30 s: a closed connection is not waited for.
#[test]
fn the_shards_of_a_killed_worker_move_within_seconds() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let mut workers = workers(&user, 2);
    let mut waiting = user.start("submit bfs lrx:10 --shards 10 --antipodes 0 --wait --json");
    waiting.wait_for_level(10);
    let start = std::time::Instant::now();
    workers.remove(0).signal("KILL");
    let report = waiting.finish().json();
    assert_eq!(report["states"], "3628800");
    let took = start.elapsed();
    assert!(took < std::time::Duration::from_secs(9), "{took:?}");
}

#[test]
fn the_access_file_is_for_its_user_alone_and_goes_with_the_coordinator() {
    use std::os::unix::fs::PermissionsExt;
    let user = User::new();
    let (coordinator, address) = user.coordinator("coordinator");
    let path = user.path("data-home/antipode/access.json");
    let mode = std::fs::metadata(&path)
        .expect("the access file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        std::fs::read_to_string(&path)
            .expect("readable")
            .contains(&address)
    );
    coordinator.signal("TERM");
    let ended = coordinator.finish();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!path.exists(), "a clean exit removes it");
}

#[test]
fn a_coordinator_comes_back_with_its_jobs_and_its_workers() {
    let user = User::new();
    let (coordinator, address) = user.coordinator("coordinator");
    let _workers = workers(&user, 1);
    user.json("submit bfs lrx:7 --wait --json");
    coordinator.signal("TERM");
    coordinator.finish();
    let mut second = user.start(&format!(
        "coordinator --data coordinator --listen {address}"
    ));
    second.wait_for_line("access file");
    assert_eq!(user.json("show 1 --json")["state"], "finished");
    let report = user.json("submit bfs lrx:8 --wait --json");
    assert_eq!(
        report["states"], "40320",
        "the worker outlived the coordinator and went on"
    );
}

/// TopSpin(11,4) is cut into 11 shards on a ring; a shard's next level comes from its two neighbours and from at most
/// one more (the turntable). With two workers, each on half of the ring, that is what may cross.
#[test]
fn only_frontiers_of_neighbouring_shards_cross_between_workers() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let _workers = workers(&user, 2);
    let plan = user.json("plan bfs topspin:11,4 --json");
    assert_eq!(plan["shards"], 11);
    let shard_bytes = plan["need"]["bitmap_bytes"].as_u64().expect("bytes") / 11;
    let report = user.json("submit bfs topspin:11,4 --wait --json");
    assert_eq!(report["states"], "19958400");
    assert_eq!(report["workers"], 2);
    let fetched: Vec<u64> = report["fetched_bytes"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|bytes| bytes.as_u64())
        .collect();
    // Two borders of the ring, crossed both ways, and a turntable of four places that may lie across a border.
    let crossing = 8;
    let limit = crossing * (shard_bytes + 64);
    assert!(
        fetched.iter().all(|&bytes| bytes <= limit),
        "{fetched:?} against {limit}"
    );
    assert!(
        fetched.iter().any(|&bytes| bytes > shard_bytes),
        "they do fetch from each other: {fetched:?}"
    );
}

/// The level counts of a row of `tests/data/growth_cayleypy.json`.
fn published(id: &str) -> Vec<u64> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/growth_cayleypy.json"
    );
    let text = std::fs::read_to_string(path).expect("the vectors are in the repository");
    let rows: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let row = rows
        .as_array()
        .expect("rows")
        .iter()
        .find(|row| row["id"] == id)
        .expect("the row");
    row["counts"]
        .as_array()
        .expect("counts")
        .iter()
        .filter_map(serde_json::Value::as_u64)
        .collect()
}

/// Workers that let every task of shard 0 wait.
fn slow_workers(user: &User, number: usize, wait_ms: u32) -> Vec<Process> {
    (0..number)
        .map(|k| {
            let data = format!("worker{k}");
            let mut command =
                user.command(["worker", "--data", &data, "--name", &data, "--threads", "1"]);
            command.env("ANTIPODE_TEST_DELAY", format!("shard=0,ms={wait_ms}"));
            let mut worker = Process::of(command);
            worker.wait_for_line("ANTIPODE_TEST_DELAY");
            worker
        })
        .collect()
}

/// No barrier: while one shard is slow, others that do not depend on it yet go on to the next level.
fn others_get_ahead(spec: &str, whole: &[u64], number: usize) {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let _workers = slow_workers(&user, number, 250);
    user.json(&format!("submit bfs {spec} --json"));
    let mut furthest = (0, 0);
    eventually(
        "states of the level after an unfinished one are counted",
        || {
            let status = user.json("show last --json");
            let level = status["counts"].as_array().map_or(0, Vec::len);
            let partial: u64 = status["partial"]
                .as_str()
                .and_then(|n| n.parse().ok())
                .unwrap_or(0);
            furthest = furthest.max((level, partial));
            assert_ne!(
                status["state"], "finished",
                "never seen ahead; the most was {furthest:?}"
            );
            // More than the whole unfinished level has can only be counted with states of the level behind it.
            whole.get(level).is_some_and(|&states| partial > states)
        },
    );
}

#[test]
fn shards_get_a_level_ahead_of_a_slow_one() {
    others_get_ahead("topspin:9,4 --shards 9", &TOPSPIN_9, 1);
}

#[test]
fn shards_of_two_workers_get_a_level_ahead_of_a_slow_one() {
    others_get_ahead(
        "topspin:11,4",
        &published("published-top_spin_cayley_growth-11"),
        2,
    );
}

/// Directed lists carry a set of all states seen: it moves along when a worker joins and takes shards over.
#[test]
fn a_worker_that_joins_takes_over_shards_of_a_directed_list() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let _first = slow_workers(&user, 1, 60);
    user.json("submit bfs lx:9 --shards 9 --json");
    eventually("some levels are done", || {
        user.json("show last --json")["counts"]
            .as_array()
            .map_or(0, Vec::len)
            > 6
    });
    let _second = user.start("worker --data joined --name joined --threads 1");
    eventually("the job is finished", || {
        user.json("show last --json")["state"] == "finished"
    });
    let report = user.json("show last --json");
    let counts: Vec<String> = published("lx-9").iter().map(u64::to_string).collect();
    assert_eq!(report["counts"], serde_json::json!(counts));
    assert_eq!(report["workers"], 2, "{report}");
}

#[test]
fn a_job_of_items_says_how_far_it_is() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let submitted = user.json("submit diameter lrx:7 --method all-pairs --json");
    let job = submitted["job"].as_u64().expect("a number");
    let waiting = user.json(&format!("show {job} --json"));
    fits("batch", &waiting);
    assert_eq!(waiting["kind"], "diameter");
    assert_eq!(
        (&waiting["counted"], &waiting["total"]),
        (&"0".into(), &"5040".into())
    );
    let text = user.run(&format!("show {job}")).stdout;
    assert!(text.contains("0 of 5,040"), "{text}");
    let paused = user.json(&format!("pause {job} --json"));
    fits("batch", &paused);
    assert_eq!(paused["state"], "paused");
    let _workers = workers(&user, 2);
    let resumed = user.json(&format!("resume {job} --json"));
    fits("batch", &resumed);
    eventually("the job is finished", || {
        user.json("show last --json")["state"] == "finished"
    });
    fits("diameter", &user.json("show last --json"));
    let text = user.run(&format!("explain {job}/item/0")).stdout;
    assert!(text.contains("has ended"), "{text}");
}

#[test]
fn what_a_cancelled_job_has_counted_stays_visible() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let line = "worker --data worker0 --name w0 --threads 1";
    let mut command = user.command(line.split_whitespace());
    // One item waits longer than the test, the others do not.
    command.env("ANTIPODE_TEST_DELAY", "shard=0,ms=600000");
    let _worker = Process::of(command);
    let submitted = user.json("submit diameter lrx:8 --method all-pairs --json");
    let job = submitted["job"].as_u64().expect("a number");
    let show = || user.json(&format!("show {job} --json"));
    let expected = "39808"; // all but one batch of 512
    eventually("all other items are done", || show()["counted"] == expected);
    let cancelled = user.json(&format!("cancel {job} --json"));
    fits("batch", &cancelled);
    assert_eq!(cancelled["state"], "cancelled");
    assert_eq!(show()["counted"], expected);
    let listed = user.json("jobs --json");
    assert_eq!(listed["jobs"][0]["counted"], expected, "{listed}");
}
