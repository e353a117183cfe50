//! `run landmarks` and `submit landmarks`: how far 25 chosen permutations are from the identity.

use super::{Call, run, submit};
use crate::answer;
use crate::exit::Failure;
use crate::label_distances::LabelDistances;
use crate::landmark_args::{DEFAULT_MEMORY, LandmarkArgs};
use crate::landmark_files;
use crate::memory;
use crate::out_dir::OutArgs;
use crate::render::landmarks;
use crate::report::landmarks::LandmarksReport;
use antipode_proto::status::JobState;
use antipode_solver_core::batch::BatchSpec;

#[derive(Debug, clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    landmarks: LandmarkArgs,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    run: run::RunArgs,
}

#[derive(Debug, clap::Args)]
pub struct SubmitArgs {
    #[command(flatten)]
    landmarks: LandmarkArgs,

    /// Memory that one size may take at the worker that has it
    #[arg(long, value_name = "SIZE", value_parser = memory::parse, default_value = "3GiB")]
    memory: u64,

    #[command(flatten)]
    submit: submit::SubmitArgs,
}

/// `run landmarks FAMILY --n RANGE`.
pub fn run(args: &RunArgs, call: &Call) -> Result<(), Failure> {
    let compute = &args.run.how.compute;
    let memory_bytes = compute.memory.unwrap_or(DEFAULT_MEMORY);
    let spec = args.landmarks.spec(memory_bytes)?;
    let out = args.out.check()?;
    if memory_bytes > compute.memory_bytes() {
        return Err(Failure::input(format!(
            "one size may take {}, and this machine has {} to give; say how much it may take with --memory",
            memory::show(memory_bytes),
            memory::show(compute.memory_bytes())
        )));
    }
    let mut labels = LabelDistances::on(args.run.how.gpu.which.open_one()?);
    if labels.name() != "cpu" {
        eprintln!("distances by labels: {}", labels.name());
    }
    let done = run::job(&BatchSpec::Landmarks(spec).into(), &args.run, call)?;
    let asked = done.asked(None, call);
    if done.status.state != JobState::Finished {
        return answer::print_rest(&done.status, &asked, args.run.json);
    }
    let report = LandmarksReport::new(&done.status, &asked, &mut labels)?;
    if let Some(dir) = &out {
        landmark_files::write(&report, dir)?;
    }
    landmarks::show(&report, args.run.json)
}

/// `submit landmarks FAMILY --n RANGE`.
pub fn submit(args: &SubmitArgs, call: &Call) -> Result<(), Failure> {
    let spec = args.landmarks.spec(args.memory)?;
    submit::job(BatchSpec::Landmarks(spec).into(), &args.submit, None, call)
}
