//! What a coordinator makes of workers' devices: what they computed, what workers say of them, what is taken back.

use super::recovery::{JOB, Scene};
use super::worker::UPLOADED;
use antipode_coordinator_core::Report;
use antipode_coordinator_core::artifact::Artifact;
use antipode_coordinator_core::record::Record;
use antipode_ids::{JobId, WorkerId};
use antipode_solver_core::job::Keep;

/// Two workers; the first has a device and computes every level of its shards there.
fn scene() -> Scene {
    let mut scene = Scene::new(0, 0);
    for (at, devices) in [vec!["NVIDIA H200".to_string()], vec![]]
        .into_iter()
        .enumerate()
    {
        scene.workers.push(super::worker::SimWorker::new(at));
        scene.workers[at].devices = devices;
        scene.connect(at, None);
    }
    scene
}

fn told_of(scene: &Scene, worker: u64, what: &str) -> usize {
    let explained = scene.core.explain_worker(scene.now, WorkerId(worker));
    let history = explained.expect("the worker is known").history;
    history.iter().filter(|i| i.what.contains(what)).count()
}

#[test]
fn levels_and_participants_tell_what_devices_computed() {
    let mut scene = scene();
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 4);
    let running = scene.core.jobs()[&JOB].levels();
    scene.finish();
    let job = &scene.core.jobs()[&JOB];
    let levels = job.levels();
    assert_eq!(levels[..running.len()], running, "the same after the end");
    assert_eq!((levels[0].uploaded_bytes, levels[0].device_tasks), (0, 0));
    assert!(levels[3].device_tasks > 0 && levels[3].device_tasks < 4);
    for level in &levels {
        assert_eq!(level.uploaded_bytes, level.device_tasks * UPLOADED);
    }
    let devices = |id| &job.progress().workers[&WorkerId(id)].devices;
    assert_eq!(devices(1).iter().collect::<Vec<_>>(), ["NVIDIA H200"]);
    assert!(devices(2).is_empty());
    assert_eq!(
        scene.core.workers()[&WorkerId(1)].devices(),
        ["NVIDIA H200"]
    );
}

#[test]
fn a_note_is_told_of_its_worker_alone_and_is_stored() {
    let mut scene = scene();
    let text = "device NVIDIA H200 is not used any more: a wrong result";
    let note = Report::Note {
        job: None,
        text: text.into(),
    };
    scene.report(0, note);
    assert_eq!((told_of(&scene, 1, text), told_of(&scene, 2, text)), (1, 0));
    let Some(Record::Worker { worker, record, .. }) = scene.records.last() else {
        panic!("{:?}", scene.records.last())
    };
    assert_eq!(*worker, WorkerId(1));
    assert!(record.history.iter().any(|i| i.what == text));
}

/// A device turns out to be wrong in mid-job: its worker says so and takes back what it made there.
#[test]
fn what_a_device_made_wrong_is_explained_and_made_again() {
    let mut scene = scene();
    scene.submit(Keep::Result);
    scene.work_until(|scene| scene.complete() >= 4);
    let level = 3;
    let made: Vec<(JobId, Artifact)> = scene.workers[0].copies.keys().copied().collect();
    let artifacts: Vec<_> = made.into_iter().filter(|(_, a)| a.level == level).collect();
    assert!(!artifacts.is_empty());
    for name in &artifacts {
        scene.workers[0].copies.remove(name);
    }
    let note = "device NVIDIA H200 is not used any more: a wrong result";
    let of_job = Report::Note {
        job: Some(JobId(1)),
        text: note.into(),
    };
    scene.report(0, of_job);
    let reason = "device NVIDIA H200 gave a wrong result".to_string();
    scene.report(0, Report::Retract { artifacts, reason });
    assert!(scene.complete() <= level, "what rests on it is open again");
    scene.finish();
    assert!(scene.said("sim0 (w1) retracted"));
    assert!(scene.said("gave a wrong result"));
    assert!(scene.said(&format!("worker sim0 (w1): {note}")));
    assert_eq!(told_of(&scene, 1, note), 1);
}
