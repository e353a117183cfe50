//! Scrambles drawn on a device are those of the processor, bit for bit.

mod common;

use antipode_gpu::{Fault, GpuError, Kernels, Settings};
use antipode_solver_core::puzzle::{Puzzle, PuzzleOptions, resolve};
use antipode_solver_core::scramble::spec::{Rules, Shape, WalkSpec};
use antipode_solver_core::scramble::{Block, Walks};
use common::Bench;
use std::sync::Arc;

const SHAPES: [Shape; 6] = [
    Shape::Walk {
        min_depth: 0,
        max_depth: 25,
    },
    Shape::Walk {
        min_depth: 1,
        max_depth: 1,
    },
    Shape::Walk {
        min_depth: 20,
        max_depth: 20,
    },
    Shape::Trajectory {
        min_depth: 1,
        max_depth: 13,
    },
    Shape::Pivot {
        k_min: 1,
        max_depth: 30,
    },
    Shape::Pivot {
        k_min: 1,
        max_depth: 2,
    },
];

fn puzzle(spec: &str, root: Option<&str>) -> Puzzle {
    let options = PuzzleOptions {
        root: root.map(str::to_string),
        ..PuzzleOptions::default()
    };
    resolve(spec, &options).expect("a known puzzle")
}

#[track_caller]
fn the_same(kernels: &Arc<Kernels>, puzzle: &Puzzle, spec: &WalkSpec, first: u64, rows: usize) {
    // Some rules leave no move in some puzzles; then there is nothing to compare.
    let Ok(walks) = Walks::new(puzzle, spec) else {
        return;
    };
    let what = format!("{} {spec:?} {first} {rows}", puzzle.name());
    let (mut ours, mut theirs) = (Block::default(), Block::default());
    walks.fill(first, rows, &mut ours);
    let device = kernels.walks(puzzle, &walks).expect("the tables fit");
    let drawn = device.draw(first, rows).expect("the device answers");
    walks.adopt(drawn, &mut theirs).expect("as many rows");
    assert_eq!(ours.rows(), rows, "{what}");
    assert_eq!(ours.depths, theirs.depths, "{what}");
    assert_eq!(ours.states, theirs.states, "{what}");
    for row in 0..rows {
        assert_eq!(ours.word(row), theirs.word(row), "{what}, row {row}");
        assert_eq!(
            ours.next_move(row),
            theirs.next_move(row),
            "{what}, row {row}"
        );
    }
}

#[test]
fn all_shapes_rules_and_kinds_of_puzzles() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let puzzles = [
        puzzle("pocket", None),
        puzzle("cube:3", None),
        puzzle("lrx:5", None),
        puzzle("lx:7", None),
        puzzle("pancake:12", None),
        puzzle("topspin:8,4", Some("0,0,0,1,1,1,2,2")),
        // Labels of two bytes.
        puzzle("lrx:301", None),
    ];
    let mut compared = 0;
    for (number, puzzle) in puzzles.iter().enumerate() {
        for shape in SHAPES {
            for rules in [Rules::AllowUndo, Rules::NoUndo, Rules::NoCancel] {
                let seed = 0x0123_4567_89ab_cdef_u64.rotate_left(7 * number as u32);
                let spec = WalkSpec { seed, shape, rules };
                compared += usize::from(Walks::new(puzzle, &spec).is_ok());
                the_same(&kernels, puzzle, &spec, 1_000_003 * number as u64, 333);
            }
        }
    }
    assert!(compared > 100, "{compared}");
    drop(kernels);
    bench.is_clean();
}

#[test]
fn rows_far_out_and_beyond_the_end() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let puzzle = puzzle("pocket", None);
    for shape in SHAPES {
        let spec = WalkSpec {
            seed: u64::MAX,
            shape,
            rules: Rules::NoUndo,
        };
        for first in [
            0,
            (1 << 32) - 50,
            13 * ((1 << 32) - 3),
            (1 << 62) - 7,
            u64::MAX - 40,
        ] {
            the_same(&kernels, &puzzle, &spec, first, 101);
        }
        the_same(&kernels, &puzzle, &spec, 5, 0);
        the_same(&kernels, &puzzle, &spec, 5, 1);
    }
    drop(kernels);
    bench.is_clean();
}

#[test]
fn blocks_are_cut_and_long_walks_are_walked() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings {
        max_buffer_bytes: 3000,
        ..Settings::default()
    });
    let spec = |max_depth| WalkSpec {
        seed: 9,
        shape: Shape::Walk {
            min_depth: max_depth / 2,
            max_depth,
        },
        rules: Rules::NoUndo,
    };
    the_same(&kernels, &puzzle("pocket", None), &spec(26), 77, 501);
    let kernels = bench.open(Settings::default());
    the_same(&kernels, &puzzle("cube:3", None), &spec(5001), 77, 67);
    let walks = Walks::new(&puzzle("pocket", None), &spec(26)).expect("walks");
    let small = bench.open(Settings {
        max_buffer_bytes: 40,
        ..Settings::default()
    });
    assert!(small.walks(&puzzle("pocket", None), &walks).is_err());
    drop((kernels, small));
    bench.is_clean();
}

#[test]
fn a_wrong_row_is_noticed_and_the_device_left_alone() {
    let Some(bench) = Bench::new() else { return };
    let puzzle = puzzle("pocket", None);
    let shape = SHAPES[4];
    let rules = Rules::NoUndo;
    let walks = Walks::new(
        &puzzle,
        &WalkSpec {
            seed: 3,
            shape,
            rules,
        },
    )
    .expect("walks");
    // Two dispatches, then depths, moves and states come back: the first bit of each is spoiled.
    for later in 2..5 {
        let kernels = bench.open(Settings::default());
        let device = kernels.walks(&puzzle, &walks).expect("the tables fit");
        assert_eq!(
            device
                .verified_draw(&walks, 7, 100)
                .expect("rows")
                .depths
                .len(),
            100
        );
        assert!(
            device
                .verified_draw(&walks, 7, 0)
                .expect("none")
                .depths
                .is_empty()
        );
        kernels.device().plant(later, Fault::Wrong);
        for _ in 0..2 {
            let error = device.verified_draw(&walks, 7, 100).err();
            assert!(matches!(error, Some(GpuError::Wrong { .. })), "{error:?}");
        }
    }
    bench.is_clean();
}
