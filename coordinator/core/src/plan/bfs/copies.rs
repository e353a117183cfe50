//! Copies of artifacts: where they are, who may use them up, when they are released; and leases.

use super::{Bfs, Cell, Lease, TaskKey};
use crate::artifact::{Artifact, ArtifactKind};
use crate::effect::Input;
use antipode_ids::{Attempt, WorkerId};
use antipode_solver_core::engine::{Digest, Level};
use std::sync::Arc;

/// Why a copy is not taken into account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// No result is known that it could be compared with.
    Unknown,
    /// It is another set than the result says.
    Differs,
    /// Nobody needs it; the worker is told.
    Spent,
}

impl Bfs {
    /// A worker has a copy of the artifact with this content.
    pub fn add_copy(
        &mut self,
        artifact: Artifact,
        content: (u64, Digest),
        worker: WorkerId,
        durable: bool,
    ) -> Result<(), Refused> {
        let refused = match self.content(artifact) {
            _ if artifact.level == 0 => Some(Refused::Spent),
            None => Some(Refused::Unknown),
            Some(known) if known != content => Some(Refused::Differs),
            Some((0, _)) => Some(Refused::Spent),
            Some(_) if self.is_spent(artifact, None) => Some(Refused::Spent),
            Some(_) => None,
        };
        if let Some(refused) = refused {
            self.news.released.push((worker, artifact));
            return Err(refused);
        }
        let to_disk = self.is_to_be_durable(artifact);
        let Some(holders) = self.holders_mut(artifact) else {
            return Err(Refused::Unknown);
        };
        let new = !holders.contains(worker);
        // A copy that was made again is not on disk until the worker says so, even if one was.
        holders.set(worker, durable);
        if holders.is_durable() {
            self.note_saved(artifact);
        } else if to_disk {
            self.note_unsaved(artifact);
            self.news.persist.push((worker, artifact));
        }
        if new {
            self.mark_around(artifact.level, artifact.shard);
        }
        Ok(())
    }

    /// A copy is on disk now.
    pub fn copy_is_durable(&mut self, artifact: Artifact, worker: WorkerId) {
        let Some(holders) = self.holders_mut(artifact) else {
            return;
        };
        if holders.contains(worker) {
            holders.set(worker, true);
            self.note_saved(artifact);
        }
    }

    fn note_saved(&mut self, artifact: Artifact) {
        self.unsaved.remove(&artifact);
        self.writing.saved(artifact);
    }

    fn note_unsaved(&mut self, artifact: Artifact) {
        if self.keep && artifact.kind == ArtifactKind::Frontier {
            self.unsaved.insert(artifact);
        }
        self.writing.unsaved(&self.graph, artifact);
    }

    /// A worker has no copy any more. True when it counted as a holder.
    pub fn remove_copy(&mut self, artifact: Artifact, worker: WorkerId) -> bool {
        let to_disk = self.is_to_be_durable(artifact);
        let Some(holders) = self.holders_mut(artifact) else {
            return false;
        };
        if !holders.remove(worker) {
            return false;
        }
        let other = holders.workers().next();
        if to_disk && !holders.is_durable() {
            self.note_unsaved(artifact);
            self.news
                .persist
                .extend(other.map(|worker| (worker, artifact)));
        }
        self.mark_around(artifact.level, artifact.shard);
        true
    }

    /// Forgets all copies of a worker (its leases stay).
    pub fn remove_copies_of(&mut self, worker: WorkerId) {
        let mut held = Vec::new();
        for (level, row) in self.rows.iter().enumerate() {
            for (shard, cell) in row.cells.iter().enumerate() {
                let (level, shard) = (level as Level, shard as u32);
                if cell.frontier.contains(worker) {
                    held.push(Artifact::frontier(level, shard));
                }
                if cell.visited.contains(worker) {
                    held.push(Artifact::visited(level, shard));
                }
            }
        }
        held.into_iter()
            .for_each(|artifact| _ = self.remove_copy(artifact, worker));
    }

    pub(super) fn release(&mut self, artifact: Artifact) {
        let Some(holders) = self.holders_mut(artifact) else {
            return;
        };
        let workers: Vec<WorkerId> = holders.workers().collect();
        holders.clear();
        self.news
            .released
            .extend(workers.into_iter().map(|worker| (worker, artifact)));
    }

