//! Why a worker was lost, or how its process ended: recorded, and printed as users see it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The cause of a worker's end or absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// It was asked to end and said goodbye.
    Left,
    /// Its process ended with this exit code.
    Exit(i32),
    /// Its process was ended by this signal.
    Signal(i32),
    /// The system killed its process for want of memory.
    OutOfMemory,
    /// The machine under it started again.
    MachineRestarted,
    /// Its process ended without a word; nobody saw how.
    Unknown,
    /// Its connection was closed while it was well, and it did not come back.
    Closed,
    /// Nothing was heard of it for longer than a lease.
    Silent,
    /// It has no room on its disk.
    DiskFull,
    /// It speaks another protocol.
    Version,
}

impl Cause {
    /// May what it was computing be to blame?
    pub fn may_be_the_task(self) -> bool {
        match self {
            Cause::Exit(_)
            | Cause::Signal(_)
            | Cause::OutOfMemory
            | Cause::Unknown
            | Cause::Closed => true,
            Cause::Left
            | Cause::MachineRestarted
            | Cause::Silent
            | Cause::DiskFull
            | Cause::Version => false,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Left => f.write_str("it left when asked to"),
            Cause::Exit(code) => write!(f, "its process ended with exit code {code}"),
            Cause::Signal(number) => match signal_name(*number) {
                Some(name) => write!(f, "its process was ended by signal {number} ({name})"),
                None => write!(f, "its process was ended by signal {number}"),
            },
            Cause::OutOfMemory => f.write_str("out of memory: the system killed its process"),
            Cause::MachineRestarted => f.write_str("its machine started again"),
            Cause::Unknown => f.write_str("its process ended without a word (killed or crashed)"),
            Cause::Closed => f.write_str("its connection was closed and it did not come back"),
            Cause::Silent => f.write_str("no heartbeat for longer than a lease"),
            Cause::DiskFull => f.write_str("its disk is full"),
            Cause::Version => f.write_str("it speaks another protocol version"),
        }
    }
}

/// Names of the signals that end processes, as Linux numbers them.
fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}
