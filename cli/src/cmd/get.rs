//! `get`: the files of a finished job, fetched from the workers that hold them.

use super::Call;
use crate::connect::CoordinatorArgs;
use crate::dataset::{Dataset, Manifest};
use crate::exit::Failure;
use crate::kept::Kept;
use crate::render::{grouped, json, line};
use crate::whole_file::put_bytes;
use antipode_proto::status::JobState;
use antipode_solver_core::batch::{Batch, BatchSpec};
use antipode_solver_core::scramble::ScramblesSpec;
use antipode_worker::scrambles::{Parts, describe};
use serde::Serialize;
use std::path::PathBuf;

/// Fetch the files of a finished scrambles job from the workers
///
/// Given again after an interruption it fetches what is missing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job as `antipode jobs` lists it, or `last`
    job: String,

    /// Where the files go: an empty directory, or one that the same command has begun to fill
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Replace the scrambles that are there
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The JSON form is described in `docs/schema/get.schema.json`.
#[derive(Debug, Serialize)]
struct Report {
    kind: &'static str,
    job: String,
    puzzle: String,
    out: String,
    rows: u64,
    files: u32,
    /// Files that were there already.
    kept: u32,
    fetched_bytes: u64,
}

/// Fetches every part that is not there.
pub fn get(args: &Args, call: &Call) -> Result<(), Failure> {
    let kept = Kept::open(&args.job, None, &args.coordinator)?;
    let spec = scrambles(&kept)?;
    if kept.status.state != JobState::Finished {
        let (state, _) = crate::report::state_words(&kept.status.state);
        return Err(Failure::input(format!(
            "job {} is {state}; its files can be fetched when it is finished (`antipode show {}`)",
            kept.name, kept.name
        )));
    }
    let parts = Parts::new(spec.clone(), None).map_err(|e| Failure::input(e.to_string()))?;
    let about = describe(&spec, parts.loaded());
    let manifest = Manifest::new(spec.clone(), about, false)?;
    let dataset = Dataset::open(&args.out, &manifest, args.overwrite)?;
    let mut report = Report {
        kind: "get",
        job: kept.name.clone(),
        puzzle: spec.puzzle.name().into(),
        out: args.out.display().to_string(),
        rows: spec.rows,
        files: parts.items(),
        kept: 0,
        fetched_bytes: 0,
    };
    for part in 0..parts.items() {
        if dataset.has(&spec, part, spec.part(part).1) {
            report.kept += 1;
            continue;
        }
        let rows = kept
            .rows(part, parts.item_bytes(part))
            .map_err(Failure::Other)?;
        report.fetched_bytes += rows.len() as u64;
        put_bytes(dataset.path(), &spec.part_name(part), &rows)?;
    }
    if args.json {
        return json::print_signed(&report, &call.command);
    }
    line(&format!(
        "{} rows in {} files in {}, {} fetched",
        grouped(&report.rows.to_string()),
        report.files,
        report.out,
        crate::memory::show(report.fetched_bytes)
    ))
}

fn scrambles(kept: &Kept) -> Result<ScramblesSpec, Failure> {
    let spec = &kept.status.definition.spec;
    match spec.batch() {
        Some(BatchSpec::Scrambles(spec)) => Ok(spec.clone()),
        _ => Err(Failure::input(format!(
            "job {} is a {} job, which makes no files; only scrambles jobs do",
            kept.name,
            spec.kind()
        ))),
    }
}
