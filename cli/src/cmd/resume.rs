//! `resume`: takes up a job that rests, at a coordinator or, for a stored run, in this process. With `--dry-run`
//! it only says what that would keep and what it would compute again.

use super::run::HowArgs;
use super::{Call, block_on, run, show};
use crate::answer;
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::follow::outcome;
use crate::offline::{self, Look};
use crate::render::{json, line};
use crate::report::{Asked, is_ended, state_words};
use crate::stores::{self, Place, StoredJob};
use antipode_proto::client::Client;
use antipode_proto::status::{JobState, JobStatus, Outlook};
use serde::Serialize;
use std::path::PathBuf;

/// Go on with a job that is paused, stalled, incomplete or suspect
///
/// With --data the job of a stored `run` is taken up in this process, as the same `run` would.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job as `antipode jobs` lists it, or `last`
    job: String,

    /// Also where all that was stored is gone: from the beginning
    #[arg(long)]
    fresh: bool,

    /// Only say what would be kept, what would be computed again, and why
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// The job is a stored run's, in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "coordinator")]
    data: Option<PathBuf>,

    #[command(flatten, next_help_heading = "For a stored run (--data)")]
    how: HowArgs,

    /// Print one JSON object: the job (docs/schema/bfs.schema.json), with --dry-run the outlook
    #[arg(long)]
    json: bool,
}

/// Does `resume` bring a job in this state to move?
pub fn can_be_taken_up(state: &JobState) -> bool {
    matches!(
        state,
        JobState::Paused | JobState::Incomplete { .. } | JobState::Suspect { .. }
    )
}

