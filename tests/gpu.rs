//! `gpu` and `distance` as users run them. Where there is no Vulkan the tests that need it say so; in CI (`CI=true`)
//! that is a failure.

mod common;

use common::{User, fits, repository, vulkan_device};
use serde_json::{Value, json};

#[test]
fn every_kernel_is_tested_and_measured() {
    let user = User::new();
    let Some(index) = vulkan_device(&user) else {
        return;
    };
    let test = user.json(&format!("gpu test --gpu {index} --seed 7 --json"));
    fits("gpu-test", &test);
    assert_eq!(test["right"], true);
    assert_eq!(test["device"]["index"], index);
    let kernels = test["kernels"].as_array().expect("a list");
    assert_eq!(kernels.len(), 12);
    assert!(
        kernels
            .iter()
            .all(|kernel| kernel["values"].as_u64() > Some(1000))
    );
    // By its UUID it is the same device.
    let uuid = test["device"]["uuid"].as_str().expect("a UUID");
    let again = user.run(&format!("gpu test --gpu {uuid}"));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.contains("breakpoint"), "{again:?}");
    let bench = user.json(&format!("gpu bench --gpu {index} --threads 1 --json"));
    fits("gpu-bench", &bench);
    assert_eq!(bench["kernels"].as_array().map(Vec::len), Some(12));
}

#[test]
fn the_script_for_machines_with_a_card() {
    let user = User::new();
    let Some(index) = vulkan_device(&user) else {
        return;
    };
    let run = |device: &str| {
        let script = repository().join("deploy/bench/gpu.sh");
        let status = std::process::Command::new("bash")
            .arg(script)
            .arg(env!("CARGO_BIN_EXE_antipode"))
            .args([user.path("out.json").as_os_str(), device.as_ref()])
            .arg("pocket")
            .stderr(std::process::Stdio::null())
            .status()
            .expect("bash runs");
        let text = std::fs::read_to_string(user.path("out.json")).expect("the file is written");
        let all: Value = serde_json::from_str(&text).expect("one object");
        (status.code(), all)
    };
    let (code, all) = run(&index.to_string());
    assert_eq!(code, Some(0), "{all}");
    for (name, schema) in [
        ("list", "gpu-list"),
        ("test", "gpu-test"),
        ("bench", "gpu-bench"),
        ("graph_0", "bench"),
    ] {
        fits(schema, &all[name]["answer"]);
    }
    let (code, all) = run("4000");
    assert_eq!(code, Some(1), "{all}");
    assert_eq!(all["test"], json!({"exit_code": 2, "answer": null}));
}

#[test]
fn the_validation_layer_has_nothing_to_say() {
    let user = User::new();
    let Some(index) = vulkan_device(&user) else {
        return;
    };
    let test = user.run(&format!("gpu test --gpu {index} --validate --json"));
    if test
        .stderr
        .contains("validation layer is asked for and not installed")
    {
        let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!in_ci, "{test:?}");
        eprintln!("NOT TESTED: {}", test.stderr);
        return;
    }
    let test = test.json();
    assert_eq!(test["validated"], true);
    assert_eq!(test["messages"], json!([]));
}

#[test]
fn a_device_that_is_wrong_is_told() {
    let user = User::new();
    let Some(index) = vulkan_device(&user) else {
        return;
    };
    // Submissions of the first call: three uploads, one dispatch, the result.
    let mut command = user.command(["gpu", "test", "--json", "--gpu", &index.to_string()]);
    command.env("ANTIPODE_TEST_GPU", "wrong,4");
    let output = common::Process::of(command).finish();
    assert_eq!(output.code, Some(70), "{output:?}");
    let test: Value = serde_json::from_str(&output.stdout).expect("one object");
    fits("gpu-test", &test);
    assert_eq!(test["right"], false);
    assert_eq!(test["kernels"][0]["wrong"], 1);
    assert!(
        test["kernels"][0]["first_wrong"]
            .as_str()
            .is_some_and(|text| text.contains("the processor says")),
        "{test}"
    );
}

#[test]
fn without_vulkan_everything_says_why() {
    let user = User::new();
    let run = |line: &str| {
        let mut command = user.command(line.split_whitespace());
        // The loader is told of a driver that is not there; without a loader the sentence is another one.
        command.env("VK_ICD_FILENAMES", "/nowhere/icd.json");
        command.env("VK_DRIVER_FILES", "/nowhere/icd.json");
        common::Process::of(command).finish()
    };
    let list = run("gpu list --json").json();
    fits("gpu-list", &list);
    assert_eq!(list["devices"], json!([]));
    // Some loaders refuse, others list nothing.
    let list = run("gpu list");
    assert_eq!(list.code, Some(0), "{list:?}");
    assert!(list.stdout.is_empty(), "{list:?}");
    assert!(list.stderr.contains("Vulkan"), "{list:?}");
    run("gpu test").is_refused(&["Vulkan"]);
    run("gpu test --gpu 0").is_refused(&["Vulkan"]);
    run("distance lrx:5 --state [4,3,2,1,0] --gpu 0").is_refused(&["Vulkan"]);
    let auto = run("distance lrx:5 --state [4,3,2,1,0] --gpu auto");
    assert_eq!(auto.code, Some(0), "{auto:?}");
    assert_eq!(auto.stdout, "12  [4,3,2,1,0]\n");
    assert!(auto.stderr.contains("computing with the CPU"), "{auto:?}");
}

