//! Stores that were written once and are kept in `tests/data/stores`: those of the present format are read,
//! those of another are refused by a sentence. A format that changes needs a new folder there
//! (`cargo test --test stores -- --ignored` writes it), and the old one must be read still or refused.

mod common;

use common::{Process, User, repository};
use std::path::{Path, PathBuf};

/// The files of a stored run: the name in `tests/data/stores/FORMAT`, and where it lies under the run's folder.
const FILES: [(&str, &str); 3] = [
    ("coordinator.redb.lz4", "coordinator/coordinator.redb"),
    ("worker.lz4", "worker/worker"),
    ("store.redb.lz4", "worker/jobs/1/store.redb"),
];
const KEPT: &str = "bfs lrx:6 --keep frontiers";
const PAUSED: &str = "bfs lrx:7 --shards 7";

fn fixture(name: &str) -> PathBuf {
    repository().join("tests/data/stores").join(name)
}

/// The only run under `data`.
fn run_folder(data: &Path) -> PathBuf {
    let mut runs = std::fs::read_dir(data.join("runs")).expect("runs");
    runs.next().expect("a run").expect("its entry").path()
}

/// Puts a kept store where `run` would have left it.
fn unpack(user: &User, name: &str) {
    let fixture = fixture(name);
    let folder = std::fs::read_to_string(fixture.join("folder")).expect("the folder's name");
    let run = user.path("data/runs").join(folder.trim());
    for (packed, place) in FILES {
        let bytes = std::fs::read(fixture.join(packed)).expect("a file of the fixture");
        let bytes = lz4_flex::block::decompress_size_prepended(&bytes).expect("its bytes");
        let place = run.join(place);
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("it is made");
        std::fs::write(place, bytes).expect("it is written");
    }
}

fn pack(data: &Path, name: &str) {
    let (run, fixture) = (run_folder(data), fixture(name));
    std::fs::create_dir_all(&fixture).expect("a folder");
    let folder = run
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    std::fs::write(fixture.join("folder"), folder + "\n").expect("it is written");
    for (packed, place) in FILES {
        let bytes = std::fs::read(run.join(place)).expect("a file of the run");
        let bytes = lz4_flex::block::compress_prepend_size(&bytes);
        std::fs::write(fixture.join(packed), bytes).expect("it is written");
    }
}

#[test]
fn a_finished_run_of_this_format_is_read_asked_and_verified() {
    let user = User::new();
    unpack(&user, "format-4-kept");
    let report = user.json("show last --data data --json");
    assert_eq!(report["states"], "720");
    assert_eq!(report["complete"], true);
    let answer = user.json("run bfs lrx:6 --keep frontiers --data data --json");
    assert!(answer["cached"].is_string(), "{answer}");
    let asked = user.run_words(["query", "last", "--data", "data", "--word", "L L X"]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    assert!(asked.stdout.starts_with('3'), "{asked:?}");
    let verified = user.run("verify last --data data --all");
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn an_unfinished_run_of_this_format_goes_on() {
    let user = User::new();
    unpack(&user, "format-4-paused");
    let outlook = user.json("resume last --dry-run --data data --json");
    let levels = outlook["levels"].as_array().expect("levels").clone();
    assert!(
        levels.iter().any(|level| level["kept"].as_u64() > Some(0)),
        "{outlook}"
    );
    let report = user.json(&format!("run {PAUSED} --data data --json"));
    assert_eq!(report["states"], "5040");
    assert!(
        report["resumed"]["tasks_kept"].as_u64() > Some(0),
        "{report}"
    );
    let quiet = user.json(&format!("run {PAUSED} --data other --json"));
    assert_eq!(report["level_digests"], quiet["level_digests"]);
}

#[test]
fn runs_of_older_formats_are_refused_by_a_sentence_and_left_alone() {
    is_refused_and_left_alone("format-1-paused", "format 1");
    is_refused_and_left_alone("format-2-paused", "format 2");
    is_refused_and_left_alone("format-3-paused", "format 3");
}

fn is_refused_and_left_alone(name: &str, format: &str) {
    let user = User::new();
    unpack(&user, name);
    let before = user.all_files();
    for command in [
        format!("run {PAUSED} --data data"),
        "show last --data data".into(),
        "resume last --data data".into(),
    ] {
        let refused = user.run(&command);
        refused.is_refused(&[format, "older antipode", "--data"]);
    }
    let new = user.all_files();
    let new = new
        .iter()
        .filter(|path| !before.contains(path) && !path.ends_with("coordinator.lock"));
    assert_eq!(new.count(), 0, "nothing is added");
}

#[test]
#[ignore = "writes the fixtures of the present format"]
fn write_the_fixtures() {
    let user = User::new();
    user.json(&format!("run {KEPT} --data kept --json"));
    pack(&user.path("kept"), "format-4-kept");
    let line = format!("run {PAUSED} --checkpoint-every 50ms --data paused --json");
    let mut command = user.command(line.split_whitespace());
    command.env("ANTIPODE_TEST_DELAY", "shard=0,ms=50");
    let mut run = Process::of(command);
    run.wait_for_level(6);
    run.signal("INT");
    assert_eq!(run.finish().code, Some(130));
    pack(&user.path("paused"), "format-4-paused");
}
