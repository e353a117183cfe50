//! Which dispatches a run of superblocks takes.

use super::resident::Set;
use super::tables::{BlockTables, Inner, StateTables, Tables};
use super::upload::Here;
use crate::error::GpuError;
use crate::kernels::Kernels;
use crate::vulkan::{Buffer, Lane, Pending, Pipeline, Run, Step};
use antipode_solver_core::bfs::device::{DeviceTables, DeviceTask, InnerView};
use antipode_solver_core::bfs::frontier::{Frontier, ShardGeometry};
use antipode_solver_core::engine::ShardId;

/// Operations of one superblock and move, about.
pub(super) fn operations(tables: &DeviceTables<'_>) -> u64 {
    match tables {
        DeviceTables::Blocks(view) => {
            let a_word = match view.inner {
                InnerView::Leaf { .. } => 130,
                InnerView::Row { .. } => 64 * 8,
            };
            (view.words * a_word) as u64
        }
        DeviceTables::States(view) => view.words as u64 * 64 * 8,
    }
}

/// Moves of a space.
pub(super) fn moves(tables: &DeviceTables<'_>) -> usize {
    match tables {
        DeviceTables::Blocks(view) => view.moves,
        DeviceTables::States(view) => view.tables.len(),
    }
}

/// One source shard that has states, and the moves that lead from it.
pub(super) struct Group<'a> {
    pub frontier: &'a Frontier,
    pub shard: ShardId,
    pub moves: Vec<u32>,
}

/// The sources of a task, each once.
pub(super) fn groups<'a>(task: &DeviceTask<'a>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (&(shard, frontier), number) in task.sources.iter().zip(0..) {
        if frontier.count() == 0 {
            continue;
        }
        match groups.iter_mut().find(|group| group.shard == shard) {
            Some(group) => group.moves.push(number),
            None => groups.push(Group {
                frontier,
                shard,
                moves: vec![number],
            }),
        }
    }
    groups
}

/// A run of superblocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blocks {
    pub first: u32,
    pub count: u32,
}

/// A dispatch, before it is a step.
pub(super) struct Call<'a> {
    pipeline: &'a Pipeline,
    buffers: Vec<&'a Buffer>,
    immediates: Vec<u32>,
    threads: u64,
}

/// Begins calls, and a copy after them.
pub(super) fn begin(
    kernels: &Kernels,
    calls: &[Call<'_>],
    copy: Option<(&Buffer, &Buffer, Run)>,
) -> Result<Pending, GpuError> {
    let mut steps: Vec<Step<'_>> = calls
        .iter()
        .map(|call| Step::Dispatch {
            pipeline: call.pipeline,
            buffers: &call.buffers,
            immediates: &call.immediates,
            threads: call.threads,
        })
        .collect();
    let runs = copy.map(|(_, _, run)| [run]);
    if let (Some((from, to, _)), Some(runs)) = (copy, &runs) {
        steps.push(Step::CopyRuns { from, to, runs });
    }
    kernels.device().begin(Lane::Compute, &steps)
}

/// What stands still during a level.
pub(super) struct Scene<'a> {
    pub kernels: &'a Kernels,
    pub tables: &'a Tables,
    pub masks: &'a Buffer,
    pub origins: &'a Buffer,
    pub geometry: ShardGeometry,
    pub shard: ShardId,
    pub made: &'a Set,
    /// What is taken away; `None`: nothing.
    pub own: Option<&'a Set>,
    pub seen: Option<&'a Set>,
    pub seen_grows: bool,
    /// 64-bit words that are brought back at once.
    pub staged_words: usize,
}

impl<'a> Scene<'a> {
    /// The most superblocks of a run in which `moves` moves gather.
    pub fn most_blocks(&self, moves: usize) -> u64 {
        let threads = self.kernels.expand.merge.max_threads();
        let by_threads = threads / u64::from(self.geometry.words);
        let by_origins = self.origins.words() / (2 * moves.max(1));
        let by_staging = self.staged_words / self.geometry.words as usize;
        by_threads.min(by_origins.min(by_staging) as u64).max(1)
    }

