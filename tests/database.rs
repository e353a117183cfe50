//! Distances of single states, and checking what was counted: `query` and `verify`.

mod common;

use common::{User, eventually};
use serde_json::Value;

/// All permutations of four labels.
fn all_states() -> Vec<[u8; 4]> {
    let mut all = Vec::new();
    for k in 0..256u32 {
        let state = [0, 2, 4, 6].map(|shift| (k >> shift & 3) as u8);
        let mut sorted = state;
        sorted.sort_unstable();
        if sorted == [0, 1, 2, 3] {
            all.push(state);
        }
    }
    assert_eq!(all.len(), 24);
    all
}

fn written(state: &[u8; 4]) -> String {
    let [a, b, c, d] = state;
    format!("[{a} {b} {c} {d}]")
}

/// What the words lead to, and whether as many states have each distance as the level counts say.
fn fits_the_counts(user: &User, puzzle: &str, counts: &Value, answers: &Value, asked: &[[u8; 4]]) {
    let shown = user.json(&format!("puzzle show {puzzle} --json"));
    let generators = shown["generators"].as_array().expect("generators");
    let mut levels = vec![0u64; counts.as_array().expect("counts").len()];
    for (answer, state) in answers.as_array().expect("answers").iter().zip(asked) {
        assert_eq!(answer["query"], written(state), "in input order");
        let word = answer["word"].as_array().expect("a word");
        let distance = answer["distance"].as_u64().expect("a distance") as usize;
        assert_eq!(word.len(), distance);
        levels[distance] += 1;
        let mut made = [0u8, 1, 2, 3];
        for name in word {
            let generator = generators
                .iter()
                .find(|g| g["name"] == *name)
                .expect("a generator");
            let images = generator["images"].as_array().expect("images");
            let before = made;
            for (place, image) in made.iter_mut().zip(images) {
                *place = before[image.as_u64().expect("a position") as usize];
            }
        }
        assert_eq!(made, *state, "the word leads there");
    }
    let levels: Vec<String> = levels.iter().map(u64::to_string).collect();
    assert_eq!(
        *counts,
        serde_json::json!(levels),
        "every state has its distance"
    );
}

/// A closed list (packed distances) and a directed one (kept levels).
#[test]
fn every_state_of_a_kept_run_has_its_distance_and_a_word_that_leads_there() {
    for (puzzle, source) in [("lrx:4", "distances"), ("lx:4", "frontiers")] {
        let user = User::new();
        let report = user.json(&format!(
            "run bfs {puzzle} --keep frontiers --data store --json"
        ));
        let states = all_states();
        let lines: Vec<String> = states.iter().map(written).collect();
        user.file("states", format!("# all of them\n\n{}\n", lines.join("\n")));
        let answers = user.json("query last --file states --data store --json");
        common::fits("query", &answers);
        assert_eq!(answers["source"], source);
        fits_the_counts(
            &user,
            puzzle,
            &report["counts"],
            &answers["answers"],
            &states,
        );
        let text = user.run("query last --file states --data store");
        assert_eq!(text.stdout.lines().count(), 24, "{text:?}");
        let one = user.run_words(["query", "last", "--data", "store", "--word", "L L X", "-v"]);
        assert_eq!(one.stdout.lines().count(), 1, "{one:?}");
        assert!(one.stderr.contains("a second"), "{one:?}");
    }
}

#[test]
fn a_search_with_a_limit_knows_the_states_up_to_it() {
    let user = User::new();
    user.json("run bfs lrx:6 --depth 3 --keep frontiers --data store --json");
    let near = user.run_words(["query", "last", "--data", "store", "--word", "L X"]);
    assert!(
        near.code == Some(0) && near.stdout.starts_with("2  "),
        "{near:?}"
    );
    let far = user.run_words([
        "query",
        "last",
        "--data",
        "store",
        "--state",
        "[5 4 3 2 1 0]",
    ]);
    assert!(
        far.code == Some(2) && far.stdout.starts_with("-  "),
        "{far:?}"
    );
}

#[test]
fn questions_that_make_no_sense_are_refused() {
    let user = User::new();
    user.json("run bfs lrx:5 --data store --json");
    let ask = |words: &[&str]| {
        let all = ["query", "last", "--data", "store"].iter().chain(words);
        user.run_words(all)
    };
    ask(&["--word", "L"]).is_refused(&["--keep frontiers"]);
    user.json("run bfs lx:5 --keep frontiers --data store --json");
    ask(&[]).is_refused(&["--state", "--word", "--file"]);
    ask(&["--word", "L Q"]).is_refused(&["'Q'", "generator", "L X"]);
    ask(&["--state", "[0 1 2]"]).is_refused(&["3 labels", "5 positions"]);
    ask(&["--state", "[0 1 2 3 3]"]).is_refused(&["labels"]);
    ask(&["--state", "left"]).is_refused(&["left", "labels"]);
    ask(&["--file", "missing"]).is_refused(&["missing"]);
    user.file("wrong", "L X\n[0 1 2 3 4]\nL Z\n");
    ask(&["--file", "wrong"]).is_refused(&["wrong", "line 3", "'Z'"]);
    user.file("empty", "\n# nothing\n");
    ask(&["--file", "empty"]).is_refused(&["asks nothing"]);
    ask(&["--word", "L", "--memory", "1B"]).is_refused(&["--memory"]);
    let worker = std::fs::read_dir(user.path("store/runs")).expect("runs");
    for run in worker
        .flatten()
        .filter(|run| run.file_name().to_string_lossy().starts_with("lx"))
    {
        std::fs::remove_dir_all(run.path().join("worker")).expect("deleted");
    }
    let gone = ask(&["--word", "L"]);
    assert!(
        gone.code == Some(1) && gone.stderr.contains("is gone"),
        "{gone:?}"
    );
}

