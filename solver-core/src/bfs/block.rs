//! What chain and product spaces have in common: the state number is a mixed-radix number whose
//! leading digits move through small tables, whole superblocks at a time, and whose last part (a
//! superblock) is permuted word by word or bit by bit.
//!
//! Every digit has a table `(element, x) -> (x', element')`: multiplying the digit `x` by `element`
//! gives the digit `x'`, and what is left acts on the digits after it as `element'`. Elements are
//! numbered per digit; a move enters at digit 0 under its own number. In a product space the
//! element is the move itself for every digit.

use crate::bfs::device::{BlockTablesView, DigitView};
use crate::bfs::frontier::ShardGeometry;
use crate::bfs::kernel::BlockTables;
use crate::terms::ShardId;

/// Largest number of digits, so that walks can keep them on the stack.
pub(crate) const DIGITS_MAX: usize = 60;

/// Which way a sweep goes: along the moves, or along their inverses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// The other one.
    pub fn opposite(self) -> Direction {
        match self {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        }
    }
}

/// `(x', element')` for one `(element, x)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub to: u32,
    pub element: u32,
}

/// The table of one digit.
#[derive(Debug, Clone)]
pub(crate) struct Digit {
    /// Number of values.
    pub len: u32,
    /// `steps[element * len + x]`.
    pub steps: Vec<Step>,
}

impl Digit {
    #[inline(always)]
    pub fn step(&self, element: u32, x: u32) -> Step {
        self.steps[element as usize * self.len as usize + x as usize]
    }
}

/// Where a shard's superblocks come from (or go to) under one move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub shard: u32,
    /// Element that acts on the digits after the prefix.
    pub element: u32,
}

/// Digit tables, superblock tables and shard geometry.
pub(crate) struct Blocks {
    /// The leading digits.
    pub digits: Vec<Digit>,
    /// How many of them number the shards.
    pub prefix: usize,
    /// Superblocks of a shard.
    pub blocks: u32,
    /// Shards of one part.
    pub shards: u32,
    /// What the last element does inside a superblock.
    pub tables: BlockTables,
    /// Element at digit 0 of every move, and of its inverse.
    pub forward: Vec<u32>,
    pub backward: Vec<u32>,
    /// `pull[shard][move]`: the shard and element that `move^-1` leads to.
    pub pull: Vec<Vec<Entry>>,
    /// The same for `move` itself.
    pub push: Vec<Vec<Entry>>,
}

impl Blocks {
    /// Gathers the parts and computes shard entries. The tables must be closed: every element of a
    /// step exists in the next digit (checked by the makers).
    pub fn new(
        digits: Vec<Digit>,
        prefix: usize,
        tables: BlockTables,
        forward: Vec<u32>,
        backward: Vec<u32>,
    ) -> Blocks {
        let shards = digits[..prefix].iter().map(|d| d.len).product();
        let blocks = digits[prefix..].iter().map(|d| d.len).product();
        let mut out = Blocks {
            digits,
            prefix,
            blocks,
            shards,
            tables,
            forward,
            backward,
            pull: Vec::new(),
            push: Vec::new(),
        };
        let entries = |starts: &[u32]| -> Vec<Vec<Entry>> {
            (0..shards)
                .map(|shard| starts.iter().map(|&e| out.walk_prefix(shard, e)).collect())
                .collect()
        };
        let (pull, push) = (entries(&out.backward), entries(&out.forward));
        out.pull = pull;
        out.push = push;
        out
    }

    /// Applies an element of digit 0 to a shard number.
    pub fn walk_prefix(&self, shard: u32, element: u32) -> Entry {
        let mut rest = shard;
        let mut xs = [0u32; DIGITS_MAX];
        for (i, digit) in self.digits[..self.prefix].iter().enumerate().rev() {
            xs[i] = rest % digit.len;
            rest /= digit.len;
        }
        let mut to = Entry { shard: 0, element };
        for (digit, &x) in self.digits[..self.prefix].iter().zip(&xs) {
            let step = digit.step(to.element, x);
            to = Entry {
                shard: to.shard * digit.len + step.to,
                element: step.element,
            };
        }
        to
    }

    /// Applies an element that acts after the prefix to a superblock number of a shard.
    #[inline]
    pub fn walk_block(&self, block: u32, element: u32) -> Step {
        let rest = &self.digits[self.prefix..];
        let mut divisor = self.blocks;
        let mut left = block;
        let mut to = Step { to: 0, element };
        for digit in rest {
            divisor /= digit.len;
            let x = left / divisor;
            left -= x * divisor;
            let step = digit.step(to.element, x);
            to = Step {
                to: to.to * digit.len + step.to,
                element: step.element,
            };
        }
        to
    }

