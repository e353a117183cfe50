//! `jobs`: lists the jobs of a coordinator or of a store.

use super::{Call, block_on};
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::memory;
use crate::render::{json, line, span, table};
use crate::report::{counted, date, keep_word, state_words, sum};
use crate::stores::{self, Place, StoredJob};
use antipode_proto::client::Client;
use serde::Serialize;
use std::path::PathBuf;

/// List jobs, oldest first
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// List what is stored in this directory, without a coordinator
    #[arg(long, value_name = "DIR", conflicts_with = "coordinator")]
    data: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// One job of the list.
#[derive(Debug, Serialize)]
struct JobRow {
    /// What `show` takes.
    job: String,
    state: &'static str,
    reason: Option<String>,
    /// `bfs`, `diameter`, `landmarks` or `scrambles`.
    kind: &'static str,
    puzzle: String,
    /// `None` where it is not about one graph.
    metric: Option<&'static str>,
    /// Finished levels, level 0 included.
    levels: usize,
    counted: String,
    states: Option<String>,
    submitted: String,
    finished: Option<String>,
    seconds: f64,
    /// Bytes of it on disks.
    stored_bytes: u64,
    /// What stays of it when it has ended: `result` or `frontiers`.
    keep: &'static str,
    fingerprint: String,
}

#[derive(Debug, Serialize)]
struct JobList {
    jobs: Vec<JobRow>,
}

/// Prints the list.
pub fn jobs(args: &Args, call: &Call) -> Result<(), Failure> {
    let jobs = match &args.data {
        Some(data) => stores::read(data)?,
        None => block_on(async {
            let client = args.coordinator.connect().await;
            let jobs = client.map_err(stores::or_stored_runs)?.jobs().await?;
            Ok(jobs
                .into_iter()
                .map(|status| StoredJob {
                    name: status.job.to_string(),
                    status,
                    place: Place::Cluster,
                })
                .collect())
        })?,
    };
    let rows: Vec<JobRow> = jobs.iter().map(row).collect();
    if args.json {
        return json::print_signed(&JobList { jobs: rows }, &call.command);
    }
    if rows.is_empty() {
        return line("no jobs");
    }
    // What needs somebody to look at it, in words.
    let reasons: Vec<String> = rows
        .iter()
        .filter(|row| matches!(row.state, "suspect" | "incomplete" | "stalled"))
        .filter_map(|row| Some(format!("job {}: {}", row.job, row.reason.as_ref()?)))
        .collect();
    let cells = rows
        .into_iter()
        .map(|row| {
            vec![
                row.job,
                row.state.into(),
                row.kind.into(),
                row.puzzle,
                row.metric.unwrap_or("-").into(),
                row.levels.to_string(),
                row.counted,
                row.states.unwrap_or_else(|| "?".into()),
                row.submitted,
                span(row.seconds),
                memory::show(row.stored_bytes),
            ]
        })
        .collect();
    table::print(
        &[
            "JOB",
            "STATE",
            "KIND",
            "PUZZLE",
            "METRIC",
            ">LEVELS",
            ">COUNTED",
            ">STATES",
            "SUBMITTED",
            ">TIME",
            ">DISK",
        ],
        cells,
    )?;
    reasons.iter().try_for_each(|reason| line(reason))
}

fn row(job: &StoredJob) -> JobRow {
    let status = &job.status;
    let (state, reason) = state_words(&status.state);
    JobRow {
        job: job.name.clone(),
        state,
        reason,
        kind: status.definition.spec.kind(),
        puzzle: status.definition.spec.title(),
        metric: status.definition.spec.puzzle().map(|p| p.metric().name()),
        levels: status.levels.len(),
        counted: match status.definition.spec.batch() {
            Some(_) => counted(status).to_string(),
            None => sum(status).to_string(),
        },
        states: status.definition.space.states.clone(),
        submitted: date(status.submitted_at),
        finished: status.finished_at.map(date),
        seconds: status.run_time.as_secs_f64(),
        stored_bytes: status.stored.iter().map(|(_, bytes)| bytes).sum(),
        keep: keep_word(status.definition.spec.keep()),
        fingerprint: status.definition.fingerprint.clone(),
    }
}