#[test]
fn what_a_cluster_keeps_is_asked_at_its_workers() {
    let user = User::new();
    let (_coordinator, _) = user.coordinator("coordinator");
    let _workers: Vec<_> = (0..2)
        .map(|k| user.start(&format!("worker --data w{k} --name w{k} --threads 1")))
        .collect();
    eventually("both are connected", || {
        user.json("workers --json")["workers"]
            .as_array()
            .map_or(0, Vec::len)
            == 2
    });
    for (k, puzzle) in ["lx:4", "lrx:4"].iter().enumerate() {
        let report = user.json(&format!(
            "submit bfs {puzzle} --shards 4 --keep frontiers --wait --json"
        ));
        let states = all_states();
        let lines: Vec<String> = states.iter().map(written).collect();
        user.file("states", lines.join("\n"));
        let job = k + 1;
        let answers = user.json(&format!("query {job} --file states --json"));
        common::fits("query", &answers);
        fits_the_counts(
            &user,
            puzzle,
            &report["counts"],
            &answers["answers"],
            &states,
        );
        let few = user.json(&format!("query {job} --state 1,0,2,3 --json"));
        assert_eq!(few["answers"][0]["distance"], 1, "{few}");
        let verified = user.json(&format!("verify {job} --json"));
        common::fits("verify", &verified);
        assert_eq!(verified["agrees"], true);
    }
    // A few questions to a larger database: nothing large moves.
    user.json("submit bfs lrx:8 --keep frontiers --wait --json");
    let words = ["query", "3", "--word", "L L X R R R X L", "--json"];
    let far = user.run_words(words).json();
    assert_eq!(far["source"], "workers", "{far}");
    assert_eq!(far["answers"][0]["distance"], 8, "{far}");
    user.file("many", "L L X R R R X L\n".repeat(1000));
    let many = user.json("query 3 --file many --json");
    assert_eq!(many["source"], "distances");
    assert_eq!(many["answers"][999]["word"], far["answers"][0]["word"]);
}

#[test]
fn levels_are_made_again_and_agree() {
    let user = User::new();
    for (k, (puzzle, keep)) in [
        ("lrx:7", ""),
        ("lx:7", "--keep frontiers"),
        ("lrx:7", "--keep frontiers"),
        ("lrx:8 --root 0,0,0,0,1,1,1,1", ""),
        ("lrx:7 --depth 6", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let report = user.json(&format!("run bfs {puzzle} {keep} --data d{k} --json"));
        let levels = report["counts"].as_array().expect("counts");
        let verified = user.json(&format!("verify last --data d{k} --all --json"));
        common::fits("verify", &verified);
        assert_eq!(verified["agrees"], true, "{puzzle}");
        if (puzzle, keep) == ("lrx:7", "--keep frontiers") {
            // The frontiers went when the distances were there, also from the disk.
            assert_eq!(verified["from"], "roots", "{verified}");
            assert_eq!(verified["distances"]["compared"], "5040", "{verified}");
        }
        let found = verified["levels"].as_array().expect("levels");
        assert_eq!(found.len(), levels.len());
        for (found, count) in found.iter().zip(levels) {
            assert_eq!(found["verdict"], "agrees", "{puzzle}: {found}");
            assert_eq!(found["made_count"], *count);
        }
    }
}

#[test]
fn a_part_of_the_levels_or_a_sample_is_checked_when_asked() {
    let user = User::new();
    user.json("run bfs lx:7 --keep frontiers --data store --json");
    let some = user.json("verify last --data store --levels 3..5 --json");
    let verdict = |k: usize| some["levels"][k]["verdict"].clone();
    assert_eq!(
        (verdict(2), verdict(3), verdict(5)),
        ("not checked".into(), "agrees".into(), "agrees".into())
    );
    let sampled = user.json("verify last --data store --sample 10 --json");
    assert_eq!(sampled["levels"][12]["verdict"], "sampled", "{sampled}");
    assert_eq!(sampled["levels"][12]["sampled"], "10", "{sampled}");
    user.run("verify last --data store --levels 3..99")
        .is_refused(&["no level 99"]);
    user.run("verify last --data store --levels 5..3")
        .is_refused(&["5..3"]);
    user.run("verify last --data store --all --sample 3")
        .is_refused(&["--all"]);
    user.json("run bfs lrx:6 --data store --json");
    user.run("verify last --data store --sample 3")
        .is_refused(&["nothing to be sampled", "--all"]);
    let text = user.run("verify last --data store");
    assert!(
        text.code == Some(0) && text.stdout.contains("16 of 16 levels made again"),
        "{text:?}"
    );
}
