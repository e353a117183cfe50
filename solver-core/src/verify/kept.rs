//! Kept frontiers checked: a sample of a level's states, or one level of one shard made again.

use super::{Verifier, violated};
use crate::bfs::certificate::sample;
use crate::bfs::frontier::Frontier;
use crate::group::rng::{SplitMix, mix};
use crate::space::slow::Indexed;
use crate::terms::{Certificate, Digest, EngineError, Level, ShardId};
use rayon::prelude::*;
use std::sync::Arc;

/// The frontiers at hand.
type Kept<'a> = dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync + 'a;

/// frontier(level, shard), which must be at hand.
fn need(kept: &Kept<'_>, level: Level, shard: ShardId) -> Result<Arc<Frontier>, EngineError> {
    kept(level, shard).ok_or_else(|| {
        EngineError::Input(format!(
            "frontier({level}, {shard}) is needed for verification and is not at hand"
        ))
    })
}

impl Verifier {
    /// Makes frontier(`level`, `shard`) again from the kept frontiers of level-1 in the shards that
    /// [`Verifier::sources`] names and of level-1 and level-2 (directed lists: all levels before) in this one, and compares count and digest with those accepted.
    ///
    /// # Errors
    /// [`EngineError::Violated`] where they differ, [`EngineError::Input`] where a frontier is not at hand.
    pub fn check_exactly(
        &self,
        level: Level,
        shard: ShardId,
        kept: &Kept<'_>,
        count: u64,
        digest: Digest,
    ) -> Result<(), EngineError> {
        let made = if level == 0 {
            self.roots(shard)
        } else {
            let before: Vec<(ShardId, Arc<Frontier>)> = self
                .sources(shard)?
                .into_iter()
                .map(|s| Ok((s, need(kept, level - 1, s)?)))
                .collect::<Result<_, EngineError>>()?;
            let before: Vec<(ShardId, &Frontier)> =
                before.iter().map(|(s, f)| (*s, f.as_ref())).collect();
            let first = if self.directed {
                0
            } else {
                level.saturating_sub(2)
            };
            let seen: Vec<Arc<Frontier>> = (first..level)
                .map(|l| need(kept, l, shard))
                .collect::<Result<_, _>>()?;
            let seen = |_| seen.iter().map(Arc::as_ref).collect();
            let mut made = self.expand(level, &[shard], &before, seen)?;
            made.remove(0)
        };
        let found = (made.count(), self.digest(shard, &made));
        if found == (count, digest) {
            return Ok(());
        }
        Err(violated(
            level,
            shard,
            format!(
                "made again it has {} states and digest {}, accepted were {count} states and digest {digest}",
                found.0, found.1
            ),
        ))
    }

    /// Checks up to `samples` states of a kept frontier: each is a state, has a predecessor in the level before and is
    /// not in that level itself, and all its successors lie in levels up to the next one (closed lists: from
    /// the one before on). `last` is the last level of the enumeration. Level 0 must be the roots.
    ///
    /// # Errors
    /// [`EngineError::Violated`] with the first state that does not hold, [`EngineError::Input`] where a
    /// frontier is not at hand or the states have no index.
    pub fn check_sample(
        &self,
        level: Level,
        shard: ShardId,
        last: Level,
        kept: &Kept<'_>,
        samples: u32,
        seed: u64,
    ) -> Result<Certificate, EngineError> {
        let space = self.indexed("a sample of kept frontiers")?;
        let set = need(kept, level, shard)?;
        if set.geometry() != self.geometry(shard) {
            return Err(EngineError::Input(format!(
                "frontier({level}, {shard}) has another shape"
            )));
        }
        if level == 0 && set.positions() != self.roots(shard).positions() {
            return Err(violated(level, shard, "it is not the set of roots".into()));
        }
        let mut rng = SplitMix(mix(seed ^ (u64::from(level) << 32 | u64::from(shard.0))));
        let sampled = sample(&set, samples, &mut rng);
        let predecessors = if level == 0 { 0 } else { sampled.len() as u64 };
        let successors = sampled
            .into_par_iter()
            .map(|position| self.check_state(space, (level, shard), last, kept, position))
            .sum::<Result<u64, EngineError>>()?;
        Ok(Certificate {
            predecessors,
            successors,
        })
    }

    /// One state of a frontier; how many successors were looked for.
    fn check_state(
        &self,
        space: &Indexed,
        (level, shard): (Level, ShardId),
        last: Level,
        kept: &Kept<'_>,
        position: u32,
    ) -> Result<u64, EngineError> {
        let wrong = |what: &str| violated(level, shard, format!("position {position} {what}"));
        let element = space
            .index
            .unrank(shard, position)
            .filter(|e| space.index.rank(shard, e) == Some((shard, position)))
            .ok_or_else(|| wrong("is no state"))?;
        if level > 0 {
            if need(kept, level - 1, shard)?.contains(position) {
                return Err(wrong("is in the level before too"));
            }
            let mut found = false;
            for inverse in &self.inverses {
                let from = space.index.rank(shard, &inverse.apply(&element));
                let (s, p) = from.ok_or_else(|| wrong("comes from outside the space"))?;
                if need(kept, level - 1, s)?.contains(p) {
                    found = true;
                    break;
                }
            }
            if !found {
                return Err(wrong("has no predecessor in the level before"));
            }
        }
        let first = if self.directed {
            0
        } else {
            level.saturating_sub(1)
        };
        'moves: for (m, p) in self.moves.iter().enumerate() {
            let to = space.index.rank(shard, &p.apply(&element));
            let (s, at) = to.ok_or_else(|| wrong("leads out of the space"))?;
            for l in (first..=(level + 1).min(last)).rev() {
                if need(kept, l, s)?.contains(at) {
                    continue 'moves;
                }
            }
            return Err(wrong(&format!(
                "is taken by generator {m} to position {at} of shard {s}, which is in none of the levels {first} to {}",
                (level + 1).min(last)
            )));
        }
        Ok(self.moves.len() as u64)
    }
}
