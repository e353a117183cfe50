//! Distances modulo 3 checked on a sample: they lead to the roots, in one number of steps whichever way is
//! taken, and neighbours differ by at most one.

use super::Verifier;
use crate::distance::{PackedDistances, Residues};
use crate::group::rng::{SplitMix, mix};
use crate::space::slow::Indexed;
use crate::terms::{EngineError, Level, ShardId};
use rayon::prelude::*;

/// Walks that are taken together.
const TOGETHER: usize = 4096;

/// A walk down to the roots.
struct Walk {
    at: (ShardId, u32),
    residue: u8,
    steps: Level,
    /// Takes the last of the generators that lead nearer, not the first.
    backwards: bool,
    done: bool,
}

impl Verifier {
    /// Checks up to `samples` states of a shard: each has a distance that does not depend on the way down,
    /// each of its neighbours one that differs by at most one. `last` is the last level. Returns the
    /// number of states checked.
    ///
    /// # Errors
    /// [`EngineError::Violated`] with the first state that does not hold, [`EngineError::Input`] where distances
    /// are not at hand, the states have no index, or the list is directed.
    pub fn check_distances(
        &self,
        source: &dyn Residues,
        shard: ShardId,
        last: Level,
        samples: u32,
        seed: u64,
    ) -> Result<u64, EngineError> {
        let space = self.indexed("a sample of distances")?;
        if self.directed {
            return Err(EngineError::Input(
                "a directed list has no distances modulo 3".into(),
            ));
        }
        let numbering = self.numbering(space, shard)?;
        let states = numbering.states();
        let mut rng = SplitMix(mix(seed ^ u64::from(shard.0)));
        let sampled: Vec<u32> = if states <= u64::from(samples) {
            (0..states).map(|n| numbering.position(n)).collect()
        } else {
            (0..samples)
                .map(|_| numbering.position(rng.below(states as usize) as u64))
                .collect()
        };
        let group = 2 + self.moves.len();
        for some in sampled.chunks((TOGETHER / group).max(1)) {
            self.check_some(space, source, shard, last, some)?;
        }
        Ok(sampled.len() as u64)
    }

    fn check_some(
        &self,
        space: &Indexed,
        source: &dyn Residues,
        shard: ShardId,
        last: Level,
        positions: &[u32],
    ) -> Result<(), EngineError> {
        let mut starts = Vec::new();
        for &position in positions {
            starts.push((shard, position));
            starts.push((shard, position));
            starts.extend(self.around(space, (shard, position))?);
        }
        let group = 2 + self.moves.len();
        let steps = self.walk(space, source, last, &starts, |k| k % group == 1)?;
        for (&position, steps) in positions.iter().zip(steps.chunks_exact(group)) {
            let distance = steps[0];
            if steps[1] != distance {
                return Err(wrong(
                    (shard, position),
                    &format!(
                        "has distance {distance} on one way and {} on another",
                        steps[1]
                    ),
                ));
            }
            if let Some(other) = steps.iter().find(|d| d.abs_diff(distance) > 1) {
                return Err(wrong(
                    (shard, position),
                    &format!("has distance {distance} and a neighbour of distance {other}"),
                ));
            }
        }
        Ok(())
    }

    /// All neighbours of a state.
    fn around(
        &self,
        space: &Indexed,
        (shard, position): (ShardId, u32),
    ) -> Result<Vec<(ShardId, u32)>, EngineError> {
        let element = space
            .index
            .unrank(shard, position)
            .ok_or_else(|| wrong((shard, position), "is no state"))?;
        self.moves
            .iter()
            .map(|p| {
                space
                    .index
                    .rank(shard, &p.apply(&element))
                    .ok_or_else(|| wrong((shard, position), "leads out of the space"))
            })
            .collect()
    }

    /// How many steps down to a root each walk takes.
    fn walk(
        &self,
        space: &Indexed,
        source: &dyn Residues,
        last: Level,
        starts: &[(ShardId, u32)],
        backwards: impl Fn(usize) -> bool,
    ) -> Result<Vec<Level>, EngineError> {
        let ask = |places: &[(ShardId, u32)]| -> Result<Vec<u8>, EngineError> {
            let mut found = Vec::with_capacity(places.len());
            source
                .residues(places, &mut found)
                .map_err(EngineError::Input)?;
            if found.len() == places.len() {
                Ok(found)
            } else {
                Err(EngineError::Input(
                    "the source of distances answered with another number of distances".into(),
                ))
            }
        };
        let mut walks: Vec<Walk> = starts
            .iter()
            .zip(ask(starts)?)
            .enumerate()
            .map(|(k, (&at, residue))| Walk {
                at,
                residue,
                steps: 0,
                backwards: backwards(k),
                done: false,
            })
            .collect();
        loop {
            for walk in walks.iter_mut().filter(|w| !w.done) {
                let is_root = space.roots.contains(&walk.at);
                if is_root && walk.residue != 0 {
                    return Err(wrong(walk.at, "is a root and has not distance 0"));
                }
                walk.done = is_root;
                if !is_root && walk.steps >= last {
                    return Err(wrong(walk.at, "is not at the end of a way to a root"));
                }
            }
            let mut open: Vec<&mut Walk> = walks.iter_mut().filter(|w| !w.done).collect();
            if open.is_empty() {
                break;
            }
            let around: Vec<Vec<(ShardId, u32)>> = open
                .par_iter()
                .map(|walk| self.around(space, walk.at))
                .collect::<Result<_, _>>()?;
            let found = ask(&around.concat())?;
            let found = found.chunks_exact(self.moves.len());
            for ((walk, places), residues) in open.iter_mut().zip(&around).zip(found) {
                let nearer = (walk.residue + 2) % 3;
                let next = if walk.backwards {
                    residues.iter().rposition(|&r| r == nearer)
                } else {
                    residues.iter().position(|&r| r == nearer)
                };
                let m = next.ok_or_else(|| wrong(walk.at, "has no neighbour nearer to a root"))?;
                walk.at = places[m];
                walk.residue = nearer;
                walk.steps += 1;
            }
        }
        Ok(walks.iter().map(|w| w.steps).collect())
    }
}

impl PackedDistances {
    /// Compares how many states have each residue with the counts of the shard's levels.
    ///
    /// # Errors
    /// [`EngineError::Violated`] where they differ.
    pub fn check_population(
        &self,
        shard: ShardId,
        levels: impl IntoIterator<Item = (Level, u64)>,
    ) -> Result<(), EngineError> {
        let mut wanted = [0u64; 3];
        for (level, count) in levels {
            wanted[(level % 3) as usize] += count;
        }
        let found = self.population();
        if found == wanted {
            return Ok(());
        }
        Err(EngineError::Violated(format!(
            "verification of the distances of shard {shard}: {found:?} states have distance 0, 1 and 2 modulo 3, the levels have {wanted:?}"
        )))
    }
}

fn wrong((shard, position): (ShardId, u32), what: &str) -> EngineError {
    EngineError::Violated(format!(
        "verification of the distances of shard {shard}: position {position} {what}"
    ))
}