#[test]
fn what_is_no_device_is_refused() {
    let user = User::new();
    user.run("gpu test --gpu fast")
        .is_refused(&["'fast' is no device", "gpu list"]);
    if vulkan_device(&user).is_some() {
        user.run("gpu test --gpu 4000")
            .is_refused(&["there is no device 4000; there are: 0 ("]);
        user.run("gpu bench --gpu de305d54-75b4-431b-adb2-eb6b9e546014")
            .is_refused(&["there is no device de305d54-75b4-431b-adb2-eb6b9e546014"]);
    }
}

/// The pairs of the vectors of cayleyR, 0-based.
fn pairs() -> Vec<(Vec<u64>, Vec<u64>, [u64; 2])> {
    let path = repository().join("tests/data/cayleyR/topspin.json");
    let text = std::fs::read_to_string(path).expect("the vectors are there");
    let vectors: Value = serde_json::from_str(&text).expect("JSON");
    let labels = |row: &Value| -> Vec<u64> {
        let row = row.as_array().expect("a list");
        row.iter()
            .map(|x| x.as_u64().expect("a number") - 1)
            .collect()
    };
    let number = |x: &Value| x.as_u64().expect("a number");
    let rows = vectors["breakpoint_manhattan"].as_array().expect("a list");
    rows.iter()
        .map(|row| {
            let values = [number(&row["manhattan"]), number(&row["breakpoints"])];
            (labels(&row["start"]), labels(&row["target"]), values)
        })
        .collect()
}

#[test]
fn distances_are_those_of_cayley_r() {
    let user = User::new();
    let device = vulkan_device(&user);
    let mut asked = 0;
    for (state, target, [manhattan, breakpoints]) in pairs().into_iter().filter(|p| p.0.len() >= 3)
    {
        let text = |labels: &[u64]| {
            let labels: Vec<String> = labels.iter().map(u64::to_string).collect();
            labels.join(",")
        };
        for (measure, right) in [("manhattan", manhattan), ("breakpoint", breakpoints)] {
            let line = format!(
                "distance lrx:{} --state {} --target {} --measure {measure} --json",
                state.len(),
                text(&state),
                text(&target)
            );
            let report = user.json(&line);
            fits("distance", &report);
            assert_eq!(report["distances"], json!([[right]]), "{line}");
            assert_eq!(report["engine"], "cpu");
            asked += 1;
        }
        // One of them on the device is enough here: the crate's tests compare all.
        if let (Some(index), 12) = (device, state.len()) {
            let line = format!(
                "distance lrx:12 --state {} --target {} --measure breakpoint --gpu {index} --json",
                text(&state),
                text(&target)
            );
            let report = user.json(&line);
            assert_eq!(report["distances"], json!([[breakpoints]]));
            assert!(
                report["engine"]
                    .as_str()
                    .is_some_and(|e| e.starts_with("vulkan, "))
            );
        }
    }
    assert!(asked >= 48, "{asked}");
}

#[test]
fn a_matrix_from_files_and_words() {
    let user = User::new();
    let states = "# three states\n[0 1 2 3 4]\nL X\n\n(no move)\n";
    user.file("states.txt", states);
    user.file("targets.txt", "4 3 2 1 0\nL\n");
    // X of lrx swaps the first two: L X makes 2 1 3 4 0 of 0 1 2 3 4.
    let right = "12 8  [0 1 2 3 4]\n8 2  L X\n12 8  (no move)\n";
    let line = "distance lrx:5 --file states.txt --targets targets.txt";
    let output = user.run(line);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), right),
        "{output:?}"
    );
    // The root is the target where none is named.
    let output = user.run("distance lrx:5 --file states.txt --measure breakpoint");
    assert_eq!(
        output.stdout, "0  [0 1 2 3 4]\n3  L X\n0  (no move)\n",
        "{output:?}"
    );
    let Some(index) = vulkan_device(&user) else {
        return;
    };
    let output = user.run(&format!("{line} --gpu {index}"));
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), right),
        "{output:?}"
    );
    for fault in ["lost,1", "memory,2", "hang,0", "wrong,3"] {
        let mut command = user.command(format!("{line} --gpu {index}").split_whitespace());
        command.env("ANTIPODE_TEST_GPU", fault);
        let output = common::Process::of(command).finish();
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(0), right),
            "{fault}: {output:?}"
        );
        assert!(
            output.stderr.contains("going on with the CPU"),
            "{fault}: {output:?}"
        );
    }
}

