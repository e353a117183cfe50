//! `bench`: the bare engine on a fixed list of graphs, and two yardsticks of the machine in the same run.

mod device;

use super::Call;
use crate::compute_args::ComputeArgs;
use crate::exit::Failure;
use crate::gpu_args::{Asker, LevelGpuArgs};
use crate::render::{json, line, short, table};
use crate::{gpu_costs, memory};
use antipode_gpu::Offer;
use antipode_solver_core::bfs::enumerate::enumerate;
use antipode_solver_core::bfs::yardstick;
use antipode_solver_core::engine::{Engine, KernelChoice};
use antipode_solver_core::puzzle::{self, PuzzleOptions};
use antipode_solver_core::space::{self, LayoutOptions};
use device::{Device, DeviceRow};
use serde::Serialize;
use std::time::Instant;

/// Measure the engine on graphs of known size, level by level in this process
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The large graphs too: G1, 19,508,428,800 states, 8 GB; topspin:14,4, 87,178,291,200 states, 24 GB
    #[arg(long)]
    large: bool,

    /// Only graphs whose name contains this
    #[arg(long, value_name = "NAME")]
    only: Option<String>,

    #[command(flatten)]
    compute: ComputeArgs,

    /// Measure a graphics processor too, with every level on it: what kinds of tasks cost there and on the CPU, and the
    /// same graphs
    #[command(flatten)]
    gpu: LevelGpuArgs,

    /// Print one JSON object (docs/schema/bench.schema.json)
    #[arg(long)]
    json: bool,
}

/// A graph of the list: what a user would type, and the known number of states.
struct Graph {
    name: &'static str,
    spec: &'static str,
    metric: Option<&'static str>,
    moves: Option<&'static str>,
    orbits: Option<&'static str>,
    root: Option<&'static str>,
    states: u64,
    large: bool,
}

impl Graph {
    const fn new(name: &'static str, spec: &'static str, states: u64) -> Graph {
        Graph {
            name,
            spec,
            metric: None,
            moves: None,
            orbits: None,
            root: None,
            states,
            large: false,
        }
    }

    const fn half_turns(self) -> Graph {
        Graph {
            metric: Some("htm"),
            ..self
        }
    }

    const fn moves(self, moves: &'static str) -> Graph {
        Graph {
            moves: Some(moves),
            ..self
        }
    }

    const fn orbits(self, orbits: &'static str) -> Graph {
        Graph {
            orbits: Some(orbits),
            ..self
        }
    }

    const fn root(self, root: &'static str) -> Graph {
        Graph {
            root: Some(root),
            ..self
        }
    }

    const fn large(self) -> Graph {
        Graph {
            large: true,
            ..self
        }
    }
}

const TWO_COLOURS: &str = "0,0,0,0,0,0,0,0,0,0,0,0,0,1,1,1,1,1,1,1,1,1,1,1,1,1";

const GRAPHS: [Graph; 14] = [
    Graph::new("pocket", "pocket", 3_674_160),
    Graph::new("corners htm", "cube:3", 88_179_840)
        .half_turns()
        .orbits("corners"),
    Graph::new("<U,R> htm", "cube:3", 73_483_200)
        .half_turns()
        .moves("U,R"),
    Graph::new("lrx:11", "lrx:11", 39_916_800),
    Graph::new("lrx:12", "lrx:12", 479_001_600),
    Graph::new("lx:12", "lx:12", 479_001_600),
    Graph::new("topspin:11,4", "topspin:11,4", 19_958_400),
    Graph::new("topspin:12,4", "topspin:12,4", 479_001_600),
    Graph::new("topspin:13,4", "topspin:13,4", 3_113_510_400),
    Graph::new("topspin:26,4 two-colour", "topspin:26,4", 10_400_600).root(TWO_COLOURS),
    Graph::new("pancake:12", "pancake:12", 479_001_600),
    Graph::new("phase1", "phase1", 2_217_093_120),
    Graph::new("G1 htm", "cube:3", 19_508_428_800)
        .half_turns()
        .moves("U,D,R2,L2,F2,B2")
        .large(),
    Graph::new("topspin:14,4", "topspin:14,4", 87_178_291_200).large(),
];

/// One line of the result.
#[derive(Debug, Serialize)]
struct Row {
    graph: &'static str,
    states: String,
    moves: usize,
    /// Levels, level 0 included.
    levels: usize,
    engine: &'static str,
    kernel: &'static str,
    /// To compute the index and to load it.
    setup_seconds: f64,
    /// The search itself.
    seconds: f64,
    states_per_second: f64,
    state_moves_per_second_per_core: f64,
    engine_memory_bytes: u64,
    process_peak_memory_bytes: u64,
    /// With `--gpu`.
    device: Option<DeviceRow>,
}

/// The whole result.
#[derive(Debug, Serialize)]
struct Bench {
    threads: u32,
    graphs: Vec<Row>,
    yardsticks: Yardsticks,
    /// With `--gpu`.
    device: Option<Device>,
}

/// What the machine can do at best, one thread each, so that numbers of different machines can be compared.
#[derive(Debug, Serialize)]
struct Yardsticks {
    /// Leaf words permuted a second by the kernel with everything in the first cache.
    leaf_words_per_second: f64,
    /// Bytes a second read from memory in order.
    stream_bytes_per_second: f64,
}

