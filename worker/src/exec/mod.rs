//! One runner per task kind. A runner knows which inputs its kind needs, what memory it takes, and
//! how the engine is called; it decides nothing about when or where.

pub mod batch;
mod expand;
pub mod item;
pub mod keep;
pub mod pack;
mod smallest;
mod words;

use crate::artifacts::fetch::Inputs;
use crate::artifacts::{Artifacts, Basis, Content, Need, Place};
use crate::compute::Compute;
use crate::sabotage::Sabotage;
use antipode_ids::JobId;
use antipode_proto::message::{ArtifactKind, ArtifactName, Failure, Input};
use antipode_solver_core::batch::Stop;
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::engine::{EngineError, Level, OnDevice, ShardId};
use antipode_solver_core::job::{Task, TaskOutput};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A task with everything that it needs, ready for the compute thread.
pub struct Work {
    pub job: JobId,
    pub task: Task,
    pub engine: Arc<dyn Compute>,
    pub inputs: Inputs,
    /// What `inputs` holds, as the lease lists it.
    pub wanted: Vec<Input>,
    /// Of all inputs of the lease.
    pub basis: Basis,
    /// The seen states' buffer may be used up.
    pub consume: bool,
    pub sabotage: Arc<Sabotage>,
    /// Set when nobody wants the answer any more.
    pub stop: Arc<Stop>,
}

/// What became of it.
pub struct Finished {
    pub result: Result<TaskOutput, Failure>,
    /// `None`: no device computed it.
    pub on_device: Option<OnDevice>,
    /// Artifacts that were used up although the task failed.
    pub lost: Vec<ArtifactName>,
}

/// A task's answer, and the device's part in it.
pub struct Made {
    output: TaskOutput,
    on_device: Option<OnDevice>,
}

impl From<TaskOutput> for Made {
    /// The processor computed it.
    fn from(output: TaskOutput) -> Made {
        Made {
            output,
            on_device: None,
        }
    }
}

/// The artifacts that `task` needs and that are neither level 0 nor empty, as the lease lists them.
/// Fails on a task that the engine cannot have, or an input that is not listed.
pub fn wanted(
    engine: &dyn Compute,
    job: JobId,
    task: &Task,
    listed: &[Input],
) -> Result<Vec<Input>, Failure> {
    check(engine, task)?;
    let mut wanted = Vec::new();
    for name in names(engine, job, task) {
        if name.level == 0 {
            continue;
        }
        match listed.iter().find(|input| input.name == name) {
            Some(input) if input.count == 0 => {}
            Some(input) => wanted.push(input.clone()),
            None => {
                let reason = "the lease does not say where it is".into();
                return Err(Failure::InputMissing {
                    name,
                    tried: Vec::new(),
                    reason,
                });
            }
        }
    }
    Ok(wanted)
}

/// The inputs that must be in memory before the task can start. What is to be copied and lies on this
/// worker's disk already need not.
pub fn to_be_gathered(artifacts: &Artifacts, task: &Task, wanted: &[Input]) -> Vec<Input> {
    let on_disk = |input: &Input| matches!(artifacts.place(input.name, input.digest), Place::Disk);
    match task {
        Task::Copy { .. } => wanted.iter().filter(|i| !on_disk(i)).cloned().collect(),
        _ => wanted.to_vec(),
    }
}

/// What the task needs beyond what is in memory, and what it needs in all (without tables), in bytes.
pub fn need(
    engine: &dyn Compute,
    artifacts: &Artifacts,
    (task, consume): (&Task, bool),
    wanted: &[Input],
) -> (Need, u64) {
    let mut need = Need {
        incoming: 0,
        working: working_bytes(engine, task, artifacts.usable_bytes()),
    };
    if let Task::Pack { .. } = task {
        // One level at a time, and its bytes.
        let largest = wanted
            .iter()
            .map(|input| Content::estimated_bytes(engine, input.name, input.count))
            .max();
        need.incoming = 2 * largest.unwrap_or(0);
        return (need, need.incoming + need.working);
    }
    let mut held = 0;
    for input in wanted {
        let estimated = Content::estimated_bytes(engine, input.name, input.count);
        let bytes = match artifacts.place(input.name, input.digest) {
            Place::Memory(content) => content.memory_bytes(),
            _ => {
                need.incoming += estimated;
                estimated
            }
        };
        held += bytes;
        // What was seen is used up by the engine: where it must be kept, a copy is.
        if !consume && is_seen(engine, task, input.name) {
            need.working += bytes;
        }
    }
    (need, held + need.working)
}

