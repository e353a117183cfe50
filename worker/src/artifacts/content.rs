//! What an artifact is, apart from its name: a set of states.

use super::{Packed, unpack};
use crate::compute::Compute;
use antipode_proto::message::ArtifactName;
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::engine::Digest;
use std::sync::Arc;

/// An artifact in memory; clones share it.
#[derive(Debug, Clone)]
pub enum Content {
    Set(Arc<Frontier>),
}

impl Content {
    /// The content of an artifact of `count` states behind `bytes`. Nothing is trusted, and no more is
    /// allocated than so many states need; that it is the right content is said by [`Content::digest`].
    pub fn unpack(
        engine: &dyn Compute,
        name: ArtifactName,
        count: u64,
        encoding: &str,
        bytes: &[u8],
    ) -> Result<Content, String> {
        unpack(engine.geometry(name.shard), count, encoding, bytes)
            .map(|set| Content::Set(Arc::new(set)))
            .map_err(|error| error.to_string())
    }

    /// More bytes than this no artifact of this name and count has in any form.
    pub fn limit_bytes(engine: &dyn Compute, name: ArtifactName, count: u64) -> u64 {
        Packed::limit_bytes(engine.geometry(name.shard), count)
    }

    /// About how many bytes an artifact of this name and count takes in memory.
    pub fn estimated_bytes(engine: &dyn Compute, name: ArtifactName, count: u64) -> u64 {
        engine.geometry(name.shard).memory_bytes(count)
    }

    pub fn digest(&self, engine: &dyn Compute, name: ArtifactName) -> Digest {
        match self {
            Content::Set(set) => engine.digest(name.shard, set),
        }
    }

    /// Number of states.
    pub fn count(&self) -> u64 {
        match self {
            Content::Set(set) => set.count(),
        }
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Content::Set(set) => set.memory_bytes(),
        }
    }

    /// As bytes, as they are: the fastest to make and to read.
    pub fn plain(&self) -> Packed {
        match self {
            Content::Set(set) => Packed::plain(set),
        }
    }

    /// As bytes, compressed where that is worth it.
    pub fn packed(&self) -> Packed {
        match self {
            Content::Set(set) => Packed::new(set),
        }
    }

    /// The set of states, where it is one.
    pub fn set(&self) -> Option<&Arc<Frontier>> {
        match self {
            Content::Set(set) => Some(set),
        }
    }

    /// Does nobody else use it?
    pub(super) fn is_unused(&self) -> bool {
        match self {
            Content::Set(set) => Arc::strong_count(set) == 1,
        }
    }

    /// The very same piece of memory?
    pub(super) fn is(&self, other: &Content) -> bool {
        match (self, other) {
            (Content::Set(one), Content::Set(two)) => Arc::ptr_eq(one, two),
        }
    }
}