/// Runs the list.
pub fn bench(args: &Args, call: &Call) -> Result<(), Failure> {
    let kernel = args.compute.kernel()?;
    let threads = args.compute.threads();
    let chosen: Vec<&Graph> = GRAPHS
        .iter()
        .filter(|graph| args.large || !graph.large || args.only.is_some())
        .filter(|graph| {
            args.only
                .as_ref()
                .is_none_or(|part| graph.name.contains(part.as_str()))
        })
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = GRAPHS.iter().map(|graph| graph.name).collect();
        return Err(Failure::input(format!(
            "--only {}: no graph is called so; there are: {}",
            args.only.as_deref().unwrap_or(""),
            names.join(", ")
        )));
    }
    let pool = args.compute.pool()?;
    let offer = match args.gpu.is_wanted(false) {
        false => None,
        true => {
            let offers = args.gpu.open(Asker::Command, kernel, &pool)?;
            offers.into_iter().next()
        }
    };
    let device = match &offer {
        None => None,
        Some(offer) => {
            let costs = gpu_costs::measured(&offer.kernels, kernel, &pool)?;
            let info = offer.kernels.device().info().clone();
            Some(Device::new(info, &costs))
        }
    };
    // Every level, whatever it costs.
    let offer = offer.map(|offer| Offer {
        costs: None,
        ..offer
    });
    let mut rows = Vec::new();
    for graph in chosen {
        eprintln!("{} ...", graph.name);
        rows.push(pool.install(|| measure(graph, kernel, threads, offer.as_ref()))?);
    }
    let yardsticks = Yardsticks {
        leaf_words_per_second: yardstick::leaf_words_per_second(kernel)?,
        stream_bytes_per_second: yardstick::stream_bytes_per_second(),
    };
    let bench = Bench {
        threads,
        graphs: rows,
        yardsticks,
        device,
    };
    if args.json {
        json::print_signed(&bench, &call.command)
    } else {
        print(&bench)
    }
}

fn measure(
    graph: &Graph,
    kernel: KernelChoice,
    threads: u32,
    offer: Option<&Offer>,
) -> Result<Row, Failure> {
    let owned = |text: Option<&str>| text.map(str::to_string);
    let options = PuzzleOptions {
        metric: owned(graph.metric),
        moves: owned(graph.moves),
        root: owned(graph.root),
        orbits: owned(graph.orbits),
        colours: false,
    };
    memory::forget_own_peak();
    let begun = Instant::now();
    let puzzle = puzzle::resolve(graph.spec, &options)?;
    let def = space::build(&puzzle, &LayoutOptions::default())?;
    let engine = Engine::load(&puzzle, &def, kernel)?;
    let setup_seconds = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    // The known number is not told to the engine: the sum is to be found, and then compared.
    let (levels, last) = enumerate(&engine, None, None, 0, |_| ())?;
    let seconds = begun.elapsed().as_secs_f64().max(1e-9);
    drop(last);
    let sum: u128 = levels.iter().map(|level| u128::from(level.count)).sum();
    if sum != u128::from(graph.states) {
        return Err(Failure::Internal(format!(
            "{}: the levels sum to {sum}, but the graph has {} states",
            graph.name, graph.states
        )));
    }
    let held = levels
        .iter()
        .map(|level| level.held_bytes)
        .max()
        .unwrap_or(0);
    let moves = puzzle.generators().len();
    let states_per_second = graph.states as f64 / seconds;
    let peak = memory::own_peak_bytes();
    let device = match offer {
        None => None,
        Some(offer) => {
            let engine = Engine::load(&puzzle, &def, kernel)?;
            Some(device::measure(engine, offer, &levels, moves)?)
        }
    };
    Ok(Row {
        device,
        graph: graph.name,
        states: graph.states.to_string(),
        moves,
        levels: levels.len(),
        engine: engine.kind(),
        kernel: engine.kernel(),
        setup_seconds,
        seconds,
        states_per_second,
        state_moves_per_second_per_core: states_per_second * moves as f64 / f64::from(threads),
        engine_memory_bytes: held + engine.table_bytes(),
        process_peak_memory_bytes: peak,
    })
}

fn print(bench: &Bench) -> Result<(), Failure> {
    let rows = bench.graphs.iter().map(|row| {
        let mut cells = vec![
            row.graph.to_string(),
            row.states.clone(),
            row.moves.to_string(),
            format!("{:.3}", row.seconds),
            short(row.states_per_second),
            short(row.state_moves_per_second_per_core),
            memory::show(row.engine_memory_bytes),
            memory::show(row.process_peak_memory_bytes),
            format!("{}, {}", row.engine, row.kernel),
        ];
        cells.extend(row.device.iter().flat_map(DeviceRow::cells));
        cells
    });
    let mut heads = vec![
        "GRAPH",
        ">STATES",
        ">MOVES",
        ">SECONDS",
        ">STATES/S",
        ">STATE-MOVES/S/CORE",
        ">ENGINE MEMORY",
        ">PROCESS PEAK",
        "ENGINE",
    ];
    if bench.device.is_some() {
        heads.extend(device::HEADS);
    }
    table::print(&heads, rows.collect())?;
    if let Some(device) = &bench.device {
        device.print()?;
    }
    line("")?;
    line(&format!(
        "{} threads; all sums checked against the known numbers of states",
        bench.threads
    ))?;
    line(&format!(
        "yardsticks, one thread: {} leaf words/s in the first cache, {}/s streamed from memory",
        short(bench.yardsticks.leaf_words_per_second),
        memory::show(bench.yardsticks.stream_bytes_per_second as u64)
    ))
}
