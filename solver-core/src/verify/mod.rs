//! Verification: levels and distances made again with raw permutations and the slow ranking.
//!
//! Nothing here loads a table of moves or a kernel; what is shared with the engine is the stored index, its
//! slow ranking, and the arithmetic of the digest. So a wrong table, a wrong kernel or a flipped
//! bit in what was kept gives another count or another digest here.

mod distances;
mod expand;
mod kept;
mod levels;
mod sparse;

pub use levels::{Levels, VerifiedLevel};

use crate::bfs::digest;
use crate::bfs::frontier::{Frontier, ShardGeometry};
use crate::distance::Numbering;
use crate::group::rng::{SplitMix, mix};
use crate::perm::Perm;
use crate::puzzle::Puzzle;
use crate::space::SpaceDef;
use crate::space::slow::{self, Indexed, Slow};
use crate::space::sparse::digest_of_keys;
use crate::terms::{Digest, EngineError, Level, ShardId, SpaceError};

/// States that are asked where they come from.
const SOURCE_SAMPLES: u32 = 8;

/// A stored index with nothing but its slow ranking. Immutable and shareable; parallel loops run in the
/// rayon pool it is called in.
pub struct Verifier {
    space: Slow,
    moves: Vec<Perm>,
    inverses: Vec<Perm>,
    directed: bool,
}

impl Verifier {
    /// Reads a stored index, without making tables of it.
    ///
    /// # Errors
    /// [`SpaceError::Damaged`] where it does not belong to the puzzle or to what is said about it.
    pub fn load(puzzle: &Puzzle, def: &SpaceDef) -> Result<Verifier, SpaceError> {
        let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
        Ok(Verifier {
            space: slow::load(puzzle, def)?,
            inverses: moves.iter().map(Perm::inverse).collect(),
            moves,
            directed: def.directed,
        })
    }

    /// Number of shards.
    pub fn shards(&self) -> u32 {
        match &self.space {
            Slow::Indexed(space) => space.shards.len() as u32,
            Slow::Sparse(def) => def.shards,
        }
    }

    /// The shape of a shard's sets.
    pub fn geometry(&self, shard: ShardId) -> ShardGeometry {
        match &self.space {
            Slow::Indexed(space) => space.shards[shard.0 as usize].0,
            Slow::Sparse(def) => def.geometry(),
        }
    }

    /// The shards from which moves lead to a shard, ascending, found by moving some of its states back: where a
    /// shard is one value of a digit prefix every state gives the same answer. A table's and a sparse
    /// space's are all shards.
    ///
    /// # Errors
    /// [`EngineError::Violated`] where a state of the shard comes from outside the space.
    pub fn sources(&self, shard: ShardId) -> Result<Vec<ShardId>, EngineError> {
        let Slow::Indexed(space) = &self.space else {
            return Ok((0..self.shards()).map(ShardId).collect());
        };
        if !space.by_prefix {
            return Ok((0..self.shards()).map(ShardId).collect());
        }
        let numbering = self.numbering(space, shard)?;
        let mut rng = SplitMix(mix(u64::from(shard.0)));
        let mut found = Vec::new();
        for _ in 0..SOURCE_SAMPLES {
            let position = numbering.position(rng.below(numbering.states() as usize) as u64);
            let from = |p: &Perm| {
                let element = space.index.unrank(shard, position)?;
                Some(space.index.rank(shard, &p.apply(&element))?.0)
            };
            for inverse in &self.inverses {
                found.push(from(inverse).ok_or_else(|| {
                    let what = format!("position {position} comes from outside the space");
                    violated(0, shard, what)
                })?);
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// How the states of a shard are numbered without gaps.
    fn numbering(&self, space: &Indexed, shard: ShardId) -> Result<Numbering, EngineError> {
        Numbering::new(self.geometry(shard), space.group.0, space.group.1)
            .ok_or_else(|| violated(0, shard, "its states cannot be numbered".into()))
    }

    /// Level 0 of a shard.
    pub fn roots(&self, shard: ShardId) -> Frontier {
        match &self.space {
            Slow::Indexed(space) => {
                let here = space.roots.iter().filter(|(s, _)| *s == shard);
                let mut positions: Vec<u32> = here.map(|&(_, p)| p).collect();
                positions.sort_unstable();
                positions.dedup();
                Frontier::from_positions(self.geometry(shard), positions)
            }
            Slow::Sparse(def) => sparse::roots(def, shard),
        }
    }

    /// Digest of a set of states of a shard, equal to that of the engine.
    pub fn digest(&self, shard: ShardId, set: &Frontier) -> Digest {
        match &self.space {
            Slow::Indexed(space) => digest::of(set, space.shards[shard.0 as usize].1, &space.keys),
            Slow::Sparse(def) => digest_of_keys(crate::space::sparse::keys(set), def.words()),
        }
    }

    /// The index, where the states have one.
    fn indexed(&self, what: &str) -> Result<&Indexed, EngineError> {
        match &self.space {
            Slow::Indexed(space) => Ok(space),
            Slow::Sparse(_) => Err(EngineError::Input(format!(
                "{what}: the states have no index (sparse kind)"
            ))),
        }
    }
}

/// A law that does not hold.
fn violated(level: Level, shard: ShardId, what: String) -> EngineError {
    EngineError::Violated(format!(
        "verification of level {level}, shard {shard}: {what}"
    ))
}
