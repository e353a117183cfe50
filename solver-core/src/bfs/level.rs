//! One level of one shard of a block space: chooses between pulling superblocks and pushing
//! single states, and keeps the buffers in circulation.

use super::digest;
use super::frontier::{Body, Frontier, ShardGeometry};
use super::kernel::{PullChunk, PullSource, SeenChunk, pages, pull_chunk};
use crate::engine::{Digest, EngineError, Seen};
use crate::space::Direction;
use crate::space::block::{Blocks, Entry, Step};
use rayon::prelude::*;
use std::sync::Mutex;

/// With fewer source states than this share of the shard's states times moves, pushing is faster.
const PUSH_SHARE: u64 = 800;
/// Below this many candidates one thread and one sort do.
const SORT_MAX: usize = 20_000;
/// Candidates are gathered by pieces of 2^19 positions, whose bitmap stays in the second-level cache.
const PIECE_BITS: u32 = 19;

/// Bitmaps of one shard that are out of use: all words zero.
#[derive(Default)]
pub(crate) struct Buffers {
    free: Mutex<Vec<Vec<u64>>>,
}

const FREE_MAX: usize = 2;

impl Buffers {
    fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
        mutex
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn take(&self, len: usize) -> Vec<u64> {
        let mut free = Self::lock(&self.free);
        match free.iter().position(|b| b.len() == len) {
            Some(i) => {
                let mut buffer = free.swap_remove(i);
                drop(free);
                buffer.par_chunks_mut(1 << 16).for_each(|c| c.fill(0));
                buffer
            }
            None => pages::zeroed(len),
        }
    }

    fn give(&self, buffer: Vec<u64>) {
        let mut free = Self::lock(&self.free);
        if free.len() < FREE_MAX {
            free.push(buffer);
        }
    }
}

/// What the level of one shard is made of.
pub(crate) struct LevelInput<'a> {
    pub blocks: &'a Blocks,
    pub geometry: ShardGeometry,
    pub direction: Direction,
    /// Shard number within its part, and the number of its first superblock in the whole index.
    pub shard: u32,
    pub first_block: u64,
    /// Frontier(level-1) of the source shard of each move.
    pub sources: Vec<&'a Frontier>,
    pub own: &'a Frontier,
    pub seen: Seen,
}

/// Frontier, visited set (directed lists) and digest.
pub(crate) struct LevelOutput {
    pub frontier: Frontier,
    pub visited: Option<Frontier>,
    pub digest: Digest,
}

/// Computes the level.
pub(crate) fn compute(
    input: LevelInput<'_>,
    buffers: &Buffers,
) -> Result<LevelOutput, EngineError> {
    let total: u64 = input.sources.iter().map(|s| s.count()).sum();
    let moves = input.sources.len() as u64;
    if total == 0 {
        let LevelInput { geometry, seen, .. } = input;
        let visited = match seen {
            Seen::Visited(v) => Some(v),
            Seen::Previous(p) => {
                recycle(p, buffers);
                None
            }
        };
        return Ok(LevelOutput {
            frontier: Frontier::empty(geometry),
            visited,
            digest: Digest::default(),
        });
    }
    if total * PUSH_SHARE < input.geometry.states * moves {
        Ok(push(input, buffers))
    } else {
        Ok(pull(input, buffers))
    }
}

fn recycle(frontier: Frontier, buffers: &Buffers) {
    if let Body::Dense { words, .. } = frontier.body {
        buffers.give(words);
    }
}

/// Makes a set dense, in a buffer of its own.
fn dense(frontier: Frontier, buffers: &Buffers) -> (Vec<u64>, Vec<u16>) {
    let geometry = frontier.geometry;
    match frontier.body {
        Body::Dense { words, counts } => (words, counts),
        other => {
            let per_block = geometry.words as usize;
            let mut words = buffers.take(geometry.blocks as usize * per_block);
            let mut counts = vec![0u16; geometry.blocks as usize];
            if let Body::Sparse(positions) = other {
                let run = 4096;
                let stride = geometry.words * 64;
                words
                    .par_chunks_mut(run * per_block)
                    .zip(counts.par_chunks_mut(run))
                    .enumerate()
                    .for_each(|(k, (words, counts))| {
                        let base = (k * run) as u64 * u64::from(stride);
                        let end = base + counts.len() as u64 * u64::from(stride);
                        let from = positions.partition_point(|&p| u64::from(p) < base);
                        for &p in positions[from..]
                            .iter()
                            .take_while(|&&p| u64::from(p) < end)
                        {
                            let at = (u64::from(p) - base) as u32;
                            words[(at / 64) as usize] |= 1 << (at % 64);
                            counts[(at / stride) as usize] += 1;
                        }
                    });
            }
            (words, counts)
        }
    }
}

