//! Where things are kept: `--data`, the per-user data directory, or `./antipode-data` where there is none.

use crate::exit::Failure;
use std::path::{Path, PathBuf};

/// The per-user data directory; `./antipode-data` where the system names none.
pub fn per_user() -> PathBuf {
    match directories::ProjectDirs::from("", "", "antipode") {
        // A relative path here means a broken HOME; the working directory is then the honest choice.
        Some(dirs) if dirs.data_dir().is_absolute() => dirs.data_dir().to_path_buf(),
        _ => PathBuf::from("antipode-data"),
    }
}

/// The directory a command works in. Nothing is created.
pub fn resolve(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let dir = given.map_or_else(per_user, Path::to_path_buf);
    if dir.as_os_str().is_empty() {
        return Err(Failure::input(
            "--data is empty; name a directory, e.g. --data ./antipode-data",
        ));
    }
    if dir.exists() && !dir.is_dir() {
        return Err(Failure::input(format!(
            "--data {} is a file; name a directory (it is created where needed)",
            dir.display()
        )));
    }
    Ok(dir)
}

/// Creates the directory, and makes sure that we may write there.
pub fn create(dir: &Path) -> Result<(), Failure> {
    let refuse = |error: std::io::Error| {
        Failure::input(format!(
            "the data directory {} cannot be written: {error}; choose another with --data DIR",
            dir.display()
        ))
    };
    std::fs::create_dir_all(dir).map_err(refuse)?;
    rustix::fs::access(
        dir,
        rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK,
    )
    .map_err(|error| refuse(error.into()))
}

/// Bytes that a file or folder takes on disk, as far as it can be read.
pub fn used_bytes(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(about) = path.symlink_metadata() else {
        return 0;
    };
    let inside = about
        .is_dir()
        .then(|| std::fs::read_dir(path).ok())
        .flatten();
    let below = inside.into_iter().flatten().flatten();
    about.blocks() * 512 + below.map(|entry| used_bytes(&entry.path())).sum::<u64>()
}

/// Free bytes for us where `dir` is or will be; `None` where the system does not say.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let here = std::path::absolute(dir).ok()?;
    let existing = here.ancestors().find(|p| p.exists())?;
    let stat = rustix::fs::statvfs(existing).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}
