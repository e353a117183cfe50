//! `workers`: lists the workers of a coordinator.

use super::{Call, block_on};
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::memory;
use crate::render::{json, line, table};
use crate::report::date;
use antipode_proto::client::Client;
use serde::Serialize;

/// List workers
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct WorkerRow {
    worker: String,
    name: String,
    connected: bool,
    /// Where other workers fetch from it.
    address: Option<String>,
    threads: u32,
    memory_bytes: u64,
    /// Tasks it computes now, as job/level/shard.
    running: Vec<String>,
    /// What keeps it from getting tasks, e.g. `draining` or `disk full`.
    condition: Option<String>,
    /// Where it keeps its frontiers.
    disk_free_bytes: Option<u64>,
    tasks_done: u64,
    last_seen: String,
    worker_version: String,
}

#[derive(Debug, Serialize)]
struct WorkerList {
    workers: Vec<WorkerRow>,
}

/// Prints the list.
pub fn workers(args: &Args, call: &Call) -> Result<(), Failure> {
    let workers = block_on(async { Ok(args.coordinator.connect().await?.workers().await?) })?;
    let rows: Vec<WorkerRow> = workers
        .into_iter()
        .map(|worker| WorkerRow {
            worker: worker.worker.to_string(),
            name: worker.name,
            connected: worker.connected,
            address: worker.address,
            threads: worker.threads,
            memory_bytes: worker.memory_bytes,
            running: worker.running,
            condition: Some(worker.condition).filter(|condition| !condition.is_empty()),
            disk_free_bytes: worker.disk_free_bytes,
            tasks_done: worker.tasks_done,
            last_seen: date(worker.last_seen),
            worker_version: worker.version,
        })
        .collect();
    if args.json {
        return json::print_signed(&WorkerList { workers: rows }, &call.command);
    }
    if rows.is_empty() {
        line("no workers")?;
        eprintln!("start one with `antipode worker --data DIR`");
        return Ok(());
    }
    let cells = rows
        .into_iter()
        .map(|row| {
            vec![
                row.worker,
                row.name,
                match (row.connected, row.condition) {
                    (true, None) => "connected".into(),
                    (true, Some(condition)) => condition,
                    (false, Some(condition)) => format!("{condition}, {}", row.last_seen),
                    (false, None) => format!("gone since {}", row.last_seen),
                },
                row.threads.to_string(),
                memory::show(row.memory_bytes),
                row.disk_free_bytes.map_or("?".into(), memory::show),
                row.running.len().to_string(),
                row.tasks_done.to_string(),
                row.worker_version,
            ]
        })
        .collect();
    table::print(
        &[
            "WORKER",
            "NAME",
            "STATE",
            ">THREADS",
            ">MEMORY",
            ">FREE DISK",
            ">RUNNING",
            ">DONE",
            "VERSION",
        ],
        cells,
    )
}
