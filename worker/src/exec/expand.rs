//! One level of one shard.

use super::{Made, Work, failure, frontier_name, input};
use crate::artifacts::Artifacts;
use crate::compute::Compute;
use antipode_ids::JobId;
use antipode_proto::message::{ArtifactKind, ArtifactName, Failure};
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::engine::{Digest, Level, Seen, ShardId};
use antipode_solver_core::job::{SAMPLES_PER_LEVEL, TaskOutput};
use std::sync::Arc;

/// What was seen before: frontier(level-2), or the union up to level-1 for directed lists. `None`:
/// there is nothing before level 0.
pub fn seen_name(
    engine: &dyn Compute,
    job: JobId,
    level: Level,
    shard: ShardId,
) -> Option<ArtifactName> {
    if engine.is_directed() {
        return Some(ArtifactName {
            job,
            level: level - 1,
            shard,
            kind: ArtifactKind::Visited,
        });
    }
    level
        .checked_sub(2)
        .map(|before| frontier_name(job, before, shard))
}

/// All inputs, each once: the source shards' and the own frontier(level-1), and what was seen.
pub fn names(engine: &dyn Compute, job: JobId, level: Level, shard: ShardId) -> Vec<ArtifactName> {
    let mut names: Vec<ArtifactName> = engine
        .sources(shard)
        .into_iter()
        .map(|source| frontier_name(job, level - 1, source))
        .collect();
    names.push(frontier_name(job, level - 1, shard));
    names.extend(seen_name(engine, job, level, shard));
    names.sort_unstable();
    names.dedup();
    names
}

pub fn run(
    mut work: Work,
    level: Level,
    shard: ShardId,
    artifacts: &Artifacts,
    lost: &mut Vec<ArtifactName>,
) -> Result<Made, Failure> {
    let (job, engine) = (work.job, work.engine.clone());
    let sources: Vec<(ShardId, Arc<Frontier>)> = engine
        .sources(shard)
        .into_iter()
        .map(|source| (source, input(&work, frontier_name(job, level - 1, source))))
        .collect();
    let own = input(&work, frontier_name(job, level - 1, shard));
    let mut seen_digest = Digest::default();
    let seen = match seen_name(&*engine, job, level, shard) {
        None => Frontier::empty(engine.geometry(shard)),
        Some(name) => {
            let seen = input(&work, name);
            seen_digest = match work.inputs.digests.get(&name) {
                Some(digest) => *digest,
                None if engine.is_directed() => engine.digest(shard, &seen), // roots, or empty
                None => Digest::default(),
            };
            // Only a frontier may be among the sources as well; those are of another level.
            work.inputs.frontiers.remove(&name);
            if work.consume && name.level > 0 && artifacts.consume(name) {
                lost.push(name);
            }
            // A copy if it is kept, or somebody is just reading it.
            Arc::try_unwrap(seen).unwrap_or_else(|kept| (*kept).clone())
        }
    };
    let seen = if engine.is_directed() {
        Seen::Visited(seen)
    } else {
        Seen::Previous(seen)
    };
    let borrowed: Vec<(ShardId, &Frontier)> = sources
        .iter()
        .map(|(source, frontier)| (*source, &**frontier))
        .collect();
    let samples = SAMPLES_PER_LEVEL.div_ceil(engine.shards().max(1)).max(1);
    let expanded = engine
        .expand(level, shard, &borrowed, &own, seen, samples)
        .map_err(failure)?;
    let expanded = work.sabotage.at_the_end(&*engine, level, shard, expanded);

    let count = expanded.frontier.count();
    let (digest, certificate) = (expanded.digest, expanded.certificate);
    let on_device = expanded.on_device;
    if let Some(visited) = expanded.visited {
        let name = ArtifactName {
            job,
            level,
            shard,
            kind: ArtifactKind::Visited,
        };
        // Disjoint sets: the sum is the digest of the union.
        let digest = seen_digest.plus(digest);
        artifacts.insert_made(name, visited, digest, certificate, work.basis);
    } else if engine.is_directed() {
        return Err(Failure::Violated(format!(
            "level {level} of shard {shard} has no visited set"
        )));
    }
    artifacts.insert_made(
        frontier_name(job, level, shard),
        expanded.frontier,
        digest,
        certificate,
        work.basis,
    );
    let output = TaskOutput::Expanded {
        count,
        digest,
        certificate,
    };
    Ok(Made { output, on_device })
}
