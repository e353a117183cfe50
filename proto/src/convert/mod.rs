//! The only conversions between wire and domain, one file per family of messages. To the wire is
//! `From` and cannot fail; from the wire is `TryFrom` and names the bad field.

mod artifact;
mod client;
mod from_worker;
mod status;
mod to_worker;

pub use artifact::digest as wire_digest;
pub use client::{
    PROTOCOL_KEY, caller_version, client_error, error_status, request, version_mismatch,
};
pub use status::{StatusReader, without_definition};
pub use to_worker::{ToWorkerReader, to_worker_parts};

use crate::codec::{self, CodecError, Kind};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A message that does not say what its type promises.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message field {field}: {problem}")]
pub struct WireError {
    pub field: &'static str,
    pub problem: String,
}

impl WireError {
    fn new(field: &'static str, problem: impl Into<String>) -> WireError {
        WireError {
            field,
            problem: problem.into(),
        }
    }
}

/// A message field that proto3 cannot require but we do.
fn required<T>(field: &'static str, value: Option<T>) -> Result<T, WireError> {
    value.ok_or_else(|| WireError::new(field, "missing"))
}

/// A nested record of the codec.
fn record<T: DeserializeOwned>(
    field: &'static str,
    kind: Kind,
    bytes: &[u8],
) -> Result<T, WireError> {
    codec::decode(kind, bytes).map_err(|error: CodecError| WireError::new(field, error.to_string()))
}

/// A duration as whole nanoseconds; 584 years are enough.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Converts all items of a list.
fn all<W, D: TryFrom<W, Error = WireError>>(items: Vec<W>) -> Result<Vec<D>, WireError> {
    items.into_iter().map(D::try_from).collect()
}
