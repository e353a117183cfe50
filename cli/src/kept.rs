//! What a job keeps: its frontiers or packed distances, on this machine's disk (a stored run) or at the workers of
//! a cluster, read as they are needed.

use crate::cmd::runtime;
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::offline::Look;
use crate::stores;
use antipode_proto::client::Client;
use antipode_proto::data::{Fetcher, MAX_POSITIONS, NO_STATE};
use antipode_proto::message::{ArtifactKind, ArtifactName, Input};
use antipode_proto::status::JobStatus;
use antipode_solver_core::bfs::frontier::{Frontier, ShardGeometry};
use antipode_solver_core::distance::{PackedDistances, Residues};
use antipode_solver_core::engine::{Level, ShardId};
use antipode_solver_core::job::{BfsSpec, Keep};
use antipode_worker::Stored;
use antipode_worker::artifacts::unpack;
use antipode_worker::exec::item;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Lengths and counts in front of an artifact's states.
const HEADER_BYTES: u64 = 64;

/// A job, and what is kept of it.
pub struct Kept {
    /// As a user names it.
    pub name: String,
    pub status: JobStatus,
    artifacts: BTreeMap<ArtifactName, Input>,
    source: Source,
}

enum Source {
    /// As long as the look lives nobody else can change the store.
    Disk {
        worker: Box<Option<Stored>>,
        _look: Box<antipode_coordinator::Offline>,
    },
    Workers {
        fetcher: Fetcher,
        runtime: Runtime,
    },
}

impl Kept {
    /// The job in `data`, or at the coordinator.
    pub fn open(
        job: &str,
        data: Option<&Path>,
        coordinator: &CoordinatorArgs,
    ) -> Result<Kept, Failure> {
        match data {
            Some(data) => Kept::stored(job, data),
            None => Kept::at_coordinator(job, coordinator),
        }
    }

    /// The job in a store.
    pub fn stored(job: &str, data: &Path) -> Result<Kept, Failure> {
        let job = stores::find(stores::read(data)?, job)?;
        let Look {
            coordinator,
            worker,
        } = Look::at(&job)?;
        let held = worker.iter().flat_map(Stored::held);
        let mine = held.filter(|held| held.name.job == job.status.job);
        let inputs = mine.map(|held| Input {
            name: held.name,
            digest: held.digest,
            count: held.count,
            holders: Vec::new(),
        });
        Ok(Kept {
            artifacts: inputs.map(|input| (input.name, input)).collect(),
            name: job.name,
            status: job.status,
            source: Source::Disk {
                worker: Box::new(worker),
                _look: Box::new(coordinator),
            },
        })
    }

    fn at_coordinator(job: &str, coordinator: &CoordinatorArgs) -> Result<Kept, Failure> {
        let runtime = runtime()?;
        let (status, holdings) = runtime.block_on(async {
            let client = coordinator.connect().await;
            let client = client.map_err(stores::or_stored_runs)?;
            let job = crate::cmd::number(&client, job).await?;
            let mut status = client.show(job).await?;
            let holdings = client.holdings(job).await?;
            // A status comes without the index.
            status.definition = Arc::clone(&holdings.definition);
            Ok::<_, Failure>((status, holdings))
        })?;
        let inputs = holdings.artifacts.into_iter();
        Ok(Kept {
            name: status.job.to_string(),
            status,
            artifacts: inputs.map(|input| (input.name, input)).collect(),
            source: Source::Workers {
                fetcher: Fetcher::default(),
                runtime,
            },
        })
    }

    /// The last complete level.
    pub fn last(&self) -> Level {
        self.status.levels.last().map_or(0, |level| level.level)
    }

    /// Must what comes from others be checked against its digest? A store checks every byte itself.
    pub fn is_far(&self) -> bool {
        matches!(self.source, Source::Workers { .. })
    }

    /// What is known of an artifact that is kept.
    pub fn artifact(&self, kind: ArtifactKind, level: Level, shard: ShardId) -> Option<&Input> {
        self.artifacts.get(&ArtifactName {
            job: self.status.job,
            level,
            shard,
            kind,
        })
    }

    /// All of one kind.
    pub fn all(&self, kind: ArtifactKind) -> impl Iterator<Item = &Input> {
        let inputs = self.artifacts.values();
        inputs.filter(move |input| input.name.kind == kind)
    }

