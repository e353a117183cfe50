//! Where single states go: one state at a time, but digits that did not change since the last one are
//! not walked again.

use crate::bfs::block::{Blocks, DIGITS_MAX, Entry, Step};

/// Where the states of a source go under a move, for ascending positions: digits that did not
/// change since the last position are not walked again.
pub(super) struct PushWalk<'a> {
    blocks: &'a Blocks,
    stride: u32,
    /// First position of the current superblock.
    start: u32,
    /// `above[d]`: the number made of the first `d` digits, and where it goes.
    above: Vec<(u32, Step)>,
    /// First position and element of the superblock that the current one goes to.
    to: u32,
    element: u32,
}

impl<'a> PushWalk<'a> {
    pub fn new(blocks: &'a Blocks, entry: Entry) -> PushWalk<'a> {
        let digits = blocks.digits.len() - blocks.prefix;
        let mut above = vec![(u32::MAX, Step { to: 0, element: 0 }); digits.max(1)];
        above[0] = (
            0,
            Step {
                to: 0,
                element: entry.element,
            },
        );
        let mut walk = PushWalk {
            blocks,
            stride: blocks.stride(),
            start: 0,
            above,
            to: 0,
            element: 0,
        };
        walk.enter(0);
        walk
    }

    fn enter(&mut self, block: u32) {
        self.start = block * self.stride;
        let digits = &self.blocks.digits[self.blocks.prefix..];
        let mut step = self.above[0].1;
        if let Some((last, upper)) = digits.split_last() {
            let mut numbers = [0u32; DIGITS_MAX];
            let depth = upper.len();
            numbers[depth] = block / last.len;
            // Up to the first number that is still the same, then down again.
            let mut d = depth;
            while self.above[d].0 != numbers[d] {
                numbers[d - 1] = numbers[d] / upper[d - 1].len;
                d -= 1;
            }
            while d < depth {
                let from = self.above[d].1;
                let x = numbers[d + 1] - numbers[d] * upper[d].len;
                let next = upper[d].step(from.element, x);
                self.above[d + 1] = (
                    numbers[d + 1],
                    Step {
                        to: from.to * upper[d].len + next.to,
                        element: next.element,
                    },
                );
                d += 1;
            }
            let from = self.above[depth].1;
            let next = last.step(from.element, block - numbers[depth] * last.len);
            step = Step {
                to: from.to * last.len + next.to,
                element: next.element,
            };
        }
        self.to = step.to;
        self.element = step.element;
    }

    /// The position that a position goes to.
    #[inline(always)]
    pub fn to(&mut self, position: u32) -> u32 {
        if position - self.start >= self.stride {
            self.enter(position / self.stride);
        }
        self.to * self.stride
            + self
                .blocks
                .tables
                .apply(self.element, position - self.start)
    }
}
