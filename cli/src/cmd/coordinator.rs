//! `coordinator`: the daemon that plans jobs and leases their tasks to workers.

use super::block_on;
use crate::access::{self, Access};
use crate::exit::Failure;
use crate::signals::Signals;
use crate::{address, data_dir};
use antipode_coordinator::Coordinator;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::TcpListener;

/// Plan jobs and lease their tasks to workers
///
/// Writes an access file (address, readable by you alone), so that `worker`, `submit` and `jobs` on this machine
/// or a shared home need no address. SIGINT and SIGTERM end it cleanly; workers wait for it to come back.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where jobs and their results are kept
    #[arg(long, value_name = "DIR")]
    data: PathBuf,

    /// Where workers and clients connect; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = address::DEFAULT_COORDINATOR)]
    listen: String,

    /// The address that the access file names, where it differs from --listen
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,

    /// Allow an address that is not loopback; connections are neither encrypted nor authenticated
    #[arg(long)]
    insecure: bool,

    /// Make a checkpoint of every job this often, e.g. 10s, 5m [default: so that it costs below 10 % of the time]
    #[arg(long, value_name = "DURATION", value_parser = crate::render::parse_span)]
    checkpoint_every: Option<Duration>,

    /// Workers report this often
    #[arg(long, value_name = "DURATION", value_parser = crate::render::parse_span, hide = true)]
    heartbeat: Option<Duration>,

    /// A worker without a word for this long loses its leases
    #[arg(long, value_name = "DURATION", value_parser = crate::render::parse_span, hide = true)]
    lease: Option<Duration>,

    /// The shards of a worker that is gone for this long are computed elsewhere
    #[arg(long, value_name = "DURATION", value_parser = crate::render::parse_span)]
    rebuild_after: Option<Duration>,

    /// On how many other workers' disks a checkpoint is copied; 0: on none [default: one, where there are two workers]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=64))]
    replicas: Option<u32>,

    /// A task that ended its worker so often, while nothing else ran there, is set aside
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    crash_limit: Option<u32>,

    /// With less room than this on the disk nothing new is accepted, e.g. 1GiB [default: 64 MiB]
    #[arg(long, value_name = "SIZE", value_parser = crate::memory::parse)]
    disk_reserve: Option<u64>,
}

/// Runs until a signal.
pub fn coordinator(args: &Args) -> Result<(), Failure> {
    let data = data_dir::resolve(Some(&args.data))?;
    let listen = address::check("--listen", &args.listen, args.insecure)?;
    block_on(serve(args, data, listen))
}

async fn serve(args: &Args, data: PathBuf, listen: SocketAddr) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    // The address first: a start that fails must leave nothing behind.
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| cannot_listen(listen, &error))?;
    let address = listener
        .local_addr()
        .map_err(|error| cannot_listen(listen, &error))?;
    data_dir::create(&data)?;
    let mut config = antipode_coordinator::Config::new(data.clone());
    config.checkpoint_every = args.checkpoint_every;
    config.heartbeat = args.heartbeat.unwrap_or(config.heartbeat);
    config.lease = args.lease.unwrap_or(config.lease);
    config.rebuild_after = args.rebuild_after.unwrap_or(config.rebuild_after);
    config.replicas = args.replicas;
    config.crash_limit = args.crash_limit.unwrap_or(config.crash_limit);
    config.disk_reserve = args.disk_reserve.unwrap_or(config.disk_reserve);
    let coordinator = Coordinator::open(config).await?;
    let published = access::publish(Access {
        address: args.advertise.clone().unwrap_or_else(|| reachable(address)),
        insecure: args.insecure,
        pid: std::process::id(),
        version: crate::report::VERSION.into(),
    })?;
    eprintln!(
        "coordinator listening on {address}, data in {}",
        data.display()
    );
    eprintln!("access file: {}", access::path().display());
    let served = coordinator
        .serve(listener, async move {
            let signal = signals.next().await;
            eprintln!("coordinator ending on signal {signal}");
        })
        .await;
    drop(published);
    coordinator.close().await;
    served.map_err(|error| Failure::other(format!("the server on {address} ended: {error}")))
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    Failure::input(match error.kind() {
        std::io::ErrorKind::AddrInUse => format!(
            "the address {address} is in use by another process (a coordinator that is running already?); \
             choose another with --listen HOST:PORT, or port 0 for a free one"
        ),
        _ => format!(
            "cannot listen on {address}: {error}; choose another address with --listen HOST:PORT"
        ),
    })
}

/// An address that others can connect to: `0.0.0.0` is none, this machine's name is.
fn reachable(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    format!("{host}:{}", address.port())
}
