//! Copies of artifacts: where they are, who may use them up, when they are released; and leases.

use super::{Bfs, Cell, Lease, TaskKey};
use crate::artifact::{Artifact, ArtifactKind, Holders};
use crate::effect::Input;
use antipode_ids::{Attempt, WorkerId};
use antipode_solver_core::engine::{Digest, Level, ShardId};
use antipode_solver_core::job::Task;
use std::collections::BTreeSet;
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
            _ if artifact.level == 0 && artifact.kind != ArtifactKind::Distances => {
                Some(Refused::Spent)
            }
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
        self.note_places(artifact);
        if to_disk && !durable && !self.is_durable_enough(artifact) {
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
            self.note_places(artifact);
        }
    }

    /// Is it on as many disks as it is to be?
    pub fn is_durable_enough(&self, artifact: Artifact) -> bool {
        // The strictest of those that ask for it.
        let mut places = 1;
        if self.writing.contains(&self.graph, artifact) {
            places = self.writing.places();
        }
        if artifact.kind == ArtifactKind::Distances || self.is_in_last_checkpoint(artifact) {
            places = places.max(self.places);
        }
        if artifact.kind == ArtifactKind::Frontier && self.is_kept(artifact.shard) {
            places = places.max(self.kept_places());
        }
        self.holders(artifact)
            .is_some_and(|holders| holders.durable_places() >= places)
    }

    /// On how many disks an artifact is may have changed: what waits for that is brought up to date.
    pub(super) fn note_places(&mut self, artifact: Artifact) {
        let places = self.holders(artifact).map_or(0, Holders::durable_places);
        if artifact.kind == ArtifactKind::Distances {
            return self.note_packed(artifact.shard);
        }
        if artifact.kind == ArtifactKind::Frontier {
            if places >= self.kept_places() {
                self.unsaved.remove(&artifact);
            } else if self.is_kept(artifact.shard) {
                self.unsaved.insert(artifact);
            }
        }
        self.note_scarce(artifact);
        if places >= self.writing.places() {
            self.writing.saved(artifact);
        } else {
            self.writing.unsaved(&self.graph, artifact);
        }
    }

    fn is_in_last_checkpoint(&self, artifact: Artifact) -> bool {
        self.checkpoint
            .is_some_and(|level| self.graph.in_checkpoint(level, artifact))
    }

    fn note_scarce(&mut self, artifact: Artifact) {
        let places = self.places;
        let is_scarce = self.is_in_last_checkpoint(artifact)
            && self
                .holders(artifact)
                .is_some_and(|h| !h.is_empty() && h.durable_places() < places);
        if is_scarce {
            self.scarce.insert(artifact);
        } else {
            self.scarce.remove(&artifact);
        }
    }

    /// The last checkpoint, or the number of its places, is another one now.
    pub(super) fn find_scarce(&mut self) {
        self.scarce.clear();
        let Some(level) = self.checkpoint else {
            return;
        };
        let graph = Arc::clone(&self.graph);
        let shards = 0..graph.shards() as u32;
        for artifact in shards.flat_map(|s| graph.checkpoint(level, s)) {
            self.note_scarce(artifact);
        }
    }

    /// From now on a checkpoint is to be on so many workers' disks. Fewer count for one that is being
    /// made, too: nobody waits for places that are gone.
    pub fn set_places(&mut self, places: u32) {
        self.places = places.max(1);
        if self.writing.lower_places(self.places) {
            let missing: Vec<Artifact> = self
                .writing
                .missing()
                .into_iter()
                .flatten()
                .copied()
                .collect();
            missing
                .into_iter()
                .for_each(|artifact| self.note_places(artifact));
        }
        for shard in 0..self.graph.shards() as u32 {
            self.note_packed(shard);
            self.ask_for_distances(shard);
        }
        self.find_scarce();
        if self.keep && !self.packable && !self.closed {
            let frontiers: Vec<Artifact> = self.copies().into_iter().map(|(a, ..)| a).collect();
            for artifact in frontiers {
                self.note_places(artifact);
                self.ask_holders(artifact);
            }
        }
        for artifact in self.scarce.clone() {
            self.ask_holders(artifact);
        }
    }

    /// On how many disks a frontier is to be that is kept for good; one that ends as packed distances
    /// needs only one until then.
    fn kept_places(&self) -> u32 {
        if self.packable { 1 } else { self.places }
    }

    /// Where more places are wanted, those who have packed distances in memory are asked to write them.
    fn ask_for_distances(&mut self, shard: u32) {
        let Some(last) = self.packs() else {
            return;
        };
        self.ask_holders(Artifact::distances(last, shard));
    }

    /// Whoever has it in memory is to write it, if it is on too few disks.
    pub(super) fn ask_holders(&mut self, artifact: Artifact) {
        if self.is_durable_enough(artifact) {
            return;
        }
        let holders = self.holders(artifact).into_iter().flat_map(Holders::iter);
        let in_memory = holders.filter(|&(_, durable)| !durable);
        let asked: Vec<_> = in_memory.map(|(worker, _)| (worker, artifact)).collect();
        self.news.persist.extend(asked);
    }

    /// Artifacts that are to be copied, because they are on too few disks and have a holder: each with
    /// the number of copies that are not even on their way.
    pub fn copies_due(&self) -> Vec<(Artifact, u32)> {
        let due = |artifact: Artifact, places: u32| {
            let holders = self.holders(artifact).filter(|h| !h.is_empty())?;
            // Holders that have it in memory were asked to write it.
            let coming = self
                .copying
                .range((artifact, WorkerId(0))..=(artifact, WorkerId(u64::MAX)))
                .count();
            let sure = holders.workers().count() as u32 + coming as u32;
            (sure < places).then(|| (artifact, places - sure))
        };
        let writing = self.writing.missing().into_iter().flatten();
        let places = self.writing.places();
        let distances = self.packs().into_iter().flat_map(|last| {
            (0..self.graph.shards() as u32).map(move |s| Artifact::distances(last, s))
        });
        // Frontiers that are kept for good are to be as safe as a checkpoint.
        let kept: Vec<Artifact> = match (self.keep && !self.packable, self.closed) {
            (false, _) => Vec::new(),
            (true, false) => self.unsaved.iter().copied().collect(),
            (true, true) => {
                let copies = self.copies().into_iter();
                let mut kept: Vec<Artifact> = copies.map(|(artifact, ..)| artifact).collect();
                kept.dedup();
                kept
            }
        };
        let scarce = self
            .scarce
            .iter()
            .filter(|a| !self.writing.contains(&self.graph, **a));
        writing
            .filter_map(|&artifact| due(artifact, places))
            .chain(scarce.filter_map(|&artifact| due(artifact, self.places)))
            .chain(
                kept.into_iter()
                    .filter_map(|artifact| due(artifact, self.places)),
            )
            .chain(distances.filter_map(|artifact| due(artifact, self.places)))
            .collect()
    }

    /// All artifacts with a copy at this worker, but no durable one at any of the others.
    pub fn only_at(&self, worker: WorkerId, others: &BTreeSet<WorkerId>) -> Vec<Artifact> {
        let elsewhere = |holders: &Holders| {
            holders
                .iter()
                .any(|(holder, durable)| durable && others.contains(&holder))
        };
        let only = |holders: &Holders| holders.contains(worker) && !elsewhere(holders);
        let mut found = Vec::new();
        for (level, row) in self.rows.iter().enumerate() {
            for (shard, cell) in row.cells.iter().enumerate() {
                let (level, shard) = (level as Level, shard as u32);
                if only(&cell.frontier) {
                    found.push(Artifact::frontier(level, shard));
                }
                if only(&cell.visited) {
                    found.push(Artifact::visited(level, shard));
                }
            }
        }
        let last = self.end.map_or(0, |end| end.last);
        for (shard, packed) in self.packed.iter().enumerate() {
            if only(&packed.holders) {
                found.push(Artifact::distances(last, shard as u32));
            }
        }
        found
    }

    /// Is a copy of it on its way anywhere?
    pub fn is_copying(&self, artifact: Artifact) -> bool {
        let (first, last) = ((artifact, WorkerId(0)), (artifact, WorkerId(u64::MAX)));
        self.copying.range(first..=last).next().is_some()
    }

    /// Leases a copy.
    pub fn grant_copy(
        &mut self,
        artifact: Artifact,
        to: WorkerId,
        attempt: Attempt,
    ) -> Option<(Task, Vec<Input>)> {
        let input = self.input(artifact);
        if input.holders.is_empty() {
            return None;
        }
        let lease = Lease {
            worker: to,
            attempt,
            consumed: None,
        };
        self.copying.insert((artifact, to), lease);
        let Artifact { level, shard, kind } = artifact;
        let shard = ShardId(shard);
        Some((Task::Copy { kind, level, shard }, vec![input]))
    }

    /// A copy is on a worker's disk. False when nobody waits for it (any more).
    pub fn accept_copy(&mut self, artifact: Artifact, to: WorkerId) -> bool {
        let waited = self.copying.remove(&(artifact, to)).is_some();
        match self.content(artifact) {
            Some(content) => self.add_copy(artifact, content, to, true).is_ok() && waited,
            None => false,
        }
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
        let other = holders.iter().find(|&(_, durable)| !durable);
        self.note_scarce(artifact);
        if to_disk {
            self.note_places(artifact);
            if !self.is_durable_enough(artifact) {
                self.news
                    .persist
                    .extend(other.map(|(worker, _)| (worker, artifact)));
            }
        }
        if artifact.kind == ArtifactKind::Distances {
            self.mark_shard(artifact.shard);
        }
        self.mark_around(artifact.level, artifact.shard);
        true
    }

    /// Forgets all copies of a worker (its leases stay); says how many there were.
    pub fn remove_copies_of(&mut self, worker: WorkerId) -> usize {
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
        let last = self.end.map_or(0, |end| end.last);
        for (shard, packed) in self.packed.iter().enumerate() {
            if packed.holders.contains(worker) {
                held.push(Artifact::distances(last, shard as u32));
            }
        }
        let copies = held.len();
        held.into_iter()
            .for_each(|artifact| _ = self.remove_copy(artifact, worker));
        copies
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
        artifact.kind == ArtifactKind::Distances
            || (artifact.kind == ArtifactKind::Frontier && self.is_kept(artifact.shard))
            || self.writing.contains(&self.graph, artifact)
            || self.is_in_last_checkpoint(artifact)
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
            TaskKey::Pack { shard } => self.packed.get(shard as usize)?.lease,
            TaskKey::Copy { artifact, to } => self.copying.get(&(artifact, to)).copied(),
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
            TaskKey::Pack { shard } => {
                if let Some(packed) = self.packed.get_mut(shard as usize) {
                    packed.lease = None;
                }
                self.mark_shard(shard);
            }
            TaskKey::Copy { artifact, to } => _ = self.copying.remove(&(artifact, to)),
        }
        if let (Some(end), TaskKey::Smallest { shard }) = (self.end, key) {
            self.dirty.push_back((end.last, shard));
        }
    }

    /// Nothing more will be computed; what is kept is still known. Leases are forgotten, and so is
    /// whatever is not kept.
    pub fn close_keeping(&mut self) {
        let last = self.end.map(|end| end.last);
        let packs = self.packs().is_some();
        for (level, row) in self.rows.iter_mut().enumerate() {
            for cell in &mut row.cells {
                // Only what is on disk stays; packed distances stand for all frontiers.
                let kept = last.is_some_and(|last| level as Level <= last) && !packs;
                let frontier = std::mem::take(&mut cell.frontier);
                *cell = Cell {
                    result: cell.result,
                    frontier: if kept {
                        frontier.durable_only()
                    } else {
                        Holders::default()
                    },
                    ..Cell::default()
                };
            }
        }
        for packed in &mut self.packed {
            packed.lease = None;
        }
        self.closed = true;
        self.copying.clear();
        self.forget_work();
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
        for packed in &mut self.packed {
            *packed = super::Packed {
                result: packed.result,
                ..super::Packed::default()
            };
        }
        self.closed = true;
        self.copying.clear();
        self.forget_work();
    }

    fn forget_work(&mut self) {
        self.scarce.clear();
        self.ready.clear();
        self.dirty.clear();
        self.suspects.clear();
        self.unsaved.clear();
        self.writing = super::Writing::No;
        self.finals = super::Finals::default();
        self.news = super::News::default();
    }
}