    /// How many moves each superblock of a run asks when it gathers from these groups: what its work is counted in.
    pub fn moves(&self, groups: &[Group<'_>]) -> usize {
        match self.tables {
            Tables::Blocks(_) => groups.iter().map(|group| group.moves.len()).sum(),
            // Every source shard is asked for all of them.
            Tables::States(tables) => groups.len() * tables.tables.len(),
        }
    }

    /// What groups bring to a run. `begins`: nothing was brought to it before.
    pub fn gather(
        &self,
        groups: &[Group<'_>],
        here: &'a Here,
        run: Blocks,
        begins: bool,
    ) -> Vec<Call<'a>> {
        let mut calls = Vec::new();
        let mut moves = 0;
        let mut begins = begins;
        for group in groups {
            let Some(source) = here.get(&group.frontier.id()) else {
                continue;
            };
            match self.tables {
                Tables::Blocks(tables) => {
                    self.blocks(tables, group, source, (run, moves), begins, &mut calls);
                }
                Tables::States(tables) => {
                    self.states(tables, group, source, run, begins, &mut calls);
                }
            }
            moves += group.moves.len() as u32;
            begins = false;
        }
        calls
    }

    fn blocks(
        &self,
        tables: &'a BlockTables,
        group: &Group<'_>,
        source: &'a Set,
        (run, moves_before): (Blocks, u32),
        begins: bool,
        calls: &mut Vec<Call<'a>>,
    ) {
        let local = self.shard.0 % tables.shards;
        let start = moves_before * run.count;
        for (k, number) in (0..).zip(&group.moves) {
            calls.push(Call {
                pipeline: &self.kernels.expand.origins,
                buffers: vec![
                    &tables.digits,
                    &tables.steps,
                    &tables.entries,
                    &source.counts,
                    self.origins,
                ],
                immediates: vec![
                    local * tables.moves as u32 + number,
                    tables.digit_count,
                    run.first,
                    run.count,
                    start + k * run.count,
                ],
                threads: u64::from(run.count),
            });
        }
        let moves = group.moves.len() as u32;
        let begins = u32::from(begins);
        let words = self.geometry.words;
        let threads = u64::from(run.count) * u64::from(words);
        calls.push(match &tables.inner {
            Inner::Leaf {
                rows,
                masks,
                kappas,
            } => Call {
                pipeline: &self.kernels.expand.leaf,
                buffers: vec![self.origins, rows, masks, &source.bits, &self.made.bits],
                immediates: vec![words, moves, run.first, run.count, start, begins, *kappas],
                threads,
            },
            Inner::Row { images, states } => Call {
                pipeline: &self.kernels.expand.row,
                buffers: vec![self.origins, images, &source.bits, &self.made.bits],
                immediates: vec![words, *states, moves, run.first, run.count, start, begins],
                threads,
            },
        });
    }

    fn states(
        &self,
        tables: &'a StateTables,
        group: &Group<'_>,
        source: &'a Set,
        run: Blocks,
        begins: bool,
        calls: &mut Vec<Call<'a>>,
    ) {
        let block = u64::from(self.geometry.words) * 64;
        let base = u64::from(self.shard.0) * tables.shard_states;
        let first = base + u64::from(run.first) * block;
        // Words beyond the last state are written too; a piece ends with a superblock.
        let end = first + u64::from(run.count) * block;
        let pieces = first / tables.piece_states..end.div_ceil(tables.piece_states);
        for piece in pieces {
            let piece_first = piece * tables.piece_states;
            let (from, to) = (
                first.max(piece_first),
                end.min(piece_first + tables.piece_states),
            );
            let words = (to - from) / 64;
            let mut begins = begins;
            for table in &tables.tables {
                calls.push(Call {
                    pipeline: &self.kernels.expand.lookup,
                    buffers: vec![
                        &table[piece as usize],
                        &source.bits,
                        self.own.map_or(self.masks, |set| &set.bits),
                        self.seen.map_or(self.masks, |set| &set.bits),
                        &self.made.bits,
                    ],
                    immediates: vec![
                        ((from - base) / 64) as u32,
                        words as u32,
                        base as u32,
                        tables.states as u32,
                        piece_first as u32,
                        (u64::from(group.shard.0) * tables.shard_states) as u32,
                        group.frontier.geometry().states as u32,
                        u32::from(begins),
                        u32::from(self.own.is_some()),
                        u32::from(self.seen.is_some()),
                    ],
                    threads: words,
                });
                begins = false;
            }
        }
    }

    /// What ends a run: what was seen is taken away, what is left is counted.
    pub fn settle(&self, run: Blocks) -> [Call<'a>; 2] {
        let words = self.geometry.words;
        let merge = Call {
            pipeline: &self.kernels.expand.merge,
            buffers: vec![
                self.masks,
                self.own.map_or(self.masks, |set| &set.bits),
                self.seen.map_or(self.origins, |set| &set.bits),
                &self.made.bits,
            ],
            immediates: vec![
                words,
                run.first * words,
                run.count * words,
                u32::from(self.own.is_some()),
                u32::from(self.seen.is_some()),
                u32::from(self.seen_grows),
            ],
            threads: u64::from(run.count) * u64::from(words),
        };
        let count = Call {
            pipeline: &self.kernels.expand.count,
            buffers: vec![&self.made.bits, &self.made.counts],
            immediates: vec![words, run.first, run.count],
            threads: u64::from(run.count),
        };
        [merge, count]
    }
}
