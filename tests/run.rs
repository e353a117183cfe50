//! `antipode run`: the README's first command, stored answers, and going on after Ctrl-C.

mod common;

use common::{POCKET_LEVELS, User};

/// Enough work that a signal finds it unfinished on any machine, and little enough to finish later: 3,628,800 states
/// in 46 levels.
const LONG: &str = "lrx:10";

#[test]
fn the_first_command_prints_the_fifteen_levels_of_the_pocket_cube() {
    let user = User::new();
    let output = user.run("run bfs pocket");
    assert_eq!(output.level_counts(), POCKET_LEVELS);
    for part in ["diameter", "14", "antipodes", "276", "3674160"] {
        assert!(output.stdout.contains(part), "{part}: {output:?}");
    }
    assert!(
        output.stderr.contains("store: "),
        "it must say where: {output:?}"
    );
    assert!(
        !output.stdout.contains('\u{1b}'),
        "no colours where there is no terminal"
    );
}

#[test]
fn a_finished_job_asked_again_prints_the_stored_answer_and_fresh_computes_it_again() {
    let user = User::new();
    let first = user.json("run bfs topspin:7,4 --data store --json");
    assert!(first["cached"].is_null(), "{first}");
    let again = user.run("run bfs topspin:7,4 --data store --json");
    let stored = again.json();
    assert!(stored["cached"].is_string(), "{stored}");
    assert!(again.stderr.contains("stored answer"), "{again:?}");
    for field in [
        "counts",
        "level_digests",
        "antipodes",
        "fingerprint",
        "diameter",
    ] {
        assert_eq!(first[field], stored[field], "{field}");
    }
    let fresh = user.json("run bfs topspin:7,4 --data store --json --fresh");
    assert!(fresh["cached"].is_null(), "{fresh}");
    assert_eq!(first["counts"], fresh["counts"]);
}

#[test]
fn a_stored_answer_that_lists_less_than_asked_is_computed_again() {
    let user = User::new();
    let few = user.json("run bfs topspin:7,4 --data store --json --antipodes 1");
    assert_eq!(
        few["antipodes"]["examples"].as_array().map(Vec::len),
        Some(1)
    );
    let all = user.json("run bfs topspin:7,4 --data store --json --antipodes 4");
    assert_eq!(
        all["antipodes"]["examples"].as_array().map(Vec::len),
        Some(4),
        "{all}"
    );
    let fewer = user.json("run bfs topspin:7,4 --data store --json --antipodes 2");
    assert_eq!(
        fewer["antipodes"]["examples"].as_array().map(Vec::len),
        Some(2)
    );
    assert!(fewer["cached"].is_string());
}

#[test]
fn after_ctrl_c_the_same_command_goes_on_and_the_answer_is_the_same() {
    let user = User::new();
    let whole = user.json(&format!("run bfs {LONG} --data whole --json"));
    let command = format!("run bfs {LONG} --data store --json --threads 1");
    let mut process = user.start(&command);
    process.wait_for_level(5);
    process.signal("INT");
    let stopped = process.finish();
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    assert!(
        stopped.stdout.is_empty() && stopped.stderr.contains("to go on"),
        "{stopped:?}"
    );
    let jobs = user.json("jobs --data store --json");
    assert_eq!(jobs["jobs"][0]["state"], "paused", "{jobs}");

    let resumed = user.json(&command);
    assert!(resumed["resumed"].is_object(), "{resumed}");
    for field in ["counts", "level_digests", "antipodes", "fingerprint"] {
        assert_eq!(whole[field], resumed[field], "{field}");
    }
}

#[test]
fn a_second_signal_ends_at_once_and_the_store_stays_usable() {
    let user = User::new();
    let command = format!("run bfs {LONG} --data store --json --threads 1 --checkpoint-every 10ms");
    let mut process = user.start(&command);
    process.wait_for_level(5);
    process.signal("INT");
    process.signal("TERM");
    let stopped = process.finish();
    assert!(matches!(stopped.code, Some(130 | 143)), "{stopped:?}");
    let whole = user.json(&command);
    assert_eq!(whole["states"], "3628800");
    assert_eq!(whole["complete"], true);
}

#[test]
fn two_runs_at_once_in_one_data_directory_work() {
    let user = User::new();
    let one = user.start("run bfs topspin:9,4 --data store --json");
    let two = user.start("run bfs lrx:9 --data store --json");
    let (one, two) = (one.finish().json(), two.finish().json());
    assert_eq!(one["states"], "181440");
    assert_eq!(two["states"], "362880");
    let jobs = user.json("jobs --data store --json");
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(2), "{jobs}");
}

