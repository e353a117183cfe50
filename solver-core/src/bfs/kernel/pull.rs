//! Pulling a run of superblocks: which sources each one has, walked ahead of the kernel so that they are on
//! their way to the cache.

use super::gather::{Active, Block, BlockSeen, Gather};
use super::{Inner, Kernel, portable};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::bfs::block::{BlockWalk, Blocks, Entry};
use crate::terms::Digest;

/// A dense source of one move.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PullSource<'a> {
    pub words: &'a [u64],
    pub counts: &'a [u16],
}

/// What was seen before, for the superblocks of the run.
pub(crate) enum SeenChunk<'a> {
    /// Inverse-closed lists: `out` holds frontier(level-2) when the call begins, this is
    /// frontier(level-1) of the same superblocks (`None`: empty).
    Own(Option<&'a [u64]>),
    /// Directed lists: all levels so far; the new states are added.
    Visited(&'a mut [u64]),
}

/// One run of superblocks, `start..end` of the shard.
pub(crate) struct PullChunk<'a> {
    pub blocks: &'a Blocks,
    /// Elements of the inverse moves after the prefix, and the source of each (`None`: empty).
    pub entries: &'a [Entry],
    pub sources: &'a [Option<PullSource<'a>>],
    pub start: u32,
    pub end: u32,
    /// Number of the shard's first superblock in the whole index, for the digest.
    pub first_block: u64,
    pub out: &'a mut [u64],
    pub counts: &'a mut [u16],
    pub seen: SeenChunk<'a>,
}

/// Computes the run; returns the number of new states and their digest.
pub(crate) fn pull_chunk(chunk: PullChunk<'_>) -> (u64, Digest) {
    let tables = &chunk.blocks.tables;
    let words = tables.words;
    let run = (chunk.end - chunk.start) as usize;
    assert!(chunk.out.len() == run * words && chunk.counts.len() == run);
    match &chunk.seen {
        SeenChunk::Own(own) => assert!(own.is_none_or(|o| o.len() == run * words)),
        SeenChunk::Visited(v) => assert!(v.len() == run * words),
    }
    let all = chunk.blocks.blocks as usize;
    for s in chunk.sources.iter().flatten() {
        assert!(s.words.len() == all * words && s.counts.len() == all);
    }
    match (&tables.inner, tables.kernel) {
        #[cfg(target_arch = "x86_64")]
        (Inner::Leaf(t), Kernel::Avx512) => pull(&avx512::Leaf(t), chunk),
        #[cfg(target_arch = "x86_64")]
        (Inner::Leaf(t), Kernel::Avx2) => pull(&avx2::Leaf(t), chunk),
        #[cfg(target_arch = "x86_64")]
        (Inner::Row(t), Kernel::Avx2 | Kernel::Avx512) => pull(&avx2::Row(t), chunk),
        (Inner::Leaf(t), _) => pull(&portable::Leaf(t), chunk),
        (Inner::Row(t), _) => pull(&portable::Row(t), chunk),
    }
}

fn pull<G: Gather>(gather: &G, chunk: PullChunk<'_>) -> (u64, Digest) {
    let PullChunk {
        blocks,
        entries,
        sources,
        start,
        end,
        first_block,
        out,
        counts,
        mut seen,
    } = chunk;
    let tables = &blocks.tables;
    let words = tables.words;
    let (rows, row_bytes) = (gather.rows(), gather.row_bytes(words));
    let mut active: Vec<Active> = Vec::with_capacity(entries.len());
    let (mut total, mut sum) = (0u64, Digest::default());
    let live: Vec<usize> = (0..entries.len())
        .filter(|&m| sources[m].is_some())
        .collect();
    let live_entries: Vec<Entry> = live.iter().map(|&m| entries[m]).collect();
    let live_sources: Vec<PullSource<'_>> = live.iter().filter_map(|&m| sources[m]).collect();
    // A superblock is computed while the sources of the next one are on their way to the cache.
    let mut next: Vec<Active> = Vec::with_capacity(entries.len());
    let mut finish = |block: u32, active: &[Active]| {
        let at = (block - start) as usize;
        let out = &mut out[at * words..(at + 1) * words];
        if active.is_empty() {
            if counts[at] != 0 {
                out.fill(0);
                counts[at] = 0;
            }
            return;
        }
        let seen = match &mut seen {
            SeenChunk::Own(Some(own)) => BlockSeen::Own(&own[at * words..(at + 1) * words]),
            SeenChunk::Own(None) => BlockSeen::OwnEmpty,
            SeenChunk::Visited(visited) => {
                BlockSeen::Visited(&mut visited[at * words..(at + 1) * words])
            }
        };
        let index = first_block + u64::from(block);
        let block = Block {
            active,
            masks: &tables.masks,
            keys: &tables.keys,
            out,
            seen,
            index,
        };
        // SAFETY: sources and rows were taken from checked slices, elements come from closed
        // tables, and the kernel was chosen because the processor has its features.
        let (count, digest) = unsafe { gather.block(block) };
        counts[at] = count as u16;
        total += u64::from(count);
        sum = sum.plus(digest);
    };
    let mut waiting: Option<u32> = None;
    BlockWalk::new(blocks, &live_entries).run(start, end, |block, row| {
        next.clear();
        for (step, source) in row.iter().zip(&live_sources) {
            if source.counts[step.to as usize] != 0 {
                let words = &source.words[step.to as usize * words..][..words];
                prefetch(words);
                next.push(Active {
                    source: words.as_ptr(),
                    row: rows.wrapping_add(step.element as usize * row_bytes),
                });
            }
        }
        if let Some(before) = waiting.replace(block) {
            finish(before, &active);
        }
        std::mem::swap(&mut active, &mut next);
    });
    if let Some(last) = waiting {
        finish(last, &active);
    }
    (total, sum)
}

/// Asks for all cache lines of some words.
#[inline(always)]
fn prefetch(words: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    for line in words.chunks(8) {
        // SAFETY: a prefetch reads nothing, whatever the address.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                line.as_ptr().cast(),
            )
        };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = words;
}
