//! Devices and kernels on a real driver: every value compared, batches cut, faults, choices.

mod common;

use antipode_gpu::{Choice, Fault, GpuError, Kernels, Kind, Options, Settings, Vulkan, selftest};
use antipode_solver_core::Perm;
use antipode_solver_core::states::distances::{self, Measure};
use antipode_solver_core::states::{States, StatesError, words};
use common::Bench;
use std::sync::Arc;
use std::time::Duration;

#[track_caller]
fn all_right(kernels: &Arc<Kernels>, seed: u64) {
    let compared = selftest::run(kernels, seed).expect("the device answers");
    assert_eq!(compared.len(), 12);
    for kernel in compared {
        assert!(kernel.values > 1000, "{kernel:?}");
        assert_eq!(kernel.wrong, 0, "{kernel:?}");
    }
}

#[test]
fn every_kernel_gives_what_the_processor_gives() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    all_right(&kernels, 1);
    all_right(&kernels, 20_261_201);
    assert!(kernels.device().uploaded_bytes() > 0);
    drop(kernels);
    bench.is_clean();
}

#[test]
fn batches_are_cut_to_what_a_buffer_takes() {
    let Some(bench) = Bench::new() else { return };
    // The longest row of the test are the 301 * 301 columns of an encoding, of which one fits.
    let kernels = bench.open(Settings {
        max_buffer_bytes: 100_000,
        ..Settings::default()
    });
    assert_eq!(kernels.device().max_buffer_bytes(), 100_000);
    all_right(&kernels, 2);
    let kernels = bench.open(Settings {
        max_buffer_bytes: 12,
        ..Settings::default()
    });
    let states = States::of(6, (0..6).chain((0..6).rev()).collect()).expect("rows");
    for measure in [Measure::Manhattan, Measure::Breakpoint] {
        assert_eq!(
            kernels.distances(measure, &states, &states),
            Ok(distances::distances(measure, &states, &states).expect("of one puzzle"))
        );
    }
    assert_eq!(
        kernels.apply(&states, &states),
        Ok(words::apply(&states, &states).expect("of one puzzle"))
    );
    let long = States::of(7, (0..7).collect()).expect("a row");
    let error = kernels
        .distances(Measure::Manhattan, &long, &long)
        .expect_err("a row of 16 bytes");
    assert!(
        matches!(
            error,
            GpuError::TooLarge {
                bytes: 16,
                limit: 12,
                ..
            }
        ),
        "{error}"
    );
    drop(kernels);
    bench.is_clean();
}

#[test]
fn empty_batches_and_wrong_ones() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let none = States::new(4).expect("four positions");
    let one = States::of(4, vec![3, 1, 0, 2]).expect("a row");
    let coloured = States::of(4, vec![1, 1, 0, 2]).expect("a row");
    for measure in [Measure::Manhattan, Measure::Breakpoint] {
        assert_eq!(kernels.distances(measure, &none, &one), Ok(vec![]));
        assert_eq!(kernels.distances(measure, &one, &none), Ok(vec![]));
    }
    assert_eq!(kernels.apply(&none, &one), Ok(none.clone()));
    assert_eq!(kernels.apply(&one, &none), Ok(none.clone()));
    assert_eq!(kernels.cycles(&none), Ok(vec![]));
    assert_eq!(kernels.compose(4, &[], &[]), Ok(none));
    let identity = States::of(4, vec![0, 1, 2, 3]).expect("a row");
    assert_eq!(kernels.compose(4, &[], &[vec![]]), Ok(identity));

    let repeated = Err(GpuError::Input(StatesError::Repeated { at: 0, label: 1 }));
    assert_eq!(
        kernels.distances(Measure::Breakpoint, &one, &coloured),
        repeated
    );
    let wrong = Err(GpuError::Input(StatesError::NoPermutation {
        at: 0,
        value: 1,
    }));
    assert_eq!(kernels.cycles(&coloured), wrong);
    assert!(kernels.apply(&coloured, &one).is_err());
    let turn = Perm::from_images(&[1u16, 2, 3, 0]).expect("a permutation");
    assert!(kernels.compose(4, &[turn], &[vec![1]]).is_err());
    drop(kernels);
    bench.is_clean();
}

#[test]
fn the_largest_degree() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let degree = usize::from(u16::MAX);
    // One cycle through all points, and two.
    let turn = |by: usize| (0..degree).map(move |i| ((i + by) % degree) as u16);
    let rows = States::of(degree, turn(1).chain(turn(degree / 3)).collect()).expect("rows");
    let cycles = kernels.cycles(&rows).expect("permutations");
    assert_eq!(cycles, words::cycles(&rows).expect("permutations"));
    assert_eq!(cycles[0] as usize, degree);
    for measure in [Measure::Manhattan, Measure::Breakpoint] {
        assert_eq!(
            kernels.distances(measure, &rows, &rows),
            Ok(distances::distances(measure, &rows, &rows).expect("of one puzzle"))
        );
    }
    drop(kernels);
    bench.is_clean();
}

