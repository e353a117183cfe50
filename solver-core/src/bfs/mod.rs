//! Breadth-first search by blocks: sets of states, and one level of one shard.
//!
//! A level is pulled, superblock by superblock, where frontiers are dense, and pushed, state by state,
//! where they are sparse; both give the same set.

pub(crate) mod block;
pub(crate) mod buffers;
pub(crate) mod certificate;
mod codec;
mod compress;
pub mod device;
pub(crate) mod digest;
pub mod enumerate;
pub mod frontier;
pub(crate) mod kernel;
pub(crate) mod level;
mod rice;
pub(crate) mod words;

pub use kernel::yardstick;
