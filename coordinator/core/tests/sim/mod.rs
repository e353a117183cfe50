//! A whole cluster in one thread, from a seed: workers, network, disks and clock are simulated,
//! the coordinator's core is the real one.

pub mod cluster;
mod departure;
mod recovery;
pub mod toy;
pub mod worker;
