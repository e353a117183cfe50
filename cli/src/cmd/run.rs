//! `run`: a whole cluster in this process - the coordinator and the worker that the daemons are - for one job.

use super::{Call, block_on};
use crate::compute_args::ComputeArgs;
use crate::exit::Failure;
use crate::fit::{self, Have};
use crate::follow::{follow, outcome};
use crate::job_args::JobArgs;
use crate::progress::Progress;
use crate::render::{json, summary};
use crate::report::{self, Asked, BfsReport};
use crate::run_folder::RunFolder;
use crate::signals::Signals;
use crate::{data_dir, memory, stores};
use antipode_coordinator::Coordinator;
use antipode_proto::client::{Client, Submission};
use antipode_proto::ids::JobId;
use antipode_proto::status::{JobState, JobStatus};
use antipode_solver_core::engine::KernelChoice;
use antipode_solver_core::job::{BfsSpec, Keep};
use antipode_solver_core::space::{self, SpaceDef};
use std::path::PathBuf;
use std::sync::Arc;
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
    #[arg(long, value_name = "DURATION", value_parser = crate::render::parse_span)]
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
    let (space, start) = match stored(&folder, &spec)? {
        Stored::Answer(answer) if !args.fresh => {
            eprintln!("stored answer, in {}", folder.path().display());
            let progress = Progress::new(&answer.definition.space, spec.depth, args.json);
            return print(args, call, &answer, true, progress);
        }
        Stored::Unfinished(job) if !args.fresh => {
            (job.definition.space.clone(), Start::GoOn(job.job))
        }
        found => {
            let fresh = args.fresh || matches!(found, Stored::TooLittle);
            let space = space::build(&spec.puzzle, &spec.layout)?;
            (
                space.clone(),
                Start::Submit {
                    space: Box::new(space),
                    fresh,
                },
            )
        }
    };
    let have = Have {
        memory_bytes: args.compute.memory_bytes(),
        disk_bytes: data_dir::free_bytes(&data),
    };
    fit::refuse_if_too_large(&spec, &space, kernel, &have)?;
    data_dir::create(&data)?;
    eprintln!("store: {}", folder.path().display());
    let progress = Progress::new(&space, spec.depth, args.json);
    block_on(run(
        args,
        call,
        Work {
            spec,
            start,
            kernel,
        },
        &folder,
        progress,
    ))
}

/// What the cluster is to do.
struct Work {
    spec: BfsSpec,
    start: Start,
    kernel: KernelChoice,
}

enum Start {
    /// An unfinished job of the folder.
    GoOn(JobId),
    Submit {
        space: Box<SpaceDef>,
        fresh: bool,
    },
}

async fn run(
    args: &Args,
    call: &Call,
    work: Work,
    folder: &RunFolder,
    mut progress: Progress,
) -> Result<(), Failure> {
    let config = antipode_coordinator::Config {
        checkpoint_every: args.checkpoint_every,
        ..antipode_coordinator::Config::new(folder.coordinator())
    };
    let keep = work.spec.keep;
    let (coordinator, client, job) = match work.start {
        Start::GoOn(job) => {
            let coordinator = Coordinator::open(config).await?;
            let client = coordinator.client();
            (coordinator, client, job)
        }
        Start::Submit { space, fresh } => {
            // The index is here already: it was needed to see whether the job fits.
            let prepare = move |spec| antipode_coordinator::prepare_with(spec, (*space).clone());
            let coordinator = Coordinator::open_with(config, Arc::new(prepare)).await?;
            let client = coordinator.client();
            let submission = Submission {
                key: new_key(),
                spec: work.spec,
                fresh,
            };
            let job = client.submit(submission).await?.job;
            (coordinator, client, job)
        }
    };
    if client.show(job).await?.state == JobState::Paused {
        client.resume(job, false).await?;
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
            kernel: work.kernel,
            patience: None,
            grace: antipode_worker::DEFAULT_GRACE,
            disk_reserve: None,
            coordinator: antipode_worker::Source::Link(coordinator.attach()),
            gauges: Default::default(),
        },
        async {
            let _ = stopped.await;
        },
    ));
    let mut signals = Signals::new()?;
    let mut over = false;
    let result = tokio::select! {
        followed = follow(&client, job, &mut progress) => followed.and_then(|status| {
            over = matches!(status.state, JobState::Finished | JobState::Failed { .. } | JobState::Cancelled);
            outcome(&status)?;
            print(args, call, &status, false, progress)
        }),
        signal = signals.next() => {
            progress.finish();
            signals.next_one_kills();
            eprintln!("stopping: finishing the level and storing it (once more to stop at once)");
            match client.pause(job).await {
                Ok(status) if status.state == JobState::Finished => print(args, call, &status, false, progress),
                Ok(status) => Err(interrupted(&status, signal, folder, call)),
                Err(error) => Err(error.into()),
            }
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
    if over && keep == Keep::Result {
        // The worker may have been stopped before it heard that the job is over.
        antipode_worker::remove_job(&folder.worker(), job);
    }
    coordinator.close().await;
    result
}

/// Says where the job stands, and how to go on.
fn interrupted(status: &JobStatus, signal: u8, folder: &RunFolder, call: &Call) -> Failure {
    let (state, _) = report::state_words(&status.state);
    let reached = match status.levels.last() {
        Some(level) => format!("{state} after level {}", level.level),
        None => format!("{state} before the first level"),
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

/// What the folder has to say about a question.
enum Stored {
    Nothing,
    /// A job that lists or keeps less than is asked now.
    TooLittle,
    /// A job that can go on.
    Unfinished(Box<JobStatus>),
    Answer(Box<JobStatus>),
}

/// Looks at the jobs of the folder, the newest first.
fn stored(folder: &RunFolder, spec: &BfsSpec) -> Result<Stored, Failure> {
    let store = folder.coordinator();
    if !stores::is_store(&store) {
        return Ok(Stored::Nothing);
    }
    let mut found = Stored::Nothing;
    for job in antipode_coordinator::read_only(&store)?.into_iter().rev() {
        match (&job.state, is_enough(&job, spec)) {
            (JobState::Finished, true) => return Ok(Stored::Answer(Box::new(job))),
            (JobState::Cancelled | JobState::Failed { .. }, _) => {}
            (_, true) => return Ok(Stored::Unfinished(Box::new(job))),
            (_, false) => found = Stored::TooLittle,
        }
    }
    Ok(found)
}

/// Does the job list and keep all that is asked now? The question itself is the folder's.
fn is_enough(job: &JobStatus, spec: &BfsSpec) -> bool {
    let old = &job.definition.spec;
    let all_are_listed = job.state == JobState::Finished
        && u64::from(old.antipodes) >= job.levels.last().map_or(0, |level| level.count);
    (all_are_listed || old.antipodes >= spec.antipodes)
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
