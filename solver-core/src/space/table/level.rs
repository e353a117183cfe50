//! One level of one shard of a table: every unseen state asks for a predecessor, or every state of a
//! small frontier is moved.

use super::Table;
use crate::bfs::block::Direction;
use crate::bfs::buffers::Bits;
use crate::bfs::frontier::Frontier;
use crate::terms::ShardId;
use rayon::prelude::*;

/// With fewer source states than this share of all states, pushing is faster.
const PUSH_SHARE: u64 = 24;

impl Table {
    /// The new states of a shard.
    pub(super) fn level(
        &self,
        direction: Direction,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: &Frontier,
    ) -> Frontier {
        let total: u64 = sources.iter().map(|(_, f)| f.count()).sum();
        if total == 0 {
            Frontier::empty(self.index.def.geometry(shard.0))
        } else if total * PUSH_SHARE < self.index.def.states {
            self.push(direction, shard, sources, own, seen)
        } else {
            self.pull(direction, shard, sources, own, seen)
        }
    }

    /// Asks every unseen state of the shard whether it has a predecessor in the sources.
    fn pull(
        &self,
        direction: Direction,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: &Frontier,
    ) -> Frontier {
        let geometry = self.index.def.geometry(shard.0);
        let per_shard = self.index.shard_states();
        let bits: Vec<(ShardId, Bits<'_>)> = sources
            .iter()
            .map(|&(s, f)| (s, self.buffers.bits(f)))
            .collect();
        let mut by_shard: Vec<Option<&[u64]>> = vec![None; self.index.def.shards as usize];
        for (s, bits) in &bits {
            by_shard[s.0 as usize] = bits.get().map(|(words, _)| words);
        }
        let single = if let [one] = by_shard[..] { one } else { None };
        let (own, seen) = (self.buffers.bits(own), self.buffers.bits(seen));
        let word_at = |bits: &Bits<'_>, w: usize| bits.get().map_or(0, |(words, _)| words[w]);
        let first = self.index.number(shard, 0);
        let mut out = self
            .buffers
            .take(geometry.blocks as usize * geometry.words as usize);
        out.par_chunks_mut(256).enumerate().for_each(|(k, piece)| {
            for (j, word) in piece.iter_mut().enumerate() {
                let w = k * 256 + j;
                let known = word_at(&own, w) | word_at(&seen, w);
                let mut todo = self.mask(shard, w) & !known;
                while todo != 0 {
                    let bit = todo.trailing_zeros();
                    todo &= todo - 1;
                    let number = (first + w as u32 * 64 + bit) as usize;
                    let found = self.tables(direction.opposite()).iter().any(|table| {
                        let from = table[number];
                        match single {
                            Some(words) => words[(from / 64) as usize] >> (from % 64) & 1 == 1,
                            None => {
                                let (s, p) =
                                    (u64::from(from) / per_shard, u64::from(from) % per_shard);
                                by_shard[s as usize].is_some_and(|words| {
                                    words[(p / 64) as usize] >> (p % 64) & 1 == 1
                                })
                            }
                        }
                    });
                    *word |= u64::from(found) << bit;
                }
            }
        });
        bits.into_iter()
            .for_each(|(_, b)| self.buffers.give_back(b));
        self.buffers.give_back(own);
        self.buffers.give_back(seen);
        self.buffers.settled(Frontier::from_words(geometry, out))
    }

    /// Moves every state of the sources and keeps those that fall into the shard.
    fn push(
        &self,
        direction: Direction,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: &Frontier,
    ) -> Frontier {
        let geometry = self.index.def.geometry(shard.0);
        let mut positions: Vec<u32> = Vec::new();
        for (s, f) in sources {
            f.for_each(|p| {
                let number = self.index.number(*s, p) as usize;
                for table in self.tables(direction) {
                    let (to, at) = self.index.place(table[number]);
                    if to == shard && !own.contains(at) && !seen.contains(at) {
                        positions.push(at);
                    }
                }
            });
        }
        positions.par_sort_unstable();
        positions.dedup();
        self.buffers
            .settled(Frontier::from_positions(geometry, positions))
    }
}
