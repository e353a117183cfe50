//! `run diameter` and `submit diameter`: every method, one and two workers, killed and taken up again.

mod common;

use antipode_solver_core::puzzle::{PuzzleOptions, resolve};
use common::{Process, User, eventually, fits, workers};
use serde_json::{Value, json};

/// TopSpin(6,4): cayleyR's `diameter.json`.
const TOPSPIN_6: [u64; 13] = [1, 3, 6, 11, 20, 37, 63, 103, 165, 152, 106, 46, 7];

/// What an answer says about the graph, whoever found it and when.
fn content(report: &Value) -> Value {
    let mut content = report.clone();
    for field in [
        "job",
        "cached",
        "command",
        "commit",
        "engine_seconds",
        "peak_memory_bytes",
        "resumed",
        "seconds",
        "threads",
        "workers",
    ] {
        content.as_object_mut().expect("an object").remove(field);
    }
    content
}

/// The same, without what belongs to the method.
fn graph(report: &Value) -> Value {
    let mut content = content(report);
    for field in [
        "fingerprint",
        "method",
        "reason",
        "root_eccentricity",
        "sources",
        "symmetry",
    ] {
        content.as_object_mut().expect("an object").remove(field);
    }
    content
}

fn sum(list: &Value) -> u128 {
    let number = |n: &Value| n.as_str().expect("a decimal string").parse::<u128>();
    list.as_array()
        .expect("a list")
        .iter()
        .map(|n| number(n).expect("a number"))
        .sum()
}

/// Every listed pair's word leads from one state to the other in as many moves as the diameter.
fn check_words(report: &Value, spec: &str, root: Option<&str>) {
    let options = PuzzleOptions {
        root: root.map(Into::into),
        ..PuzzleOptions::default()
    };
    let puzzle = resolve(spec, &options).expect("a puzzle");
    let labels = |value: &Value| -> Vec<u16> {
        serde_json::from_value(value.clone()).expect("a list of labels")
    };
    let pairs = report["pairs"].as_array().expect("pairs");
    for pair in pairs {
        let word = pair["word"].as_array().expect("a word");
        assert_eq!(Some(word.len() as u64), report["diameter"].as_u64());
        let end = word.iter().fold(labels(&pair["from"]), |state, name| {
            let mut all = puzzle.generators().iter();
            let found = all.find(|g| *name == g.name.as_str());
            found.expect("a generator").perm.apply(&state)
        });
        assert_eq!(end, labels(&pair["to"]));
    }
    let keys: Vec<(Vec<u16>, Vec<u16>)> = pairs
        .iter()
        .map(|pair| (labels(&pair["from"]), labels(&pair["to"])))
        .collect();
    assert!(keys.windows(2).all(|w| w[0] < w[1]), "in order: {keys:?}");
}

#[test]
fn a_transitive_graph_is_answered_by_the_search_that_run_bfs_makes() {
    let user = User::new();
    let first = user.json("run diameter topspin:6,4 --json");
    fits("diameter", &first);
    assert_eq!(first["method"], "transitive");
    assert_eq!(first["transitive"], true);
    let reason = first["reason"].as_str().expect("a reason");
    assert!(reason.contains("group order = number of states = 720"));
    assert_eq!(
        (&first["diameter"], &first["radius"]),
        (&json!(12), &json!(12))
    );
    let distances: Vec<String> = TOPSPIN_6.iter().map(|n| (n * 720).to_string()).collect();
    assert_eq!(first["distances"], json!(distances));
    assert_eq!(first["eccentricities"][12], "720");
    assert_eq!(
        (&first["pairs_ordered"], &first["pairs_unordered"]),
        (&json!("5040"), &json!("2520"))
    );
    check_words(&first, "topspin:6,4", None);
    // Either way round: the answer of the other command is stored already.
    let search = user.json("run bfs topspin:6,4 --json");
    assert!(search["cached"].is_string(), "{search}");
    assert_eq!(search["fingerprint"], first["fingerprint"]);
    user.json("run bfs topspin:8,4 --json");
    let second = user.json("run diameter topspin:8,4 --json");
    assert!(second["cached"].is_string(), "{second}");
    assert_eq!(second["pairs_ordered"], "645120");
}

