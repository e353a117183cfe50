//! Certificates: a sample of every level is checked with raw permutations and the slow ranking,
//! never with the tables under test, and from the task's own inputs alone.
//!
//! Two halves, which together say that levels are exact. Predecessors: a sampled state of level
//! `l`, moved back by some generator, lies in level `l-1`. Successors: a sampled state of level
//! `l-1`, moved by a generator, lies in a level known once `l` is (inverse-closed lists: in
//! `l-2..=l`); had a state of level `l` a predecessor earlier than `l-1`, that state's own successor
//! check would have failed at its level. So "none earlier" needs no older frontier to be kept.

use super::frontier::{Body, Frontier};
use crate::engine::{Certificate, EngineError, Level, ShardId};
use crate::group::rng::{SplitMix, mix};
use crate::perm::Perm;
use crate::space::Index;

/// The question half: which positions must turn out to be in the new frontier.
pub(crate) struct Questions {
    must_be_new: Vec<u32>,
    asked: u64,
    rng: SplitMix,
    samples: u32,
}

fn violated(what: String) -> EngineError {
    EngineError::Violated(what)
}

/// Samples successors before the level is computed (its inputs are consumed by that).
#[expect(clippy::too_many_arguments, reason = "the inputs of one level, named one by one")]
pub(crate) fn ask(
    index: &dyn Index,
    moves: &[Perm],
    level: Level,
    shard: ShardId,
    sources: &[(ShardId, &Frontier)],
    own: &Frontier,
    seen: &Frontier,
    samples: u32,
) -> Result<Questions, EngineError> {
    let mut rng = SplitMix(mix(u64::from(level) << 32 | u64::from(shard.0)));
    let (mut must_be_new, mut asked) = (Vec::new(), 0);
    for (m, p) in moves.iter().enumerate() {
        let (source, frontier) = sources[m];
        for position in sample(frontier, samples, &mut rng) {
            let Some(state) = index.unrank(source, position) else {
                return Err(violated(format!("position {position} of shard {source}, level {}, is no state", level - 1)));
            };
            let next = p.apply(&state);
            match index.rank(source, &next) {
                Some((to, at)) if to == shard => {
                    asked += 1;
                    if !own.contains(at) && !seen.contains(at) {
                        must_be_new.push(at);
                    }
                }
                other => {
                    return Err(violated(format!(
                        "level {level}: generator {m} takes a state of shard {source} to {other:?}, expected in shard {shard}"
                    )));
                }
            }
        }
    }
    Ok(Questions { must_be_new, asked, rng, samples })
}

/// Checks the answers and samples predecessors.
pub(crate) fn check(
    index: &dyn Index,
    moves: &[Perm],
    level: Level,
    shard: ShardId,
    sources: &[(ShardId, &Frontier)],
    new: &Frontier,
    questions: Questions,
) -> Result<Certificate, EngineError> {
    let Questions { must_be_new, asked, mut rng, samples } = questions;
    if let Some(at) = must_be_new.iter().find(|&&at| !new.contains(at)) {
        return Err(violated(format!(
            "certificate of level {level}, shard {shard}: position {at} is a successor of level {} but was not found",
            level - 1
        )));
    }
    let inverses: Vec<Perm> = moves.iter().map(Perm::inverse).collect();
    let mut predecessors = 0;
    for position in sample(new, samples, &mut rng) {
        let Some(state) = index.unrank(shard, position) else {
            return Err(violated(format!("position {position} of shard {shard}, level {level}, is no state")));
        };
        let found = inverses.iter().enumerate().any(|(m, inverse)| {
            let (source, frontier) = sources[m];
            match index.rank(shard, &inverse.apply(&state)) {
                Some((to, at)) => to == source && frontier.contains(at),
                None => false,
            }
        });
        if !found {
            return Err(violated(format!(
                "certificate of level {level}, shard {shard}: position {position} has no predecessor in level {}",
                level - 1
            )));
        }
        predecessors += 1;
    }
    Ok(Certificate { predecessors, successors: asked })
}

/// All positions of a small set, else `samples` random ones.
fn sample(set: &Frontier, samples: u32, rng: &mut SplitMix) -> Vec<u32> {
    if set.count() <= u64::from(samples) {
        return set.positions();
    }
    match &set.body {
        Body::Empty => Vec::new(),
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
