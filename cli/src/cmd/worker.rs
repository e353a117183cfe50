//! `worker`: the daemon that computes.

use super::block_on;
use crate::compute_args::ComputeArgs;
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::gpu_args::{Asker, LevelGpuArgs};
use crate::signals::Signals;
use crate::supervise::{Supervised, supervise};
use crate::{address, data_dir};
use antipode_worker::Devices;
use std::path::PathBuf;
use std::time::Duration;

/// Compute tasks for a coordinator
///
/// Workers may join and leave while a job runs. SIGINT and SIGTERM make it drain: it hands over what only it holds,
/// or stores it, and ends; a second signal ends it at once.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where this worker's identity and frontiers are kept; one directory a worker
    #[arg(long, value_name = "DIR", required = true)]
    data: Option<PathBuf>,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// Where other workers fetch frontiers from this one [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,

    /// The address that other workers use, where it differs from --listen
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,

    /// How `antipode workers` calls it [default: this machine's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// How long it may take to end after a signal, e.g. 30s, 2m
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = crate::render::parse_span)]
    grace: Duration,

    /// Take no more tasks when less than this is free on the disk, e.g. 1GiB [default: 256 MiB or 2 % of it]
    #[arg(long, value_name = "SIZE", value_parser = crate::memory::parse)]
    disk_reserve: Option<u64>,

    /// Start the worker again when it crashes; this process supervises it
    #[arg(long)]
    restart: bool,

    #[command(flatten)]
    supervised: Supervised,

    #[command(flatten)]
    compute: ComputeArgs,

    #[command(flatten)]
    gpu: LevelGpuArgs,
}

/// Runs until a signal, or until the coordinator ends it.
pub fn worker(args: &Args) -> Result<(), Failure> {
    args.supervised.bind()?;
    let kernel = args.compute.kernel()?;
    let data = data_dir::resolve(args.data.as_deref())?;
    let listen = match &args.listen {
        Some(text) => Some(address::check("--listen", text, args.coordinator.insecure)?),
        None => None,
    };
    let coordinator = args.coordinator.address()?;
    if args.restart {
        return block_on(supervise(&data));
    }
    if !args.supervised.is_again() {
        // A start that finds nobody, or another version, must leave nothing behind.
        block_on(async { args.coordinator.connect().await.map(|_| ()) })?;
    }
    let devices = match args.gpu.is_wanted(true) {
        false => Devices::default(),
        true => {
            let pool = args.compute.pool()?;
            Devices::new(args.gpu.open(Asker::Worker, kernel, &pool)?)
        }
    };
    data_dir::create(&data)?;
    let config = antipode_worker::Config {
        data,
        name: args.name.clone().unwrap_or_else(host_name),
        threads: args.compute.threads() as usize,
        memory_bytes: args.compute.memory_bytes(),
        listen,
        advertise: args.advertise.clone(),
        insecure: args.coordinator.insecure,
        kernel,
        devices,
        patience: (!args.supervised.is_again()).then_some(antipode_worker::DEFAULT_PATIENCE),
        grace: args.grace,
        disk_reserve: args.disk_reserve,
        coordinator: antipode_worker::Source::Address(coordinator.clone()),
        gauges: Default::default(),
    };
    block_on(async {
        let mut signals = Signals::new()?;
        eprintln!("worker {} starting, coordinator {coordinator}", config.name);
        let summary = antipode_worker::run(config, async move {
            let signal = signals.next().await;
            eprintln!("worker draining on signal {signal} (once more to stop at once)");
            signals.next_one_kills();
        })
        .await?;
        eprintln!(
            "worker ended: {} tasks, {} fetched, {} served",
            summary.tasks_done,
            crate::memory::show(summary.fetched_bytes),
            crate::memory::show(summary.served_bytes)
        );
        Ok(())
    })
}

fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}
