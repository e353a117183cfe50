//! Bringing a task's inputs together: from memory, from the own disk, or from other workers, several
//! at once, each checked before it is used.

use super::{Artifacts, Content, Place};
use crate::beside::Beside;
use crate::compute::Compute;
use crate::gauges::Gauges;
use antipode_ids::WorkerId;
use antipode_proto::data::Fetcher;
use antipode_proto::message::{ArtifactName, Failure, Input};
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::distance::PackedDistances;
use antipode_solver_core::engine::Digest;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Fetches that run at once, over all tasks.
const PARALLEL: usize = 8;
/// A peer that is slower than this is given up, in bytes a second, after `PATIENCE`.
const SLOWEST: u64 = 256 << 10;
const PATIENCE: Duration = Duration::from_secs(30);

/// The inputs of one task, in memory as long as this value lives.
#[derive(Debug, Default)]
pub struct Inputs {
    pub frontiers: BTreeMap<ArtifactName, Arc<Frontier>>,
    /// Digests of the artifacts in `frontiers`.
    pub digests: BTreeMap<ArtifactName, Digest>,
    /// What a task that packs has made of its inputs already, with its digest.
    pub packed: Option<(Arc<PackedDistances>, Digest)>,
    /// Bytes that came from other workers for it.
    pub fetched_bytes: u64,
}

impl Inputs {
    fn insert(&mut self, name: ArtifactName, digest: Digest, content: &Content) {
        if let Some(set) = content.set() {
            self.frontiers.insert(name, set.clone());
        }
        self.digests.insert(name, digest);
    }
}

/// Where inputs come from.
pub struct Gatherer {
    artifacts: Arc<Artifacts>,
    gauges: Arc<Gauges>,
    pool: Arc<rayon::ThreadPool>,
    beside: Beside,
    fetcher: Fetcher,
    /// Own number (0 until it is known): nobody fetches from himself.
    me: AtomicU64,
    permits: Semaphore,
    /// Tasks that want the same artifact wait for one fetch.
    underway: Mutex<BTreeMap<ArtifactName, Arc<tokio::sync::Mutex<()>>>>,
}

impl Gatherer {
    pub fn new(
        artifacts: Arc<Artifacts>,
        gauges: Arc<Gauges>,
        pool: Arc<rayon::ThreadPool>,
        beside: Beside,
    ) -> Gatherer {
        Gatherer {
            artifacts,
            gauges,
            pool,
            beside,
            fetcher: Fetcher::default(),
            me: AtomicU64::new(u64::MAX),
            permits: Semaphore::new(PARALLEL),
            underway: Mutex::default(),
        }
    }

    pub fn set_me(&self, me: WorkerId) {
        self.me.store(me.0, Ordering::Relaxed);
    }

    /// The inputs, if all of them are in memory.
    pub fn at_hand(&self, wanted: &[Input]) -> Option<Inputs> {
        let mut inputs = Inputs::default();
        for input in wanted {
            match self.artifacts.place(input.name, input.digest) {
                Place::Memory(content) => inputs.insert(input.name, input.digest, &content),
                _ => return None,
            }
        }
        Some(inputs)
    }

    /// The inputs, from wherever they can be had; the first one that cannot ends it.
    pub async fn gather(
        self: Arc<Self>,
        engine: Arc<dyn Compute>,
        wanted: Vec<Input>,
    ) -> Result<Inputs, Failure> {
        let mut inputs = Inputs::default();
        let mut underway = JoinSet::new();
        for input in wanted {
            let this = self.clone();
            let engine = engine.clone();
            underway.spawn(async move {
                let (name, digest) = (input.name, input.digest);
                this.one(engine, input, true)
                    .await
                    .map(|(content, bytes)| (name, digest, content, bytes))
            });
        }
        while let Some(one) = underway.join_next().await {
            let (name, digest, content, bytes) =
                one.map_err(|error| Failure::Other(error.to_string()))??;
            inputs.insert(name, digest, &content);
            inputs.fetched_bytes += bytes;
        }
        Ok(inputs)
    }

    /// One input for a moment: it is not kept in memory beyond what the caller does with it. With the
    /// bytes that came from other workers.
    pub async fn borrow(
        &self,
        engine: Arc<dyn Compute>,
        input: Input,
    ) -> Result<(Content, u64), Failure> {
        self.one(engine, input, false).await
    }

