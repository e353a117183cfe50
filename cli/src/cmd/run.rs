//! `run`: a whole cluster in this process - the coordinator and the worker that the daemons are - for one job.

use super::{Call, block_on};
use crate::compute_args::ComputeArgs;
use crate::exit::Failure;
use crate::fit::{self, Have};
use crate::follow::{follow, is_at_rest, outcome};
use crate::job_args::JobArgs;
use crate::progress::Progress;
use crate::render::{json, summary};
use crate::report::{self, Asked, BfsReport};
use crate::run_folder::RunFolder;
use crate::signals::Signals;
use crate::{data_dir, memory};
use antipode_coordinator::Coordinator;
use antipode_proto::client::{Client, Submission};
use antipode_proto::ids::JobId;
use antipode_proto::status::{JobState, JobStatus};
use antipode_solver_core::engine::KernelChoice;
use antipode_solver_core::job::{BfsSpec, Keep};
use antipode_solver_core::space;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::oneshot;

/// Compute on this machine, with no server to start: resumes where it stopped, prints a stored answer again
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

    /// Where the store is kept [default: the per-user data directory, or ./antipode-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Compute again although an answer, or a part of it, is stored
    #[arg(long)]
    fresh: bool,

    /// Save what is needed to go on this often, e.g. 500ms, 10s, 5m [default: so that it costs below 10 % of the time]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    checkpoint_every: Option<Duration>,

    /// Print one JSON object (docs/schema/bfs.schema.json); levels go to stderr
    #[arg(long)]
    json: bool,
}

/// `run bfs PUZZLE`.
pub fn bfs(args: &Args, call: &Call) -> Result<(), Failure> {
    let spec = args.job.spec(args.job.puzzle.load()?);
    let kernel = args.compute.kernel()?;
    let data = data_dir::resolve(args.data.as_deref())?;
    let folder = RunFolder::of(&data, &spec);
    if !args.json {
        print_warnings(&spec);
    }
    if !args.fresh
        && let Some(stored) = stored_answer(&folder, &spec)?
    {
        eprintln!("stored answer, in {}", folder.path().display());
        let progress = Progress::new(stored.definition.space.states.as_deref(), args.json);
        return print(args, call, &stored, true, progress);
    }
    let space = space::build(&spec.puzzle, &spec.layout)?;
    let have = Have {
        memory_bytes: args.compute.memory_bytes(),
        disk_bytes: data_dir::free_bytes(&data),
    };
    fit::refuse_if_too_large(&spec, &space, &have)?;
    data_dir::create(&data)?;
    eprintln!("store: {}", folder.path().display());
    let progress = Progress::new(
        space.states.as_deref().filter(|_| spec.depth.is_none()),
        args.json,
    );
    block_on(run(args, call, spec, &folder, kernel, progress))
}

async fn run(
    args: &Args,
    call: &Call,
    spec: BfsSpec,
    folder: &RunFolder,
    kernel: KernelChoice,
    mut progress: Progress,
) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let coordinator = Coordinator::open(antipode_coordinator::Config {
        checkpoint_every: args.checkpoint_every,
        ..antipode_coordinator::Config::new(folder.coordinator())
    })
    .await?;
    let client = coordinator.client();
    let submission = Submission {
        key: new_key(),
        spec,
        fresh: args.fresh,
    };
    let job = client.submit(submission).await?.job;
    if client.show(job).await?.state == JobState::Paused {
        client.resume(job).await?;
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let mut worker = tokio::spawn(antipode_worker::run(
        antipode_worker::Config {
            data: folder.worker(),
            name: "run".into(),
            threads: args.compute.threads() as usize,
            memory_bytes: args.compute.memory_bytes(),
            listen: None,
            advertise: None,
            insecure: false,
            kernel,
            coordinator: antipode_worker::Source::Link(coordinator.attach()),
            gauges: Default::default(),
        },
        async {
            let _ = stopped.await;
        },
    ));
    let result = tokio::select! {
        followed = follow(&client, job, &mut progress) => followed.and_then(|status| {
            outcome(&status)?;
            print(args, call, &status, false, progress)
        }),
        signal = signals.next() => {
            progress.finish();
            signals.next_one_kills();
            Err(pause(&client, job, signal, folder, call).await)
        }
        ended = &mut worker => Err(match ended {
            Ok(Ok(_)) => Failure::other("the worker ended before the job did"),
            Ok(Err(error)) => error.into(),
            Err(panic) => Failure::Internal(format!("the worker: {panic}")),
        }),
    };
    // Whoever listens has gone only if the worker ended by itself.
    let _ = stop.send(());
    if !worker.is_finished() {
        let _ = worker.await;
    }
    coordinator.close().await;
    result
}

/// Brings the job to a checkpoint; the failure says how to go on.
async fn pause(
    client: &dyn Client,
    job: JobId,
    signal: u8,
    folder: &RunFolder,
    call: &Call,
) -> Failure {
    eprintln!("stopping: finishing the level and storing it (once more to stop at once)");
    match client.pause(job).await {
        Ok(status) => {
            let reached = match status.levels.last() {
                Some(level) if !is_at_rest(&status.state) || status.state == JobState::Paused => {
                    format!("paused after level {}", level.level)
                }
                Some(_) => format!("the job is {}", report::state_words(&status.state).0),
                None => "stopped before the first level".into(),
            };
            Failure::Interrupted {
                signal,
                say: format!(
                    "{reached}; the store is {}; to go on, give the same command again:\n  {}",
                    folder.path().display(),
                    call.command.replace(" --fresh", "")
                ),
            }
        }
        Err(error) => error.into(),
    }
}

/// A finished job's answer in the folder, if it answers all that is asked now.
fn stored_answer(folder: &RunFolder, spec: &BfsSpec) -> Result<Option<JobStatus>, Failure> {
    let store = folder.coordinator();
    if !antipode_coordinator::is_store(&store) {
        return Ok(None);
    }
    let jobs = antipode_coordinator::read_only(&store)?;
    Ok(jobs
        .into_iter()
        .rev()
        .find(|job| job.state == JobState::Finished && answers(job, spec)))
}

/// The same question, and nothing less was listed or kept.
fn answers(stored: &JobStatus, spec: &BfsSpec) -> bool {
    let old = &stored.definition.spec;
    let listed = u64::from(old.antipodes) >= stored.levels.last().map_or(0, |level| level.count);
    let same = old.puzzle.generators() == spec.puzzle.generators()
        && old.puzzle.roots() == spec.puzzle.roots()
        && old.depth == spec.depth
        && old.layout == spec.layout;
    same && (listed || old.antipodes >= spec.antipodes)
        && (old.keep == Keep::Frontiers || spec.keep == Keep::Result)
}

fn print(
    args: &Args,
    call: &Call,
    status: &JobStatus,
    cached: bool,
    mut progress: Progress,
) -> Result<(), Failure> {
    let asked = Asked {
        command: call.command.clone(),
        elapsed: Some(call.started.elapsed()),
        cached,
        own_peak_bytes: (!cached).then(memory::own_peak_bytes),
        antipodes: Some(args.job.antipodes),
    };
    if args.json {
        return json::print(&BfsReport::new(status, &asked)?);
    }
    progress.show(status)?;
    progress.finish();
    summary::print(&BfsReport::new(status, &asked)?)
}

/// Warnings come before the work too: a user may want to stop here.
fn print_warnings(spec: &BfsSpec) {
    for warning in spec.puzzle.warnings() {
        eprintln!("warning: {warning}");
    }
}

/// A key that no other submission has.
pub fn new_key() -> String {
    uuid::Uuid::new_v4().to_string()
}
