//! `plan`: what a job would be, before anything runs: order, index, memory, disk, and an estimate of the time.

use super::Call;
use crate::compute_args::ComputeArgs;
use crate::exit::Failure;
use crate::fit::{Have, Need, Verdict};
use crate::job_args::JobArgs;
use crate::render::{grouped, json, line, short, span};
use crate::{data_dir, memory};
use antipode_solver_core::bfs::enumerate::enumerate;
use antipode_solver_core::engine::{Engine, KernelChoice};
use antipode_solver_core::job::BfsSpec;
use antipode_solver_core::puzzle::{self, PuzzleOptions};
use antipode_solver_core::space::{self, LayoutOptions, SpaceDef};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Say what a job would need before anything runs
#[derive(Debug, clap::Subcommand)]
pub enum Kind {
    /// Count every state of a puzzle by its distance from the root
    Bfs(Box<Args>),
}

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    compute: ComputeArgs,

    /// Where the store would be [default: the per-user data directory, or ./antipode-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Print one JSON object (docs/schema/plan.schema.json)
    #[arg(long)]
    json: bool,
}

/// The kind without an index: packed states in memory, up to a depth limit.
const SPARSE: &str = "sparse";

/// What is planned. Numbers that may pass 2^53 are decimal strings.
#[derive(Debug, Serialize)]
struct Plan {
    puzzle: String,
    generators: Vec<String>,
    metric: &'static str,
    roots: usize,
    directed: bool,
    group_order: String,
    states: Option<String>,
    states_proof: String,
    engine: String,
    layout: String,
    shards: u32,
    /// The most other shards that one shard's next level is computed from.
    sources_per_shard: usize,
    need: Need,
    have: Have,
    verdict: Verdict,
    /// Seconds, an estimate; `None` where the number of states is not known.
    estimated_seconds: Option<f64>,
    estimated_from: String,
    warnings: Vec<String>,
}

/// `plan bfs PUZZLE`.
pub fn bfs(args: &Args, call: &Call) -> Result<(), Failure> {
    let spec = args.job.spec(args.job.puzzle.load()?);
    let kernel = args.compute.kernel()?;
    let data = data_dir::resolve(args.data.as_deref())?;
    let space = space::build(&spec.puzzle, &spec.layout)?;
    let have = Have {
        memory_bytes: args.compute.memory_bytes(),
        disk_bytes: data_dir::free_bytes(&data),
    };
    let tables_bytes = Engine::load(&spec.puzzle, &space, kernel)?.table_bytes();
    let need = Need::of(&spec, &space, tables_bytes);
    let rate = calibrate(&space.kind, kernel, &args.compute)?;
    let plan = make(&spec, &space, need, have, rate);
    if args.json {
        json::print_signed(&plan, &call.command)?;
    } else {
        print(&plan)?;
    }
    match plan.verdict {
        Verdict::TooLarge(why) => Err(Failure::input(format!(
            "{} is too large for this machine: {why}",
            plan.puzzle
        ))),
        Verdict::InMemory | Verdict::OutOfCore => Ok(()),
    }
}

fn make(spec: &BfsSpec, space: &SpaceDef, need: Need, have: Have, rate: Rate) -> Plan {
    let puzzle = &spec.puzzle;
    // Without an index a search goes to its depth limit only; how many states that is, it has to find out.
    let states: Option<f64> = space
        .states
        .as_ref()
        .filter(|_| space.kind != SPARSE)
        .and_then(|s| s.parse().ok());
    let moves = puzzle.generators().len() as f64;
    Plan {
        puzzle: puzzle.name().into(),
        generators: puzzle.generators().iter().map(|g| g.name.clone()).collect(),
        metric: puzzle.metric().name(),
        roots: puzzle.roots().len(),
        directed: space.directed,
        group_order: space.group_order.clone(),
        states: space.states.clone(),
        states_proof: space.states_proof.clone(),
        engine: space.kind.clone(),
        layout: space.layout.clone(),
        shards: space.shards,
        sources_per_shard: space.sources.iter().map(Vec::len).max().unwrap_or(0),
        verdict: need.verdict(&have),
        need,
        have,
        estimated_seconds: states.map(|n| n * moves / rate.state_moves_per_second),
        estimated_from: rate.from,
        warnings: puzzle.warnings().to_vec(),
    }
}

/// How fast this machine is, measured just now.
struct Rate {
    state_moves_per_second: f64,
    from: String,
}

