//! Small scenes of a cluster, told step by step. (The whole cluster, from a seed, is in `tests/sim`.)

mod departure;
mod devices;
mod recovery;
mod toy;
mod worker;
