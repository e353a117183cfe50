//! Looks into stores on disk without a coordinator: those of `run` and one that `coordinator` left.

use crate::exit::Failure;
use crate::run_folder;
use antipode_proto::status::JobStatus;
use std::path::Path;

/// A job in a store.
#[derive(Debug)]
pub struct StoredJob {
    /// What a user types to name it: the folder of a run, or the number in a coordinator's store.
    pub name: String,
    pub status: JobStatus,
}

/// All jobs under `data`, oldest first.
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
    if antipode_coordinator::is_store(data) {
        for status in antipode_coordinator::read_only(data)? {
            jobs.push(StoredJob {
                name: status.job.to_string(),
                status,
            });
        }
    }
    for (name, store) in run_stores(data)? {
        for status in antipode_coordinator::read_only(&store)? {
            jobs.push(StoredJob {
                name: name.clone(),
                status,
            });
        }
    }
    jobs.sort_by_key(|job| (job.status.submitted_at, job.status.job));
    Ok(jobs)
}

/// The one job that `wanted` names: `last`, a full name, or the beginning of one only.
pub fn find(jobs: Vec<StoredJob>, wanted: &str) -> Result<StoredJob, Failure> {
    let names: Vec<String> = jobs.iter().map(|job| job.name.clone()).collect();
    if wanted == "last" {
        return jobs
            .into_iter()
            .next_back()
            .ok_or_else(|| Failure::input("there is no job in this store"));
    }
    let exact = jobs.iter().rposition(|job| job.name == wanted);
    let beginning: Vec<usize> = (0..jobs.len())
        .filter(|&k| names[k].starts_with(wanted))
        .collect();
    let index = match (exact, beginning.as_slice()) {
        (Some(index), _) => index,
        (None, [index]) => *index,
        (None, []) => {
            return Err(Failure::input(format!(
                "there is no job '{wanted}' in this store; it has: {}",
                if names.is_empty() {
                    "none".into()
                } else {
                    names.join(", ")
                }
            )));
        }
        (None, several) => {
            let list: Vec<&str> = several.iter().map(|&k| names[k].as_str()).collect();
            return Err(Failure::input(format!(
                "'{wanted}' may be {}; write more of it",
                list.join(" or ")
            )));
        }
    };
    Ok(jobs
        .into_iter()
        .nth(index)
        .unwrap_or_else(|| unreachable!("the index was found in this list")))
}

fn run_stores(data: &Path) -> Result<Vec<(String, std::path::PathBuf)>, Failure> {
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
        let store = entry.path().join("coordinator");
        if antipode_coordinator::is_store(&store) {
            stores.push((entry.file_name().to_string_lossy().into_owned(), store));
        }
    }
    stores.sort();
    Ok(stores)
}
