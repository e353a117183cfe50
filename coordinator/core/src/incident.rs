//! What happened to a job or a worker, for users who ask later: the newest few, in words.

use serde::{Deserialize, Serialize};

/// So many are remembered.
const MOST: usize = 64;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Unix seconds.
    pub at: u64,
    pub what: String,
}

/// The newest incidents, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History(Vec<Incident>);

impl History {
    pub fn push(&mut self, at: u64, what: String) {
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Incident { at, what });
    }

    pub fn iter(&self) -> impl Iterator<Item = &Incident> {
        self.0.iter()
    }
}
