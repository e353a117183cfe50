//! The end of a search: examples of farthest states and their words.

use super::{Bfs, Lease, TaskKey};
use crate::artifact::Artifact;
use crate::effect::Input;
use crate::plan::bfs::need::Lack;
use antipode_ids::{Attempt, WorkerId};
use antipode_solver_core::engine::Level;
use antipode_solver_core::job::Task;
use antipode_solver_core::puzzle::State;
use std::collections::{BTreeMap, BTreeSet};

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Every state was found.
    pub exhausted: bool,
    /// The deepest complete level with a state.
    pub last: Level,
}

/// The tasks after the last level: the smallest states of each shard of it, then their words.
#[derive(Debug, Clone, Default)]
pub struct Finals {
    level: Level,
    /// Shards that were not asked yet, or did not answer yet.
    smallest: BTreeMap<u32, Option<Lease>>,
    found: BTreeSet<State>,
    words: Option<(Vec<State>, Option<Lease>)>,
    antipodes: Vec<(State, Result<Vec<u16>, String>)>,
}

impl Finals {
    /// Farthest states with their words, once known.
    pub fn antipodes(&self) -> &[(State, Result<Vec<u16>, String>)] {
        &self.antipodes
    }

    /// Is a task left to do?
    pub fn is_pending(&self) -> bool {
        !self.smallest.is_empty() || self.words.is_some()
    }

    pub(super) fn needs(&self, artifact: Artifact) -> bool {
        artifact.level == self.level && matches!(self.smallest.get(&artifact.shard), Some(None))
    }

    pub(super) fn lease(&self, key: TaskKey) -> Option<Lease> {
        match key {
            TaskKey::Smallest { shard } => *self.smallest.get(&shard)?,
            TaskKey::Words => self.words.as_ref()?.1,
            TaskKey::Expand { .. } | TaskKey::Pack { .. } | TaskKey::Copy { .. } => None,
        }
    }

    pub(super) fn free(&mut self, key: TaskKey) {
        match (key, &mut self.words) {
            (TaskKey::Smallest { shard }, _) => _ = self.smallest.get_mut(&shard).map(Option::take),
            (TaskKey::Words, Some((_, lease))) => *lease = None,
            _ => {}
        }
    }
}

impl Bfs {
    pub(super) fn begin_finals(&mut self) {
        let Some(end) = self.end.filter(|end| end.exhausted && self.antipodes > 0) else {
            return;
        };
        let row = &self.rows[end.last as usize];
        let shards = row
            .cells
            .iter()
            .enumerate()
            .filter(|(_, c)| c.result.is_some_and(|r| r.count > 0));
        self.finals = Finals {
            level: end.last,
            smallest: shards.map(|(shard, _)| (shard as u32, None)).collect(),
            ..Finals::default()
        };
        let again: Vec<u32> = self.finals.smallest.keys().copied().collect();
        self.dirty
            .extend(again.into_iter().map(|shard| (end.last, shard)));
    }

    /// Tasks after the last level that may be leased now.
    pub fn ready_finals(&self) -> Vec<TaskKey> {
        if let Some((_, lease)) = &self.finals.words {
            return if lease.is_none() {
                vec![TaskKey::Words]
            } else {
                Vec::new()
            };
        }
        let at_hand =
            |shard: u32| self.lack(Artifact::frontier(self.finals.level, shard)) == Lack::Nothing;
        let free = self
            .finals
            .smallest
            .iter()
            .filter(|(_, lease)| lease.is_none());
        free.map(|(&shard, _)| shard)
            .filter(|&shard| at_hand(shard))
            .map(|shard| TaskKey::Smallest { shard })
            .collect()
    }

    /// Leases a task after the last level.
    pub fn grant_final(
        &mut self,
        key: TaskKey,
        worker: WorkerId,
        attempt: Attempt,
    ) -> Option<(Task, Vec<Input>)> {
        let level = self.finals.level;
        let lease = Some(Lease {
            worker,
            attempt,
            consumed: None,
        });
        match key {
            TaskKey::Smallest { shard } => {
                *self.finals.smallest.get_mut(&shard)? = lease;
                let input = Some(Artifact::frontier(level, shard)).filter(|a| a.level > 0);
                let inputs = input
                    .map(|artifact| self.input(artifact))
                    .into_iter()
                    .collect();
                let shard = antipode_solver_core::engine::ShardId(shard);
                Some((
                    Task::Smallest {
                        level,
                        shard,
                        limit: self.antipodes,
                    },
                    inputs,
                ))
            }
            TaskKey::Words => {
                let (states, slot) = self.finals.words.as_mut()?;
                *slot = lease;
                Some((
                    Task::Words {
                        level,
                        states: states.clone(),
                    },
                    Vec::new(),
                ))
            }
            TaskKey::Expand { .. } | TaskKey::Pack { .. } | TaskKey::Copy { .. } => None,
        }
    }

    /// The smallest states of a shard of the last level. False when nobody waits for them.
    pub fn accept_smallest(&mut self, shard: u32, states: Vec<State>) -> Result<bool, String> {
        let Some(count) = self
            .content(Artifact::frontier(self.finals.level, shard))
            .map(|c| c.0)
        else {
            return Ok(false);
        };
        if !self.finals.smallest.contains_key(&shard) {
            return Ok(false);
        }
        let due = count.min(u64::from(self.antipodes));
        if states.len() as u64 != due {
            return Err(format!(
                "{} smallest states came, {due} were due",
                states.len()
            ));
        }
        self.finals.smallest.remove(&shard);
        self.dirty.push_back((self.finals.level, shard));
        self.finals.found.extend(states);
        if self.finals.smallest.is_empty() {
            let found = std::mem::take(&mut self.finals.found);
            let states = found.into_iter().take(self.antipodes as usize).collect();
            self.finals.words = Some((states, None));
        }
        Ok(true)
    }

    /// The words of the farthest states. False when nobody waits for them.
    pub fn accept_words(&mut self, words: Vec<Result<Vec<u16>, String>>) -> Result<bool, String> {
        let Some((states, _)) = &self.finals.words else {
            return Ok(false);
        };
        if words.len() != states.len() {
            return Err(format!(
                "{} words came for {} states",
                words.len(),
                states.len()
            ));
        }
        let (states, _) = self.finals.words.take().unwrap_or_default();
        self.finals.antipodes = states.into_iter().zip(words).collect();
        Ok(true)
    }

    /// Everything asked for is known, and what must stay is durable.
    pub fn is_finished(&self) -> bool {
        self.end.is_some()
            && !self.finals.is_pending()
            && self.unsaved.is_empty()
            && self.is_all_packed()
    }
}
