//! Levels on a device against the processor's, whole histograms and every digest: the growth vectors, random graphs, all
//! kinds of blocks, many layouts, little memory, small buffers, and faults.

mod common;
#[path = "../../../solver-core/tests/support/mod.rs"]
mod support;

use antipode_gpu::{DeviceSpace, Fault, GpuError, Kernels, Settings};
use antipode_solver_core::bfs::device::{Answer, DeviceBits, DeviceTask, LevelDevice};
use antipode_solver_core::bfs::enumerate::{LevelCount, enumerate};
use antipode_solver_core::engine::{Engine, KernelChoice};
use antipode_solver_core::puzzle::{Puzzle, PuzzleOptions, resolve};
use antipode_solver_core::space::{self, LayoutOptions, PlantedFault, SpaceDef};
use common::Bench;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use support::{cayleypy_rows, published_rows, puzzle_of};

/// Rows of the vectors up to here.
const STATES: u64 = 100_000;

/// A device that counts what it was asked, and what was sent for it.
struct Watched {
    space: DeviceSpace,
    asked: AtomicU64,
    answered: AtomicU64,
    sent: Mutex<Vec<u64>>,
    /// What was said to be missing before.
    missing: Mutex<Vec<u64>>,
}

impl LevelDevice for Watched {
    fn level(&self, task: &DeviceTask<'_>, out: &mut DeviceBits<'_>) -> Option<Answer> {
        self.asked.fetch_add(1, Relaxed);
        let missing = self.space.missing_bytes(task);
        self.missing.lock().expect("no panic").push(missing);
        let used = self.space.level(task, out)?;
        self.answered.fetch_add(1, Relaxed);
        self.sent
            .lock()
            .expect("no panic")
            .push(used.uploaded_bytes);
        Some(Answer { by: 0, used })
    }

    fn wrong(&self, _by: u32, what: &str) {
        self.space.wrong(what);
    }
}

/// Why devices were given up.
type Failures = Arc<Mutex<Vec<GpuError>>>;

fn watched(
    kernels: &Arc<Kernels>,
    engine: &Engine,
    resident_bytes: u64,
) -> (Arc<Watched>, Failures) {
    let failures = Failures::default();
    let told = Arc::clone(&failures);
    let on_failure = move |why: &GpuError| told.lock().expect("no panic").push(why.clone());
    let tables = engine.device_tables().expect("a space with an index");
    let space = DeviceSpace::new(kernels, &tables, resident_bytes, Box::new(on_failure));
    let watched = Watched {
        space: space.expect("the device takes the tables"),
        asked: AtomicU64::new(0),
        answered: AtomicU64::new(0),
        sent: Mutex::default(),
        missing: Mutex::default(),
    };
    (Arc::new(watched), failures)
}

fn levels(engine: &Engine) -> Vec<LevelCount> {
    let (levels, _) = enumerate(engine, None, None, 20, |_| ()).expect("certified");
    levels
        .into_iter()
        .map(|level| LevelCount {
            held_bytes: 0,
            ..level
        })
        .collect()
}

/// The levels by the processor and by the device; every task is answered by the device.
#[track_caller]
fn compare(
    kernels: &Arc<Kernels>,
    puzzle: &Puzzle,
    def: &SpaceDef,
    resident_bytes: u64,
) -> Arc<Watched> {
    let load = || Engine::load(puzzle, def, KernelChoice::Auto).expect("it loads");
    let right = levels(&load());
    let engine = load();
    let (device, failures) = watched(kernels, &engine, resident_bytes);
    let made = levels(&engine.with_device(device.clone()));
    assert_eq!(made, right, "{} {}", puzzle.name(), def.layout);
    assert_eq!(*failures.lock().expect("no panic"), []);
    assert_eq!(device.asked.load(Relaxed), device.answered.load(Relaxed));
    {
        let sent = device.sent.lock().expect("no panic");
        let missing = device.missing.lock().expect("no panic");
        assert_eq!(*sent, *missing, "{} {}", puzzle.name(), def.layout);
    }
    device
}

fn options(min_shards: Option<u32>, kind: Option<&str>) -> LayoutOptions {
    LayoutOptions {
        min_shards,
        kind: kind.map(str::to_string),
        ..LayoutOptions::default()
    }
}

