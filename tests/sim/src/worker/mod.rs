//! A worker's machine, and the process on it: the real session, and around it what its driver does,
//! told in simulated time.

mod fetch;
mod perform;
mod work;

pub use fetch::{Answer, FetchId};

use crate::clock::{Clock, Micros};
use crate::disk::{Disk, New};
use crate::network::ConnId;
use crate::shelf::{Batch, Shelf};
use crate::sim::Ev;
use crate::toy::{Set, Toy};
use antipode_ids::{Incarnation, JobId, WorkerId};
use antipode_proto::message::{ArtifactName, Ended, Input};
use antipode_solver_core::job::{JobDefinition, Task};
use antipode_worker::artifacts::Basis;
use antipode_worker::session::{LeaseId, Session};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the session is told that time passes, on the worker's own clock.
pub const TICK: Micros = 150 * crate::clock::MILLI;

/// How long a drain may take, on the worker's own clock.
const GRACE: Duration = Duration::from_secs(3);

/// What survives a process: the machine with its disk.
#[derive(Debug)]
pub struct Machine {
    pub name: String,
    pub threads: u32,
    pub clock: Clock,
    /// Tasks take this many times longer than elsewhere.
    pub slowness: u64,
    /// Sets that fit in memory.
    pub budget: usize,
    /// Some tasks are refused for want of memory.
    pub is_small: bool,
    pub protocol: u32,
    pub devices: Vec<String>,
    /// Its results are wrong.
    pub lies: bool,
    /// A device of it fails: what it makes meanwhile it will retract.
    pub faulty: Option<Vec<ArtifactName>>,
    pub retracted: Vec<ArtifactName>,
    pub disk: Box<dyn Disk>,
    pub incarnation: Incarnation,
    pub member: Option<(WorkerId, String)>,
    /// Grows with every process; events of an earlier one are void.
    pub life: u64,
    pub process: Option<Process>,
    /// Left for good: nobody starts a process here any more.
    pub retired: bool,
    /// Its disk has less room than is kept in reserve, or has refused a write.
    pub low_disk: bool,
    /// So many computations will fail.
    pub failures: u32,
    /// How the last process ended, until the coordinator has heard of it.
    pub ended: Option<Ended>,
}

/// A running worker.
pub struct Process {
    pub session: Session,
    pub shelf: Shelf,
    pub connection: Option<ConnId>,
    /// Stopped: what happens meanwhile is seen later.
    pub frozen: bool,
    pub mailbox: Vec<Ev>,
    preparing: BTreeMap<LeaseId, Preparation>,
    ready: BTreeMap<LeaseId, Ready>,
    compute: VecDeque<(LeaseId, Ready)>,
    /// What the compute thread is at, and what it used up.
    computing: Option<(LeaseId, Ready, Vec<ArtifactName>)>,
    /// What computes is to end early.
    stopped: bool,
    chores: VecDeque<Chore>,
    /// What the first chore is writing.
    writing: Option<Batch>,
    /// Memory kept for tasks, in sets.
    reserved: BTreeMap<LeaseId, usize>,
    next_fetch: u64,
    /// Artifacts that were only in memory when the end was being prepared.
    last_volatile: usize,
    /// Pause before the next try to connect.
    pause: Micros,
}

/// A task with its inputs.
#[derive(Debug, Clone)]
struct Ready {
    job: JobId,
    task: Task,
    toy: Arc<Toy>,
    consume: bool,
    found: BTreeMap<ArtifactName, Set>,
    wanted: Vec<Input>,
    /// Of all inputs of the lease.
    basis: Basis,
    fetched_bytes: u64,
}

/// A task whose inputs are being brought together.
#[derive(Debug)]
struct Preparation {
    ready: Ready,
    alone: bool,
    /// Inputs that are not here yet.
    open: BTreeMap<FetchId, fetch::Fetch>,
}

/// What the housekeeper is told.
#[derive(Debug)]
enum Chore {
    Load {
        job: JobId,
        definition: Arc<JobDefinition>,
    },
    Close {
        job: JobId,
        keep: bool,
    },
    Persist {
        names: Vec<ArtifactName>,
    },
    /// What only this worker holds, while there is time.
    PersistAll {
        until: Instant,
    },
    /// A task that ends on the disk.
    Keep {
        lease: LeaseId,
        ready: Ready,
    },
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").finish_non_exhaustive()
    }
}

impl Process {
    fn new(now: Instant, shelf: Shelf) -> Process {
        Process {
            session: Session::new(now, Some(GRACE), 1),
            shelf,
            connection: None,
            frozen: false,
            mailbox: Vec::new(),
            preparing: BTreeMap::new(),
            ready: BTreeMap::new(),
            compute: VecDeque::new(),
            computing: None,
            stopped: false,
            chores: VecDeque::new(),
            writing: None,
            reserved: BTreeMap::new(),
            next_fetch: 0,
            last_volatile: usize::MAX,
            pause: 0,
        }
    }

    /// The tasks that were at work.
    fn at_work(&self) -> Vec<(JobId, Task)> {
        let preparing = self.preparing.values().map(|p| &p.ready);
        let ready = preparing.chain(self.ready.values());
        let ready = ready.chain(self.compute.iter().map(|c| &c.1));
        let ready = ready.chain(self.computing.iter().map(|c| &c.1));
        ready.map(|r| (r.job, r.task.clone())).collect()
    }

    fn reserved(&self) -> usize {
        self.reserved.values().sum()
    }

    /// What a power cut finds half written.
    fn half_written(&mut self) -> Vec<New> {
        self.writing.take().map(|b| b.new).unwrap_or_default()
    }

    /// The sets that tasks are using: they cannot leave memory.
    fn in_use(&self) -> BTreeMap<ArtifactName, usize> {
        let ready = self.ready.values().chain(self.compute.iter().map(|c| &c.1));
        let ready = ready.chain(self.preparing.values().map(|p| &p.ready));
        let ready = ready.chain(self.computing.iter().map(|c| &c.1));
        let kept = self.chores.iter().filter_map(|chore| match chore {
            Chore::Keep { ready, .. } => Some(ready),
            _ => None,
        });
        let ready = ready.chain(kept);
        let names = ready.flat_map(|ready| ready.wanted.iter().map(|input| input.name));
        names.map(|name| (name, 0)).collect()
    }
}

impl Machine {
    /// What the worker's own clock shows.
    pub fn time(&self, base: Instant, now: Micros) -> Instant {
        base + Duration::from_micros(self.clock.show(now))
    }

    pub fn is_up(&self) -> bool {
        self.process.is_some()
    }

    pub fn is_frozen(&self) -> bool {
        self.process.as_ref().is_some_and(|p| p.frozen)
    }
}
