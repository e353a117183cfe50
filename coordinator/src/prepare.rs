//! From a question to a job's definition: the index is built and checked once, here, off the loop.

use antipode_proto::client::ClientError;
use antipode_proto::codec::{self, kind};
use antipode_solver_core::engine::{Digest, Engine, EngineError, KernelChoice, ShardId};
use antipode_solver_core::job::{JobDefinition, JobSpec};
use antipode_solver_core::space::{self, SpaceDef, SpaceError};
use std::sync::Arc;

/// A definition, and count and digest of level 0 by shard.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub definition: Arc<JobDefinition>,
    pub roots: Vec<(u64, Digest)>,
}

/// The way from a question to a definition; runs on a thread where it may take its time.
pub type Prepare = Arc<dyn Fn(JobSpec) -> Result<Prepared, ClientError> + Send + Sync>;

/// The usual way: `solver-core` builds the index and loads it once, which checks it completely.
pub(crate) fn prepare(spec: JobSpec) -> Result<Prepared, ClientError> {
    let space = match &spec {
        JobSpec::Bfs(bfs) => {
            space::build(&bfs.puzzle, &bfs.layout).map_err(|error| engine_error(error.into()))?
        }
        JobSpec::Batch(batch) => {
            let plan = batch.plan().and_then(|plan| plan.space());
            plan.map_err(ClientError::Invalid)?
        }
    };
    prepare_with(spec, space)
}

/// As [`prepare`], with an index that was computed for `spec` already; it is checked all the same.
pub fn prepare_with(spec: JobSpec, space: SpaceDef) -> Result<Prepared, ClientError> {
    let Some(bfs) = spec.bfs() else {
        // Nothing is counted before the items.
        let roots = vec![(0, Digest::default()); space.shards as usize];
        return Ok(prepared(spec, space, roots));
    };
    let engine = Engine::load(&bfs.puzzle, &space, KernelChoice::Portable).map_err(engine_error)?;
    let roots = (0..engine.shards())
        .map(|shard| {
            let frontier = engine.roots(ShardId(shard));
            (frontier.count(), engine.digest(ShardId(shard), &frontier))
        })
        .collect();
    Ok(prepared(spec, space, roots))
}

fn prepared(spec: JobSpec, space: SpaceDef, roots: Vec<(u64, Digest)>) -> Prepared {
    let fingerprint = fingerprint(&spec, &space);
    Prepared {
        definition: Arc::new(JobDefinition {
            spec,
            space,
            fingerprint,
        }),
        roots,
    }
}

fn engine_error(error: EngineError) -> ClientError {
    match error {
        EngineError::Violated(_)
        | EngineError::Space(SpaceError::Damaged(_))
        | EngineError::Frontier(_) => ClientError::Internal(error.to_string()),
        _ => ClientError::Invalid(error.to_string()),
    }
}

/// Hash over all that the counts depend on: generators, roots, depth and the index. Not the
/// puzzle's name, not how much is listed or kept. Of a batch job over its question.
fn fingerprint(spec: &JobSpec, space: &SpaceDef) -> String {
    let question = match spec {
        JobSpec::Bfs(spec) => {
            let puzzle = &spec.puzzle;
            let question = (
                puzzle.generators(),
                puzzle.roots(),
                spec.depth,
                &spec.layout,
            );
            let index = (&space.kind, space.shards, &space.sources, &space.body);
            codec::encode(kind::FINGERPRINT, &(question, index))
        }
        JobSpec::Batch(batch) => {
            codec::encode(kind::FINGERPRINT, &(batch.question(), &space.shard_states))
        }
    };
    blake3::hash(&question).to_hex().to_string()
}
