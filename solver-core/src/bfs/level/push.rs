//! Pushing single states, for levels with few of them: every source state is moved, and what is new is
//! sorted or collected in a bitmap that fits the cache.

use super::cursor::Cursor;
use super::walk::PushWalk;
use super::{LevelInput, LevelOutput, seen_with};
use crate::bfs::block::{Blocks, Entry};
use crate::bfs::buffers::Buffers;
use crate::bfs::digest;
use crate::bfs::frontier::{Body, Frontier, ShardGeometry};
use rayon::prelude::*;

/// Below this many candidates one thread and one sort do.
const SORT_MAX: usize = 20_000;
/// Candidates are gathered by pieces of 2^19 positions, whose bitmap stays in the second-level cache.
const PIECE_BITS: u32 = 19;

/// Moves every state of the sources and keeps the new ones.
pub(super) fn push(input: LevelInput<'_>, buffers: &Buffers) -> LevelOutput {
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
        new_of(all, own, seen.set())
    } else {
        push_by_pieces(blocks, geometry, &walks, own, seen.set())
    };
    let (stride, keys) = (blocks.stride(), &blocks.tables.keys);
    let digest = digest::of_positions(&positions, first_block, stride, keys);
    let frontier = buffers.settled(Frontier::from_positions(geometry, positions));
    let visited = seen_with(seen, &frontier, buffers);
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
