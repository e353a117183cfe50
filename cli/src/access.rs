//! The access file: how a worker or a client on the same machine (or a shared home) finds the coordinator
//! without being told an address. Written by the coordinator, readable by its user alone.

use crate::data_dir;
use crate::exit::Failure;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// `HOST:PORT` that clients and workers connect to.
    pub address: String,
    /// The coordinator was started with `--insecure`, so clients may use an address that is not loopback.
    pub insecure: bool,
    pub pid: u32,
    pub version: String,
}

/// A written access file, removed when dropped unless another coordinator has replaced it.
#[derive(Debug)]
pub struct Published {
    path: PathBuf,
    access: Access,
}

/// Where the file is.
pub fn path() -> PathBuf {
    data_dir::per_user().join("access.json")
}

/// Writes the file in one step: a reader sees the old one or the new one, whole.
pub fn publish(access: Access) -> Result<Published, Failure> {
    let path = path();
    let refuse = |error: std::io::Error| {
        Failure::input(format!(
            "the access file {} cannot be written: {error}; mend that directory, or set XDG_DATA_HOME to one that can be written",
            path.display()
        ))
    };
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir).map_err(refuse)?;
    let draft = dir.join(format!("access.json.{}", access.pid));
    // A draft of a process that died here may have other rights.
    let _ = std::fs::remove_file(&draft);
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .map_err(refuse)?;
    serde_json::to_writer_pretty(&mut file, &access).map_err(|error| refuse(error.into()))?;
    file.write_all(b"\n").map_err(refuse)?;
    std::fs::rename(&draft, &path).map_err(refuse)?;
    Ok(Published { path, access })
}

/// Reads the file; `None` where there is none.
pub fn read() -> Result<Option<Access>, Failure> {
    let path = path();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Failure::input(format!(
                "the access file {} cannot be read: {error}; name the coordinator with --coordinator HOST:PORT",
                path.display()
            )));
        }
    };
    serde_json::from_str(&text).map(Some).map_err(|error| {
        Failure::input(format!(
            "the access file {} is damaged ({error}); delete it and start the coordinator again, or use --coordinator HOST:PORT",
            path.display()
        ))
    })
}

impl Drop for Published {
    fn drop(&mut self) {
        if matches!(read(), Ok(Some(now)) if now == self.access) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
