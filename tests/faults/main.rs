//! Real processes that are killed, stopped, cut off and robbed of their disks while they compute: the
//! counts and the digest of every level are those of a quiet run, whatever happened.

#[path = "../common/mod.rs"]
mod common;

mod disks;
mod kills;
mod lies;
mod network;
mod proxy;
mod stage;
