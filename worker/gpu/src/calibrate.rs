//! A short measurement of a device and the processor side by side, from which [`Costs`] follow. About a second.

use crate::costs::{Cost, Costs, Line, Task};
use crate::error::GpuError;
use crate::expand::DeviceSpace;
use crate::kernels::Kernels;
use crate::sample;
use crate::timing::{self, best, best_of};
use antipode_solver_core::bfs::enumerate::enumerate_with;
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::engine::{Engine, KernelChoice, Level, Seen, ShardId};
use antipode_solver_core::puzzle::{self, Metric, Puzzle, PuzzleOptions};
use antipode_solver_core::scramble::{Column, Wanted};
use antipode_solver_core::space::{self, LayoutOptions};
use std::sync::Arc;
use std::time::Instant;

/// Sets on the device while it is measured, at most.
const RESIDENT_BYTES: u64 = 256 << 20;

/// Measures all kinds of tasks, in the thread pool it is called in.
///
/// # Errors
/// Those of the device.
pub fn run(kernels: &Arc<Kernels>, kernel: KernelChoice) -> Result<Costs, GpuError> {
    let mut costs = Vec::new();
    for (task, [small, large]) in [
        (Task::Words, [topspin(8), topspin(10)]),
        (Task::Rows, [twists(), twists_and_flips()]),
        (Task::Tables, [two_colours(14), two_colours(20)]),
    ] {
        let small = measure(
            kernels,
            &small.map_err(|rule| kernels.device().misuse(rule))?,
            kernel,
        )?;
        let large = measure(
            kernels,
            &large.map_err(|rule| kernels.device().misuse(rule))?,
            kernel,
        )?;
        costs.push(Cost {
            task,
            device: Line::through([(small.work, small.device), (large.work, large.device)]),
            processor: Line::through([
                (small.work, small.processor),
                (large.work, large.processor),
            ]),
            thin_seconds: large.thin,
        });
    }
    costs.push(scrambles(kernels)?);
    Ok(Costs {
        costs,
        upload_bytes_per_second: upload(kernels)?,
    })
}

/// A level of a large graph of each kind of space, for [`crate::bench`].
pub(crate) fn levels(kernels: &Arc<Kernels>) -> Result<Vec<LargestLevel>, GpuError> {
    let graphs = [
        (Task::Words, "topspin:10,4, 3,628,800 states", topspin(10)),
        (
            Task::Rows,
            "twists and flips of cube:3, 4,478,976 states",
            twists_and_flips(),
        ),
        (
            Task::Tables,
            "topspin:20,4 in two colours, 184,756 states",
            two_colours(20),
        ),
    ];
    graphs
        .into_iter()
        .map(|(task, name, graph)| {
            let graph = graph.map_err(|rule| kernels.device().misuse(rule))?;
            let moves = graph.puzzle.generators().len();
            let times = measure(kernels, &graph, KernelChoice::Auto)?;
            Ok(LargestLevel {
                task,
                size: format!("one level of {name}, {moves} moves"),
                work: times.work as u64,
                device_seconds: times.device,
                processor_seconds: times.processor,
            })
        })
        .collect()
}

/// The largest level of a graph, measured.
pub(crate) struct LargestLevel {
    pub task: Task,
    pub size: String,
    /// States times moves.
    pub work: u64,
    pub device_seconds: f64,
    pub processor_seconds: f64,
}

/// A graph, and how its index is laid out.
struct Graph {
    puzzle: Puzzle,
    layout: LayoutOptions,
}

fn topspin(n: u32) -> Result<Graph, String> {
    Ok(Graph {
        puzzle: resolve(&format!("topspin:{n},4"), None)?,
        layout: LayoutOptions {
            min_shards: Some(1),
            ..LayoutOptions::default()
        },
    })
}

fn two_colours(n: usize) -> Result<Graph, String> {
    let labels: Vec<&str> = (0..n).map(|i| if 2 * i < n { "0" } else { "1" }).collect();
    Ok(Graph {
        puzzle: resolve(&format!("topspin:{n},4"), Some(labels.join(",")))?,
        layout: LayoutOptions {
            min_shards: Some(1),
            kind: Some("table".into()),
            ..LayoutOptions::default()
        },
    })
}

/// The corners' twists: one row of 2187 states.
fn twists() -> Result<Graph, String> {
    coarser([0, 1, 2, 2, 2, 2, 6])
}

/// Twists and the edges' flips: 2187 rows of 2048 states.
fn twists_and_flips() -> Result<Graph, String> {
    coarser([0, 1, 2, 3, 2, 3, 6])
}

