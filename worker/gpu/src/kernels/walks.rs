//! Rows of scrambles: their moves (`draw.wgsl`) and the states after them (`walk.wgsl`).

use super::rows::{pack, pairs, row_bytes};
use super::{Kernels, blocks};
use crate::error::GpuError;
use crate::pace::Pace;
use crate::vulkan::{Buffer, Place};
use antipode_solver_core::puzzle::Puzzle;
use antipode_solver_core::scramble::spec::{Shape, WalkSpec};
use antipode_solver_core::scramble::{Drawn, Walks};
use antipode_solver_core::states::States;
use std::sync::Arc;

/// Operations of one of Philox's blocks and the four steps that it is for, about.
const OPERATIONS_A_MOVE: u64 = 64;

/// The walks of a puzzle, ready to be drawn on a device.
pub struct DeviceWalks {
    kernels: Arc<Kernels>,
    spec: WalkSpec,
    /// The situation before the first move.
    start: [u32; 2],
    degree: usize,
    /// As of [`Walks`].
    stride: usize,
    cell_bytes: usize,
    entries: Buffer,
    generators: Buffer,
    root: Buffer,
}

/// Successive rows whose counters do not pass the end of 64 bits.
struct Rows {
    first: u64,
    count: usize,
}

impl Kernels {
    /// Brings the tables of `walks`, which are those of `puzzle`, to the device.
    ///
    /// # Errors
    /// A table that is larger than a buffer, and those of the device.
    pub fn walks(
        self: &Arc<Self>,
        puzzle: &Puzzle,
        walks: &Walks,
    ) -> Result<DeviceWalks, GpuError> {
        let degree = puzzle.degree();
        let mut generators = States::new(degree)?;
        for generator in puzzle.generators() {
            generators.push(generator.perm.images())?;
        }
        let entries = walks.automaton().entries();
        let entries: Vec<u32> = entries.iter().flat_map(|step| step.packed()).collect();
        self.rows_that_fit("the table of moves", 4 * entries.len() as u64)?;
        self.rows_that_fit("the root", 4 * degree as u64)?;
        self.rows_that_fit(
            "the generators",
            generators.len() as u64 * row_bytes(degree),
        )?;
        let root = puzzle.roots()[0].iter();
        let root: Vec<u32> = root.map(|&label| u32::from(label)).collect();
        Ok(DeviceWalks {
            kernels: Arc::clone(self),
            spec: *walks.spec(),
            start: walks.automaton().start().packed(),
            degree,
            stride: walks.stride(),
            cell_bytes: walks.cell_bytes(),
            entries: self.upload(&entries)?,
            generators: self.upload(&pack(&generators, 0..generators.len()))?,
            root: self.upload(&root)?,
        })
    }
}

impl DeviceWalks {
    /// The rows `first_row .. first_row + rows`, the same as by [`Walks::fill`]. Rows beyond 2^64 begin again at 0.
    ///
    /// # Errors
    /// Walks too long for a buffer, and those of the device.
    pub fn draw(&self, first_row: u64, rows: usize) -> Result<Drawn, GpuError> {
        let mut out = Drawn::default();
        let pair_words = self.stride.div_ceil(2);
        let most = self
            .kernels
            .rows_that_fit("a walk", 4 * pair_words as u64)?
            .min(
                self.kernels
                    .rows_that_fit("a state", 4 * self.state_words() as u64)?,
            );
        let mut paces = [
            Pace::new(OPERATIONS_A_MOVE * self.stride as u64),
            Pace::new((8 * self.state_words() * self.stride) as u64),
        ];
        // 2^64 - first_row, which is 2^64 for the first one.
        let to_the_end = match first_row.wrapping_neg() {
            0 => usize::MAX,
            left => usize::try_from(left).unwrap_or(usize::MAX),
        };
        let before = rows.min(to_the_end);
        for (first, count) in [(first_row, before), (0, rows - before)] {
            for block in blocks(count, most) {
                let rows = Rows {
                    first: first + block.start as u64,
                    count: block.len(),
                };
                self.block(&rows, &mut paces, &mut out)?;
            }
        }
        Ok(out)
    }

    /// The kernels that draw.
    pub fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    fn state_words(&self) -> usize {
        (self.degree * self.cell_bytes).div_ceil(4)
    }

    fn block(
        &self,
        rows: &Rows,
        [draw_pace, walk_pace]: &mut [Pace; 2],
        out: &mut Drawn,
    ) -> Result<(), GpuError> {
        let kernels = &self.kernels;
        let device = kernels.device();
        let count = rows.count;
        let stride = self.stride;
        let depths = device.buffer(count, Place::Device)?;
        let moves = device.buffer(count * stride.div_ceil(2), Place::Device)?;
        let states = device.buffer(count * self.state_words(), Place::Device)?;
        let shape = self.shape(rows);
        kernels.dispatch(
            &kernels.draw,
            &[&self.entries, &depths, &moves],
            count as u64,
            1,
            draw_pace,
            |first, rows| [&shape[..], &[count as u32, first, rows]].concat(),
        )?;
        let labels = 4 / self.cell_bytes;
        let shape = [pairs(self.degree), self.degree, self.state_words(), labels];
        let shape = shape.map(|n| n as u32);
        kernels.dispatch(
            &kernels.walk,
            &[&self.generators, &self.root, &depths, &moves, &states],
            count as u64,
            self.state_words() as u64,
            walk_pace,
            |first, rows| [&shape[..], &[first, rows]].concat(),
        )?;
        let depths = kernels.download(&depths, count)?;
        let moves = kernels.download(&moves, count * stride.div_ceil(2))?;
        let states = kernels.download(&states, count * self.state_words())?;
        for (row, &depth) in depths.iter().enumerate() {
            let drawn = (depth + self.spec.shape.extra()) as usize;
            let letter = |t: usize| match t < drawn.min(stride) {
                true => (moves[(t >> 1) * count + row] >> ((t & 1) * 16)) as u16,
                false => 0,
            };
            out.words.extend((0..stride).map(letter));
        }
        let bytes = self.degree * self.cell_bytes;
        for state in states.chunks_exact(self.state_words()) {
            let state = state.iter().flat_map(|word| word.to_le_bytes());
            out.states.extend(state.take(bytes));
        }
        out.depths.extend(depths);
        Ok(())
    }

    /// The first twelve immediates of `draw.wgsl`.
    fn shape(&self, rows: &Rows) -> [u32; 12] {
        let spec = &self.spec;
        let (least, largest) = spec.shape.depths();
        let depths = largest - least + 1;
        let is_prefix = matches!(spec.shape, Shape::Trajectory { .. });
        let prefixes = if is_prefix { depths } else { 1 };
        let stream = rows.first / u64::from(prefixes);
        let before = (rows.first % u64::from(prefixes)) as u32;
        let start = self.start;
        [
            spec.seed as u32,
            (spec.seed >> 32) as u32,
            stream as u32,
            (stream >> 32) as u32,
            before,
            prefixes,
            least,
            depths,
            u32::from(is_prefix),
            spec.shape.extra(),
            start[0],
            start[1],
        ]
    }
}
