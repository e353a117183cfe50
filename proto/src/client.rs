//! What a user's command asks of a coordinator, whether it runs in the same process or far away.

use crate::status::{Explanation, Holdings, JobStatus, Outlook, Subject, WorkerStatus};
use antipode_ids::JobId;
use antipode_solver_core::job::JobSpec;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::mpsc;

/// A job to be run. The same `key` never makes a second job, so a retry is harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    pub key: String,
    pub spec: JobSpec,
    /// Compute again although a finished or unfinished job of the same fingerprint is stored.
    pub fresh: bool,
}

/// What became of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submitted {
    pub job: JobId,
    /// A stored job with this fingerprint was found (finished: its answer stands; unfinished: it goes on).
    pub existing: bool,
}

/// Why an answer did not come; a variant per thing the caller can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    #[error(
        "no coordinator answers at {address} (tried for {:.1} s); start one with `antipode coordinator --data DIR`, or name another with --coordinator ADDR",
        .tried.as_secs_f64()
    )]
    Unreachable { address: String, tried: Duration },
    #[error(
        "the coordinator speaks protocol {theirs}, this program speaks {ours}; use the same version of antipode on both sides"
    )]
    Version { ours: u32, theirs: u32 },
    /// The request was wrong: exit code 2.
    #[error("{0}")]
    Invalid(String),
    /// Right, but not possible at present (a disk is full): try again later.
    #[error("{0}")]
    NotNow(String),
    #[error("there is no job {0}; `antipode jobs` lists them")]
    NoSuchJob(JobId),
    #[error("the coordinator could not do it: {0}")]
    Internal(String),
}

/// A future answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, ClientError>> + Send + 'a>>;

/// A coordinator as its users see it.
pub trait Client: Send + Sync {
    /// Durable before it returns.
    fn submit(&self, submission: Submission) -> Answer<'_, Submitted>;
    /// All jobs, oldest first.
    fn jobs(&self) -> Answer<'_, Vec<JobStatus>>;
    fn show(&self, job: JobId) -> Answer<'_, JobStatus>;
    /// The status now and after every change; ends after a state that is final (or `Paused`).
    fn watch(&self, job: JobId) -> Answer<'_, mpsc::UnboundedReceiver<JobStatus>>;
    fn cancel(&self, job: JobId) -> Answer<'_, JobStatus>;
    /// Stop leasing, bring all levels even, write a checkpoint; resolves when it is durable.
    fn pause(&self, job: JobId) -> Answer<'_, JobStatus>;
    /// Go on with a job that is paused, stalled, incomplete or suspect. `fresh`: also where all that was
    /// stored of it is gone, from the beginning.
    fn resume(&self, job: JobId, fresh: bool) -> Answer<'_, JobStatus>;
    fn workers(&self) -> Answer<'_, Vec<WorkerStatus>>;
    /// What going on would keep and redo.
    fn outlook(&self, job: JobId) -> Answer<'_, Outlook>;
    fn explain(&self, subject: Subject) -> Answer<'_, Explanation>;
    /// Asks a worker (by name or number) to drain; all workers as they are after that.
    fn drain(&self, worker: String) -> Answer<'_, Vec<WorkerStatus>>;
    /// Drops a job that has ended, with all that is stored of it anywhere.
    fn forget(&self, job: JobId) -> Answer<'_, ()>;
    fn holdings(&self, job: JobId) -> Answer<'_, Holdings>;
}
