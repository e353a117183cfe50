//! Distance databases: what a finished enumeration knows, small enough to keep and quick to ask.
//!
//! In a list closed under inverse neighbours differ by at most one in their distance, so the distance
//! modulo 3 of every state says which neighbours are nearer to a root: five such trits make a byte,
//! 1.6 bits a state. Walking down counts the distance and reads off a word. Directed lists have no such
//! law; there the kept frontiers of the levels are asked.

mod builder;
mod digest;
mod levels;
mod numbering;
mod packed;
mod paths;
mod query;
mod trail;
mod walk;

pub use builder::Builder;
pub(crate) use digest::digest_of;
pub use digest::expected_digest;
pub use numbering::Numbering;
pub use packed::PackedDistances;
pub use query::{Answer, Question, Residues};

pub(crate) use levels::{query_levels, states as levels_of};
pub(crate) use query::query;
pub(crate) use trail::distances as trail_distances;

/// Why there are no distances of a shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DistanceError(pub String);