    /// Are the packed distances of all counted states there?
    pub fn has_distances(&self) -> bool {
        let counted: u64 = self.status.levels.iter().map(|level| level.count).sum();
        let kept: u64 = self.all(ArtifactKind::Distances).map(|i| i.count).sum();
        self.status.exhausted && kept == counted
    }

    /// Is the whole level there? Level 0 needs not be kept.
    pub fn has_level(&self, level: Level) -> bool {
        let counted = self.status.levels.get(level as usize);
        let kept = self.all(ArtifactKind::Frontier);
        let kept: u64 = kept
            .filter(|i| i.name.level == level)
            .map(|i| i.count)
            .sum();
        level == 0 || counted.is_some_and(|counted| counted.count == kept)
    }

    /// Are all levels there?
    pub fn has_levels(&self) -> bool {
        (0..=self.last()).all(|level| self.has_level(level))
    }

    /// The enumeration that it is.
    ///
    /// # Errors
    /// It is a job of another kind, which has no levels.
    pub fn bfs(&self) -> Result<&BfsSpec, Failure> {
        let spec = &self.status.definition.spec;
        spec.bfs().ok_or_else(|| {
            Failure::input(format!(
                "job {} is a {} job; this is asked of enumerations (`bfs`) only",
                self.name,
                spec.kind()
            ))
        })
    }

    /// Why a question about single states cannot be answered.
    pub fn nothing_kept(&self) -> Failure {
        let definition = &self.status.definition;
        let spec = &definition.spec;
        let puzzle = spec.title();
        if spec.keep() == Keep::Result {
            return Failure::input(format!(
                "job {} ({puzzle}) kept its counts only, not the distances of single states; compute it again with --keep frontiers",
                self.name
            ));
        }
        let (state, _) = crate::report::state_words(&self.status.state);
        if state != "finished" {
            return Failure::input(format!(
                "job {} ({puzzle}) is {state}; distances can be asked when it is finished",
                self.name
            ));
        }
        let place = match &self.source {
            Source::Disk { worker, .. } => match worker.as_ref() {
                None => "the worker's directory is not there".to_string(),
                Some(worker) => match worker.damaged.first() {
                    Some(damage) => format!("the worker's store is damaged ({damage})"),
                    None => "the worker's directory holds only a part of it".into(),
                },
            },
            Source::Workers { .. } => "no connected workers hold all of it".into(),
        };
        Failure::other(format!(
            "what job {} ({puzzle}) kept is gone: {place}; bring it back, or compute the job again with --fresh",
            self.name
        ))
    }

    /// The packed distances of a shard, and what is known of them.
    pub fn distances(
        &self,
        shard: ShardId,
        geometry: ShardGeometry,
    ) -> Result<Arc<PackedDistances>, String> {
        let input = self.packed(shard)?;
        let read = || match &self.source {
            Source::Disk { worker, .. } => {
                let worker = worker
                    .as_ref()
                    .as_ref()
                    .ok_or("there is no worker's directory")?;
                worker.distances(input.name)
            }
            Source::Workers { .. } => {
                let limit = geometry.states / 5 + HEADER_BYTES;
                let decode = |_, _: &str, bytes: &[u8]| {
                    PackedDistances::decode(geometry, bytes).map_err(|error| error.to_string())
                };
                self.read(input, limit, decode).map(Arc::new)
            }
        };
        let checked =
            read().and_then(
                |distances| match distances.numbering().geometry() == geometry {
                    true => Ok(distances),
                    false => Err("they are those of another index".into()),
                },
            );
        checked.map_err(|why| format!("the distances of shard {shard} cannot be had: {why}"))
    }

    fn packed(&self, shard: ShardId) -> Result<&Input, String> {
        let mut all = self.all(ArtifactKind::Distances);
        let input = all.find(|input| input.name.shard == shard);
        input.ok_or_else(|| format!("the distances of shard {shard} are not kept"))
    }

    /// The frontier of a level and shard; empty where it has no states.
    pub fn frontier(
        &self,
        level: Level,
        shard: ShardId,
        geometry: ShardGeometry,
    ) -> Result<Frontier, String> {
        let Some(input) = self.artifact(ArtifactKind::Frontier, level, shard) else {
            return Ok(Frontier::empty(geometry));
        };
        let limit = geometry.encoded_bytes_at_most(input.count) + HEADER_BYTES;
        self.read(input, limit, |count, encoding, bytes| {
            unpack(geometry, count, encoding, bytes).map_err(|error| error.to_string())
        })
        .map_err(|why| format!("the frontier of level {level}, shard {shard} cannot be had: {why}"))
    }

