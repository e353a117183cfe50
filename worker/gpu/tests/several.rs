//! Several devices as one, and whether a device or the processor makes a level.

mod common;

use antipode_gpu::{
    Cost, Costs, Fault, GpuError, JobDevices, Kernels, Line, Offer, Settings, Task, calibrate,
};
use antipode_solver_core::bfs::device::{Answer, DeviceBits, DeviceTask, LevelDevice};
use antipode_solver_core::bfs::enumerate::enumerate;
use antipode_solver_core::engine::{Engine, KernelChoice};
use antipode_solver_core::puzzle::{Puzzle, PuzzleOptions, resolve};
use antipode_solver_core::space::{self, LayoutOptions, SpaceDef};
use common::Bench;
use std::sync::{Arc, Mutex};

/// Who answered, task by task; `None`: the processor.
struct Watched {
    devices: JobDevices,
    answers: Mutex<Vec<Option<u32>>>,
}

impl LevelDevice for Watched {
    fn level(&self, task: &DeviceTask<'_>, out: &mut DeviceBits<'_>) -> Option<Answer> {
        let answer = self.devices.level(task, out);
        let by = answer.map(|answer| answer.by);
        self.answers.lock().expect("no panic").push(by);
        answer
    }

    fn wrong(&self, by: u32, what: &str) {
        self.devices.wrong(by, what);
    }
}

fn graph() -> (Puzzle, SpaceDef) {
    let puzzle = resolve("topspin:9,4", &PuzzleOptions::default()).expect("a puzzle");
    let layout = LayoutOptions {
        min_shards: Some(9),
        ..LayoutOptions::default()
    };
    let def = space::build(&puzzle, &layout).expect("an index");
    (puzzle, def)
}

fn counts(engine: &Engine) -> Vec<u64> {
    let (levels, _) = enumerate(engine, None, None, 20, |_| ()).expect("certified");
    levels.iter().map(|level| level.count).collect()
}

fn offer(kernels: Arc<Kernels>, costs: Option<Costs>) -> Offer {
    Offer {
        kernels,
        costs,
        resident_bytes: 1 << 28,
    }
}

/// The counts are right; who answered, and which devices were given up for what.
fn run(offers: &[Offer]) -> (Vec<Option<u32>>, Vec<(usize, GpuError)>) {
    let (puzzle, def) = graph();
    let load = || Engine::load(&puzzle, &def, KernelChoice::Auto).expect("it loads");
    let engine = load();
    let failures = Arc::<Mutex<Vec<(usize, GpuError)>>>::default();
    let tables = engine.device_tables().expect("an index");
    let (devices, refusals) = JobDevices::new(offers, &tables, |number| {
        let failures = Arc::clone(&failures);
        Box::new(move |why| {
            let mut failures = failures.lock().expect("no panic");
            failures.push((number, why.clone()));
        })
    });
    drop(tables);
    assert_eq!(refusals, []);
    let watched = Arc::new(Watched {
        devices,
        answers: Mutex::default(),
    });
    assert_eq!(
        counts(&engine.with_device(watched.clone())),
        counts(&load())
    );
    let answers = watched.answers.lock().expect("no panic").clone();
    let failures = failures.lock().expect("no panic").clone();
    (answers, failures)
}

#[test]
fn two_devices_share_the_shards() {
    let Some(bench) = Bench::new() else { return };
    let kernels = || bench.open(Settings::default());
    let (answers, failures) = run(&[offer(kernels(), None), offer(kernels(), None)]);
    assert_eq!(failures, []);
    let by = |number: u32| answers.iter().filter(|&&by| by == Some(number)).count();
    assert!(by(0) > 30 && by(1) > 30, "{answers:?}");
    assert_eq!(by(0) + by(1), answers.len());
    // One is lost, the other goes on.
    let broken = kernels();
    broken.device().plant(100, Fault::Lost);
    let (answers, failures) = run(&[offer(broken, None), offer(kernels(), None)]);
    assert!(
        matches!(failures[..], [(0, GpuError::Lost { .. })]),
        "{failures:?}"
    );
    assert_eq!(answers.iter().filter(|by| by.is_none()).count(), 1);
    assert!(answers.ends_with(&[Some(1); 9]), "{answers:?}");
    // One is wrong: that one is told so.
    let broken = kernels();
    broken.device().plant(100, Fault::Wrong);
    let (answers, failures) = run(&[offer(kernels(), None), offer(broken, None)]);
    assert!(
        matches!(failures[..], [(1, GpuError::Wrong { .. })]),
        "{failures:?}"
    );
    assert!(answers.ends_with(&[Some(0); 9]), "{answers:?}");
    bench.is_clean();
}

#[test]
fn costs_decide() {
    let Some(bench) = Bench::new() else { return };
    let costs = |device: f64| Costs {
        costs: vec![Cost {
            task: Task::Words,
            device: Line {
                fixed_seconds: 0.0,
                unit_seconds: device,
            },
            processor: Line {
                fixed_seconds: 0.0,
                unit_seconds: 1e-10,
            },
            thin_seconds: 1e-8,
        }],
        upload_bytes_per_second: 1e9,
    };
    let answered = |costs| {
        let (answers, failures) = run(&[offer(bench.open(Settings::default()), Some(costs))]);
        assert_eq!(failures, []);
        let (on_device, by_processor): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(Option::is_some);
        (on_device.len(), by_processor.len())
    };
    let (on_device, by_processor) = answered(costs(1e-12));
    // The thin levels at the beginning are the processor's.
    assert!(
        on_device > 50 && by_processor > 20,
        "{on_device} {by_processor}"
    );
    assert_eq!(answered(costs(1e-9)).0, 0);
    bench.is_clean();
}

#[test]
fn calibration_measures_everything() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let costs = calibrate::run(&kernels, KernelChoice::Auto).expect("the device answers");
    for task in Task::ALL {
        let cost = costs.of(task).expect("it was measured");
        assert!(cost.device.unit_seconds > 0.0 && cost.processor.unit_seconds > 0.0);
        assert!(cost.device.at(1e9).is_finite());
        assert_eq!(cost.thin_seconds > 0.0, task != Task::Scrambles, "{cost:?}");
    }
    assert!(costs.upload_bytes_per_second > 1e6);
    drop(kernels);
    bench.is_clean();
}
