//! Looks into stores on disk without a coordinator: those of `run`, and one that `coordinator` left.

use crate::data_dir;
use crate::exit::Failure;
use crate::run_folder::{self, RunFolder};
use antipode_coordinator::OpenError;
use antipode_proto::status::JobStatus;
use std::path::{Path, PathBuf};

/// Where a job is kept.
#[derive(Debug, Clone)]
pub enum Place {
    /// At a coordinator that runs.
    Cluster,
    /// In the store of a coordinator that does not run; its workers' directories are not known.
    Coordinator(PathBuf),
    /// In the folder of a run.
    Run(RunFolder),
}

/// A job in a store.
#[derive(Debug)]
pub struct StoredJob {
    /// What a user types to name it: the folder of a run (of several jobs in it, the newest), or the number in
    /// a coordinator's store.
    pub name: String,
    pub status: JobStatus,
    pub place: Place,
}

/// Is there a coordinator's store in this folder?
pub fn is_store(folder: &Path) -> bool {
    antipode_coordinator::is_store(folder)
}

/// All jobs under `data`, oldest first. A store in use by a process is left out, and said so on stderr.
pub fn read(data: &Path) -> Result<Vec<StoredJob>, Failure> {
    if !data.is_dir() {
        return Err(Failure::input(format!(
            "--data {}: there is no such directory; name the one that `run` or `coordinator` was given \
             (without --data, a `run` stores in {})",
            data.display(),
            crate::data_dir::per_user().display()
        )));
    }
    let mut jobs = Vec::new();
    if is_store(data) {
        for status in antipode_coordinator::read_only(data)? {
            jobs.push(StoredJob {
                name: status.job.to_string(),
                status,
                place: Place::Coordinator(data.into()),
            });
        }
    }
    for (name, folder) in own_store(data).into_iter().chain(run_stores(data)?) {
        match antipode_coordinator::read_only(&folder.coordinator()) {
            Ok(found) => jobs.extend(named(&name, &folder, found)),
            // One that cannot be read must not hide the others; whoever asks for it alone is told why.
            Err(error) if is_one_of_many(data) => eprintln!("left out: {error}"),
            Err(busy @ OpenError::InUse { .. }) => eprintln!("left out: {busy}"),
            Err(error) => return Err(error.into()),
        }
    }
    // Within one second the folder says which came first.
    jobs.sort_by_cached_key(|job| {
        let folder = match &job.place {
            Place::Run(folder) => folder.path().metadata().and_then(|about| about.modified()),
            Place::Coordinator(_) | Place::Cluster => Ok(std::time::SystemTime::UNIX_EPOCH),
        };
        (job.status.submitted_at, folder.ok(), job.status.job)
    });
    Ok(jobs)
}

/// Are the runs under `data` looked at, not one run's own folder?
fn is_one_of_many(data: &Path) -> bool {
    run_folder::all(data).is_dir()
}

/// The one job that `wanted` names: `last`, a full name, or the beginning of one only.
pub fn find(jobs: Vec<StoredJob>, wanted: &str) -> Result<StoredJob, Failure> {
    let name = find_name(jobs.iter(), wanted)?;
    let found = jobs.into_iter().rfind(|job| job.name == name);
    found.ok_or_else(|| Failure::Internal("a job's name is not its name".into()))
}

/// The full name of the one job that `wanted` names.
pub fn find_name<'a>(
    jobs: impl Iterator<Item = &'a StoredJob>,
    wanted: &str,
) -> Result<String, Failure> {
    let names: Vec<String> = jobs.map(|job| job.name.clone()).collect();
    let is_it = |name: &String| match wanted {
        "last" => names.last() == Some(name),
        _ => name == wanted,
    };
    let begins = |name: &String| name.starts_with(wanted) && !name.contains('/');
    let several: Vec<&str> = names
        .iter()
        .filter(|name| begins(name))
        .map(String::as_str)
        .collect();
    let all = if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    };
    let found = names
        .iter()
        .rfind(|name| is_it(name) || (several.len() == 1 && begins(name)));
    match (found, several.as_slice()) {
        (Some(name), _) => Ok(name.clone()),
        (None, []) => Err(Failure::input(format!(
            "there is no job '{wanted}' in this store; it has: {all}"
        ))),
        (None, several) => Err(Failure::input(format!(
            "'{wanted}' may be {}; write more of it",
            several.join(" or ")
        ))),
    }
}

/// The newest job of a run's folder is called like the folder, older ones have their number behind it.
fn named(name: &str, folder: &RunFolder, jobs: Vec<JobStatus>) -> impl Iterator<Item = StoredJob> {
    let newest = jobs.last().map(|status| status.job);
    jobs.into_iter().map(move |mut status| {
        let is_newest = Some(status.job) == newest;
        let artifacts = antipode_worker::artifacts::folder_of(&folder.worker(), status.job);
        status.stored = vec![("frontiers".into(), data_dir::used_bytes(&artifacts))];
        if is_newest {
            let store = data_dir::used_bytes(&folder.coordinator());
            status.stored.push(("coordinator".into(), store));
        }
        status.stored.retain(|(_, bytes)| *bytes > 0);
        StoredJob {
            name: if is_newest {
                name.into()
            } else {
                format!("{name}/{}", status.job)
            },
            status,
            place: Place::Run(folder.clone()),
        }
    })
}

/// The store of a run whose own folder was named, as `run` prints it.
fn own_store(folder: &Path) -> Option<(String, RunFolder)> {
    let path = std::path::absolute(folder).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    let run = RunFolder::at(folder.into());
    is_store(&run.coordinator()).then_some((name, run))
}

/// Where no coordinator is, a user may have meant what `run` has stored: says how that is asked for.
pub fn or_stored_runs(failure: Failure) -> Failure {
    let data = crate::data_dir::per_user();
    match failure {
        Failure::Input(text) if run_folder::all(&data).is_dir() => Failure::Input(format!(
            "{text}; what `run` has stored here needs no coordinator: add --data {}",
            crate::puzzle_arg::quoted(data.as_os_str())
        )),
        other => other,
    }
}

fn run_stores(data: &Path) -> Result<Vec<(String, RunFolder)>, Failure> {
    let runs = run_folder::all(data);
    let unreadable = |error: std::io::Error| {
        Failure::input(format!(
            "{} cannot be read: {error}; choose another --data DIR",
            runs.display()
        ))
    };
    let mut stores = Vec::new();
    let entries = match std::fs::read_dir(&runs) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(stores),
        Err(error) => return Err(unreadable(error)),
    };
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        let run = RunFolder::at(entry.path());
        if is_store(&run.coordinator()) {
            stores.push((entry.file_name().to_string_lossy().into_owned(), run));
        }
    }
    stores.sort_by(|(one, _), (two, _)| one.cmp(two));
    Ok(stores)
}
