//! A directory that a command writes its files to.

use crate::exit::Failure;
use crate::whole_file::put_bytes;
use std::path::{Path, PathBuf};

/// Where files go.
#[derive(Debug, Clone, clap::Args)]
pub struct OutArgs {
    /// Also write the answer's files into this directory, which must be empty or new
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write into a directory that is not empty; files of the same names are replaced, others stay
    #[arg(long, requires = "out")]
    overwrite: bool,
}

/// A directory that was looked at before anything was computed.
#[derive(Debug, Clone)]
pub struct OutDir(PathBuf);

impl OutArgs {
    /// Refuses what cannot be written to. The directory is made: whether that works shows before anything is computed.
    pub fn check(&self) -> Result<Option<OutDir>, Failure> {
        let Some(path) = &self.out else {
            return Ok(None);
        };
        match std::fs::read_dir(path).map(|mut entries| entries.next().is_some()) {
            Ok(true) if !self.overwrite => Err(Failure::input(format!(
                "--out {} is not empty; give another directory, or --overwrite",
                path.display()
            ))),
            Ok(_) => Ok(Some(OutDir(path.clone()))),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                std::fs::create_dir_all(path).map_err(|e| {
                    Failure::input(format!(
                        "--out {} cannot be made: {e}; give another directory",
                        path.display()
                    ))
                })?;
                Ok(Some(OutDir(path.clone())))
            }
            Err(e) => Err(Failure::input(format!(
                "--out {} cannot be used: {e}; give a directory",
                path.display()
            ))),
        }
    }
}

impl OutDir {
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in one step: it is there whole or not at all.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        put_bytes(&self.0, name, content)
    }
}
