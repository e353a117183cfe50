//! Why a coordinator does not start or serve.

use antipode_proto::codec;
use std::path::{Path, PathBuf};

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the directory {} is in use by process {pid}; end that process, or give another --data DIR", path.display())]
    InUse { path: PathBuf, pid: String },
    #[error("the directory {} cannot be written: {reason}; give another --data DIR", path.display())]
    Unwritable { path: PathBuf, reason: String },
    #[error("there is no store in {}; `--data` must name the directory of a `run` or of a coordinator", path.display())]
    Missing { path: PathBuf },
    #[error("the store in {} was written in format {found} by a newer antipode; this one reads up to format {known}: use the newer program, or give another --data DIR", path.display())]
    NewerFormat {
        path: PathBuf,
        found: u16,
        known: u16,
    },
    #[error("the store in {} was written in format {found} by an older antipode; this one reads format {known} only: finish it with the older program, or give another --data DIR", path.display())]
    OlderFormat {
        path: PathBuf,
        found: u16,
        known: u16,
    },
    #[error("the store in {} is damaged: {problem}; move it away to start anew", path.display())]
    Damaged { path: PathBuf, problem: String },
}

impl OpenError {
    pub(crate) fn damaged(path: &Path, problem: impl Into<String>) -> OpenError {
        OpenError::Damaged {
            path: path.into(),
            problem: problem.into(),
        }
    }

    pub(crate) fn older(path: &Path, found: u16) -> OpenError {
        OpenError::OlderFormat {
            path: path.into(),
            found,
            known: codec::FORMAT,
        }
    }

    pub(crate) fn newer(path: &Path, found: u16) -> OpenError {
        OpenError::NewerFormat {
            path: path.into(),
            found,
            known: codec::FORMAT,
        }
    }
}

/// Why the server ended.
#[derive(Debug, thiserror::Error)]
#[error("the server ended: {0}")]
pub struct ServeError(pub(crate) String);
