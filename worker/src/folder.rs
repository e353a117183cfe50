//! A folder that belongs to one process at a time: made if missing, locked, with the owner's pid
//! in the lock file, so that the next one who comes can be told who holds it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Why a folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{path} is in use by process {}", .pid.map_or_else(|| "(unknown)".into(), |pid| pid.to_string()))]
    InUse { path: PathBuf, pid: Option<u32> },
    #[error("cannot write to {path}: {reason}")]
    Unwritable { path: PathBuf, reason: io::Error },
}

/// The lock is held as long as this value lives; the system frees it when the process dies.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes and locks `path`.
    pub fn lock(path: &Path) -> Result<Folder, FolderError> {
        let unwritable = |reason| FolderError::Unwritable {
            path: path.into(),
            reason,
        };
        fs::create_dir_all(path).map_err(unwritable)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join("lock"))
            .map_err(unwritable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                return Err(FolderError::InUse {
                    path: path.into(),
                    pid: text.trim().parse().ok(),
                });
            }
            Err(TryLockError::Error(reason)) => return Err(unwritable(reason)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(unwritable)?;
        Ok(Folder {
            path: path.into(),
            _lock: file,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Writes a whole file so that after a crash there is the old or the new one, never a part.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    if let Some(parent) = path.parent() {
        // Makes the rename itself durable; not every system can sync a folder.
        let _ = File::open(parent).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_owner_is_told_who_holds_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::lock(place.path()).unwrap();
        match Folder::lock(place.path()) {
            Err(FolderError::InUse { pid, path }) => {
                assert_eq!(pid, Some(std::process::id()));
                assert_eq!(path, place.path());
            }
            other => panic!("{other:?}"),
        }
        drop(folder);
        Folder::lock(place.path()).unwrap();
    }

    #[test]
    fn a_file_where_the_folder_should_be_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        fs::write(&path, "x").unwrap();
        assert!(matches!(
            Folder::lock(&path),
            Err(FolderError::Unwritable { .. })
        ));
    }
}