    /// The rows of an item as they lie in a file, at most so many bytes, checked against their digest.
    pub fn rows(&self, item: u32, limit: u64) -> Result<Vec<u8>, String> {
        let shard = ShardId(item);
        let input = self
            .artifact(ArtifactKind::Frontier, item::LEVEL, shard)
            .ok_or_else(|| format!("part {item} is gone: no connected worker holds it"))?;
        let digest = input.digest;
        let check = |_, encoding: &str, bytes: &[u8]| match encoding == item::ENCODING
            && item::digest_of(bytes) == digest
        {
            true => Ok(bytes.to_vec()),
            false => Err("it came damaged".to_string()),
        };
        self.read(input, limit, check)
            .map_err(|why| format!("part {item} cannot be had: {why}"))
    }

    /// Reads an artifact from the disk, or from the first holder that has it.
    fn read<T>(
        &self,
        input: &Input,
        limit: u64,
        unpack: impl Fn(u64, &str, &[u8]) -> Result<T, String>,
    ) -> Result<T, String> {
        match &self.source {
            Source::Disk { worker, .. } => {
                let worker = worker
                    .as_ref()
                    .as_ref()
                    .ok_or("there is no worker's directory")?;
                let (count, packed) = worker.packed(input.name)?;
                unpack(count, &packed.encoding, &packed.bytes)
            }
            Source::Workers { fetcher, runtime } => {
                let mut why = "no connected worker holds it".to_string();
                for address in input.holders.iter().filter_map(|h| h.address.as_deref()) {
                    let fetch = fetcher.fetch(address, input.name, input.digest, limit);
                    let payload = match runtime.handle().block_on(fetch) {
                        Ok(payload) => payload,
                        Err(error) => {
                            why = error.to_string();
                            continue;
                        }
                    };
                    match unpack(payload.count, &payload.encoding, &payload.bytes) {
                        Ok(content) => return Ok(content),
                        Err(error) => why = format!("{address}: {error}"),
                    }
                }
                Err(why)
            }
        }
    }
}

/// Questions that are walked together, so that one call a step and shard serves all of them.
const TOGETHER: usize = 4096;

/// Packed distances that stay where they are: single values are asked at the workers that hold them.
pub struct AtWorkers<'a>(pub &'a Kept);

impl Residues for AtWorkers<'_> {
    fn residues(&self, places: &[(ShardId, u32)], out: &mut Vec<u8>) -> Result<(), String> {
        let Source::Workers { fetcher, runtime } = &self.0.source else {
            return Err("the distances are not at workers".into());
        };
        let mut by_shard: BTreeMap<ShardId, Vec<usize>> = BTreeMap::new();
        for (k, &(shard, _)) in places.iter().enumerate() {
            by_shard.entry(shard).or_default().push(k);
        }
        let mut calls = Vec::new();
        for (shard, asked) in by_shard {
            let input = self.0.packed(shard)?;
            for asked in asked.chunks(MAX_POSITIONS) {
                let positions: Vec<u32> = asked.iter().map(|&k| places[k].1).collect();
                let call = look_up(fetcher.clone(), input.clone(), positions);
                let asked = asked.to_vec();
                calls.push(async move { call.await.map(|values| (asked, values)) });
            }
        }
        let begin = out.len();
        out.resize(begin + places.len(), NO_STATE);
        let answers = runtime.handle().block_on(async {
            let mut running = JoinSet::new();
            calls.into_iter().for_each(|call| _ = running.spawn(call));
            running.join_all().await
        });
        for answer in answers {
            let (asked, values) = answer?;
            for (k, value) in asked.into_iter().zip(values) {
                out[begin + k] = value;
            }
        }
        match out[begin..].contains(&NO_STATE) {
            false => Ok(()),
            true => Err("the distances have no such position".into()),
        }
    }

    fn together(&self) -> usize {
        TOGETHER
    }
}

/// The values from the first holder that has them.
async fn look_up(fetcher: Fetcher, input: Input, positions: Vec<u32>) -> Result<Vec<u8>, String> {
    let shard = input.name.shard;
    let mut why = "no connected worker holds them".to_string();
    for address in input.holders.iter().filter_map(|h| h.address.as_deref()) {
        let values = fetcher.look_up(address, input.name, input.digest, &positions);
        match values.await {
            Ok(values) => return Ok(values),
            Err(error) => why = error.to_string(),
        }
    }
    Err(format!(
        "the distances of shard {shard} cannot be asked: {why}"
    ))
}
