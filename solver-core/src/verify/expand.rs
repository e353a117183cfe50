//! One level, state by state: every state of the level before is moved by every generator and ranked.

use super::{Verifier, sparse, violated};
use crate::bfs::frontier::{Body, Frontier, ShardGeometry};
use crate::space::slow::{Indexed, Slow};
use crate::terms::{EngineError, Level, ShardId};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// With fewer successors than this share of all bits they are collected in lists.
const LIST_SHARE: u64 = 32;

impl Verifier {
    /// Frontier(`level`) of some shards. `before` holds frontier(level-1) of all shards a move may come from,
    /// `seen(shard)` the sets whose states are not new: for lists closed under inverse frontier(level-1) and
    /// frontier(level-2) of the shard, for directed ones all levels before.
    ///
    /// # Errors
    /// [`EngineError::Input`] for a set of another shape, [`EngineError::Violated`] where a set holds a
    /// position that is no state or a move leads out of the space.
    pub fn expand<'a>(
        &self,
        level: Level,
        shards: &[ShardId],
        before: &[(ShardId, &Frontier)],
        seen: impl Fn(ShardId) -> Vec<&'a Frontier>,
    ) -> Result<Vec<Frontier>, EngineError> {
        for &(shard, set) in before {
            if shard.0 >= self.shards() || set.geometry() != self.geometry(shard) {
                return Err(EngineError::Input(format!(
                    "verification of level {level}: the frontier of shard {shard} has another shape"
                )));
            }
        }
        let mut found = match &self.space {
            Slow::Sparse(def) => sparse::successors(def, &self.moves, before, shards),
            Slow::Indexed(space) => {
                let sources: u64 = before.iter().map(|(_, f)| f.count()).sum();
                let bits: u64 = shards
                    .iter()
                    .map(|&s| self.geometry(s).dense_bytes() * 8)
                    .sum();
                if sources * self.moves.len() as u64 * LIST_SHARE < bits {
                    self.lists(space, level, shards, before)?
                } else {
                    self.bitmaps(space, level, shards, before)?
                }
            }
        };
        for (new, &shard) in found.iter_mut().zip(shards) {
            for set in seen(shard) {
                if set.geometry() != self.geometry(shard) {
                    return Err(EngineError::Input(format!(
                        "verification of level {level}: what was seen of shard {shard} has another shape"
                    )));
                }
                *new = without(std::mem::replace(new, Frontier::empty(new.geometry())), set);
            }
        }
        Ok(found.into_iter().map(Frontier::compact).collect())
    }

    /// Calls `visit` with every successor of a set.
    fn successors(
        &self,
        space: &Indexed,
        level: Level,
        shard: ShardId,
        positions: &[u32],
        mut visit: impl FnMut(ShardId, u32),
    ) -> Result<(), EngineError> {
        for &position in positions {
            let Some(element) = space.index.unrank(shard, position) else {
                let what = format!("position {position} of the level before is no state");
                return Err(violated(level, shard, what));
            };
            for (m, p) in self.moves.iter().enumerate() {
                let Some((to, at)) = space.index.rank(shard, &p.apply(&element)) else {
                    let what =
                        format!("generator {m} leads from position {position} out of the space");
                    return Err(violated(level, shard, what));
                };
                visit(to, at);
            }
        }
        Ok(())
    }

    /// Few successors: lists, sorted.
    fn lists(
        &self,
        space: &Indexed,
        level: Level,
        shards: &[ShardId],
        before: &[(ShardId, &Frontier)],
    ) -> Result<Vec<Frontier>, EngineError> {
        let place_of: HashMap<ShardId, usize> = shards.iter().copied().zip(0..).collect();
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); shards.len()];
        for &(shard, set) in before {
            let found: Vec<Vec<(usize, u32)>> = pieces(set)
                .into_par_iter()
                .map(|piece| {
                    let mut out = Vec::new();
                    self.successors(space, level, shard, &piece.positions(), |to, at| {
                        out.extend(place_of.get(&to).map(|&k| (k, at)));
                    })?;
                    Ok(out)
                })
                .collect::<Result<_, EngineError>>()?;
            for (k, at) in found.into_iter().flatten() {
                lists[k].push(at);
            }
        }
        Ok(shards
            .iter()
            .zip(lists)
            .map(|(&shard, mut list)| {
                list.sort_unstable();
                list.dedup();
                Frontier::from_positions(self.geometry(shard), list)
            })
            .collect())
    }

    /// Many successors: bitmaps that all threads write.
    fn bitmaps(
        &self,
        space: &Indexed,
        level: Level,
        shards: &[ShardId],
        before: &[(ShardId, &Frontier)],
    ) -> Result<Vec<Frontier>, EngineError> {
        let place_of: HashMap<ShardId, usize> = shards.iter().copied().zip(0..).collect();
        let bitmaps: Vec<Vec<AtomicU64>> = shards
            .iter()
            .map(|&s| {
                let words = self.geometry(s).dense_bytes() / 8;
                (0..words).map(|_| AtomicU64::new(0)).collect()
            })
            .collect();
        for &(shard, set) in before {
            pieces(set).into_par_iter().try_for_each(|piece| {
                self.successors(space, level, shard, &piece.positions(), |to, at| {
                    if let Some(&k) = place_of.get(&to) {
                        bitmaps[k][(at / 64) as usize].fetch_or(1 << (at % 64), Relaxed);
                    }
                })
            })?;
        }
        Ok(shards
            .iter()
            .zip(bitmaps)
            .map(|(&shard, bits)| {
                let words = bits.into_iter().map(AtomicU64::into_inner).collect();
                Frontier::from_words(self.geometry(shard), words)
            })
            .collect())
    }
}

/// A piece of a set, for one thread.
enum Piece<'a> {
    Positions(&'a [u32]),
    /// The number of the first word, and the words.
    Words(u32, &'a [u64]),
}

impl Piece<'_> {
    fn positions(&self) -> Vec<u32> {
        match self {
            Piece::Positions(positions) => positions.to_vec(),
            Piece::Words(first, words) => {
                let mut out = Vec::new();
                for (w, &word) in (*first..).zip(*words) {
                    let mut left = word;
                    while left != 0 {
                        out.push(w * 64 + left.trailing_zeros());
                        left &= left - 1;
                    }
                }
                out
            }
        }
    }
}

fn pieces(set: &Frontier) -> Vec<Piece<'_>> {
    const WORDS: usize = 256;
    match &set.body {
        Body::Empty | Body::Keys(_) => Vec::new(),
        Body::Sparse(positions) => positions.chunks(1024).map(Piece::Positions).collect(),
        Body::Dense { words, .. } => words
            .chunks(WORDS)
            .enumerate()
            .map(|(k, words)| Piece::Words((k * WORDS) as u32, words))
            .collect(),
    }
}

/// The states of a set that are not in another.
fn without(set: Frontier, other: &Frontier) -> Frontier {
    let geometry: ShardGeometry = set.geometry();
    if other.count() == 0 {
        return set;
    }
    match set.body {
        Body::Empty => set,
        Body::Keys(keys) => sparse::without(geometry, &keys, other),
        Body::Sparse(mut positions) => {
            positions.retain(|&p| !other.contains(p));
            Frontier::from_positions(geometry, positions)
        }
        Body::Dense { mut words, .. } => {
            match &other.body {
                Body::Dense { words: others, .. } => words
                    .iter_mut()
                    .zip(others)
                    .for_each(|(word, other)| *word &= !other),
                _ => other.for_each(|p| words[(p / 64) as usize] &= !(1 << (p % 64))),
            }
            Frontier::from_words(geometry, words)
        }
    }
}
