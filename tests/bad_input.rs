//! Everything a user can get wrong: exit code 2, a message that says what, where and what to do, nothing on stdout and
//! nothing written.

mod common;

use common::{Output, User};

/// Runs every way to give a puzzle; all must refuse in the same way and leave no file behind.
fn refused_puzzle(user: &User, puzzle: &str, flags: &str, parts: &[&str]) {
    let before = user.all_files();
    for verb in ["run bfs", "plan bfs"] {
        let mut words: Vec<&str> = verb.split(' ').collect();
        words.push(puzzle);
        words.extend(flags.split_whitespace());
        user.run_words(words).is_refused(parts);
    }
    assert_eq!(user.all_files(), before, "nothing may be written");
}

fn refused_file(content: impl AsRef<[u8]>, parts: &[&str]) {
    let user = User::new();
    user.file("bad.toml", content);
    let mut all = vec!["bad.toml"];
    all.extend(parts);
    refused_puzzle(&user, "bad.toml", "", &all);
    user.run("puzzle check bad.toml").is_refused(&all);
}

/// CayleyPy's JSON with these generators.
fn json_file(generators: &str, central: &str) -> String {
    format!(r#"{{"central_state": {central}, "generators": {generators}}}"#)
}

#[test]
fn a_generator_that_is_no_permutation_is_named_with_its_entry() {
    refused_file(
        json_file(r#"{"A": [1, 2, 0], "B": [0, 0, 1]}"#, "[0, 1, 2]"),
        &["B", "entry 1", "0"],
    );
    refused_file(
        json_file(r#"{"A": [1, 2, 3]}"#, "[0, 1, 2]"),
        &["A", "entry 2", "3"],
    );
}

#[test]
fn a_generator_of_another_length_is_named() {
    refused_file(
        json_file(r#"{"A": [1, 2, 0], "B": [1, 0]}"#, "[0, 1, 2]"),
        &["B", "2", "3"],
    );
}

#[test]
fn two_generators_of_one_name_are_refused() {
    refused_file(
        json_file(r#"{"A": [1, 2, 0], "A": [1, 0, 2]}"#, "[0, 1, 2]"),
        &["A"],
    );
    refused_file(
        "base = 0\n[generators]\nleft = [1, 2, 0]\nleft = [1, 0, 2]\n",
        &["line 4", "left", "twice"],
    );
}

#[test]
fn an_empty_file_is_refused() {
    refused_file("", &["empty"]);
}

#[test]
fn a_colouring_of_the_wrong_length_or_of_one_label_is_refused() {
    refused_file(json_file(r#"{"A": [1, 2, 0]}"#, "[0, 1]"), &["2", "3"]);
    refused_file(json_file(r#"{"A": [1, 2, 0]}"#, "[7, 7, 7]"), &["label"]);
    refused_puzzle(&User::new(), "lrx:4", "--root 0,1", &["2", "4"]);
    refused_puzzle(&User::new(), "lrx:4", "--root 0,0,0,0", &["label"]);
}

#[test]
fn unknown_families_and_parameters_out_of_range_are_refused() {
    let user = User::new();
    refused_puzzle(
        &user,
        "megaminx-of-doom",
        "",
        &["megaminx-of-doom", "puzzle list"],
    );
    refused_puzzle(&user, "topspin:3,9", "", &["topspin", "9"]);
    refused_puzzle(&user, "cube:1", "", &["cube", "1"]);
    refused_puzzle(&user, "lrx:0", "", &["lrx", "0"]);
    refused_puzzle(&user, "lrx:many", "", &["lrx", "many"]);
}

#[test]
fn unknown_moves_metrics_and_pieces_are_refused() {
    let user = User::new();
    refused_puzzle(&user, "cube:3", "--moves U,Q", &["Q"]);
    refused_puzzle(&user, "cube:3", "--metric furlongs", &["furlongs", "qtm"]);
    refused_puzzle(&user, "lrx:5", "--metric htm", &["metric"]);
    refused_puzzle(&user, "cube:3", "--orbits wings", &["wings", "corners"]);
}

#[test]
fn files_that_cannot_be_puzzles_are_refused_before_they_are_read() {
    let user = User::new();
    user.file("latin1.toml", [b'#', b' ', 0xe9, b'\n']);
    refused_puzzle(
        &user,
        "latin1.toml",
        "",
        &["latin1.toml", "UTF-8", "byte 2"],
    );

    std::fs::create_dir(user.path("folder.toml")).expect("a directory");
    refused_puzzle(&user, "folder.toml", "", &["folder.toml", "directory"]);

    refused_puzzle(&user, "missing.toml", "", &["missing.toml", "no such file"]);

    let large = std::fs::File::create(user.path("large.toml")).expect("a file");
    large.set_len(2 << 30).expect("a sparse file of 2 GiB");
    let begun = std::time::Instant::now();
    refused_puzzle(
        &user,
        "large.toml",
        "",
        &["large.toml", "2.0 GiB", "64.0 MiB"],
    );
    assert!(begun.elapsed().as_secs() < 20, "it must not be read");
}

#[test]
fn other_programs_formats_are_refused_by_name() {
    refused_file(
        "Name flip\nSet EDGES 2 1\nStartState\nEDGES 1 2\nEnd\nMoveTransform F\nEDGES 2 1\nEnd\n",
        &["tws", "TOML"],
    );
    refused_file(
        "id,puzzle_type,solution_state\n0,cube_2/2/2,A;B\n",
        &["Santa 2023", "TOML"],
    );
    refused_file(
        "Name flip\nSet EDGES 2 1\nSolved\nEDGES\n1 2\nEnd\nMove F\nEDGES\n2 1\nEnd\n",
        &["ksolve", "TOML"],
    );
}

#[test]
fn a_puzzle_too_large_says_how_much_it_needs_and_what_would_fit() {
    let user = User::new();
    let parts = ["too large", "GiB of memory", "--memory", "would fit"];
    user.run("run bfs lrx:13 --memory 1KB").is_refused(&parts);
    let plan = user.run("plan bfs lrx:13 --memory 1KB");
    assert_eq!(plan.code, Some(2), "{plan:?}");
    assert!(
        parts.iter().all(|part| plan.stderr.contains(part)),
        "{plan:?}"
    );
    assert!(
        plan.stdout.contains("6,227,020,800"),
        "the plan is printed all the same: {plan:?}"
    );
    assert_eq!(user.all_files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn sizes_durations_and_numbers_are_checked() {
    let user = User::new();
    user.run("run bfs pocket --memory lots")
        .is_refused(&["lots", "8GiB"]);
    user.run("run bfs pocket --threads 0")
        .is_refused(&["threads", "0"]);
    user.run("run bfs pocket --checkpoint-every often")
        .is_refused(&["often", "500ms"]);
    user.run("run bfs pocket --depth -1")
        .is_refused(&["--depth", "-1 is not in"]);
    user.run("run bfs lrx:4 --memory 1KiB")
        .is_refused(&["too large", "--memory"]);
    user.run("run bfs pocket --kernel abacus")
        .is_refused(&["abacus", "portable"]);
    user.run("frobnicate").is_refused(&["frobnicate"]);
    assert_eq!(user.all_files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn addresses_that_are_not_loopback_need_insecure() {
    let user = User::new();
    user.run("coordinator --data c --listen 0.0.0.0:0")
        .is_refused(&["0.0.0.0", "--insecure"]);
    user.run("worker --data w --listen 0.0.0.0:0 --coordinator 127.0.0.1:1")
        .is_refused(&["0.0.0.0", "--insecure"]);
    user.run("worker --data w --coordinator 192.0.2.1:7700")
        .is_refused(&["192.0.2.1", "--insecure"]);
    user.run("jobs --coordinator 192.0.2.1:7700")
        .is_refused(&["192.0.2.1", "--insecure"]);
    assert_eq!(user.all_files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn an_address_in_use_is_refused_before_anything_is_written() {
    let user = User::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("its address").to_string();
    user.run(&format!("coordinator --data c --listen {address}"))
        .is_refused(&[&address, "in use", "--listen"]);
    assert_eq!(user.all_files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_data_directory_in_use_is_refused_with_the_pid_of_its_user() {
    let user = User::new();
    let (coordinator, _) = user.coordinator("c");
    user.run("coordinator --data c --listen 127.0.0.1:0")
        .is_refused(&["in use", &coordinator.pid().to_string(), "--data"]);
    let worker = user.start("worker --data w");
    common::eventually("the worker is connected", || {
        user.json("workers --json")["workers"]
            .as_array()
            .is_some_and(|all| all.len() == 1)
    });
    user.run("worker --data w")
        .is_refused(&["in use", &worker.pid().to_string(), "--data"]);
}

#[test]
fn a_data_directory_that_cannot_be_written_is_refused() {
    let user = User::new();
    // A file where a directory is needed: the same for every user, root included.
    user.file("taken", "not a directory");
    let refuse = |output: Output| output.is_refused(&["taken", "--data"]);
    refuse(user.run("run bfs pocket --data taken"));
    refuse(user.run("run bfs pocket --data taken/below"));
    refuse(user.run("coordinator --data taken --listen 127.0.0.1:0"));
    refuse(user.run("worker --data taken --coordinator 127.0.0.1:1"));
}

#[test]
fn a_coordinator_that_is_not_there_is_said_with_the_time_tried() {
    let user = User::new();
    user.run("jobs")
        .is_refused(&["no coordinator", "antipode coordinator"]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("its address").to_string();
    drop(free);
    let verbs = [
        "jobs",
        "workers",
        "show 1",
        "cancel 1",
        "pause 1",
        "resume 1",
        "explain 1",
        "query 1 --word L",
        "verify 1",
        "gc 1",
        "worker drain w1",
        "submit bfs pocket",
        "worker --data w",
    ];
    let tries = verbs.map(|verb| user.start(&format!("{verb} --coordinator {address}")));
    for process in tries {
        process
            .finish()
            .is_refused(&[&address, "tried for", "antipode coordinator"]);
    }
    assert_eq!(user.all_files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn unknown_jobs_and_stores_are_refused() {
    let user = User::new();
    user.run("jobs --data nowhere")
        .is_refused(&["nowhere", "--data"]);
    let (_coordinator, _) = user.coordinator("c");
    user.run("show 99").is_refused(&["99", "antipode jobs"]);
    user.run("show everything").is_refused(&["everything"]);
    user.run("show last").is_refused(&["no job"]);
    for verb in [
        "pause",
        "resume",
        "resume --dry-run",
        "explain",
        "verify",
        "query --word L",
        "gc",
    ] {
        user.run(&format!("{verb} 99"))
            .is_refused(&["99", "antipode jobs"]);
    }
    user.run("explain nobody").is_refused(&["nobody"]);
    user.run("explain 1/two/3")
        .is_refused(&["1/two/3", "JOB/LEVEL/SHARD"]);
    user.run("worker drain nobody").is_refused(&["nobody"]);
    user.run("gc").is_refused(&["--all-ended", "--data"]);
    user.run("gc --unfinished").is_refused(&["JOB"]);
}

#[test]
fn limits_of_a_coordinator_are_checked() {
    let user = User::new();
    for (flag, value) in [
        ("--replicas", "-1"),
        ("--crash-limit", "0"),
        ("--disk-reserve", "some"),
    ] {
        user.run(&format!("coordinator --data c {flag} {value}"))
            .is_refused(&[flag, value]);
    }
    user.run("run bfs pocket --crash-limit 0")
        .is_refused(&["--crash-limit", "0"]);
    assert_eq!(user.all_files(), Vec::<std::path::PathBuf>::new());
}
