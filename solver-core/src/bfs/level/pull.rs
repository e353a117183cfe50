//! Pulling whole superblocks, for levels with many states: every superblock of the shard gathers what
//! the moves bring, so that every word has one writer.

use super::{LevelInput, LevelOutput};
use crate::bfs::buffers::{Bits, Buffers, add_counts};
use crate::bfs::frontier::{Body, Frontier};
use crate::bfs::kernel::{PullChunk, PullSource, SeenChunk, pull_chunk};
use crate::terms::{Digest, Seen};
use rayon::prelude::*;

/// Gathers every superblock and takes away what was seen. The new frontier is made in the place of
/// frontier(level-2), which nobody needs after it; directed lists keep their visited set and get a new bitmap.
pub(super) fn pull(input: LevelInput<'_>, buffers: &Buffers) -> LevelOutput {
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
    // Sparse sources among dense ones are rare; they are made dense for this level, each once.
    let mut bits: Vec<(*const Frontier, Bits<'_>)> = Vec::new();
    for &source in &sources {
        let address: *const Frontier = source;
        if !bits.iter().any(|(a, _)| *a == address) {
            bits.push((address, buffers.bits(source)));
        }
    }
    let pull_sources: Vec<Option<PullSource<'_>>> = sources
        .iter()
        .map(|&source| {
            let address: *const Frontier = source;
            let (_, bits) = bits.iter().find(|(a, _)| *a == address)?;
            let (words, counts) = bits.get()?;
            Some(PullSource { words, counts })
        })
        .collect();
    let own = buffers.bits(own);
    let own_words: Option<&[u64]> = own.get().map(|(words, _)| words);
    // Enough pieces to keep all threads busy to the end, large enough to make the walk cheap.
    let threads = rayon::current_num_threads();
    let run = (geometry.blocks as usize).div_ceil(threads * 16).max(32);
    let (mut out, mut counts, mut visited) = match seen {
        Seen::Previous(p) => {
            let (words, counts) = buffers.dense(p);
            (words, counts, None)
        }
        Seen::Visited(v) => {
            let out = buffers.take(geometry.blocks as usize * words);
            (
                out,
                vec![0u16; geometry.blocks as usize],
                Some(buffers.dense(v)),
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
    let add = |a: (u64, Digest), b: (u64, Digest)| (a.0 + b.0, a.1.plus(b.1));
    let pieces = out
        .par_chunks_mut(run * words)
        .zip(counts.par_chunks_mut(run))
        .enumerate();
    let (count, digest) = match &mut visited {
        None => pieces
            .map(|(k, (out, counts))| {
                let at = k * run * words;
                let own = own_words.map(|o| &o[at..at + out.len()]);
                job(k, out, counts, SeenChunk::Own(own))
            })
            .reduce(|| (0, Digest::default()), add),
        Some((visited, _)) => pieces
            .zip(visited.par_chunks_mut(run * words))
            .map(|((k, (out, counts)), visited)| job(k, out, counts, SeenChunk::Visited(visited)))
            .reduce(|| (0, Digest::default()), add),
    };
    bits.into_iter().for_each(|(_, b)| buffers.give_back(b));
    buffers.give_back(own);
    let frontier = buffers.settled(Frontier::new(
        geometry,
        count,
        Body::Dense { words: out, counts },
    ));
    let visited = visited.map(|(words, mut counts)| {
        add_counts(&mut counts, &frontier);
        let count = counts.iter().map(|&c| u64::from(c)).sum();
        Frontier::new(geometry, count, Body::Dense { words, counts })
    });
    LevelOutput {
        frontier,
        visited,
        digest,
    }
}
