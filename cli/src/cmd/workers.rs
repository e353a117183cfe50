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
    /// The devices that it computes on.
    devices: Vec<String>,
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
            devices: worker.devices,
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
    let (headings, cells) = cells(rows);
    table::print(&headings, cells)
}

/// The table. Devices have a column where a worker has some.
fn cells(rows: Vec<WorkerRow>) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let mut headings = vec![
        "WORKER",
        "NAME",
        "STATE",
        ">THREADS",
        ">MEMORY",
        ">FREE DISK",
        ">RUNNING",
        ">DONE",
        "VERSION",
    ];
    let has_devices = rows.iter().any(|row| !row.devices.is_empty());
    if has_devices {
        headings.push("DEVICES");
    }
    let cells = rows.into_iter().map(|row| {
        let mut cells = vec![
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
        ];
        if has_devices {
            cells.push(row.devices.join(", "));
        }
        cells
    });
    (headings, cells.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(devices: &[&str]) -> WorkerRow {
        WorkerRow {
            worker: "w1".into(),
            name: "host".into(),
            connected: true,
            address: None,
            threads: 2,
            memory_bytes: 1 << 30,
            running: Vec::new(),
            condition: None,
            disk_free_bytes: None,
            devices: devices.iter().map(ToString::to_string).collect(),
            tasks_done: 3,
            last_seen: date(0),
            worker_version: "0.1.0".into(),
        }
    }

    #[test]
    fn devices_have_a_column_where_a_worker_has_some() {
        let (headings, lines) = cells(vec![row(&[])]);
        assert!(!headings.contains(&"DEVICES"));
        assert_eq!(lines[0].len(), headings.len());
        let (headings, lines) = cells(vec![row(&[]), row(&["NVIDIA H200", "llvmpipe"])]);
        assert_eq!(headings.last(), Some(&"DEVICES"));
        assert_eq!(lines[0].last().map(String::as_str), Some(""));
        assert_eq!(
            lines[1].last().map(String::as_str),
            Some("NVIDIA H200, llvmpipe")
        );
        assert!(lines.iter().all(|line| line.len() == headings.len()));
    }
}