#[test]
fn all_methods_agree_on_a_transitive_graph() {
    let user = User::new();
    for spec in ["topspin:6,4", "lx:6", "topspin:6,4 --moves L,X"] {
        let quick = user.json(&format!("run diameter {spec} --json --max-pairs 9"));
        let forced = user.json(&format!(
            "run diameter {spec} --json --max-pairs 9 --method all-pairs"
        ));
        fits("diameter", &quick);
        fits("diameter", &forced);
        assert_eq!(forced["method"], "all-pairs");
        assert_eq!(forced["sources"], 720, "every source is searched from");
        assert_eq!(graph(&quick), graph(&forced), "{spec}");
        let bounds = user.json(&format!("run diameter {spec} --json --method bounds"));
        fits("diameter", &bounds);
        let start = user.json(&format!("run diameter {spec} --json --method from-start"));
        fits("diameter", &start);
        for report in [&bounds, &start] {
            assert_eq!(report["diameter"], forced["diameter"], "{spec}");
            assert_eq!(report["radius"], forced["radius"], "{spec}");
            assert!(report["pairs"].is_null());
        }
        assert_eq!(start["root_eccentricity"], forced["diameter"]);
    }
    let directed = user.json("run diameter topspin:6,4 --moves L,X --json");
    assert_eq!(directed["directed"], true);
    assert_eq!(directed["pairs_ordered"], "1440");
    assert_eq!(directed["pairs_unordered"], "1080");
}

#[test]
fn a_colouring_is_searched_from_every_state() {
    let user = User::new();
    let root = "000111222";
    let all = user.json(&format!("run diameter topspin:9,4 --root {root} --json"));
    fits("diameter", &all);
    assert_eq!(
        (&all["method"], &all["transitive"]),
        (&json!("all-pairs"), &json!(false))
    );
    assert_eq!(all["states"], "1680");
    assert_eq!(sum(&all["distances"]), 1680 * 1680);
    assert_eq!(sum(&all["eccentricities"]), 1680);
    assert_eq!((&all["diameter"], &all["radius"]), (&json!(16), &json!(13)));
    assert!(all["mean"].as_f64() > all["mean_with_self"].as_f64());
    assert_eq!(all["pairs"].as_array().map(Vec::len), Some(3));
    check_words(&all, "topspin:9,4", Some(root));
    // More pairs of the same answer: nothing is computed again.
    let more = user.json(&format!(
        "run diameter topspin:9,4 --root {root} --json --max-pairs 400"
    ));
    assert!(more["cached"].is_string(), "{more}");
    assert_eq!(more["pairs"].as_array().map(Vec::len), Some(348));
    check_words(&more, "topspin:9,4", Some(root));
    for k in 0..3 {
        assert_eq!(all["pairs"][k], more["pairs"][k]);
    }
    let bounds = user.json(&format!(
        "run diameter topspin:9,4 --root {root} --method bounds --json"
    ));
    assert_eq!(
        (&bounds["diameter"], &bounds["radius"]),
        (&json!(16), &json!(13))
    );
    assert!(bounds["distances"].is_null());
    let start = user.json(&format!(
        "run diameter topspin:9,4 --root {root} --method from-start --json"
    ));
    assert!(start["diameter"].is_null(), "not proved: {start}");
    assert_eq!(start["root_eccentricity"], 16);
}

#[test]
fn several_orbits_are_several_components() {
    let user = User::new();
    let report = user.json("run diameter lrx:6 --root 000111;000012;001011 --json");
    fits("diameter", &report);
    assert_eq!(
        (&report["components"], &report["roots"]),
        (&json!(2), &json!(3))
    );
    // 20 and 30 states; pairs of different components have no distance.
    assert_eq!(report["states"], "50");
    assert_eq!(sum(&report["distances"]), 400 + 900);
    assert!(
        report["reason"]
            .as_str()
            .is_some_and(|why| why.contains("3 roots"))
    );
    let text = user
        .run("run diameter lrx:6 --root 000111;000012;001011")
        .stdout;
    assert!(
        text.contains("50 in 2 components, one for each orbit of the roots"),
        "{text}"
    );
}