#[test]
fn the_growth_vectors() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let files = cayleypy_rows().into_iter().filter(|row| row.complete);
    let files = files.filter_map(|row| Some((row.as_file()?, row.counts)));
    let published = published_rows().into_iter().filter(|row| !row.prefix_only);
    let published = published.filter_map(|row| Some((row.puzzle.ok()?, row.counts)));
    let (mut rows, mut asked) = (0, 0);
    let mut kinds = std::collections::BTreeMap::<String, u32>::new();
    for (puzzle, counts) in files.chain(published) {
        if counts.iter().sum::<u64>() > STATES {
            continue;
        }
        let def = space::build(&puzzle, &options(None, None)).expect("an index");
        let device = compare(&kernels, &puzzle, &def, 1 << 30);
        rows += 1;
        asked += device.asked.load(Relaxed);
        *kinds.entry(def.kind).or_default() += 1;
    }
    println!("{rows} rows, {asked} levels of shards on the device, {kinds:?}");
    assert!(rows > 300 && kinds.len() >= 3, "{rows} {kinds:?}");
    drop(kernels);
    bench.is_clean();
}

#[test]
fn all_kinds_and_layouts() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let cases = [
        // A leaf of 60 of 64 bits, small and large superblocks.
        ("topspin:9,4", options(None, None)),
        ("topspin:9,4", options(Some(9), None)),
        (
            "topspin:9,4",
            LayoutOptions {
                max_leaf: Some(7),
                max_superblock: Some(30),
                ..options(Some(8), None)
            },
        ),
        (
            "lrx:8",
            LayoutOptions {
                max_leaf: Some(1),
                max_superblock: Some(1),
                ..options(Some(3), None)
            },
        ),
        // Directed: what was seen grows.
        ("lx:8", options(None, None)),
        ("lx:8", options(Some(8), None)),
        ("lx:7", options(Some(3), Some("table"))),
        ("topspin:8,4", options(Some(5), Some("table"))),
        ("pocket", options(Some(21), None)),
    ];
    for (spec, options) in cases {
        let puzzle = resolve(spec, &PuzzleOptions::default()).expect("a puzzle");
        let def = space::build(&puzzle, &options).expect("an index");
        let device = compare(&kernels, &puzzle, &def, 1 << 30);
        assert!(device.asked.load(Relaxed) > 0);
    }
    drop(kernels);
    bench.is_clean();
}

#[test]
fn a_resident_shard_is_not_sent_again() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    for (spec, shards) in [("topspin:9,4", Some(9)), ("lx:8", Some(8))] {
        let puzzle = resolve(spec, &PuzzleOptions::default()).expect("a puzzle");
        let def = space::build(&puzzle, &options(shards, None)).expect("an index");
        let device = compare(&kernels, &puzzle, &def, 1 << 30);
        let sent = device.sent.lock().expect("no panic");
        let (first, later) = sent.split_at(2 * shards.unwrap_or(1) as usize);
        assert!(first.iter().sum::<u64>() > 0, "{spec}: the root is sent");
        assert!(
            later.len() > 20 && later.iter().all(|&bytes| bytes == 0),
            "{spec} {sent:?}"
        );
    }
    drop(kernels);
    bench.is_clean();
}

#[test]
fn a_device_with_little_memory_is_sent_what_it_lacks() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings {
        max_buffer_bytes: 50_000,
        ..Settings::default()
    });
    for (spec, shards, kind) in [
        ("topspin:9,4", Some(9), None),
        ("lx:8", Some(8), None),
        // Tables of 161 KB in pieces of 49 KB.
        ("topspin:8,4", Some(4), Some("table")),
    ] {
        let puzzle = resolve(spec, &PuzzleOptions::default()).expect("a puzzle");
        let def = space::build(&puzzle, &options(shards, kind)).expect("an index");
        let device = compare(&kernels, &puzzle, &def, 1);
        let sent = device.sent.lock().expect("no panic");
        let busy = sent.iter().filter(|&&bytes| bytes > 0).count();
        assert!(2 * busy > sent.len(), "{spec} {sent:?}");
    }
    drop(kernels);
    bench.is_clean();
}

