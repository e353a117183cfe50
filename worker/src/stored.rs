//! What a worker that does not run has on its disk, for commands that look at it. Nothing there is changed.

use crate::artifacts::{Content, Head, JobStore, Packed, stored_jobs};
use crate::compute::Compute;
use crate::error::StartError;
use crate::identity::Identity;
use antipode_ids::{Incarnation, JobId, WorkerId};
use antipode_proto::message::{ArtifactName, Held};
use antipode_solver_core::bfs::frontier::ShardGeometry;
use antipode_solver_core::distance::PackedDistances;
use std::collections::BTreeMap;
use std::path::Path;

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

    /// An artifact, every byte checked, unpacked with the job's engine.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn read(&self, engine: &dyn Compute, name: ArtifactName) -> Result<Content, String> {
        let (count, packed) = self.packed(name)?;
        Content::unpack(engine, name, count, &packed.encoding, &packed.bytes)
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

/// The packed distances of a shard behind the bytes of an artifact; nothing is trusted.
///
/// # Errors
/// What does not fit.
pub fn unpack_distances(
    geometry: ShardGeometry,
    encoding: &str,
    bytes: &[u8],
) -> Result<PackedDistances, String> {
    let decode =
        |bytes: &[u8]| PackedDistances::decode(geometry, bytes).map_err(|error| error.to_string());
    match encoding {
        "lz4" => {}
        // The shape of the shard lies in front.
        "distances" => return decode(bytes.get(16..).unwrap_or_default()),
        _ => return decode(bytes),
    }
    let limit = geometry.states / 5 + 64;
    match lz4_flex::block::uncompressed_size(bytes) {
        Ok((length, _)) if length as u64 <= limit => {}
        Ok((length, _)) => return Err(format!("claims {length} bytes, more than {limit}")),
        Err(error) => return Err(format!("not lz4: {error}")),
    }
    let plain = lz4_flex::block::decompress_size_prepended(bytes);
    decode(&plain.map_err(|error| format!("not lz4: {error}"))?)
}