#[test]
fn software_is_used_only_when_named() {
    let Some(bench) = Bench::new() else { return };
    for info in bench.vulkan.devices() {
        assert!(!info.name.is_empty());
        assert!(info.max_buffer_bytes >= 1 << 27, "Vulkan promises 128 MiB");
        assert_eq!(info.uuid.len(), 36);
        let by_index = bench.vulkan.choose(Choice::Index(info.index));
        if info.unusable.is_none() {
            assert_eq!(by_index, Ok(info));
            let uuid = info.uuid.parse().expect("a UUID");
            assert_eq!(
                bench.vulkan.choose(uuid).map(|found| &found.uuid),
                Ok(&info.uuid)
            );
        }
    }
    match bench.vulkan.choose(Choice::Auto) {
        Ok(info) => assert_ne!(info.kind, Kind::Software),
        Err(error) => assert!(error.to_string().contains("must be named"), "{error}"),
    }
    let error = bench
        .vulkan
        .choose(Choice::Index(4000))
        .expect_err("there are fewer");
    assert!(
        error
            .to_string()
            .contains("there is no device 4000; there are: 0 ("),
        "{error}"
    );
    bench.is_clean();
}

#[test]
fn a_lost_device_answers_nothing_more() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let row = States::of(3, vec![2, 0, 1]).expect("a row");
    assert!(kernels.cycles(&row).is_ok());
    kernels.device().plant(1, Fault::Lost);
    for _ in 0..2 {
        let error = kernels.cycles(&row).expect_err("it is lost");
        assert!(matches!(error, GpuError::Lost { .. }), "{error}");
    }
    drop(kernels);
    all_right(&bench.open(Settings::default()), 3);
    bench.is_clean();
}

#[test]
fn memory_that_is_not_there_is_no_end() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let row = States::of(3, vec![2, 0, 1]).expect("a row");
    kernels.device().plant(0, Fault::OutOfMemory);
    let error = kernels.cycles(&row).expect_err("no memory");
    assert!(matches!(error, GpuError::OutOfMemory { .. }), "{error}");
    assert_eq!(kernels.cycles(&row), Ok(vec![3, 0, 0]));
    drop(kernels);
    bench.is_clean();
}

#[test]
fn a_device_that_hangs_is_given_up() {
    let Some(bench) = Bench::new() else { return };
    let row = States::of(3, vec![2, 0, 1]).expect("a row");
    let kernels = bench.open(Settings::default());
    kernels.device().plant(1, Fault::Hang);
    for _ in 0..2 {
        let error = kernels.cycles(&row).expect_err("it hangs");
        assert!(matches!(error, GpuError::Hang { .. }), "{error}");
    }
    drop(kernels);
    bench.is_clean();
}

#[test]
fn time_that_really_runs_out() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings {
        timeout: Duration::ZERO,
        ..Settings::default()
    });
    // Two thousand rows of a thousand points, each point a cycle to follow: more than the driver does at once.
    let turn = (0..2000).flat_map(|_| (0..1000u16).map(|i| (i + 1) % 1000));
    let rows = States::of(1000, turn.collect()).expect("rows");
    let error = kernels.cycles(&rows).expect_err("no time at all");
    assert!(matches!(error, GpuError::Hang { .. }), "{error}");
    // What the device may still be using is kept, so this must not fault.
    drop(kernels);
    bench.is_clean();
}

#[test]
fn a_wrong_result_is_found() {
    let Some(bench) = Bench::new() else { return };
    // In the first call, and in some later one.
    for later in [0, 100] {
        let kernels = bench.open(Settings::default());
        kernels.device().plant(later, Fault::Wrong);
        let compared = selftest::run(&kernels, 4).expect("the device answers");
        let wrong: u64 = compared.iter().map(|kernel| kernel.wrong).sum();
        assert_eq!(wrong, 1, "{compared:?}");
        let mut first = compared
            .iter()
            .filter_map(|kernel| kernel.first_wrong.as_ref());
        assert!(
            first.any(|text| text.contains("the processor says")),
            "{compared:?}"
        );
    }
}

#[test]
fn a_device_that_was_wrong_is_not_asked_again() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let states = States::of(3, vec![2, 0, 1, 0, 1, 2]).expect("rows");
    let right = distances::distances(Measure::Manhattan, &states, &states);
    let ask = || kernels.verified_distances(Measure::Manhattan, &states, &states);
    assert_eq!(ask().ok(), right.ok());
    // Two uploads, one dispatch, and the copy back, which is spoiled.
    kernels.device().plant(3, Fault::Wrong);
    for _ in 0..2 {
        let error = ask().expect_err("one bit is wrong");
        assert!(matches!(error, GpuError::Wrong { .. }), "{error}");
    }
    assert!(kernels.cycles(&states).is_err());
    drop(kernels);
    bench.is_clean();
}

#[test]
fn without_a_loader_it_is_said_what_is_missing() {
    let error = Vulkan::load(&Options {
        library: Some("/nowhere/libvulkan.so.1".into()),
        validation: false,
    })
    .err()
    .expect("there is no such file");
    let text = error.to_string();
    assert!(matches!(error, GpuError::NoVulkan(_)), "{text}");
    assert!(text.contains("/nowhere/libvulkan.so.1"), "{text}");
}
