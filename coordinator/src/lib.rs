//! The coordinator: a driver around the state machine of `coordinator/core`.
//!
//! A request's way: [`LocalClient`] (in process) or `rpc` (gRPC) puts an event into the one queue;
//! `run` takes what is queued, steps the core with each, commits once, and performs the effects in
//! order; answers come back through the channel that came with the question.

/// For the simulation of a whole cluster.
#[doc(hidden)]
pub mod bridge;
mod client;
mod config;
mod disk;
mod error;
#[cfg(feature = "media")]
#[doc(hidden)]
pub mod medium;
#[cfg(not(feature = "media"))]
mod medium;
mod offline;
mod prepare;
mod rpc;
mod run;
#[cfg(feature = "media")]
#[doc(hidden)]
pub mod store;
#[cfg(not(feature = "media"))]
mod store;
mod view;
mod watch;

pub use client::LocalClient;
pub use config::{Config, DISK_RESERVE_BYTES};
pub use error::{OpenError, ServeError};
pub use offline::{Announced, Offline};
pub use prepare::{Prepare, Prepared, prepare_with};
pub use store::{STORE_FILE, is_store};

use antipode_proto::link::{self, WorkerLink};
use antipode_proto::status::JobStatus;
use run::Command;
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Weak};
use store::Store;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// A running coordinator.
pub struct Coordinator {
    commands: mpsc::UnboundedSender<Command>,
    prepare: Prepare,
    driver: JoinHandle<()>,
    store: Weak<Store>,
}

impl Coordinator {
    /// Opens (or makes) the store in `config.data` and starts. Unfinished jobs go on as soon as
    /// workers are there.
    pub async fn open(config: Config) -> Result<Coordinator, OpenError> {
        Coordinator::open_with(config, Arc::new(prepare::prepare)).await
    }

    /// As [`Coordinator::open`], with another way from a question to a definition: for tests that
    /// fabricate their spaces.
    pub async fn open_with(config: Config, prepare: Prepare) -> Result<Coordinator, OpenError> {
        let data = config.data.clone();
        let opened = tokio::task::spawn_blocking(move || Store::open(&data));
        let (store, stored) = match opened.await {
            Ok(opened) => opened?,
            Err(error) => return Err(OpenError::damaged(&config.data, error.to_string())),
        };
        let store = Arc::new(store);
        let weak = Arc::downgrade(&store);
        let (commands, queue) = mpsc::unbounded_channel();
        let driver = run::Driver::new(&config, store, stored, commands.clone())
            .map_err(|problem| OpenError::damaged(&config.data, problem))?;
        let driver = tokio::spawn(driver.run(queue));
        Ok(Coordinator {
            commands,
            prepare,
            driver,
            store: weak,
        })
    }

    /// A client in this process; it may be cloned and outlive nothing but its answers.
    pub fn client(&self) -> LocalClient {
        LocalClient::new(self.commands.clone(), Arc::clone(&self.prepare))
    }

    /// A worker in this process: its end of the conversation.
    pub fn attach(&self) -> WorkerLink {
        let (worker, ours) = link::pair();
        // A coordinator that has ended drops the link; the worker sees it closed.
        _ = self.commands.send(Command::Attach {
            link: ours,
            local: true,
        });
        worker
    }

    /// Serves workers and clients over gRPC until `shutdown`, then ends their streams.
    pub async fn serve(
        &self,
        listener: tokio::net::TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        rpc::serve(self.client(), self.commands.clone(), listener, shutdown).await
    }

    /// Ends: all that is known is durable, workers are cut off, the store is free for others.
    pub async fn close(self) {
        let (done, closed) = oneshot::channel();
        if self.commands.send(Command::Close { done }).is_ok() {
            _ = closed.await;
        }
        _ = self.driver.await;
        released(&self.store).await;
    }

    /// Ends as a crash would: nothing more is written. For tests.
    #[doc(hidden)]
    pub async fn abort(self) {
        self.driver.abort();
        _ = self.driver.await;
        released(&self.store).await;
    }
}

/// A commit that was on its way holds the store a moment longer.
async fn released(store: &Weak<Store>) {
    while store.strong_count() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

/// Writes records into a store as one commit; the bytes of its file. For benches.
#[doc(hidden)]
pub fn store_for_benches(
    data: &Path,
    records: &[antipode_coordinator_core::record::Record],
) -> u64 {
    let written = Store::open(data).map(|(store, _)| store.commit(records).is_ok());
    assert!(matches!(written, Ok(true)), "the store does not take it");
    std::fs::metadata(data.join(STORE_FILE)).map_or(0, |file| file.len())
}

/// The jobs of a store that no coordinator has open, oldest first.
pub fn read_only(data: &Path) -> Result<Vec<JobStatus>, OpenError> {
    Ok(Offline::open(data)?.jobs())
}
