//! `worker drain`: asks a worker to end without loss, and waits until it has left. Also where the command `worker`
//! tells its one subcommand from the daemon.

use super::{Call, block_on, worker};
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::render::{json, line};
use crate::signals::Signals;
use antipode_proto::client::Client;
use antipode_proto::remote::RemoteClient;
use antipode_proto::status::WorkerStatus;
use serde::Serialize;
use std::time::Duration;

/// Between two looks at the worker.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Compute tasks for a coordinator, or drain a worker that does
///
/// Workers may join and leave while a job runs. SIGINT and SIGTERM make it drain: it hands over what only it holds,
/// or stores it, and ends; a second signal ends it at once.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct WorkerArgs {
    #[command(subcommand)]
    what: Option<What>,

    #[command(flatten)]
    daemon: worker::Args,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Ask a worker to end as soon as nothing depends on it, and wait until it has
    Drain(Args),
}

#[derive(Debug, clap::Args)]
struct Args {
    /// The worker as `antipode workers` lists it: its name, or its number (`w3`)
    name: String,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// Print one JSON object when it has left
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    worker: String,
    name: String,
    /// `left`.
    condition: String,
    tasks_done: u64,
    seconds: f64,
}

impl WorkerArgs {
    /// Is it the daemon?
    pub fn is_daemon(&self) -> bool {
        self.what.is_none()
    }

    pub fn run(&self, call: &Call) -> Result<(), Failure> {
        match &self.what {
            Some(What::Drain(args)) => block_on(drain(args, call)),
            None => worker::worker(&self.daemon),
        }
    }
}

async fn drain(args: &Args, call: &Call) -> Result<(), Failure> {
    let client = args.coordinator.connect().await?;
    let mut signals = Signals::new()?;
    let workers = client.drain(args.name.clone()).await?;
    let mut worker = find(workers, &args.name)?;
    let number = worker.worker;
    let name = format!("{} ({number})", worker.name);
    let mut said = String::new();
    loop {
        if worker.condition == "left" {
            break;
        }
        if !worker.connected {
            return Err(Failure::other(format!(
                "worker {name} is not connected, so it cannot hand anything over; \
                 `antipode explain {number}` says what became of it"
            )));
        }
        let condition = match worker.condition.as_str() {
            "" => "asked to end",
            condition => condition,
        };
        let tasks = match worker.running.len() {
            1 => "1 task".to_string(),
            number => format!("{number} tasks"),
        };
        let now = format!("worker {name}: {condition}, {tasks} at work");
        if now != said {
            eprintln!("{now}");
            said = now;
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_AGAIN) => {}
            signal = signals.next() => return Err(Failure::Interrupted {
                signal,
                say: format!("worker {name} drains on; `antipode workers` shows when it has left"),
            }),
        }
        worker = look(&client, &worker).await?;
    }
    if args.json {
        let report = Report {
            worker: number.to_string(),
            name: worker.name,
            condition: worker.condition,
            tasks_done: worker.tasks_done,
            seconds: call.started.elapsed().as_secs_f64(),
        };
        return json::print_signed(&report, &call.command);
    }
    line(&format!("worker {name} has left"))
}

async fn look(client: &RemoteClient, before: &WorkerStatus) -> Result<WorkerStatus, Failure> {
    let workers = client.workers().await?;
    let found = workers.into_iter().find(|w| w.worker == before.worker);
    found.ok_or_else(|| Failure::other(format!("worker {} is not known any more", before.worker)))
}

/// The worker that the coordinator has understood: the only one of that name, or the one of that number.
fn find(workers: Vec<WorkerStatus>, named: &str) -> Result<WorkerStatus, Failure> {
    let by_name = workers.iter().filter(|w| w.name == named).count() == 1;
    let number = named.strip_prefix('w').unwrap_or(named);
    let is_it = |w: &WorkerStatus| match by_name {
        true => w.name == named,
        false => w.worker.0.to_string() == number,
    };
    let found = workers.into_iter().find(is_it);
    found.ok_or_else(|| Failure::other(format!("worker {named} is not known any more")))
}
