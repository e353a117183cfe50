//! Items on devices, whatever becomes of these.

// The same device, and the same ears for the validation layer, as the tests of the kernels.
#[path = "../../../gpu/tests/common/mod.rs"]
mod common;

use super::*;
use crate::testing;
use antipode_gpu::{Fault, Kernels, Offer, Settings};
use antipode_ids::JobId;
use antipode_solver_core::batch::Stop;
use antipode_solver_core::puzzle::{PuzzleOptions, resolve};
use antipode_solver_core::scramble::{Column, Format, Rules, ScramblesSpec, Shape, WalkSpec};
use common::Bench;
use std::sync::Arc;

fn question() -> ScramblesSpec {
    ScramblesSpec {
        puzzle: resolve("cube:3", &PuzzleOptions::default()).expect("a known puzzle"),
        walks: WalkSpec {
            seed: 5,
            shape: Shape::Walk {
                min_depth: 1,
                max_depth: 20,
            },
            rules: Rules::NoUndo,
        },
        offset: 1000,
        rows: 2500,
        columns: vec![
            Column::State,
            Column::Depth,
            Column::Word,
            Column::Key,
            Column::Children,
            Column::Piece,
        ],
        format: Format::Parquet,
        lists: false,
        part_rows: 900,
    }
}

/// What every item makes.
fn items(kernels: &[Arc<Kernels>]) -> Vec<Vec<u8>> {
    let offer = |kernels: &Arc<Kernels>| Offer {
        kernels: Arc::clone(kernels),
        costs: None,
        resident_bytes: 1 << 20,
    };
    let devices = Devices::new(kernels.iter().map(offer).collect());
    let spec = BatchSpec::Scrambles(question());
    let batch = load(
        &spec,
        &testing::definition(7, false),
        &devices,
        &Announcer::alone(JobId(1)),
    )
    .expect("it loads");
    let items = (0..batch.items()).map(|item| {
        let made = batch.run(item, &Stop::default()).expect("it is made");
        made.rows.expect("rows")
    });
    items.collect()
}

#[test]
fn parts_do_not_depend_on_devices_nor_on_what_becomes_of_them() {
    let Some(bench) = Bench::new() else { return };
    let right = items(&[]);
    assert_eq!(right.len(), 3);
    let kernels = || bench.open(Settings::default());
    assert!(items(&[kernels()]) == right);
    assert!(items(&[kernels(), kernels()]) == right);
    // Tables are sent at first; then three parts of seven submissions each.
    for fault in [Fault::Lost, Fault::OutOfMemory, Fault::Hang, Fault::Wrong] {
        for later in [0, 4, 9, 12, 17, 25] {
            let broken = kernels();
            broken.device().plant(later, fault);
            assert!(items(&[broken]) == right, "{fault:?} {later}");
        }
        let broken = kernels();
        broken.device().plant(10, fault);
        assert!(items(&[broken, kernels()]) == right, "{fault:?}");
    }
    bench.is_clean();
}

#[test]
fn a_device_that_is_lost_already_is_left_out() {
    let Some(bench) = Bench::new() else { return };
    let spec = question();
    let loaded = Arc::new(spec.load().expect("a question"));
    let devices = |kernels: &[Arc<Kernels>]| {
        let numbered: Vec<_> = (0..).zip(kernels.iter().cloned()).collect();
        let watch = Devices::default().watch(&spec, &Announcer::alone(JobId(1)));
        DeviceDraws::new(&numbered, &spec, &loaded, watch)
    };
    let broken = bench.open(Settings::default());
    broken.device().plant(0, Fault::Lost);
    let none = devices(std::slice::from_ref(&broken)).expect("no mistake");
    assert!(none.is_none());
    let one = devices(&[broken, bench.open(Settings::default())]).expect("no mistake");
    let engine = one.expect("one is left").engine();
    assert!(engine.starts_with("vulkan, "), "{engine}");
    // One device, named once.
    assert!(!engine.contains(" and "), "{engine}");
    bench.is_clean();
}
