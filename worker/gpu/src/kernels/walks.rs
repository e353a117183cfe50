//! Rows of scrambles: their moves (`draw.wgsl`), the states after them (`walk.wgsl`), and what follows from these
//! (`derived.rs`). All of it stays on the device until the rows of a block are made.

use super::derived::{Cells, Derived};
use super::room::Room;
use super::{Kernels, blocks};
use crate::error::GpuError;
use crate::pace::Pace;
use crate::vulkan::Buffer;
use antipode_solver_core::perm::Perm;
use antipode_solver_core::puzzle::Puzzle;
use antipode_solver_core::scramble::spec::{Shape, WalkSpec};
use antipode_solver_core::scramble::table::Loaded;
use antipode_solver_core::scramble::{Drawn, ScramblesSpec, Wanted};
use std::ops::Range;
use std::sync::Arc;

/// Operations of one of Philox's blocks and the four moves that it is for, about.
const OPERATIONS_A_MOVE: u64 = 128;
/// The table has a row for every two moves where it is no larger: what first caches hold.
const JOINED_BYTES: u64 = 128 << 10;

/// The rows of a job of scrambles, ready to be made on a device.
pub struct DeviceRows {
    kernels: Arc<Kernels>,
    loaded: Arc<Loaded>,
    wanted: Wanted,
    spec: WalkSpec,
    /// The situation before the first move.
    start: [u32; 2],
    cells: Cells,
    /// As of [`antipode_solver_core::scramble::Walks`].
    stride: usize,
    entries: Buffer,
    steps: Buffer,
    /// Is there a row for every two moves?
    joined: bool,
    moves: usize,
    root: Buffer,
    paces: [Pace; 2],
    depths: Room,
    words: Room,
    states: Room,
    derived: Vec<Derived>,
}

impl Kernels {
    /// Brings the tables of a job to the device. `loaded` is of `spec`.
    ///
    /// # Errors
    /// A table that is larger than a buffer, and those of the device.
    pub fn scrambles(
        self: &Arc<Self>,
        spec: &ScramblesSpec,
        loaded: &Arc<Loaded>,
    ) -> Result<DeviceRows, GpuError> {
        let (puzzle, walks) = (&spec.puzzle, &loaded.walks);
        let cells = Cells {
            degree: puzzle.degree(),
            bytes: walks.cell_bytes(),
        };
        let entries = walks.automaton().entries();
        let entries: Vec<u32> = entries.iter().flat_map(|step| step.packed()).collect();
        self.rows_that_fit("the table of moves", 4 * entries.len() as u64)?;
        let root = puzzle.roots()[0].iter();
        let root: Vec<u32> = root.map(|&label| u32::from(label)).collect();
        self.rows_that_fit("the root", 4 * root.len() as u64)?;
        let most = self.device.max_buffer_bytes().min(JOINED_BYTES);
        let (steps, joined) = steps(puzzle, most);
        self.rows_that_fit("the generators", 4 * steps.len() as u64)?;
        let wanted = Wanted::of(spec);
        let stride = walks.stride();
        Ok(DeviceRows {
            kernels: Arc::clone(self),
            loaded: Arc::clone(loaded),
            wanted,
            spec: *walks.spec(),
            start: walks.automaton().start().packed(),
            cells,
            stride,
            entries: self.upload(&entries)?,
            steps: self.upload(&steps)?,
            joined,
            moves: puzzle.generators().len(),
            root: self.upload(&root)?,
            paces: [
                Pace::new(OPERATIONS_A_MOVE * stride as u64),
                Pace::new((8 * cells.words() * stride) as u64),
            ],
            depths: Room::new(),
            words: Room::new(),
            states: Room::new(),
            derived: self.derived(puzzle, loaded, wanted, cells)?,
        })
    }
}

/// Where positions come from, for every two moves or for every one, and which of both; the move behind the last one
/// changes nothing. Those for two take no more than `most` bytes.
fn steps(puzzle: &Puzzle, most: u64) -> (Vec<u32>, bool) {
    let degree = puzzle.degree();
    let none = Perm::identity(degree);
    let moves = puzzle.generators().iter().map(|g| &g.perm);
    let moves: Vec<&Perm> = moves.chain([&none]).collect();
    let joined = (4 * degree * moves.len() * moves.len()) as u64 <= most;
    let table = match joined {
        true => moves
            .iter()
            .flat_map(|a| moves.iter().map(move |b| (a, b)))
            .flat_map(|(a, b)| (0..degree).map(|i| a.at(b.at(i)) as u32))
            .collect(),
        false => moves
            .iter()
            .flat_map(|a| a.images().iter().map(|&point| u32::from(point)))
            .collect(),
    };
    (table, joined)
}

/// Successive rows whose counters do not pass the end of 64 bits.
struct Block {
    first: u64,
    count: usize,
}

impl DeviceRows {
    /// The rows `first_row .. first_row + rows`, the same as by [`Loaded::drawn`], with what the job's columns need. Rows
    /// beyond 2^64 begin again at 0.
    ///
    /// # Errors
    /// Rows too long for a buffer, and those of the device.
    pub fn draw(&mut self, first_row: u64, rows: usize) -> Result<Drawn, GpuError> {
        let mut out = Drawn {
            words: self.wanted.moves.then(Vec::new),
            ..Drawn::default()
        };
        self.derived.iter().for_each(|each| each.begin(&mut out));
        for block in self.blocks(first_row, rows)? {
            self.compute_block(&block)?;
            self.bring_back(block.count, &mut out)?;
        }
        Ok(out)
    }

