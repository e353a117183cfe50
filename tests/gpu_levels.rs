//! Levels on a graphics processor as users get them: in one process and in a cluster, beside the CPU, and when the device
//! fails. Where there is no Vulkan the tests that need it say so; in CI (`CI=true`) that is a failure.

mod common;

use common::{Output, Process, User, eventually, fits, vulkan_device};
use serde_json::{Value, json};

/// `growth_cayleypy.json`, rows `topspin-9-4` and `lx-7`'s puzzle by the CPU.
const TOPSPIN_9: [u64; 24] = [
    1, 3, 6, 12, 24, 46, 88, 168, 322, 613, 1137, 2095, 3745, 6385, 10697, 17134, 24461, 30412,
    32269, 27633, 17101, 5884, 1112, 92,
];

fn counts(levels: &[u64]) -> Value {
    json!(levels.iter().map(u64::to_string).collect::<Vec<_>>())
}

/// With a fault planted at a submission.
fn with_fault(user: &User, fault: &str, line: &str) -> Process {
    let mut command = user.command(line.split_whitespace());
    command.env("ANTIPODE_TEST_GPU", fault);
    Process::of(command)
}

#[test]
fn in_one_process() {
    let user = User::new();
    let Some(device) = vulkan_device(&user) else {
        return;
    };
    let line = format!("run bfs topspin:9,4 --shards 9 --gpu {device} --json");
    let report = user.json(&line);
    fits("bfs", &report);
    assert_eq!(report["counts"], counts(&TOPSPIN_9));
    assert_eq!(
        report["engine"]["devices"].as_array().map(Vec::len),
        Some(1)
    );
    let numbers = |name: &str| -> Vec<u64> {
        let list = report[name].as_array().expect("a list");
        list.iter().map(|x| x.as_u64().expect("a number")).collect()
    };
    let tasks = numbers("device_tasks");
    // Every shard, once the levels have reached it.
    assert!(tasks[12..].iter().all(|&tasks| tasks == 9), "{tasks:?}");
    let sent = numbers("uploaded_bytes");
    assert!(sent[1] > 0, "the root is sent");
    assert!(sent[12..].iter().all(|&bytes| bytes == 0), "{sent:?}");
    // Directed, and the CPU's answer beside it.
    let of = |gpu: &str| {
        let line = format!("run bfs lx:8 --shards 8 --gpu {gpu} --fresh --json");
        let report = user.json(&line);
        (report["counts"].clone(), report["digests"].clone())
    };
    assert_eq!(of(&device.to_string()), of("off"));
    // For people.
    let shown = user.run(&format!("run bfs topspin:9,4 --gpu {device} --fresh"));
    assert_eq!(shown.level_counts(), TOPSPIN_9);
    assert!(shown.stdout.contains("uploaded"), "{shown:?}");
    assert!(shown.stdout.contains(" + Vulkan ("), "{shown:?}");
}

#[test]
fn a_device_that_fails_on_the_way() {
    let user = User::new();
    let Some(device) = vulkan_device(&user) else {
        return;
    };
    for (fault, says) in [
        ("wrong,150", "a wrong result"),
        ("lost,150", "the device was lost"),
        ("hang,150", "the device counts as hung"),
    ] {
        let line = format!("run bfs topspin:9,4 --shards 9 --gpu {device} --fresh --json");
        let output = with_fault(&user, fault, &line).finish();
        let report = output.json();
        assert_eq!(report["counts"], counts(&TOPSPIN_9), "{fault}");
        assert!(output.stderr.contains(says), "{output:?}");
        let tasks = report["device_tasks"].as_array().expect("a list");
        assert_eq!(tasks[23], 0, "{fault}: the CPU went on, {report}");
    }
    // Want of memory may pass.
    let line = format!("run bfs topspin:9,4 --gpu {device} --fresh --json");
    let report = with_fault(&user, "memory,60", &line).finish().json();
    assert_eq!(report["counts"], counts(&TOPSPIN_9));
    assert_eq!(report["device_tasks"][23], 1);
}

