//! Names of a job's artifacts, and where each one is at present.

use antipode_ids::WorkerId;
use antipode_solver_core::engine::Level;
pub use antipode_solver_core::job::ArtifactKind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A named output of a task of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Artifact {
    pub level: Level,
    pub shard: u32,
    pub kind: ArtifactKind,
}

impl Artifact {
    pub fn frontier(level: Level, shard: u32) -> Artifact {
        Artifact {
            level,
            shard,
            kind: ArtifactKind::Frontier,
        }
    }

    pub fn visited(level: Level, shard: u32) -> Artifact {
        Artifact {
            level,
            shard,
            kind: ArtifactKind::Visited,
        }
    }

    /// `last` is the deepest level.
    pub fn distances(last: Level, shard: u32) -> Artifact {
        Artifact {
            level: last,
            shard,
            kind: ArtifactKind::Distances,
        }
    }
}

impl fmt::Display for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ArtifactKind::Frontier => "frontier",
            ArtifactKind::Visited => "visited set",
            ArtifactKind::Distances => {
                return write!(f, "distances of shard {}", self.shard);
            }
        };
        write!(f, "{kind} of level {}, shard {}", self.level, self.shard)
    }
}

/// The workers that hold an artifact, ascending. This is a belief: it grows by reports and shrinks
/// by losses, and a wrong entry is found when somebody fetches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holders(Vec<(WorkerId, bool)>);

impl Holders {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The holders, ascending.
    pub fn workers(&self) -> impl Iterator<Item = WorkerId> + '_ {
        self.0.iter().map(|&(worker, _)| worker)
    }

    pub fn contains(&self, worker: WorkerId) -> bool {
        self.find(worker).is_ok()
    }

    /// Is it on disk anywhere?
    pub fn is_durable(&self) -> bool {
        self.0.iter().any(|&(_, durable)| durable)
    }

    /// How many workers have it on disk.
    pub fn durable_places(&self) -> u32 {
        self.0.iter().filter(|&&(_, durable)| durable).count() as u32
    }

    /// Has this worker got it on disk?
    pub fn is_durable_at(&self, worker: WorkerId) -> bool {
        self.find(worker).is_ok_and(|at| self.0[at].1)
    }

    /// All holders, and whether they have it on disk.
    pub fn iter(&self) -> impl Iterator<Item = (WorkerId, bool)> + '_ {
        self.0.iter().copied()
    }

    fn find(&self, worker: WorkerId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&worker, |&(w, _)| w)
    }

    /// Notes a holder, and whether it has the artifact on disk.
    pub(crate) fn set(&mut self, worker: WorkerId, durable: bool) {
        match self.find(worker) {
            Ok(at) => self.0[at].1 = durable,
            Err(at) => self.0.insert(at, (worker, durable)),
        }
    }

    /// Removes a holder. True when it was one.
    pub(crate) fn remove(&mut self, worker: WorkerId) -> bool {
        match self.find(worker) {
            Ok(at) => {
                self.0.remove(at);
                true
            }
            Err(_) => false,
        }
    }

    /// Only those that have it on disk.
    pub(crate) fn durable_only(self) -> Holders {
        Holders(self.0.into_iter().filter(|&(_, durable)| durable).collect())
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
