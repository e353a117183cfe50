//! `run`: a whole cluster in this process - the coordinator and the worker that the daemons are - for one job.

use super::resume::can_be_taken_up;
use super::{Call, block_on};
use crate::compute_args::ComputeArgs;
use crate::exit::Failure;
use crate::fit::{self, Have};
use crate::follow::{follow, outcome};
use crate::gpu_args::{Asker, LevelGpuArgs};
use crate::job_args::JobArgs;
use crate::progress::Progress;
use crate::report::{self, Asked};
use crate::run_folder::RunFolder;
use crate::signals::Signals;
use crate::{answer, data_dir, memory, offline, stores};
use antipode_coordinator::{Coordinator, OpenError};
use antipode_proto::client::{Client, ClientError, Submission};
use antipode_proto::ids::JobId;
use antipode_proto::status::{JobState, JobStatus};
use antipode_solver_core::batch::BatchSpec;
use antipode_solver_core::engine::KernelChoice;
use antipode_solver_core::job::{JobSpec, Keep};
use antipode_solver_core::space::{self, SpaceDef};
use antipode_worker::Devices;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// What is not stored by then will not be.
const CLOSE: Duration = Duration::from_secs(10);

/// A stalled job that is to be paused is waited for so many seconds.
const GIVE_UP_AFTER: u32 = 5;

/// Compute on this machine, with no server to start: resumes where it stopped, prints a stored answer again
#[derive(Debug, clap::Subcommand)]
pub enum Kind {
    /// Count every state of a puzzle by its distance from the root
    Bfs(Box<Args>),
    /// Find the diameter, the radius and the pairs of states farthest apart
    Diameter(Box<super::diameter::Run>),
    /// How far 25 chosen permutations of N points are from the identity, for many N
    Landmarks(Box<super::landmarks::RunArgs>),
    /// Random walks from the root with everything that learning from them needs, as files
    Scrambles(Box<super::scrambles::run::Args>),
}

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// How any kind of job is run: where it is stored, and how it is printed.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub how: HowArgs,

    /// Where the store is kept [default: the per-user data directory, or ./antipode-data]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Compute again although an answer, or a part of it, is stored
    #[arg(long)]
    pub fresh: bool,

    /// Print one JSON object, described in docs/schema; everything else goes to stderr
    #[arg(long)]
    pub json: bool,
}

/// How this process computes: flags of `run` and of `resume` for a stored run.
#[derive(Debug, Clone, clap::Args)]
pub struct HowArgs {
    #[command(flatten)]
    pub compute: ComputeArgs,

    #[command(flatten)]
    pub gpu: LevelGpuArgs,

    /// Save what is needed to go on this often, e.g. 500ms, 10s, 5m [default: so that it costs below 10 % of the time]
    #[arg(long, value_name = "DURATION", value_parser = crate::render::parse_span)]
    checkpoint_every: Option<Duration>,

    /// A task that ended this process so often, while nothing else ran, is set aside [default: 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    crash_limit: Option<u32>,
}

/// A job that was computed, or that was stored already.
#[derive(Debug)]
pub struct Done {
    pub status: JobStatus,
    /// It was stored already.
    pub cached: bool,
    pub folder: RunFolder,
}

impl Done {
    /// What the report says about this command.
    pub fn asked(&self, antipodes: Option<u32>, call: &Call) -> Asked {
        Asked {
            command: call.command.clone(),
            elapsed: Some(call.started.elapsed()),
            cached: self.cached,
            own_peak_bytes: (!self.cached).then(memory::own_peak_bytes),
            antipodes,
        }
    }
}

/// `run bfs PUZZLE`.
pub fn bfs(args: &Args, call: &Call) -> Result<(), Failure> {
    let spec = args.job.spec(args.job.puzzle.load()?);
    let done = job(&spec.into(), &args.run, call)?;
    let asked = done.asked(Some(args.job.antipodes), call);
    answer::print_rest(&done.status, &asked, args.run.json)
}

/// The answer to any question: the stored one, or computed here.
pub fn job(spec: &JobSpec, args: &RunArgs, call: &Call) -> Result<Done, Failure> {
    // Refused before anything else is done.
    args.how.compute.kernel()?;
    let data = data_dir::resolve(args.data.as_deref())?;
    let folder = RunFolder::of(&data, spec);
    if !args.json {
        print_warnings(spec);
    }
    let found = match stored(&folder, spec) {
        Err(OpenError::Damaged { problem, .. }) if args.fresh => {
            let moved = folder.set_aside(&data)?;
            eprintln!(
                "the store of before is damaged ({problem}); it is set aside in {}",
                moved.display()
            );
            Stored::Nothing
        }
        found => found?,
    };
    match found {
        Stored::Answer(answer) if !args.fresh => {
            eprintln!("stored answer, in {}", folder.path().display());
            let mut progress = Progress::new(&answer.definition.space, spec.depth(), args.json);
            progress.show(&answer)?;
            progress.finish();
            Ok(Done {
                status: *answer,
                cached: true,
                folder,
            })
        }
        Stored::Unfinished(job) if !args.fresh => go_on(&folder, &job, &args.how, args.json, call),
        found => {
            let fresh = args.fresh || matches!(found, Stored::TooLittle);
            submit(&folder, spec.clone(), fresh, &args.how, args.json, call)
        }
    }
}

