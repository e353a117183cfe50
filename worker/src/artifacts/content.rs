//! What an artifact is, apart from its name: a set of states, the packed distances of a shard, or the rows of an
//! item.
//!
//! On the wire distances are `plain`, as [`PackedDistances::encode`] makes them. In a store their shape
//! (blocks and words as u32, states as u64, little endian) lies in front, under the name `distances`:
//! they are asked for when their job is over, and then there is no engine to know it. Rows are bytes, the same
//! everywhere, under the name `rows`.

use super::{Packed, unpack};
use crate::compute::Compute;
use crate::exec::item::{ENCODING as ROWS, digest_of};
use antipode_proto::message::{ArtifactKind, ArtifactName};
use antipode_solver_core::bfs::frontier::{Frontier, ShardGeometry};
use antipode_solver_core::distance::PackedDistances;
use antipode_solver_core::engine::Digest;
use std::sync::Arc;

const PLAIN: &str = "plain";
const STORED_DISTANCES: &str = "distances";
const SHAPE_BYTES: usize = 16;
/// States in a byte of packed distances, and what may lie around them.
const STATES_PER_BYTE: u64 = 5;
const AROUND_BYTES: u64 = 64;

/// An artifact in memory; clones share it.
#[derive(Debug, Clone)]
pub enum Content {
    Set(Arc<Frontier>),
    Distances(Arc<PackedDistances>),
    Rows(Rows),
}

/// A part of a data set.
#[derive(Debug, Clone)]
pub struct Rows {
    count: u64,
    bytes: Arc<Vec<u8>>,
}

impl Content {
    /// `count` rows as they lie in a file.
    pub fn rows(count: u64, bytes: Arc<Vec<u8>>) -> Content {
        Content::Rows(Rows { count, bytes })
    }

    /// The content of an artifact of `count` states behind bytes from another worker. Nothing is trusted,
    /// and no more is allocated than so many states need; that it is the right content is said by
    /// [`Content::digest`].
    pub fn unpack(
        engine: &dyn Compute,
        name: ArtifactName,
        count: u64,
        encoding: &str,
        bytes: &[u8],
    ) -> Result<Content, String> {
        if encoding == ROWS {
            return rows(Some(engine), name, count, bytes);
        }
        let geometry = engine.geometry(name.shard);
        match (name.kind, encoding) {
            (ArtifactKind::Distances, PLAIN) => distances(geometry, count, bytes),
            (ArtifactKind::Distances, other) => Err(format!("form '{other}' is not known")),
            (ArtifactKind::Frontier | ArtifactKind::Visited, _) => {
                unpack(geometry, count, encoding, bytes)
                    .map(|set| Content::Set(Arc::new(set)))
                    .map_err(|error| error.to_string())
            }
        }
    }

    /// The same from a store. Distances need no engine.
    pub fn unpack_stored(
        engine: Option<&dyn Compute>,
        name: ArtifactName,
        count: u64,
        packed: &Packed,
    ) -> Result<Content, String> {
        if packed.encoding == STORED_DISTANCES && name.kind == ArtifactKind::Distances {
            let (geometry, bytes) = split_shape(&packed.bytes)?;
            if engine.is_some_and(|engine| engine.geometry(name.shard) != geometry) {
                return Err("the shape of its shard differs".into());
            }
            return distances(geometry, count, bytes);
        }
        if packed.encoding == ROWS {
            return rows(engine, name, count, &packed.bytes);
        }
        let engine = engine.ok_or("its job is not open")?;
        Content::unpack(engine, name, count, &packed.encoding, &packed.bytes)
    }

    /// As it lies in a store.
    pub fn stored(&self) -> Packed {
        let Content::Distances(distances) = self else {
            return self.packed();
        };
        let geometry = distances.numbering().geometry();
        let encoded = distances.encode();
        let mut bytes = Vec::with_capacity(SHAPE_BYTES + encoded.len());
        bytes.extend_from_slice(&geometry.blocks.to_le_bytes());
        bytes.extend_from_slice(&geometry.words.to_le_bytes());
        bytes.extend_from_slice(&geometry.states.to_le_bytes());
        bytes.extend_from_slice(&encoded);
        Packed {
            encoding: STORED_DISTANCES.into(),
            bytes,
        }
    }

    /// As it is sent, from the form in which it is stored.
    pub fn to_be_sent(mut packed: Packed) -> Packed {
        if packed.encoding == STORED_DISTANCES {
            packed.bytes.drain(..SHAPE_BYTES.min(packed.bytes.len()));
            packed.encoding = PLAIN.into();
        }
        packed
    }

