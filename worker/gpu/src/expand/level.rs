//! One level of one shard, run by run of superblocks. Where sets must be sent first, what is there gathers while the next
//! one comes; then every run gathers the rest, takes away what was seen, and is brought back while the next one is
//! computed.

use super::calls::{Blocks, Group, Scene, begin, groups};
use super::resident::Set;
use super::tables::Tables;
use super::upload::Arrivals;
use super::{Staging, State};
use crate::error::GpuError;
use crate::kernels::Kernels;
use crate::pace::Pace;
use crate::vulkan::{Lane, Pending, Run, Step};
use antipode_solver_core::bfs::device::{DeviceBits, DeviceTask};
use std::sync::Arc;
use std::time::Duration;

/// Superblocks without states that are brought back with their neighbours rather than with a copy of their own.
const GAP: u32 = 16;
/// Copies of one run at most; with more all of it is brought back.
const COPIES_MAX: usize = 1024;

impl State {
    /// Makes the level, keeps it, and brings it back.
    pub(super) fn level(
        &mut self,
        kernels: &Kernels,
        task: &DeviceTask<'_>,
        out: &mut DeviceBits<'_>,
    ) -> Result<(), GpuError> {
        let State {
            tables,
            masks,
            residents,
            origins,
            staging,
            pace,
            computing,
            ..
        } = self;
        let mut groups = groups(task);
        if groups.is_empty() {
            // Nothing comes from nowhere, and what was seen stays as it is called.
            return Ok(());
        }
        // What was seen by now contains the level before.
        let own = (!task.seen_grows && task.own.count() > 0).then_some(task.own);
        let seen = (task.seen_grows || task.seen.count() > 0).then_some(task.seen);
        let sources = groups.iter().map(|group| group.frontier);
        let wanted = sources.chain(own).chain(seen);
        let mut arrivals = Arrivals::new(residents, wanted);
        // What is here gathers first.
        groups.sort_by_key(|group| !arrivals.is_here(group.frontier));
        let geometry = task.own.geometry();
        let made = residents.room(kernels, geometry)?;
        let mut scene = Scene {
            kernels,
            tables,
            masks,
            origins,
            geometry,
            shard: task.shard,
            made: &made,
            own: None,
            seen: None,
            seen_grows: task.seen_grows,
            staged_words: staging.down.words() / 2,
        };
        let mut gathered = 0;
        if let Tables::Blocks(_) = tables {
            while gathered < groups.len() {
                let group = &groups[gathered..=gathered];
                while !arrivals.is_here(group[0].frontier) {
                    arrivals.step(residents, kernels, staging)?;
                }
                if arrivals.are_over() {
                    break;
                }
                for_all_runs(&scene, group, pace, |run| {
                    let calls = scene.gather(group, arrivals.here(), run, gathered == 0);
                    let pending = begin(kernels, &calls, None)?;
                    drop(calls);
                    arrivals.step(residents, kernels, staging)?;
                    let took = pending.wait()?;
                    *computing += took;
                    Ok(took)
                })?;
                gathered += 1;
            }
        }
        while !arrivals.are_over() {
            arrivals.step(residents, kernels, staging)?;
        }
        let here = arrivals.here();
        let own = own.and_then(|set| here.get(&set.id()));
        let seen = match seen.and_then(|set| here.get(&set.id())) {
            // It is changed where it lies, unless it is a source too.
            Some(set) if task.seen_grows => {
                let id = task.seen.id();
                let is_source = groups.iter().any(|group| group.frontier.id() == id);
                match is_source {
                    true => Some(residents.copy(kernels, set, geometry)?),
                    false => {
                        residents.forget(id);
                        Some(Arc::clone(set))
                    }
                }
            }
            set => set.cloned(),
        };
        scene.own = own.map(|set| &**set);
        scene.seen = seen.as_deref();
        let left = &groups[gathered..];
        let mut back = Back {
            kernels,
            staging,
            made: &made,
            words: geometry.words as usize,
            out,
            waiting: None,
        };
        for_all_runs(&scene, left, pace, |run| {
            let coming = back.begin()?;
            let mut calls = scene.gather(left, here, run, gathered == 0);
            calls.extend(scene.settle(run));
            let counts = Run {
                from: run.first as usize,
                to: 0,
                words: run.count as usize,
            };
            let copy = (&made.counts, &back.staging.counts, counts);
            let pending = begin(kernels, &calls, Some(copy))?;
            back.finish(coming)?;
            let took = pending.wait()?;
            *computing += took;
            back.counted(run)?;
            Ok(took)
        })?;
        let coming = back.begin()?;
        back.finish(coming)?;
        if let (true, Some(grown)) = (task.seen_grows, seen) {
            residents.keep(task.seen_becomes, grown);
        }
        match out.counts.iter().all(|&count| count == 0) {
            true => residents.give_back(made),
            false => residents.keep(task.becomes, made),
        }
        Ok(())
    }
}

