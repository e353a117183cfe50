//! What should run, what may run, and what nobody needs any more.

use super::Bfs;
use crate::artifact::{Artifact, ArtifactKind};
use crate::mutants::{self, Mutant};
use crate::record::ExpandResult;
use antipode_solver_core::engine::{Certificate, Digest, Level};
use std::sync::Arc;

/// What stands between a task and one of its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    Nothing,
    /// The task that makes it was never done.
    Result,
    /// It was made, but no copy is left.
    Copy,
}

impl Bfs {
    /// Re-examines every cell that a change may concern, then drops what nobody needs.
    pub fn settle(&mut self) {
        if self.closed {
            self.dirty.clear();
            self.suspects.clear();
            return;
        }
        while let Some((level, shard)) = self.dirty.pop_front() {
            self.settle_cell(level, shard);
        }
        self.finish_writing();
        while let Some((level, shard)) = self.dirty.pop_front() {
            self.settle_cell(level, shard);
        }
        for artifact in std::mem::take(&mut self.suspects) {
            if self.is_spent(artifact, None) {
                self.release(artifact);
            }
        }
    }

    fn settle_cell(&mut self, level: Level, shard: u32) {
        if level == 0 || self.cell(level, shard).is_none() {
            return;
        }
        let should = self.should_run(level, shard);
        if should && self.is_known_empty(level, shard) {
            let (certificate, digest) = (Certificate::default(), Digest::default());
            let result = ExpandResult {
                count: 0,
                digest,
                certificate,
                fetched_bytes: 0,
                on_device: None,
                by: None,
            };
            self.accept(level, shard, result);
            return;
        }
        let Some(cell) = self.cell_mut(level, shard) else {
            return;
        };
        let was = std::mem::replace(&mut cell.wanted, should);
        if !should {
            if cell.result.is_none()
                && let Some(lease) = cell.lease.take()
            {
                self.news.revoked.push(lease);
            }
            self.ready.remove(&(level, shard));
            if was {
                // What was run only for its sake may not be wanted any more, or not be needed.
                let graph = Arc::clone(&self.graph);
                for input in graph.inputs(level, shard) {
                    if self
                        .cell(input.level, input.shard)
                        .is_some_and(|c| c.wanted)
                    {
                        self.dirty.push_back((input.level, input.shard));
                    }
                    self.suspects.push(input);
                }
            }
            return;
        }
        if cell.lease.is_some() {
            self.ready.remove(&(level, shard));
            return;
        }
        let blocked = cell.blocked;
        if was && blocked.is_some_and(|input| self.lack(input) == Lack::Result) {
            self.ready.remove(&(level, shard));
            return;
        }
        let graph = Arc::clone(&self.graph);
        let mut complete = true;
        let mut blocked = None;
        for input in graph.inputs(level, shard) {
            match self.lack(input) {
                Lack::Nothing => {}
                Lack::Copy
                    if input == Artifact::frontier(level - 1, shard)
                        && mutants::has(Mutant::ReadyWithoutOwnLevel) => {}
                Lack::Result => {
                    complete = false;
                    // The last one: results tend to come in order.
                    blocked = Some(input);
                }
                Lack::Copy => {
                    complete = false;
                    if self
                        .cell(input.level, input.shard)
                        .is_some_and(|c| !c.wanted)
                    {
                        self.dirty.push_back((input.level, input.shard));
                    }
                }
            }
        }
        if let Some(cell) = self.cell_mut(level, shard) {
            cell.blocked = blocked;
        }
        if complete {
            self.ready.insert((level, shard));
        } else {
            self.ready.remove(&(level, shard));
        }
    }

    /// Is the cell to be computed, for the first time or again?
    pub(crate) fn should_run(&self, level: Level, shard: u32) -> bool {
        let Some(cell) = self.cell(level, shard) else {
            return false;
        };
        match cell.result {
            None => {
                self.end.is_none() && level == self.next[shard as usize] && level <= self.limit()
            }
            Some(_) => self
                .graph
                .outputs(level, shard)
                .any(|output| self.lack(output) == Lack::Copy && self.is_needed(output)),
        }
    }

