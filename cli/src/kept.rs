//! What a job keeps: its frontiers or packed distances, on this machine's disk (a stored run) or at the workers of
//! a cluster, read as they are needed.

use crate::cmd::runtime;
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::offline::Look;
use crate::stores;
use antipode_proto::client::Client;
use antipode_proto::data::Fetcher;
use antipode_proto::message::{ArtifactKind, ArtifactName, Input};
use antipode_proto::status::JobStatus;
use antipode_solver_core::bfs::frontier::{Frontier, ShardGeometry};
use antipode_solver_core::distance::PackedDistances;
use antipode_solver_core::engine::{Level, ShardId};
use antipode_solver_core::job::Keep;
use antipode_worker::artifacts::unpack;
use antipode_worker::{Stored, unpack_distances};
use std::collections::BTreeMap;
use std::path::Path;
use tokio::runtime::Runtime;

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
        worker: Option<Stored>,
        _look: antipode_coordinator::Offline,
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

    fn stored(job: &str, data: &Path) -> Result<Kept, Failure> {
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
                worker,
                _look: coordinator,
            },
        })
    }

    fn at_coordinator(job: &str, coordinator: &CoordinatorArgs) -> Result<Kept, Failure> {
        let runtime = runtime()?;
        let (status, holdings) = runtime.block_on(async {
            let client = coordinator.connect().await;
            let client = client.map_err(stores::or_stored_runs)?;
            let job = crate::cmd::number(&client, job).await?;
            let status = client.show(job).await?;
            Ok::<_, Failure>((status, client.holdings(job).await?))
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

    /// Why a question about single states cannot be answered.
    pub fn nothing_kept(&self) -> Failure {
        let definition = &self.status.definition;
        let spec = &definition.spec;
        let puzzle = spec.puzzle.name();
        if spec.keep == Keep::Result {
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
            Source::Disk { worker: None, .. } => "the worker's directory is not there".to_string(),
            Source::Disk {
                worker: Some(worker),
                ..
            } => match worker.damaged.first() {
                Some(damage) => format!("the worker's store is damaged ({damage})"),
                None => "the worker's directory holds only a part of it".into(),
            },
            Source::Workers { .. } => "no connected workers hold all of it".into(),
        };
        Failure::other(format!(
            "what job {} ({puzzle}) kept is gone: {place}; bring it back, or compute the job again with --fresh",
            self.name
        ))
    }

    /// The packed distances of a shard.
    pub fn distances(
        &self,
        shard: ShardId,
        geometry: ShardGeometry,
    ) -> Result<PackedDistances, String> {
        let mut all = self.all(ArtifactKind::Distances);
        let input = all.find(|input| input.name.shard == shard);
        let input = input.ok_or_else(|| format!("the distances of shard {shard} are not kept"))?;
        let limit = geometry.states / 5 + HEADER_BYTES;
        self.read(input, limit, |_, encoding, bytes| {
            unpack_distances(geometry, encoding, bytes)
        })
        .map_err(|why| format!("the distances of shard {shard} cannot be had: {why}"))
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

    /// Reads an artifact from the disk, or from the first holder that has it.
    fn read<T>(
        &self,
        input: &Input,
        limit: u64,
        unpack: impl Fn(u64, &str, &[u8]) -> Result<T, String>,
    ) -> Result<T, String> {
        match &self.source {
            Source::Disk { worker, .. } => {
                let worker = worker.as_ref().ok_or("there is no worker's directory")?;
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
