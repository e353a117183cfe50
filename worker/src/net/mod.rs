//! The driver: the loop between link, session, compute thread, fetches and data server.

mod announcer;
mod connection;
mod driver;
mod prepare;
mod threads;

use crate::artifacts::{Artifacts, Server, StoreError};
use crate::beside::Beside;
use crate::compute::{Compute, Items, Loader};
use crate::config::{Config, Source};
use crate::delay::Delay;
use crate::disk_room::{DiskRoom, says_no_room};
use crate::error::StartError;
use crate::exec;
use crate::folder::{Folder, FolderError};
use crate::gauges::Summary;
use crate::identity::Identity;
use crate::journal::Journal;
use crate::pool;
use crate::sabotage::Sabotage;
pub use announcer::Announcer;
use antipode_solver_core::engine::{Engine, EngineError};
use antipode_solver_core::job::JobSpec;
use connection::Connection;
use driver::{Driver, Parts};
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Runs a worker until `shutdown` resolves (it then drains: hands over what the coordinator still wants,
/// see [`Config::grace`]), until the coordinator ends it, or, in one process with the coordinator,
/// until the link ends. Needs a tokio runtime with several threads. Everything that can be wrong at the start
/// is found before the coordinator hears of the worker.
pub async fn run(
    config: Config,
    shutdown: impl Future<Output = ()>,
) -> Result<Summary, StartError> {
    let (choice, memory_bytes) = (config.kernel, config.memory_bytes);
    let devices = config.devices.clone();
    let loader: Loader = Arc::new(move |definition, announcer| {
        Ok(match &definition.spec {
            JobSpec::Bfs(bfs) => {
                let engine = Engine::load(&bfs.puzzle, &definition.space, choice)?;
                engine.limit_memory(memory_bytes);
                Arc::new(devices.attach(engine, announcer)) as Arc<dyn Compute>
            }
            JobSpec::Batch(batch) => {
                let batch = exec::batch::load(batch, definition, &devices, announcer)?;
                Arc::new(Items(batch))
            }
        })
    });
    run_with(config, loader, shutdown).await
}

/// [`run`] with engines from `loader`.
pub(crate) async fn run_with(
    config: Config,
    loader: Loader,
    shutdown: impl Future<Output = ()>,
) -> Result<Summary, StartError> {
    let kernel = config.kernel.resolve().map_err(|error| match error {
        EngineError::NoKernel(name) => StartError::NoKernel(name),
        other => StartError::Internal(other.to_string()),
    })?;
    check_addresses(&config)?;
    let folder = Folder::lock(&config.data)?;
    let identity = Identity::start(folder.path())?;
    let journal = Journal::start(folder.path());
    let pool = Arc::new(pool::build(config.threads)?);
    // A task that waits for its device holds a thread of its pool, and one that computes in a pool takes up others'
    // work where it would wait. So tasks that are computed side by side have a pool each.
    let lanes = match config.devices.names().len() {
        0 => vec![pool.clone()],
        devices => (0..devices)
            .map(|_| pool::build(config.threads).map(Arc::new))
            .collect::<Result<_, _>>()?,
    };
    let gauges = config.gauges.clone();
    let (losses, lost) = mpsc::unbounded_channel();
    let beside = Beside::start()?;
    let disk = Arc::new(DiskRoom::new(folder.path(), config.disk_reserve));
    let artifacts = {
        let (data, shared) = (config.data.clone(), (gauges.clone(), disk.clone()));
        let opened =
            beside.run(move || Artifacts::open(&data, config.memory_bytes, shared, losses));
        let opened = opened.await;
        Arc::new(opened.map_err(|error| StartError::Internal(error.to_string()))??)
    };
    let server = match listen_address(&config) {
        Some(address) => {
            let shop = (artifacts.clone(), beside.clone());
            Some(Server::start(address, shop, gauges.clone()).await?)
        }
        None => None,
    };
    let address = server.as_ref().map(|server| {
        config
            .advertise
            .clone()
            .unwrap_or_else(|| server.address().to_string())
    });
    let parts = Parts {
        identity,
        journal,
        name: config.name,
        address,
        kernel,
        memory_bytes: config.memory_bytes,
        artifacts,
        disk,
        beside,
        pool,
        lanes,
        devices: config.devices.names().to_vec(),
        gauges: gauges.clone(),
        loader,
        delay: Delay::from_environment(),
        sabotage: Arc::new(Sabotage::from_environment(folder.path())),
        grace: matches!(config.coordinator, Source::Address(_)).then_some(config.grace),
    };
    let (driver, happened) =
        Driver::new(parts, Connection::new(config.coordinator, config.patience));
    driver.run(happened, lost, shutdown).await?;
    // In this order: nobody may find the folder locked by a worker that says it has ended.
    drop(server);
    drop(folder);
    Ok(gauges.read())
}

fn listen_address(config: &Config) -> Option<SocketAddr> {
    match (config.listen, &config.coordinator) {
        (Some(address), _) => Some(address),
        (None, Source::Address(_)) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        (None, Source::Link(_)) => None,
    }
}

/// Nothing but loopback without `insecure`, and nothing that others could not reach.
fn check_addresses(config: &Config) -> Result<(), StartError> {
    let not_loopback = |address: &dyn ToString| StartError::NotLoopback {
        address: address.to_string(),
    };
    if let Some(listen) = config.listen.filter(|listen| !listen.ip().is_loopback()) {
        if !config.insecure {
            return Err(not_loopback(&listen));
        }
        if listen.ip().is_unspecified() && config.advertise.is_none() {
            return Err(StartError::NoAdvertise { address: listen });
        }
    }
    let Source::Address(coordinator) = &config.coordinator else {
        return Ok(());
    };
    let remote = match coordinator.to_socket_addrs() {
        Ok(mut found) => found.any(|address| !address.ip().is_loopback()),
        // Not resolvable now; it can hardly be this machine.
        Err(_) => true,
    };
    if remote && !config.insecure {
        return Err(not_loopback(coordinator));
    }
    if remote
        && config.listen.is_none_or(|listen| listen.ip().is_loopback())
        && config.advertise.is_none()
    {
        return Err(StartError::NotReachable {
            coordinator: coordinator.clone(),
        });
    }
    Ok(())
}

impl From<FolderError> for StartError {
    fn from(error: FolderError) -> StartError {
        match error {
            FolderError::InUse { path, pid } => StartError::InUse { path, pid },
            FolderError::Unwritable { path, reason } if says_no_room(&reason) => {
                StartError::DiskFull {
                    path,
                    reason: reason.to_string(),
                }
            }
            FolderError::Unwritable { path, reason } => StartError::Unwritable {
                path,
                reason: reason.to_string(),
            },
        }
    }
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> StartError {
        match error {
            StoreError::Folder(error) => error.into(),
            StoreError::Full { path, reason } => StartError::DiskFull { path, reason },
            StoreError::Newer {
                path, theirs, ours, ..
            } => StartError::NewerFormat {
                path,
                theirs: theirs.into(),
                ours: ours.into(),
            },
            other => StartError::Internal(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
