//! `cancel`: ends a job for good.

use super::{Call, block_on, show};
use crate::answer;
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::render::line;
use crate::report::{Asked, state_words};
use antipode_proto::client::Client;
use antipode_proto::status::JobState;

/// Cancel a job; what it has counted stays visible
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job as `antipode jobs` lists it, or `last`
    job: String,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// Print the job as one JSON object (docs/schema/bfs.schema.json)
    #[arg(long)]
    json: bool,
}

/// Cancels, and says what became of the job.
pub fn cancel(args: &Args, call: &Call) -> Result<(), Failure> {
    let status = block_on(async {
        let client = args.coordinator.connect().await?;
        let job = show::number(&client, &args.job).await?;
        Ok(client.cancel(job).await?)
    })?;
    if args.json {
        let asked = Asked {
            command: call.command.clone(),
            ..Asked::default()
        };
        return answer::print(&status, &asked, true);
    }
    let (state, _) = state_words(&status.state);
    match status.state {
        JobState::Cancelled => line(&format!("job {} is cancelled", status.job)),
        _ => line(&format!(
            "job {} was {state} already and stays so",
            status.job
        )),
    }
}
