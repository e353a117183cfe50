//! Artifacts: names, inputs, holders, digests.

use super::{WireError, all, required};
use crate::message::{ArtifactKind, ArtifactName, Held, Holder, Input};
use crate::wire;
use antipode_ids::{Attempt, JobId, WorkerId};
use antipode_solver_core::engine::{Digest, ShardId};

pub(super) fn digest_bytes(digest: Digest) -> Vec<u8> {
    digest.0.to_le_bytes().to_vec()
}

/// The digest in a message field.
pub fn digest(field: &'static str, bytes: &[u8]) -> Result<Digest, WireError> {
    let bytes = bytes
        .try_into()
        .map_err(|_| WireError::new(field, format!("{} bytes instead of 16", bytes.len())))?;
    Ok(Digest(u128::from_le_bytes(bytes)))
}

impl From<ArtifactName> for wire::ArtifactRef {
    fn from(name: ArtifactName) -> Self {
        let kind = match name.kind {
            ArtifactKind::Frontier => wire::ArtifactKind::Frontier,
            ArtifactKind::Visited => wire::ArtifactKind::Visited,
            ArtifactKind::Distances => wire::ArtifactKind::Distances,
        };
        wire::ArtifactRef {
            job: name.job.0,
            level: name.level,
            shard: name.shard.0,
            kind: kind.into(),
        }
    }
}

impl TryFrom<wire::ArtifactRef> for ArtifactName {
    type Error = WireError;
    fn try_from(name: wire::ArtifactRef) -> Result<Self, WireError> {
        let kind = match name.kind() {
            wire::ArtifactKind::Frontier => ArtifactKind::Frontier,
            wire::ArtifactKind::Visited => ArtifactKind::Visited,
            wire::ArtifactKind::Distances => ArtifactKind::Distances,
            wire::ArtifactKind::Unspecified => {
                return Err(WireError::new(
                    "ArtifactRef.kind",
                    format!("{} is no kind of artifact", name.kind),
                ));
            }
        };
        Ok(ArtifactName {
            job: JobId(name.job),
            level: name.level,
            shard: ShardId(name.shard),
            kind,
        })
    }
}

impl From<Input> for wire::Input {
    fn from(input: Input) -> Self {
        wire::Input {
            name: Some(input.name.into()),
            digest: digest_bytes(input.digest),
            count: input.count,
            holders: input
                .holders
                .into_iter()
                .map(|h| wire::Holder {
                    worker: h.worker.0,
                    address: h.address,
                })
                .collect(),
        }
    }
}

impl TryFrom<wire::Input> for Input {
    type Error = WireError;
    fn try_from(input: wire::Input) -> Result<Self, WireError> {
        Ok(Input {
            name: required("Input.name", input.name)?.try_into()?,
            digest: digest("Input.digest", &input.digest)?,
            count: input.count,
            holders: input
                .holders
                .into_iter()
                .map(|h| Holder {
                    worker: WorkerId(h.worker),
                    address: h.address,
                })
                .collect(),
        })
    }
}

impl From<Held> for wire::Held {
    fn from(held: Held) -> Self {
        wire::Held {
            name: Some(held.name.into()),
            digest: digest_bytes(held.digest),
            count: held.count,
            durable: held.durable,
        }
    }
}

impl TryFrom<wire::Held> for Held {
    type Error = WireError;
    fn try_from(held: wire::Held) -> Result<Self, WireError> {
        Ok(Held {
            name: required("Held.name", held.name)?.try_into()?,
            digest: digest("Held.digest", &held.digest)?,
            count: held.count,
            durable: held.durable,
        })
    }
}

impl From<Attempt> for wire::Attempt {
    fn from(attempt: Attempt) -> Self {
        wire::Attempt {
            epoch: attempt.epoch,
            counter: attempt.counter,
        }
    }
}

pub(super) fn attempt(
    field: &'static str,
    attempt: Option<wire::Attempt>,
) -> Result<Attempt, WireError> {
    let attempt = required(field, attempt)?;
    Ok(Attempt {
        epoch: attempt.epoch,
        counter: attempt.counter,
    })
}

pub(super) fn names(list: Vec<ArtifactName>) -> Vec<wire::ArtifactRef> {
    list.into_iter().map(Into::into).collect()
}

pub(super) fn read_names(list: Vec<wire::ArtifactRef>) -> Result<Vec<ArtifactName>, WireError> {
    all(list)
}
