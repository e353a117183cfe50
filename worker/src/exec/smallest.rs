//! The lexicographically smallest states of one frontier.

use super::{Work, frontier_name, input};
use antipode_proto::message::Failure;
use antipode_solver_core::engine::{Level, ShardId};
use antipode_solver_core::job::TaskOutput;

pub fn run(work: &Work, level: Level, shard: ShardId, limit: u32) -> Result<TaskOutput, Failure> {
    let frontier = input(work, frontier_name(work.job, level, shard));
    let states = work.engine.smallest(shard, &frontier, limit as usize);
    Ok(TaskOutput::Smallest { states })
}