fn pull(input: LevelInput<'_>, buffers: &Buffers) -> LevelOutput {
    let LevelInput {
        blocks,
        geometry,
        direction,
        shard,
        first_block,
        sources,
        own,
        seen,
    } = input;
    let entries = &blocks.entries(direction)[shard as usize];
    let words = geometry.words as usize;
    // Sparse sources among dense ones are rare; they are made dense for this level.
    let mut made: Vec<(*const Frontier, Frontier)> = Vec::new();
    for source in &sources {
        if let Body::Sparse(_) = source.body {
            let address: *const Frontier = *source;
            if !made.iter().any(|(a, _)| *a == address) {
                let (words, counts) = dense((*source).clone(), buffers);
                made.push((
                    address,
                    Frontier {
                        geometry,
                        count: source.count,
                        body: Body::Dense { words, counts },
                    },
                ));
            }
        }
    }
    fn source_of(f: &Frontier) -> Option<PullSource<'_>> {
        match &f.body {
            Body::Dense { words, counts } => Some(PullSource { words, counts }),
            _ => None,
        }
    }
    let pull_sources: Vec<Option<PullSource<'_>>> = sources
        .iter()
        .map(|&s| {
            let address: *const Frontier = s;
            match made.iter().find(|(a, _)| *a == address) {
                Some((_, f)) => source_of(f),
                None => source_of(s),
            }
        })
        .collect();
    let own_dense = match &own.body {
        Body::Sparse(_) => Some(dense(own.clone(), buffers).0),
        _ => None,
    };
    let own_words: Option<&[u64]> = match &own.body {
        Body::Dense { words, .. } => Some(words),
        _ => own_dense.as_deref(),
    };
    // Enough pieces to keep all threads busy to the end, large enough to make the walk cheap.
    let threads = rayon::current_num_threads();
    let run = (geometry.blocks as usize).div_ceil(threads * 16).max(32);
    let (mut out, mut counts, mut visited) = match seen {
        Seen::Previous(p) => {
            let (words, counts) = dense(p, buffers);
            (words, counts, None)
        }
        Seen::Visited(v) => {
            let out = buffers.take(geometry.blocks as usize * words);
            (
                out,
                vec![0u16; geometry.blocks as usize],
                Some(dense(v, buffers)),
            )
        }
    };
    let piece = |k: usize| {
        (
            (k * run) as u32,
            ((k + 1) * run).min(geometry.blocks as usize) as u32,
        )
    };
    let job = |k: usize, out: &mut [u64], counts: &mut [u16], seen: SeenChunk<'_>| {
        let (start, end) = piece(k);
        pull_chunk(PullChunk {
            blocks,
            entries,
            sources: &pull_sources,
            start,
            end,
            first_block,
            out,
            counts,
            seen,
        })
    };
    let add = |a: (u64, u128), b: (u64, u128)| (a.0 + b.0, a.1.wrapping_add(b.1));
    let pieces = out
        .par_chunks_mut(run * words)
        .zip(counts.par_chunks_mut(run))
        .enumerate();
    let (count, sum) = match &mut visited {
        None => pieces
            .map(|(k, (out, counts))| {
                let at = k * run * words;
                let own = own_words.map(|o| &o[at..at + out.len()]);
                job(k, out, counts, SeenChunk::Own(own))
            })
            .reduce(|| (0, 0), add),
        Some((visited, _)) => pieces
            .zip(visited.par_chunks_mut(run * words))
            .map(|((k, (out, counts)), visited)| job(k, out, counts, SeenChunk::Visited(visited)))
            .reduce(|| (0, 0), add),
    };
    made.into_iter().for_each(|(_, f)| recycle(f, buffers));
    own_dense.into_iter().for_each(|words| buffers.give(words));
    let frontier = settle(geometry, count, out, counts, buffers);
    let visited = visited.map(|(words, mut counts)| {
        add_counts(&mut counts, &frontier);
        let count = counts.iter().map(|&c| u64::from(c)).sum();
        Frontier {
            geometry,
            count,
            body: Body::Dense { words, counts },
        }
    });
    LevelOutput {
        frontier,
        visited,
        digest: Digest(sum),
    }
}

fn add_counts(counts: &mut [u16], new: &Frontier) {
    match &new.body {
        Body::Empty | Body::Keys(_) => {}
        Body::Sparse(v) => {
            let stride = new.geometry.words * 64;
            v.iter().for_each(|p| counts[(p / stride) as usize] += 1);
        }
        Body::Dense { counts: new, .. } => counts.iter_mut().zip(new).for_each(|(c, n)| *c += n),
    }
}