    /// Makes the rows and leaves them on the device: what a measurement of the kernels alone calls.
    ///
    /// # Errors
    /// As [`DeviceRows::draw`].
    pub fn compute(&mut self, first_row: u64, rows: usize) -> Result<(), GpuError> {
        let blocks = self.blocks(first_row, rows)?;
        blocks
            .iter()
            .try_for_each(|block| self.compute_block(block))
    }

    /// The kernels that draw.
    pub fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// The tables of the processor, and what is wanted of rows.
    pub fn twin(&self) -> (&Loaded, Wanted) {
        (&self.loaded, self.wanted)
    }

    /// Words of moves a row has on the device.
    fn pairs(&self) -> usize {
        self.stride.div_ceil(2)
    }

    /// The rows, cut to what every buffer takes.
    fn blocks(&self, first_row: u64, rows: usize) -> Result<Vec<Block>, GpuError> {
        let fits = |what, words| self.kernels.rows_that_fit(what, 4 * words as u64);
        let mut most = fits("a walk", self.pairs())?.min(fits("a state", self.cells.words())?);
        for each in &self.derived {
            most = most.min(fits("what follows from a state", each.row_words())?);
        }
        // 2^64 - first_row, which is 2^64 for the first one.
        let to_the_end = match first_row.wrapping_neg() {
            0 => usize::MAX,
            left => usize::try_from(left).unwrap_or(usize::MAX),
        };
        let before = rows.min(to_the_end);
        let cut = |first: u64, rows: usize| {
            blocks(rows, most).map(move |range: Range<usize>| Block {
                first: first + range.start as u64,
                count: range.len(),
            })
        };
        Ok(cut(first_row, before)
            .chain(cut(0, rows - before))
            .collect())
    }

    fn compute_block(&mut self, block: &Block) -> Result<(), GpuError> {
        let shape = self.shape(block);
        let (count, pairs) = (block.count, self.pairs());
        let kernels = &self.kernels;
        let device = kernels.device();
        let depths = self.depths.made.make(device, count)?;
        let words = self.words.made.make(device, count * pairs)?;
        let cells = self.cells;
        let states = self.states.made.make(device, count * cells.words())?;
        let [draw_pace, walk_pace] = &mut self.paces;
        kernels.dispatch(
            &kernels.draw,
            &[&self.entries, depths, words],
            count as u64,
            1,
            draw_pace,
            |first, rows| [&shape[..], &[pairs as u32, first, rows]].concat(),
        )?;
        let shape = [
            cells.degree as u32,
            cells.words() as u32,
            cells.shift(),
            pairs as u32,
            self.moves as u32,
            u32::from(self.joined),
        ];
        kernels.dispatch(
            &kernels.walk,
            &[&self.steps, &self.root, depths, words, states],
            count as u64,
            cells.words() as u64,
            walk_pace,
            |first, rows| [&shape[..], &[first, rows]].concat(),
        )?;
        let mut derived = self.derived.iter_mut();
        derived.try_for_each(|each| each.compute(kernels, states, count))
    }

    /// Puts the rows of the last block behind those that are there.
    fn bring_back(&mut self, count: usize, out: &mut Drawn) -> Result<(), GpuError> {
        let (pairs, cells) = (self.pairs(), self.cells);
        let device = self.kernels.device();
        let mut copies = vec![
            self.depths.copy(device, count)?,
            self.states.copy(device, count * cells.words())?,
        ];
        if self.wanted.moves {
            copies.push(self.words.copy(device, count * pairs)?);
        }
        for each in &mut self.derived {
            copies.push(each.copy(device, count)?);
        }
        let copies: Vec<_> = copies.into_iter().flatten().collect();
        device.run(&copies)?;
        let begin = out.depths.len();
        out.depths.resize(begin + count, 0);
        if let Some(back) = self.depths.back.get() {
            back.read(&mut out.depths[begin..])?;
        }
        if let Some(back) = self.states.back.get() {
            let bytes = cells.degree * cells.bytes;
            back.read_rows(count, cells.words(), bytes, &mut out.states)?;
        }
        if let (Some(words), Some(back)) = (&mut out.words, self.words.back.get()) {
            let mut moves = vec![0; count * pairs];
            back.read(&mut moves)?;
            for row in moves.chunks_exact(pairs.max(1)) {
                let letters = row
                    .iter()
                    .flat_map(|&pair| [pair as u16, (pair >> 16) as u16]);
                words.extend(letters.take(self.stride));
            }
        }
        self.derived
            .iter()
            .try_for_each(|each| each.read(count, out))
    }

    /// The first twelve immediates of `draw.wgsl`.
    fn shape(&self, block: &Block) -> [u32; 12] {
        let spec = &self.spec;
        let (least, largest) = spec.shape.depths();
        let depths = largest - least + 1;
        let is_prefix = matches!(spec.shape, Shape::Trajectory { .. });
        let prefixes = if is_prefix { depths } else { 1 };
        let stream = block.first / u64::from(prefixes);
        let before = (block.first % u64::from(prefixes)) as u32;
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