fn working_bytes(engine: &dyn Compute, task: &Task, usable: u64) -> u64 {
    match *task {
        Task::Expand { shard, .. } => engine.expand_bytes(shard),
        Task::Item { item } => engine.expand_bytes(item),
        Task::Smallest { .. } | Task::Copy { .. } => 0,
        Task::Pack { shard, .. } => pack::working_bytes(engine, shard),
        Task::Words { .. } => words::working_bytes(usable),
    }
}

fn is_seen(engine: &dyn Compute, task: &Task, name: ArtifactName) -> bool {
    match *task {
        Task::Expand { level, shard } => {
            expand::seen_name(engine, name.job, level, shard) == Some(name)
        }
        _ => false,
    }
}

/// Computes. To be called in the pool; keeps the results in `artifacts`.
pub fn run(work: Work, artifacts: &Artifacts) -> Finished {
    let mut lost = Vec::new();
    if let Err(failure) = work.sabotage.at_the_start(&work.task) {
        return Finished {
            result: Err(failure),
            on_device: None,
            lost,
        };
    }
    let ran = catch_unwind(AssertUnwindSafe(|| match work.task.clone() {
        Task::Expand { level, shard } => expand::run(work, level, shard, artifacts, &mut lost),
        Task::Smallest {
            level,
            shard,
            limit,
        } => smallest::run(&work, level, shard, limit).map(Made::from),
        Task::Copy { .. } | Task::Pack { .. } => {
            Err(Failure::Other("this task ends on the disk".into()))
        }
        Task::Item { item } => item::run(&work, item, artifacts),
        Task::Words { level, states } => Ok(words::run(&work, level, &states, artifacts).into()),
    }));
    let made = ran.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Err(Failure::Other(format!("the engine panicked: {text}")))
    });
    match made {
        Ok(Made { output, on_device }) => Finished {
            result: Ok(output),
            on_device,
            lost: Vec::new(),
        },
        Err(failure) => Finished {
            result: Err(failure),
            on_device: None,
            lost,
        },
    }
}

/// An engine's error as the coordinator needs it.
pub fn failure(error: EngineError) -> Failure {
    match error {
        EngineError::Violated(what) => Failure::Violated(what),
        EngineError::Memory { needed, allowed } => Failure::Memory { needed, allowed },
        other => Failure::Other(other.to_string()),
    }
}

fn check(engine: &dyn Compute, task: &Task) -> Result<(), Failure> {
    let shard = match *task {
        Task::Expand { level: 0, .. } => {
            return Err(Failure::Other("level 0 is not computed".into()));
        }
        Task::Expand { shard, .. }
        | Task::Smallest { shard, .. }
        | Task::Copy { shard, .. }
        | Task::Pack { shard, .. } => shard,
        Task::Item { item } => item,
        Task::Words { .. } => return Ok(()),
    };
    let is_item = matches!(task, Task::Item { .. });
    if is_item != engine.batch().is_some() && !matches!(task, Task::Copy { .. }) {
        let reason = "a batch job has items, and only a batch job has";
        return Err(Failure::Other(reason.into()));
    }
    if shard.0 < engine.shards() {
        return Ok(());
    }
    Err(Failure::Other(format!(
        "there is no shard {shard}: the index has {}",
        engine.shards()
    )))
}

fn names(engine: &dyn Compute, job: JobId, task: &Task) -> Vec<ArtifactName> {
    match *task {
        Task::Expand { level, shard } => expand::names(engine, job, level, shard),
        Task::Smallest { level, shard, .. } => vec![frontier_name(job, level, shard)],
        Task::Copy { kind, level, shard } => vec![ArtifactName {
            job,
            level,
            shard,
            kind,
        }],
        Task::Pack { last, shard } => pack::names(job, last, shard),
        // It takes what happens to be here; nothing is fetched for it.
        Task::Words { .. } | Task::Item { .. } => Vec::new(),
    }
}

fn frontier_name(job: JobId, level: Level, shard: ShardId) -> ArtifactName {
    ArtifactName {
        job,
        level,
        shard,
        kind: ArtifactKind::Frontier,
    }
}

/// An input as it was prepared; level 0 is made here, and what is not wanted is empty.
fn input(work: &Work, name: ArtifactName) -> Arc<Frontier> {
    if name.level == 0 {
        return Arc::new(work.engine.roots(name.shard));
    }
    match work.inputs.frontiers.get(&name) {
        Some(frontier) => frontier.clone(),
        None => Arc::new(Frontier::empty(work.engine.geometry(name.shard))),
    }
}