    /// Applies an element that acts after the prefix to a position of a shard.
    #[inline]
    pub fn apply_after_prefix(&self, position: u32, element: u32) -> u32 {
        let stride = self.stride();
        let (block, inside) = (position / stride, position % stride);
        let step = self.walk_block(block, element);
        step.to * stride + self.tables.apply(step.element, inside)
    }

    /// Positions of one superblock.
    pub fn stride(&self) -> u32 {
        self.tables.words as u32 * 64
    }

    pub fn geometry(&self) -> ShardGeometry {
        ShardGeometry {
            blocks: self.blocks,
            words: self.tables.words as u32,
            states: u64::from(self.blocks) * self.tables.states_per_block(),
        }
    }

    /// Where the superblocks of every shard come from when a sweep goes in a direction.
    pub fn entries(&self, direction: Direction) -> &[Vec<Entry>] {
        match direction {
            Direction::Forward => &self.pull,
            Direction::Backward => &self.push,
        }
    }

    /// Source shards of a shard within its part, ascending.
    pub fn sources(&self, shard: u32) -> Vec<ShardId> {
        let mut list: Vec<u32> = self.pull[shard as usize].iter().map(|e| e.shard).collect();
        list.sort_unstable();
        list.dedup();
        list.into_iter().map(ShardId).collect()
    }

    /// What a device needs of the tables.
    pub fn view(&self, parts: u32) -> BlockTablesView<'_> {
        BlockTablesView {
            moves: self.backward.len(),
            shards: self.shards,
            parts,
            blocks: self.blocks,
            words: self.tables.words,
            digits: self.digits[self.prefix..]
                .iter()
                .map(|digit| DigitView {
                    len: digit.len,
                    steps: &digit.steps,
                })
                .collect(),
            entries: self.pull.iter().flatten().map(|e| e.element).collect(),
            masks: &self.tables.masks,
            inner: self.tables.view(),
        }
    }

    pub fn table_bytes(&self) -> u64 {
        let digits: usize = self
            .digits
            .iter()
            .map(|d| d.steps.len() * size_of::<Step>())
            .sum();
        digits as u64 + self.tables.bytes()
    }
}

/// Walks superblocks in order and says where each comes from under every move. Digits are only
/// recomputed from the one that changed, so a step costs little more than one table row a move.
pub(crate) struct BlockWalk<'a> {
    digits: &'a [Digit],
    moves: usize,
    /// Values of the digits before the last.
    xs: Vec<u32>,
    /// `[depth * moves + move]`: the number made of the first `depth` source digits, and the element.
    state: Vec<Step>,
}

impl<'a> BlockWalk<'a> {
    /// `entries`: the elements that act after the prefix, one a move.
    pub fn new(blocks: &'a Blocks, entries: &[Entry]) -> BlockWalk<'a> {
        let digits = &blocks.digits[blocks.prefix..];
        let depth = digits.len().max(1);
        let mut state = vec![Step { to: 0, element: 0 }; depth * entries.len()];
        for (s, e) in state.iter_mut().zip(entries) {
            s.element = e.element;
        }
        BlockWalk {
            digits,
            moves: entries.len(),
            xs: vec![0; depth - 1],
            state,
        }
    }

    /// Calls `visit(first, row)` for runs of superblocks: `row[move]` is the position of the run
    /// under each move before the last digit, and the last digit's steps from `first` on follow.
    #[inline(always)]
    pub fn run(&mut self, start: u32, end: u32, mut visit: impl FnMut(u32, &[Step])) {
        let moves = self.moves;
        let Some((last, upper)) = self.digits.split_last() else {
            if start < end {
                let row: Vec<Step> = self.state.clone();
                visit(0, &row);
            }
            return;
        };
        let mut left = start / last.len;
        for (x, digit) in self.xs.iter_mut().zip(upper).rev() {
            *x = left % digit.len;
            left /= digit.len;
        }
        let mut changed = 0;
        let mut block = start - start % last.len;
        let mut row = vec![Step { to: 0, element: 0 }; moves];
        while block < end {
            for depth in changed..upper.len() {
                let digit = &upper[depth];
                let x = self.xs[depth];
                for m in 0..moves {
                    let from = self.state[depth * moves + m];
                    let step = digit.step(from.element, x);
                    self.state[(depth + 1) * moves + m] = Step {
                        to: from.to * digit.len + step.to,
                        element: step.element,
                    };
                }
            }
            let above = &self.state[upper.len() * moves..];
            let first = start.max(block) - block;
            for x in first..last.len.min(end - block) {
                for (r, from) in row.iter_mut().zip(above) {
                    let step = last.step(from.element, x);
                    *r = Step {
                        to: from.to * last.len + step.to,
                        element: step.element,
                    };
                }
                visit(block + x, &row);
            }
            block += last.len;
            changed = upper.len();
            while changed > 0 {
                changed -= 1;
                self.xs[changed] += 1;
                if self.xs[changed] < upper[changed].len {
                    break;
                }
                self.xs[changed] = 0;
            }
        }
    }
}
