//! What can be asked of a cluster, checked: jobs, tasks and their results.

use crate::batch::BatchSpec;
use crate::puzzle::{Puzzle, State};
use crate::space::{LayoutOptions, SpaceDef};
use crate::terms::{Certificate, Digest, Level, ShardId};
use serde::{Deserialize, Serialize};

/// What a user asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(
    clippy::large_enum_variant,
    reason = "there are few of them, always behind a definition"
)]
pub enum JobSpec {
    Bfs(BfsSpec),
    /// Independent items.
    Batch(BatchSpec),
}

impl JobSpec {
    /// The kind as users name it: `bfs`, `diameter`, `landmarks`, `scrambles`.
    pub fn kind(&self) -> &'static str {
        match self {
            JobSpec::Bfs(_) => "bfs",
            JobSpec::Batch(batch) => batch.kind(),
        }
    }

    pub fn bfs(&self) -> Option<&BfsSpec> {
        match self {
            JobSpec::Bfs(bfs) => Some(bfs),
            JobSpec::Batch(_) => None,
        }
    }

    pub fn batch(&self) -> Option<&BatchSpec> {
        match self {
            JobSpec::Bfs(_) => None,
            JobSpec::Batch(batch) => Some(batch),
        }
    }

    /// The graph it is about, where it is about one.
    pub fn puzzle(&self) -> Option<&Puzzle> {
        match self {
            JobSpec::Bfs(bfs) => Some(&bfs.puzzle),
            JobSpec::Batch(batch) => batch.puzzle(),
        }
    }

    /// The same, to be replaced by a checked one.
    pub fn puzzle_mut(&mut self) -> Option<&mut Puzzle> {
        match self {
            JobSpec::Bfs(bfs) => Some(&mut bfs.puzzle),
            JobSpec::Batch(batch) => batch.puzzle_mut(),
        }
    }

    /// What it is about, in a few words: a puzzle's name, or a family's.
    pub fn title(&self) -> String {
        match self {
            JobSpec::Bfs(bfs) => bfs.puzzle.name().into(),
            JobSpec::Batch(batch) => batch.title(),
        }
    }

    /// The last row of the grid of tasks.
    pub fn depth(&self) -> Option<u32> {
        match self {
            JobSpec::Bfs(bfs) => bfs.depth,
            JobSpec::Batch(_) => Some(1),
        }
    }

    /// Would the answer to one be the answer to the other, however much is listed or kept?
    pub fn asks_the_same_as(&self, other: &JobSpec) -> bool {
        match (self, other) {
            (JobSpec::Bfs(a), JobSpec::Bfs(b)) => {
                (a.puzzle.generators(), a.puzzle.roots(), a.depth)
                    == (b.puzzle.generators(), b.puzzle.roots(), b.depth)
            }
            (JobSpec::Batch(a), JobSpec::Batch(b)) => a.question() == b.question(),
            _ => false,
        }
    }

    /// How many examples of antipodes are listed.
    pub fn antipodes(&self) -> u32 {
        self.bfs().map_or(0, |bfs| bfs.antipodes)
    }

    /// Which artifacts the finished job leaves behind.
    pub fn keep(&self) -> Keep {
        match self {
            JobSpec::Bfs(bfs) => bfs.keep,
            JobSpec::Batch(batch) if batch.makes_rows() => Keep::Frontiers,
            JobSpec::Batch(_) => Keep::Result,
        }
    }
}

impl From<BfsSpec> for JobSpec {
    fn from(spec: BfsSpec) -> JobSpec {
        JobSpec::Bfs(spec)
    }
}

impl From<BatchSpec> for JobSpec {
    fn from(spec: BatchSpec) -> JobSpec {
        JobSpec::Batch(spec)
    }
}

/// A whole-graph enumeration as a user asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BfsSpec {
    pub puzzle: Puzzle,
    /// Stop after this level.
    pub depth: Option<u32>,
    /// How many examples of antipodes are listed.
    pub antipodes: u32,
    /// Which artifacts a finished job leaves behind.
    pub keep: Keep,
    /// How the index is laid out; part of the fingerprint.
    pub layout: LayoutOptions,
}

/// Which artifacts a finished job leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keep {
    /// The counts and digests only.
    Result,
    /// All frontiers: a distance database.
    Frontiers,
}

/// What a cluster stores and sends for a job: the question and the index computed once for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDefinition {
    pub spec: JobSpec,
    /// The index; of a batch job its items, as the shards of a space of kind `batch`.
    pub space: SpaceDef,
    /// Hash over all that the answer depends on: puzzle, generators, roots, depth and index layout; of a
    /// batch job its whole specification.
    pub fingerprint: String,
}

/// States of a level whose certificate is checked, over all shards (see [`crate::engine::Certificate`]).
pub const SAMPLES_PER_LEVEL: u32 = 1000;

/// The sets of states that tasks make and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ArtifactKind {
    /// The states of one level of a shard; of a batch job the rows of an item (at level 1).
    Frontier,
    /// Directed lists: the union of all levels of a shard up to one.
    Visited,
    /// Inverse-closed lists: the distances modulo 3 of all states of a shard, packed; its level is the last one.
    Distances,
}

/// A pure function of named inputs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Task {
    /// Frontier of `level` (1 and above) of `shard`.
    /// Inputs: frontier(level-1) of the source shards and of the shard itself; inverse-closed lists:
    /// frontier(level-2) of the shard; directed lists: visited(level-1) of the shard.
    /// Frontier and visited set of level 0 need no input and no task.
    Expand { level: Level, shard: ShardId },
    /// The lexicographically smallest `limit` states of frontier(`level`, `shard`).
    Smallest {
        level: Level,
        shard: ShardId,
        limit: u32,
    },
    /// The lexicographically least shortest words of these states, all at distance `level`.
    Words { level: Level, states: Vec<State> },
    /// A durable copy of an artifact at the worker that runs this. Its only input is the artifact.
    Copy {
        kind: ArtifactKind,
        level: Level,
        shard: ShardId,
    },
    /// The packed distances of a shard. Inputs: its frontiers of levels 1 to `last`.
    Pack { last: Level, shard: ShardId },
    /// An item of a batch job. No inputs.
    Item { item: ShardId },
}

/// What a task returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskOutput {
    Expanded {
        count: u64,
        digest: Digest,
        certificate: Certificate,
    },
    Smallest {
        states: Vec<State>,
    },
    /// One entry a state: the word as generator numbers, or why there is none.
    Words {
        words: Vec<Result<Vec<u16>, String>>,
    },
    /// The copy is on disk.
    Copied,
    /// Number of states that have a distance, and the digest of the packed bytes.
    Packed {
        count: u64,
        digest: Digest,
    },
    /// What an item counted, the digest of its record and rows, and its record.
    Item {
        count: u64,
        digest: Digest,
        record: Vec<u8>,
    },
}

/// The shape of a task's answer must fit the task; used where results come in from outside.
pub fn output_fits(task: &Task, output: &TaskOutput) -> bool {
    matches!(
        (task, output),
        (Task::Expand { .. }, TaskOutput::Expanded { .. })
            | (Task::Smallest { .. }, TaskOutput::Smallest { .. })
            | (Task::Words { .. }, TaskOutput::Words { .. })
            | (Task::Copy { .. }, TaskOutput::Copied)
            | (Task::Pack { .. }, TaskOutput::Packed { .. })
            | (Task::Item { .. }, TaskOutput::Item { .. })
    )
}
