//! The language the processes speak: domain messages, the wire format, their only conversions,
//! and the one codec for everything stored.

pub mod client;
pub mod codec;
pub mod convert;
pub mod data;
pub mod killpoint;
pub mod link;
pub mod message;
pub mod remote;
pub mod status;
pub mod wire;

pub use antipode_ids as ids;

/// Version of the conversation between coordinator and worker, and of client calls.
/// A difference ends the start of the newcomer; both versions are named.
pub const PROTOCOL_VERSION: u32 = 4;

/// No message may be larger, in bytes; what can be (definitions, artifacts) travels in parts.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