#[test]
fn beside_a_worker_without_one() {
    let user = User::new();
    let Some(device) = vulkan_device(&user) else {
        return;
    };
    for (fault, says) in [
        ("none", None),
        ("lost,200", Some("the device was lost")),
        ("wrong,200", Some("a wrong result")),
    ] {
        let user = User::new();
        let (_coordinator, _) = user.coordinator("coordinator");
        let line = format!("worker --data gpu --name gpu --threads 1 --gpu {device}");
        let _gpu = with_fault(&user, fault, &line);
        let _cpu = user.start("worker --data cpu --name cpu --threads 1 --gpu off");
        eventually("both workers are there", || {
            user.json("workers --json")["workers"]
                .as_array()
                .is_some_and(|list| list.len() == 2)
        });
        let workers = user.json("workers --json");
        fits("workers", &workers);
        let devices = |name: &str| {
            let list = workers["workers"].as_array().expect("a list");
            let worker = list.iter().find(|worker| worker["name"] == name);
            worker.map(|worker| worker["devices"].as_array().map_or(0, Vec::len))
        };
        assert_eq!((devices("gpu"), devices("cpu")), (Some(1), Some(0)));
        let report = user.json("submit bfs topspin:9,4 --shards 9 --wait --json");
        assert_eq!(report["counts"], counts(&TOPSPIN_9), "{fault}");
        assert_eq!(report["workers"], 2, "{fault}");
        let told = user.run("explain gpu");
        if let Some(says) = says {
            assert!(told.stdout.contains(says), "{fault}: {told:?}");
        }
        let told = user.run("explain 1");
        let retracted = told.stdout.contains("worker gpu (w") && told.stdout.contains("retracted");
        assert_eq!(retracted, fault.starts_with("wrong"), "{told:?}");
    }
}

#[test]
fn what_may_be_asked_for() {
    let user = User::new();
    user.run("run bfs lrx:5 --gpu fast")
        .is_refused(&["'fast' is no device", "gpu list"]);
    user.run("worker --data w --gpu 0,auto")
        .is_refused(&["auto stands alone"]);
    let off = user.json("run bfs lrx:5 --gpu off --json");
    assert_eq!(off["engine"]["devices"], json!([]));
    if vulkan_device(&user).is_some() {
        user.run("run bfs lrx:5 --fresh --gpu 4000")
            .is_refused(&["there is no device 4000"]);
    }
    // A worker says once that it found none, and why.
    let without = |line: &str| -> Process {
        let mut command = user.command(line.split_whitespace());
        command.env("VK_ICD_FILENAMES", "/nowhere/icd.json");
        command.env("VK_DRIVER_FILES", "/nowhere/icd.json");
        Process::of(command)
    };
    let (_coordinator, _) = user.coordinator("coordinator");
    let mut worker = without("worker --data w --threads 1");
    worker.wait_for_line("computing with the CPU");
    let report = user.json("submit bfs lrx:6 --wait --json");
    assert_eq!(report["engine"]["devices"], json!([]));
    let refused: Output = without("run bfs lrx:5 --gpu all --fresh").finish();
    refused.is_refused(&["Vulkan"]);
    let auto = without("run bfs lrx:5 --gpu auto --fresh").finish();
    assert_eq!(auto.code, Some(0), "{auto:?}");
    assert!(auto.stderr.contains("computing with the CPU"), "{auto:?}");
    // Where nobody asked for a device, and the job is small, nothing is said.
    let quiet = without("run bfs lrx:5 --fresh").finish();
    assert!(!quiet.stderr.contains("Vulkan"), "{quiet:?}");
}

#[test]
fn the_benchmark_measures_a_device_beside_the_cpu() {
    let user = User::new();
    let Some(device) = vulkan_device(&user) else {
        return;
    };
    let line = format!("bench --only pocket --gpu {device} --threads 1 --json");
    let bench = user.json(&line);
    fits("bench", &bench);
    assert_eq!(bench["device"]["costs"].as_array().map(Vec::len), Some(4));
    let row = &bench["graphs"][0]["device"];
    assert!(row["seconds"].as_f64() > Some(0.0), "{bench}");
    // The root, and nothing after it.
    assert_eq!(row["uploaded_bytes"], 4, "{bench}");
}
