//! A disk without room: nothing is lost, nothing is set aside, and it goes on when there is room.

use super::tests::{Bench, frontiers, set, the_engine};
use super::*;
use crate::testing::{JOB, SmallDisk};
use std::fs;
use std::time::Instant;

type All = [(ArtifactName, Arc<Frontier>, Digest)];

fn bench(disk: &SmallDisk) -> Result<Bench, StoreError> {
    let data = tempfile::Builder::new().prefix("d").tempdir_in(disk.path());
    Bench::try_open(data.unwrap(), 1 << 30)
}

fn insert(bench: &Bench, engine: &Arc<dyn Compute>, all: &All) -> Vec<ArtifactName> {
    bench.artifacts.open_job(JOB, "f", engine.clone());
    for (name, frontier, digest) in all {
        let frontier = (**frontier).clone();
        bench.artifacts.insert_made(
            *name,
            frontier,
            *digest,
            Certificate::default(),
            Basis::of(&[]),
        );
    }
    all.iter().map(|(name, ..)| *name).collect()
}

fn nothing_is_set_aside(bench: &Bench) {
    let folder = store::folder_of(bench.data.path(), JOB);
    assert!(!folder.join("store.damaged").exists());
}

fn persist(bench: &Bench, names: &[ArtifactName]) -> (usize, Persisted) {
    let mut durable = 0;
    let outcome = bench
        .artifacts
        .persist(names, |names, _| durable += names.len());
    (durable, outcome)
}

#[test]
fn a_disk_that_fills_up_at_any_point_loses_nothing() {
    let engine = the_engine();
    let all = frontiers(&*engine, 12);
    let Some(disk) = SmallDisk::new(24 << 20) else {
        return;
    };
    let (mut refused, mut taken) = (0, 0);
    for step in 0..48 {
        let mut bench = bench(&disk).unwrap();
        // First a part while there is room, in every other round: a store that grows later.
        let names = insert(&bench, &engine, &all);
        let first = if step % 2 == 0 { 0 } else { names.len() / 2 };
        assert_eq!(persist(&bench, &names[..first]).0, first);
        disk.leave(Some(step * (8 << 10)));
        let (durable, outcome) = persist(&bench, &names[first..]);
        assert_eq!(durable + outcome.failed.len(), names.len() - first);
        if outcome.failed.is_empty() {
            taken += 1;
        } else {
            refused += 1;
            assert!(outcome.reason.contains("full"), "{}", outcome.reason);
            assert!(bench.artifacts.disk.is_full());
        }
        disk.leave(None);
        assert!(
            !bench.artifacts.disk.look(Instant::now()).full,
            "step {step}"
        );
        let (durable, outcome) = persist(&bench, &outcome.failed);
        assert!(outcome.failed.is_empty(), "step {step}: {outcome:?}");
        assert!(durable > 0 || step > 0);
        assert_eq!(bench.lost(), vec![]);
        nothing_is_set_aside(&bench);
        let Bench {
            data, artifacts, ..
        } = bench;
        drop(artifacts);
        let bench = Bench::open(data, 1 << 30);
        bench.artifacts.open_job(JOB, "f", engine.clone());
        for (name, frontier, _) in &all {
            assert_eq!(set(bench.artifacts.load(*name)).as_ref(), Some(frontier));
        }
    }
    assert!(refused > 5 && taken > 5, "{refused} refused, {taken} taken");
}

#[test]
fn a_store_that_was_not_closed_is_opened_later_if_there_is_no_room_now() {
    let engine = the_engine();
    let all = frontiers(&*engine, 12);
    let Some(disk) = SmallDisk::new(24 << 20) else {
        return;
    };
    let source = Bench::new(1 << 30);
    let names = insert(&source, &engine, &all);
    assert_eq!(persist(&source, &names).0, names.len());
    // As a crash leaves it: copied while it is open.
    let file = store::folder_of(source.data.path(), JOB).join("store.redb");
    for free in [0u64, 4 << 10, 64 << 10, 1 << 20] {
        let data = tempfile::Builder::new().tempdir_in(disk.path()).unwrap();
        let folder = store::folder_of(data.path(), JOB);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(&file, folder.join("store.redb")).unwrap();
        disk.leave(Some(free));
        let path = data.path().to_path_buf();
        let (sender, _losses) = mpsc::unbounded_channel();
        let shared = super::tests::shared(&path);
        match Artifacts::open(&path, 1 << 30, shared, sender) {
            Ok(artifacts) => assert_eq!(artifacts.held().len(), all.len(), "{free}"),
            Err(StoreError::Full { .. }) => {}
            Err(other) => panic!("{free}: {other}"),
        }
        assert!(!folder.join("store.damaged").exists(), "{free}");
        disk.leave(None);
        let bench = Bench::open(data, 1 << 30);
        assert_eq!(bench.artifacts.held().len(), all.len(), "{free}");
    }
}

#[test]
fn nothing_is_spilled_while_the_disk_is_full() {
    let engine = the_engine();
    let all = frontiers(&*engine, 12);
    let Some(disk) = SmallDisk::new(16 << 20) else {
        return;
    };
    let largest = all.iter().map(|(_, set, _)| set.memory_bytes()).max();
    let need = Need {
        incoming: 0,
        working: largest.unwrap_or(0) * 4,
    };
    let data = tempfile::Builder::new().tempdir_in(disk.path()).unwrap();
    let bench = Bench::open(data, engine.table_bytes() + need.working + 100);
    // Few enough to fit beside nothing; more than fits beside the task.
    insert(&bench, &engine, &all);
    disk.leave(Some(0));
    let refused = bench.artifacts.make_room(1, need, &Wanted::new());
    assert!(
        matches!(refused, Err(StoreError::Full { .. })),
        "{refused:?}"
    );
    assert!(
        bench.artifacts.disk.is_full(),
        "the first write found it out"
    );
    let written = bench.artifacts.gauges.read().spilled_bytes;
    let refused = bench.artifacts.make_room(1, need, &Wanted::new());
    assert!(
        matches!(refused, Err(StoreError::Full { .. })),
        "{refused:?}"
    );
    assert_eq!(bench.artifacts.gauges.read().spilled_bytes, written);
    disk.leave(None);
    assert!(!bench.artifacts.disk.look(Instant::now()).full);
    assert!(bench.artifacts.make_room(1, need, &Wanted::new()).unwrap());
    for (name, frontier, digest) in &all {
        let found = match bench.artifacts.place(*name, *digest) {
            Place::Memory(found) => Some(found),
            _ => bench.artifacts.load(*name),
        };
        assert_eq!(set(found).as_ref(), Some(frontier));
    }
}
