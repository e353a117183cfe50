//! The data plane: artifacts in their stored form, streamed from one worker to another.

use crate::client::ClientError;
use crate::convert::{PROTOCOL_KEY, caller_version, request, version_mismatch, wire_digest};
use crate::message::ArtifactName;
use crate::wire::data_client::DataClient;
use crate::wire::data_server::{Data, DataServer};
use crate::{PROTOCOL_VERSION, remote, wire};
use antipode_solver_core::engine::Digest;
use prost::bytes::Bytes;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_stream::StreamExt;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};
use xxhash_rust::xxh3::xxh3_128;

/// The value of a position at which there is no state.
pub const NO_STATE: u8 = 255;
/// Positions that may be asked for in one call.
pub const MAX_POSITIONS: usize = 250_000;

/// Bytes of an artifact in one message.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks are smaller; a message that claims more is refused unread.
const MAX_CHUNK_MESSAGE_BYTES: usize = 2 << 20;

/// An artifact on its way: its bytes in their stored form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Content digest of the set of states.
    pub digest: Digest,
    /// Number of states.
    pub count: u64,
    /// Form of the bytes, a word that the workers agree on.
    pub encoding: String,
    pub bytes: Bytes,
}

/// Why an artifact did not come.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("{address} does not answer: {reason}")]
    Unreachable { address: String, reason: String },
    #[error("{address} does not hold it: {reason}")]
    NotHeld { address: String, reason: String },
    #[error("{address} sent damaged bytes: {reason}")]
    Damaged { address: String, reason: String },
    #[error(
        "{address} speaks protocol {theirs}, this program speaks {ours}; use the same version of antipode on both sides"
    )]
    Version {
        address: String,
        ours: u32,
        theirs: u32,
    },
}

/// A future payload, or why there is none (said to the peer).
pub type Opening = Pin<Box<dyn Future<Output = Result<Payload, String>> + Send>>;

/// Future values, one a position, or why there are none (said to the peer).
pub type LookingUp = Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send>>;

/// Where a serving worker finds its artifacts.
pub trait ArtifactSource: Send + Sync + 'static {
    /// The artifact with this name and digest. `near`: the reader is on this machine, where bytes
    /// travel faster than they are compressed.
    fn open(&self, name: ArtifactName, digest: Digest, near: bool) -> Opening;

    /// The distances modulo 3 at these positions of a shard, [`NO_STATE`] where there is none, from
    /// the packed distances with this name and digest.
    fn look_up(&self, name: ArtifactName, digest: Digest, positions: Vec<u32>) -> LookingUp;
}

/// Puts the server of the data plane over a source of artifacts; give it to
/// `tonic::transport::Server::add_service`.
pub fn data_server(source: Arc<dyn ArtifactSource>) -> DataServer<impl Data> {
    DataServer::new(Service { source })
        .max_encoding_message_size(MAX_CHUNK_MESSAGE_BYTES)
        .max_decoding_message_size(MAX_CHUNK_MESSAGE_BYTES)
}

struct Service {
    source: Arc<dyn ArtifactSource>,
}

type ChunkStream = Pin<Box<dyn tokio_stream::Stream<Item = Result<wire::Chunk, Status>> + Send>>;

#[tonic::async_trait]
impl Data for Service {
    type FetchStream = ChunkStream;

    async fn fetch(
        &self,
        request: Request<wire::FetchRequest>,
    ) -> Result<Response<ChunkStream>, Status> {
        check_version(&request)?;
        let near = request.remote_addr().is_some_and(|a| a.ip().is_loopback());
        let request = request.into_inner();
        let (name, digest) = named(request.name, &request.digest)?;
        let payload = self
            .source
            .open(name, digest, near)
            .await
            .map_err(Status::not_found)?;
        Ok(Response::new(Box::pin(
            tokio_stream::iter(chunks(payload)).map(Ok),
        )))
    }

    async fn lookup(
        &self,
        request: Request<wire::LookupRequest>,
    ) -> Result<Response<wire::LookupReply>, Status> {
        check_version(&request)?;
        let request = request.into_inner();
        let (name, digest) = named(request.name, &request.digest)?;
        let (positions, rest) = request.positions.as_chunks::<4>();
        if !rest.is_empty() || positions.len() > MAX_POSITIONS {
            return Err(Status::invalid_argument(format!(
                "LookupRequest.positions: {} bytes are not at most {MAX_POSITIONS} positions of 4 bytes",
                request.positions.len()
            )));
        }
        let positions = positions.iter().map(|&p| u32::from_le_bytes(p)).collect();
        let values = self.source.look_up(name, digest, positions).await;
        let values = values.map_err(Status::not_found)?;
        Ok(Response::new(wire::LookupReply { values }))
    }
}

fn check_version<T>(request: &Request<T>) -> Result<(), Status> {
    match caller_version(request.metadata()) {
        PROTOCOL_VERSION => Ok(()),
        theirs => Err(version_mismatch(theirs)),
    }
}

/// Name and digest of a request.
fn named(name: Option<wire::ArtifactRef>, digest: &[u8]) -> Result<(ArtifactName, Digest), Status> {
    let invalid = |error: crate::convert::WireError| Status::invalid_argument(error.to_string());
    let name = name.ok_or_else(|| Status::invalid_argument("name: missing"))?;
    Ok((
        ArtifactName::try_from(name).map_err(invalid)?,
        wire_digest("digest", digest).map_err(invalid)?,
    ))
}

