//! The answer to `bfs`: one value that both the JSON object and the printed summary are made from.
//! The JSON form is described field by field in `docs/schema/bfs.schema.json`.

pub mod batch;
pub mod diameter;
pub mod landmark_hulls;
pub mod landmarks;
pub mod scrambles;

use crate::exit::Failure;
use antipode_proto::status::{JobState, JobStatus, LevelStatus, Resumed};
use antipode_solver_core::job::{BfsSpec, Keep};
use antipode_solver_core::puzzle::Puzzle;
use serde::Serialize;
use std::time::{Duration, SystemTime};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");
pub const COMMIT: &str = env!("ANTIPODE_COMMIT");

/// Numbers that may pass 2^53 are decimal strings.
#[derive(Debug, Clone, Serialize)]
pub struct BfsReport {
    pub job: u64,
    pub state: &'static str,
    /// Why the job failed or does not move.
    pub reason: Option<String>,
    pub puzzle: String,
    pub generators: Vec<String>,
    pub metric: &'static str,
    pub roots: usize,
    pub directed: bool,
    pub warnings: Vec<String>,
    pub group_order: String,
    /// The independently known number of states; `None` where it is not proved.
    pub states: Option<String>,
    pub states_proof: String,
    /// States by distance from the root, of the levels finished so far.
    pub counts: Vec<String>,
    /// States counted already in shards of levels that are not finished yet.
    pub partial: String,
    pub eccentricity: Option<u32>,
    pub diameter: Option<u32>,
    pub antipodes: Option<Antipodes>,
    pub complete: bool,
    /// The deepest finished level, where the search is not complete.
    pub deepest_level: Option<u32>,
    /// Which independent check of the sum was made.
    pub check: String,
    pub certificates: Certificates,
    pub engine: EngineReport,
    pub workers: u32,
    pub threads: u32,
    pub resumed: Option<ResumedReport>,
    pub level_digests: Vec<String>,
    pub fetched_bytes: Vec<u64>,
    /// Bytes that were brought to devices, and tasks that these computed, by level.
    pub uploaded_bytes: Vec<u64>,
    pub device_tasks: Vec<u64>,
    pub seconds: f64,
    pub engine_seconds: f64,
    pub states_per_second: f64,
    pub peak_memory_bytes: PeakMemory,
    /// What stays of it on disks when it has ended: `result` or `frontiers`.
    pub keep: &'static str,
    pub stored_bytes: StoredBytes,
    /// When the answer was computed, where it came from the store.
    pub cached: Option<String>,
    pub version: &'static str,
    pub commit: &'static str,
    pub command: String,
    pub fingerprint: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Antipodes {
    pub count: String,
    pub examples: Vec<Example>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Example {
    pub state: Vec<u16>,
    /// Names of generators, applied from left to right.
    pub word: Option<Vec<String>>,
    /// Why there is no word.
    pub word_missing: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct Certificates {
    pub predecessors: u64,
    pub successors: u64,
}

/// A device that computed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceReport {
    /// How it is reached.
    pub api: &'static str,
    pub name: String,
}

impl DeviceReport {
    /// Those of a job.
    pub fn all(status: &JobStatus) -> Vec<DeviceReport> {
        let engine = status.engine.iter();
        let names = engine.flat_map(|engine| engine.devices.iter());
        names.map(|name| DeviceReport::vulkan(name)).collect()
    }

    pub fn vulkan(name: &str) -> DeviceReport {
        DeviceReport {
            api: "vulkan",
            name: name.into(),
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct EngineReport {
    pub kind: String,
    /// `None` before the first task is finished.
    pub kernel: Option<String>,
    /// Devices of workers that computed on them, through Vulkan.
    pub devices: Vec<DeviceReport>,
    pub layout: String,
    pub shards: u32,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct ResumedReport {
    pub from_level: u32,
    pub tasks_kept: u64,
    pub tasks_redone: u64,
}

impl From<Resumed> for ResumedReport {
    fn from(resumed: Resumed) -> ResumedReport {
        ResumedReport {
            from_level: resumed.from_level,
            tasks_kept: resumed.tasks_kept,
            tasks_redone: resumed.tasks_redone,
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct PeakMemory {
    pub processes: Vec<ProcessMemory>,
    pub sum: u64,
}

/// What is on disks of a job.
#[derive(Debug, Clone, Serialize)]
pub struct StoredBytes {
    /// By worker; for a stored run by folder.
    pub places: Vec<ProcessMemory>,
    pub sum: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct ProcessMemory {
    pub name: String,
    pub bytes: u64,
}

/// What the report says about the command that asks, beside the job itself.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The command line.
    pub command: String,
    /// From process start to the result; `None`: a command that only looks, the job's own time counts.
    pub elapsed: Option<Duration>,
    /// The answer came from the store.
    pub cached: bool,
    /// Peak memory of this process where it did the work itself: it replaces what its worker said earlier.
    pub own_peak_bytes: Option<u64>,
    /// At most so many examples of antipodes.
    pub antipodes: Option<u32>,
}

/// Date and time (UTC) of a number of seconds since 1970.
pub fn date(unix_seconds: u64) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(unix_seconds));
    time.map_or_else(
        || "unknown".into(),
        |t| humantime::format_rfc3339_seconds(t).to_string(),
    )
}

/// A job's state in one word, and why where there is something to say.
pub fn state_words(state: &JobState) -> (&'static str, Option<String>) {
    match state {
        JobState::Queued => ("queued", None),
        JobState::Running => ("running", None),
        JobState::Stalled { since, reason } => {
            ("stalled", Some(format!("since {}: {reason}", date(*since))))
        }
        JobState::Paused => ("paused", None),
        JobState::Suspect { reason } => ("suspect", Some(reason.clone())),
        JobState::Incomplete { reason } => ("incomplete", Some(reason.clone())),
        JobState::Finished => ("finished", None),
        JobState::Failed { reason, .. } => ("failed", Some(reason.clone())),
        JobState::Cancelled => ("cancelled", None),
    }
}

/// Will nothing bring the job to move again?
pub fn is_ended(state: &JobState) -> bool {
    matches!(
        state,
        JobState::Finished | JobState::Failed { .. } | JobState::Cancelled
    )
}

/// What a job leaves, as `--keep` calls it.
pub fn keep_word(keep: Keep) -> &'static str {
    match keep {
        Keep::Result => "result",
        Keep::Frontiers => "frontiers",
    }
}

/// What was counted so far, in levels that are finished and in those that are not.
pub fn counted(status: &JobStatus) -> u128 {
    sum(status) + u128::from(status.partial)
}

/// How much of a job of items is done.
pub fn items_done(status: &JobStatus) -> String {
    let counted = counted(status);
    let total = status.definition.space.states.as_deref().unwrap_or("?");
    format!("{counted} of {total} done")
}

/// Sum of the finished levels.
pub fn sum(status: &JobStatus) -> u128 {
    status
        .levels
        .iter()
        .map(|level| u128::from(level.count))
        .sum()
}

impl BfsReport {
    /// Everything that is known about the job, now.
    pub fn new(status: &JobStatus, spec: &BfsSpec, asked: &Asked) -> Result<BfsReport, Failure> {
        let definition = &status.definition;
        let space = &definition.space;
        let puzzle = &spec.puzzle;
        let complete = status.state == JobState::Finished && status.exhausted;
        let total = sum(status);
        if let (true, Some(states)) = (complete, &space.states)
            && *states != total.to_string()
        {
            return Err(Failure::Internal(format!(
                "the levels of job {} ({}) sum to {total}, but the number of states is {states} ({})",
                status.job,
                puzzle.name(),
                space.states_proof
            )));
        }
        let deepest = status.levels.last().map(|level| level.level);
        let run_seconds = status.run_time.as_secs_f64();
        let seconds = asked
            .elapsed
            .map_or(run_seconds, |elapsed| elapsed.as_secs_f64());
        // A stored answer was not computed in the time it took to print it.
        let rate_seconds = if asked.cached { run_seconds } else { seconds };
        let counted = counted_in(status, asked, total);
        let (state, reason) = state_words(&status.state);
        Ok(BfsReport {
            job: status.job.0,
            state,
            reason,
            puzzle: puzzle.name().to_string(),
            generators: puzzle.generators().iter().map(|g| g.name.clone()).collect(),
            metric: puzzle.metric().name(),
            roots: puzzle.roots().len(),
            directed: space.directed,
            warnings: puzzle.warnings().to_vec(),
            group_order: space.group_order.clone(),
            states: space.states.clone(),
            states_proof: space.states_proof.clone(),
            counts: status
                .levels
                .iter()
                .map(|level| level.count.to_string())
                .collect(),
            partial: status.partial.to_string(),
            eccentricity: deepest.filter(|_| complete),
            diameter: deepest.filter(|_| complete && is_proved_transitive(puzzle, status)),
            antipodes: complete.then(|| antipodes(status, puzzle, asked)),
            complete,
            deepest_level: deepest.filter(|_| !complete),
            check: check(status, complete),
            certificates: Certificates {
                predecessors: status
                    .levels
                    .iter()
                    .map(|l| l.certificate.predecessors)
                    .sum(),
                successors: status.levels.iter().map(|l| l.certificate.successors).sum(),
            },
            engine: EngineReport {
                kind: space.kind.clone(),
                kernel: status.engine.as_ref().map(|engine| engine.kernel.clone()),
                devices: DeviceReport::all(status),
                layout: space.layout.clone(),
                shards: space.shards,
            },
            workers: status.workers,
            threads: status.threads,
            resumed: status.resumed.map(ResumedReport::from),
            level_digests: status
                .levels
                .iter()
                .map(|level| level.digest.to_string())
                .collect(),
            fetched_bytes: by_level(status, |level| level.fetched_bytes),
            uploaded_bytes: by_level(status, |level| level.uploaded_bytes),
            device_tasks: by_level(status, |level| level.device_tasks),
            seconds,
            engine_seconds: status.engine_time.as_secs_f64(),
            states_per_second: if rate_seconds > 0.0 {
                counted as f64 / rate_seconds
            } else {
                0.0
            },
            peak_memory_bytes: peak_memory(status, asked),
            keep: keep_word(spec.keep),
            stored_bytes: stored_bytes(status),
            cached: asked
                .cached
                .then(|| date(status.finished_at.unwrap_or(status.submitted_at))),
            version: VERSION,
            commit: COMMIT,
            command: asked.command.clone(),
            fingerprint: definition.fingerprint.clone(),
        })
    }
}

fn by_level(status: &JobStatus, value: impl Fn(&LevelStatus) -> u64) -> Vec<u64> {
    status.levels.iter().map(value).collect()
}

/// The states counted in the time that is reported: a command that has gone on from a stored level
/// did not count what lay before it.
fn counted_in(status: &JobStatus, asked: &Asked, total: u128) -> u128 {
    let from = match (&status.resumed, asked.elapsed) {
        (Some(resumed), Some(_)) if !asked.cached => resumed.from_level,
        _ => return total,
    };
    let later = status.levels.iter().filter(|level| level.level > from);
    later.map(|level| u128::from(level.count)).sum()
}

/// The graph is vertex-transitive for certain where the states are the elements of the group,
/// and then the eccentricity of one root is the diameter.
fn is_proved_transitive(puzzle: &Puzzle, status: &JobStatus) -> bool {
    let space = &status.definition.space;
    puzzle.roots().len() == 1 && space.states.as_ref() == Some(&space.group_order)
}

fn antipodes(status: &JobStatus, puzzle: &Puzzle, asked: &Asked) -> Antipodes {
    let generators = puzzle.generators();
    let limit = asked.antipodes.map_or(usize::MAX, |n| n as usize);
    let name = |&g: &u16| {
        generators
            .get(usize::from(g))
            .map_or_else(|| format!("generator {g}"), |g| g.name.clone())
    };
    Antipodes {
        count: status
            .levels
            .last()
            .map_or(0, |level| level.count)
            .to_string(),
        examples: status
            .antipodes
            .iter()
            .take(limit)
            .map(|antipode| Example {
                state: antipode.state.to_vec(),
                word: antipode
                    .word
                    .as_ref()
                    .ok()
                    .map(|word| word.iter().map(name).collect()),
                word_missing: antipode.word.as_ref().err().cloned(),
            })
            .collect(),
    }
}

fn check(status: &JobStatus, complete: bool) -> String {
    let space = &status.definition.space;
    match (&space.states, complete) {
        (Some(states), true) => {
            format!(
                "the levels sum to {states}, the number of states known without the search ({})",
                space.states_proof
            )
        }
        (None, true) => format!("none of the sum: {}", space.states_proof),
        (_, false) => "none of the sum: the search is not complete".into(),
    }
}

fn stored_bytes(status: &JobStatus) -> StoredBytes {
    let places = status.stored.iter().map(|(name, bytes)| ProcessMemory {
        name: name.clone(),
        bytes: *bytes,
    });
    StoredBytes {
        places: places.collect(),
        sum: status.stored.iter().map(|(_, bytes)| bytes).sum(),
    }
}

fn peak_memory(status: &JobStatus, asked: &Asked) -> PeakMemory {
    let mut processes: Vec<ProcessMemory> = status
        .peak_memory
        .iter()
        .map(|(name, bytes)| ProcessMemory {
            name: name.clone(),
            bytes: *bytes,
        })
        .collect();
    if let Some(own) = asked.own_peak_bytes {
        let name = match processes.as_slice() {
            [only] => only.name.clone(),
            _ => "run".into(),
        };
        processes = vec![ProcessMemory { name, bytes: own }];
    }
    PeakMemory {
        sum: processes.iter().map(|p| p.bytes).sum(),
        processes,
    }
}

#[cfg(test)]
mod tests;