/// Phase 1 with labels made equal.
fn coarser(classes: [u16; 7]) -> Result<Graph, String> {
    let whole = resolve("phase1", None)?;
    let root = whole.roots()[0]
        .iter()
        .map(|&label| classes[usize::from(label)]);
    let puzzle = Puzzle::new(
        "coordinates of phase 1".into(),
        whole.generators().to_vec(),
        vec![root.collect()],
        Metric::Custom,
        Vec::new(),
    );
    Ok(Graph {
        puzzle: puzzle.map_err(|error| error.to_string())?,
        layout: LayoutOptions {
            min_shards: Some(1),
            ..LayoutOptions::default()
        },
    })
}

fn resolve(spec: &str, root: Option<String>) -> Result<Puzzle, String> {
    let options = PuzzleOptions {
        root,
        ..PuzzleOptions::default()
    };
    puzzle::resolve(spec, &options).map_err(|error| error.to_string())
}

/// Seconds of one level.
struct Times {
    /// States times moves.
    work: f64,
    device: f64,
    processor: f64,
    /// Of the processor, for each source state of a thin level.
    thin: f64,
}

/// The largest level of a graph of one shard, and a thin one.
fn measure(kernels: &Arc<Kernels>, graph: &Graph, kernel: KernelChoice) -> Result<Times, GpuError> {
    let wrong = |rule: String| kernels.device().misuse(rule);
    let def = space::build(&graph.puzzle, &graph.layout).map_err(|e| wrong(e.to_string()))?;
    let engine = Engine::load(&graph.puzzle, &def, kernel).map_err(|e| wrong(e.to_string()))?;
    let mut levels: Vec<Frontier> = Vec::new();
    enumerate_with(&engine, None, None, 0, |_, sets| {
        levels.extend(sets.first().cloned());
    })
    .map_err(|error| wrong(error.to_string()))?;
    let sizes: Vec<u64> = levels.iter().map(Frontier::count).collect();
    let largest = (2..levels.len()).max_by_key(|&l| sizes[l]).unwrap_or(1);
    // A level that the processor does state by state, and that still takes a while.
    let thin = (1..largest)
        .filter(|&l| sizes[l - 1] * 2000 < engine.geometry(ShardId(0)).states)
        .max_by_key(|&l| sizes[l])
        .unwrap_or(1);
    let time = |engine: &Engine, l: usize| -> Result<f64, GpuError> {
        let before = l.checked_sub(2).map(|b| levels[b].clone());
        let before = before.unwrap_or_else(|| Frontier::empty(engine.geometry(ShardId(0))));
        let own = &levels[l - 1];
        let sources = [(ShardId(0), own)];
        best_of(|| {
            // Not timed: the copy that is used up.
            let seen = Seen::Previous(before.clone());
            let begun = Instant::now();
            let made = engine.expand(l as Level, ShardId(0), &sources, own, seen, 0);
            made.map_err(|error| wrong(error.to_string()))?;
            Ok(begun.elapsed().as_secs_f64())
        })
    };
    let processor = time(&engine, largest)?;
    let thin_seconds = time(&engine, thin)?;
    let moves = graph.puzzle.generators().len() as f64;
    let work = engine.geometry(ShardId(0)).states as f64 * moves;
    let tables = engine.device_tables();
    let tables = tables.ok_or_else(|| wrong("a space without an index".into()))?;
    let space = DeviceSpace::new(kernels, &tables, RESIDENT_BYTES, Box::new(|_| ()))?;
    drop(tables);
    let space = Arc::new(space);
    let device = time(&engine.with_device(space.clone()), largest)?;
    match space.why_over() {
        Some(why) => Err(why),
        None => Ok(Times {
            work,
            device,
            processor,
            thin: thin_seconds / (sizes[thin - 1] as f64 * moves).max(1.0),
        }),
    }
}

fn scrambles(kernels: &Arc<Kernels>) -> Result<Cost, GpuError> {
    let job = sample::scrambles("cube:3", None, sample::walks(), &[Column::State]);
    let (spec, loaded) = job.map_err(|rule| kernels.device().misuse(rule))?;
    let wanted = Wanted::of(&spec);
    let mut device = kernels.scrambles(&spec, &loaded)?;
    let mut times = [[(0.0, 0.0); 2]; 2];
    for (at, rows) in [1usize << 12, 1 << 17].into_iter().enumerate() {
        let on_device = best(|| device.draw(0, rows).map(drop))?;
        let on_processor = best(|| {
            timing::draw_on_processor(&loaded, wanted, rows);
            Ok(())
        })?;
        times[0][at] = (rows as f64, on_device);
        times[1][at] = (rows as f64, on_processor);
    }
    let [device, processor] = times.map(Line::through);
    Ok(Cost {
        task: Task::Scrambles,
        device,
        processor,
        thin_seconds: 0.0,
    })
}

/// Bytes a second to the device.
fn upload(kernels: &Kernels) -> Result<f64, GpuError> {
    let words = vec![0u32; (kernels.device().max_buffer_bytes() as usize / 4).min(4 << 20)];
    let seconds = best(|| kernels.upload(&words).map(drop))?;
    Ok(4.0 * words.len() as f64 / seconds)
}
