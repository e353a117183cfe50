//! The language the processes speak: domain messages, the wire format, their only conversions,
//! and the one codec for everything stored.

pub mod client;
pub mod link;
pub mod message;
pub mod status;

pub use antipode_ids as ids;

/// Version of the conversation between coordinator and worker, and of client calls.
/// A difference ends the start of the newcomer; both versions are named.
pub const PROTOCOL_VERSION: u32 = 1;
