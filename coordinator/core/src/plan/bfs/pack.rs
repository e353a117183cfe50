//! After the last level of a job that keeps its frontiers: the distances of each shard, packed. They
//! take less room than the frontiers, which go once the distances are safe. Distances that are lost
//! before the end are made again from the frontiers, which are made again where they are gone.

use super::need::Lack;
use super::{Bfs, Lease};
use crate::artifact::{Artifact, ArtifactKind, Holders};
use crate::effect::Input;
use antipode_ids::{Attempt, WorkerId};
use antipode_solver_core::engine::{Digest, Level, ShardId};
use antipode_solver_core::job::Task;

/// The packed distances of one shard.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    /// Number of states and digest, once known.
    pub result: Option<(u64, Digest)>,
    pub lease: Option<Lease>,
    pub holders: Holders,
}

impl Bfs {
    /// The last level, if distances are made of it and the ones before.
    pub(super) fn packs(&self) -> Option<Level> {
        let end = self.end.filter(|end| end.exhausted)?;
        (self.keep && self.packable).then_some(end.last)
    }

    fn states_of(&self, shard: u32) -> u64 {
        let cells = self
            .rows
            .iter()
            .filter_map(|row| row.cells.get(shard as usize));
        cells.filter_map(|cell| cell.result).map(|r| r.count).sum()
    }

    /// Are the distances of the shard safe, or is there nothing to be safe?
    pub(super) fn is_packed(&self, shard: u32) -> bool {
        let packed = &self.packed[shard as usize];
        match packed.result {
            Some(_) => packed.holders.durable_places() >= self.places,
            None => self.states_of(shard) == 0,
        }
    }

    /// Must the distances of the shard be made, for the first time or again?
    pub(super) fn is_pack_wanted(&self, shard: u32) -> bool {
        let packed = &self.packed[shard as usize];
        !self.closed
            && self.packs().is_some()
            && packed.holders.is_empty()
            && self.states_of(shard) > 0
    }

    /// Is the frontier kept for the job's own sake?
    pub(super) fn is_kept(&self, shard: u32) -> bool {
        self.keep && (self.packs().is_none() || (!self.closed && !self.is_packed(shard)))
    }

    pub(super) fn begin_packing(&mut self) {
        if self.packs().is_some() {
            self.mark_shards();
        }
    }

    fn mark_shards(&mut self) {
        for shard in 0..self.graph.shards() as u32 {
            self.mark_shard(shard);
        }
    }

    /// Looks again at all levels of a shard.
    pub(super) fn mark_shard(&mut self, shard: u32) {
        let levels = 1..self.rows.len() as Level;
        self.dirty.extend(levels.map(|level| (level, shard)));
    }

    /// Shards whose distances can be made now.
    pub fn ready_packs(&self) -> Vec<u32> {
        let Some(last) = self.packs() else {
            return Vec::new();
        };
        let at_hand = |shard: u32| {
            (1..=last).all(|l| self.lack(Artifact::frontier(l, shard)) == Lack::Nothing)
        };
        (0..self.graph.shards() as u32)
            .filter(|&shard| self.packed[shard as usize].lease.is_none())
            .filter(|&shard| self.is_pack_wanted(shard) && at_hand(shard))
            .collect()
    }

    /// Leases the distances of a shard.
    pub fn grant_pack(
        &mut self,
        shard: u32,
        worker: WorkerId,
        attempt: Attempt,
    ) -> Option<(Task, Vec<Input>)> {
        let last = self.packs()?;
        let inputs = (1..=last).map(|level| self.input(Artifact::frontier(level, shard)));
        let inputs = inputs.collect();
        self.packed.get_mut(shard as usize)?.lease = Some(Lease {
            worker,
            attempt,
            consumed: None,
        });
        let shard = ShardId(shard);
        Some((Task::Pack { last, shard }, inputs))
    }

    /// The distances of a shard are on a worker's disk. False when nobody waits for them.
    pub fn accept_packed(
        &mut self,
        shard: u32,
        (count, digest): (u64, Digest),
        worker: WorkerId,
    ) -> Result<bool, String> {
        let (Some(last), states) = (self.packs(), self.states_of(shard)) else {
            return Ok(false);
        };
        if count != states {
            return Err(format!(
                "distances of {count} states came for shard {shard}, it has {states}"
            ));
        }
        let Some(packed) = self.packed.get_mut(shard as usize) else {
            return Ok(false);
        };
        packed.lease = None;
        if let Some((_, before)) = packed.result.filter(|(_, before)| *before != digest) {
            return Err(format!(
                "the distances of shard {shard} have digest {digest}, they had {before} before"
            ));
        }
        packed.result = Some((count, digest));
        _ = self.add_copy(
            Artifact::distances(last, shard),
            (count, digest),
            worker,
            true,
        );
        self.note_packed(shard);
        Ok(true)
    }

    /// Distances may be safe now: then their frontiers are of no use any more.
    pub(super) fn note_packed(&mut self, shard: u32) {
        if self.packs().is_none() || !self.is_packed(shard) {
            return;
        }
        let frontiers = (1..self.rows.len() as Level).map(|level| Artifact::frontier(level, shard));
        for frontier in frontiers {
            self.unsaved.remove(&frontier);
            self.suspects.push(frontier);
        }
        self.mark_shard(shard);
    }

    /// Is it of no use once the job has ended?
    pub fn is_spare_at_end(&self, artifact: Artifact) -> bool {
        match (artifact.kind, self.packs()) {
            (ArtifactKind::Distances, _) => false,
            (ArtifactKind::Frontier, None) => self.end.is_none_or(|end| artifact.level > end.last),
            (ArtifactKind::Visited, None) | (_, Some(_)) => true,
        }
    }

    /// Is nothing left to be packed?
    pub(super) fn is_all_packed(&self) -> bool {
        self.packs().is_none() || (0..self.graph.shards() as u32).all(|shard| self.is_packed(shard))
    }
}