/// The header with the first piece, then the other pieces, without copying.
fn chunks(payload: Payload) -> impl Iterator<Item = wire::Chunk> + Send {
    let Payload {
        digest,
        count,
        encoding,
        mut bytes,
    } = payload;
    let mut header = Some(wire::ArtifactHeader {
        digest: digest.0.to_le_bytes().to_vec(),
        count,
        length: bytes.len() as u64,
        checksum: xxh3_128(&bytes).to_le_bytes().to_vec(),
        encoding,
    });
    std::iter::from_fn(move || {
        if header.is_none() && bytes.is_empty() {
            return None;
        }
        let piece = bytes.split_to(bytes.len().min(CHUNK_BYTES));
        Some(wire::Chunk {
            header: header.take(),
            data: piece,
        })
    })
}

/// Fetches artifacts from other workers; keeps one connection an address.
#[derive(Debug, Default, Clone)]
pub struct Fetcher {
    channels: Arc<Mutex<BTreeMap<String, Channel>>>,
}

impl Fetcher {
    /// The artifact from the worker that serves at `address`, checked: length, checksum and digest
    /// are the announced ones. `max_bytes` bounds what may be announced.
    pub async fn fetch(
        &self,
        address: &str,
        name: ArtifactName,
        digest: Digest,
        max_bytes: u64,
    ) -> Result<Payload, FetchError> {
        let mut client = DataClient::new(self.channel(address)?)
            .max_decoding_message_size(MAX_CHUNK_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_CHUNK_MESSAGE_BYTES);
        let message = wire::FetchRequest {
            name: Some(name.into()),
            digest: digest.0.to_le_bytes().to_vec(),
        };
        let failed = |status: Status| fetch_error(address, status);
        let mut stream = client
            .fetch(request(message))
            .await
            .map_err(failed)?
            .into_inner();
        let damaged = |reason: String| FetchError::Damaged {
            address: address.into(),
            reason,
        };

        let first = stream
            .next()
            .await
            .ok_or_else(|| damaged("nothing came".into()))?
            .map_err(failed)?;
        let header = first
            .header
            .ok_or_else(|| damaged("no header came".into()))?;
        let found = wire_digest("ArtifactHeader.digest", &header.digest)
            .map_err(|e| damaged(e.to_string()))?;
        if found != digest {
            return Err(damaged(format!("digest {found} instead of {digest}")));
        }
        if header.length > max_bytes {
            return Err(damaged(format!(
                "{} bytes announced, {max_bytes} expected at most",
                header.length
            )));
        }
        let mut bytes = Vec::with_capacity(header.length as usize);
        bytes.extend_from_slice(&first.data);
        while let Some(chunk) = stream.next().await {
            bytes.extend_from_slice(&chunk.map_err(failed)?.data);
            if bytes.len() as u64 > header.length {
                break;
            }
        }
        if bytes.len() as u64 != header.length {
            return Err(damaged(format!(
                "{} bytes came, {} were announced",
                bytes.len(),
                header.length
            )));
        }
        if xxh3_128(&bytes).to_le_bytes()[..] != header.checksum[..] {
            return Err(damaged("the checksum differs".into()));
        }
        Ok(Payload {
            digest,
            count: header.count,
            encoding: header.encoding,
            bytes: bytes.into(),
        })
    }

    /// The distances modulo 3 at these positions of a shard, [`NO_STATE`] where there is no state, from the
    /// worker that serves packed distances of this name and digest at `address`. One value a position, in
    /// their order; at most [`MAX_POSITIONS`].
    pub async fn look_up(
        &self,
        address: &str,
        name: ArtifactName,
        digest: Digest,
        positions: &[u32],
    ) -> Result<Vec<u8>, FetchError> {
        let mut client = DataClient::new(self.channel(address)?)
            .max_decoding_message_size(MAX_CHUNK_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_CHUNK_MESSAGE_BYTES);
        let mut bytes = Vec::with_capacity(positions.len() * 4);
        positions
            .iter()
            .for_each(|position| bytes.extend_from_slice(&position.to_le_bytes()));
        let message = wire::LookupRequest {
            name: Some(name.into()),
            digest: digest.0.to_le_bytes().to_vec(),
            positions: bytes,
        };
        let reply = client
            .lookup(request(message))
            .await
            .map_err(|status| fetch_error(address, status))?;
        let values = reply.into_inner().values;
        if values.len() != positions.len() || values.iter().any(|&v| v > 2 && v != NO_STATE) {
            return Err(FetchError::Damaged {
                address: address.into(),
                reason: format!("{} values for {} positions", values.len(), positions.len()),
            });
        }
        Ok(values)
    }

    fn channel(&self, address: &str) -> Result<Channel, FetchError> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(address) {
            return Ok(channel.clone());
        }
        let endpoint =
            remote::endpoint(address).map_err(|error: ClientError| FetchError::Unreachable {
                address: address.into(),
                reason: error.to_string(),
            })?;
        let channel = endpoint.connect_lazy();
        channels.insert(address.into(), channel.clone());
        Ok(channel)
    }
}

fn fetch_error(address: &str, status: Status) -> FetchError {
    let address = address.to_string();
    let reason = status.message().to_string();
    match status.code() {
        Code::NotFound => FetchError::NotHeld { address, reason },
        Code::FailedPrecondition if status.metadata().contains_key(PROTOCOL_KEY) => {
            FetchError::Version {
                address,
                ours: PROTOCOL_VERSION,
                theirs: caller_version(status.metadata()),
            }
        }
        Code::DataLoss | Code::InvalidArgument | Code::OutOfRange | Code::Internal => {
            FetchError::Damaged { address, reason }
        }
        _ => FetchError::Unreachable { address, reason },
    }
}
