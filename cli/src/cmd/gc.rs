//! `gc`: gives disk space back. Drops jobs that have ended, where told to, and what no job needs in any case.

use super::{Call, block_on, show};
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::render::{json, line};
use crate::report::{is_ended, state_words};
use crate::run_folder::RunFolder;
use crate::stores::{self, Place, StoredJob};
use crate::{data_dir, memory, run_folder};
use antipode_coordinator::Offline;
use antipode_proto::client::Client;
use antipode_proto::status::{JobState, JobStatus};
use antipode_solver_core::job::Keep;
use antipode_worker::artifacts;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Give disk space back: drop jobs that have ended, and what no job needs
///
/// Without a JOB and without --all-ended only what no job needs goes: damaged stores that were set aside, frontiers
/// of jobs that are over and keep none, folders without a job.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Jobs to be dropped with their results, as `antipode jobs` lists them
    #[arg(value_name = "JOB")]
    jobs: Vec<String>,

    /// Drop every job that is finished, failed or cancelled
    #[arg(long, conflicts_with = "jobs")]
    all_ended: bool,

    /// Drop the named jobs although they are not finished
    #[arg(long, requires = "jobs")]
    unfinished: bool,

    /// Only say what would be deleted
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// Look after this directory, without a coordinator
    #[arg(long, value_name = "DIR", conflicts_with = "coordinator")]
    data: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    dry_run: bool,
    dropped: Vec<Dropped>,
    /// Sum of what was freed, or would be.
    bytes: u64,
}

/// One thing that goes.
#[derive(Debug, Serialize)]
struct Dropped {
    what: String,
    bytes: u64,
    /// Where it is, in a directory that this command looks after.
    path: Option<PathBuf>,
}

/// Deletes, or says what it would delete.
pub fn gc(args: &Args, call: &Call) -> Result<(), Failure> {
    let dropped = match &args.data {
        Some(data) => in_directory(args, data)?,
        None => block_on(at_coordinator(args))?,
    };
    let report = Report {
        dry_run: args.dry_run,
        bytes: dropped.iter().map(|item| item.bytes).sum(),
        dropped,
    };
    if args.json {
        return json::print_signed(&report, &call.command);
    }
    for item in &report.dropped {
        line(&format!("{:>10}  {}", memory::show(item.bytes), item.what))?;
    }
    let verb = if args.dry_run { "to be freed" } else { "freed" };
    line(&format!("{:>10}  {verb}", memory::show(report.bytes)))
}

/// May a job in this state go?
fn allowed(args: &Args, name: &str, state: &JobState) -> Result<(), Failure> {
    if is_ended(state) || args.unfinished {
        return Ok(());
    }
    let (word, _) = state_words(state);
    Err(Failure::input(format!(
        "job {name} is {word}, not finished: what it has computed would be lost; add --unfinished if that is meant"
    )))
}

async fn at_coordinator(args: &Args) -> Result<Vec<Dropped>, Failure> {
    let client = args.coordinator.connect().await;
    let client = client.map_err(stores::or_stored_runs)?;
    let mut chosen: Vec<JobStatus> = Vec::new();
    if args.all_ended {
        let all = client.jobs().await?;
        chosen.extend(all.into_iter().filter(|job| is_ended(&job.state)));
    }
    for name in &args.jobs {
        let job = show::number(&client, name).await?;
        let status = client.show(job).await?;
        allowed(args, name, &status.state)?;
        chosen.push(status);
    }
    if chosen.is_empty() && !args.all_ended {
        return Err(Failure::input(
            "name a JOB or say --all-ended; workers delete what no job needs by themselves (for a directory, add --data DIR)",
        ));
    }
    let mut dropped = Vec::new();
    for status in chosen {
        if !args.dry_run {
            if !is_ended(&status.state) {
                client.cancel(status.job).await?;
            }
            client.forget(status.job).await?;
        }
        dropped.push(Dropped {
            what: described(&status.job.to_string(), &status),
            bytes: status.stored.iter().map(|(_, bytes)| bytes).sum(),
            path: None,
        });
    }
    Ok(dropped)
}

fn described(name: &str, status: &JobStatus) -> String {
    let (state, _) = state_words(&status.state);
    let puzzle = status.definition.spec.title();
    format!("job {name}, {puzzle}, {state}")
}

/// A run's folder with its jobs, as far as they can be read.
struct Run {
    folder: RunFolder,
    jobs: Vec<StoredJob>,
}

