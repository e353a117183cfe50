//! Blocks of rows: lengths, words and states.

use super::compose::{Composer, Group};
use super::drawn::Rows;
use super::philox::{self, LANES};
use super::rules::Automaton;
use super::spec::{ScrambleError, Shape, WalkSpec};
use super::vectors::{Job, Vectors};
use crate::perm::Perm;
use crate::puzzle::Puzzle;

/// Rows of a block where walks are not very long.
pub const BLOCK_ROWS: usize = 1024;
/// Moves of a block, at most, where they are.
const BLOCK_MOVES: usize = 1 << 20;

/// The walks of a puzzle, ready to be drawn. Immutable and shareable between threads.
pub struct Walks {
    spec: WalkSpec,
    automaton: Automaton,
    composer: Composer,
    vectors: Vectors,
    degree: usize,
    /// Moves that are drawn for a row, at most.
    stride: usize,
}

/// Some successive rows; its memory is used again by the next call.
#[derive(Debug, Clone, Default)]
pub struct Block {
    /// Moves between root and state of every row.
    pub depths: Vec<u32>,
    /// `states[row * n * cell_bytes ..]`: the labels of a row, little-endian.
    pub states: Vec<u8>,
    pub(super) words: Vec<u16>,
    stride: usize,
    extra: usize,
    first_draws: Vec<[u32; 4]>,
    order: Vec<u32>,
}

impl Block {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.depths.len()
    }

    /// The moves from the root to the state of a row, as generator numbers.
    pub fn word(&self, row: usize) -> &[u16] {
        self.view().word(row)
    }

    /// The move after them, where walks are cut at a pivot.
    pub fn next_move(&self, row: usize) -> Option<u16> {
        self.view().next_move(row)
    }

    /// All rows; nothing has been derived from them.
    pub fn view(&self) -> Rows<'_> {
        Rows {
            depths: &self.depths,
            states: &self.states,
            words: Some(&self.words),
            stride: self.stride,
            extra: self.extra,
            keys: None,
            children: None,
            solved: None,
            encoded: None,
        }
    }
}

/// One call of [`Walks::fill`].
struct Fill<'a> {
    walks: &'a Walks,
    first_row: u64,
    rows: usize,
    block: &'a mut Block,
}

impl Job for Fill<'_> {
    #[inline(always)]
    fn run(self) {
        let Fill {
            walks,
            first_row,
            rows,
            block,
        } = self;
        walks.draw_lengths(first_row, rows, block);
        walks.sort_by_length(block);
        let order = std::mem::take(&mut block.order);
        for group in order.chunks(LANES) {
            walks.draw_words(first_row, group, block);
        }
        block.order = order;
    }
}

impl Walks {
    /// Checks `spec` and makes the tables. Walks start at the first root.
    ///
    /// # Errors
    /// See [`ScrambleError`].
    pub fn new(puzzle: &Puzzle, spec: &WalkSpec) -> Result<Walks, ScrambleError> {
        Walks::with(puzzle, spec, Vectors::detect())
    }

    /// The same rows by instructions that every processor has.
    ///
    /// # Errors
    /// See [`ScrambleError`].
    pub fn portable(puzzle: &Puzzle, spec: &WalkSpec) -> Result<Walks, ScrambleError> {
        Walks::with(puzzle, spec, Vectors::none())
    }

    fn with(puzzle: &Puzzle, spec: &WalkSpec, vectors: Vectors) -> Result<Walks, ScrambleError> {
        spec.shape.check()?;
        let cell_bytes = if puzzle.roots().iter().any(|r| r.iter().any(|&l| l > 255)) {
            2
        } else {
            1
        };
        let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
        Ok(Walks {
            spec: *spec,
            automaton: Automaton::build(puzzle, spec.rules, spec.shape.max_depth())?,
            composer: Composer::new(
                puzzle.degree(),
                &moves,
                &puzzle.roots()[0],
                cell_bytes,
                vectors,
            )?,
            vectors,
            degree: puzzle.degree(),
            stride: spec.shape.max_depth() as usize,
        })
    }

    /// What was asked.
    pub fn spec(&self) -> &WalkSpec {
        &self.spec
    }

    /// The rules as an automaton.
    pub fn automaton(&self) -> &Automaton {
        &self.automaton
    }

    /// Bytes of a label in states: 1 or 2.
    pub fn cell_bytes(&self) -> usize {
        self.composer.cell_bytes()
    }

    /// Bytes of a state.
    pub fn state_bytes(&self) -> usize {
        self.degree * self.cell_bytes()
    }

    /// Bytes of the tables, about.
    pub fn table_bytes(&self) -> u64 {
        self.composer.table_bytes()
    }

