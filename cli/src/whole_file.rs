//! Files that are there whole or not at all: written under another name, and renamed.

use crate::exit::Failure;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// What names of files in the making begin with.
pub const UNFINISHED: &str = ".antipode-";

/// Writes `name` in `folder`.
///
/// # Errors
/// What `write` says, or what the disk does.
pub fn put<T>(
    folder: &Path,
    name: &str,
    write: impl FnOnce(&mut File) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let temporary = folder.join(format!("{UNFINISHED}{name}.tmp"));
    let failed = |error: io::Error| refused(folder, name, &error);
    let mut file = File::create(&temporary).map_err(failed)?;
    let made = write(&mut file).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })?;
    fs::rename(&temporary, folder.join(name)).map_err(failed)?;
    Ok(made)
}

/// Writes bytes that are at hand.
///
/// # Errors
/// What the disk says.
pub fn put_bytes(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    put(folder, name, |file| {
        let written = file.write_all(bytes);
        written.map_err(|error| refused(folder, name, &error))
    })
}

fn refused(folder: &Path, name: &str, error: &io::Error) -> Failure {
    let what = match error.kind() {
        ErrorKind::StorageFull => {
            "the disk is full; make room and give the same command again".into()
        }
        _ => error.to_string(),
    };
    let path = folder.join(name);
    Failure::other(format!("{} cannot be written: {what}", path.display()))
}
