//! What `run scrambles` has made.

use crate::exit::Failure;
use crate::render::{grouped, line, short, span};
use serde::Serialize;

/// The JSON form is described in `docs/schema/scrambles.schema.json`.
#[derive(Debug, Serialize)]
pub struct ScramblesReport {
    pub kind: &'static str,
    pub puzzle: String,
    pub out: String,
    pub format: &'static str,
    pub seed: String,
    pub rules: &'static str,
    pub offset: u64,
    /// Rows that were asked for.
    pub rows: u64,
    /// Rows that the files have.
    pub written: u64,
    /// Rows left out because an earlier one has their state; null without `--unique`.
    pub dropped: Option<u64>,
    pub files: u32,
    /// Files that were there already.
    pub kept: u32,
    pub columns: Vec<String>,
    pub row_group_rows: u32,
    pub part_rows: u32,
    pub bytes: u64,
    pub seconds: f64,
    pub rows_per_second: f64,
    /// What drew the rows: `cpu`, or a device.
    pub engine: String,
}

impl ScramblesReport {
    /// For people.
    pub fn print(&self) -> Result<(), Failure> {
        let say = |label: &str, text: String| {
            line(&format!("{:<13} {text}", console::style(label).dim()))
        };
        say(
            "scrambles",
            format!("{}, seed {}, {}", self.puzzle, self.seed, self.rules),
        )?;
        say("rows", grouped(&self.written.to_string()))?;
        if let Some(dropped) = self.dropped {
            let part = 100.0 * dropped as f64 / self.rows as f64;
            let dropped = grouped(&dropped.to_string());
            say(
                "dropped",
                format!("{dropped} repeat the state of an earlier row ({part:.1} %)"),
            )?;
        }
        say("columns", self.columns.join(", "))?;
        let there = match self.kept {
            0 => String::new(),
            kept => format!(", {kept} of them there already"),
        };
        let size = crate::memory::show(self.bytes);
        say(
            "files",
            format!("{} in {}, {size}{there}", self.files, self.out),
        )?;
        if self.engine != "cpu" {
            say("engine", self.engine.clone())?;
        }
        let rate = short(self.rows_per_second);
        say("time", format!("{}, {rate} rows/s", span(self.seconds)))
    }
}
