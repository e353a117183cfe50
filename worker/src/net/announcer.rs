//! What an engine tells beside its results: sentences for users, and results that it takes back. From any thread, also
//! from inside a task.

use super::driver::Happened;
use crate::artifacts::Artifacts;
use crate::session::Event;
use antipode_ids::JobId;
use antipode_proto::message::{ArtifactKind, ArtifactName};
use antipode_solver_core::engine::{Level, ShardId};
use std::fmt;
use std::sync::{Arc, Weak};
use tokio::sync::mpsc::UnboundedSender;

/// The voice of the engine of one job. Clones speak for the same job.
#[derive(Clone)]
pub struct Announcer {
    job: JobId,
    /// Not held: the artifacts hold the engine, which holds this.
    artifacts: Weak<Artifacts>,
    events: UnboundedSender<Happened>,
}

impl Announcer {
    pub(super) fn new(
        job: JobId,
        artifacts: &Arc<Artifacts>,
        events: UnboundedSender<Happened>,
    ) -> Announcer {
        Announcer {
            job,
            artifacts: Arc::downgrade(artifacts),
            events,
        }
    }

    /// One that nobody listens to.
    #[cfg(test)]
    pub(crate) fn alone(job: JobId) -> Announcer {
        let (events, _) = tokio::sync::mpsc::unbounded_channel();
        Announcer {
            job,
            artifacts: Weak::new(),
            events,
        }
    }

    /// A sentence that `antipode explain WORKER` and `explain JOB` show, also after a time without connection.
    pub fn note(&self, text: impl Into<String>) {
        let text = text.into();
        tracing::warn!(job = %self.job, "{text}");
        // Nobody listens only while the worker ends.
        let _ = self.events.send(Happened::Event(Event::Note {
            job: Some(self.job),
            text,
        }));
    }

    /// Takes back the results of these tasks (level and shard; of a batch job level 1 and the item), because
    /// they may be wrong: this worker forgets what they made, in memory and on disk, and the coordinator has them and
    /// what rests on them made again. One that is still computing is computed again before it is answered.
    pub fn retract(&self, tasks: &[(Level, ShardId)], reason: &str) {
        let Some(artifacts) = self.artifacts.upgrade() else {
            return; // The worker has ended.
        };
        let directed = artifacts
            .engine(self.job)
            .is_some_and(|engine| engine.is_directed());
        let kinds = match directed {
            true => &[ArtifactKind::Frontier, ArtifactKind::Visited][..],
            false => &[ArtifactKind::Frontier],
        };
        let names = tasks.iter().flat_map(|&(level, shard)| {
            kinds.iter().map(move |&kind| ArtifactName {
                job: self.job,
                level,
                shard,
                kind,
            })
        });
        artifacts.retract(names.collect(), reason);
    }
}

impl fmt::Debug for Announcer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Announcer")
            .field("job", &self.job)
            .finish_non_exhaustive()
    }
}
