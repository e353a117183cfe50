//! The planner of a breadth-first search.
//!
//! # Idea
//!
//! A cell is one Expand task. Its RESULT (count, digest) is permanent once accepted; the COPIES of
//! its artifacts come and go. A cell is WANTED when it should run: because it is the next level of
//! its shard, or because its artifact is needed by another wanted cell (or by a checkpoint, the
//! end, or `keep`) and no copy exists. The second reason is all there is to recovery: it reaches
//! down as far as copies are missing, at most to level 0, which every worker makes by itself.
//! A wanted cell whose inputs all have copies is READY and may be leased.
//!
//! # Invariants (checked by name in `crate::check`)
//!
//! - A cell is ready exactly when it is wanted, not leased, and all its inputs have copies.
//! - Whatever a wanted cell lacks is on its way: the producer is wanted, or has no result yet.
//! - `next[s]` is the first level of shard `s` without a result; a shard's levels run in order.
//! - Sums of rows and of the whole are the sums of the results; they never exceed the known number
//!   of states, and equal it when the space is exhausted.
//!
//! A batch job is a grid with one row (level 1): its items are the shards, they read nothing, and nothing reads
//! what they make, so that they may run anywhere and in any order.
//!
//! Every change marks the cells it may concern as dirty; [`Bfs::settle`] re-examines just those, so
//! that an event costs time for a few cells, never for the whole table.

mod accept;
mod checkpoint;
mod copies;
mod dirty;
mod finish;
mod graph;
mod need;
mod pack;

pub use checkpoint::Writing;
pub use finish::{End, Finals};
pub use graph::Graph;
pub use need::Lack;
pub use pack::Packed;

use self::dirty::Dirty;
use crate::artifact::{Artifact, ArtifactKind, Holders};
use crate::record::{ExpandResult, JobRecord};
use antipode_ids::{Attempt, WorkerId};
use antipode_solver_core::engine::{Certificate, Digest, Level};
use antipode_solver_core::job::Keep;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// How many levels may be worked on at once, from the first incomplete one on. It bounds the
/// frontiers that must be held for laggards.
const LEVELS_AHEAD: Level = 4;

/// One Expand task.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    pub result: Option<ExpandResult>,
    pub wanted: bool,
    pub lease: Option<Lease>,
    /// While this input has no result, nothing else need be looked at.
    blocked: Option<Artifact>,
    /// Tasks within the depth limit that read the frontier and have no result yet.
    unread: u32,
    pub frontier: Holders,
    /// Directed lists only.
    pub visited: Holders,
}

/// Who computes a task at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub worker: WorkerId,
    pub attempt: Attempt,
    /// The input that may be used up at the worker; it counts as gone there.
    pub consumed: Option<Artifact>,
}

/// All shards of one level.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub cells: Vec<Cell>,
    /// Cells with a result.
    pub known: u32,
    pub count: u128,
    pub digest: Digest,
    pub certificate: Certificate,
    pub fetched_bytes: u64,
    /// Bytes that were brought to devices, and how many tasks these computed.
    pub uploaded_bytes: u64,
    pub device_tasks: u64,
}

/// Which task of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TaskKey {
    Expand {
        level: Level,
        shard: u32,
    },
    Smallest {
        shard: u32,
    },
    Words,
    /// The distances of a shard.
    Pack {
        shard: u32,
    },
    /// A durable copy at one worker.
    Copy {
        artifact: Artifact,
        to: WorkerId,
    },
}

impl fmt::Display for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskKey::Expand { level, shard } => write!(f, "level {level}, shard {shard}"),
            TaskKey::Smallest { shard } => write!(f, "the smallest states of shard {shard}"),
            TaskKey::Words => f.write_str("the words"),
            TaskKey::Pack { shard } => write!(f, "the distances of shard {shard}"),
            TaskKey::Copy { artifact, to } => write!(f, "a copy of the {artifact} at {to}"),
        }
    }
}

