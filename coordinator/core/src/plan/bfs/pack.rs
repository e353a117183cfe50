//! After the last level of a job that keeps its frontiers: the distances of each shard, packed.

use super::Lease;
use crate::artifact::Holders;
use antipode_solver_core::engine::Digest;

/// The packed distances of one shard.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    /// Number of states and digest, once known.
    pub result: Option<(u64, Digest)>,
    pub lease: Option<Lease>,
    pub holders: Holders,
}
