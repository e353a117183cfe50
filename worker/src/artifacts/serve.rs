//! Serving artifacts to other workers, from memory or from disk, in their stored form.

use super::{Artifacts, Packed, Place};
use crate::beside::Beside;
use crate::error::StartError;
use crate::gauges::Gauges;
use antipode_proto::data::{ArtifactSource, Opening, Payload, data_server};
use antipode_proto::message::ArtifactName;
use antipode_solver_core::engine::Digest;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::transport::server::TcpIncoming;

struct Shop {
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
}

impl Artifacts {
    /// Number of states and bytes of an artifact, from wherever it is; what is in memory is not
    /// compressed for a reader that is `near`. Blocks on the disk.
    pub fn packed(&self, name: ArtifactName, digest: Digest, near: bool) -> Option<(u64, Packed)> {
        match self.place(name, digest) {
            Place::Memory(content) if near => Some((content.count(), content.plain())),
            Place::Memory(content) => Some((content.count(), content.packed())),
            Place::Disk => self
                .read_packed(name)
                .map(|(head, packed)| (head.count, packed)),
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
