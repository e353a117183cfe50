//! Landmark surveys as users ask for them: the published distances and words, any number of workers, a kill in the
//! middle, files, and what is refused.

mod common;

use common::{Process, User, eventually, fits, repository};
use serde_json::{Value, json};
use std::path::Path;

const RUN: &str = "run landmarks topspin --k 4 --n 6..10 --json";

fn data(name: &str) -> Value {
    let path = repository().join("tests/data").join(name);
    let text = std::fs::read_to_string(path).expect("test data");
    serde_json::from_str(&text).expect("JSON")
}

/// What must be the same however it was computed.
fn answer(report: &Value) -> (Value, Value) {
    assert_eq!(report["landmarks"].as_array().map(Vec::len), Some(125));
    (report["landmarks"].clone(), report["surveys"].clone())
}

#[test]
fn distances_words_and_coordinates_are_the_published_ones() {
    let user = User::new();
    let report = user.json(&format!("{RUN} --threads 2"));
    fits("landmarks", &report);
    assert_eq!(report["title"], "topspin, k=4, n = 6..10");
    let words = data("landmark_words.json");
    let rows = report["landmarks"].as_array().expect("rows");
    for (k, row) in rows.iter().enumerate() {
        let n = 6 + k / 25;
        let expect = &words["by_n"][n.to_string()]["landmarks"][k % 25];
        assert_eq!((&row["n"], &row["id"]), (&json!(n), &expect["id"]));
        assert_eq!(row["name"], expect["name"]);
        for field in ["distance", "nL", "nR", "nX"] {
            assert_eq!(row[field], expect[field], "n = {n}, {}", row["name"]);
        }
        let word = row["word"].as_array().map(|w| {
            let letters: Vec<&str> = w.iter().filter_map(Value::as_str).collect();
            letters.concat()
        });
        assert_eq!(word.as_deref(), expect["word"].as_str());
        let reached = expect["distance"].is_u64();
        assert_eq!(row["reachable"], reached);
        assert_eq!(row["word_canonical"], reached);
        assert_eq!(
            row["reason"],
            if reached {
                Value::Null
            } else {
                json!("parity")
            }
        );
        assert_eq!(row["theta"].is_null(), !reached);
    }
    let surveys = report["surveys"].as_array().expect("surveys");
    let diameters: Vec<&Value> = surveys.iter().map(|s| &s["diameter"]).collect();
    assert_eq!(diameters, [12, 17, 22, 23, 28]);
    assert!(surveys[0]["estimate"].is_null() && surveys[1]["estimate"].is_null());
    assert_eq!(surveys[4]["estimate"]["from_n"], 8);
    // The pure rotation: id 2 for even n, id 8 for odd n; LLX is id 10.
    for (k, survey) in surveys.iter().enumerate() {
        let ids: Vec<u64> = survey["trivial"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|t| t["id"].as_u64())
            .collect();
        assert!(ids.contains(&10) && ids.contains(&if k % 2 == 0 { 2 } else { 8 }));
        let ratios = survey["ratios"].as_array().expect("ratios");
        assert!(
            ratios
                .iter()
                .all(|r| !ids.contains(&r["id"].as_u64().unwrap_or(0)))
        );
        assert!(survey["convex"]["volume"].as_f64() > Some(0.0));
    }
    let again = user.json(RUN);
    assert_eq!(
        answer(&again),
        answer(&report),
        "the stored answer is the same"
    );
    let shown = user.json("show last --data data-home/antipode --json");
    assert_eq!(answer(&shown), answer(&report));
}

#[test]
fn larger_sizes_are_searched_from_both_ends_within_their_budgets() {
    let user = User::new();
    // Known from the enumeration of TopSpin(12,4), which this must not need.
    let whole = user.json("run landmarks topspin --k 4 --n 11..12 --json");
    let search = user.json("run landmarks topspin --k 4 --n 11..12 --enumerate-to 10 --json");
    fits("landmarks", &search);
    assert_eq!(whole["surveys"][1]["diameter"], 38);
    assert_eq!(search["surveys"][1]["method"], "both ends");
    assert!(search["surveys"][1]["diameter"].is_null());
    assert_eq!(search["landmarks"], whole["landmarks"]);
    let few = user.json("run landmarks topspin --k 4 --n 17 --max-nodes 1e5 --json");
    fits("landmarks", &few);
    let survey = &few["surveys"][0];
    assert_eq!(survey["ended"], "nodes");
    let open = survey["open"].as_array().expect("open rows");
    assert!(open.len() > 5 && survey["nodes"].as_u64() <= Some(100_000));
    for row in open {
        let id = row["id"].as_u64().expect("an id") as usize;
        let landmark = &few["landmarks"][id - 1];
        assert!(landmark["distance"].is_null());
        assert_eq!(landmark["lower"], row["lower"]);
        assert_eq!(landmark["word_canonical"], false);
        let proof = row["proof"].as_str().expect("a proof");
        let excluded = row["lower"].as_u64().expect("a bound") - 1;
        assert!(
            proof.starts_with(&format!("no word of {excluded} or fewer moves")),
            "{proof}"
        );
    }
}

