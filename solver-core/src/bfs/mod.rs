//! Breadth-first search by blocks: sets of states and one level of one shard.

pub mod frontier;