/// What the caller has to act on after [`Bfs::settle`].
#[derive(Debug, Default)]
pub struct News {
    /// Copies that nobody needs any more.
    pub released: Vec<(WorkerId, Artifact)>,
    /// Copies to bring to disk.
    pub persist: Vec<(WorkerId, Artifact)>,
    pub results: Vec<(Level, u32, ExpandResult)>,
    /// Leases whose answer nobody waits for.
    pub revoked: Vec<Lease>,
    pub levels: Vec<Level>,
    /// A checkpoint became complete.
    pub checkpointed: bool,
    /// A law is broken: the job must stop.
    pub violation: Option<String>,
}

/// The known number of states; as text too, because it may be beyond any number that can be counted.
#[derive(Debug, Clone)]
struct States {
    text: String,
    number: u128,
}

#[derive(Debug)]
pub struct Bfs {
    graph: Arc<Graph>,
    states: Option<States>,
    depth: Option<Level>,
    keep: bool,
    antipodes: u32,
    shard_bytes: Vec<u64>,

    rows: Vec<Row>,
    next: Vec<Level>,
    /// Number of complete levels; the first incomplete one.
    complete: Level,
    /// The deepest level with a state.
    deepest: Level,
    /// The highest level that was ever leased or has a result.
    reached: Level,
    total: u128,

    ready: BTreeSet<(Level, u32)>,
    checkpoint: Option<Level>,
    writing: Writing,
    /// With `keep`: frontiers that are durable nowhere.
    unsaved: BTreeSet<Artifact>,
    end: Option<End>,
    finals: Finals,
    /// May the distances be packed? Not where moves have no inverses, or states no number.
    packable: bool,
    /// The packed distances, by shard; made after the last level where the frontiers are kept.
    packed: Vec<Packed>,
    /// On how many workers' disks a checkpoint is to be.
    places: u32,
    /// Artifacts of the last checkpoint that are held, but on too few disks.
    scarce: BTreeSet<Artifact>,
    /// Copies on their way.
    copying: BTreeMap<(Artifact, WorkerId), Lease>,
    /// Nothing more is computed.
    closed: bool,

    dirty: Dirty,
    suspects: Vec<Artifact>,
    news: News,
}