/// Enumerates a small graph of the same kind of index. Larger graphs leave the caches and have more, thinner
/// levels, so the time that follows is an estimate and rather a short one.
fn calibrate(kind: &str, kernel: KernelChoice, compute: &ComputeArgs) -> Result<Rate, Failure> {
    let (spec, root) = match kind {
        "table" => (
            "topspin:20,4",
            Some("0,0,0,0,0,0,0,0,0,0,1,1,1,1,1,1,1,1,1,1"),
        ),
        _ => ("pocket", None),
    };
    let options = PuzzleOptions {
        root: root.map(str::to_string),
        ..PuzzleOptions::default()
    };
    let puzzle = puzzle::resolve(spec, &options)?;
    let engine = Engine::load(
        &puzzle,
        &space::build(&puzzle, &LayoutOptions::default())?,
        kernel,
    )?;
    let (seconds, levels) = compute.pool()?.install(|| {
        let begun = Instant::now();
        enumerate(&engine, None, None, 0, |_| ())
            .map(|(levels, _)| (begun.elapsed().as_secs_f64(), levels))
    })?;
    let states: u64 = levels.iter().map(|level| level.count).sum();
    let state_moves = states as f64 * puzzle.generators().len() as f64;
    let threads = compute.threads();
    Ok(Rate {
        state_moves_per_second: state_moves / seconds.max(1e-6),
        from: format!(
            "{spec}, enumerated just now with {threads} thread{} ({}) at {} state-moves/s",
            if threads == 1 { "" } else { "s" },
            engine.kernel(),
            short(state_moves / seconds.max(1e-6))
        ),
    })
}

fn print(plan: &Plan) -> Result<(), Failure> {
    let say =
        |label: &str, text: String| line(&format!("{:<12} {text}", console::style(label).dim()));
    say(
        "puzzle",
        format!(
            "{} ({} generators, metric: {})",
            plan.puzzle,
            plan.generators.len(),
            plan.metric
        ),
    )?;
    say("generators", plan.generators.join(" "))?;
    if plan.directed {
        say("", "the list is directed: not closed under inverse".into())?;
    }
    if plan.roots > 1 {
        say("roots", plan.roots.to_string())?;
    }
    say("group order", grouped(&plan.group_order))?;
    let states = plan.states.as_deref().map_or("not known".into(), grouped);
    say("states", format!("{states} ({})", plan.states_proof))?;
    say("engine", format!("{}: {}", plan.engine, plan.layout))?;
    say(
        "shards",
        format!(
            "{}, each computed from {} at most",
            plan.shards, plan.sources_per_shard
        ),
    )?;
    if plan.engine == SPARSE {
        let allowed = memory::show(plan.have.memory_bytes);
        say(
            "memory",
            format!("as much as the levels up to --depth need, {allowed} allowed"),
        )?;
    } else {
        print_need(plan)?;
    }
    match &plan.verdict {
        Verdict::InMemory if plan.engine == SPARSE => {
            say("fits", "the first levels, in memory".into())?
        }
        Verdict::InMemory => say("fits", "in memory".into())?,
        Verdict::OutOfCore => say("fits", "out of core: shards are streamed from disk".into())?,
        Verdict::TooLarge(_) => say("fits", "no".into())?,
    }
    match plan.estimated_seconds {
        Some(seconds) => {
            let from = &plan.estimated_from;
            say(
                "time",
                format!("about {}, an estimate from {from}", estimate(seconds)),
            )?;
        }
        None => say("time", "not known".into())?,
    }
    for warning in &plan.warnings {
        say("warning", warning.clone())?;
    }
    Ok(())
}

/// A span in as many figures as an estimate has.
fn estimate(seconds: f64) -> String {
    match seconds {
        s if s < 0.1 => "0.1 s or less".into(),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 60.0 => format!("{s:.0} s"),
        s if s < 600.0 => span(s),
        s => span((s / 60.0).round() * 60.0),
    }
}

fn print_need(plan: &Plan) -> Result<(), Failure> {
    let need = &plan.need;
    say(
        "memory",
        format!(
            "{} ({} bitmaps of {}, tables {}), {} allowed",
            memory::show(need.memory_bytes),
            need.bitmaps,
            memory::show(need.bitmap_bytes),
            memory::show(need.tables_bytes),
            memory::show(plan.have.memory_bytes)
        ),
    )?;
    say(
        "out of core",
        format!(
            "{} of memory and {} of disk",
            memory::show(need.out_of_core_memory_bytes),
            memory::show(need.out_of_core_disk_bytes)
        ),
    )?;
    let free = plan.have.disk_bytes.map_or("unknown".into(), memory::show);
    say(
        "disk",
        format!(
            "{} for what is kept, {free} free",
            memory::show(need.disk_bytes)
        ),
    )?;
    Ok(())
}

fn say(label: &str, text: String) -> Result<(), Failure> {
    line(&format!("{:<12} {text}", console::style(label).dim()))
}
