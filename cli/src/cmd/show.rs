//! `show`: one job, its levels so far or its answer.

use super::{Call, block_on};
use crate::answer;
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::report::Asked;
use crate::stores;
use antipode_proto::client::Client;
use antipode_proto::ids::JobId;
use std::path::PathBuf;

/// Show a job: its levels so far, or its answer
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job as `antipode jobs` lists it, or `last`
    job: String,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// Look into this directory's stores, without a coordinator
    #[arg(long, value_name = "DIR", conflicts_with = "coordinator")]
    data: Option<PathBuf>,

    /// Print one JSON object (docs/schema, by the kind of job)
    #[arg(long)]
    json: bool,
}

/// Prints the job.
pub fn show(args: &Args, call: &Call) -> Result<(), Failure> {
    let status = match &args.data {
        Some(data) => stores::find(stores::read(data)?, &args.job)?.status,
        None => block_on(async {
            let client = args.coordinator.connect().await;
            let client = client.map_err(stores::or_stored_runs)?;
            let job = number(&client, &args.job).await?;
            Ok(client.show(job).await?)
        })?,
    };
    let asked = Asked {
        command: call.command.clone(),
        ..Asked::default()
    };
    answer::print(&status, &asked, args.json)
}

/// The job that a user means.
pub async fn number(client: &dyn Client, text: &str) -> Result<JobId, Failure> {
    if text != "last" {
        return text.parse().map_err(Failure::Input);
    }
    match client.jobs().await?.last() {
        Some(status) => Ok(status.job),
        None => Err(Failure::input(
            "there is no job yet; `antipode submit bfs PUZZLE` makes one",
        )),
    }
}
