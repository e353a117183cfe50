//! Scrambles: making them in this process, and what is done with a folder of them.

mod label;
pub mod run;
mod targets;
mod unique;
mod watched;

use super::Call;
use crate::exit::Failure;

/// Work with scrambles that are there
#[derive(Debug, clap::Subcommand)]
pub enum What {
    Targets(targets::Args),
}

/// Calls the command.
pub fn scrambles(what: &What, call: &Call) -> Result<(), Failure> {
    match what {
        What::Targets(args) => targets::targets(args, call),
    }
}