#[test]
fn what_a_device_does_wrong_is_noticed_and_computed_again() {
    let Some(bench) = Bench::new() else { return };
    let puzzle = resolve("topspin:9,4", &PuzzleOptions::default()).expect("a puzzle");
    let def = space::build(&puzzle, &options(Some(9), None)).expect("an index");
    let load = || Engine::load(&puzzle, &def, KernelChoice::Auto).expect("it loads");
    let right = levels(&load());
    for (fault, later) in [
        (Fault::Wrong, 40),
        (Fault::Wrong, 41),
        (Fault::Wrong, 42),
        (Fault::Lost, 50),
        (Fault::Hang, 60),
    ] {
        let kernels = bench.open(Settings::default());
        let engine = load();
        let (device, failures) = watched(&kernels, &engine, 1 << 30);
        kernels.device().plant(later, fault);
        let made = levels(&engine.with_device(device.clone()));
        assert_eq!(made, right, "{fault:?}");
        let failures = failures.lock().expect("no panic");
        let is_right = matches!(
            (&failures[..], fault),
            ([GpuError::Wrong { .. }], Fault::Wrong)
                | ([GpuError::Lost { .. }], Fault::Lost)
                | ([GpuError::Hang { .. }], Fault::Hang)
        );
        assert!(is_right, "{fault:?} {failures:?}");
        let (asked, answered) = (&device.asked, &device.answered);
        assert!(answered.load(Relaxed) > 0 && answered.load(Relaxed) < asked.load(Relaxed));
        assert!(!device.space.is_usable());
    }
    // Want of memory may pass.
    let kernels = bench.open(Settings::default());
    let engine = load();
    let (device, failures) = watched(&kernels, &engine, 1 << 30);
    kernels.device().plant(30, Fault::OutOfMemory);
    assert_eq!(levels(&engine.with_device(device.clone())), right);
    assert_eq!(*failures.lock().expect("no panic"), []);
    assert!(device.space.is_usable());
    drop((device, kernels));
    bench.is_clean();
}

/// A device that computes wrongly, and counts its own wrong states: nothing that comes back contradicts itself.
#[test]
fn a_device_that_computes_wrongly_is_found_out() {
    let Some(bench) = Bench::new() else { return };
    for spec in ["topspin:8,4", "lx:7"] {
        let puzzle = resolve(spec, &PuzzleOptions::default()).expect("a puzzle");
        let def = space::build(&puzzle, &options(Some(4), None)).expect("an index");
        let load = || Engine::load(&puzzle, &def, KernelChoice::Auto).expect("it loads");
        let right = levels(&load());
        let kernels = || bench.open(Settings::default());
        let mut found = 0;
        for seed in 0..12 {
            let faulty = load().with_planted_fault(PlantedFault::Entry(seed));
            let faulty = faulty.expect("the tables are large enough");
            // The device has tables with two entries exchanged, the processor has the right ones.
            let (device, failures) = watched(&kernels(), &faulty, 1 << 30);
            // What is missed may go on for ever.
            let depth = Some(right.len() as u32 + 1);
            let made = enumerate(&load().with_device(device), depth, None, 20, |_| ());
            let made = made.map(|(levels, _)| levels.iter().map(|l| l.count).collect::<Vec<_>>());
            let counts: Vec<u64> = right.iter().map(|l| l.count).collect();
            let failures = failures.lock().expect("no panic");
            let is_wrong = |why: &GpuError| matches!(why, GpuError::Wrong { .. });
            assert!(failures.iter().all(is_wrong), "{failures:?}");
            found += failures.len();
            // One level may slip through before the next one is found out; then the worker takes it back.
            assert!(!failures.is_empty() || made == Ok(counts), "{spec} {seed}");
        }
        // An entry that no superblock asks for changes nothing.
        assert!(found >= 6, "{spec}: {found}");
    }
    bench.is_clean();
}

fn permutation(n: usize) -> impl Strategy<Value = Vec<u16>> {
    Just((0..n as u16).collect::<Vec<u16>>()).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Directed and closed, coloured and not, one root and several.
    #[test]
    fn random_graphs(
        (mut generators, colours) in (2usize..8).prop_flat_map(|n| (
            prop::collection::vec(permutation(n), 1..4),
            prop::option::of(prop::collection::vec(prop::collection::vec(0u16..3, n), 1..3)),
        )),
        closes in any::<bool>(),
        shards in 1u32..6,
        table in any::<bool>(),
    ) {
        let Some(bench) = Bench::new() else { return Ok(()) };
        if closes {
            for k in 0..generators.len() {
                let mut inverse = generators[k].clone();
                for (i, &v) in generators[k].iter().enumerate() {
                    inverse[usize::from(v)] = i as u16;
                }
                generators.push(inverse);
            }
        }
        let roots = colours.map(|mut roots| {
            // All roots have the labels of the first.
            let first = roots[0].clone();
            for root in &mut roots[1..] {
                root.clone_from(&first);
                root.rotate_left(1);
            }
            roots.dedup();
            roots
        });
        let puzzle = puzzle_of(&generators, &roots.unwrap_or_default());
        let kind = table.then_some("table");
        let Ok(def) = space::build(&puzzle, &options(Some(shards), kind)) else { return Ok(()) };
        let kernels = bench.open(Settings::default());
        compare(&kernels, &puzzle, &def, 1 << 20);
        drop(kernels);
        bench.is_clean();
    }
}