/// Takes up a job of a run's folder where it stopped.
pub fn go_on(
    folder: &RunFolder,
    job: &JobStatus,
    how: &HowArgs,
    json: bool,
    call: &Call,
) -> Result<Done, Failure> {
    if let Some(gone) = offline::all_is_gone(folder, job.job)? {
        return Err(Failure::other(format!(
            "job {} of {} cannot go on: {gone}",
            job.job,
            folder.path().display()
        )));
    }
    let work = Work {
        spec: job.definition.spec.clone(),
        start: Start::GoOn(job.job),
        kernel: how.compute.kernel()?,
    };
    begin(folder, work, &job.definition.space, how, json, call)
}

/// Computes a question from the beginning.
pub fn submit(
    folder: &RunFolder,
    spec: JobSpec,
    fresh: bool,
    how: &HowArgs,
    json: bool,
    call: &Call,
) -> Result<Done, Failure> {
    let space = match &spec {
        JobSpec::Bfs(bfs) => space::build(&bfs.puzzle, &bfs.layout)?,
        JobSpec::Batch(batch) => {
            let plan = batch.plan().and_then(|plan| plan.space());
            plan.map_err(Failure::input)?
        }
    };
    if !stores::is_store(&folder.coordinator()) && folder.worker().is_dir() {
        // Its worker would be refused, and what it holds is of no use without the results.
        std::fs::remove_dir_all(folder.worker()).map_err(|error| {
            Failure::other(format!(
                "{} is left of a run whose results are gone, and cannot be deleted: {error}",
                folder.worker().display()
            ))
        })?;
        eprintln!(
            "the results of before are gone: what was stored beside them is dropped, all is computed anew"
        );
    }
    let work = Work {
        spec,
        start: Start::Submit {
            space: Box::new(space.clone()),
            fresh,
        },
        kernel: how.compute.kernel()?,
    };
    begin(folder, work, &space, how, json, call)
}

fn begin(
    folder: &RunFolder,
    work: Work,
    space: &SpaceDef,
    how: &HowArgs,
    json: bool,
    call: &Call,
) -> Result<Done, Failure> {
    let data = folder.path();
    let have = Have {
        memory_bytes: how.compute.memory_bytes(),
        disk_bytes: data_dir::free_bytes(data),
    };
    fit::refuse_without_room(data, &have)?;
    if let JobSpec::Bfs(bfs) = &work.spec {
        fit::refuse_if_too_large(bfs, space, work.kernel, &have)?;
    }
    let devices = devices(how, &work, space)?;
    data_dir::create(data)?;
    eprintln!("store: {}", data.display());
    let mut progress = Progress::new(space, work.spec.depth(), json);
    if devices.offers().iter().any(|offer| offer.costs.is_none()) {
        progress.expect_devices();
    }
    let status = block_on(run(how, call, (work, devices), folder, progress))?;
    Ok(Done {
        status,
        cached: false,
        folder: folder.clone(),
    })
}

/// States times moves from which a search takes long enough to look for a graphics processor.
const LARGE: f64 = 2e9;

/// The graphics processors that are asked for, or that may be of use.
fn devices(how: &HowArgs, work: &Work, space: &SpaceDef) -> Result<Devices, Failure> {
    let is_large = work.spec.bfs().is_some_and(|bfs| {
        let states: f64 = space.shard_states.iter().map(|&states| states as f64).sum();
        states * bfs.puzzle.generators().len() as f64 >= LARGE
    });
    if !how.gpu.is_wanted(is_large) {
        return Ok(Devices::default());
    }
    if work.spec.bfs().is_none() || space.kind == "sparse" {
        let has_labels = matches!(work.spec.batch(), Some(BatchSpec::Landmarks(_)));
        if how.gpu.is_forced() && !has_labels {
            eprintln!("no device is used: this kind of search is the CPU's");
        }
        return Ok(Devices::default());
    }
    let pool = how.compute.pool()?;
    let offers = how.gpu.open(Asker::Command, work.kernel, &pool)?;
    Ok(Devices::new(offers))
}

