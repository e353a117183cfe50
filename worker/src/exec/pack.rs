//! The distances of a shard, from its levels one after the other: a few sets are in memory at a time,
//! however many levels there are.

use super::frontier_name;
use crate::artifacts::Content;
use crate::artifacts::fetch::{Gatherer, Inputs};
use crate::beside::Beside;
use crate::compute::Compute;
use antipode_ids::JobId;
use antipode_proto::message::{ArtifactKind, ArtifactName, Failure, Input};
use antipode_solver_core::distance::Builder;
use antipode_solver_core::engine::{Level, ShardId};
use std::sync::Arc;

/// States in a byte of the result.
const STATES_PER_BYTE: u64 = 5;

/// The name of what is made.
pub fn name(job: JobId, last: Level, shard: ShardId) -> ArtifactName {
    ArtifactName {
        job,
        level: last,
        shard,
        kind: ArtifactKind::Distances,
    }
}

/// All inputs.
pub fn names(job: JobId, last: Level, shard: ShardId) -> Vec<ArtifactName> {
    (1..=last)
        .map(|level| frontier_name(job, level, shard))
        .collect()
}

/// Two bitmaps, the result, and the result again as bytes for the disk.
pub fn working_bytes(engine: &dyn Compute, shard: ShardId) -> u64 {
    let packed = engine.geometry(shard).states.div_ceil(STATES_PER_BYTE);
    2 * engine.expand_bytes(shard) + 2 * packed
}

/// Reads the levels and packs them. What comes from disk or from others is not kept.
pub async fn build(
    engine: Arc<dyn Compute>,
    shard: ShardId,
    mut wanted: Vec<Input>,
    gatherer: &Gatherer,
    (beside, pool): (&Beside, &Arc<rayon::ThreadPool>),
) -> Result<Inputs, Failure> {
    let numbering = engine.numbering(shard).filter(|_| !engine.is_directed());
    let Some(numbering) = numbering else {
        return Err(Failure::Other(
            "distances are packed for lists closed under inverse, in spaces with an index".into(),
        ));
    };
    let panicked = |error: crate::beside::Panicked| Failure::Other(error.to_string());
    let roots = engine.roots(shard);
    let mut inputs = Inputs::default();
    wanted.sort_by_key(|input| input.name.level);
    let begun = beside.run(move || {
        let mut builder = Builder::new(numbering);
        builder.add(0, &roots).map(|()| builder)
    });
    let mut builder = begun.await.map_err(panicked)?.map_err(violated)?;
    for input in wanted {
        let level = input.name.level;
        let (content, bytes) = gatherer.borrow(engine.clone(), input).await?;
        inputs.fetched_bytes += bytes;
        let added = beside.run(move || {
            if let Content::Set(set) = content {
                builder.add(level, &set)?;
            }
            Ok(builder)
        });
        builder = added.await.map_err(panicked)?.map_err(violated)?;
    }
    let pool = pool.clone();
    let finished = beside.run(move || {
        let distances = builder.finish()?;
        let digest = pool.install(|| engine.distance_digest(shard, &distances));
        Ok((Arc::new(distances), digest))
    });
    let finished = finished.await.map_err(panicked)?;
    let packed = finished.map_err(|error: antipode_solver_core::distance::DistanceError| {
        Failure::Other(error.to_string())
    })?;
    inputs.packed = Some(packed);
    Ok(inputs)
}

/// The sets are what their digests say, so they must be disjoint sets of states.
fn violated(error: antipode_solver_core::distance::DistanceError) -> Failure {
    Failure::Violated(error.to_string())
}
