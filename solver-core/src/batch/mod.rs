//! Batch jobs: independent items, each a pure function of the question and its number.
//!
//! To a coordinator a batch job is a grid of tasks with one row: the items stand where the shards of a
//! breadth-first search stand, and nothing reads what they make. So leases, copies, disputes, pauses and recovery
//! are the same for all kinds of jobs.

mod plan;
mod spec;

pub use plan::{ItemPlan, KIND, MAX_ITEMS};
pub use spec::{BatchSpec, DiameterSpec, LandmarksSpec, ScramblesSpec};

use crate::terms::{EngineError, OnDevice};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A loaded batch job. Immutable and shareable between threads; every method is a pure function. Parallel loops run
/// in the rayon pool it is called in.
pub trait Batch: Send + Sync {
    /// Number of items.
    fn items(&self) -> u32;

    /// Bytes that are held as long as the job is open.
    fn resident_bytes(&self) -> u64;

    /// Bytes that an item needs while it is computed, its output included; an upper bound.
    fn item_bytes(&self, item: u32) -> u64;

    /// Computes an item. Long ones look at `stop` a few times a second.
    ///
    /// # Errors
    /// [`EngineError::Stopped`] once asked to stop; [`EngineError::Memory`] where an item turns out to need more than
    /// was said; [`EngineError::Violated`] where a law is broken.
    fn run(&self, item: u32, stop: &Stop) -> Result<ItemOutput, EngineError>;
}

/// What an item makes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemOutput {
    /// What it counted: sources, rows, landmarks. The sum over all items is known when the job is submitted.
    pub count: u64,
    /// A small result (at most some 100 KB), which the coordinator keeps for the client. Opaque to it. Empty where
    /// there are rows, and only there.
    pub record: Vec<u8>,
    /// A large result, a part of a data set, which stays at the worker until it is fetched.
    pub rows: Option<Vec<u8>>,
    /// `None`: the processor computed it.
    pub on_device: Option<OnDevice>,
}

/// Whether somebody wants a computation to end before its time.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Asks for it.
    pub fn ask(&self) {
        self.0.store(true, Relaxed);
    }

    /// Has anybody asked for it?
    pub fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// For `?` in long loops.
    ///
    /// # Errors
    /// [`EngineError::Stopped`] once asked.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.is_asked() {
            return Err(EngineError::Stopped);
        }
        Ok(())
    }
}