/// What the cluster is to do.
struct Work {
    spec: JobSpec,
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
    how: &HowArgs,
    call: &Call,
    (work, devices): (Work, Devices),
    folder: &RunFolder,
    mut progress: Progress,
) -> Result<JobStatus, Failure> {
    let mut config = antipode_coordinator::Config::new(folder.coordinator());
    config.checkpoint_every = how.checkpoint_every;
    config.crash_limit = how.crash_limit.unwrap_or(config.crash_limit);
    if !folder.worker().join("worker").exists() {
        // The worker that the store remembers will not come.
        config.lease = Duration::from_secs(1);
    }
    let keep = work.spec.keep();
    let is_batch = work.spec.batch().is_some();
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
            // What is begun anew must not wait for what it replaces.
            let old = client.jobs().await?;
            for job in old.iter().filter(|job| !report::is_ended(&job.state)) {
                client.cancel(job.job).await?;
            }
            let submission = Submission {
                key: new_key(),
                spec: work.spec,
                fresh,
            };
            let job = client.submit(submission).await?.job;
            (coordinator, client, job)
        }
    };
    if can_be_taken_up(&client.show(job).await?.state) {
        client.resume(job, false).await?;
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let mut worker = tokio::spawn(antipode_worker::run(
        antipode_worker::Config {
            data: folder.worker(),
            name: offline::RUN_WORKER.into(),
            threads: how.compute.threads() as usize,
            memory_bytes: how.compute.memory_bytes(),
            listen: None,
            advertise: None,
            insecure: false,
            kernel: work.kernel,
            devices,
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
            outcome(&status).map_err(|failure| how_to_go_on(failure, &status, call))?;
            Ok(status)
        }),
        signal = signals.next() => {
            progress.finish();
            signals.next_one_kills();
            let what = if is_batch { "what is done is stored" } else { "finishing the level and storing it" };
            eprintln!("stopping: {what} (once more to stop at once)");
            match pause_or_give_up(&client, job, signal).await {
                Err(failure) => Err(failure),
                Ok(Ok(status)) if status.state == JobState::Finished => Ok(status),
                Ok(Ok(status)) => Err(interrupted(&status, signal, folder, call)),
                Ok(Err(error)) => Err(error.into()),
            }
        }
        ended = &mut worker => Err(match ended {
            Ok(Ok(_)) => Failure::other("the worker ended before the job did"),
            Ok(Err(error)) => error.into(),
            Err(panic) => Failure::Internal(format!("the worker: {panic}")),
        }),
    };
    if over {
        // Cut off, the worker still hears what is not needed any more, and deletes it.
        coordinator.close().await;
        if !worker.is_finished() {
            let _ = worker.await;
        }
        drop(stop);
    } else {
        // Whoever listens has gone only if the worker ended by itself.
        let _ = stop.send(());
        if !worker.is_finished() {
            let _ = worker.await;
        }
        // A store that takes nothing more is not waited for.
        let _ = tokio::time::timeout(CLOSE, coordinator.close()).await;
    }
    if over && keep == Keep::Result {
        // The worker may have been stopped before it heard that the job is over.
        antipode_worker::remove_job(&folder.worker(), job);
    }
    result
}

/// A job that rests unfinished is taken up by the same command.
fn how_to_go_on(failure: Failure, status: &JobStatus, call: &Call) -> Failure {
    match failure {
        Failure::Other(text) if can_be_taken_up(&status.state) => Failure::Other(format!(
            "{text}; to try again, give the same command again:\n  {}",
            call.command.replace(" --fresh", "")
        )),
        other => other,
    }
}

/// Says where the job stands, and how to go on.
fn interrupted(status: &JobStatus, signal: u8, folder: &RunFolder, call: &Call) -> Failure {
    let (state, _) = report::state_words(&status.state);
    let reached = match status.levels.last() {
        _ if status.definition.spec.batch().is_some() => {
            format!("{state}, {}", report::items_done(status))
        }
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

/// Pauses the job, unless it cannot even do that: a job that is stalled (no room on the disk) is waited
/// for a moment only.
async fn pause_or_give_up(
    client: &dyn Client,
    job: JobId,
    signal: u8,
) -> Result<Result<JobStatus, ClientError>, Failure> {
    let mut pause = client.pause(job);
    let mut stalled = 0;
    loop {
        tokio::select! {
            paused = &mut pause => return Ok(paused),
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
        let reason = match client.show(job).await?.state {
            JobState::Stalled { reason, .. } => reason,
            // It is paused and cannot be told so: that would be a promise that nothing stands behind.
            JobState::Paused => "its store takes nothing more".into(),
            _ => {
                stalled = 0;
                continue;
            }
        };
        stalled += 1;
        if stalled >= GIVE_UP_AFTER {
            let say = format!(
                "the job cannot go on and nothing more can be stored ({reason}); what was stored before is still there"
            );
            return Err(Failure::Interrupted { signal, say });
        }
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
fn stored(folder: &RunFolder, spec: &JobSpec) -> Result<Stored, OpenError> {
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
fn is_enough(job: &JobStatus, spec: &JobSpec) -> bool {
    let old = &job.definition.spec;
    let all_are_listed = job.state == JobState::Finished
        && u64::from(old.antipodes()) >= job.levels.last().map_or(0, |level| level.count);
    (all_are_listed || old.antipodes() >= spec.antipodes())
        && (old.keep() == Keep::Frontiers || spec.keep() == Keep::Result)
}

/// Warnings come before the work too: a user may want to stop here.
fn print_warnings(spec: &JobSpec) {
    for warning in spec.puzzle().into_iter().flat_map(|p| p.warnings()) {
        eprintln!("warning: {warning}");
    }
}

/// A key that no other submission has.
pub fn new_key() -> String {
    uuid::Uuid::new_v4().to_string()
}