impl Bfs {
    /// The plan at its start. Fails where the definition contradicts itself.
    pub fn new(record: &JobRecord) -> Result<Bfs, String> {
        let space = &record.definition.space;
        let spec = &record.definition.spec;
        let graph = Graph::new(&record.definition)?;
        let shards = graph.shards();
        if record.roots.len() != shards {
            return Err(format!(
                "level 0 is given for {} of {shards} shards",
                record.roots.len()
            ));
        }
        let states = match &space.states {
            None => None,
            Some(text) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
                Some(States {
                    text: text.clone(),
                    number: text.parse().unwrap_or(u128::MAX),
                })
            }
            Some(text) => return Err(format!("the number of states, '{text}', is no number")),
        };
        let mut bfs = Bfs {
            states,
            packable: !space.directed && space.kind != "sparse" && !graph.is_batch(),
            depth: spec.depth(),
            keep: spec.keep() == Keep::Frontiers,
            antipodes: spec.antipodes(),
            graph: Arc::new(graph),
            shard_bytes: space.shard_bytes.clone(),
            rows: Vec::new(),
            next: vec![0; shards],
            complete: 0,
            deepest: 0,
            reached: 0,
            total: 0,
            ready: BTreeSet::new(),
            checkpoint: None,
            writing: Writing::No,
            unsaved: BTreeSet::new(),
            end: None,
            finals: Finals::default(),
            packed: vec![Packed::default(); shards],
            places: 1,
            scarce: BTreeSet::new(),
            copying: BTreeMap::new(),
            closed: false,
            dirty: Dirty::default(),
            suspects: Vec::new(),
            news: News::default(),
        };
        bfs.extend_rows();
        for (shard, &(count, digest)) in record.roots.iter().enumerate() {
            let certificate = Certificate::default();
            let result = ExpandResult {
                count,
                digest,
                certificate,
                fetched_bytes: 0,
                on_device: None,
                by: None,
            };
            bfs.accept(0, shard as u32, result);
        }
        bfs.news.results.clear();
        Ok(bfs)
    }

    /// Takes up stored results and the last checkpoint; copies are unknown until workers announce them.
    pub fn restore(
        &mut self,
        mut results: Vec<(Level, u32, ExpandResult)>,
        checkpoint: Option<Level>,
        packed: &[(u32, u64, Digest)],
    ) {
        results.sort_by_key(|&(level, shard, _)| (level, shard));
        for (level, shard, result) in results {
            if level >= self.rows.len() as Level {
                self.settle();
            }
            if self
                .cell(level, shard)
                .is_some_and(|cell| cell.result.is_none())
            {
                self.accept(level, shard, result);
            }
        }
        // First what is known without a result: a level may be complete only with that.
        self.settle();
        self.checkpoint = checkpoint.filter(|&level| level < self.complete);
        for &(shard, count, digest) in packed {
            if let Some(packed) = self.packed.get_mut(shard as usize) {
                packed.result = Some((count, digest));
            }
        }
        self.settle();
        self.news = News {
            violation: self.news.violation.take(),
            ..News::default()
        };
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn cell(&self, level: Level, shard: u32) -> Option<&Cell> {
        self.rows.get(level as usize)?.cells.get(shard as usize)
    }

    /// First level of the shard without a result.
    pub fn next_level(&self, shard: u32) -> Level {
        self.next[shard as usize]
    }

    /// Number of complete levels, counted from level 0.
    pub fn complete(&self) -> Level {
        self.complete
    }

    /// States counted so far, in complete and incomplete levels.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// The known number of states, as far as it can be counted.
    pub fn states(&self) -> Option<u128> {
        self.states.as_ref().map(|s| s.number)
    }

    /// The highest level with a lease or a result, now or ever.
    pub fn reached(&self) -> Level {
        self.reached
    }

    pub fn checkpoint(&self) -> Option<Level> {
        self.checkpoint
    }

    pub fn writing(&self) -> &Writing {
        &self.writing
    }

    pub fn end(&self) -> Option<End> {
        self.end
    }

    pub fn finals(&self) -> &Finals {
        &self.finals
    }

    /// The packed distances, by shard.
    pub fn packed(&self) -> &[Packed] {
        &self.packed
    }

    /// On how many workers' disks a checkpoint is to be.
    pub fn places(&self) -> u32 {
        self.places
    }

    /// Artifacts of the last checkpoint that are held, but on too few disks.
    pub fn scarce(&self) -> &BTreeSet<Artifact> {
        &self.scarce
    }

    /// Copies on their way.
    pub fn copying(&self) -> &BTreeMap<(Artifact, WorkerId), Lease> {
        &self.copying
    }

    /// All results of tasks.
    pub fn task_results(&self) -> impl Iterator<Item = (Level, u32, ExpandResult)> + '_ {
        let rows = self.rows.iter().enumerate().skip(1);
        rows.flat_map(|(level, row)| {
            let cells = row.cells.iter().enumerate();
            cells.filter_map(move |(shard, cell)| {
                let result = cell.result.filter(|result| result.by.is_some())?;
                Some((level as Level, shard as u32, result))
            })
        })
    }

    /// All copies: artifact, holder, whether on disk.
    pub fn copies(&self) -> Vec<(Artifact, WorkerId, bool)> {
        let mut copies = Vec::new();
        let mut note = |artifact, holders: &Holders| {
            copies.extend(
                holders
                    .iter()
                    .map(|(worker, durable)| (artifact, worker, durable)),
            );
        };
        for (level, row) in self.rows.iter().enumerate() {
            for (shard, cell) in row.cells.iter().enumerate() {
                let (level, shard) = (level as Level, shard as u32);
                note(Artifact::frontier(level, shard), &cell.frontier);
                note(Artifact::visited(level, shard), &cell.visited);
            }
        }
        let last = self.end.map_or(0, |end| end.last);
        for (shard, packed) in self.packed.iter().enumerate() {
            note(Artifact::distances(last, shard as u32), &packed.holders);
        }
        copies
    }

    /// Is there a copy anywhere, or one on its way, that spares computing everything again? Of the
    /// last checkpoint or later; where all frontiers are kept, of any level.
    pub fn has_useful_copy(&self) -> bool {
        let first = match self.checkpoint {
            Some(level) if !self.keep => level.saturating_sub(1) as usize,
            _ => 0,
        };
        let held = |cell: &Cell| !cell.frontier.is_empty() || !cell.visited.is_empty();
        let coming = |cell: &Cell| cell.result.is_none() && cell.lease.is_some();
        let useful = |cell: &Cell| held(cell) || coming(cell);
        self.rows
            .iter()
            .skip(first)
            .any(|row| row.cells.iter().any(useful))
            || self.packed.iter().any(|packed| !packed.holders.is_empty())
    }

    /// With `keep`: frontiers that are durable nowhere yet.
    pub fn unsaved(&self) -> &BTreeSet<Artifact> {
        &self.unsaved
    }

    /// Tasks that may be leased now, lowest level first.
    pub fn ready(&self) -> &BTreeSet<(Level, u32)> {
        &self.ready
    }

    /// Results of tasks (not those known without one).
    pub fn results(&self) -> u64 {
        let of_tasks = |cell: &&Cell| cell.result.is_some_and(|r| r.by.is_some());
        self.rows
            .iter()
            .skip(1)
            .map(|row| row.cells.iter().filter(of_tasks).count() as u64)
            .sum()
    }

    /// What happened since the last call.
    pub fn take_news(&mut self) -> News {
        std::mem::take(&mut self.news)
    }

    fn cell_mut(&mut self, level: Level, shard: u32) -> Option<&mut Cell> {
        self.rows
            .get_mut(level as usize)?
            .cells
            .get_mut(shard as usize)
    }

    /// The highest level that may be leased at present.
    fn limit(&self) -> Level {
        let window = self.complete + LEVELS_AHEAD - 1;
        let depth = self.depth.unwrap_or(Level::MAX);
        window.min(depth).min(self.writing.limit())
    }

    fn extend_rows(&mut self) {
        let wanted = (self.complete + LEVELS_AHEAD) as usize;
        let shards = self.graph.shards();
        while self.rows.len() < wanted {
            let level = self.rows.len() as Level;
            let within = |&(level, _): &(Level, u32)| self.depth.is_none_or(|depth| level <= depth);
            let cell = |shard| Cell {
                unread: self
                    .graph
                    .dependents(Artifact::frontier(level, shard))
                    .filter(within)
                    .count() as u32,
                ..Cell::default()
            };
            let cells = (0..shards as u32).map(cell).collect();
            self.rows.push(Row {
                cells,
                ..Row::default()
            });
        }
    }

    /// Number of states and digest of an artifact, where its result is known.
    pub fn content(&self, artifact: Artifact) -> Option<(u64, Digest)> {
        let of = |level: Level| {
            let result = self.cell(level, artifact.shard)?.result?;
            Some((result.count, result.digest))
        };
        match artifact.kind {
            ArtifactKind::Frontier => of(artifact.level),
            ArtifactKind::Distances => self.packed.get(artifact.shard as usize)?.result,
            ArtifactKind::Visited => (0..=artifact.level).try_fold(
                (0u64, Digest::default()),
                |(count, digest), level| {
                    let (more, part) = of(level)?;
                    Some((count.saturating_add(more), digest.plus(part)))
                },
            ),
        }
    }

    /// Who has a copy; nobody where the cell does not exist.
    pub fn holders(&self, artifact: Artifact) -> Option<&Holders> {
        match artifact.kind {
            ArtifactKind::Frontier => Some(&self.cell(artifact.level, artifact.shard)?.frontier),
            ArtifactKind::Visited => Some(&self.cell(artifact.level, artifact.shard)?.visited),
            ArtifactKind::Distances => Some(&self.packed.get(artifact.shard as usize)?.holders),
        }
    }

    fn holders_mut(&mut self, artifact: Artifact) -> Option<&mut Holders> {
        let Artifact { level, shard, kind } = artifact;
        match kind {
            ArtifactKind::Frontier => Some(&mut self.cell_mut(level, shard)?.frontier),
            ArtifactKind::Visited => Some(&mut self.cell_mut(level, shard)?.visited),
            ArtifactKind::Distances => Some(&mut self.packed.get_mut(shard as usize)?.holders),
        }
    }
}
