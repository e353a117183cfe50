//! One level of one shard of a block space: chooses between pulling superblocks and pushing
//! single states, and keeps the buffers in circulation.

use super::digest;
use super::frontier::{Body, Frontier, ShardGeometry};
use super::kernel::{PullChunk, PullSource, SeenChunk, pull_chunk};
use crate::engine::{Digest, EngineError, Seen};
use crate::space::block::{Blocks, Entry};
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// With fewer source states than this share of the shard's states times moves, pushing is faster.
const PUSH_SHARE: u64 = 260;
/// With fewer candidates than this, sorting them beats marking them in a bitmap.
const SORT_MAX: usize = 20_000;

/// Bitmaps of one shard that are out of use: all words zero.
#[derive(Default)]
pub(crate) struct Buffers {
    free: Mutex<Vec<Vec<u64>>>,
    scratch: Mutex<Vec<Scratch>>,
}

/// An all-zero bitmap that several threads mark, and which superblocks they touched.
struct Scratch {
    words: Vec<AtomicU64>,
    touched: Vec<AtomicU8>,
}

const FREE_MAX: usize = 2;

impl Buffers {
    fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
            None => vec![0; len],
        }
    }

    fn give(&self, buffer: Vec<u64>) {
        let mut free = Self::lock(&self.free);
        if free.len() < FREE_MAX {
            free.push(buffer);
        }
    }

    fn take_scratch(&self, geometry: ShardGeometry) -> Scratch {
        let words = geometry.blocks as usize * geometry.words as usize;
        let mut scratch = Self::lock(&self.scratch);
        match scratch.iter().position(|s| s.words.len() == words) {
            Some(i) => scratch.swap_remove(i),
            None => Scratch {
                words: zeroed(words),
                touched: (0..geometry.blocks).map(|_| AtomicU8::new(0)).collect(),
            },
        }
    }

    fn give_scratch(&self, used: Scratch) {
        let mut scratch = Self::lock(&self.scratch);
        if scratch.len() < FREE_MAX {
            scratch.push(used);
        }
    }
}

fn zeroed(n: usize) -> Vec<AtomicU64> {
    (0..n).map(|_| AtomicU64::new(0)).collect()
}

/// What the level of one shard is made of.
pub(crate) struct LevelInput<'a> {
    pub blocks: &'a Blocks,
    pub geometry: ShardGeometry,
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
pub(crate) fn compute(input: LevelInput<'_>, buffers: &Buffers) -> Result<LevelOutput, EngineError> {
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
        return Ok(LevelOutput { frontier: Frontier::empty(geometry), visited, digest: Digest::default() });
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
            let mut words = buffers.take(geometry.blocks as usize * geometry.words as usize);
            let mut counts = vec![0u16; geometry.blocks as usize];
            if let Body::Sparse(positions) = other {
                for p in positions {
                    words[(p / 64) as usize] |= 1 << (p % 64);
                    counts[(p / (geometry.words * 64)) as usize] += 1;
                }
            }
            (words, counts)
        }
    }
}

fn pull(input: LevelInput<'_>, buffers: &Buffers) -> LevelOutput {
    let LevelInput { blocks, geometry, shard, first_block, sources, own, seen } = input;
    let entries = &blocks.pull[shard as usize];
    let words = geometry.words as usize;
    // Sparse sources among dense ones are rare; they are made dense for this level.
    let mut made: Vec<(*const Frontier, Frontier)> = Vec::new();
    for source in &sources {
        if let Body::Sparse(_) = source.body {
            let address: *const Frontier = *source;
            if !made.iter().any(|(a, _)| *a == address) {
                let (words, counts) = dense((*source).clone(), buffers);
                made.push((address, Frontier { geometry, count: source.count, body: Body::Dense { words, counts } }));
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
            (out, vec![0u16; geometry.blocks as usize], Some(dense(v, buffers)))
        }
    };
    let piece = |k: usize| ((k * run) as u32, ((k + 1) * run).min(geometry.blocks as usize) as u32);
    let job = |k: usize, out: &mut [u64], counts: &mut [u16], seen: SeenChunk<'_>| {
        let (start, end) = piece(k);
        pull_chunk(PullChunk { blocks, entries, sources: &pull_sources, start, end, first_block, out, counts, seen })
    };
    let add = |a: (u64, u128), b: (u64, u128)| (a.0 + b.0, a.1.wrapping_add(b.1));
    let pieces = out.par_chunks_mut(run * words).zip(counts.par_chunks_mut(run)).enumerate();
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
        Frontier { geometry, count, body: Body::Dense { words, counts } }
    });
    LevelOutput { frontier, visited, digest: Digest(sum) }
}

fn add_counts(counts: &mut [u16], new: &Frontier) {
    match &new.body {
        Body::Empty => {}
        Body::Sparse(v) => {
            let stride = new.geometry.words * 64;
            v.iter().for_each(|p| counts[(p / stride) as usize] += 1);
        }
        Body::Dense { counts: new, .. } => counts.iter_mut().zip(new).for_each(|(c, n)| *c += n),
    }
}

/// Keeps a dense result dense or turns it into positions.
fn settle(geometry: ShardGeometry, count: u64, words: Vec<u64>, counts: Vec<u16>, buffers: &Buffers) -> Frontier {
    if count > Frontier::sparse_limit(geometry) {
        return Frontier { geometry, count, body: Body::Dense { words, counts } };
    }
    let full = Frontier { geometry, count, body: Body::Dense { words, counts } };
    let positions = full.positions();
    recycle(full, buffers);
    Frontier::from_positions(geometry, positions)
}