    /// Moves that are drawn for a row, at most.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Rows that are best drawn at once.
    pub fn block_rows(&self) -> usize {
        (BLOCK_MOVES / self.stride.max(self.state_bytes())).clamp(LANES, BLOCK_ROWS)
    }

    /// The counter of a row, and its depth where the shape says it.
    fn stream(&self, row: u64) -> (u64, Option<u32>) {
        match self.spec.shape {
            Shape::Trajectory {
                min_depth,
                max_depth,
            } => {
                let prefixes = u64::from(max_depth - min_depth) + 1;
                (row / prefixes, Some(min_depth + (row % prefixes) as u32))
            }
            _ => (row, None),
        }
    }

    /// Fills `block` with the rows `first_row .. first_row + rows`. Rows beyond 2^64 begin again at 0.
    pub fn fill(&self, first_row: u64, rows: usize, block: &mut Block) {
        block.stride = self.stride;
        block.extra = self.spec.shape.extra() as usize;
        block.words.resize(rows * self.stride, 0);
        block.states.resize(rows * self.state_bytes(), 0);
        self.vectors.run(Fill {
            walks: self,
            first_row,
            rows,
            block,
        });
    }

    /// Depths, and the first four draws of every row.
    #[inline(always)]
    fn draw_lengths(&self, first_row: u64, rows: usize, block: &mut Block) {
        block.depths.clear();
        block.first_draws.clear();
        let (low, high) = self.spec.shape.depths();
        let range = high - low + 1;
        for from in (0..rows).step_by(LANES) {
            let mut streams = [0; LANES];
            let mut depths = [None; LANES];
            for lane in 0..LANES {
                let row = first_row.wrapping_add((from + lane) as u64);
                (streams[lane], depths[lane]) = self.stream(row);
            }
            let words = philox::words(self.spec.seed, &streams, 0);
            for lane in 0..LANES.min(rows - from) {
                let draws = [0, 1, 2, 3].map(|k| words[k][lane]);
                let drawn = low + philox::below(draws[0], range);
                block.depths.push(depths[lane].unwrap_or(drawn));
                block.first_draws.push(draws);
            }
        }
    }

    /// Rows of one length next to each other, so that those drawn together end together.
    fn sort_by_length(&self, block: &mut Block) {
        let (low, high) = self.spec.shape.depths();
        let rows = block.depths.len();
        block.order.clear();
        if low == high {
            block.order.extend(0..rows as u32);
        } else if high - low < 4096 {
            let mut ends = vec![0u32; (high - low) as usize + 2];
            for &d in &block.depths {
                ends[(d - low) as usize + 1] += 1;
            }
            for k in 1..ends.len() {
                ends[k] += ends[k - 1];
            }
            block.order.resize(rows, 0);
            for (row, &d) in block.depths.iter().enumerate() {
                let place = &mut ends[(d - low) as usize];
                block.order[*place as usize] = row as u32;
                *place += 1;
            }
        } else {
            block.order.extend(0..rows as u32);
            let depths = &block.depths;
            block.order.sort_by_key(|&row| depths[row as usize]);
        }
    }

    /// The words and states of up to [`LANES`] rows, in ascending order of length. Every row gets as many moves as the longest;
    /// those beyond its end are not looked at.
    #[inline(always)]
    fn draw_words(&self, first_row: u64, group: &[u32], block: &mut Block) {
        let Some(&longest) = group.last() else {
            return;
        };
        let moves = block.depths[longest as usize] as usize + block.extra;
        let mut rows = [longest as usize; LANES];
        for (lane, &row) in group.iter().enumerate() {
            rows[lane] = row as usize;
        }
        let streams = rows.map(|row| self.stream(first_row.wrapping_add(row as u64)).0);
        let mut words = [[0; LANES]; 4];
        for lane in 0..LANES {
            let draws = block.first_draws[rows[lane]];
            for k in 0..4 {
                words[k][lane] = draws[k];
            }
        }
        let mut steps = [self.automaton.start(); LANES];
        let starts = rows.map(|row| row * self.stride);
        for t in 0..moves {
            let draw = t + 1;
            if draw % 4 == 0 {
                words = philox::words(self.spec.seed, &streams, (draw / 4) as u32);
            }
            let draws = &words[draw % 4];
            for lane in 0..LANES {
                let k = philox::below(draws[lane], steps[lane].allowed());
                steps[lane] = self.automaton.choose(steps[lane], k);
                block.words[starts[lane] + t] = steps[lane].chosen();
            }
        }
        let group = Group {
            rows: &rows,
            count: group.len(),
            lengths: &rows.map(|row| block.depths[row] as usize),
            words: &block.words,
            stride: self.stride,
        };
        self.composer.states(&group, &mut block.states);
    }
}