/// All superblocks of the shard, as many at once as the pace, the buffers and the device allow. `body` says how long a run
/// took.
fn for_all_runs(
    scene: &Scene<'_>,
    groups: &[Group<'_>],
    pace: &mut Pace,
    mut body: impl FnMut(Blocks) -> Result<Duration, GpuError>,
) -> Result<(), GpuError> {
    let most = scene.most_blocks(groups.iter().map(|group| group.moves.len()).sum());
    // A run that gathers from one source says nothing about one that gathers from a hundred: moves are counted too.
    let moves = scene.moves(groups).max(1) as u64;
    let mut first = 0;
    while first < scene.geometry.blocks {
        let left = u64::from(scene.geometry.blocks - first);
        let count = (pace.next(left * moves) / moves).clamp(1, most) as u32;
        let took = body(Blocks { first, count })?;
        pace.took(u64::from(count) * moves, took);
        first += count;
    }
    Ok(())
}

/// Brings runs back, each while the next one is computed.
struct Back<'a, 'b> {
    kernels: &'a Kernels,
    staging: &'a mut Staging,
    made: &'a Set,
    words: usize,
    out: &'a mut DeviceBits<'b>,
    /// The run that is computed and counted.
    waiting: Option<Blocks>,
}

/// What is being copied.
type Coming = Option<(Pending, Vec<Run>, usize)>;

impl Back<'_, '_> {
    /// The counts of a run are there.
    fn counted(&mut self, run: Blocks) -> Result<(), GpuError> {
        let mut counts = vec![0; run.count as usize];
        self.staging.counts.read(&mut counts)?;
        let out = &mut self.out.counts[run.first as usize..][..counts.len()];
        for (to, from) in out.iter_mut().zip(counts) {
            *to = from as u16;
        }
        self.waiting = Some(run);
        Ok(())
    }

    /// Begins to bring back what waits.
    fn begin(&mut self) -> Result<Coming, GpuError> {
        let Some(run) = self.waiting.take() else {
            return Ok(None);
        };
        let first = run.first as usize;
        let counts = &self.out.counts[first..][..run.count as usize];
        let runs: Vec<Run> = with_states(counts)
            .into_iter()
            .map(|blocks| Run {
                from: 2 * (first + blocks.first as usize) * self.words,
                to: 2 * blocks.first as usize * self.words,
                words: 2 * blocks.count as usize * self.words,
            })
            .collect();
        if runs.is_empty() {
            return Ok(None);
        }
        let copy = Step::CopyRuns {
            from: &self.made.bits,
            to: &self.staging.down,
            runs: &runs,
        };
        let pending = self.kernels.device().begin(Lane::Copies, &[copy])?;
        Ok(Some((pending, runs, first)))
    }

    /// Waits for it.
    fn finish(&mut self, coming: Coming) -> Result<(), GpuError> {
        let Some((pending, runs, first)) = coming else {
            return Ok(());
        };
        pending.wait()?;
        for run in runs {
            let at = first * self.words + run.to / 2;
            let out = &mut self.out.words[at..at + run.words / 2];
            self.staging.down.read_pairs(run.to, out)?;
        }
        Ok(())
    }
}

/// Runs of superblocks with states, by their place among `counts`.
fn with_states(counts: &[u16]) -> Vec<Blocks> {
    let mut runs: Vec<Blocks> = Vec::new();
    for (at, _) in (0u32..).zip(counts).filter(|(_, count)| **count > 0) {
        match runs.last_mut() {
            Some(last) if at - (last.first + last.count) <= GAP => last.count = at + 1 - last.first,
            _ => runs.push(Blocks {
                first: at,
                count: 1,
            }),
        }
    }
    if runs.len() > COPIES_MAX {
        runs = vec![Blocks {
            first: 0,
            count: counts.len() as u32,
        }];
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_states_comes_back() {
        let blocks = |first, count| Blocks { first, count };
        let mut counts = vec![0; 100];
        assert_eq!(with_states(&counts), []);
        counts[3] = 1;
        counts[3 + 1 + GAP as usize] = 5;
        counts[99] = 2;
        assert_eq!(with_states(&counts), [blocks(3, 2 + GAP), blocks(99, 1)]);
        let many: Vec<u16> = (0..COPIES_MAX * 20 + 20)
            .map(|k| u16::from(k % 20 == 0))
            .collect();
        assert_eq!(with_states(&many), [blocks(0, many.len() as u32)]);
    }
}