#[test]
fn a_job_whose_folder_is_in_use_is_refused_with_the_pid_of_its_user() {
    let user = User::new();
    let command = "run bfs lrx:11 --data store --json --threads 1";
    let mut first = user.start(command);
    first.wait_for_level(1);
    user.run(command)
        .is_refused(&["in use", &first.pid().to_string()]);
}

#[test]
fn a_depth_limit_gives_the_deepest_level_and_claims_nothing_more() {
    let user = User::new();
    let report = user.json("run bfs pocket --depth 5 --json");
    let counts: Vec<String> = POCKET_LEVELS[..6].iter().map(u64::to_string).collect();
    assert_eq!(report["counts"], serde_json::json!(counts));
    assert_eq!(report["complete"], false);
    assert_eq!(report["deepest_level"], 5);
    for field in ["eccentricity", "diameter", "antipodes"] {
        assert!(report[field].is_null(), "{field}: {report}");
    }
    let enough = user.json("run bfs topspin:7,4 --depth 40 --json");
    assert_eq!(enough["complete"], true, "the depth happened to suffice");
    assert!(enough["deepest_level"].is_null());
    assert_eq!(enough["diameter"], 17);
}

#[test]
fn counts_do_not_depend_on_threads_shards_kernel_or_memory() {
    let user = User::new();
    let expected = user.json("run bfs topspin:9,4 --data whole --json");
    for (k, flags) in [
        "--threads 1",
        "--threads 3",
        "--shards 50",
        "--kernel portable",
        "--memory 300KB --shards 60",
    ]
    .iter()
    .enumerate()
    {
        let report = user.json(&format!("run bfs topspin:9,4 --data d{k} --json {flags}"));
        assert_eq!(report["counts"], expected["counts"], "{flags}");
        assert_eq!(report["antipodes"], expected["antipodes"], "{flags}");
    }
}

#[test]
fn antipodes_come_with_words_that_lead_there() {
    let user = User::new();
    let puzzle = user.json("puzzle show topspin:8,4 --json");
    let report = user.json("run bfs topspin:8,4 --json --antipodes 5");
    assert_eq!(report["antipodes"]["count"], "16");
    let examples = report["antipodes"]["examples"]
        .as_array()
        .expect("examples");
    assert_eq!(examples.len(), 5);
    for example in examples {
        let mut state: Vec<u64> = (0..8).collect();
        for name in example["word"].as_array().expect("a word") {
            let generators = puzzle["generators"].as_array().expect("generators");
            let generator = generators
                .iter()
                .find(|g| g["name"] == *name)
                .expect("a generator of the puzzle");
            let images = generator["images"].as_array().expect("images");
            state = images
                .iter()
                .map(|image| state[image.as_u64().expect("a number") as usize])
                .collect();
        }
        assert_eq!(example["word"].as_array().map(Vec::len), Some(22));
        assert_eq!(example["state"], serde_json::json!(state));
    }
}

#[test]
fn the_whole_first_command_is_quick() {
    let user = User::new();
    // Generous for a machine that runs other tests at the same time; the goal on a quiet one is 0.3 s.
    let report = user.json("run bfs pocket --json");
    let seconds = report["seconds"].as_f64().expect("seconds");
    assert!(seconds < 5.0, "{seconds}");
}

#[test]
fn what_was_streamed_from_disk_does_not_stay_there() {
    let user = User::new();
    let report = user.json("run bfs topspin:12,4 --memory 40MiB --data d --json");
    assert_eq!(report["complete"], true);
    assert_eq!(report["counts"].as_array().map(Vec::len), Some(39));
    let stored: u64 = user
        .all_files()
        .iter()
        .filter(|path| path.components().any(|part| part.as_os_str() == "worker"))
        .filter_map(|path| path.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|file| file.len())
        .sum();
    assert!(stored < 1 << 20, "{stored} bytes are left on disk");
}

#[test]
fn the_store_that_a_run_prints_can_be_looked_into() {
    let user = User::new();
    let said = user.run("run bfs lrx:5").stderr;
    let store = said
        .lines()
        .find_map(|line| line.strip_prefix("store: "))
        .expect("the store is said");
    let shown = user
        .run_words(["show", "last", "--json", "--data", store])
        .json();
    assert_eq!(shown["puzzle"], "lrx:5");
    let listed = user.run_words(["jobs", "--json", "--data", store]).json();
    assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(1));
    user.run("jobs")
        .is_refused(&["no coordinator", "add --data", "data-home"]);
}
