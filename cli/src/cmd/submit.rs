//! `submit`: hands a job to a coordinator, and waits for it if asked to.

use super::{Call, block_on};
use crate::answer;
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::follow::{follow, outcome};
use crate::job_args::JobArgs;
use crate::progress::Progress;
use crate::render::{json, line};
use crate::report::{Asked, state_words};
use crate::scramble_args::ScrambleArgs;
use antipode_proto::client::{Client, Submission};
use antipode_proto::status::{JobState, JobStatus};
use antipode_solver_core::batch::BatchSpec;
use antipode_solver_core::job::JobSpec;
use serde::Serialize;

/// Hand a job to the coordinator
#[derive(Debug, clap::Subcommand)]
pub enum Kind {
    /// Count every state of a puzzle by its distance from the root
    Bfs(Box<Args>),
    /// Find the diameter, the radius and the pairs of states farthest apart
    Diameter(Box<super::diameter::Submit>),
    /// How far 25 chosen permutations of N points are from the identity, for many N
    Landmarks(Box<super::landmarks::SubmitArgs>),
    /// Random walks from the root as a data set; `antipode get` fetches its files
    Scrambles(Box<ScramblesArgs>),
}

#[derive(Debug, clap::Args)]
pub struct ScramblesArgs {
    #[command(flatten)]
    scrambles: ScrambleArgs,
    #[command(flatten)]
    submit: SubmitArgs,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// How any kind of job is submitted.
#[derive(Debug, clap::Args)]
pub struct SubmitArgs {
    #[command(flatten)]
    pub coordinator: CoordinatorArgs,

    /// Wait for the answer and print it
    #[arg(long)]
    pub wait: bool,

    /// Compute again although an answer, or a part of it, is stored
    #[arg(long)]
    pub fresh: bool,

    /// Print one JSON object: with --wait the answer, otherwise the job's number
    #[arg(long)]
    pub json: bool,

    /// A name for this submission: the same key never makes a second job
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
}

/// What `submit --json` prints without `--wait`.
#[derive(Debug, Serialize)]
struct SubmittedReport {
    job: u64,
    /// A job with this question was there already: finished, or unfinished and going on.
    existing: bool,
    state: &'static str,
    puzzle: String,
    fingerprint: String,
}

/// `submit bfs PUZZLE`.
pub fn bfs(args: &Args, call: &Call) -> Result<(), Failure> {
    let spec = args.job.spec(args.job.puzzle.load()?);
    job(spec.into(), &args.submit, Some(args.job.antipodes), call)
}

/// `submit scrambles PUZZLE`.
pub fn scrambles(args: &ScramblesArgs, call: &Call) -> Result<(), Failure> {
    let spec = args.scrambles.spec(args.scrambles.puzzle.load()?, false)?;
    spec.plan().map_err(Failure::input)?;
    job(BatchSpec::Scrambles(spec).into(), &args.submit, None, call)?;
    eprintln!("`antipode get last --out DIR` fetches the files when it is finished");
    Ok(())
}

/// Submits any kind of job, and prints its answer if it is waited for.
pub fn job(
    spec: JobSpec,
    args: &SubmitArgs,
    antipodes: Option<u32>,
    call: &Call,
) -> Result<(), Failure> {
    match job_for(spec, args, antipodes, call)? {
        Some((status, asked)) => answer::print_rest(&status, &asked, args.json),
        None => Ok(()),
    }
}

/// Submits any kind of job. The finished one if it is waited for; otherwise its number is printed.
pub fn job_for(
    spec: JobSpec,
    args: &SubmitArgs,
    antipodes: Option<u32>,
    call: &Call,
) -> Result<Option<(JobStatus, Asked)>, Failure> {
    let warnings = spec.puzzle().into_iter().flat_map(|p| p.warnings());
    for warning in warnings.filter(|_| !args.json) {
        eprintln!("warning: {warning}");
    }
    let key = args.key.clone().unwrap_or_else(super::run::new_key);
    block_on(async {
        let client = args.coordinator.connect().await?;
        let submitted = client
            .submit(Submission {
                key,
                spec,
                fresh: args.fresh,
            })
            .await?;
        let mut status = client.show(submitted.job).await?;
        if submitted.existing && super::resume::can_be_taken_up(&status.state) {
            status = client.resume(submitted.job, false).await?;
        }
        if !args.wait {
            print_number(args, call, &status, submitted.existing)?;
            return Ok(None);
        }
        eprintln!("job {}", submitted.job);
        let cached = submitted.existing && status.state == JobState::Finished;
        let (space, depth) = (&status.definition.space, status.definition.spec.depth());
        let mut progress = Progress::new(space, depth, args.json);
        let status = follow(&client, submitted.job, &mut progress).await?;
        outcome(&status)?;
        let asked = Asked {
            command: call.command.clone(),
            elapsed: Some(call.started.elapsed()),
            cached,
            antipodes,
            ..Asked::default()
        };
        Ok(Some((status, asked)))
    })
}

fn print_number(
    args: &SubmitArgs,
    call: &Call,
    status: &JobStatus,
    existing: bool,
) -> Result<(), Failure> {
    let (state, _) = state_words(&status.state);
    if args.json {
        let report = SubmittedReport {
            job: status.job.0,
            existing,
            state,
            puzzle: status.definition.spec.title(),
            fingerprint: status.definition.fingerprint.clone(),
        };
        return json::print_signed(&report, &call.command);
    }
    let note = if existing {
        format!(" (there already, {state})")
    } else {
        String::new()
    };
    line(&format!("job {}{note}", status.job))?;
    eprintln!("`antipode show {}` shows it", status.job);
    Ok(())
}
