//! Waits for a job, showing it, until it cannot change any more: the same for `run` and `submit --wait`.

use crate::exit::Failure;
use crate::progress::Progress;
use antipode_proto::client::Client;
use antipode_proto::ids::JobId;
use antipode_proto::status::{JobState, JobStatus};
use std::time::Duration;

/// Between two questions to a coordinator that was just there: it may be starting again.
const ASK_AGAIN: Duration = Duration::from_millis(300);

/// After this time without a change the user is told what the job waits for.
const QUIET: Duration = Duration::from_secs(1);

/// Follows `job` to a state that it will not leave by itself.
pub async fn follow(
    client: &dyn Client,
    job: JobId,
    progress: &mut Progress,
) -> Result<JobStatus, Failure> {
    loop {
        let mut watch = client.watch(job).await?;
        loop {
            match tokio::time::timeout(QUIET, watch.recv()).await {
                Ok(Some(status)) => {
                    progress.show(&status)?;
                    if status.state.is_at_rest() {
                        progress.finish();
                        return Ok(status);
                    }
                }
                Ok(None) => break,
                Err(_) => progress.say_if_stalled(),
            }
        }
        // The stream ended early: the connection, not the job. Ask directly, then watch again.
        let status = client.show(job).await?;
        progress.show(&status)?;
        if status.state.is_at_rest() {
            progress.finish();
            return Ok(status);
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

/// The failure that a job's last state stands for; `Ok` if it has an answer.
pub fn outcome(status: &JobStatus) -> Result<(), Failure> {
    let job = status.job;
    match &status.state {
        JobState::Failed {
            reason,
            internal: true,
        } => Err(Failure::Internal(format!("job {job}: {reason}"))),
        JobState::Failed {
            reason,
            internal: false,
        } => Err(Failure::other(format!("job {job} failed: {reason}"))),
        JobState::Cancelled => Err(Failure::other(format!("job {job} was cancelled"))),
        JobState::Paused => Err(Failure::other(format!("job {job} is paused"))),
        JobState::Suspect { reason } => {
            Err(Failure::other(format!("job {job} is suspect: {reason}")))
        }
        JobState::Incomplete { reason } => {
            Err(Failure::other(format!("job {job} is incomplete: {reason}")))
        }
        JobState::Finished | JobState::Queued | JobState::Running | JobState::Stalled { .. } => {
            Ok(())
        }
    }
}