    /// More bytes than this no artifact of this name and count has in any form.
    pub fn limit_bytes(engine: &dyn Compute, name: ArtifactName, count: u64) -> u64 {
        match name.kind {
            _ if engine.batch().is_some() => engine.expand_bytes(name.shard),
            ArtifactKind::Distances => count.div_ceil(STATES_PER_BYTE) + AROUND_BYTES,
            _ => Packed::limit_bytes(engine.geometry(name.shard), count),
        }
    }

    /// About how many bytes an artifact of this name and count takes in memory.
    pub fn estimated_bytes(engine: &dyn Compute, name: ArtifactName, count: u64) -> u64 {
        match name.kind {
            _ if engine.batch().is_some() => engine.expand_bytes(name.shard),
            ArtifactKind::Distances => count.div_ceil(STATES_PER_BYTE),
            _ => engine.geometry(name.shard).memory_bytes(count),
        }
    }

    pub fn digest(&self, engine: &dyn Compute, name: ArtifactName) -> Digest {
        match self {
            Content::Set(set) => engine.digest(name.shard, set),
            Content::Distances(distances) => engine.distance_digest(name.shard, distances),
            Content::Rows(rows) => digest_of(&rows.bytes),
        }
    }

    /// Number of states, or of rows.
    pub fn count(&self) -> u64 {
        match self {
            Content::Rows(rows) => rows.count,
            Content::Set(set) => set.count(),
            Content::Distances(distances) => distances.numbering().states(),
        }
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Content::Rows(rows) => rows.bytes.len() as u64,
            Content::Set(set) => set.memory_bytes(),
            Content::Distances(distances) => distances.memory_bytes(),
        }
    }

    /// As bytes, as they are: the fastest to make and to read.
    pub fn plain(&self) -> Packed {
        match self {
            Content::Set(set) => Packed::plain(set),
            Content::Distances(distances) => Packed {
                encoding: PLAIN.into(),
                bytes: distances.encode(),
            },
            Content::Rows(rows) => Packed {
                encoding: ROWS.into(),
                bytes: rows.bytes.to_vec(),
            },
        }
    }

    /// As bytes, compressed where that is worth it.
    pub fn packed(&self) -> Packed {
        match self {
            Content::Set(set) => Packed::new(set),
            Content::Distances(_) | Content::Rows(_) => self.plain(),
        }
    }

    /// The set of states, where it is one.
    pub fn set(&self) -> Option<&Arc<Frontier>> {
        match self {
            Content::Set(set) => Some(set),
            Content::Distances(_) | Content::Rows(_) => None,
        }
    }

    /// Does nobody else use it?
    pub(super) fn is_unused(&self) -> bool {
        match self {
            Content::Set(set) => Arc::strong_count(set) == 1,
            Content::Distances(distances) => Arc::strong_count(distances) == 1,
            Content::Rows(rows) => Arc::strong_count(&rows.bytes) == 1,
        }
    }

    /// The very same piece of memory?
    pub(super) fn is(&self, other: &Content) -> bool {
        match (self, other) {
            (Content::Set(one), Content::Set(two)) => Arc::ptr_eq(one, two),
            (Content::Distances(one), Content::Distances(two)) => Arc::ptr_eq(one, two),
            (Content::Rows(one), Content::Rows(two)) => Arc::ptr_eq(&one.bytes, &two.bytes),
            _ => false,
        }
    }
}

/// Rows are for batch jobs; those of a job that is over are known by their digest alone.
fn rows(
    engine: Option<&dyn Compute>,
    name: ArtifactName,
    count: u64,
    bytes: &[u8],
) -> Result<Content, String> {
    let fits = engine.is_none_or(|engine| engine.batch().is_some());
    if !fits || name.kind != ArtifactKind::Frontier {
        return Err("rows where a set of states is expected".into());
    }
    Ok(Content::rows(count, Arc::new(bytes.to_vec())))
}

fn distances(geometry: ShardGeometry, count: u64, bytes: &[u8]) -> Result<Content, String> {
    let distances = PackedDistances::decode(geometry, bytes).map_err(|error| error.to_string())?;
    let found = distances.numbering().states();
    if found != count {
        return Err(format!("{found} states instead of {count}"));
    }
    Ok(Content::Distances(Arc::new(distances)))
}

fn split_shape(bytes: &[u8]) -> Result<(ShardGeometry, &[u8]), String> {
    let (shape, rest) = bytes
        .split_first_chunk::<SHAPE_BYTES>()
        .ok_or("the shape of its shard is cut off")?;
    let [a, b, c, d, e, f, g, h, states @ ..] = *shape;
    let geometry = ShardGeometry {
        blocks: u32::from_le_bytes([a, b, c, d]),
        words: u32::from_le_bytes([e, f, g, h]),
        states: u64::from_le_bytes(states),
    };
    Ok((geometry, rest))
}
