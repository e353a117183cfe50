//! Scrambles drawn on a device are those of the processor, bit for bit.

mod common;

use antipode_gpu::{Fault, GpuError, Kernels, Settings};
use antipode_solver_core::puzzle::{Puzzle, PuzzleOptions, resolve};
use antipode_solver_core::scramble::table::Loaded;
use antipode_solver_core::scramble::{
    Column, Drawn, Format, Rules, ScramblesSpec, Shape, WalkSpec, Wanted,
};
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

/// A job with all that is made of rows; none where it is refused, as where rules leave no move.
fn job(puzzle: &Puzzle, walks: &WalkSpec) -> Option<(ScramblesSpec, Arc<Loaded>)> {
    let encoded = match puzzle.has_distinct_labels() && puzzle.degree().is_multiple_of(2) {
        true => Column::Piece,
        false => Column::OneHot,
    };
    let spec = ScramblesSpec {
        puzzle: puzzle.clone(),
        walks: *walks,
        offset: 0,
        rows: 1,
        columns: vec![Column::Word, Column::Key, Column::Children, encoded],
        format: Format::Npy,
        lists: false,
        part_rows: 1,
    };
    let loaded = spec.load().ok()?;
    Some((spec, Arc::new(loaded)))
}

#[track_caller]
fn the_same(kernels: &Arc<Kernels>, puzzle: &Puzzle, walks: &WalkSpec, first: u64, rows: usize) {
    let Some((spec, loaded)) = job(puzzle, walks) else {
        return;
    };
    let mut device = kernels.scrambles(&spec, &loaded).expect("the tables fit");
    let drawn = device.draw(first, rows).expect("the device answers");
    same_rows(&spec, &loaded, &drawn, first, rows);
}

#[track_caller]
fn same_rows(spec: &ScramblesSpec, loaded: &Loaded, drawn: &Drawn, first: u64, rows: usize) {
    let what = format!("{} {:?} {first} {rows}", spec.puzzle.name(), spec.walks);
    let wanted = Wanted::of(spec);
    assert_eq!(loaded.check(wanted, rows, drawn), Ok(()), "{what}");
    let right = loaded.drawn(wanted, first, rows);
    let [ours, theirs] = [drawn, &right].map(|made| made.view(&loaded.walks, 0..rows));
    assert_eq!(ours.difference(&theirs), None, "{what}");
    // Not even where nothing is compared because nothing was made.
    assert!(ours.children.is_some() && ours.encoded.is_some() && ours.keys.is_some());
    assert_eq!(ours.rows(), rows);
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
                compared += usize::from(job(puzzle, &spec).is_some());
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
    let (job, loaded) = job(&puzzle("pocket", None), &spec(26)).expect("a job");
    let small = bench.open(Settings {
        max_buffer_bytes: 40,
        ..Settings::default()
    });
    let error = small.scrambles(&job, &loaded).err();
    assert!(
        matches!(error, Some(GpuError::TooLarge { .. })),
        "{error:?}"
    );
    drop((kernels, small));
    bench.is_clean();
}

#[test]
fn moves_that_no_table_of_pairs_holds() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let spec = WalkSpec {
        seed: 2,
        shape: SHAPES[4],
        rules: Rules::NoUndo,
    };
    the_same(&kernels, &puzzle("pancake:90", None), &spec, 5, 150);
    drop(kernels);
    bench.is_clean();
}

#[test]
fn only_what_is_wanted_is_made() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let walks = WalkSpec {
        seed: 8,
        shape: SHAPES[0],
        rules: Rules::NoUndo,
    };
    let (spec, _) = job(&puzzle("cube:3", None), &walks).expect("a job");
    for column in [
        Column::State,
        Column::Solution,
        Column::Key,
        Column::Children,
        Column::OneHot,
    ] {
        let spec = ScramblesSpec {
            columns: vec![column],
            ..spec.clone()
        };
        let loaded = Arc::new(spec.load().expect("a job"));
        let mut device = kernels.scrambles(&spec, &loaded).expect("the tables fit");
        // Buffers are used again, for fewer rows and for more.
        for (first, rows) in [(7, 100), (1000, 9), (3, 400)] {
            let drawn = device
                .verified_draw(first, rows)
                .expect("the device answers");
            let wanted = Wanted::of(&spec);
            let right = loaded.drawn(wanted, first, rows);
            let [ours, theirs] = [&drawn, &right].map(|made| made.view(&loaded.walks, 0..rows));
            assert_eq!(ours.difference(&theirs), None, "{column:?}");
            assert_eq!(drawn.words.is_some(), wanted.moves);
            assert_eq!(drawn.children.is_some(), wanted.children);
        }
    }
    drop(kernels);
    bench.is_clean();
}

