//! `run scrambles`, `scrambles targets`, `submit scrambles` and `get`: the same bytes whoever makes them, files that
//! say what they should, and refusals.

mod common;

use antipode_columns::parquet_in::Reader;
use common::{User, eventually, fits, workers};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::Path;

/// The parts of a data set by name, and what the folder says of itself.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let entries = entries.map(|entry| entry.expect("an entry").path());
    entries
        .filter(|path| !path.ends_with(".scrambles-lock"))
        .map(|path| {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, std::fs::read(&path).expect("a file is read"))
        })
        .collect()
}

/// What is in a folder, while somebody writes there.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn reader(folder: &Path, name: &str) -> Reader<File> {
    Reader::open(File::open(folder.join(name)).expect("the part is there")).expect("it is Parquet")
}

const FIRST: &str = "scrambles-000000000000.parquet";

#[test]
fn threads_and_kills_do_not_change_a_byte() {
    let user = User::new();
    let question = "run scrambles cube:3 --rows 300k --part-rows 8192 --seed 7 --columns state,depth,word,solution,key";
    let report = user.json(&format!("{question} --out one --threads 1 --json"));
    fits("scrambles", &report);
    assert_eq!(report["written"], 300_000);
    assert_eq!(report["files"], 37);
    let one = files(&user.path("one"));
    assert_eq!(one.len(), 38);
    for threads in [2, 3] {
        user.json(&format!(
            "{question} --out t{threads} --threads {threads} --json"
        ));
        assert!(
            files(&user.path(&format!("t{threads}"))) == one,
            "{threads} threads"
        );
    }
    // Killed while it writes; the same command goes on.
    let process = user.start(&format!("{question} --out killed --threads 1"));
    eventually("some parts are there", || {
        names(&user.path("killed"))
            .iter()
            .filter(|name| name.ends_with(".parquet"))
            .count()
            > 2
    });
    process.signal("KILL");
    drop(process);
    let again = user.json(&format!("{question} --out killed --json"));
    assert!(
        again["kept"].as_u64().is_some_and(|kept| kept >= 2),
        "{again}"
    );
    assert!(files(&user.path("killed")) == one, "after a kill");
    let other = user.json("run scrambles cube:3 --rows 8192 --seed 8 --out other --json");
    assert_eq!(other["seed"], "8");
    assert!(
        files(&user.path("other"))[FIRST] != one[FIRST],
        "another seed"
    );
}

#[test]
fn rows_from_an_offset_are_those_of_the_longer_run() {
    let user = User::new();
    for shape in [
        "",
        "--pivot",
        "--trajectories --max-depth 7",
        "--no-cancel --min-depth 0",
    ] {
        user.json(&format!(
            "run scrambles topspin:12,4 --rows 3000 {shape} --out whole --overwrite --json"
        ));
        user.json(&format!("run scrambles topspin:12,4 --rows 500 --offset 1234 {shape} --out later --overwrite --json"));
        let whole = reader(&user.path("whole"), FIRST);
        let later = reader(&user.path("later"), "scrambles-000000001234.parquet");
        let (states, some) = (
            whole.vectors(0, "state", 1).unwrap(),
            later.vectors(0, "state", 1).unwrap(),
        );
        assert_eq!(&states[1234 * 12..1734 * 12], some, "{shape}");
        let depths = whole.integers(0, "depth").unwrap();
        assert_eq!(
            &depths[1234..1734],
            later.integers(0, "depth").unwrap(),
            "{shape}"
        );
    }
}

