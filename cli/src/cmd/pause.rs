//! `pause`: stops a job where it can be taken up again.

use super::{Call, block_on, show};
use crate::answer;
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::render::line;
use crate::report::{Asked, items_done, state_words};
use antipode_proto::client::Client;
use antipode_proto::status::JobState;

/// Pause a job: its levels are brought even and stored, `antipode resume` goes on
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

/// Pauses, and says what became of the job. Returns when everything is stored.
pub fn pause(args: &Args, call: &Call) -> Result<(), Failure> {
    let status = block_on(async {
        let client = args.coordinator.connect().await?;
        let job = show::number(&client, &args.job).await?;
        Ok(client.pause(job).await?)
    })?;
    if args.json {
        let asked = Asked {
            command: call.command.clone(),
            ..Asked::default()
        };
        return answer::print(&status, &asked, true);
    }
    let job = status.job;
    let (state, _) = state_words(&status.state);
    let items = status.definition.spec.batch().is_some();
    match (&status.state, status.levels.last()) {
        (JobState::Paused, _) if items => line(&format!(
            "job {job} is paused, {}; `antipode resume {job}` goes on",
            items_done(&status)
        )),
        (JobState::Paused, Some(level)) => line(&format!(
            "job {job} is paused after level {}; `antipode resume {job}` goes on",
            level.level
        )),
        (JobState::Paused, None) => line(&format!(
            "job {job} is paused before its first level; `antipode resume {job}` goes on"
        )),
        _ => line(&format!("job {job} is {state}, there is nothing to pause")),
    }
}
