//! The gRPC service, and the only room of the coordinator that knows tonic: convert, ask, answer.

mod service;
mod session;

use crate::client::LocalClient;
use crate::error::ServeError;
use crate::run::Command;
use antipode_proto::MAX_MESSAGE_BYTES;
use antipode_proto::wire::coordinator_server::CoordinatorServer;
use service::Service;
use std::future::Future;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// Serves until `shutdown`; then open streams are ended, and calls that are answered in a moment still are.
pub async fn serve(
    client: LocalClient,
    commands: mpsc::UnboundedSender<Command>,
    listener: tokio::net::TcpListener,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    let (stop, stopped) = watch::channel(false);
    let service = CoordinatorServer::new(Service {
        client,
        commands,
        stopped: stopped.clone(),
    })
    .max_decoding_message_size(MAX_MESSAGE_BYTES)
    .max_encoding_message_size(MAX_MESSAGE_BYTES);
    Server::builder()
        .http2_keepalive_interval(Some(Duration::from_secs(5)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        .add_service(service)
        .serve_with_incoming_shutdown(
            TcpIncoming::from(listener).with_nodelay(Some(true)),
            async move {
                shutdown.await;
                _ = stop.send(true);
            },
        )
        .await
        .map_err(|error| ServeError(error.to_string()))
}

/// Resolves when the server is to end.
async fn ended(mut stopped: watch::Receiver<bool>) {
    // An error means that the server is gone, which is the same.
    _ = stopped.wait_for(|&stop| stop).await;
}
