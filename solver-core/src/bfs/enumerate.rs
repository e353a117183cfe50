//! The plain loop over levels and shards, all in memory: for library users, benchmarks and tests.
//! The cluster runs the same engine task by task instead.

use super::frontier::Frontier;
use crate::engine::{Certificate, Digest, Engine, EngineError, Level, Seen, ShardId};
use std::ops::ControlFlow;

/// One finished level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelCount {
    pub level: Level,
    pub count: u64,
    pub digest: Digest,
    pub certificate: Certificate,
    /// Bytes of all frontiers held when the level was finished, the level before included.
    pub held_bytes: u64,
}

/// Enumerates level by level until no state is new, `known` states are reached (level sizes
/// beyond are then known to be zero), or `depth` levels are done. `samples` states a task are
/// certified. `each` sees every finished level; the last frontiers come back with the counts.
pub fn enumerate(
    engine: &Engine,
    depth: Option<Level>,
    known: Option<u64>,
    samples: u32,
    mut each: impl FnMut(&LevelCount),
) -> Result<(Vec<LevelCount>, Vec<Frontier>), EngineError> {
    enumerate_with(engine, depth, known, samples, |level, _| each(level))
}

/// The same, where `each` sees the frontiers of the level too, by shard.
pub fn enumerate_with(
    engine: &Engine,
    depth: Option<Level>,
    known: Option<u64>,
    samples: u32,
    mut each: impl FnMut(&LevelCount, &[Frontier]),
) -> Result<(Vec<LevelCount>, Vec<Frontier>), EngineError> {
    enumerate_until(engine, depth, known, samples, |level, sets| {
        each(level, sets);
        ControlFlow::Continue(())
    })
}

/// The same, where `each` can end the enumeration with [`EngineError::Stopped`].
pub fn enumerate_until(
    engine: &Engine,
    depth: Option<Level>,
    known: Option<u64>,
    samples: u32,
    mut each: impl FnMut(&LevelCount, &[Frontier]) -> ControlFlow<()>,
) -> Result<(Vec<LevelCount>, Vec<Frontier>), EngineError> {
    let shards: Vec<ShardId> = (0..engine.shards()).map(ShardId).collect();
    let mut now: Vec<Frontier> = shards.iter().map(|&s| engine.roots(s)).collect();
    let mut seen: Vec<Frontier> = if engine.is_directed() {
        now.clone()
    } else {
        shards
            .iter()
            .map(|&s| Frontier::empty(engine.geometry(s)))
            .collect()
    };
    let digest = |set: &[Frontier]| {
        shards
            .iter()
            .zip(set)
            .fold(Digest::default(), |d, (&s, f)| d.plus(engine.digest(s, f)))
    };
    let first = LevelCount {
        level: 0,
        count: now.iter().map(Frontier::count).sum(),
        digest: digest(&now),
        certificate: Certificate::default(),
        held_bytes: bytes(&now) + bytes(&seen),
    };
    if each(&first, &now).is_break() {
        return Err(EngineError::Stopped);
    }
    let mut levels = vec![first];
    let mut sum = first.count;
    loop {
        let level = levels.len() as Level;
        if depth.is_some_and(|d| level > d) || known == Some(sum) {
            break;
        }
        let mut done = LevelCount {
            level,
            count: 0,
            digest: Digest::default(),
            certificate: Certificate::default(),
            held_bytes: 0,
        };
        let mut next = Vec::with_capacity(shards.len());
        let mut visited = Vec::new();
        for (&s, before) in shards.iter().zip(seen) {
            let sources: Vec<(ShardId, &Frontier)> = engine
                .sources(s)
                .into_iter()
                .map(|t| (t, &now[t.0 as usize]))
                .collect();
            let before = if engine.is_directed() {
                Seen::Visited(before)
            } else {
                Seen::Previous(before)
            };
            let out = engine.expand(level, s, &sources, &now[s.0 as usize], before, samples)?;
            done.count += out.frontier.count();
            done.digest = done.digest.plus(out.digest);
            done.certificate.predecessors += out.certificate.predecessors;
            done.certificate.successors += out.certificate.successors;
            next.push(out.frontier);
            visited.extend(out.visited);
        }
        if done.count == 0 {
            break;
        }
        sum += done.count;
        done.held_bytes = bytes(&now) + bytes(&next) + bytes(&visited);
        seen = if engine.is_directed() {
            visited
        } else {
            std::mem::take(&mut now)
        };
        now = next;
        if each(&done, &now).is_break() {
            return Err(EngineError::Stopped);
        }
        levels.push(done);
    }
    Ok((levels, now))
}

fn bytes(sets: &[Frontier]) -> u64 {
    sets.iter().map(Frontier::memory_bytes).sum()
}
