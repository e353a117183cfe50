//! The worker: holds a conversation with the coordinator, computes leased tasks, keeps their
//! artifacts in memory and on disk, and serves them to other workers.
//!
//! - [`session`]: what is said and decided, without IO; fed with events, returns actions.
//! - [`exec`]: one runner per task kind, on top of an engine.
//! - [`artifacts`]: what is held: memory within a budget, a store per job, peers.
//! - [`net`]: the driver: the loop between link, session, compute thread, fetches and data server.
//!
//! The same code serves a daemon ([`Source::Address`]) and a cluster within one process
//! ([`Source::Link`]).

pub mod artifacts;
mod beside;
mod compute;
mod config;
mod delay;
mod devices;
mod disk_room;
mod error;
pub mod exec;
mod folder;
mod gauges;
mod identity;
mod journal;
mod machine;
#[cfg(feature = "media")]
#[doc(hidden)]
pub mod medium;
#[cfg(not(feature = "media"))]
mod medium;
mod net;
mod pool;
mod sabotage;
pub mod scrambles;
pub mod session;
mod stored;
#[cfg(test)]
mod testing;

pub use compute::{Compute, Loader};
pub use config::{Config, DEFAULT_GRACE, DEFAULT_PATIENCE, Source};
pub use devices::Devices;
pub use error::StartError;
pub use gauges::{Gauges, Summary, process_memory_bytes};
pub use journal::{End, note_end};
pub use net::{Announcer, run};
pub use stored::Stored;

/// Deletes what a worker that has ended left of a job under its data directory.
pub fn remove_job(data: &std::path::Path, job: antipode_ids::JobId) {
    artifacts::remove_folder(&artifacts::folder_of(data, job));
}
