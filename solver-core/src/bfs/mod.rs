//! Breadth-first search by blocks: sets of states, and one level of one shard.
//!
//! [`pull`](level) works on whole superblocks of dense frontiers, push on the single states of
//! sparse ones; both give the same set.

pub(crate) mod certificate;
pub(crate) mod digest;
pub mod enumerate;
pub mod frontier;
pub(crate) mod kernel;
pub(crate) mod level;
pub(crate) mod words;

pub use kernel::yardstick;