/// Where the states of a source go under a move, one after another.
struct PushWalk<'a> {
    blocks: &'a Blocks,
    element: u32,
    stride: u32,
    block: u32,
    step: crate::space::block::Step,
}

impl<'a> PushWalk<'a> {
    fn new(blocks: &'a Blocks, entry: Entry) -> PushWalk<'a> {
        let step = crate::space::block::Step { to: 0, element: 0 };
        PushWalk { blocks, element: entry.element, stride: blocks.stride(), block: u32::MAX, step }
    }

    #[inline(always)]
    fn to(&mut self, position: u32) -> u32 {
        let block = position / self.stride;
        if block != self.block {
            self.block = block;
            self.step = self.blocks.walk_block(block, self.element);
        }
        self.step.to * self.stride + self.blocks.tables.apply(self.step.element, position - block * self.stride)
    }
}

fn push(input: LevelInput<'_>, buffers: &Buffers) -> LevelOutput {
    let LevelInput { blocks, geometry, shard, first_block, sources, own, seen } = input;
    let entries = &blocks.pull[shard as usize];
    let seen_set = match &seen {
        Seen::Previous(p) | Seen::Visited(p) => p,
    };
    let total: u64 = sources.iter().map(|s| s.count()).sum();
    // The move takes the source shard of the pull back to this shard.
    let walks: Vec<(&Frontier, Entry)> = sources
        .iter()
        .enumerate()
        .filter(|(_, s)| s.count() > 0)
        .map(|(m, s)| (*s, blocks.push[entries[m].shard as usize][m]))
        .collect();
    debug_assert!(walks.iter().all(|(_, e)| e.shard == shard));
    let positions = if total as usize <= SORT_MAX {
        let mut all: Vec<u32> = Vec::with_capacity(total as usize);
        for (source, entry) in &walks {
            let mut walk = PushWalk::new(blocks, *entry);
            source.for_each(|p| all.push(walk.to(p)));
        }
        all.sort_unstable();
        all.dedup();
        let (mut a, mut b) = (Cursor::new(own), Cursor::new(seen_set));
        all.retain(|&p| !a.has(p) && !b.has(p));
        all
    } else {
        let scratch = buffers.take_scratch(geometry);
        let stride = blocks.stride();
        let mark = |p: u32| {
            let (word, bit) = (&scratch.words[(p / 64) as usize], 1u64 << (p % 64));
            if word.load(Relaxed) & bit == 0 {
                word.fetch_or(bit, Relaxed);
                scratch.touched[(p / stride) as usize].store(1, Relaxed);
            }
        };
        for (source, entry) in &walks {
            match &source.body {
                Body::Sparse(v) => v.par_chunks(8192).for_each(|piece| {
                    let mut walk = PushWalk::new(blocks, *entry);
                    piece.iter().for_each(|&p| mark(walk.to(p)));
                }),
                _ => {
                    let mut walk = PushWalk::new(blocks, *entry);
                    source.for_each(|p| mark(walk.to(p)));
                }
            }
        }
        let words = geometry.words as usize;
        let run = (geometry.blocks as usize).div_ceil(rayon::current_num_threads() * 8).max(64);
        let lists: Vec<Vec<u32>> = (0..(geometry.blocks as usize).div_ceil(run))
            .into_par_iter()
            .map(|k| {
                let mut new = Vec::new();
                let (mut a, mut b) = (Cursor::new(own), Cursor::new(seen_set));
                for block in k * run..((k + 1) * run).min(geometry.blocks as usize) {
                    if scratch.touched[block].load(Relaxed) == 0 {
                        continue;
                    }
                    scratch.touched[block].store(0, Relaxed);
                    for w in block * words..(block + 1) * words {
                        let mut word = scratch.words[w].load(Relaxed);
                        if word == 0 {
                            continue;
                        }
                        scratch.words[w].store(0, Relaxed);
                        while word != 0 {
                            let p = w as u32 * 64 + word.trailing_zeros();
                            word &= word - 1;
                            if !a.has(p) && !b.has(p) {
                                new.push(p);
                            }
                        }
                    }
                }
                new
            })
            .collect();
        buffers.give_scratch(scratch);
        lists.concat()
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
        frontier = Frontier { geometry, count, body: Body::Dense { words, counts } };
    }
    LevelOutput { frontier, visited, digest }
}

/// The set with sorted new positions added.
fn union(set: Frontier, new: &[u32], buffers: &Buffers) -> Frontier {
    let geometry = set.geometry;
    let count = set.count + new.len() as u64;
    if let Body::Dense { mut words, mut counts } = set.body {
        let stride = geometry.words * 64;
        for &p in new {
            words[(p / 64) as usize] |= 1 << (p % 64);
            counts[(p / stride) as usize] += 1;
        }
        return Frontier { geometry, count, body: Body::Dense { words, counts } };
    }
    let mut all = set.positions();
    all.extend_from_slice(new);
    all.sort_unstable();
    let mut out = Frontier::from_positions(geometry, all);
    if count > Frontier::sparse_limit(geometry) {
        let (words, counts) = dense(out, buffers);
        out = Frontier { geometry, count, body: Body::Dense { words, counts } };
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
        Cursor { set, at: 0, started: false }
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

pub(crate) fn positions_digest(positions: &[u32], first_block: u64, stride: u32, keys: &[[u32; 4]]) -> Digest {
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
        Body::Empty => Digest::default(),
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
