//! What `--json` prints is what `docs/schema` says, and its numbers mean what they are called.

mod common;

use common::{User, fits, schema};
use serde_json::Value;

#[test]
fn a_schema_refuses_what_it_does_not_describe() {
    let user = User::new();
    let mut report = user.json("run bfs lrx:5 --json");
    report["surprise"] = Value::Bool(true);
    assert!(
        !schema("bfs").is_valid(&report),
        "a field that is not described"
    );
    let mut report = user.json("run bfs lrx:5 --json");
    report["counts"][0] = serde_json::json!(1);
    assert!(
        !schema("bfs").is_valid(&report),
        "counts are decimal strings"
    );
}

#[test]
fn the_answer_of_a_transitive_graph() {
    let user = User::new();
    let report = user.json("run bfs lrx:6 --json --antipodes 2 --threads 2");
    fits("bfs", &report);
    assert_eq!(report["puzzle"], "lrx:6");
    assert_eq!(report["generators"], serde_json::json!(["L", "R", "X"]));
    assert_eq!(report["metric"], "generators");
    assert_eq!(report["group_order"], "720");
    assert_eq!(report["states"], "720");
    let counts =
        [1, 3, 6, 11, 20, 35, 55, 81, 109, 128, 126, 95, 40, 6, 3, 1].map(|n: u32| n.to_string());
    assert_eq!(report["counts"], serde_json::json!(counts));
    assert_eq!(report["eccentricity"], 15);
    assert_eq!(report["diameter"], 15);
    assert_eq!(report["antipodes"]["count"], "1");
    assert_eq!(
        report["antipodes"]["examples"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(report["complete"], true);
    assert!(
        report["check"]
            .as_str()
            .is_some_and(|check| check.contains("720")),
        "{report}"
    );
    assert_eq!(report["workers"], 1);
    assert_eq!(report["threads"], 2);
    assert_eq!(report["level_digests"].as_array().map(Vec::len), Some(16));
    assert!(
        report["seconds"]
            .as_f64()
            .is_some_and(|seconds| seconds > 0.0)
    );
    assert!(
        report["peak_memory_bytes"]["sum"]
            .as_u64()
            .is_some_and(|bytes| bytes > 0)
    );
    assert_eq!(
        report["command"],
        "antipode run bfs lrx:6 --json --antipodes 2 --threads 2"
    );
}

#[test]
fn a_colouring_has_an_eccentricity_but_no_proved_diameter() {
    let user = User::new();
    let report = user.json("run bfs lrx:8 --root 0,0,0,0,1,1,1,1 --json");
    fits("bfs", &report);
    assert_eq!(report["group_order"], "40320");
    assert_eq!(report["states"], "70");
    assert!(report["eccentricity"].is_u64());
    assert!(report["diameter"].is_null());
}

#[test]
fn an_unfinished_search_and_a_stored_answer() {
    let user = User::new();
    fits("bfs", &user.json("run bfs lrx:7 --depth 4 --json"));
    fits("bfs", &user.json("run bfs lrx:7 --json"));
    fits("bfs", &user.json("run bfs lrx:7 --json"));
    fits(
        "bfs",
        &user.json("show last --data data-home/antipode --json"),
    );
    let jobs = user.json("jobs --data data-home/antipode --json");
    fits("jobs", &jobs);
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_plan_says_what_a_run_would_need() {
    let user = User::new();
    let plan = user.json("plan bfs lrx:9 --memory 1GiB --json");
    fits("plan", &plan);
    assert_eq!(plan["states"], "362880");
    assert_eq!(plan["verdict"], "in-memory");
    assert_eq!(plan["have"]["memory_bytes"], 1 << 30);
    assert!(
        plan["need"]["memory_bytes"]
            .as_u64()
            .is_some_and(|bytes| bytes > 2 * 362_880 / 8)
    );
    assert!(
        plan["estimated_seconds"]
            .as_f64()
            .is_some_and(|seconds| seconds > 0.0)
    );
    assert_eq!(
        user.all_files(),
        Vec::<std::path::PathBuf>::new(),
        "a plan writes nothing"
    );
    let rotated = user.json("plan bfs cube:2 --json");
    assert!(
        rotated["warnings"][0]
            .as_str()
            .is_some_and(|warning| warning.contains("rotations")),
        "{rotated}"
    );
    let too_large = user.run("plan bfs lrx:13 --memory 1KB --json");
    assert_eq!(too_large.code, Some(2), "{too_large:?}");
    fits(
        "plan",
        &serde_json::from_str(&too_large.stdout).expect("the plan is printed all the same"),
    );
}

#[test]
fn the_puzzle_commands() {
    let user = User::new();
    let list = user.json("puzzle list --json");
    fits("puzzle-list", &list);
    let show = user.json("puzzle show pocket --json");
    fits("puzzle", &show);
    assert_eq!(show["states"], "3674160");
    user.file(
        "mine.json",
        r#"{"central_state": [0, 0, 1, 1], "generators": {"turn": [1, 2, 3, 0]}}"#,
    );
    let check = user.json("puzzle check mine.json --json");
    fits("puzzle", &check);
    assert_eq!(check["group_order"], "4");
    assert_eq!(check["states"], "4");
    assert_eq!(check["inverse_closed"], false);
    assert_eq!(check["identical"], serde_json::json!([[0, 1], [2, 3]]));
}

#[test]
fn the_cluster_commands() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("c");
    let _worker = user.start("worker --data w");
    fits("submit", &user.json("submit bfs lrx:8 --json"));
    fits("bfs", &user.json("submit bfs lrx:8 --wait --json"));
    fits("jobs", &user.json("jobs --json"));
    fits("bfs", &user.json("show last --json"));
    let workers = user.json("workers --json");
    fits("workers", &workers);
    assert_eq!(workers["workers"].as_array().map(Vec::len), Some(1));
    user.json("submit bfs lrx:12 --json");
    fits("bfs", &user.json("cancel last --json"));
}

#[test]
fn the_benchmark() {
    let bench = User::new().json("bench --only pocket --json");
    fits("bench", &bench);
    assert_eq!(bench["graphs"][0]["states"], "3674160");
    assert!(
        bench["graphs"][0]["seconds"]
            .as_f64()
            .is_some_and(|seconds| seconds > 0.0)
    );
}
