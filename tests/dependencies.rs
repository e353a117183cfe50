//! Who may know whom (ARCHITECTURE.md): the edges between our crates are asked of Cargo itself.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The platform that cargo builds for.
fn host() -> String {
    let output = Command::new(env!("CARGO"))
        .arg("-vV")
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("cargo names its host").to_string()
}

/// Every package that a package needs to be built or run, directly or not; dev-dependencies do not count.
fn needs() -> BTreeMap<String, BTreeSet<String>> {
    // Packages that only other platforms need are not on this machine.
    let platform = format!("--filter-platform={}", host());
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .arg(platform)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let text = |value: &Value| value.as_str().expect("a string").to_string();
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let names: BTreeMap<String, String> = list(&metadata["packages"])
        .iter()
        .map(|p| (text(&p["id"]), text(&p["name"])))
        .collect();
    let direct: BTreeMap<String, Vec<String>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            let used = list(&node["deps"])
                .iter()
                .filter(|dep| {
                    list(&dep["dep_kinds"])
                        .iter()
                        .any(|kind| kind["kind"].is_null())
                })
                .map(|dep| text(&dep["pkg"]))
                .collect();
            (text(&node["id"]), used)
        })
        .collect();
    names
        .iter()
        .filter(|(_, name)| name.starts_with("antipode"))
        .map(|(id, name)| {
            let mut reached = BTreeSet::new();
            let mut open = vec![id.clone()];
            while let Some(next) = open.pop() {
                for dep in direct.get(&next).into_iter().flatten() {
                    if reached.insert(dep.clone()) {
                        open.push(dep.clone());
                    }
                }
            }
            (
                name.clone(),
                reached.iter().map(|id| names[id].clone()).collect(),
            )
        })
        .collect()
}

/// Our own crates that `package` needs.
fn ours(needs: &BTreeMap<String, BTreeSet<String>>, package: &str) -> Vec<String> {
    needs[package]
        .iter()
        .filter(|name| name.starts_with("antipode"))
        .cloned()
        .collect()
}

#[test]
fn the_rooms_know_only_whom_they_may_know() {
    let needs = needs();
    assert_eq!(ours(&needs, "antipode-solver-core"), [""; 0]);
    assert_eq!(ours(&needs, "antipode-columns"), [""; 0]);
    assert!(!needs["antipode-coordinator"].contains("parquet"));
    assert!(
        !needs["antipode-coordinator"].contains("antipode-worker"),
        "coordinator must not know worker"
    );
    assert!(
        !needs["antipode-worker"].contains("antipode-coordinator"),
        "worker must not know coordinator"
    );
    assert!(
        !needs["antipode-worker"].contains("antipode-coordinator-core"),
        "worker must not know the core"
    );
    assert!(!needs["antipode-proto"].contains("antipode-worker"));
    assert!(!needs["antipode-proto"].contains("antipode-coordinator"));
}

#[test]
fn the_core_and_the_mathematics_do_no_io() {
    let needs = needs();
    for package in [
        "antipode-coordinator-core",
        "antipode-solver-core",
        "antipode-ids",
    ] {
        for forbidden in ["tokio", "tonic", "redb", "prost"] {
            assert!(
                !needs[package].contains(forbidden),
                "{package} must not need {forbidden}"
            );
        }
    }
}

#[test]
fn only_one_room_knows_vulkan() {
    let needs = needs();
    assert!(needs["antipode-gpu"].contains("ash"));
    assert_eq!(ours(&needs, "antipode-gpu"), ["antipode-solver-core"]);
    for (package, needed) in &needs {
        let through_it = package == "antipode-gpu" || needed.contains("antipode-gpu");
        assert!(
            through_it || !needed.contains("ash"),
            "{package} must not need ash"
        );
        assert!(
            !needed.contains("naga"),
            "{package}: shaders are compiled while building"
        );
    }
}

#[test]
fn the_oracle_is_never_linked_into_the_program() {
    assert!(!needs()["antipode"].contains("antipode-oracle"));
}
