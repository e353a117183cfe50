//! Tasks that do not work: how often they failed or ended their worker, and when they are given up.

use antipode_ids::{Cause, WorkerId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A task that failed so often is set aside.
pub const MAX_FAILURES: u32 = 5;
/// A task whose inputs were not to be had so often is set aside: the network must be broken.
pub const MAX_INPUTS_MISSING: u32 = 25;
/// After so many ends of workers with the same task at work it runs alone.
const MAX_NOT_ALONE: u32 = 2;

/// Ends of workers while a task was at work. They survive the coordinator: in one process both end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crashes {
    /// Beside others: any of them may be to blame.
    pub together: u32,
    /// Nothing else was at work.
    pub alone: u32,
    pub last: Cause,
    /// Unix seconds.
    pub at: u64,
}

impl Crashes {
    /// Must nothing else run beside the task?
    pub fn is_solo(&self) -> bool {
        self.alone + self.together >= MAX_NOT_ALONE
    }
}

/// A task that did not work, in this start of the coordinator.
#[derive(Debug, Clone, Default)]
pub struct Trouble {
    pub failures: u32,
    pub inputs_missing: u32,
    /// What was said last.
    pub last: String,
    /// Workers that should not get it again while there are others.
    pub avoid: BTreeSet<WorkerId>,
    /// Those of them that have too little memory for it: asking them again is of no use.
    pub too_small: BTreeSet<WorkerId>,
    /// The least memory that was missing: needed, allowed.
    pub memory: Option<(u64, u64)>,
}

impl Trouble {
    /// The worker was started again or has come back: it may do better now.
    pub fn forgive(&mut self, worker: WorkerId) {
        self.avoid.remove(&worker);
        self.too_small.remove(&worker);
    }
}

/// Why the task is not tried any more.
pub fn set_aside(
    trouble: Option<&Trouble>,
    crashes: Option<&Crashes>,
    crash_limit: u32,
) -> Option<String> {
    if let Some(crashes) = crashes.filter(|crashes| crashes.alone >= crash_limit) {
        return Some(format!(
            "its worker ended {} times while nothing else ran (last: {})",
            crashes.alone, crashes.last
        ));
    }
    let trouble = trouble?;
    if trouble.failures >= MAX_FAILURES {
        return Some(format!(
            "it failed {} times, last: {}",
            trouble.failures, trouble.last
        ));
    }
    (trouble.inputs_missing >= MAX_INPUTS_MISSING).then(|| {
        format!(
            "its inputs were not to be had {} times, last: {}",
            trouble.inputs_missing, trouble.last
        )
    })
}
