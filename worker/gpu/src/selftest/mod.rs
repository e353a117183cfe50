//! Every kernel against its twin, over sizes that are multiples of nothing.

mod levels;

use crate::error::GpuError;
use crate::kernels::Kernels;
use crate::sample::{self, Sample};
use antipode_solver_core::scramble::spec::{Rules, Shape, WalkSpec};
use antipode_solver_core::scramble::{Column, Wanted};
use antipode_solver_core::states::distances::{self, Measure};
use antipode_solver_core::states::{States, words};
use serde::Serialize;
use std::sync::Arc;

/// What was compared of one kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compared {
    pub kernel: &'static str,
    /// Calls with inputs of different sizes.
    pub calls: u32,
    /// Numbers compared.
    pub values: u64,
    /// Those that differ from the processor's; 0 is what it must be.
    pub wrong: u64,
    /// The first of them, in words.
    pub first_wrong: Option<String>,
}

impl Compared {
    fn new(kernel: &'static str) -> Compared {
        Compared {
            kernel,
            calls: 0,
            values: 0,
            wrong: 0,
            first_wrong: None,
        }
    }

    fn compare<T: PartialEq + std::fmt::Display>(
        &mut self,
        what: &str,
        device: &[T],
        processor: &[T],
    ) {
        self.calls += 1;
        self.values += processor.len() as u64;
        if device.len() != processor.len() {
            self.wrong += processor.len() as u64;
            self.first_wrong.get_or_insert(format!(
                "{what}: {} values instead of {}",
                device.len(),
                processor.len()
            ));
        }
        for (at, (a, b)) in device.iter().zip(processor).enumerate() {
            if a != b {
                self.wrong += 1;
                self.first_wrong.get_or_insert_with(|| {
                    format!("{what}: value {at} is {a}, the processor says {b}")
                });
            }
        }
    }
}

/// Positions, states and words or targets of each call.
const SIZES: [[usize; 3]; 9] = [
    [1, 1, 1],
    [2, 3, 2],
    [5, 1, 7],
    [7, 1009, 1],
    [24, 331, 13],
    [48, 1, 257],
    [55, 127, 61],
    [321, 97, 5],
    [1999, 11, 3],
];

/// Runs all kernels and compares every value.
///
/// # Errors
/// Those of the device; a wrong value is none, it is reported.
pub fn run(kernels: &Arc<Kernels>, seed: u64) -> Result<Vec<Compared>, GpuError> {
    let mut out = [
        "compose",
        "apply",
        "cycles",
        "manhattan",
        "breakpoint",
        "walks",
        "children",
        "encodings",
        "keys",
    ]
    .map(Compared::new);
    let [
        compose,
        apply,
        cycles,
        manhattan,
        breakpoint,
        scrambles @ ..,
    ] = &mut out;
    for (call, [degree, count, others]) in SIZES.into_iter().enumerate() {
        let mut sample = Sample::new(seed.wrapping_add(call as u64));
        let what = format!("{degree} positions, {count} by {others}");
        let generators = sample.generators(degree, 1 + call);
        // The longest ones take more than one dispatch.
        let longest = if degree < 100 { 1500 } else { 40 };
        let letters = sample.words(generators.len(), others, longest);
        let made = kernels.compose(degree, &generators, &letters)?;
        let products = words::compose(degree, &generators, &letters)?;
        compose.compare(&what, made.labels(), products.labels());

        let states = sample.permutations(degree, count);
        let coloured = sample.colourings(degree, count, 1 << 16);
        for states in [states, coloured].iter().flatten() {
            let made = kernels.apply(&products, states)?;
            apply.compare(
                &what,
                made.labels(),
                words::apply(&products, states)?.labels(),
            );
            compare_distances(
                manhattan,
                &what,
                kernels,
                Measure::Manhattan,
                states,
                &products,
            )?;
            compare_distances(
                breakpoint,
                &what,
                kernels,
                Measure::Breakpoint,
                states,
                &products,
            )?;
        }
        cycles.compare(
            &what,
            &kernels.cycles(&products)?,
            &words::cycles(&products)?,
        );
    }
    for job in [
        ("pocket", None, Column::Piece),
        ("cube:3", None, Column::Piece),
        ("lrx:301", None, Column::OneHot),
        ("topspin:8,4", Some("0,0,0,1,1,1,2,2"), Column::OneHot),
    ] {
        compare_scrambles(scrambles, kernels, job, seed)?;
    }
    let levels = levels::run(kernels)?;
    Ok(out.into_iter().chain(levels).collect())
}

/// Rows of all shapes with everything that is made of them.
fn compare_scrambles(
    [walks, children, encodings, keys]: &mut [Compared; 4],
    kernels: &Arc<Kernels>,
    (name, root, encoded): (&str, Option<&str>, Column),
    seed: u64,
) -> Result<(), GpuError> {
    let shapes = [
        Shape::Walk {
            min_depth: 0,
            max_depth: 25,
        },
        Shape::Trajectory {
            min_depth: 1,
            max_depth: 13,
        },
        Shape::Pivot {
            k_min: 1,
            max_depth: 30,
        },
    ];
    let columns = [Column::Word, Column::Key, Column::Children, encoded];
    for shape in shapes {
        let rules = Rules::NoUndo;
        let spec = WalkSpec { seed, shape, rules };
        let Ok((spec, loaded)) = sample::scrambles(name, root, spec, &columns) else {
            continue;
        };
        // The counter passes 32 bits on the way.
        let (first, rows) = ((1 << 32) - 200, 277);
        let drawn = kernels.scrambles(&spec, &loaded)?.draw(first, rows)?;
        let right = loaded.drawn(Wanted::of(&spec), first, rows);
        let what = format!("{name}, {shape:?}");
        walks.compare(&what, &drawn.states, &right.states);
        walks.compare(&what, &drawn.depths, &right.depths);
        let [ours, theirs] = [&drawn, &right].map(|made| made.view(&loaded.walks, 0..rows));
        for row in 0..rows {
            walks.compare(&what, ours.word(row), theirs.word(row));
        }
        let [mine, right] = [ours.children, theirs.children].map(Option::unwrap_or_default);
        children.compare(&what, mine, right);
        let [mine, right] = [ours.solved, theirs.solved].map(Option::unwrap_or_default);
        children.compare(&what, mine, right);
        let [mine, right] = [ours.encoded, theirs.encoded].map(Option::unwrap_or_default);
        encodings.compare(&what, mine, right);
        let [mine, right] = [ours.keys, theirs.keys].map(Option::unwrap_or_default);
        keys.compare(&what, mine, right);
    }
    Ok(())
}

fn compare_distances(
    compared: &mut Compared,
    what: &str,
    kernels: &Arc<Kernels>,
    measure: Measure,
    states: &States,
    targets: &States,
) -> Result<(), GpuError> {
    let made = kernels.distances(measure, states, targets)?;
    compared.compare(
        what,
        &made,
        &distances::distances(measure, states, targets)?,
    );
    Ok(())
}
