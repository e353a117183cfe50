//! The program `antipode`: reads the command line, calls one command, ends with its exit code.

mod access;
mod address;
mod answer;
mod cmd;
mod compute_args;
mod connect;
mod count;
mod data_dir;
mod dataset;
mod exit;
mod fit;
mod follow;
mod gpu_args;
mod gpu_costs;
mod job_args;
mod kept;
mod label_distances;
mod landmark_args;
mod landmark_files;
mod logging;
mod memory;
mod offline;
mod out_dir;
mod progress;
mod puzzle_arg;
mod questions;
mod render;
mod report;
mod run_folder;
mod scramble_args;
mod signals;
mod stores;
mod supervise;
mod verification;
mod whole_file;

use clap::Parser;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let call = cmd::Call {
        started: Instant::now(),
        command: cmd::command_line(),
    };
    memory::give_back_what_is_freed();
    let arguments = cmd::Arguments::parse();
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| cmd::dispatch(arguments, &call)));
    match outcome {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => failure.report(),
        // The panic's own text is on stderr already.
        Err(_) => exit::Failure::Internal("a panic, see above; please report it".into()).report(),
    }
}
