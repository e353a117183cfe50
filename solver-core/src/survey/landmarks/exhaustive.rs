//! Distances of chosen states and the diameter, from a breadth-first enumeration of the whole group.

use crate::bfs::enumerate::enumerate_until;
use crate::engine::{Engine, EngineError, KernelChoice};
use crate::perm::Perm;
use crate::puzzle::{Puzzle, State};
use crate::space::SpaceDef;
use std::ops::ControlFlow;

/// What a whole enumeration says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exhaustive {
    /// Number of states at each distance from the identity.
    pub levels: Vec<u64>,
    /// One a target: its distance, `None` outside of the group.
    pub distances: Vec<Option<u32>>,
}

impl Exhaustive {
    /// The largest distance. The graph looks the same from every state, so it is the diameter.
    pub fn diameter(&self) -> u32 {
        self.levels.len() as u32 - 1
    }
}

/// About how many bytes an enumeration of this index takes: three sets of bits.
pub fn bytes(def: &SpaceDef) -> u64 {
    let states: u64 = def.shard_states.iter().sum();
    // Leaves of 60 states fill words of 64 bits.
    states / 60 * 8 * 3 + (16 << 20)
}

/// Enumerates `puzzle`, whose only root must be the identity, and notes when each target appears.
///
/// # Errors
/// Those of the engine; [`EngineError::Stopped`] soon after `stop` says yes.
pub fn enumerate(
    puzzle: &Puzzle,
    def: &SpaceDef,
    targets: &[Perm],
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Exhaustive, EngineError> {
    let engine = Engine::load(puzzle, def, KernelChoice::Auto)?;
    let places: Vec<_> = targets
        .iter()
        .map(|s| engine.places_of(&State::from(s.images())))
        .collect();
    let mut distances = vec![None; targets.len()];
    let known = def.states.as_ref().and_then(|s| s.parse().ok());
    let (levels, _) = enumerate_until(&engine, None, known, 10, |level, sets| {
        for (place, distance) in places.iter().zip(&mut distances) {
            if place
                .iter()
                .any(|&(shard, at)| sets[shard.0 as usize].contains(at))
            {
                *distance = Some(level.level);
            }
        }
        if stop() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(Exhaustive {
        levels: levels.iter().map(|l| l.count).collect(),
        distances,
    })
}
