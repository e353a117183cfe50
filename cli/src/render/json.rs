//! `--json`: exactly one object on stdout. Every object carries the version that wrote it.

use crate::exit::Failure;
use crate::report::{COMMIT, VERSION};
use serde::Serialize;

/// Prints the object.
pub fn print<T: Serialize>(value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| {
        Failure::Internal(format!("the result cannot be written as JSON: {error}"))
    })?;
    super::line(&text)
}

/// Prints `value` with `version`, `commit` and `command` beside its own fields.
pub fn print_signed<T: Serialize>(value: &T, command: &str) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Signed<'a, T> {
        #[serde(flatten)]
        value: &'a T,
        version: &'static str,
        commit: &'static str,
        command: &'a str,
    }
    print(&Signed {
        value,
        version: VERSION,
        commit: COMMIT,
        command,
    })
}
