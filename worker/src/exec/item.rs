//! One item of a batch job.

use super::{Made, Work, failure, frontier_name};
use crate::artifacts::{Artifacts, Content};
use antipode_proto::message::Failure;
use antipode_solver_core::engine::{Digest, Level, ShardId};
use antipode_solver_core::job::TaskOutput;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Where rows stand in the grid of tasks.
pub const LEVEL: Level = 1;
/// The name of their form, on the wire and in stores.
pub const ENCODING: &str = "rows";

/// The digest of an item's record or rows.
pub fn digest_of(bytes: &[u8]) -> Digest {
    Digest(xxh3_128(bytes))
}

/// Computes the item; its rows become an artifact.
pub fn run(work: &Work, item: ShardId, artifacts: &Artifacts) -> Result<Made, Failure> {
    let batch = work
        .engine
        .batch()
        .ok_or_else(|| Failure::Other("the job has no items".into()))?;
    let made = batch.run(item.0, &work.stop).map_err(failure)?;
    let (count, on_device) = (made.count, made.on_device);
    let (digest, record) = match made.rows {
        None => (digest_of(&made.record), made.record),
        Some(rows) => {
            let digest = digest_of(&rows);
            let content = Content::rows(count, Arc::new(rows));
            let name = frontier_name(work.job, LEVEL, item);
            artifacts.insert_kept(name, content, digest, work.basis);
            (digest, Vec::new())
        }
    };
    let output = TaskOutput::Item {
        count,
        digest,
        record,
    };
    Ok(Made { output, on_device })
}
