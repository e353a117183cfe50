//! Checkpoints: for one level, the same for all shards, what is needed to go on from there is durable.
//!
//! Align: lease nothing beyond the level. Write: once all shards have it, ask for every artifact of
//! the set to be brought to disk. Complete: all of them are; the search goes on. After the last
//! level only the tasks for antipodes are left, and what they need is that level's frontiers.

use super::{Bfs, Graph};
use crate::artifact::{Artifact, ArtifactKind, Holders};
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
        /// On how many workers' disks.
        places: u32,
        missing: BTreeSet<Artifact>,
    },
    /// The frontiers of the last level.
    Last {
        level: Level,
        places: u32,
        missing: BTreeSet<Artifact>,
    },
}

impl Writing {
    /// The level at which the search is to go on.
    pub fn level(&self) -> Option<Level> {
        match self {
            Writing::No | Writing::Last { .. } => None,
            Writing::Aligning { level } | Writing::Writing { level, .. } => Some(*level),
        }
    }

    pub(super) fn limit(&self) -> Level {
        self.level().unwrap_or(Level::MAX)
    }

    /// Is it to be brought to disk for the checkpoint?
    pub(super) fn contains(&self, graph: &Graph, artifact: Artifact) -> bool {
        match self {
            Writing::No | Writing::Aligning { .. } => false,
            Writing::Writing { level, .. } => graph.in_checkpoint(*level, artifact),
            Writing::Last { level, .. } => {
                artifact.level == *level && artifact.kind == ArtifactKind::Frontier
            }
        }
    }

    /// On how many workers' disks its artifacts are to be.
    pub fn places(&self) -> u32 {
        match self {
            Writing::No | Writing::Aligning { .. } => 1,
            Writing::Writing { places, .. } | Writing::Last { places, .. } => *places,
        }
    }

    /// True if fewer places do now.
    pub(super) fn lower_places(&mut self, most: u32) -> bool {
        match self {
            Writing::Writing { places, .. } | Writing::Last { places, .. } if *places > most => {
                *places = most;
                true
            }
            _ => false,
        }
    }

    pub(super) fn saved(&mut self, artifact: Artifact) {
        if let Some(missing) = self.missing_mut() {
            missing.remove(&artifact);
        }
    }

    pub(super) fn unsaved(&mut self, graph: &Graph, artifact: Artifact) {
        if self.contains(graph, artifact)
            && let Some(missing) = self.missing_mut()
        {
            missing.insert(artifact);
        }
    }

    /// What is not on disk yet.
    pub fn missing(&self) -> Option<&BTreeSet<Artifact>> {
        match self {
            Writing::No | Writing::Aligning { .. } => None,
            Writing::Writing { missing, .. } | Writing::Last { missing, .. } => Some(missing),
        }
    }

    fn missing_mut(&mut self) -> Option<&mut BTreeSet<Artifact>> {
        match self {
            Writing::No | Writing::Aligning { .. } => None,
            Writing::Writing { missing, .. } | Writing::Last { missing, .. } => Some(missing),
        }
    }
}

impl Bfs {
    /// Starts a checkpoint: at the highest level that any lease has reached, or of the last level
    /// where the search has ended. False where one is on its way, or nothing is left to do.
    pub fn begin_checkpoint(&mut self) -> bool {
        if self.writing != Writing::No {
            return false;
        }
        match self.end {
            None => {
                self.writing = Writing::Aligning {
                    level: self.reached,
                };
                self.mark_level_limit();
                true
            }
            Some(end) if self.finals.is_pending() || !self.is_all_packed() => {
                let last = (0..self.graph.shards() as u32).map(|s| Artifact::frontier(end.last, s));
                let missing = self.ask_for(last.filter(|a| a.level > 0).collect());
                self.writing = Writing::Last {
                    level: end.last,
                    places: self.places,
                    missing,
                };
                true
            }
            Some(_) => false,
        }
    }

    /// Is anything of a checkpoint still to be written? What nobody holds has to be computed first.
    pub fn is_being_written(&self) -> bool {
        let held = |&artifact: &Artifact| self.holders(artifact).is_some_and(|h| !h.is_empty());
        let missing = self.writing.missing();
        missing.is_some_and(|missing| missing.iter().any(held))
    }

    /// Gives up a checkpoint that is being made.
    pub fn abandon_checkpoint(&mut self) {
        let writing = std::mem::take(&mut self.writing);
        if writing == Writing::No {
            return;
        }
        let missing = writing.missing().into_iter().flatten();
        self.dirty
            .extend(missing.map(|artifact| (artifact.level, artifact.shard)));
        self.mark_level_limit();
    }

    /// About how many bytes a checkpoint at the reached level will write. Levels that are not complete are taken
    /// to grow as the last complete one did.
    pub fn checkpoint_bytes(&self) -> u64 {
        let last = self.complete.saturating_sub(1);
        let count = |level: Level| self.rows[level as usize].count.max(1);
        let growth = count(last) / count(last.saturating_sub(1));
        let growth = u64::try_from(growth).unwrap_or(u64::MAX).max(1);
        let bytes = |artifact: Artifact| {
            let known = Artifact {
                level: artifact.level.min(last),
                ..artifact
            };
            let levels = artifact.level - known.level;
            let count = self.content(known).map_or(0, |c| c.0);
            let count = count.saturating_mul(growth.saturating_pow(levels));
            let dense = self
                .shard_bytes
                .get(artifact.shard as usize)
                .copied()
                .unwrap_or(u64::MAX);
            count.saturating_mul(4).min(dense)
        };
        let shards = 0..self.graph.shards() as u32;
        shards
            .flat_map(|s| self.graph.checkpoint(self.reached, s))
            .map(bytes)
            .fold(0, u64::saturating_add)
    }

    /// Moves the checkpoint forward as far as it goes.
    pub(super) fn finish_writing(&mut self) {
        if self.end.is_some() && self.writing.level().is_some() {
            self.abandon_checkpoint();
            return;
        }
        if matches!(&self.writing, Writing::Last { missing, .. } if missing.is_empty()) {
            self.writing = Writing::No;
            self.news.checkpointed = true;
            return;
        }
        if let Writing::Aligning { level } = self.writing
            && self.complete > level
        {
            self.begin_writing(level);
        }
        let Writing::Writing { level, missing, .. } = &self.writing else {
            return;
        };
        if missing.is_empty() {
            let level = *level;
            let before = self.checkpoint.replace(level);
            self.find_scarce();
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
        let set = (0..graph.shards() as u32).flat_map(|s| graph.checkpoint(level, s));
        let missing = self.ask_for(set.collect());
        let places = self.places;
        self.writing = Writing::Writing {
            level,
            places,
            missing,
        };
    }

    /// Asks for artifacts to be brought to disk; those that are not there yet are returned.
    fn ask_for(&mut self, set: Vec<Artifact>) -> BTreeSet<Artifact> {
        let mut missing = BTreeSet::new();
        for artifact in set {
            let empty = self.content(artifact).is_none_or(|(count, _)| count == 0);
            let short = |h: &&Holders| !empty && h.durable_places() < self.places;
            let Some(holders) = self.holders(artifact).filter(short).cloned() else {
                continue;
            };
            missing.insert(artifact);
            if holders.is_empty() {
                self.dirty.push_back((artifact.level, artifact.shard));
            }
            let wanting = (self.places - holders.durable_places()) as usize;
            let asked = holders.iter().filter(|&(_, durable)| !durable);
            let asked = asked.take(wanting).map(|(worker, _)| (worker, artifact));
            self.news.persist.extend(asked);
        }
        missing
    }
}