    async fn one(
        &self,
        engine: Arc<dyn Compute>,
        input: Input,
        keep: bool,
    ) -> Result<(Content, u64), Failure> {
        let turn = {
            let mut underway = self.underway.lock().unwrap_or_else(PoisonError::into_inner);
            underway.entry(input.name).or_default().clone()
        };
        let guard = turn.lock().await;
        let found = self.one_undisturbed(engine, &input, keep).await;
        drop(guard);
        let mut underway = self.underway.lock().unwrap_or_else(PoisonError::into_inner);
        // Two: the map's and ours; nobody else waits.
        if Arc::strong_count(&turn) <= 2 {
            underway.remove(&input.name);
        }
        found
    }

    async fn one_undisturbed(
        &self,
        engine: Arc<dyn Compute>,
        input: &Input,
        keep: bool,
    ) -> Result<(Content, u64), Failure> {
        let name = input.name;
        match self.artifacts.place(name, input.digest) {
            Place::Memory(content) => return Ok((content, 0)),
            Place::Disk => {
                let artifacts = self.artifacts.clone();
                let loaded = self.beside.run(move || match keep {
                    true => artifacts.load(name),
                    false => artifacts.read(name),
                });
                let loaded = loaded.await;
                if let Ok(Some(content)) = loaded {
                    return Ok((content, 0));
                }
            }
            Place::Nowhere => {}
        }
        let me = WorkerId(self.me.load(Ordering::Relaxed));
        let mut tried = Vec::new();
        let mut reasons = Vec::new();
        // Spread the load: different shards begin at different holders.
        let start = name.shard.0 as usize % input.holders.len().max(1);
        let (later, first) = input.holders.split_at(start);
        for holder in first.iter().chain(later) {
            tried.push(holder.worker);
            let found = match &holder.address {
                _ if holder.worker == me => Err("it is not held here any more".to_string()),
                None => Err(format!("worker {} serves nobody", holder.worker)),
                Some(address) => self.fetch_from(address, engine.clone(), input).await,
            };
            match found {
                Ok((content, bytes)) => {
                    if keep {
                        self.artifacts
                            .insert_fetched(name, content.clone(), input.digest);
                    }
                    Gauges::add(&self.gauges.fetched_bytes, bytes);
                    return Ok((content, bytes));
                }
                Err(reason) => {
                    tracing::warn!(?name, holder = %holder.worker, %reason, "a holder does not give an artifact");
                    reasons.push(reason);
                }
            }
        }
        if reasons.is_empty() {
            reasons.push("nobody holds it".into());
        }
        Err(Failure::InputMissing {
            name,
            tried,
            reason: reasons.join("; "),
        })
    }

    /// The artifact from the worker at `address`, decoded and compared with its digest.
    async fn fetch_from(
        &self,
        address: &str,
        engine: Arc<dyn Compute>,
        input: &Input,
    ) -> Result<(Content, u64), String> {
        let limit = Content::limit_bytes(&*engine, input.name, input.count);
        let _permit = self
            .permits
            .acquire()
            .await
            .map_err(|error| error.to_string())?;
        let patience = PATIENCE + Duration::from_secs(limit / SLOWEST);
        let fetch = self.fetcher.fetch(address, input.name, input.digest, limit);
        let payload = tokio::time::timeout(patience, fetch)
            .await
            .map_err(|_| {
                format!(
                    "{address} was too slow: {} bytes in {patience:?} at most",
                    limit
                )
            })?
            .map_err(|error| error.to_string())?;
        let bytes = payload.bytes.len() as u64;
        let (name, count, digest) = (input.name, input.count, input.digest);
        let pool = self.pool.clone();
        let checked = self.beside.run(move || {
            let content =
                Content::unpack(&*engine, name, count, &payload.encoding, &payload.bytes)?;
            let found = pool.install(|| content.digest(&*engine, name));
            if found != digest {
                return Err(format!("its digest is {found} instead of {digest}"));
            }
            Ok(content)
        });
        match checked.await {
            Ok(Ok(content)) => Ok((content, bytes)),
            Ok(Err(reason)) => Err(format!("{address} sent something wrong: {reason}")),
            Err(error) => Err(format!(
                "{address} sent something that cannot be checked: {error}"
            )),
        }
    }
}