#[test]
fn a_cluster_of_any_size_gives_the_bytes_of_one_process() {
    let question = "scrambles cube:2 --rows 40k --part-rows 2048 --seed 3 --children --columns state,word,prev-move";
    let mut expect = None;
    for number in 1..=3 {
        let user = User::new();
        let (_coordinator, _) = user.coordinator("coordinator");
        let mut running = workers(&user, number);
        if number == 2 {
            // It is taken up after a pause, by one worker more.
            user.json(&format!("submit {question} --json"));
            user.run("pause 1");
            running.extend([user.start("worker --data worker9 --name w9 --threads 1")]);
            user.run("resume 1");
            eventually("the job is finished", || {
                user.json("show 1 --json")["state"] == "finished"
            });
        } else {
            user.json(&format!("submit {question} --wait --json"));
        }
        let report = user.json("get 1 --out got --json");
        fits("get", &report);
        assert_eq!((&report["files"], &report["kept"]), (&20.into(), &0.into()));
        let got = files(&user.path("got"));
        let expect = expect.get_or_insert_with(|| {
            user.json(&format!("run {question} --out run --json"));
            files(&user.path("run"))
        });
        assert!(&got == expect, "{number} workers");
        std::fs::remove_file(user.path("got").join("scrambles-000000002048.parquet")).unwrap();
        let again = user.json("get last --out got --json");
        assert_eq!(again["kept"], 19, "what is missing is fetched");
        assert!(&files(&user.path("got")) == expect);
        user.run("get 1 --out got --json").json();
        user.run(&format!("submit {question} --label exact"))
            .is_refused(&["run scrambles"]);
        user.json("submit bfs lrx:5 --wait --json");
        user.run("get 2 --out no")
            .is_refused(&["bfs job", "no files"]);
    }
}

/// The distances of a cluster's job label the rows of a run.
#[test]
fn labels_from_a_job_of_a_coordinator() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let _workers = workers(&user, 1);
    user.json("submit bfs lrx:7 --keep frontiers --wait --json");
    user.json("submit bfs lx:7 --wait --json");
    let question = "run scrambles lrx:7 --rows 2000 --label exact --json";
    user.json(&format!("{question} --out own"));
    user.json(&format!("{question} --out theirs --distances 1"));
    assert!(files(&user.path("own")) == files(&user.path("theirs")));
    let refused = |flags: &str, parts: &[&str]| {
        user.run(&format!("run scrambles {flags} --out no"))
            .is_refused(parts);
        assert!(!user.path("no").exists(), "{flags}");
    };
    refused(
        "lrx:8 --rows 9 --label exact --distances 1",
        &["job 1", "lrx:8"],
    );
    refused(
        "lx:7 --rows 9 --label exact --distances 2",
        &["job 2", "inverted"],
    );
    refused("lrx:7 --rows 9 --label exact --distances 7", &["no job 7"]);
    refused("lrx:7 --rows 9 --distances 1", &["--label"]);
    refused("cube:3 --rows 9 --label exact", &["cube:3"]);
}

