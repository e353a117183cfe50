//! What a coordinator can be told at its start.

use antipode_coordinator_core as core;
use std::path::PathBuf;
use std::time::Duration;

/// How long a worker whose connection was closed is waited for, if it was well until then: it
/// connects again within a tenth of a second or its process has ended.
const RECONNECT: Duration = Duration::from_secs(2);

/// The usual watermark: with less room free nothing is stored.
pub const DISK_RESERVE_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The store's directory; made if it is not there.
    pub data: PathBuf,
    /// Workers report this often.
    pub heartbeat: Duration,
    /// A worker silent for longer is lost: its leases return.
    pub lease: Duration,
    /// A worker away for longer loses its shards to others.
    pub rebuild_after: Duration,
    /// `None`: as often as costs at most a tenth of the time.
    pub checkpoint_every: Option<Duration>,
    /// On how many other workers' disks a checkpoint is copied. `None`: one, where there are two workers.
    pub replicas: Option<u32>,
    /// A task that ended its worker so often, while nothing else ran, is set aside.
    pub crash_limit: u32,
    /// With less room than this on the disk, in bytes, nothing new is accepted.
    pub disk_reserve: u64,
}

impl Config {
    /// The usual durations: 1 s, 10 s, 30 s, checkpoints by cost.
    pub fn new(data: PathBuf) -> Config {
        Config {
            data,
            heartbeat: Duration::from_secs(1),
            lease: Duration::from_secs(10),
            rebuild_after: Duration::from_secs(30),
            checkpoint_every: None,
            replicas: None,
            crash_limit: 5,
            disk_reserve: DISK_RESERVE_BYTES,
        }
    }

    pub(crate) fn core(&self) -> core::Config {
        core::Config {
            heartbeat: millis(self.heartbeat),
            lease: millis(self.lease),
            rebuild_after: millis(self.rebuild_after),
            reconnect: millis(RECONNECT.min(self.rebuild_after)),
            checkpoint_every: self.checkpoint_every.map(millis),
            replicas: self.replicas,
            crash_limit: self.crash_limit.max(1),
        }
    }
}

/// Whole milliseconds, at least one.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX / 1000)
        .max(1)
}