    /// No source has a state, so there is nothing to compute. (Directed lists: a visited set that is
    /// not empty must still be carried to this level, which is a task.)
    fn is_known_empty(&self, level: Level, shard: u32) -> bool {
        let empty = |s: &u32| {
            self.content(Artifact::frontier(level - 1, *s))
                .is_some_and(|c| c.0 == 0)
        };
        self.cell(level, shard)
            .is_some_and(|cell| cell.result.is_none())
            && !self.graph.is_batch()
            && self.graph.sources(shard).iter().all(empty)
            && (!self.graph.is_directed()
                || self
                    .content(Artifact::visited(level - 1, shard))
                    .is_some_and(|c| c.0 == 0))
    }

    /// What is missing of an input. Level 0 and empty sets are everywhere.
    pub fn lack(&self, artifact: Artifact) -> Lack {
        if artifact.level == 0 && artifact.kind != ArtifactKind::Distances {
            return Lack::Nothing;
        }
        let Some(result) = self
            .cell(artifact.level, artifact.shard)
            .and_then(|cell| cell.result)
        else {
            return Lack::Result;
        };
        let held = self
            .holders(artifact)
            .is_some_and(|holders| !holders.is_empty());
        let empty = || match artifact.kind {
            ArtifactKind::Frontier => result.count == 0,
            ArtifactKind::Visited | ArtifactKind::Distances => {
                self.content(artifact).is_none_or(|c| c.0 == 0)
            }
        };
        if held || empty() {
            Lack::Nothing
        } else {
            Lack::Copy
        }
    }

    /// Does anything wait for a copy of it?
    pub fn is_needed(&self, artifact: Artifact) -> bool {
        let waits = |(level, shard)| {
            self.cell(level, shard)
                .is_some_and(|c| c.wanted && c.lease.is_none())
        };
        let frontier = artifact.kind == ArtifactKind::Frontier;
        (frontier && self.is_kept(artifact.shard))
            || self.writing.contains(&self.graph, artifact)
            || (frontier && self.finals.needs(artifact))
            || self.graph.dependents(artifact).any(waits)
    }

    /// Will nobody (but the task `except`) ever read it, as far as is known?
    pub(crate) fn is_spent(&self, artifact: Artifact, except: Option<(Level, u32)>) -> bool {
        let Artifact { level, kind, .. } = artifact;
        if level == 0 || kind == ArtifactKind::Distances {
            return false;
        }
        if kind == ArtifactKind::Frontier {
            // Examples of antipodes come from the last level, which shows only at the end.
            let may_be_last = self.antipodes > 0 && self.end.is_none() && level >= self.deepest;
            if self.is_kept(artifact.shard)
                || may_be_last
                || self.end.is_some_and(|end| end.last == level)
            {
                return false;
            }
        }
        if self
            .checkpoint
            .filter(|_| !mutants::has(Mutant::DropCheckpoint))
            .is_some_and(|at| self.graph.in_checkpoint(at, artifact))
            || self
                .writing
                .level()
                .is_some_and(|at| self.graph.in_checkpoint(at, artifact))
        {
            return false;
        }
        let spared = u32::from(except.is_some());
        if self.end.is_none()
            && kind == ArtifactKind::Frontier
            && self
                .cell(level, artifact.shard)
                .is_some_and(|cell| cell.unread > spared)
        {
            return false;
        }
        let beyond = |level: Level| self.depth.is_some_and(|depth| level > depth);
        let done = |(level, shard)| {
            beyond(level)
                || Some((level, shard)) == except
                || self
                    .cell(level, shard)
                    .is_some_and(|c| !c.wanted && (c.result.is_some() || self.end.is_some()))
        };
        self.graph.dependents(artifact).all(done)
    }
}
