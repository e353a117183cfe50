//! Calls: submissions, errors as gRPC codes, and the protocol version in every call's metadata.

use super::{WireError, record};
use crate::PROTOCOL_VERSION;
use crate::client::{ClientError, Submission, Submitted};
use crate::codec::{self, kind};
use crate::wire;
use antipode_ids::JobId;
use antipode_solver_core::job::JobSpec;
use antipode_solver_core::puzzle::Puzzle;
use std::time::Duration;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Request, Status};

/// The metadata entry that carries the protocol version of the sender.
pub const PROTOCOL_KEY: &str = "antipode-protocol";
const JOB_KEY: &str = "antipode-job";

impl From<Submission> for wire::SubmitRequest {
    fn from(submission: Submission) -> Self {
        wire::SubmitRequest {
            key: submission.key,
            spec_record: codec::encode(kind::JOB_SPEC, &submission.spec),
            fresh: submission.fresh,
        }
    }
}

impl TryFrom<wire::SubmitRequest> for Submission {
    type Error = WireError;
    fn try_from(request: wire::SubmitRequest) -> Result<Self, WireError> {
        if request.key.is_empty() || request.key.len() > 256 {
            let problem = format!("{} bytes; it must have 1 to 256", request.key.len());
            return Err(WireError::new("SubmitRequest.key", problem));
        }
        let mut spec: JobSpec = record(SPEC, kind::JOB_SPEC, &request.spec_record)?;
        if let Some(puzzle) = spec.puzzle_mut() {
            *puzzle = checked(puzzle)?;
        }
        Ok(Submission {
            key: request.key,
            spec,
            fresh: request.fresh,
        })
    }
}

const SPEC: &str = "SubmitRequest.spec_record";

/// A puzzle from outside counts as checked only after its parts went through the constructor.
fn checked(puzzle: &Puzzle) -> Result<Puzzle, WireError> {
    Puzzle::new(
        puzzle.name().into(),
        puzzle.generators().to_vec(),
        puzzle.roots().to_vec(),
        puzzle.metric(),
        puzzle.warnings().to_vec(),
    )
    .map_err(|error| WireError::new(SPEC, error.to_string()))
}

impl From<Submitted> for wire::Submitted {
    fn from(submitted: Submitted) -> Self {
        wire::Submitted {
            job: submitted.job.0,
            existing: submitted.existing,
        }
    }
}

impl From<wire::Submitted> for Submitted {
    fn from(submitted: wire::Submitted) -> Self {
        Submitted {
            job: JobId(submitted.job),
            existing: submitted.existing,
        }
    }
}

impl From<JobId> for wire::JobRequest {
    fn from(job: JobId) -> Self {
        wire::JobRequest { job: job.0 }
    }
}

/// A call's message with this program's protocol version.
pub fn request<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request
        .metadata_mut()
        .insert(PROTOCOL_KEY, MetadataValue::from(PROTOCOL_VERSION));
    request
}

/// The protocol version that the sender of a call named; 0 where it named none.
pub fn caller_version(metadata: &MetadataMap) -> u32 {
    metadata
        .get(PROTOCOL_KEY)
        .and_then(|v| v.to_str().ok()?.parse().ok())
        .unwrap_or(0)
}

/// The refusal of a call whose protocol version is not ours; it carries our version.
pub fn version_mismatch(theirs: u32) -> Status {
    let sentence = format!(
        "the caller speaks protocol {theirs}, this program speaks {PROTOCOL_VERSION}; use the same version of antipode on both sides"
    );
    let mut metadata = MetadataMap::new();
    metadata.insert(PROTOCOL_KEY, MetadataValue::from(PROTOCOL_VERSION));
    Status::with_metadata(Code::FailedPrecondition, sentence, metadata)
}

/// An error as the gRPC status that [`client_error`] reads back.
pub fn error_status(error: &ClientError) -> Status {
    let sentence = error.to_string();
    match error {
        ClientError::Invalid(reason) => Status::invalid_argument(reason.clone()),
        ClientError::NotNow(reason) => Status::resource_exhausted(reason.clone()),
        ClientError::NoSuchJob(job) => {
            let mut metadata = MetadataMap::new();
            metadata.insert(JOB_KEY, MetadataValue::from(job.0));
            Status::with_metadata(Code::NotFound, sentence, metadata)
        }
        ClientError::Internal(reason) => Status::internal(reason.clone()),
        ClientError::Version { ours: _, theirs } => version_mismatch(*theirs),
        ClientError::Unreachable { .. } => Status::unavailable(sentence),
    }
}

/// The error behind a gRPC status of a call to `address` that was tried for so long.
pub fn client_error(status: Status, address: &str, tried: Duration) -> ClientError {
    let number = |key: &str| {
        status
            .metadata()
            .get(key)
            .and_then(|v| v.to_str().ok()?.parse::<u64>().ok())
    };
    match status.code() {
        Code::InvalidArgument => ClientError::Invalid(status.message().into()),
        Code::ResourceExhausted => ClientError::NotNow(status.message().into()),
        Code::NotFound => match number(JOB_KEY) {
            Some(job) => ClientError::NoSuchJob(JobId(job)),
            None => ClientError::Internal(status.message().into()),
        },
        Code::FailedPrecondition => match number(PROTOCOL_KEY) {
            Some(theirs) => ClientError::Version {
                ours: PROTOCOL_VERSION,
                theirs: u32::try_from(theirs).unwrap_or(u32::MAX),
            },
            None => ClientError::Internal(status.message().into()),
        },
        Code::Internal => ClientError::Internal(status.message().into()),
        Code::Unavailable => ClientError::Unreachable {
            address: address.into(),
            tried,
        },
        _ => ClientError::Internal(format!("{} ({})", status.message(), status.code())),
    }
}
