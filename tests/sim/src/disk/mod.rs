//! The disk of a worker, as far as its artifacts are concerned: what is written is there at once, what is
//! synced survives, and all the rest may happen to it.

mod model;
mod redb;

pub use model::ModelDisk;
pub use redb::RedbDisk;

use crate::toy::Set;
use antipode_ids::JobId;
use antipode_proto::message::ArtifactName;
use antipode_solver_core::engine::{Certificate, Digest};
use rand::rngs::StdRng;

/// What is known of a stored artifact without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub digest: Digest,
    pub count: u64,
    pub certificate: Option<Certificate>,
}

/// An artifact to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct New {
    pub name: ArtifactName,
    pub head: Head,
    pub set: Set,
}

/// Why artifacts were not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteError {
    /// Nothing was written; what was there before still is.
    Full,
    /// Everything of the job is gone; the store goes on, empty.
    SetAside(String),
}

/// Why an artifact cannot be read; the others can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged(pub String);

/// What is stored of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfJob {
    pub job: JobId,
    pub fingerprint: String,
    pub heads: Vec<(ArtifactName, Head)>,
}

pub trait Disk: std::fmt::Debug {
    /// A process starts on it: what it finds.
    fn start(&mut self) -> Vec<OfJob>;

    /// Writes artifacts and forgets others, in one commit; lost in a crash unless `durable`, or a
    /// durable commit follows. Returns the bytes written.
    fn write(
        &mut self,
        job: JobId,
        fingerprint: &str,
        batch: &[New],
        forget: &[ArtifactName],
        durable: bool,
    ) -> Result<u64, WriteError>;

    fn read(&mut self, name: ArtifactName) -> Result<Option<(Head, Set)>, Damaged>;

    /// Deletes all that is stored of a job.
    fn remove(&mut self, job: JobId);

    /// The process ends while `unfinished` was being written.
    fn crash(&mut self, unfinished: &[New], rng: &mut StdRng);

    /// A bit of something stored is flipped. The artifact that it hits, where that is known; `None`
    /// when nothing was hit.
    fn flip(&mut self, rng: &mut StdRng) -> Option<Hit>;

    fn set_full(&mut self, full: bool);

    /// Does a synced copy with this digest lie here, every bit of it right? For judges, not for workers.
    fn holds(&self, name: ArtifactName, digest: Digest) -> bool;
}

/// What a flipped bit may have damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    One(ArtifactName),
    Anything,
}
