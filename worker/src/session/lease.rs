//! One leased task, and its place in the line.

use super::{LeaseId, place_in_line};
use antipode_ids::{Attempt, JobId};
use antipode_proto::message::{ArtifactKind, ArtifactName, Input};
use antipode_solver_core::engine::{Level, ShardId};
use antipode_solver_core::job::Task;

/// Lowest level first, then lowest shard, then whoever came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    level: Level,
    shard: ShardId,
    pub lease: LeaseId,
}

impl Key {
    pub fn new(task: &Task, lease: LeaseId) -> Key {
        let (level, shard) = place_in_line(task);
        Key {
            level,
            shard,
            lease,
        }
    }
}

/// How far a lease is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Waiting,
    /// Waits until another task gives memory back.
    Crowded,
    /// Waits for room on the disk, or in memory.
    NoRoom,
    Preparing,
    Ready,
    Computing,
}

#[derive(Debug)]
pub struct Lease {
    pub job: JobId,
    pub task: Task,
    pub attempt: Attempt,
    pub inputs: Vec<Input>,
    pub consume: bool,
    pub stage: Stage,
}

impl Lease {
    /// What comes of it, as far as that is kept as an artifact.
    pub fn outputs(&self) -> Vec<ArtifactName> {
        let (level, shard, kinds) = match &self.task {
            Task::Expand { level, shard } => {
                let kinds = [ArtifactKind::Frontier, ArtifactKind::Visited];
                (*level, *shard, kinds.to_vec())
            }
            Task::Item { item } => (
                crate::exec::item::LEVEL,
                *item,
                vec![ArtifactKind::Frontier],
            ),
            _ => return Vec::new(),
        };
        let job = self.job;
        let name = |kind| ArtifactName {
            job,
            level,
            shard,
            kind,
        };
        kinds.into_iter().map(name).collect()
    }

    /// Does it read the same sets as another lease of its task?
    pub fn reads_what(&self, other: &Lease) -> bool {
        let contents = |lease: &Lease| -> Vec<_> {
            let inputs = lease.inputs.iter();
            inputs.map(|input| (input.name, input.digest)).collect()
        };
        contents(self) == contents(other)
    }
}
