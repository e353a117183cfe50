//! Breadth-first search from many sources at once, a bit for each source (multi-source BFS).
//!
//! Every state has a row of 512 bits, one cache line: bit `s` says that source `s` reaches the state within
//! the levels done. A level makes every row anew as the union of its own and its predecessors' rows, from one
//! array into the other, so each row has one writer. A row none of whose predecessors changed in the level
//! before keeps its bits; a row that has all its bits is finished. Then et al.: The More the Merrier: Efficient
//! Multi-Source Graph Traversal, VLDB 2014, is the idea; the pull without queues suits graphs of equal degree.
//!
//! Its speed is that of memory: a state and level move at most `moves + 3` lines (read each predecessor's row and its
//! own, write one, which is read first). The lexicographic order of states suits it, because moves take consecutive states
//! to nearly consecutive ones, in a few streams that the processor foresees; laying rows along the cycles of a move, so
//! that two of three neighbours are at hand, measured half as fast.

use rayon::prelude::*;

/// Words of a row.
pub(crate) const WORDS: usize = 8;
/// Sources of one search.
pub(crate) const SOURCES: usize = WORDS * 64;
/// Bits of one state.
pub(crate) type Row = [u64; WORDS];
/// Bytes a state of a [`Sweep`], with the list of rows that a directed batch keeps.
pub(crate) const BYTES_PER_STATE: u64 = 3 * (SOURCES as u64 / 8) + 8;
/// Rows that one thread makes at a time.
const CHUNK: usize = 2048;

/// In the last level the row got new bits.
const CHANGED: u8 = 1;
/// The row has all bits there are.
const COMPLETE: u8 = 2;

/// What a level found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    /// Pairs of a source and a state at this distance.
    pub pairs: u64,
    /// Sources that have a state at this distance.
    pub sources: Row,
}

impl Level {
    const NONE: Level = Level {
        pairs: 0,
        sources: [0; WORDS],
    };

    fn plus(mut self, other: Level) -> Level {
        self.pairs += other.pairs;
        for (a, b) in self.sources.iter_mut().zip(other.sources) {
            *a |= b;
        }
        self
    }
}

/// The two arrays of rows, used again for every batch.
pub(crate) struct Sweep {
    seen: Vec<Row>,
    /// The level before; becomes the next one.
    before: Vec<Row>,
    flags: Vec<u8>,
    next_flags: Vec<u8>,
}

impl Sweep {
    /// Arrays for `states` states.
    pub fn new(states: u32) -> Sweep {
        let n = states as usize;
        Sweep {
            seen: vec![[0; WORDS]; n],
            before: vec![[0; WORDS]; n],
            flags: vec![0; n],
            next_flags: vec![0; n],
        }
    }

    /// Starts anew from `sources`, at most [`SOURCES`] different states, source `i` being bit `i`.
    pub fn start(&mut self, sources: &[u32]) {
        debug_assert!(sources.len() <= SOURCES);
        let n = self.seen.len();
        for rows in [&mut self.seen, &mut self.before] {
            rows.par_chunks_mut(CHUNK).for_each(|c| c.fill([0; WORDS]));
        }
        self.flags[..n].fill(0);
        for (i, &s) in sources.iter().enumerate() {
            self.seen[s as usize][i / 64] |= 1 << (i % 64);
            self.flags[s as usize] = CHANGED;
        }
    }

    /// One level further: `edges` holds, `moves` a state, the states whose bits a state takes over.
    /// `complete` is a row with the bits of all sources, where every state is reached by all of them.
    pub fn step(&mut self, edges: &[u32], moves: usize, complete: &Row) -> Level {
        let (seen, flags) = (&self.seen, &self.flags);
        let level = self
            .before
            .par_chunks_mut(CHUNK)
            .zip(self.next_flags.par_chunks_mut(CHUNK))
            .zip(edges.par_chunks(CHUNK * moves))
            .enumerate()
            .map(|(k, ((rows, next), edges))| {
                let task = Chunk {
                    first: k * CHUNK,
                    seen,
                    flags,
                    edges,
                    complete,
                };
                match moves {
                    2 => task.pull::<2>(rows, next),
                    3 => task.pull::<3>(rows, next),
                    _ => task.pull_any(moves, rows, next),
                }
            })
            .reduce(|| Level::NONE, Level::plus);
        std::mem::swap(&mut self.seen, &mut self.before);
        std::mem::swap(&mut self.flags, &mut self.next_flags);
        level
    }

    /// Which states got new bits in the last level, in order.
    pub fn changed(&self) -> impl Iterator<Item = bool> + '_ {
        self.flags.iter().map(|f| f & CHANGED != 0)
    }

    /// Bits that a state got in the last level.
    pub fn news(&self, state: u32) -> Row {
        let i = state as usize;
        if self.flags[i] & CHANGED == 0 {
            return [0; WORDS];
        }
        std::array::from_fn(|w| self.seen[i][w] & !self.before[i][w])
    }
}

/// What the rows of a chunk are made from.
struct Chunk<'a> {
    first: usize,
    seen: &'a [Row],
    flags: &'a [u8],
    edges: &'a [u32],
    complete: &'a Row,
}

impl Chunk<'_> {
    /// The next rows and flags, for a number of moves known to the compiler.
    #[inline(always)]
    fn pull<const MOVES: usize>(&self, rows: &mut [Row], next: &mut [u8]) -> Level {
        let mut level = Level::NONE;
        let (edges, _) = self.edges.as_chunks::<MOVES>();
        for (i, ((row, flag), edges)) in rows.iter_mut().zip(next).zip(edges).enumerate() {
            self.row(self.first + i, edges, row, flag, &mut level);
        }
        level
    }

    #[inline(always)]
    fn pull_any(&self, moves: usize, rows: &mut [Row], next: &mut [u8]) -> Level {
        let mut level = Level::NONE;
        let edges = self.edges.chunks_exact(moves);
        for (i, ((row, flag), edges)) in rows.iter_mut().zip(next).zip(edges).enumerate() {
            self.row(self.first + i, edges, row, flag, &mut level);
        }
        level
    }

    #[inline(always)]
    fn row(&self, at: usize, edges: &[u32], row: &mut Row, flag: &mut u8, level: &mut Level) {
        let own = self.flags[at];
        let moved = if own & COMPLETE != 0 {
            0
        } else {
            edges
                .iter()
                .fold(0, |any, &e| any | self.flags[e as usize] & CHANGED)
        };
        if moved == 0 {
            if own & CHANGED != 0 {
                *row = self.seen[at];
            }
            *flag = own & COMPLETE;
            return;
        }
        let mut all = self.seen[at];
        for &e in edges {
            let from = &self.seen[e as usize];
            for w in 0..WORDS {
                all[w] |= from[w];
            }
        }
        let (mut pairs, mut any, mut missing) = (0u64, 0, 0);
        for w in 0..WORDS {
            let new = all[w] ^ self.seen[at][w];
            pairs += u64::from(new.count_ones());
            any |= new;
            missing |= self.complete[w] ^ all[w];
            level.sources[w] |= new;
        }
        level.pairs += pairs;
        *row = all;
        *flag = if any != 0 { CHANGED } else { 0 } | if missing == 0 { COMPLETE } else { 0 };
    }
}