fn in_directory(args: &Args, data: &Path) -> Result<Vec<Dropped>, Failure> {
    let mut runs: BTreeMap<PathBuf, Run> = BTreeMap::new();
    let mut others = Vec::new();
    for job in stores::read(data)? {
        match &job.place {
            Place::Run(folder) => {
                let folder = folder.clone();
                let run = runs.entry(folder.path().into()).or_insert(Run {
                    folder,
                    jobs: Vec::new(),
                });
                run.jobs.push(job);
            }
            _ => others.push(job),
        }
    }
    let chosen = choose(args, &runs, &others)?;
    let mut dropped = Vec::new();
    for (path, run) in &runs {
        // While this lives nobody else can begin to work there.
        let held = Offline::open(&run.folder.coordinator())?;
        if chosen.contains(path) {
            let newest = run.jobs.last();
            let what = newest.map_or_else(String::new, |job| described(&job.name, &job.status));
            delete(args, path, what, &mut dropped)?;
        } else {
            sweep(args, run, &mut dropped)?;
        }
        drop(held);
    }
    for path in folders_without_a_job(data) {
        let what = format!("{}: no job", path.display());
        delete(args, &path, what, &mut dropped)?;
    }
    // A worker's own directory.
    for path in set_aside(data) {
        let what = format!("{}: damaged, set aside", path.display());
        delete(args, &path, what, &mut dropped)?;
    }
    Ok(dropped)
}

/// The folders that go wholly.
fn choose(
    args: &Args,
    runs: &BTreeMap<PathBuf, Run>,
    others: &[StoredJob],
) -> Result<Vec<PathBuf>, Failure> {
    let all_ended = |run: &Run| run.jobs.iter().all(|job| is_ended(&job.status.state));
    if args.all_ended {
        let ended = runs.iter().filter(|(_, run)| all_ended(run));
        return Ok(ended.map(|(path, _)| path.clone()).collect());
    }
    let mut chosen = Vec::new();
    for wanted in &args.jobs {
        if others.iter().any(|job| &job.name == wanted) {
            return Err(Failure::input(format!(
                "job {wanted} is in a coordinator's store: start it with `antipode coordinator --data DIR` and ask it, without --data"
            )));
        }
        let all = runs.values().flat_map(|run| &run.jobs);
        let named = stores::find_name(all, wanted)?;
        let (path, run) = runs
            .iter()
            .find(|(_, run)| run.jobs.iter().any(|job| job.name == named))
            .ok_or_else(|| Failure::input(format!("there is no job '{wanted}' in this store")))?;
        if named.contains('/') {
            return Err(Failure::input(format!(
                "{named} is one of several jobs in a folder that goes as a whole: name {}",
                named.split('/').next().unwrap_or_default()
            )));
        }
        for job in &run.jobs {
            allowed(args, &job.name, &job.status.state)?;
        }
        chosen.push(path.clone());
    }
    Ok(chosen)
}

/// What no job of a run needs.
fn sweep(args: &Args, run: &Run, dropped: &mut Vec<Dropped>) -> Result<(), Failure> {
    let worker = run.folder.worker();
    for path in set_aside(&worker) {
        let what = format!("{}: damaged, set aside", path.display());
        delete(args, &path, what, dropped)?;
    }
    for job in artifacts::stored_jobs(&worker) {
        let known = run.jobs.iter().find(|known| known.status.job == job);
        let why = match known.map(|known| &known.status) {
            None => "no store knows its job",
            Some(status)
                if is_ended(&status.state)
                    && (status.definition.spec.keep() == Keep::Result
                        || status.state != JobState::Finished) =>
            {
                "its job has ended and keeps no frontiers"
            }
            Some(_) => continue,
        };
        let path = artifacts::folder_of(&worker, job);
        let what = format!("{}: {why}", path.display());
        delete(args, &path, what, dropped)?;
    }
    Ok(())
}

/// Files that a worker has set aside because they were damaged.
fn set_aside(worker: &Path) -> Vec<PathBuf> {
    let jobs = artifacts::stored_jobs(worker).into_iter();
    let folders = jobs.map(|job| artifacts::folder_of(worker, job));
    let files =
        folders.flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    files
        .filter(|file| {
            let name = file.file_name();
            name.to_string_lossy().starts_with("store.damaged")
        })
        .map(|file| file.path())
        .collect()
}

/// Folders of runs in which no job was ever stored.
fn folders_without_a_job(data: &Path) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(run_folder::all(data));
    let folders = runs.into_iter().flatten().flatten().map(|e| e.path());
    let empty = |path: &PathBuf| {
        path.is_dir() && !stores::is_store(&RunFolder::at(path.clone()).coordinator())
    };
    folders.filter(empty).collect()
}

fn delete(
    args: &Args,
    path: &Path,
    what: String,
    dropped: &mut Vec<Dropped>,
) -> Result<(), Failure> {
    let bytes = data_dir::used_bytes(path);
    if !args.dry_run {
        let gone = if path.is_dir() {
            std::fs::remove_dir_all(path)
        } else {
            std::fs::remove_file(path)
        };
        gone.map_err(|error| {
            Failure::other(format!("{} cannot be deleted: {error}", path.display()))
        })?;
    }
    dropped.push(Dropped {
        what,
        bytes,
        path: Some(path.into()),
    });
    Ok(())
}
