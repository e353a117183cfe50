//! Numbers about a living worker that others may read at any time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of one worker. Byte counts are bytes on the wire or in memory, not states.
#[derive(Debug, Default)]
pub struct Gauges {
    pub(crate) tasks_done: AtomicU64,
    pub(crate) fetched_bytes: AtomicU64,
    pub(crate) served_bytes: AtomicU64,
    pub(crate) spilled_bytes: AtomicU64,
    pub(crate) resident_bytes: AtomicU64,
}

/// What a worker did in its life, or up to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    pub tasks_done: u64,
    /// Bytes fetched from other workers, and served to them.
    pub fetched_bytes: u64,
    pub served_bytes: u64,
    /// Bytes written to disk because memory was short.
    pub spilled_bytes: u64,
    /// Artifacts in memory now.
    pub resident_bytes: u64,
    /// Most memory that the whole process ever used; 0 where the system does not tell.
    pub peak_memory_bytes: u64,
}

impl Gauges {
    /// All numbers now.
    pub fn read(&self) -> Summary {
        Summary {
            tasks_done: self.tasks_done.load(Relaxed),
            fetched_bytes: self.fetched_bytes.load(Relaxed),
            served_bytes: self.served_bytes.load(Relaxed),
            spilled_bytes: self.spilled_bytes.load(Relaxed),
            resident_bytes: self.resident_bytes.load(Relaxed),
            peak_memory_bytes: process_memory_bytes().1,
        }
    }

    pub(crate) fn add(counter: &AtomicU64, bytes: u64) {
        counter.fetch_add(bytes, Relaxed);
    }
}

/// Memory of this process now and its peak, in bytes; (0, 0) where the system does not tell.
pub fn process_memory_bytes() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(|rest| {
                rest.trim()
                    .trim_end_matches("kB")
                    .trim()
                    .parse::<u64>()
                    .ok()
            })
            .map_or(0, |kibibytes| kibibytes * 1024)
    };
    (field("VmRSS:"), field("VmHWM:"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_at_least_what_is_used_now() {
        let (now, peak) = process_memory_bytes();
        assert!(now > 100_000 && peak >= now / 2, "{now} {peak}");
    }
}
