//! What `run scrambles` has made, for people.

use super::facts::fact;
use super::{grouped, short, span};
use crate::exit::Failure;
use crate::report::scrambles::ScramblesReport;

/// Prints it.
pub fn print(report: &ScramblesReport) -> Result<(), Failure> {
    let say = |label: &str, text: String| fact(label, &text);
    say(
        "scrambles",
        format!("{}, seed {}, {}", report.puzzle, report.seed, report.rules),
    )?;
    say("rows", grouped(&report.written.to_string()))?;
    if let Some(dropped) = report.dropped {
        let part = 100.0 * dropped as f64 / report.rows as f64;
        let dropped = grouped(&dropped.to_string());
        say(
            "dropped",
            format!("{dropped} repeat the state of an earlier row ({part:.1} %)"),
        )?;
    }
    say("columns", report.columns.join(", "))?;
    let there = match report.kept {
        0 => String::new(),
        kept => format!(", {kept} of them there already"),
    };
    let size = crate::memory::show(report.bytes);
    say(
        "files",
        format!("{} in {}, {size}{there}", report.files, report.out),
    )?;
    if report.engine != "cpu" {
        say("engine", report.engine.clone())?;
    }
    let rate = short(report.rows_per_second);
    say("time", format!("{}, {rate} rows/s", span(report.seconds)))
}