#[test]
fn a_child_that_is_a_root_and_several_roots() {
    let Some(bench) = Bench::new() else { return };
    let kernels = bench.open(Settings::default());
    let walks = |max_depth| WalkSpec {
        seed: 6,
        shape: Shape::Walk {
            min_depth: 0,
            max_depth,
        },
        rules: Rules::AllowUndo,
    };
    for (name, root) in [
        ("lrx:5", None),
        ("lrx:300", None),
        ("topspin:6,4", Some("0,0,0,1,1,1;1,1,1,0,0,0;0,1,0,1,0,1")),
    ] {
        let puzzle = puzzle(name, root);
        the_same(&kernels, &puzzle, &walks(3), 0, 200);
        let (spec, loaded) = job(&puzzle, &walks(3)).expect("a job");
        let drawn = kernels
            .scrambles(&spec, &loaded)
            .and_then(|mut device| device.draw(0, 200))
            .expect("the device answers");
        let solved = drawn.solved.expect("wanted");
        assert!(solved.contains(&1) && solved.contains(&0), "{name}");
    }
    drop(kernels);
    bench.is_clean();
}

#[test]
fn a_wrong_row_is_noticed_and_the_device_left_alone() {
    let Some(bench) = Bench::new() else { return };
    let puzzle = puzzle("pocket", None);
    let walks = WalkSpec {
        seed: 3,
        shape: SHAPES[4],
        rules: Rules::NoUndo,
    };
    let (spec, _) = job(&puzzle, &walks).expect("a job");
    // The first bit of everything that comes back is spoiled; states and depths with each.
    for column in [Column::Word, Column::Key, Column::Children, Column::Piece] {
        let spec = ScramblesSpec {
            columns: vec![column],
            ..spec.clone()
        };
        let loaded = Arc::new(spec.load().expect("a job"));
        let kernels = bench.open(Settings::default());
        let mut device = kernels.scrambles(&spec, &loaded).expect("the tables fit");
        let drawn = device.verified_draw(7, 100).expect("rows");
        assert_eq!(drawn.depths.len(), 100);
        let none = device.verified_draw(7, 0).expect("none");
        assert!(none.depths.is_empty());
        kernels.device().plant(0, Fault::Wrong);
        for _ in 0..2 {
            let error = device.verified_draw(7, 100).err();
            assert!(matches!(error, Some(GpuError::Wrong { .. })), "{error:?}");
        }
    }
    bench.is_clean();
}

#[test]
fn what_ends_a_device_ends_its_rows() {
    let Some(bench) = Bench::new() else { return };
    let walks = WalkSpec {
        seed: 3,
        shape: SHAPES[0],
        rules: Rules::NoUndo,
    };
    let (spec, loaded) = job(&puzzle("pocket", None), &walks).expect("a job");
    // Draw, walk, children, their roots, encodings, keys, and the way back: each may be the last thing that it does.
    for later in 0..7 {
        for (fault, is_over) in [
            (Fault::Lost, true),
            (Fault::Hang, true),
            (Fault::OutOfMemory, false),
        ] {
            let kernels = bench.open(Settings::default());
            let mut device = kernels.scrambles(&spec, &loaded).expect("the tables fit");
            kernels.device().plant(later, fault);
            let error = device.verified_draw(7, 100).expect_err("planted");
            let is_right = match fault {
                Fault::Lost => matches!(error, GpuError::Lost { .. }),
                Fault::Hang => matches!(error, GpuError::Hang { .. }),
                _ => matches!(error, GpuError::OutOfMemory { .. }),
            };
            assert!(is_right, "{later} {fault:?}: {error}");
            let again = device.verified_draw(7, 100);
            assert_eq!(again.is_err(), is_over, "{later} {fault:?}");
            if let Ok(drawn) = again {
                same_rows(&spec, &loaded, &drawn, 7, 100);
            }
        }
    }
    bench.is_clean();
}
