//! The bare engine, level by level, without a cluster: what `bench` measures and `plan` calibrates with.

use crate::exit::Failure;
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::engine::{Engine, EngineError, Expanded, Seen, ShardId};
use rayon::prelude::*;

/// What the enumeration gave.
#[derive(Debug, Clone, Default)]
pub struct Enumerated {
    pub counts: Vec<u64>,
    /// Largest sum of all frontiers and tables held at one time, in bytes.
    pub peak_bytes: u64,
}

impl Enumerated {
    /// Number of states.
    pub fn states(&self) -> u128 {
        self.counts.iter().map(|&count| u128::from(count)).sum()
    }
}

/// Sets of one shard: its last level, and what the engine needs to leave out.
struct Resident {
    current: Frontier,
    /// Inverse-closed lists: the level before. Directed lists: all levels so far.
    seen: Seen,
}

/// Enumerates everything; a barrier after every level. Runs in the rayon pool it is called in.
pub fn enumerate(engine: &Engine) -> Result<Enumerated, Failure> {
    let sources: Vec<Vec<ShardId>> = shards(engine).map(|shard| engine.sources(shard)).collect();
    let mut residents: Vec<Resident> = shards(engine).map(|shard| begin(engine, shard)).collect();
    let mut result = Enumerated::default();
    let roots: u64 = residents.iter().map(|r| r.current.count()).sum();
    result.counts.push(roots);
    for level in 1.. {
        let (frontiers, seen): (Vec<Frontier>, Vec<Seen>) =
            residents.into_iter().map(|r| (r.current, r.seen)).unzip();
        let expanded: Vec<Expanded> = seen
            .into_par_iter()
            .zip(&sources)
            .enumerate()
            .map(|(index, (seen, sources))| {
                let shard = shard_id(index);
                let inputs: Vec<(ShardId, &Frontier)> =
                    sources.iter().map(|&source| (source, &frontiers[source.0 as usize])).collect();
                engine.expand(level, shard, &inputs, &frontiers[index], seen, 0)
            })
            .collect::<Result<_, EngineError>>()?;
        let held: u64 = frontiers.iter().map(Frontier::memory_bytes).sum::<u64>()
            + expanded.iter().map(expanded_bytes).sum::<u64>();
        result.peak_bytes = result.peak_bytes.max(held + engine.table_bytes());
        let count: u64 = expanded.iter().map(|e| e.frontier.count()).sum();
        if count == 0 {
            break;
        }
        result.counts.push(count);
        residents = frontiers.into_iter().zip(expanded).map(|(before, e)| advance(before, e)).collect();
    }
    Ok(result)
}

fn shards(engine: &Engine) -> impl Iterator<Item = ShardId> {
    (0..engine.shards()).map(ShardId)
}

fn shard_id(index: usize) -> ShardId {
    ShardId(u32::try_from(index).unwrap_or(u32::MAX))
}

fn begin(engine: &Engine, shard: ShardId) -> Resident {
    let current = engine.roots(shard);
    let seen = if engine.is_directed() {
        Seen::Visited(current.clone())
    } else {
        Seen::Previous(Frontier::empty(engine.geometry(shard)))
    };
    Resident { current, seen }
}

fn advance(before: Frontier, expanded: Expanded) -> Resident {
    let seen = match expanded.visited {
        Some(visited) => Seen::Visited(visited),
        None => Seen::Previous(before),
    };
    Resident { current: expanded.frontier, seen }
}

fn expanded_bytes(expanded: &Expanded) -> u64 {
    expanded.frontier.memory_bytes() + expanded.visited.as_ref().map_or(0, Frontier::memory_bytes)
}

/// A pool of `threads` threads for [`enumerate`].
pub fn pool(threads: u32) -> Result<rayon::ThreadPool, Failure> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads as usize)
        .build()
        .map_err(|error| Failure::input(format!("{threads} threads cannot be started: {error}; ask for fewer")))
}
