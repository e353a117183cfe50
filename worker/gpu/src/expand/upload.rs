//! Sets on their way to the device: bits in pieces, each sent while the next one is written and other work goes on;
//! positions at once, to be made bits there.

use super::Staging;
use super::resident::{Residents, Set};
use crate::error::GpuError;
use crate::kernels::Kernels;
use crate::vulkan::{Lane, Pending, Run, Step};
use antipode_solver_core::bfs::frontier::{Frontier, FrontierId, ShardGeometry, View};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The sets of a level that are on the device by now.
pub(super) type Here = HashMap<FrontierId, Arc<Set>>;

/// Bytes that go to the device for a set.
pub(super) fn bytes(set: &Frontier) -> u64 {
    match set.view() {
        View::Empty => 0,
        View::Positions(positions) => 4 * positions.len() as u64,
        View::Bits { words, .. } => 8 * words.len() as u64,
    }
}

/// The sets of a level, and how those that are not on the device come there, one after the other.
pub(super) struct Arrivals<'a> {
    here: Here,
    coming: VecDeque<&'a Frontier>,
    current: Option<Upload<'a>>,
}

impl<'a> Arrivals<'a> {
    pub fn new(
        residents: &mut Residents,
        wanted: impl Iterator<Item = &'a Frontier>,
    ) -> Arrivals<'a> {
        let mut here = Here::new();
        let mut coming: VecDeque<&Frontier> = VecDeque::new();
        for set in wanted {
            if let Some(there) = residents.get(set.id()) {
                here.insert(set.id(), there);
            } else if !coming.iter().any(|other| other.id() == set.id()) {
                coming.push_back(set);
            }
        }
        Arrivals {
            here,
            coming,
            current: None,
        }
    }

    /// What is there.
    pub fn here(&self) -> &Here {
        &self.here
    }

    pub fn is_here(&self, set: &Frontier) -> bool {
        self.here.contains_key(&set.id())
    }

    /// Is everything there?
    pub fn are_over(&self) -> bool {
        self.current.is_none() && self.coming.is_empty()
    }

    /// One step further, if there is one.
    pub fn step(
        &mut self,
        residents: &mut Residents,
        kernels: &Kernels,
        staging: &mut Staging,
    ) -> Result<(), GpuError> {
        let mut upload = match (self.current.take(), self.coming.pop_front()) {
            (Some(upload), next) => {
                next.into_iter().for_each(|set| self.coming.push_front(set));
                upload
            }
            (None, Some(frontier)) => {
                let to = residents.room(kernels, frontier.geometry())?;
                Upload::new(frontier, to)
            }
            (None, None) => return Ok(()),
        };
        if upload.step(kernels, staging)? {
            let id = upload.frontier.id();
            residents.keep(id, Arc::clone(&upload.to));
            self.here.insert(id, upload.to);
        } else {
            self.current = Some(upload);
        }
        Ok(())
    }
}

/// A set that is being sent.
struct Upload<'a> {
    frontier: &'a Frontier,
    to: Arc<Set>,
    /// Words that are sent.
    sent: usize,
    /// The submission that uses each of the staging buffers.
    pending: [Option<Pending>; 2],
}

impl<'a> Upload<'a> {
    fn new(frontier: &'a Frontier, to: Arc<Set>) -> Upload<'a> {
        Upload {
            frontier,
            to,
            sent: 0,
            pending: [None, None],
        }
    }

    /// Sends one more piece; true: everything is there.
    fn step(&mut self, kernels: &Kernels, staging: &mut Staging) -> Result<bool, GpuError> {
        match self.frontier.view() {
            View::Empty => {
                clear(kernels, &self.to)?;
                Ok(true)
            }
            View::Positions(positions) => {
                clear(kernels, &self.to)?;
                scatter(kernels, staging, positions, &self.to)?;
                count(kernels, &self.to, self.frontier.geometry())?;
                Ok(true)
            }
            View::Bits { words, .. } => self.piece(kernels, staging, words),
        }
    }

    fn piece(
        &mut self,
        kernels: &Kernels,
        staging: &mut Staging,
        words: &[u64],
    ) -> Result<bool, GpuError> {
        let device = kernels.device();
        if self.sent == words.len() {
            for pending in self.pending.iter_mut().filter_map(Option::take) {
                pending.wait()?;
            }
            count(kernels, &self.to, self.frontier.geometry())?;
            return Ok(true);
        }
        let most = staging.up[0].words() / 2;
        let turn = self.sent / most % 2;
        if let Some(pending) = self.pending[turn].take() {
            pending.wait()?;
        }
        let piece = &words[self.sent..words.len().min(self.sent + most)];
        staging.up[turn].write_pairs(piece)?;
        let runs = [Run {
            from: 0,
            to: 2 * self.sent,
            words: 2 * piece.len(),
        }];
        let copy = Step::CopyRuns {
            from: &staging.up[turn],
            to: &self.to.bits,
            runs: &runs,
        };
        self.pending[turn] = Some(device.begin(Lane::Copies, &[copy])?);
        self.sent += piece.len();
        Ok(false)
    }
}

fn clear(kernels: &Kernels, set: &Set) -> Result<(), GpuError> {
    let [bits, counts] = [&set.bits, &set.counts].map(|buffer| Step::Clear { buffer });
    kernels.device().run(&[bits, counts])
}

fn scatter(
    kernels: &Kernels,
    staging: &mut Staging,
    positions: &[u32],
    set: &Set,
) -> Result<(), GpuError> {
    for piece in positions.chunks(staging.positions.words()) {
        staging.up[0].write(piece)?;
        kernels.device().run(&[
            Step::Copy {
                from: &staging.up[0],
                to: &staging.positions,
                words: piece.len(),
            },
            Step::Dispatch {
                pipeline: &kernels.expand.scatter,
                buffers: &[&staging.positions, &set.bits],
                immediates: &[piece.len() as u32],
                threads: piece.len() as u64,
            },
        ])?;
    }
    Ok(())
}

fn count(kernels: &Kernels, set: &Set, geometry: ShardGeometry) -> Result<(), GpuError> {
    let pipeline = &kernels.expand.count;
    // A shard of small superblocks has more of them than a dispatch may have threads.
    let most = u32::try_from(pipeline.max_threads()).unwrap_or(u32::MAX);
    let mut first = 0;
    while first < geometry.blocks {
        let blocks = most.min(geometry.blocks - first);
        kernels.device().run(&[Step::Dispatch {
            pipeline,
            buffers: &[&set.bits, &set.counts],
            immediates: &[geometry.words, first, blocks],
            threads: u64::from(blocks),
        }])?;
        first += blocks;
    }
    Ok(())
}
