//! What a worker that does not run has on its disk, for commands that look at it. Nothing there is changed.

use crate::artifacts::{Content, Head, JobStore, Packed, stored_jobs};
use crate::error::StartError;
use crate::identity::Identity;
use antipode_ids::{Incarnation, JobId, WorkerId};
use antipode_proto::message::{ArtifactName, Held};
use antipode_solver_core::distance::PackedDistances;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A worker's data directory.
#[derive(Debug)]
pub struct Stored {
    /// Number and cluster; `None` for a worker that was never registered.
    pub member: Option<(WorkerId, String)>,
    /// How often it was started.
    pub incarnation: Incarnation,
    /// What cannot be read, in words: it counts as gone.
    pub damaged: Vec<String>,
    stores: BTreeMap<JobId, JobStore>,
    heads: BTreeMap<ArtifactName, Head>,
}

impl Stored {
    /// Looks into `data`; `None` where no worker has ever been. The caller sees to it that none is at work there.
    ///
    /// # Errors
    /// An identity file that cannot be read or is of a newer format.
    pub fn open(data: &Path) -> Result<Option<Stored>, StartError> {
        let Some(identity) = Identity::read(data)? else {
            return Ok(None);
        };
        let mut stored = Stored {
            member: identity
                .member
                .map(|member| (member.worker, member.cluster)),
            incarnation: identity.incarnation,
            damaged: Vec::new(),
            stores: BTreeMap::new(),
            heads: BTreeMap::new(),
        };
        for job in stored_jobs(data) {
            match JobStore::look(data, job) {
                Ok(None) => {}
                Ok(Some((store, heads))) => {
                    stored.stores.insert(job, store);
                    stored.heads.extend(heads);
                }
                Err(error) => stored.damaged.push(format!("job {job}: {error}")),
            }
        }
        Ok(Some(stored))
    }

    /// Everything that is stored, as the worker would announce it.
    pub fn held(&self) -> Vec<Held> {
        let heads = self.heads.iter();
        heads
            .map(|(&name, head)| Held {
                name,
                digest: head.digest,
                count: head.count,
                durable: true,
            })
            .collect()
    }

    /// Packed distances, every byte checked.
    ///
    /// # Errors
    /// Why they cannot be had.
    pub fn distances(&self, name: ArtifactName) -> Result<Arc<PackedDistances>, String> {
        let (count, packed) = self.packed(name)?;
        match Content::unpack_stored(None, name, count, &packed)? {
            Content::Distances(distances) => Ok(distances),
            Content::Set(_) | Content::Rows(_) => Err("these are no distances".into()),
        }
    }

    /// Number of states and bytes of an artifact in its stored form.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn packed(&self, name: ArtifactName) -> Result<(u64, Packed), String> {
        let store = self.stores.get(&name.job);
        let store = store.ok_or_else(|| format!("nothing is stored of job {}", name.job))?;
        match store.read(name) {
            Ok(Some((head, packed))) => Ok((head.count, packed)),
            Ok(None) => Err("it is not stored".into()),
            Err(error) => Err(error.to_string()),
        }
    }
}
