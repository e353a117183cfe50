//! How fast kernels and their twins are, as a caller sees it: data sent, computed and brought back. Of rows of scrambles also
//! what the kernels do alone.

use crate::calibrate;
use crate::error::GpuError;
use crate::kernels::Kernels;
use crate::sample::{self, Sample};
use crate::timing::{self, best};
use antipode_solver_core::scramble::{Column, Wanted};
use antipode_solver_core::states::States;
use antipode_solver_core::states::distances::{self, Measure};
use antipode_solver_core::states::words;
use serde::Serialize;
use std::sync::Arc;

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub kernel: &'static str,
    /// What was computed.
    pub size: String,
    /// Results: states, permutations, distances, or states times moves of a level.
    pub results: u64,
    /// The best of three, on the device, transfers included.
    pub device_seconds: f64,
    /// The best of three of the twin, in the thread pool it is called in.
    pub processor_seconds: f64,
    /// Bytes sent to the device in one call.
    pub uploaded_bytes: u64,
    /// Without bringing results back, where that is measured.
    pub alone: Option<Alone>,
}

/// What kernels do where their results stay on the device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alone {
    /// As many as take a while.
    pub results: u64,
    pub seconds: f64,
}

const POSITIONS: usize = 48;

/// Measures all kernels at one size, on puzzles of 48 positions (the stickers of a cube that move).
///
/// # Errors
/// Those of the device.
pub fn run(kernels: &Arc<Kernels>) -> Result<Vec<Row>, GpuError> {
    let mut sample = Sample::new(1);
    let generators = sample.generators(POSITIONS, 18);
    let letters = sample.words(generators.len(), 20_000, 60);
    let products = words::compose(POSITIONS, &generators, &letters)?;
    let mut few = States::new(POSITIONS)?;
    for at in 0..20 {
        few.push(products.row(at))?;
    }
    let mut targets = States::new(POSITIONS)?;
    for at in 0..200 {
        targets.push(products.row(at))?;
    }
    let of = format!("{POSITIONS} positions");
    let mut rows = vec![
        row(
            kernels,
            "compose",
            format!("20,000 words of up to 60 letters, {of}"),
            20_000,
            || kernels.compose(POSITIONS, &generators, &letters).map(drop),
            || Ok(words::compose(POSITIONS, &generators, &letters).map(drop)?),
        )?,
        row(
            kernels,
            "apply",
            format!("20 words to 20,000 states, {of}"),
            400_000,
            || kernels.apply(&few, &products).map(drop),
            || Ok(words::apply(&few, &products).map(drop)?),
        )?,
        row(
            kernels,
            "cycles",
            format!("20,000 permutations, {of}"),
            20_000,
            || kernels.cycles(&products).map(drop),
            || Ok(words::cycles(&products).map(drop)?),
        )?,
    ];
    for measure in [Measure::Manhattan, Measure::Breakpoint] {
        rows.push(row(
            kernels,
            measure.name(),
            format!("20,000 states by 200 targets, {of}"),
            4_000_000,
            || kernels.distances(measure, &products, &targets).map(drop),
            || Ok(distances::distances(measure, &products, &targets).map(drop)?),
        )?);
    }
    for (kernel, column) in [
        ("walks", Column::State),
        ("children", Column::Children),
        ("encodings", Column::Piece),
        ("keys", Column::Key),
    ] {
        rows.push(scrambles(kernels, kernel, column)?);
    }
    // Counted in states times moves, what the pull of a level takes.
    rows.extend(calibrate::levels(kernels)?.into_iter().map(|level| Row {
        kernel: level.task.name(),
        size: level.size,
        results: level.work,
        device_seconds: level.device_seconds,
        processor_seconds: level.processor_seconds,
        uploaded_bytes: 0,
        alone: None,
    }));
    Ok(rows)
}

/// The kernels alone run at least so long.
const ALONE_SECONDS: f64 = 0.2;
/// Rows that they make at most.
const ALONE_ROWS: usize = 1 << 28;

/// Rows of scrambles of the 3x3x3 with one column more, as `run scrambles` has them drawn; the processor draws blocks in
/// all its threads.
fn scrambles(
    kernels: &Arc<Kernels>,
    kernel: &'static str,
    column: Column,
) -> Result<Row, GpuError> {
    let rows = if column == Column::State {
        200_000
    } else {
        50_000
    };
    let job = sample::scrambles("cube:3", None, sample::walks(), &[column]);
    let (spec, loaded) = job.map_err(|rule| kernels.device().misuse(rule))?;
    let wanted = Wanted::of(&spec);
    let mut device = kernels.scrambles(&spec, &loaded)?;
    let made = row(
        kernels,
        kernel,
        format!("{},000 scrambles of cube:3, 1 to 30 moves", rows / 1000),
        rows as u64,
        || device.draw(0, rows).map(drop),
        || {
            timing::draw_on_processor(&loaded, wanted, rows);
            Ok(())
        },
    )?;
    let mut results = rows;
    loop {
        let seconds = best(|| device.compute(0, results))?;
        if seconds >= ALONE_SECONDS || results >= ALONE_ROWS {
            let results = results as u64;
            let alone = Some(Alone { results, seconds });
            return Ok(Row { alone, ..made });
        }
        results *= 4;
    }
}

fn row(
    kernels: &Arc<Kernels>,
    kernel: &'static str,
    size: String,
    results: u64,
    mut device: impl FnMut() -> Result<(), GpuError>,
    processor: impl Fn() -> Result<(), GpuError>,
) -> Result<Row, GpuError> {
    let before = kernels.device().uploaded_bytes();
    device()?;
    let uploaded_bytes = kernels.device().uploaded_bytes() - before;
    Ok(Row {
        kernel,
        size,
        results,
        device_seconds: best(device)?,
        processor_seconds: best(processor)?,
        uploaded_bytes,
        alone: None,
    })
}