/// Keeps a dense result dense or turns it into positions.
fn settle(
    geometry: ShardGeometry,
    count: u64,
    words: Vec<u64>,
    counts: Vec<u16>,
    buffers: &Buffers,
) -> Frontier {
    if count > Frontier::sparse_limit(geometry) {
        return Frontier {
            geometry,
            count,
            body: Body::Dense { words, counts },
        };
    }
    let full = Frontier {
        geometry,
        count,
        body: Body::Dense { words, counts },
    };
    let positions = full.positions();
    recycle(full, buffers);
    Frontier::from_positions(geometry, positions)
}

/// Where the states of a source go under a move, for ascending positions: digits that did not
/// change since the last position are not walked again.
struct PushWalk<'a> {
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
    fn new(blocks: &'a Blocks, entry: Entry) -> PushWalk<'a> {
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
            let mut numbers = [0u32; 64];
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
    fn to(&mut self, position: u32) -> u32 {
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

fn push(input: LevelInput<'_>, buffers: &Buffers) -> LevelOutput {
    let LevelInput {
        blocks,
        geometry,
        direction,
        shard,
        first_block,
        sources,
        own,
        seen,
    } = input;
    let entries = &blocks.entries(direction)[shard as usize];
    let seen_set = match &seen {
        Seen::Previous(p) | Seen::Visited(p) => p,
    };
    let total: u64 = sources.iter().map(|s| s.count()).sum();
    // The move takes the source shard of the pull back to this shard.
    let walks: Vec<(&Frontier, Entry)> = sources
        .iter()
        .enumerate()
        .filter(|(_, s)| s.count() > 0)
        .map(|(m, s)| {
            (
                *s,
                blocks.entries(direction.opposite())[entries[m].shard as usize][m],
            )
        })
        .collect();
    debug_assert!(walks.iter().all(|(_, e)| e.shard == shard));
    let positions = if total as usize <= SORT_MAX {
        let mut all: Vec<u32> = Vec::with_capacity(total as usize);
        for (source, entry) in &walks {
            let mut walk = PushWalk::new(blocks, *entry);
            source.for_each(|p| all.push(walk.to(p)));
        }
        new_of(all, own, seen_set)
    } else {
        push_by_pieces(blocks, geometry, &walks, own, seen_set)
    };
    let digest = sparse_digest(&positions, first_block, blocks);
    let visited = match seen {
        Seen::Previous(p) => {
            recycle(p, buffers);
            None
        }
        Seen::Visited(v) => Some(union(v, &positions, buffers)),
    };
    let count = positions.len() as u64;
    let mut frontier = Frontier::from_positions(geometry, positions);
    if count > Frontier::sparse_limit(geometry) {
        let (words, counts) = dense(frontier, buffers);
        frontier = Frontier {
            geometry,
            count,
            body: Body::Dense { words, counts },
        };
    }
    LevelOutput {
        frontier,
        visited,
        digest,
    }
}

/// Sorted, without repetition and without what was seen.
fn new_of(mut candidates: Vec<u32>, own: &Frontier, seen: &Frontier) -> Vec<u32> {
    candidates.sort_unstable();
    candidates.dedup();
    let (mut a, mut b) = (Cursor::new(own), Cursor::new(seen));
    candidates.retain(|&p| !a.has(p) && !b.has(p));
    candidates
}

/// Every thread moves a part of the sources and drops the results into pieces of the shard; then
/// every piece is united by one thread, in cache, without atomics.
fn push_by_pieces(
    blocks: &Blocks,
    geometry: ShardGeometry,
    walks: &[(&Frontier, Entry)],
    own: &Frontier,
    seen: &Frontier,
) -> Vec<u32> {
    let size = u64::from(geometry.blocks) * u64::from(blocks.stride());
    let pieces = size.div_ceil(1 << PIECE_BITS) as usize;
    let parts = rayon::current_num_threads();
    let made: Vec<Vec<u32>> = walks
        .iter()
        .map(|(source, _)| {
            if let Body::Sparse(_) = source.body {
                Vec::new()
            } else {
                source.positions()
            }
        })
        .collect();
    let gathered: Vec<Vec<Vec<u32>>> = (0..parts)
        .into_par_iter()
        .map(|part| {
            let mut out: Vec<Vec<u32>> = vec![Vec::new(); pieces];
            for ((source, entry), made) in walks.iter().zip(&made) {
                let list: &[u32] = if let Body::Sparse(v) = &source.body {
                    v
                } else {
                    made
                };
                let cut = |k: usize| list.len() * k / parts;
                let mut walk = PushWalk::new(blocks, *entry);
                for &p in &list[cut(part)..cut(part + 1)] {
                    let to = walk.to(p);
                    out[(to >> PIECE_BITS) as usize].push(to);
                }
            }
            out
        })
        .collect();
    let lists: Vec<Vec<u32>> = (0..pieces)
        .into_par_iter()
        .map_init(
            || vec![0u64; 1 << (PIECE_BITS - 6)],
            |bitmap, piece| {
                let total: usize = gathered.iter().map(|part| part[piece].len()).sum();
                if total < 1 << (PIECE_BITS - 10) {
                    let all = gathered
                        .iter()
                        .flat_map(|part| part[piece].iter().copied())
                        .collect();
                    return new_of(all, own, seen);
                }
                let base = (piece as u32) << PIECE_BITS;
                for p in gathered.iter().flat_map(|part| &part[piece]) {
                    let at = p - base;
                    bitmap[(at / 64) as usize] |= 1 << (at % 64);
                }
                let (mut a, mut b) = (Cursor::new(own), Cursor::new(seen));
                let mut new = Vec::with_capacity(total);
                for (w, word) in bitmap.iter_mut().enumerate() {
                    let mut left = std::mem::take(word);
                    while left != 0 {
                        let p = base + w as u32 * 64 + left.trailing_zeros();
                        left &= left - 1;
                        if !a.has(p) && !b.has(p) {
                            new.push(p);
                        }
                    }
                }
                new
            },
        )
        .collect();
    lists.concat()
}

/// The set with sorted new positions added.
fn union(set: Frontier, new: &[u32], buffers: &Buffers) -> Frontier {
    let geometry = set.geometry;
    let count = set.count + new.len() as u64;
    if let Body::Dense {
        mut words,
        mut counts,
    } = set.body
    {
        let stride = geometry.words * 64;
        for &p in new {
            words[(p / 64) as usize] |= 1 << (p % 64);
            counts[(p / stride) as usize] += 1;
        }
        return Frontier {
            geometry,
            count,
            body: Body::Dense { words, counts },
        };
    }
    let mut all = set.positions();
    all.extend_from_slice(new);
    all.sort_unstable();
    let mut out = Frontier::from_positions(geometry, all);
    if count > Frontier::sparse_limit(geometry) {
        let (words, counts) = dense(out, buffers);
        out = Frontier {
            geometry,
            count,
            body: Body::Dense { words, counts },
        };
    }
    out
}

/// Membership for ascending questions.
struct Cursor<'a> {
    set: &'a Frontier,
    at: usize,
    started: bool,
}

impl<'a> Cursor<'a> {
    fn new(set: &'a Frontier) -> Cursor<'a> {
        Cursor {
            set,
            at: 0,
            started: false,
        }
    }

    #[inline]
    fn has(&mut self, p: u32) -> bool {
        match &self.set.body {
            Body::Sparse(v) => {
                if !self.started {
                    self.at = v.partition_point(|&q| q < p);
                    self.started = true;
                }
                // Questions are close together or far apart: gallop, then halve.
                let mut step = 1;
                while self.at + step < v.len() && v[self.at + step] < p {
                    self.at += step;
                    step *= 2;
                }
                let end = (self.at + step + 1).min(v.len());
                self.at += v[self.at.min(end)..end].partition_point(|&q| q < p);
                v.get(self.at) == Some(&p)
            }
            _ => self.set.contains(p),
        }
    }
}

/// Digest of sorted positions, equal to that of the same states as a bitmap.
pub(crate) fn sparse_digest(positions: &[u32], first_block: u64, blocks: &Blocks) -> Digest {
    positions_digest(positions, first_block, blocks.stride(), &blocks.tables.keys)
}

pub(crate) fn positions_digest(
    positions: &[u32],
    first_block: u64,
    stride: u32,
    keys: &[[u32; 4]],
) -> Digest {
    let mut sum = 0u128;
    let mut at = 0;
    while at < positions.len() {
        let block = positions[at] / stride;
        let (mut h1, mut h2) = (0u64, 0u64);
        while at < positions.len() && positions[at] / stride == block {
            let (a, b) = digest::bit(positions[at] - block * stride, keys);
            h1 = h1.wrapping_add(a);
            h2 = h2.wrapping_add(b);
            at += 1;
        }
        sum = sum.wrapping_add(digest::finish(first_block + u64::from(block), h1, h2));
    }
    Digest(sum)
}

/// Digest of any set.
pub(crate) fn digest_of(frontier: &Frontier, first_block: u64, keys: &[[u32; 4]]) -> Digest {
    let words = frontier.geometry.words as usize;
    match &frontier.body {
        Body::Empty | Body::Keys(_) => Digest::default(),
        Body::Sparse(v) => positions_digest(v, first_block, frontier.geometry.words * 64, keys),
        Body::Dense { words: all, counts } => Digest(
            all.par_chunks(words)
                .zip(counts)
                .enumerate()
                .filter(|(_, (_, c))| **c != 0)
                .map(|(t, (block, _))| digest::block(first_block + t as u64, block, keys))
                .reduce(|| 0, u128::wrapping_add),
        ),
    }
}
