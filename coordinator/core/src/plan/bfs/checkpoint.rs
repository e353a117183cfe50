//! Checkpoints: for one level, the same for all shards, what is needed to go on from there is durable.
//!
//! Align: lease nothing beyond the level. Write: once all shards have it, ask for every artifact of
//! the set to be brought to disk. Complete: all of them are; the search goes on.

use super::{Bfs, Graph};
use crate::artifact::Artifact;
use antipode_solver_core::engine::Level;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The checkpoint that is being made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Writing {
    #[default]
    No,
    Aligning {
        level: Level,
    },
    Writing {
        level: Level,
        missing: BTreeSet<Artifact>,
    },
}

impl Writing {
    /// Its level.
    pub fn level(&self) -> Option<Level> {
        match self {
            Writing::No => None,
            Writing::Aligning { level } | Writing::Writing { level, .. } => Some(*level),
        }
    }

    pub(super) fn limit(&self) -> Level {
        self.level().unwrap_or(Level::MAX)
    }

    /// Is it to be brought to disk for the checkpoint?
    pub(super) fn contains(&self, graph: &Graph, artifact: Artifact) -> bool {
        matches!(self, Writing::Writing { level, .. } if graph.in_checkpoint(*level, artifact))
    }

    pub(super) fn saved(&mut self, artifact: Artifact) {
        if let Writing::Writing { missing, .. } = self {
            missing.remove(&artifact);
        }
    }

    pub(super) fn unsaved(&mut self, graph: &Graph, artifact: Artifact) {
        if let Writing::Writing { level, missing } = self
            && graph.in_checkpoint(*level, artifact)
        {
            missing.insert(artifact);
        }
    }
}

impl Bfs {
    /// Starts a checkpoint at the highest level that any lease has reached. False where the search
    /// has ended or a checkpoint is on its way.
    pub fn begin_checkpoint(&mut self) -> bool {
        if self.end.is_some() || self.writing != Writing::No {
            return false;
        }
        self.writing = Writing::Aligning {
            level: self.reached,
        };
        self.mark_level_limit();
        true
    }

    /// Gives up a checkpoint that is being made.
    pub fn abandon_checkpoint(&mut self) {
        match std::mem::take(&mut self.writing) {
            Writing::No => return,
            Writing::Aligning { .. } => {}
            Writing::Writing { missing, .. } => {
                self.dirty.extend(
                    missing
                        .into_iter()
                        .map(|artifact| (artifact.level, artifact.shard)),
                );
            }
        }
        self.mark_level_limit();
    }

    /// About how many bytes a checkpoint at the reached level will write.
    pub fn checkpoint_bytes(&self) -> u64 {
        let level = self.reached.min(self.complete.saturating_sub(1));
        let bytes = |artifact: Artifact| {
            let count = self.content(artifact).map_or(0, |c| c.0);
            let dense = self
                .shard_bytes
                .get(artifact.shard as usize)
                .copied()
                .unwrap_or(u64::MAX);
            count.saturating_mul(4).min(dense)
        };
        let shards = 0..self.graph.shards() as u32;
        shards
            .flat_map(|s| self.graph.checkpoint(level, s))
            .map(bytes)
            .sum()
    }

    /// Moves the checkpoint forward as far as it goes.
    pub(super) fn finish_writing(&mut self) {
        if self.end.is_some() {
            self.abandon_checkpoint();
            return;
        }
        if let Writing::Aligning { level } = self.writing
            && self.complete > level
        {
            self.begin_writing(level);
        }
        let Writing::Writing { level, missing } = &self.writing else {
            return;
        };
        if missing.is_empty() {
            let level = *level;
            let before = self.checkpoint.replace(level);
            self.writing = Writing::No;
            self.news.checkpointed = true;
            if let Some(before) = before {
                let shards = 0..self.graph.shards() as u32;
                let graph = Arc::clone(&self.graph);
                self.suspects
                    .extend(shards.flat_map(|s| graph.checkpoint(before, s)));
            }
            self.mark_level_limit();
        }
    }

    fn begin_writing(&mut self, level: Level) {
        let graph = Arc::clone(&self.graph);
        let mut missing = BTreeSet::new();
        for artifact in (0..graph.shards() as u32).flat_map(|s| graph.checkpoint(level, s)) {
            let empty = self.content(artifact).is_none_or(|(count, _)| count == 0);
            let Some(holders) = self.holders(artifact).filter(|h| !empty && !h.is_durable()) else {
                continue;
            };
            let holder = holders.workers().next();
            missing.insert(artifact);
            match holder {
                Some(worker) => self.news.persist.push((worker, artifact)),
                None => self.dirty.push_back((artifact.level, artifact.shard)),
            }
        }
        self.writing = Writing::Writing { level, missing };
    }
}
