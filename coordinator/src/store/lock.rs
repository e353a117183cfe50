//! One process a directory: a locked file that names it.

use crate::error::OpenError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

const LOCK_FILE: &str = "coordinator.lock";

/// Held as long as it lives; the operating system frees it when the process ends, however it ends.
pub struct Lock {
    _file: File,
}

impl Lock {
    pub fn take(data: &Path) -> Result<Lock, OpenError> {
        let unwritable = |error: std::io::Error| OpenError::Unwritable {
            path: data.into(),
            reason: error.to_string(),
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(data.join(LOCK_FILE)).map_err(unwritable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                // A holder that has not written its number yet is in use all the same.
                _ = file.read_to_string(&mut pid);
                let pid = pid.trim();
                let pid = if pid.is_empty() { "unknown" } else { pid }.to_string();
                return Err(OpenError::InUse {
                    path: data.into(),
                    pid,
                });
            }
            Err(TryLockError::Error(error)) => return Err(unwritable(error)),
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())?;
            file.flush()
        };
        write(&mut file).map_err(unwritable)?;
        Ok(Lock { _file: file })
    }
}
