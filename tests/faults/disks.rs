//! Disks that lose, alter and run out.

use crate::common::eventually;
use crate::stage::{Stage, WORKERS};
use std::path::{Path, PathBuf};
use std::process::Command;

const TIMES: usize = 20;

#[test]
fn workers_lose_their_disks_again_and_again() {
    let mut stage = Stage::new();
    let mut levels = 2;
    for round in 0..TIMES {
        levels = stage.reach(levels) + 1;
        let at = round % WORKERS;
        stage.kill_worker(at);
        let _ = std::fs::remove_dir_all(stage.user.path(&format!("worker{at}")));
        stage.start_worker(at);
    }
    stage.finish();
    assert_eq!(stage.faults, TIMES);
}

#[test]
fn two_workers_lose_their_disks_at_once() {
    let mut stage = Stage::with("--keep frontiers", "", vec![String::new(); WORKERS]);
    stage.reach(12);
    for at in 0..2 {
        stage.kill_worker(at);
        std::fs::remove_dir_all(stage.user.path(&format!("worker{at}"))).expect("its folder");
    }
    stage.start_worker(0);
    stage.finish();
}

/// Bytes are altered while nobody looks: found when read, made again.
#[test]
fn bytes_of_stores_are_altered_at_many_places() {
    let mut stage = Stage::with("--keep frontiers", "", vec![String::new(); WORKERS]);
    let mut levels = 3;
    let mut altered = 0;
    for round in 0..TIMES {
        levels = stage.reach(levels) + 1;
        let at = round % WORKERS;
        stage.kill_worker(at);
        altered += alter(&stage.user.path(&format!("worker{at}/jobs")), round);
        stage.start_worker(at);
    }
    stage.finish();
    assert!(altered >= TIMES, "{altered} bytes were altered");
}

/// Flips a bit at some places of every store under `folder`.
fn alter(folder: &Path, round: usize) -> usize {
    let mut altered = 0;
    let Ok(jobs) = std::fs::read_dir(folder) else {
        return 0;
    };
    for job in jobs.flatten() {
        let file = job.path().join("store.redb");
        let Ok(mut bytes) = std::fs::read(&file) else {
            continue;
        };
        let used = bytes.iter().rposition(|&b| b != 0).unwrap_or(0);
        for k in 0..3 {
            let place = (round * 7919 + k * 104_729 + 4096) % (used + 1);
            bytes[place] ^= 1 << (round % 8);
            altered += 1;
        }
        std::fs::write(&file, bytes).expect("the store is written back");
    }
    altered
}

/// A file system in memory of a given size, for as long as this value lives.
struct Tmpfs(PathBuf);

impl Tmpfs {
    /// `None` where this user may not mount.
    fn mount(path: PathBuf, kib: u64) -> Option<Tmpfs> {
        std::fs::create_dir_all(&path).expect("a folder");
        let size = format!("size={kib}k");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&path)
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Tmpfs(path))
    }

    fn enlarge(&self, kib: u64) {
        let size = format!("remount,size={kib}k");
        let status = Command::new("mount")
            .args(["-o", &size])
            .arg(&self.0)
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "the file system grows"
        );
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_of_a_worker_is_said_and_waited_for() {
    let reserve = "--disk-reserve 2MiB".to_string();
    let arguments = vec![
        reserve,
        "--disk-reserve 64KiB".into(),
        "--disk-reserve 64KiB".into(),
    ];
    let mut stage = Stage::prepared("--keep frontiers", "--replicas 0", arguments);
    let Some(disk) = Tmpfs::mount(stage.user.path("worker0"), 3 << 10) else {
        eprintln!("not tried: this user may not mount a file system");
        return;
    };
    // Filled from outside, as by another program.
    let ballast = stage.user.path("worker0/ballast");
    stage.start_all();
    stage.submit();
    stage.reach(3);
    std::fs::write(&ballast, vec![1u8; 1 << 20]).expect("there is room for it");
    eventually("the full disk is shown", || {
        let list = stage.user.json("workers --json");
        let list = list["workers"].as_array().expect("a list").clone();
        list.iter().any(|w| w["condition"] == "disk full")
    });
    disk.enlarge(64 << 10);
    eventually("there is room again", || {
        let list = stage.user.json("workers --json");
        let list = list["workers"].as_array().expect("a list").clone();
        list.iter().all(|w| w["condition"].is_null())
    });
    stage.finish();
    stage
        .workers
        .iter_mut()
        .for_each(|worker| drop(worker.take()));
    drop(disk);
}

#[test]
fn a_full_disk_of_the_coordinator_is_said_and_waited_for() {
    let arguments = vec![String::new(); WORKERS];
    let mut stage = Stage::prepared("", "--disk-reserve 1MiB", arguments);
    let Some(disk) = Tmpfs::mount(stage.user.path("coordinator"), 8 << 10) else {
        eprintln!("not tried: this user may not mount a file system");
        return;
    };
    stage.start_all();
    stage.submit();
    stage.reach(3);
    let ballast = stage.user.path("coordinator/ballast");
    // Not a byte is left.
    let _ = std::fs::write(&ballast, vec![1u8; 8 << 20]);
    eventually("the full disk is said", || {
        stage.user.run("explain last").stdout.contains("disk")
    });
    let refused = stage.user.run("submit bfs lrx:7 --json");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("goes on by itself"), "{refused:?}");
    disk.enlarge(64 << 10);
    stage.finish();
    drop(stage.coordinator.take());
    drop(disk);
}
