//! Deliberate faults of the program: each must be caught by the simulation.

pub use antipode_coordinator_core::mutants::Mutant as CoreMutant;

/// A fault of what the simulation stands for: driver, worker, disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimMutant {
    AcknowledgeBeforePersist,
    RestartWithoutEpoch,
    AcceptWrongChecksum,
    DurableBeforeSynced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    Core(CoreMutant),
    Sim(SimMutant),
}