/// Distances from the root by the plainest search there is.
fn search(generators: &[Vec<usize>]) -> HashMap<Vec<u8>, i64> {
    let root: Vec<u8> = (0..generators[0].len() as u8).collect();
    let mut found = HashMap::from([(root.clone(), 0)]);
    let mut level = vec![root];
    for distance in 1.. {
        let mut next = Vec::new();
        for state in &level {
            for p in generators {
                let child: Vec<u8> = p.iter().map(|&i| state[i]).collect();
                if !found.contains_key(&child) {
                    found.insert(child.clone(), distance);
                    next.push(child);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    found
}

#[test]
fn labels_are_true_distances_to_the_root() {
    let user = User::new();
    let left: Vec<usize> = (0..7).map(|i| (i + 1) % 7).collect();
    let right: Vec<usize> = (0..7).map(|i| (i + 6) % 7).collect();
    let swap: Vec<usize> = vec![1, 0, 2, 3, 4, 5, 6];
    for (puzzle, generators) in [
        ("lrx:7", vec![left.clone(), right.clone(), swap.clone()]),
        // Directed: the way back to the root is a way forward by the inverses.
        ("lx:7", vec![right, swap]),
    ] {
        let report = user.json(&format!(
            "run scrambles {puzzle} --rows 3000 --max-depth 30 --label exact --out {puzzle} --json"
        ));
        fits("scrambles", &report);
        let part = reader(&user.path(puzzle), FIRST);
        let states = part.vectors(0, "state", 1).unwrap();
        let (labels, depths) = (
            part.integers(0, "distance").unwrap(),
            part.integers(0, "depth").unwrap(),
        );
        let truth = search(&generators);
        let mut seen = HashSet::new();
        for (row, state) in states.chunks_exact(7).enumerate() {
            assert_eq!(labels[row], Some(truth[state]), "{puzzle} row {row}");
            if puzzle == "lrx:7" {
                assert!(labels[row] <= depths[row]);
            }
            seen.insert(labels[row]);
        }
        assert!(seen.len() > 10, "{seen:?}");
    }
}

#[test]
fn unique_keeps_the_lowest_row_of_every_state_within_any_memory() {
    let user = User::new();
    user.json("run scrambles topspin:8,4 --rows 60000 --seed 5 --out all --json");
    let all = reader(&user.path("all"), FIRST)
        .vectors(0, "state", 1)
        .unwrap();
    let mut seen = HashSet::new();
    let first = |(row, state): (usize, &[u8])| seen.insert(state.to_vec()).then_some(row as i64);
    let expect: Vec<i64> = all.chunks_exact(8).enumerate().filter_map(first).collect();
    assert!(expect.len() < 40_000);
    let mut made = Vec::new();
    for memory in ["1GiB", "1100KiB"] {
        let report = user.json(&format!(
            "run scrambles topspin:8,4 --rows 60000 --seed 5 --unique --part-rows 9000 --memory {memory} --out u{memory} --json"
        ));
        fits("scrambles", &report);
        assert_eq!(report["dropped"], 60_000 - expect.len());
        assert_eq!(report["written"], expect.len());
        let mut rows = Vec::new();
        for part in 0..7 {
            let part = reader(
                &user.path(&format!("u{memory}")),
                &format!("scrambles-{:012}.parquet", part * 9000),
            );
            for group in 0..part.group_rows().len() {
                let numbers = part.integers(group, "row").unwrap();
                let states = part.vectors(group, "state", 1).unwrap();
                for (row, state) in numbers.iter().flatten().zip(states.chunks_exact(8)) {
                    assert_eq!(state, &all[*row as usize * 8..][..8]);
                }
                rows.extend(numbers.into_iter().flatten());
            }
        }
        assert_eq!(rows, expect, "{memory}");
        made.push(files(&user.path(&format!("u{memory}"))));
    }
    assert!(made[0] == made[1]);
}

/// An NPY file of doubles.
fn npy(rows: usize, moves: usize, value: impl Fn(usize) -> f64) -> Vec<u8> {
    let mut text =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {moves}), }}");
    while (text.len() + 11) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
    out.extend((0..rows * moves).flat_map(|k| value(k).to_le_bytes()));
    out
}

#[test]
fn targets_are_the_minimum_over_the_children() {
    let user = User::new();
    user.json("run scrambles topspin:6,3 --rows 5000 --min-depth 0 --max-depth 6 --part-rows 2000 --children --out data --json");
    let value = |k: usize| ((k * 7919) % 1000) as f64 / 100.0 - 1.0;
    user.file("v.npy", npy(5000, 3, value));
    let report = user.json("scrambles targets data --values v.npy --json");
    fits("targets", &report);
    assert_eq!(
        (&report["rows"], &report["files"]),
        (&5000.into(), &3.into())
    );
    let mut row = 0;
    let mut solved = 0;
    for part in 0..3 {
        let name = format!("{:012}.parquet", part * 2000);
        let states = reader(&user.path("data"), &format!("scrambles-{name}"));
        let flags = states.vectors(0, "children_solved", 1).unwrap();
        let states = states.vectors(0, "state", 1).unwrap();
        let targets = reader(&user.path("data"), &format!("_targets-{name}"));
        let values = targets.doubles(0, "value").unwrap();
        let policies = targets.integers(0, "policy").unwrap();
        for (k, state) in states.chunks_exact(6).enumerate() {
            if state == [0, 1, 2, 3, 4, 5] {
                assert_eq!((values[k], policies[k]), (Some(0.0), None));
                solved += 1;
            } else {
                let child = |a: usize| {
                    if flags[3 * k + a] == 1 {
                        0.0
                    } else {
                        value(3 * row + a).max(0.0)
                    }
                };
                let best = (0..3).fold(0, |best, a| if child(a) < child(best) { a } else { best });
                assert_eq!(values[k], Some(1.0 + child(best)), "row {row}");
                assert_eq!(policies[k], Some(best as i64), "row {row}");
            }
            row += 1;
        }
    }
    assert_eq!(report["solved"], solved);
    assert!(solved > 500, "{solved}");

    let refused = |values: Vec<u8>, parts: &[&str]| {
        user.file("bad.npy", values);
        user.run("scrambles targets data --values bad.npy")
            .is_refused(parts);
    };
    refused(
        npy(5000, 3, |k| if k > 14_000 { f64::NAN } else { 0.5 }),
        &["bad.npy", "state 46", "child ", "NaN", "--nan"],
    );
    refused(npy(5000, 2, value), &["5000 rows with 3 children"]);
    refused(b"PAR1".to_vec(), &["NPY"]);
    user.run("scrambles targets nowhere --values v.npy")
        .is_refused(&["nowhere", "run scrambles"]);
    user.run("scrambles targets data --values none.npy")
        .is_refused(&["none.npy"]);
}

#[test]
fn other_formats_have_the_same_rows() {
    let user = User::new();
    let question = "run scrambles cube:2 --rows 200 --columns state,depth,word,solution --encode one-hot --min-depth 0";
    for format in ["parquet", "jsonl", "npy"] {
        user.json(&format!(
            "{question} --format {format} --out {format} --json"
        ));
    }
    user.json(&format!("{question} --lists --out lists --json"));
    let part = reader(&user.path("parquet"), FIRST);
    let states = part.vectors(0, "state", 1).unwrap();
    assert_eq!(
        reader(&user.path("lists"), FIRST)
            .vectors(0, "state", 1)
            .unwrap(),
        states
    );
    let (depths, words) = (
        part.integers(0, "depth").unwrap(),
        part.binaries(0, "word").unwrap(),
    );
    let lines = std::fs::read_to_string(user.path("jsonl/scrambles-000000000000.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 200);
    for (row, line) in lines.lines().enumerate() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["state"], serde_json::json!(states[row * 24..][..24]));
        assert_eq!(value["depth"].as_i64(), depths[row]);
        assert_eq!(
            value["word"],
            serde_json::json!(words[row].as_ref().unwrap())
        );
        let ones = value["encoded"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|x| **x == 1)
            .count();
        assert_eq!(ones, 24);
    }
    // A row of the array: 24 labels, the depth, 20 moves there and 20 back, 24 x 24 zeros and ones.
    let npy = std::fs::read(user.path("npy/scrambles-000000000000.npy")).unwrap();
    let row = 24 + 4 + 2 * 20 + 2 * 20 + 24 * 24;
    let header = npy.len() - 200 * row;
    assert_eq!(&npy[header..][..24], &states[..24]);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let user = User::new();
    let refused = |flags: &str, parts: &[&str]| {
        let before = user.all_files();
        user.run(&format!("run scrambles {flags} --out new"))
            .is_refused(parts);
        assert_eq!(user.all_files(), before, "{flags}: nothing may be written");
    };
    refused("cube:3 --rows 0", &["--rows is 0"]);
    refused("cube:3 --rows -1", &["--rows"]);
    refused("cube:3 --rows ten", &["'ten'", "10M"]);
    refused("cube:3", &["--rows"]);
    refused("cube:3 --rows 1k --seed seven", &["--seed", "seven"]);
    refused("cube:3 --rows 1k --seed -1", &["--seed"]);
    refused("cube:3 --rows 1k --offset 9e18", &["--offset"]);
    refused("cube:3 --rows 1k --offset 4611686018427387900", &["2^53"]);
    refused(
        "cube:3 --rows 1k --max-depth 0",
        &["--max-depth is 0", "65535"],
    );
    refused(
        "cube:3 --rows 1k --max-depth 70000",
        &["--max-depth is 70000"],
    );
    refused(
        "cube:3 --rows 1k --min-depth 21",
        &["--min-depth is 21", "20"],
    );
    refused(
        "cube:3 --rows 1k --pivot --max-depth 2",
        &["--max-depth to 3"],
    );
    refused("cube:3 --rows 1k --pivot --k-min 0", &["--k-min is 0"]);
    refused("cube:3 --rows 1k --k-min 3", &["--pivot"]);
    refused(
        "cube:3 --rows 1k --allow-undo --no-cancel",
        &["--no-cancel"],
    );
    refused(
        "cube:3 --rows 1k --trajectories --exact-depth",
        &["--trajectories"],
    );
    refused("cube:3 --rows 1k --columns next-move", &["--pivot"]);
    refused("cube:3 --rows 1k --columns state,state", &["--columns"]);
    refused("cube:3 --rows 1k --columns colour", &["colour"]);
    refused(
        "cube:3 --rows 1k --colours --encode piece",
        &["labels all differ", "one-hot"],
    );
    refused("cube:3 --rows 1k --lists --format npy", &["--lists"]);
    refused("cube:3 --rows 1k --part-rows 0", &["--part-rows"]);
    refused("cube:3 --rows 9G --part-rows 1", &["--part-rows"]);
    refused("cube:30 --rows 1 --children --encode one-hot", &["bytes"]);
    refused(
        "cube:3 --moves U,D --no-cancel --rows 1k",
        &["U U D D", "--max-depth 4"],
    );
    refused("nothing --rows 1k", &["nothing"]);
    user.file("file", "x");
    user.run("run scrambles cube:3 --rows 9 --out file")
        .is_refused(&["file", "directory"]);
    std::fs::create_dir(user.path("full")).unwrap();
    user.file("full/mine", "x");
    user.run("run scrambles cube:3 --rows 9 --out full")
        .is_refused(&["full", "not empty", "mine"]);
    user.run("run scrambles cube:3 --rows 9 --out full --overwrite")
        .is_refused(&["full", "mine"]);
    user.json("run scrambles cube:3 --rows 9 --out made --json");
    user.run("run scrambles cube:3 --rows 9 --seed 1 --out made")
        .is_refused(&["made", "not empty", "seed 0", "--overwrite"]);
    let report = user.json("run scrambles cube:3 --rows 9 --seed 1 --out made --overwrite --json");
    assert_eq!(report["kept"], 0);
    assert_eq!(
        user.json("run scrambles cube:3 --rows 9 --seed 1 --out made --json")["kept"],
        1
    );
}

#[test]
fn ctrl_c_says_how_to_go_on() {
    let user = User::new();
    let process =
        user.start("run scrambles cube:3 --rows 400M --part-rows 4096 --out data --threads 1");
    eventually("a part is there", || {
        user.path("data").join(FIRST).is_file()
    });
    process.signal("INT");
    let output = process.finish();
    assert_eq!(output.code, Some(130), "{output:?}");
    assert!(
        output.stderr.contains("run scrambles cube:3 --rows 400M"),
        "{output:?}"
    );
    let left: Vec<String> = names(&user.path("data"))
        .into_iter()
        .filter(|n| n.ends_with(".tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
