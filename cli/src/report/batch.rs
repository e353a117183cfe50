//! How far a batch job is, whatever its kind; its answer has a report of its own.

use super::{Asked, COMMIT, ResumedReport, VERSION, counted, state_words};
use antipode_proto::status::JobStatus;
use serde::Serialize;

/// The JSON form is described in `docs/schema/batch.schema.json`.
#[derive(Debug, Clone, Serialize)]
pub struct BatchReport {
    pub job: u64,
    /// `diameter`, `landmarks` or `scrambles`.
    pub kind: &'static str,
    /// What it is about.
    pub title: String,
    pub state: &'static str,
    /// Why the job failed or does not move.
    pub reason: Option<String>,
    /// How the job is cut into items.
    pub layout: String,
    pub items: u32,
    /// What the finished items counted, and what all will count, as decimal numbers.
    pub counted: String,
    pub total: Option<String>,
    pub tasks_done: u64,
    pub tasks_running: u64,
    pub workers: u32,
    pub threads: u32,
    pub resumed: Option<ResumedReport>,
    pub seconds: f64,
    pub version: &'static str,
    pub commit: &'static str,
    pub command: String,
    pub fingerprint: String,
}

impl BatchReport {
    pub fn new(status: &JobStatus, asked: &Asked) -> BatchReport {
        let definition = &status.definition;
        let (state, reason) = state_words(&status.state);
        let seconds = asked.elapsed.unwrap_or(status.run_time);
        BatchReport {
            job: status.job.0,
            kind: definition.spec.kind(),
            title: definition.spec.title(),
            state,
            reason,
            layout: definition.space.layout.clone(),
            items: definition.space.shards,
            counted: counted(status).to_string(),
            total: definition.space.states.clone(),
            tasks_done: status.tasks_done,
            tasks_running: status.tasks_running,
            workers: status.workers,
            threads: status.threads,
            resumed: status.resumed.map(ResumedReport::from),
            seconds: seconds.as_secs_f64(),
            version: VERSION,
            commit: COMMIT,
            command: asked.command.clone(),
            fingerprint: definition.fingerprint.clone(),
        }
    }
}