#[test]
fn scrambles_are_the_same_files() {
    let user = User::new();
    let Some(index) = vulkan_device(&user) else {
        return;
    };
    let files = |folder: &str| {
        let entries = std::fs::read_dir(user.path(folder)).expect("the folder is there");
        let mut files: Vec<_> = entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|e| e == "parquet"))
            .map(|path| std::fs::read(path).expect("a file is read"))
            .collect();
        files.sort();
        files
    };
    let question = "run scrambles cube:3 --rows 12011 --part-rows 3200 --seed 11 --columns state,depth,word,solution,key --children --encode piece --json";
    let report = user.json(&format!("{question} --out cpu"));
    fits("scrambles", &report);
    assert_eq!(report["engine"], "cpu");
    let right = files("cpu");
    assert_eq!(right.len(), 4);
    let report = user.json(&format!("{question} --out gpu --gpu {index}"));
    fits("scrambles", &report);
    assert!(
        report["engine"]
            .as_str()
            .is_some_and(|e| e.starts_with("vulkan, "))
    );
    assert!(files("gpu") == right, "the files differ");
    for (k, fault) in ["lost,6", "memory,9", "hang,10", "wrong,7"]
        .iter()
        .enumerate()
    {
        let line = format!("{question} --out broken{k} --gpu {index}");
        let mut command = user.command(line.split_whitespace());
        command.env("ANTIPODE_TEST_GPU", fault);
        let output = common::Process::of(command).finish();
        let report = output.json();
        assert!(
            output.stderr.contains("going on with the CPU"),
            "{fault}: {output:?}"
        );
        assert!(
            report["engine"]
                .as_str()
                .is_some_and(|e| e.starts_with("cpu, after ")),
            "{report}"
        );
        assert!(
            files(&format!("broken{k}")) == right,
            "{fault}: the files differ"
        );
    }
    let pivot = "run scrambles pocket --rows 5003 --pivot --columns state,depth,word,next-move --format jsonl";
    for (folder, gpu) in [
        ("pivot-cpu", String::new()),
        ("pivot-gpu", format!(" --gpu {index}")),
    ] {
        user.json(&format!("{pivot} --out {folder}{gpu} --json"));
    }
    let rows = |folder: &str| {
        std::fs::read(user.path(folder).join("scrambles-000000000000.jsonl"))
            .expect("the part is there")
    };
    assert!(rows("pivot-cpu") == rows("pivot-gpu"));
}

#[test]
fn landmarks_are_as_far_by_their_labels() {
    let user = User::new();
    let Some(index) = vulkan_device(&user) else {
        return;
    };
    let question = "run landmarks topspin --k 4 --n 6..9 --json";
    let right = user.json(question);
    let report = user.json(&format!("{question} --gpu {index}"));
    fits("landmarks", &report);
    assert_eq!(report["landmarks"], right["landmarks"]);
    let mut command = user.command(format!("{question} --gpu {index}").split_whitespace());
    command.env("ANTIPODE_TEST_GPU", "wrong,3");
    let output = common::Process::of(command).finish();
    assert!(
        output.stderr.contains("going on with the CPU"),
        "{output:?}"
    );
    assert_eq!(output.json()["landmarks"], right["landmarks"]);
}

#[test]
fn questions_that_mean_nothing() {
    let user = User::new();
    user.file("wrong.txt", "0 1 2 3 4\n0 1 2\n");
    user.file("empty.txt", "# nothing\n");
    for (line, parts) in [
        ("distance lrx:5", &["nothing is asked"][..]),
        (
            "distance lrx:5 --file wrong.txt",
            &["--file wrong.txt, line 2", "3 labels"],
        ),
        ("distance lrx:5 --file empty.txt", &["names no state"]),
        (
            "distance lrx:5 --file nowhere.txt",
            &["nowhere.txt cannot be read"],
        ),
        (
            "distance lrx:5 --state 0,1,2,3,4 --target L,Y",
            &["--target L,Y", "no generator"],
        ),
        ("distance lrx:5 --file - --targets -", &["both read stdin"]),
        (
            "distance lrx:4 --root 0,0,1,1 --state 0,1,0,1 --measure breakpoint",
            &["target 0 has the label 0 twice"],
        ),
    ] {
        user.run(line).is_refused(parts);
    }
    // Colours have Manhattan distances.
    let output = user.run("distance lrx:4 --root 0,0,1,1 --state 0,1,0,1");
    assert_eq!(output.stdout, "2  0,1,0,1\n", "{output:?}");
}