/// What `--dry-run` says. Shards are numbers, reasons are words.
#[derive(Debug, Serialize)]
struct OutlookReport {
    job: String,
    state: &'static str,
    reason: Option<String>,
    /// The level of the last complete checkpoint.
    checkpoint: Option<u32>,
    levels: Vec<LevelReport>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LevelReport {
    level: u32,
    /// Shards whose result stands.
    kept: u32,
    redone: Vec<RedoneReport>,
    /// Shards that were never computed.
    open: u32,
}

#[derive(Debug, Serialize)]
struct RedoneReport {
    shard: u32,
    reason: String,
}

/// Takes the job up, or says what that would do.
pub fn resume(args: &Args, call: &Call) -> Result<(), Failure> {
    match &args.data {
        Some(data) => {
            let job = stores::find(stores::read(data)?, &args.job)?;
            if args.dry_run {
                return say(args, call, &job.name, &job.status, stored_outlook(&job)?);
            }
            stored(args, call, &job)
        }
        None => block_on(at_coordinator(args, call)),
    }
}

async fn at_coordinator(args: &Args, call: &Call) -> Result<(), Failure> {
    let client = args.coordinator.connect().await;
    let client = client.map_err(stores::or_stored_runs)?;
    let job = show::number(&client, &args.job).await?;
    if args.dry_run {
        let status = client.show(job).await?;
        let outlook = client.outlook(job).await?;
        return say(args, call, &job.to_string(), &status, outlook);
    }
    let before = client.show(job).await?;
    let status = client.resume(job, args.fresh).await?;
    if can_be_taken_up(&status.state) {
        // It stopped again at once, for a reason that is still there.
        outcome(&status)?;
    }
    if args.json {
        let asked = Asked {
            command: call.command.clone(),
            ..Asked::default()
        };
        return answer::print(&status, &asked, true);
    }
    let (state, _) = state_words(&status.state);
    let moved = can_be_taken_up(&before.state) || matches!(before.state, JobState::Stalled { .. });
    match status.state {
        JobState::Finished => line(&format!("job {job} is finished already")),
        _ if moved => line(&format!("job {job} goes on ({state})")),
        _ => line(&format!("job {job} is {state} already")),
    }
}

/// Takes up the job of a stored run in this process.
fn stored(args: &Args, call: &Call, job: &StoredJob) -> Result<(), Failure> {
    let Place::Run(folder) = &job.place else {
        return Err(Failure::input(format!(
            "job {} is in a coordinator's store: start it with `antipode coordinator --data DIR`, then resume the job there",
            job.name
        )));
    };
    let done = match &job.status.state {
        JobState::Finished => Err(Failure::input(format!(
            "{} is finished already; `antipode show` shows it",
            job.name
        ))),
        JobState::Failed { .. } | JobState::Cancelled => Err(Failure::input(format!(
            "{} has ended; the same `run` computes it anew",
            job.name
        ))),
        _ if args.fresh && offline::all_is_gone(folder, job.status.job)?.is_some() => {
            let spec = job.status.definition.spec.clone();
            run::submit(folder, spec, true, &args.how, args.json, call)
        }
        _ => run::go_on(folder, &job.status, &args.how, args.json, call),
    }?;
    answer::print_rest(&done.status, &done.asked(None, call), args.json)
}

fn stored_outlook(job: &StoredJob) -> Result<Outlook, Failure> {
    let mut outlook = Look::at(job)?.outlook(job.status.job)?;
    match &job.place {
        Place::Coordinator(_) => outlook.notes.push(
            "this is the coordinator's store alone: what its workers hold counts as gone here"
                .into(),
        ),
        Place::Run(folder) if !is_ended(&job.status.state) => {
            outlook
                .notes
                .extend(offline::all_is_gone(folder, job.status.job)?);
        }
        _ => {}
    }
    Ok(outlook)
}

fn say(
    args: &Args,
    call: &Call,
    name: &str,
    status: &JobStatus,
    outlook: Outlook,
) -> Result<(), Failure> {
    let (state, reason) = state_words(&status.state);
    let report = OutlookReport {
        job: name.into(),
        state,
        reason,
        checkpoint: outlook.checkpoint,
        levels: outlook
            .levels
            .into_iter()
            .map(|level| LevelReport {
                level: level.level,
                kept: level.kept,
                redone: level
                    .redone
                    .into_iter()
                    .map(|(shard, reason)| RedoneReport { shard, reason })
                    .collect(),
                open: level.open,
            })
            .collect(),
        notes: outlook.notes,
    };
    if args.json {
        return json::print_signed(&report, &call.command);
    }
    print(&report)
}

/// So many shards of a level are named with the reason why they are computed again.
const NAMED: usize = 2;

/// The sums, then a line a level, and the first few shards that are computed again.
fn print(report: &OutlookReport) -> Result<(), Failure> {
    line(&format!("job {}, {}", report.job, report.state))?;
    let kept: u64 = report
        .levels
        .iter()
        .map(|level| u64::from(level.kept))
        .sum();
    let redone: usize = report.levels.iter().map(|level| level.redone.len()).sum();
    let first = report.levels.iter().find(|level| !level.redone.is_empty());
    let from = first.map_or(String::new(), |level| {
        format!(", from level {} on", level.level)
    });
    line(&format!(
        "{kept} results are kept, {redone} are computed again{from} (--json names every one)"
    ))?;
    if let Some(level) = report.checkpoint {
        line(&format!("last checkpoint: level {level}"))?;
    }
    if !report.levels.is_empty() {
        line("shards of each level that are kept, computed again, not computed yet:")?;
        line("level    kept  redone    open")?;
    }
    for level in &report.levels {
        line(&format!(
            "{:>5}  {:>6}  {:>6}  {:>6}",
            level.level,
            level.kept,
            level.redone.len(),
            level.open
        ))?;
        for redone in level.redone.iter().take(NAMED) {
            line(&format!("       shard {}: {}", redone.shard, redone.reason))?;
        }
        if level.redone.len() > NAMED {
            line(&format!("       and {} more", level.redone.len() - NAMED))?;
        }
    }
    report
        .notes
        .iter()
        .try_for_each(|note| line(&format!("note: {note}")))
}
