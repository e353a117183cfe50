//! Tasks that end on the disk: what they bring there, and what is answered once it is durable.

use super::{Work, pack};
use crate::artifacts::{Artifacts, Content, Persisted};
use crate::session::LeaseId;
use antipode_proto::message::{ArtifactName, Failure};
use antipode_solver_core::job::{Task, TaskOutput};

/// A task whose artifact is at hand and is to be made durable.
pub struct Keep {
    pub lease: LeaseId,
    work: Work,
}

/// What became of one of them.
pub struct Kept {
    pub lease: LeaseId,
    pub result: Result<TaskOutput, Failure>,
    pub fetched_bytes: u64,
}

impl Keep {
    pub fn new(lease: LeaseId, work: Work) -> Keep {
        Keep { lease, work }
    }

    /// The artifact becomes this worker's own; `None`: nothing needs to be stored.
    fn take_on(&self, artifacts: &Artifacts) -> Option<ArtifactName> {
        match (&self.work.task, &self.work.inputs.packed) {
            (Task::Pack { last, shard }, Some((distances, digest))) => {
                let name = pack::name(self.work.job, *last, *shard);
                let content = Content::Distances(distances.clone());
                artifacts.insert_kept(name, content, *digest, self.work.basis);
                Some(name)
            }
            _ => {
                let input = self.work.wanted.first()?;
                artifacts.adopt(input.name, input.digest);
                Some(input.name)
            }
        }
    }

    fn output(&self) -> Result<TaskOutput, Failure> {
        match (&self.work.task, &self.work.inputs.packed) {
            (Task::Copy { .. }, _) => Ok(TaskOutput::Copied),
            (Task::Pack { .. }, Some((distances, digest))) => Ok(TaskOutput::Packed {
                count: distances.numbering().states(),
                digest: *digest,
            }),
            (other, _) => Err(Failure::Other(format!(
                "{other:?} does not end on the disk"
            ))),
        }
    }
}

/// Makes the artifacts of all these tasks durable, in as few commits as possible. Blocks.
pub fn run(tasks: Vec<Keep>, artifacts: &Artifacts) -> Vec<Kept> {
    let named: Vec<(Keep, Option<ArtifactName>)> = tasks
        .into_iter()
        .map(|task| {
            let name = task.take_on(artifacts);
            (task, name)
        })
        .collect();
    let names: Vec<ArtifactName> = named.iter().filter_map(|(_, name)| *name).collect();
    let Persisted {
        missing,
        failed,
        reason,
    } = artifacts.persist(&names, |_, _| ());
    let result = |task: &Keep, name: Option<ArtifactName>| match name {
        Some(name) if missing.contains(&name) => Err(Failure::Other(
            "it was released while it was being copied".into(),
        )),
        Some(name) if failed.contains(&name) => Err(Failure::Other(format!(
            "it cannot be made durable: {reason}"
        ))),
        _ => task.output(),
    };
    named
        .into_iter()
        .map(|(task, name)| Kept {
            lease: task.lease,
            result: result(&task, name),
            fetched_bytes: task.work.inputs.fetched_bytes,
        })
        .collect()
}
