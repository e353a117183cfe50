//! How far a batch job is, for people.

use super::facts::fact;
use super::{grouped, span};
use crate::exit::Failure;
use crate::report::batch::BatchReport;

/// Prints it.
pub fn print(report: &BatchReport) -> Result<(), Failure> {
    let say = |label: &str, text: String| fact(label, &text);
    say(
        "job",
        format!("{}, {} of {}", report.job, report.kind, report.title),
    )?;
    let reason = report.reason.as_ref().map(|why| format!(": {why}"));
    let reason = reason.unwrap_or_default();
    say("state", format!("{}{reason}", report.state))?;
    say("items", report.layout.clone())?;
    let total = report.total.as_deref().map_or("?".into(), grouped);
    say("done", format!("{} of {total}", grouped(&report.counted)))?;
    say("time", span(report.seconds))
}
