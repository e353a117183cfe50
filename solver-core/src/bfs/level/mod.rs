//! One level of one shard of a block space: pulls superblocks where many states are about, pushes
//! single states where few are.

mod cursor;
mod pull;
mod push;
mod walk;

use super::buffers::Buffers;
use super::frontier::{Frontier, ShardGeometry};
use crate::bfs::block::{Blocks, Direction};
use crate::terms::{Certificate, Digest, Expanded, Seen};

/// With fewer source states than this share of the shard's states times moves, pushing is faster.
const PUSH_SHARE: u64 = 800;

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

impl LevelOutput {
    /// The result of a task.
    pub fn certified(self, certificate: Certificate) -> Expanded {
        Expanded {
            frontier: self.frontier,
            visited: self.visited,
            digest: self.digest,
            certificate,
            on_device: None,
        }
    }
}

/// Computes the level.
pub(crate) fn compute(input: LevelInput<'_>, buffers: &Buffers) -> LevelOutput {
    let total: u64 = input.sources.iter().map(|s| s.count()).sum();
    let moves = input.sources.len() as u64;
    if total == 0 {
        let frontier = Frontier::empty(input.geometry);
        LevelOutput {
            visited: seen_with(input.seen, &frontier, buffers),
            frontier,
            digest: Digest::default(),
        }
    } else if total * PUSH_SHARE < input.geometry.states * moves {
        push::push(input, buffers)
    } else {
        pull::pull(input, buffers)
    }
}

/// What was seen once the level is done: directed lists add it, the others need no more than the
/// frontiers themselves.
pub(crate) fn seen_with(seen: Seen, new: &Frontier, buffers: &Buffers) -> Option<Frontier> {
    match seen {
        Seen::Visited(v) => Some(buffers.union(v, new)),
        Seen::Previous(p) => {
            buffers.recycle(p);
            None
        }
    }
}
