//! Serving artifacts to other workers, from memory or from disk, in their stored form.

use super::{Artifacts, Content, Need, Packed, Place, Wanted};
use crate::beside::Beside;
use crate::error::StartError;
use crate::gauges::Gauges;
use antipode_proto::data::{ArtifactSource, LookingUp, NO_STATE, Opening, Payload, data_server};
use antipode_proto::message::ArtifactName;
use antipode_solver_core::distance::PackedDistances;
use antipode_solver_core::engine::Digest;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::transport::server::TcpIncoming;

/// The memory for distances that are being loaded is reserved under this number; leases count from 0.
const LOADING: u64 = u64::MAX;

struct Shop {
    /// Distances are loaded one after the other: whoever waits finds them in memory.
    loading: Arc<tokio::sync::Mutex<()>>,
    /// Connections may outlive the server; the stores must not wait for them to be closed.
    artifacts: Weak<Artifacts>,
    beside: Beside,
    gauges: Arc<Gauges>,
}

impl ArtifactSource for Shop {
    fn open(&self, name: ArtifactName, digest: Digest, near: bool) -> Opening {
        let artifacts = self.artifacts.clone();
        let gauges = self.gauges.clone();
        let packed = self
            .beside
            .run(move || artifacts.upgrade()?.packed(name, digest, near));
        Box::pin(async move {
            let packed = packed.await.map_err(|error| error.to_string())?;
            let (count, packed) = packed
                .ok_or_else(|| "no artifact of this name and digest is held here".to_string())?;
            Gauges::add(&gauges.served_bytes, packed.bytes.len() as u64);
            Ok(Payload {
                digest,
                count,
                encoding: packed.encoding,
                bytes: packed.bytes.into(),
            })
        })
    }

    fn look_up(&self, name: ArtifactName, digest: Digest, positions: Vec<u32>) -> LookingUp {
        let artifacts = self.artifacts.clone();
        // The usual case costs no change of threads.
        if let Some(Place::Memory(Content::Distances(distances))) =
            artifacts.upgrade().map(|a| a.place(name, digest))
        {
            return Box::pin(std::future::ready(Ok(values(&distances, &positions))));
        }
        let (beside, loading) = (self.beside.clone(), self.loading.clone());
        Box::pin(async move {
            let _turn = loading.lock().await;
            let loaded = beside
                .run(move || artifacts.upgrade()?.distances(name, digest))
                .await
                .map_err(|error| error.to_string())?;
            let distances = loaded
                .ok_or_else(|| "no distances of this name and digest are held here".to_string())?;
            Ok(values(&distances, &positions))
        })
    }
}

fn values(distances: &PackedDistances, positions: &[u32]) -> Vec<u8> {
    let value = |&position| distances.get(position).unwrap_or(NO_STATE);
    positions.iter().map(value).collect()
}

impl Artifacts {
    /// The packed distances with this name and digest. They stay in memory if the budget has room for
    /// them. Blocks on the disk.
    pub(super) fn distances(
        &self,
        name: ArtifactName,
        digest: Digest,
    ) -> Option<Arc<PackedDistances>> {
        let content = match self.place(name, digest) {
            Place::Memory(content) => content,
            Place::Nowhere => return None,
            Place::Disk => {
                let incoming = self.stored_bytes(name)?;
                let need = Need {
                    incoming,
                    working: 0,
                };
                let room = self.make_room(LOADING, need, &Wanted::new());
                let content = match room {
                    Ok(true) => self.load(name),
                    // Too much else is in memory: it is read for this one question.
                    _ => self.read(name),
                };
                self.unreserve(LOADING);
                content?
            }
        };
        match content {
            Content::Distances(distances) => Some(distances),
            Content::Set(_) | Content::Rows(_) => None,
        }
    }

    /// Number of states and bytes of an artifact, from wherever it is; what is in memory is not
    /// compressed for a reader that is `near`. Blocks on the disk.
    pub fn packed(&self, name: ArtifactName, digest: Digest, near: bool) -> Option<(u64, Packed)> {
        match self.place(name, digest) {
            Place::Memory(content) if near => Some((content.count(), content.plain())),
            Place::Memory(content) => Some((content.count(), content.packed())),
            Place::Disk => self
                .read_packed(name)
                .map(|(head, packed)| (head.count, Content::to_be_sent(packed))),
            Place::Nowhere => None,
        }
    }
}

/// The running server of the data plane; ends when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// Listens on `address` (port 0: a free one) and serves from then on.
    pub async fn start(
        address: SocketAddr,
        (artifacts, beside): (Arc<Artifacts>, Beside),
        gauges: Arc<Gauges>,
    ) -> Result<Server, StartError> {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::AddrInUse => StartError::AddressInUse { address },
                _ => StartError::Listen {
                    address,
                    reason: error.to_string(),
                },
            })?;
        let local = listener.local_addr().map_err(|error| StartError::Listen {
            address,
            reason: error.to_string(),
        })?;
        let service = data_server(Arc::new(Shop {
            loading: Arc::default(),
            artifacts: Arc::downgrade(&artifacts),
            beside,
            gauges,
        }));
        let serving = tonic::transport::Server::builder()
            .add_service(service)
            .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)));
        let task = tokio::spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!(%error, "the data server ended; other workers cannot fetch from here");
            }
        });
        Ok(Server {
            address: local,
            task,
        })
    }

    /// The address with the port that was really taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