    fn is_to_be_durable(&self, artifact: Artifact) -> bool {
        (self.keep && artifact.kind == ArtifactKind::Frontier)
            || self.writing.contains(&self.graph, artifact)
    }

    /// Leases a ready cell: its inputs, and whether what was seen before may be used up.
    pub fn grant(
        &mut self,
        level: Level,
        shard: u32,
        worker: WorkerId,
        attempt: Attempt,
    ) -> (Vec<Input>, bool) {
        let graph = Arc::clone(&self.graph);
        let inputs = graph
            .inputs(level, shard)
            .map(|artifact| self.input(artifact))
            .collect();
        let seen = graph.seen(level, shard).filter(|&seen| {
            seen.level > 0
                && self.lack(seen) == super::need::Lack::Nothing
                && self.is_spent(seen, Some((level, shard)))
        });
        let consumed =
            seen.filter(|&seen| self.holders_mut(seen).is_some_and(|h| h.remove(worker)));
        self.ready.remove(&(level, shard));
        self.reached = self.reached.max(level);
        if let Some(cell) = self.cell_mut(level, shard) {
            cell.lease = Some(Lease {
                worker,
                attempt,
                consumed,
            });
        }
        (inputs, seen.is_some())
    }

    pub(super) fn input(&self, artifact: Artifact) -> Input {
        let (count, digest) = self.content(artifact).unwrap_or_default();
        let holders = self
            .holders(artifact)
            .map(|h| h.workers().collect())
            .unwrap_or_default();
        Input {
            artifact,
            digest,
            count,
            holders,
        }
    }

    /// A worker says that it is computing this under a lease of before. True when that suits.
    pub fn adopt_lease(&mut self, key: TaskKey, worker: WorkerId, attempt: Attempt) -> bool {
        let TaskKey::Expand { level, shard } = key else {
            return false;
        };
        if !self.should_run(level, shard) {
            return false;
        }
        let Some(cell) = self.cell_mut(level, shard) else {
            return false;
        };
        if cell.lease.is_some_and(|lease| lease.attempt != attempt) {
            return false;
        }
        // What it consumed, if anything, it did not announce.
        cell.lease = Some(Lease {
            worker,
            attempt,
            consumed: None,
        });
        self.dirty.push_back((level, shard));
        // The worker has its inputs: they need not be made again for its sake.
        let graph = Arc::clone(&self.graph);
        self.dirty.extend(
            graph
                .inputs(level, shard)
                .map(|input| (input.level, input.shard)),
        );
        self.reached = self.reached.max(level);
        true
    }

    /// Who computes the task.
    pub fn lease(&self, key: TaskKey) -> Option<Lease> {
        match key {
            TaskKey::Expand { level, shard } => self.cell(level, shard)?.lease,
            TaskKey::Smallest { .. } | TaskKey::Words => self.finals.lease(key),
        }
    }

    /// Takes a lease back. `untouched`: what it may have consumed is still there.
    pub fn free(&mut self, key: TaskKey, untouched: bool) {
        match key {
            TaskKey::Expand { level, shard } => {
                let Some(lease) = self
                    .cell_mut(level, shard)
                    .and_then(|cell| cell.lease.take())
                else {
                    return;
                };
                if let Some(cell) = self.cell_mut(level, shard) {
                    cell.blocked = None;
                }
                self.dirty.push_back((level, shard));
                if untouched && let Some(artifact) = lease.consumed {
                    let content = self.content(artifact).unwrap_or_default();
                    _ = self.add_copy(artifact, content, lease.worker, false);
                }
            }
            TaskKey::Smallest { .. } | TaskKey::Words => self.finals.free(key),
        }
        if let (Some(end), TaskKey::Smallest { shard }) = (self.end, key) {
            self.dirty.push_back((end.last, shard));
        }
    }

    /// Forgets all copies and leases: nothing more will be asked.
    pub fn close(&mut self) {
        for row in &mut self.rows {
            for cell in &mut row.cells {
                *cell = Cell {
                    result: cell.result,
                    ..Cell::default()
                };
            }
        }
        self.ready.clear();
        self.dirty.clear();
        self.suspects.clear();
        self.unsaved.clear();
        self.writing = super::Writing::No;
        self.finals = super::Finals::default();
        self.news = super::News::default();
    }
}
