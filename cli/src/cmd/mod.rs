//! The commands, one file each: help text, arguments, call, rendering.

mod bench;
mod cancel;
mod coordinator;
mod diameter;
mod distance;
mod drain;
mod explain;
mod gc;
mod get;
mod gpu;
mod jobs;
mod landmarks;
mod pause;
mod plan;
mod puzzle;
mod query;
mod resume;
mod run;
mod scrambles;
mod show;
mod submit;
mod verify;
mod worker;
mod workers;

pub use show::number;

use crate::exit::Failure;
use crate::logging::{self, LogArgs};
use crate::puzzle_arg::quoted;
use std::future::Future;
use std::time::Instant;

/// Enumerates Cayley graphs of permutation puzzles, state by state, on one machine or on many.
///
/// Start with `antipode run bfs pocket`. Exit codes: 0 an answer, 2 bad input, 70 an internal error
/// (a law was violated), 130 interrupted, 1 anything else.
#[derive(Debug, clap::Parser)]
#[command(name = "antipode", version = version(), max_term_width = 100)]
pub struct Arguments {
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    #[command(subcommand)]
    Run(run::Kind),
    #[command(subcommand)]
    Plan(plan::Kind),
    Coordinator(coordinator::Args),
    Worker(drain::WorkerArgs),
    #[command(subcommand)]
    Submit(submit::Kind),
    Jobs(jobs::Args),
    Show(show::Args),
    Pause(pause::Args),
    Resume(Box<resume::Args>),
    Cancel(cancel::Args),
    Explain(explain::Args),
    Get(get::Args),
    Query(query::Args),
    Distance(distance::Args),
    Verify(verify::Args),
    Gc(gc::Args),
    Workers(workers::Args),
    #[command(subcommand)]
    Scrambles(scrambles::What),
    #[command(subcommand)]
    Puzzle(puzzle::What),
    Bench(bench::Args),
    #[command(subcommand)]
    Gpu(gpu::What),
}

/// This call of the program.
#[derive(Debug, Clone)]
pub struct Call {
    pub started: Instant,
    /// The command line, as a shell would take it.
    pub command: String,
}

/// The command line, as a shell would take it.
pub fn command_line() -> String {
    let mut words = vec!["antipode".to_string()];
    words.extend(std::env::args_os().skip(1).map(|word| quoted(&word)));
    words.join(" ")
}

/// Calls the command.
pub fn dispatch(arguments: Arguments, call: &Call) -> Result<(), Failure> {
    // A daemon's log is what its user sees of it; other commands speak for themselves.
    let is_daemon = match &arguments.command {
        Command::Coordinator(_) => true,
        Command::Worker(args) => args.is_daemon(),
        _ => false,
    };
    logging::start(&arguments.log, if is_daemon { "info" } else { "warn" })?;
    match arguments.command {
        Command::Run(run::Kind::Bfs(args)) => run::bfs(&args, call),
        Command::Run(run::Kind::Diameter(args)) => diameter::run(&args, call),
        Command::Run(run::Kind::Landmarks(args)) => landmarks::run(&args, call),
        Command::Run(run::Kind::Scrambles(args)) => scrambles::run::run(&args, call),
        Command::Plan(plan::Kind::Bfs(args)) => plan::bfs(&args, call),
        Command::Coordinator(args) => coordinator::coordinator(&args),
        Command::Worker(args) => args.run(call),
        Command::Submit(submit::Kind::Bfs(args)) => submit::bfs(&args, call),
        Command::Submit(submit::Kind::Diameter(args)) => diameter::submit(&args, call),
        Command::Submit(submit::Kind::Landmarks(args)) => landmarks::submit(&args, call),
        Command::Submit(submit::Kind::Scrambles(args)) => submit::scrambles(&args, call),
        Command::Jobs(args) => jobs::jobs(&args, call),
        Command::Show(args) => show::show(&args, call),
        Command::Pause(args) => pause::pause(&args, call),
        Command::Resume(args) => resume::resume(&args, call),
        Command::Cancel(args) => cancel::cancel(&args, call),
        Command::Explain(args) => explain::explain(&args, call),
        Command::Get(args) => get::get(&args, call),
        Command::Query(args) => query::query(&args, call),
        Command::Distance(args) => distance::distance(&args, call),
        Command::Verify(args) => verify::verify(&args, call),
        Command::Gc(args) => gc::gc(&args, call),
        Command::Workers(args) => workers::workers(&args, call),
        Command::Scrambles(what) => scrambles::scrambles(&what, call),
        Command::Puzzle(what) => puzzle::puzzle(&what, call),
        Command::Bench(args) => bench::bench(&args, call),
        Command::Gpu(what) => gpu::gpu(&what, call),
    }
}

/// For conversations beside other work.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::other(format!("the asynchronous runtime does not start: {error}"))
        })
}

/// Runs a command's conversation to its end.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let outcome = runtime.block_on(work);
    // A thread that still hangs in a system call must not keep a finished command waiting.
    runtime.shutdown_background();
    outcome
}

fn version() -> &'static str {
    concat!(
        env!("CARGO_PKG_VERSION"),
        " (",
        env!("ANTIPODE_COMMIT"),
        ")"
    )
}
