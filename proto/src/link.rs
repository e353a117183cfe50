//! The two ends of a conversation between a worker and the coordinator, whatever carries it:
//! channels within one process, or a gRPC stream behind an adapter.

use crate::message::{FromWorker, ToWorker};
use tokio::sync::mpsc;

/// The worker's end.
#[derive(Debug)]
pub struct WorkerLink {
    pub send: mpsc::UnboundedSender<FromWorker>,
    /// `None` from `recv` means that the connection is gone.
    pub receive: mpsc::UnboundedReceiver<ToWorker>,
}

/// The coordinator's end.
#[derive(Debug)]
pub struct CoordinatorLink {
    pub send: mpsc::UnboundedSender<ToWorker>,
    pub receive: mpsc::UnboundedReceiver<FromWorker>,
}

/// Both ends of a conversation within one process.
pub fn pair() -> (WorkerLink, CoordinatorLink) {
    let (to_coordinator, from_worker) = mpsc::unbounded_channel();
    let (to_worker, from_coordinator) = mpsc::unbounded_channel();
    (
        WorkerLink {
            send: to_coordinator,
            receive: from_coordinator,
        },
        CoordinatorLink {
            send: to_worker,
            receive: from_worker,
        },
    )
}
