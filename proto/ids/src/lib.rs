//! Identifiers that every process of a cluster shares: newtypes, printed the way users see them.

mod cause;

pub use cause::Cause;

use serde::{Deserialize, Serialize};
use std::fmt;

/// A job, numbered by the coordinator from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub u64);

/// A worker; the number lives in the worker's data directory and is given at the first registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkerId(pub u64);

/// One start of a worker; grows, and fences the starts before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub u64);

/// One lease of a task. Ordered: a later coordinator epoch, then a later counter, is newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    pub epoch: u64,
    pub counter: u64,
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "w{}", self.0)
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.counter)
    }
}

impl std::str::FromStr for JobId {
    type Err = String;
    fn from_str(text: &str) -> Result<JobId, String> {
        text.parse()
            .map(JobId)
            .map_err(|_| format!("'{text}' is not a job number; `antipode jobs` lists them"))
    }
}
