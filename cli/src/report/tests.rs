//! The report says what the status says.

use super::*;
use antipode_proto::status::EngineName;
use antipode_solver_core::Perm;
use antipode_solver_core::job::JobDefinition;
use antipode_solver_core::puzzle::{Generator, Metric};
use antipode_solver_core::space::{self, LayoutOptions};
use std::sync::Arc;

/// Three labels that are swapped, and the levels 1, 2, 2, 1 of it.
fn question() -> BfsSpec {
    let swap = |name: &str, points| Generator {
        name: name.into(),
        perm: Perm::from_cycles(3, &[points]).expect("a swap"),
    };
    let swaps = vec![swap("A", vec![0, 1]), swap("B", vec![1, 2])];
    let puzzle = Puzzle::new("swaps".into(), swaps, vec![], Metric::Generators, vec![]);
    BfsSpec {
        puzzle: puzzle.expect("a puzzle"),
        depth: None,
        antipodes: 0,
        keep: Keep::Result,
        layout: LayoutOptions::default(),
    }
}

fn status(spec: &BfsSpec, devices: &[&str], on_device: [(u64, u64); 4]) -> JobStatus {
    let level = |(level, (count, (uploaded_bytes, device_tasks)))| LevelStatus {
        level,
        count,
        digest: Default::default(),
        certificate: Default::default(),
        fetched_bytes: 7,
        uploaded_bytes,
        device_tasks,
    };
    let counts = [1, 2, 2, 1].into_iter().zip(on_device);
    JobStatus {
        job: antipode_proto::ids::JobId(1),
        definition: Arc::new(JobDefinition {
            space: space::build(&spec.puzzle, &spec.layout).expect("an index"),
            spec: spec.clone().into(),
            fingerprint: "f".into(),
        }),
        state: JobState::Finished,
        levels: (0..).zip(counts).map(level).collect(),
        partial: 0,
        exhausted: true,
        antipodes: Vec::new(),
        items: Vec::new(),
        tasks_done: 4,
        tasks_running: 0,
        workers: 1,
        threads: 2,
        resumed: None,
        submitted_at: 0,
        finished_at: Some(1),
        run_time: Duration::from_secs(1),
        engine_time: Duration::from_secs(1),
        peak_memory: Vec::new(),
        engine: Some(EngineName {
            kind: "chain".into(),
            kernel: "avx512".into(),
            devices: devices.iter().map(ToString::to_string).collect(),
        }),
        stored: Vec::new(),
    }
}

#[test]
fn devices_and_what_was_brought_to_them_are_reported() {
    let spec = question();
    let json = |devices: &[&str], on_device| {
        let status = status(&spec, devices, on_device);
        let report = BfsReport::new(&status, &spec, &Asked::default()).expect("a report");
        serde_json::to_value(report).expect("JSON")
    };
    let with = json(&["NVIDIA H200"], [(0, 0), (64, 1), (0, 1), (0, 0)]);
    assert_eq!(
        with["engine"]["devices"],
        serde_json::json!([{"api": "vulkan", "name": "NVIDIA H200"}])
    );
    assert_eq!(with["uploaded_bytes"], serde_json::json!([0, 64, 0, 0]));
    assert_eq!(with["device_tasks"], serde_json::json!([0, 1, 1, 0]));
    assert_eq!(with["fetched_bytes"], serde_json::json!([7, 7, 7, 7]));
    let without = json(&[], [(0, 0); 4]);
    assert_eq!(without["engine"]["devices"], serde_json::json!([]));
    assert_eq!(without["device_tasks"], serde_json::json!([0, 0, 0, 0]));
}
