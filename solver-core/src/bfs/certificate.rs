//! Certificates: a sample of every level is checked with raw permutations and the slow ranking,
//! never with the tables under test, and from the task's own inputs alone.
//!
//! Two halves, which together say that levels are exact. Predecessors: a sampled state of level
//! `l`, moved back by some generator, lies in level `l-1`. Successors: a sampled state of level
//! `l-1`, moved by a generator, lies in a level known once `l` is (inverse-closed lists: in
//! `l-2..=l`); had a state of level `l` a predecessor earlier than `l-1`, that state's own successor
//! check would have failed at its level. So "none earlier" needs no older frontier to be kept.

use super::frontier::{Body, Frontier};
use crate::group::rng::{SplitMix, mix};
use crate::perm::Perm;
use crate::space::Index;
use crate::terms::{Certificate, EngineError, Level, ShardId};
use rayon::prelude::*;

/// Fewer samples than this are not worth another thread.
const SAMPLES_APART: usize = 16;

/// What a certificate is about: one level of one shard, and the inputs of its task.
pub(crate) struct Subject<'a> {
    pub index: &'a dyn Index,
    pub moves: &'a [Perm],
    pub level: Level,
    pub shard: ShardId,
    /// Frontier(level-1) of every source shard.
    pub sources: &'a [(ShardId, &'a Frontier)],
    /// The one source shard of every move, where shards are digit prefixes.
    pub source_of_move: Option<&'a [ShardId]>,
}

/// Positions that must turn out to be in the new frontier.
#[derive(Clone)]
pub(crate) struct Questions {
    must_be_new: Vec<u32>,
    asked: u64,
    rng: SplitMix,
    samples: u32,
}

impl Subject<'_> {
    fn violated(&self, what: String) -> EngineError {
        EngineError::Violated(format!(
            "certificate of level {}, shard {}: {what}",
            self.level, self.shard
        ))
    }

    /// Does the shard lemma let the move lead from `source` to this shard?
    fn allows(&self, generator: usize, source: ShardId) -> bool {
        self.source_of_move
            .is_none_or(|list| list[generator] == source)
    }

    /// Samples successors before the level is computed (its inputs are consumed by that).
    pub fn ask(
        &self,
        own: &Frontier,
        seen: &Frontier,
        samples: u32,
    ) -> Result<Questions, EngineError> {
        let mut rng = SplitMix(mix(u64::from(self.level) << 32 | u64::from(self.shard.0)));
        let (mut must_be_new, mut asked) = (Vec::new(), 0);
        for &(source, frontier) in self.sources {
            let wanted: Vec<usize> = (0..self.moves.len())
                .filter(|&m| self.allows(m, source))
                .collect();
            if wanted.is_empty() {
                continue;
            }
            let answers: Vec<(u64, Vec<u32>)> = sample(frontier, samples, &mut rng)
                .into_par_iter()
                .with_min_len(SAMPLES_APART)
                .map(|position| self.successors(source, position, &wanted, own, seen))
                .collect::<Result<_, _>>()?;
            for (moves, open) in answers {
                asked += moves;
                must_be_new.extend(open);
            }
        }
        Ok(Questions {
            must_be_new,
            asked,
            rng,
            samples,
        })
    }

    /// Moves a sampled state; how many moves end in this shard, and which of them neither in the level
    /// before nor in what was seen.
    fn successors(
        &self,
        source: ShardId,
        position: u32,
        generators: &[usize],
        own: &Frontier,
        seen: &Frontier,
    ) -> Result<(u64, Vec<u32>), EngineError> {
        let state = self.state(source, position)?;
        let (mut asked, mut must_be_new) = (0, Vec::new());
        for &m in generators {
            match self.index.rank(source, &self.moves[m].apply(&state)) {
                Some((to, at)) if to == self.shard => {
                    asked += 1;
                    if !own.contains(at) && !seen.contains(at) {
                        must_be_new.push(at);
                    }
                }
                Some(_) if self.source_of_move.is_none() => {}
                other => {
                    return Err(self.violated(format!(
                        "generator {m} takes position {position} of shard {source} to {other:?}"
                    )));
                }
            }
        }
        Ok((asked, must_be_new))
    }

    /// Checks the answers and samples predecessors.
    pub fn check(&self, new: &Frontier, questions: Questions) -> Result<Certificate, EngineError> {
        let Questions {
            must_be_new,
            asked,
            mut rng,
            samples,
        } = questions;
        if let Some(at) = must_be_new.iter().find(|&&at| !new.contains(at)) {
            return Err(self.violated(format!(
                "position {at} is a successor of the level before but was not found"
            )));
        }
        let inverses: Vec<Perm> = self.moves.iter().map(Perm::inverse).collect();
        let sampled = sample(new, samples, &mut rng);
        let predecessors = sampled.len() as u64;
        sampled
            .into_par_iter()
            .with_min_len(SAMPLES_APART)
            .try_for_each(|position| {
                let state = self.state(self.shard, position)?;
                let found = inverses.iter().enumerate().any(|(m, inverse)| {
                    let Some((to, at)) = self.index.rank(self.shard, &inverse.apply(&state)) else {
                        return false;
                    };
                    self.allows(m, to)
                        && self.sources.iter().any(|(s, f)| *s == to && f.contains(at))
                });
                if found {
                    Ok(())
                } else {
                    Err(self.violated(format!(
                        "position {position} has no predecessor in the level before"
                    )))
                }
            })?;
        Ok(Certificate {
            predecessors,
            successors: asked,
        })
    }

    fn state(&self, shard: ShardId, position: u32) -> Result<Vec<u16>, EngineError> {
        self.index.unrank(shard, position).ok_or_else(|| {
            self.violated(format!("position {position} of shard {shard} is no state"))
        })
    }
}

/// All positions of a small set, else `samples` random ones.
pub(crate) fn sample(set: &Frontier, samples: u32, rng: &mut SplitMix) -> Vec<u32> {
    if set.count() <= u64::from(samples) {
        return set.positions();
    }
    match &set.body {
        Body::Empty | Body::Keys(_) => Vec::new(),
        Body::Sparse(v) => (0..samples).map(|_| v[rng.below(v.len())]).collect(),
        Body::Dense { words, counts } => {
            let per_block = set.geometry.words as usize;
            let mut out = Vec::new();
            for _ in 0..u64::from(samples) * 64 {
                let block = rng.below(counts.len());
                if counts[block] == 0 {
                    continue;
                }
                let mut k = rng.below(usize::from(counts[block])) as u32;
                for w in block * per_block..(block + 1) * per_block {
                    let ones = words[w].count_ones();
                    if k < ones {
                        let mut word = words[w];
                        (0..k).for_each(|_| word &= word - 1);
                        out.push(w as u32 * 64 + word.trailing_zeros());
                        break;
                    }
                    k -= ones;
                }
                if out.len() == samples as usize {
                    break;
                }
            }
            out
        }
    }
}
