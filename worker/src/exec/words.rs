//! Words of a few states at a known distance.

use super::Work;
use crate::artifacts::Artifacts;
use antipode_solver_core::engine::Level;
use antipode_solver_core::job::TaskOutput;
use antipode_solver_core::puzzle::State;
use std::sync::Arc;

/// Half of what there is, always: whether a word is found must not depend on what happens to be
/// held at the moment.
pub fn working_bytes(usable: u64) -> u64 {
    usable / 2
}

pub fn run(work: &Work, level: Level, states: &[State], artifacts: &Artifacts) -> TaskOutput {
    let memory = working_bytes(artifacts.usable_bytes());
    let kept = |level, shard| match level {
        0 => Some(Arc::new(work.engine.roots(shard))),
        _ => artifacts.any_frontier(work.job, level, shard),
    };
    TaskOutput::Words {
        words: work.engine.words(level, states, &kept, memory),
    }
}
