//! How far a batch job is, whatever its kind; its answer has a report of its own.

use super::{Asked, COMMIT, ResumedReport, VERSION, state_words, sum};
use crate::exit::Failure;
use crate::render::{grouped, line, span};
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
            counted: (sum(status) + u128::from(status.partial)).to_string(),
            total: definition.space.states.clone(),
            tasks_done: status.tasks_done,
            tasks_running: status.tasks_running,
            workers: status.workers,
            threads: status.threads,
            resumed: status.resumed.map(|resumed| ResumedReport {
                from_level: resumed.from_level,
                tasks_kept: resumed.tasks_kept,
                tasks_redone: resumed.tasks_redone,
            }),
            seconds: seconds.as_secs_f64(),
            version: VERSION,
            commit: COMMIT,
            command: asked.command.clone(),
            fingerprint: definition.fingerprint.clone(),
        }
    }

    /// For people.
    pub fn print(&self) -> Result<(), Failure> {
        let say = |label: &str, text: String| {
            line(&format!("{:<13} {text}", console::style(label).dim()))
        };
        say(
            "job",
            format!("{}, {} of {}", self.job, self.kind, self.title),
        )?;
        let reason = self.reason.as_ref().map(|why| format!(": {why}"));
        let reason = reason.unwrap_or_default();
        say("state", format!("{}{reason}", self.state))?;
        say("items", self.layout.clone())?;
        let total = self.total.as_deref().map_or("?".into(), grouped);
        say("done", format!("{} of {total}", grouped(&self.counted)))?;
        say("time", span(self.seconds))
    }
}
