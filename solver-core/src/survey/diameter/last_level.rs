//! The whole last level of a directed Cayley graph, where a list of some of its states is not enough.

use crate::bfs::enumerate::enumerate;
use crate::engine::{Engine, EngineError, KernelChoice};
use crate::puzzle::Puzzle;
use crate::space::SpaceDef;

/// Bitmaps of the whole space that an enumeration holds at once, at most.
const BITMAPS: u64 = 5;

/// How many states at greatest distance from the root have their inverse there too: the pairs whose way back is
/// as long, by the root. One more search, in memory. `None` where that would need more than `memory` bytes or
/// states are not group elements.
///
/// # Errors
/// As [`Engine::load`] and [`Engine::expand`].
pub fn mutual_of_last_level(
    puzzle: &Puzzle,
    def: &SpaceDef,
    kernel: KernelChoice,
    memory: u64,
) -> Result<Option<u64>, EngineError> {
    let bytes: u64 = def.shard_bytes.iter().sum();
    if def.kind != "chain" || bytes.saturating_mul(BITMAPS) > memory {
        return Ok(None);
    }
    let engine = Engine::load(puzzle, def, kernel)?;
    let known = def.states.as_ref().and_then(|n| n.parse().ok());
    let (_, last) = enumerate(&engine, None, known, 0, |_| ())?;
    Ok(engine.mutual(&last))
}
