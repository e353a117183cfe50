//! What `run scrambles` has made.

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
    /// What drew the rows: `cpu`, or `vulkan` and the device.
    pub engine: String,
}