#[test]
fn people_read_it_too() {
    let user = User::new();
    let text = user.run("run diameter topspin:9,4 --root 000111222").stdout;
    for part in [
        "states of this eccentricity",
        "diameter      16",
        "radius        13",
        "348 ordered, 174 unordered at this distance",
        "[0 0 0 1 1 1 2 2 2] to [0 1 0 1 2 0 2 1 2]   R R X L L X R X R R R X L L X R",
        "automorphisms, proved edge by edge",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The stored job shows itself in the same way.
    let shown = user.run("show last --data data-home/antipode").stdout;
    assert!(shown.contains("348 ordered, 174 unordered"), "{shown}");
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let user = User::new();
    let before = user.all_files();
    for (line, parts) in [
        (
            "run diameter topspin:6,4 --method quick",
            vec!["quick", "all-pairs", "from-start"],
        ),
        (
            "run diameter topspin:6,4 --max-pairs 1001",
            vec!["1001", "0..=1000"],
        ),
        (
            "run diameter topspin:6,4 --max-pairs -1",
            vec!["-1", "--max-pairs"],
        ),
        (
            "run diameter topspin:6,4 --max-pairs many",
            vec!["many", "--max-pairs"],
        ),
        ("run diameter topspin:6,9", vec!["topspin:6,9"]),
        (
            "run diameter lrx:6 --root 000111;000012 --method from-start",
            vec!["one root", "has 2", "--root"],
        ),
        (
            "run diameter topspin:12,4 --method all-pairs --memory 1GiB",
            vec![
                "479001600 states with 3 moves need",
                "1073741824 are allowed",
                "--memory",
            ],
        ),
        (
            "run diameter topspin:6,4 --method bounds --memory 20KB",
            vec!["720 states", "20000 are allowed"],
        ),
        ("submit diameter topspin:6,4 --method quick", vec!["quick"]),
    ] {
        user.run(line).is_refused(&parts);
    }
    assert_eq!(user.all_files(), before, "nothing may be written");
}

/// 79 items, about a second of work.
const FORCED: &str = "diameter topspin:8,4 --method all-pairs --json --max-pairs 5";

#[test]
fn one_and_two_workers_find_the_same_and_one_of_them_may_die() {
    let alone = User::new().json(&format!("run {FORCED}"));
    assert_eq!(alone["pairs_ordered"], "645120");
    for number in 1..=2 {
        let user = User::new();
        let (_coordinator, _) = user.coordinator("coordinator");
        let mut all = workers(&user, number);
        // It holds on to an item until it is killed.
        let mut command = user.command("worker --data slow --name slow --threads 1".split(' '));
        command.env("ANTIPODE_TEST_DELAY", "shard=5,ms=600000");
        let slow = Process::of(command);
        eventually("the slow worker is connected", || {
            user.json("workers --json").to_string().contains("\"slow\"")
        });
        let job = user.json(&format!("submit {FORCED}"))["job"].to_string();
        eventually("some items are done", || {
            user.json(&format!("show {job} --json"))["tasks_done"].as_u64() >= Some(20)
        });
        slow.signal("KILL");
        assert_eq!(slow.finish().code, None, "it was killed");
        let report = user.json(&format!("submit {FORCED} --wait"));
        fits("diameter", &report);
        assert_eq!(report["job"].to_string(), job, "the same job is waited for");
        assert_eq!(content(&report), content(&alone), "{number} workers");
        let shown = user.json(&format!("show {job} --json"));
        assert_eq!(content(&shown), content(&alone), "show says the same");
        all.clear();
    }
}

#[test]
fn a_killed_run_goes_on_to_the_same_answer() {
    let user = User::new();
    let quiet = user.json(&format!("run {FORCED} --data quiet"));
    let line = format!("run {FORCED} --data store");
    let mut command = user.command(line.split(' '));
    // Once records of items are on disk; one item never comes to an end, so they are not all.
    command.env("ANTIPODE_TEST_KILL", "items=1");
    command.env("ANTIPODE_TEST_DELAY", "shard=5,ms=600000");
    let killed = Process::of(command).finish();
    assert!(
        killed.stderr.contains("ANTIPODE_TEST_KILL: the end"),
        "{killed:?}"
    );
    assert_eq!(killed.code, None, "it was killed");
    let report = user.json(&line);
    assert_eq!(content(&report), content(&quiet));
    let kept = report["resumed"]["tasks_kept"].as_u64();
    assert!(kept > Some(0) && kept < Some(79), "{report}");
}

#[test]
fn a_killed_search_by_bounds_begins_again() {
    let user = User::new();
    let line = "run diameter topspin:9,4 --root 000111222 --method bounds --json --data store";
    let mut command = user.command(line.split(' '));
    command.env("ANTIPODE_TEST_DELAY", "shard=0,ms=600000");
    let mut process = Process::of(command);
    process.wait_for_line("ANTIPODE_TEST_DELAY");
    process.signal("KILL");
    assert_eq!(process.finish().code, None, "it was killed");
    let report = user.json(line);
    assert_eq!(
        (&report["diameter"], &report["radius"]),
        (&json!(16), &json!(13))
    );
}
