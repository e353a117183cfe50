//! Results: each counts once; complete levels; the end of the search.

use super::{Bfs, End};
use crate::artifact::{Artifact, ArtifactKind};
use crate::record::ExpandResult;
use antipode_solver_core::engine::Level;
use std::sync::Arc;

impl Bfs {
    /// Records the first result of a cell.
    pub(crate) fn accept(&mut self, level: Level, shard: u32, result: ExpandResult) {
        let Some(row) = self.rows.get_mut(level as usize) else {
            return;
        };
        let Some(cell) = row.cells.get_mut(shard as usize) else {
            return;
        };
        debug_assert!(cell.result.is_none(), "a result counts once");
        cell.result = Some(result);
        row.known += 1;
        row.count += u128::from(result.count);
        row.digest = row.digest.plus(result.digest);
        row.certificate.predecessors += result.certificate.predecessors;
        row.certificate.successors += result.certificate.successors;
        row.fetched_bytes += result.fetched_bytes;
        if let Some(device) = result.on_device {
            row.uploaded_bytes += device.uploaded_bytes;
            row.device_tasks += 1;
        }
        self.total += u128::from(result.count);
        self.reached = self.reached.max(level);
        if result.by.is_some() {
            self.news.results.push((level, shard, result));
        }
        if result.count > 0 {
            if level > 0 && self.is_kept(shard) {
                self.unsaved.insert(Artifact::frontier(level, shard));
            }
            if level > self.deepest {
                let last = std::mem::replace(&mut self.deepest, level);
                let shards = 0..self.graph.shards() as u32;
                let passed = (last..level)
                    .flat_map(|l| shards.clone().map(move |s| Artifact::frontier(l, s)));
                self.suspects.extend(passed);
            }
        }
        if let Some(states) = &self.states
            && self.total > states.number
        {
            let sentence = format!(
                "{} states were counted up to level {level}, but there are only {}",
                self.total, states.text
            );
            self.news.violation.get_or_insert(sentence);
        }
        self.mark_around(level, shard);
        self.note_read(level, shard);
        self.advance(shard);
    }

    /// The inputs of a task with a result were read once more; some may be needed no longer.
    fn note_read(&mut self, level: Level, shard: u32) {
        if level == 0 {
            return;
        }
        let graph = Arc::clone(&self.graph);
        for input in graph.inputs(level, shard) {
            if input.kind == ArtifactKind::Frontier
                && let Some(cell) = self.cell_mut(input.level, input.shard)
            {
                cell.unread = cell.unread.saturating_sub(1);
                if cell.unread > 0 {
                    continue;
                }
            }
            self.suspects.push(input);
        }
    }

    /// Marks the cell and all that read it.
    pub(super) fn mark_around(&mut self, level: Level, shard: u32) {
        self.dirty.push_back((level, shard));
        let graph = Arc::clone(&self.graph);
        for output in graph.outputs(level, shard) {
            self.dirty.extend(graph.dependents(output));
        }
    }

    fn advance(&mut self, shard: u32) {
        let mut next = self.next[shard as usize];
        while self
            .cell(next, shard)
            .is_some_and(|cell| cell.result.is_some())
        {
            next += 1;
        }
        self.next[shard as usize] = next;
        self.dirty.push_back((next, shard));
        let shards = self.graph.shards() as u32;
        while self.end.is_none()
            && self
                .rows
                .get(self.complete as usize)
                .is_some_and(|r| r.known == shards)
        {
            let level = self.complete;
            self.complete += 1;
            self.extend_rows();
            self.close_level(level);
        }
    }

    /// A level is complete: is it the last one?
    fn close_level(&mut self, level: Level) {
        let count = self.rows[level as usize].count;
        // A lower level may have become complete after higher cells were counted, so the sum up to
        // here is not the total.
        let sum: u128 = self.rows[..=level as usize]
            .iter()
            .map(|row| row.count)
            .sum();
        let all = self
            .states
            .as_ref()
            .is_some_and(|states| sum == states.number);
        let empty = count == 0 && level > 0;
        self.end = if empty {
            Some(End {
                exhausted: true,
                last: level - 1,
            })
        } else if all {
            Some(End {
                exhausted: true,
                last: level,
            })
        } else if self.depth.is_some_and(|depth| level >= depth) {
            Some(End {
                exhausted: false,
                last: level,
            })
        } else {
            None
        };
        if !empty {
            self.news.levels.push(level);
        }
        if self.graph.is_batch() && level == 1 && !all {
            let known = self.states.as_ref().map_or("?", |states| &states.text);
            let sentence = format!("the items counted {sum} in all, but there are {known}");
            self.news.violation.get_or_insert(sentence);
        }
        match &self.states {
            Some(states) if empty && sum != states.number => {
                let sentence = format!(
                    "the search ended at level {} with {sum} states, but there are {}",
                    level - 1,
                    states.text
                );
                self.news.violation.get_or_insert(sentence);
            }
            _ => {}
        }
        self.mark_level_limit();
        if self.end.is_some() {
            self.begin_finals();
            self.begin_packing();
        }
    }

    /// The level limit moved, or the search ended: look again at whatever is or could be wanted.
    pub(super) fn mark_level_limit(&mut self) {
        for (shard, &next) in self.next.iter().enumerate() {
            self.dirty.push_back((next, shard as u32));
        }
        if self.end.is_some() {
            for (level, row) in self.rows.iter().enumerate() {
                let wanted = row
                    .cells
                    .iter()
                    .enumerate()
                    .filter(|(_, c)| c.wanted || c.lease.is_some());
                self.dirty
                    .extend(wanted.map(|(shard, _)| (level as Level, shard as u32)));
            }
        }
    }
}
