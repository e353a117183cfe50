//! The whole cluster, simulated from a seed in one thread: the real core of the coordinator and the real
//! sessions of the workers, with disks, network, clocks and processes that fail. One queue of events in
//! simulated time is all that moves, so a seed gives one history.
//!
//! Where to look: [`sim`] has the queue, [`plan`] says what a seed means, [`faults`] makes things go wrong,
//! [`invariants`] says what must hold all the same, [`tally`] counts what happened.

mod client;
mod clock;
mod coordinator;
mod disk;
mod faults;
pub mod invariants;
mod ledger;
mod ledger_redb;
mod medium;
pub mod mutants;
mod network;
pub mod plan;
mod shelf;
pub mod sim;
pub mod tally;
pub mod toy;
mod trace;
mod worker;

pub use sim::{Backing, Options, Sim};
pub use tally::Tally;
pub use trace::Tracing;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a seed went.
#[derive(Debug)]
pub struct Outcome {
    pub seed: u64,
    /// What was wrong, if anything.
    pub verdict: Result<(), String>,
    pub tally: Tally,
    /// Hash of everything that happened, where it was traced.
    pub hash: u64,
    /// The last lines, where they were kept.
    pub tail: Vec<String>,
    pub steps: u64,
    /// Simulated time.
    pub micros: u64,
}

/// One seed from its beginning to its end; a panic counts as something wrong.
pub fn run(seed: u64, options: Options) -> Outcome {
    let mut sim = Sim::new(seed, options);
    let ran = catch_unwind(AssertUnwindSafe(|| sim.run()));
    let verdict = ran.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(format!("a panic: {}", text.unwrap_or_default()))
    });
    antipode_coordinator_core::mutants::set(None);
    if options.backing == Backing::Redb {
        medium::remove();
    }
    Outcome {
        seed,
        verdict,
        tally: std::mem::take(&mut sim.tally),
        hash: sim.trace.hash(),
        tail: sim.trace.tail(),
        steps: sim.steps,
        micros: sim.now,
    }
}