#[test]
fn a_time_limit_is_told_in_the_answer() {
    let user = User::new();
    let run = "run landmarks topspin --k 4 --n 6..18 --enumerate-to 0 --time-limit 50ms --json";
    let report = user.json(run);
    fits("landmarks", &report);
    let surveys = report["surveys"].as_array().expect("surveys");
    let last = &surveys[12];
    assert_eq!(last["ended"], "time limit");
    assert_eq!(last["reproducible"], false);
    let open = last["open"].as_array().map_or(0, Vec::len);
    assert!(open > 0, "{last}");
    let complete = surveys.iter().filter(|s| s["ended"] == "complete");
    assert!(complete.clone().all(|s| s["reproducible"] == true));
}

#[test]
fn other_families_and_groups_that_lack_landmarks() {
    let user = User::new();
    let report = user.json("run landmarks lrx --n 6..8 --json");
    fits("landmarks", &report);
    assert!(
        report["landmarks"]
            .as_array()
            .is_some_and(|rows| rows.iter().all(|r| r["reachable"] == true))
    );
    let report = user.json("run landmarks topspin --k 3 --n 8 --json");
    fits("landmarks", &report);
    let reasons: Vec<&Value> = report["landmarks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|r| &r["reason"])
        .collect();
    assert!(reasons.contains(&&json!("blocks")), "{reasons:?}");
    let report = user.json("run landmarks pancake --n 7 --json");
    fits("landmarks", &report);
    assert!(report["landmarks"][0]["nL"].is_null() && report["landmarks"][0]["theta"].is_null());
    assert!(report["surveys"][0]["convex"].is_null());
    let table = user.run("run landmarks pancake --n 7");
    assert!(table.stdout.contains("full_reverse"), "{table:?}");
}

#[test]
fn one_and_two_workers_a_kill_and_a_resume_change_nothing() {
    let user = User::new();
    let alone = user.json(&format!("{RUN} --threads 1"));
    let (coordinator, address) = user.coordinator("c");
    let submit = format!("submit landmarks topspin --k 4 --n 6..10 --coordinator {address}");
    // Item 4 waits: the job is killed with some items done and this one not.
    let start = |name: &str, delay: &str, address: &str| {
        let line =
            format!("worker --data {name} --name {name} --threads 1 --coordinator {address}");
        let mut command = user.command(line.split(' '));
        if !delay.is_empty() {
            command.env("ANTIPODE_TEST_DELAY", delay);
        }
        Process::of(command)
    };
    let worker = start("w1", "shard=4,ms=600000", &address);
    let submitted = user.json(&format!("{submit} --json"));
    fits("submit", &submitted);
    let show = |address: &str| user.json(&format!("show last --coordinator {address} --json"));
    eventually("four of five items", || show(&address)["counted"] == "100");
    worker.signal("KILL");
    drop(worker);
    coordinator.signal("KILL");
    drop(coordinator);
    let (_coordinator, address) = user.coordinator("c");
    let _one = start("w1", "", &address);
    let _two = start("w2", "", &address);
    let submit = format!("submit landmarks topspin --k 4 --n 6..10 --coordinator {address}");
    let report = user.json(&format!("{submit} --wait --json"));
    fits("landmarks", &report);
    assert_eq!(answer(&report), answer(&alone));
    assert_eq!(
        report["job"], submitted["job"],
        "it was taken up, not begun anew"
    );
    let fresh = user.json(&format!("{submit} --wait --fresh --json"));
    assert_eq!(answer(&fresh), answer(&alone));
}

#[test]
fn a_killed_run_goes_on() {
    let user = User::new();
    let quiet = user.json(&format!("{RUN} --data quiet"));
    let mut command = user.command(format!("{RUN} --data store --log info").split(' '));
    command.env("ANTIPODE_TEST_DELAY", "shard=4,ms=600000");
    let mut process = Process::of(command);
    process.wait_for_line("registered");
    process.signal("KILL");
    assert_eq!(process.finish().code, None, "it was killed");
    let resumed = user.json(&format!("{RUN} --data store"));
    assert_eq!(answer(&resumed), answer(&quiet));
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_files_are_a_table_and_a_picture() {
    let user = User::new();
    let run = "run landmarks topspin --k 4 --n 6..9";
    let report = user.json(&format!("{run} --out files --json"));
    let csv = String::from_utf8(read(&user.path("files/landmarks.csv"))).expect("UTF-8");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 101);
    assert!(lines[0].starts_with("n,id,name,reachable,reason,distance,"));
    assert!(
        lines[1].starts_with("6,1,full_reverse,true,,10,10,10,L X L X R X L X R X,true,3,2,5,")
    );
    assert!(lines[26].starts_with("7,1,full_reverse,false,parity,,"));
    let parquet = std::fs::File::open(user.path("files/landmarks.parquet")).expect("it is there");
    let table = antipode_columns::parquet_in::Reader::open(parquet).expect("a Parquet file");
    assert_eq!(table.rows(), 100);
    assert_eq!(table.columns().join(","), lines[0]);
    // Of the reverse of six: 5 + 3 + 1 + 1 + 3 + 5, and no neighbours that rise; of the rotations of two halves of six: 1 2 0 4 5 3.
    let by_labels = ["manhattan", "breakpoint"].map(|name| {
        let column = table.integers(0, name).expect("a column");
        (column[0], column[8])
    });
    assert_eq!(
        by_labels,
        [(Some(18), Some(8)), (Some(5), Some(3))],
        "landmarks 1 and 9"
    );
    for (k, name) in ["manhattan", "breakpoint"].iter().enumerate() {
        let place = lines[0].split(',').position(|column| column == *name);
        let cell = lines[1].split(',').nth(place.expect("a column"));
        assert_eq!(cell, Some(["18", "5"][k]));
        assert_eq!(report["landmarks"][0][name], [18, 5][k]);
    }
    let distances = table.integers(0, "distance").expect("a column");
    assert_eq!((distances[0], distances[25]), (Some(10), None));
    let ratios = table.doubles(0, "ratio").expect("a column");
    assert!(ratios[0].is_some_and(|r| (r - 10.0 / 12.0).abs() < 1e-15));
    let svg = String::from_utf8(read(&user.path("files/ratios.svg"))).expect("UTF-8");
    assert!(
        svg.starts_with("<svg")
            && svg.contains("25 derangement")
            && svg.contains("distance / diameter")
    );
    assert!(!svg.contains("10 shift_reverse"), "trivial for every n");
    let png = read(&user.path("files/ratios.png"));
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!(png[16..24], [0, 0, 4, 176, 0, 0, 3, 32], "1200 x 800");
    // The same again, and only with --overwrite.
    user.run(&format!("{run} --out files"))
        .is_refused(&["files", "not empty", "--overwrite"]);
    user.file("files/mine.txt", "mine");
    let again = user.run(&format!("{run} --out files --overwrite --threads 1"));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(read(&user.path("files/ratios.png")), png);
    assert_eq!(read(&user.path("files/landmarks.csv")), csv.as_bytes());
    assert_eq!(read(&user.path("files/mine.txt")), b"mine");
    assert!(report["surveys"][0]["points"].as_u64() > Some(4));
}

#[test]
fn bad_input_is_refused() {
    let user = User::new();
    user.file("taken", "a file");
    let before = user.all_files();
    for (flags, parts) in [
        ("topspin --k 4 --n 5..8", vec!["n = 5", "from n = 6 on"]),
        ("topspin --k 4 --n 9..6", vec!["9..6", "backwards"]),
        ("topspin --k 4 --n 6..26", vec!["26", "up to n = 24"]),
        ("topspin --k 4 --n six", vec!["six", "6..13"]),
        ("topspin --k 4 --n -6..8", vec!["-6..8"]),
        ("topspin --k 4", vec!["--n"]),
        ("topspin --n 6..8", vec!["topspin", "too few"]),
        ("topspin --k 9 --n 6..8", vec!["K = 9", "N = 6"]),
        ("topspin --k 1 --n 6..8", vec!["K = 1"]),
        ("topspin --k -4 --n 6..8", vec!["-4"]),
        ("lrx --n 6..8 --param J=2", vec!["no parameter J"]),
        ("lrx --n 6..8 --param =", vec!["parameter"]),
        ("pocket --n 6..8", vec!["pocket"]),
        ("cube --n 6..7", vec!["cube:6", "permutations of n points"]),
        ("burnt-pancake --n 6", vec!["permutations of n points"]),
        ("topspin:8,4 --n 6", vec!["topspin:8,4", "not a family"]),
        ("megaminx-of-doom --n 6", vec!["megaminx-of-doom"]),
        (
            "topspin --k 4 --n 6 --max-nodes 0",
            vec!["max-nodes", "2e9"],
        ),
        ("topspin --k 4 --n 6 --max-nodes -5", vec!["-5"]),
        ("topspin --k 4 --n 6 --max-nodes 1e99", vec!["1e99"]),
        ("topspin --k 4 --n 6 --memory lots", vec!["lots"]),
        ("topspin --k 4 --n 6 --memory 0", vec!["memory"]),
        ("topspin --k 4 --n 6 --time-limit soon", vec!["soon", "10s"]),
        ("topspin --k 4 --n 6 --time-limit 0s", vec!["0s"]),
        ("topspin --k 4 --n 6 --enumerate-to -1", vec!["-1"]),
        ("topspin --k 4 --n 6 --threads 0", vec!["threads"]),
        (
            "topspin --k 4 --n 6 --out taken",
            vec!["taken", "directory"],
        ),
        ("topspin --k 4 --n 6 --overwrite", vec!["--out"]),
    ] {
        user.run(&format!("run landmarks {flags}"))
            .is_refused(&parts);
    }
    for flags in [
        "topspin --k 4 --n 5..8",
        "cube --n 6..7",
        "topspin --k 4 --n 6 --memory none",
    ] {
        user.run(&format!(
            "submit landmarks {flags} --coordinator 127.0.0.1:1"
        ))
        .is_refused(&[]);
    }
    assert_eq!(user.all_files(), before, "nothing may be written");
}
