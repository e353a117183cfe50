//! What a worker is told at its start.

use crate::devices::Devices;
use crate::gauges::Gauges;
use antipode_proto::link::WorkerLink;
use antipode_solver_core::engine::KernelChoice;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where the coordinator is.
#[derive(Debug)]
pub enum Source {
    /// In the same process. When the link ends, so does the worker.
    Link(WorkerLink),
    /// `host:port`. The worker outlives the coordinator: it reconnects for as long as it lives.
    Address(String),
}

/// The usual [`Config::grace`].
pub const DEFAULT_GRACE: Duration = Duration::from_secs(30);

/// The usual [`Config::patience`].
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);

/// Settings of one worker.
#[derive(Debug)]
pub struct Config {
    /// Folder for identity and artifacts; locked while the worker lives, made if missing.
    pub data: PathBuf,
    /// How users see it, usually the host name.
    pub name: String,
    /// Threads of the compute pool; 0 means all that the machine has.
    pub threads: usize,
    /// Budget for artifacts, tables and working memory, in bytes. Buffers for the disk and for peers
    /// (about eight bitmaps of a shard) come on top.
    pub memory_bytes: u64,
    /// Where artifacts are served to other workers. `None`: a free loopback port with
    /// [`Source::Address`], no server at all with [`Source::Link`].
    pub listen: Option<SocketAddr>,
    /// `host:port` under which others reach `listen`, where that differs.
    pub advertise: Option<String>,
    /// Allow addresses other than loopback, without encryption and without any proof of identity.
    pub insecure: bool,
    pub kernel: KernelChoice,
    /// The graphics processors that it computes with.
    pub devices: Devices,
    /// How long a daemon looks for a coordinator that it has not met since its start. `None`: as long as it
    /// lives, as for one that it has met.
    pub patience: Option<Duration>,
    /// Less free on the disk than this, in bytes, and the worker asks for no more tasks. `None`: 256 MiB or
    /// 2 % of the file system, whichever is less.
    pub disk_reserve: Option<u64>,
    /// How long a daemon may take to end, once asked to. Two thirds of it are for handing over what the
    /// coordinator wants, the rest for bringing to the own disk what nobody fetched. Within one
    /// process with the coordinator it has no meaning.
    pub grace: Duration,
    pub coordinator: Source,
    /// Filled by the worker, readable by whoever started it.
    pub gauges: Arc<Gauges>,
}
