//! Why a worker did not start, or had to end: a variant per thing the user can do.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{path} is in use by process {}; stop that process or name another folder with --data", pid_text(*.pid))]
    InUse { path: PathBuf, pid: Option<u32> },
    #[error("cannot write to {path}: {reason}; name a writable folder with --data")]
    Unwritable { path: PathBuf, reason: String },
    #[error(
        "the disk of {path} is full ({reason}); make room there (nothing that is stored was touched), or name another folder with --data"
    )]
    DiskFull { path: PathBuf, reason: String },
    #[error(
        "{path} was written in format {theirs}, this program knows formats up to {ours}; use the newer antipode, or name another folder with --data"
    )]
    NewerFormat {
        path: PathBuf,
        theirs: u32,
        ours: u32,
    },
    #[error("{path} cannot be read: {reason}; remove the folder {} to start as a new worker (what it held is computed again)", parent_text(.path))]
    DamagedIdentity { path: PathBuf, reason: String },
    #[error(
        "the coordinator speaks protocol {theirs}, this worker speaks {ours}; use the same version of antipode on both sides"
    )]
    Version { ours: u32, theirs: u32 },
    #[error(
        "the worker data in {path} belong to cluster {ours}, but the coordinator is of cluster {theirs}; name another folder with --data or another coordinator with --coordinator"
    )]
    ForeignCluster {
        path: PathBuf,
        ours: String,
        theirs: String,
    },
    #[error("the coordinator refused this worker: {reason}")]
    Refused { reason: String },
    #[error(
        "the address {address} is in use by another process; name another with --listen ADDR (port 0 takes a free one)"
    )]
    AddressInUse { address: SocketAddr },
    #[error("cannot listen on {address}: {reason}; name another address with --listen")]
    Listen { address: SocketAddr, reason: String },
    #[error(
        "{address} is not a loopback address, and the connection would be neither encrypted nor authenticated; add --insecure if the network is yours alone"
    )]
    NotLoopback { address: String },
    #[error(
        "{address} means every address of this machine; say under which one others reach it with --advertise HOST:PORT"
    )]
    NoAdvertise { address: SocketAddr },
    #[error("{reason}")]
    BadAddress { reason: String },
    #[error(
        "the coordinator is at {coordinator}, but other workers could not reach this one; say where with --listen ADDR:PORT (and --advertise HOST:PORT where that differs)"
    )]
    NotReachable { coordinator: String },
    #[error("no coordinator answers at {address} (tried for {:.0} s: {reason}); start one with `antipode coordinator --data DIR`, or name another with --coordinator ADDR", .tried.as_secs_f64())]
    Unreachable {
        address: String,
        tried: Duration,
        reason: String,
    },
    #[error("this processor has no {0}; use --kernel auto")]
    NoKernel(&'static str),
    #[error("cannot start {threads} compute threads: {reason}; ask for fewer with --threads")]
    Threads { threads: usize, reason: String },
    #[error("internal error: {0}")]
    Internal(String),
}

fn pid_text(pid: Option<u32>) -> String {
    pid.map_or_else(|| "(unknown)".into(), |pid| pid.to_string())
}

fn parent_text(path: &std::path::Path) -> String {
    path.parent().unwrap_or(path).display().to_string()
}
