//! One worker's conversation: a pair of streams on one side, a link on the other.

use super::ended;
use antipode_proto::convert::to_worker_parts;
use antipode_proto::link::{self, CoordinatorLink};
use antipode_proto::message::FromWorker;
use antipode_proto::wire;
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};
use tokio::sync::watch;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Status, Streaming};

/// What the worker is to be sent, and the coordinator's end of the link.
pub fn open(
    mut incoming: Streaming<wire::FromWorker>,
    stopped: watch::Receiver<bool>,
) -> (
    impl Stream<Item = Result<wire::ToWorker, Status>> + Send,
    CoordinatorLink,
) {
    let (ours, theirs) = link::pair();
    let stop = stopped.clone();
    tokio::spawn(async move {
        loop {
            let next = tokio::select! {
                next = incoming.next() => next,
                () = ours.send.closed() => return,
                () = ended(stop.clone()) => return,
            };
            // The end of the loop drops the sender, which is how the coordinator hears of it.
            let Some(Ok(message)) = next else { return };
            match FromWorker::try_from(message) {
                Ok(message) => _ = ours.send.send(message),
                Err(error) => {
                    tracing::warn!(
                        "a worker's message cannot be read, its connection ends: {error}"
                    );
                    return;
                }
            }
        }
    });
    let outgoing = UnboundedReceiverStream::new(ours.receive)
        .flat_map(|message| stream::iter(to_worker_parts(message)))
        .map(Ok)
        .take_until(ended(stopped));
    (outgoing, theirs)
}
