//! The way to the coordinator: a link within the process, or one over the network that is made
//! anew as often as it breaks.

use crate::config::Source;
use crate::error::StartError;
use antipode_proto::client::ClientError;
use antipode_proto::link::WorkerLink;
use antipode_proto::message::{FromWorker, ToWorker};
use antipode_proto::remote::connect_session;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// One try to connect, once it has met it.
const TRY: Duration = Duration::from_secs(2);
/// Pause between tries: doubles from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How long the last words may take to get out.
const FLUSH: Duration = Duration::from_secs(2);

/// What came over the connection.
pub enum Heard {
    Connected,
    Message(ToWorker),
    /// The link broke; the next call of `hear` connects again.
    Disconnected,
    /// There will never be another link.
    Over,
}

pub struct Connection {
    /// Where to connect again; `None` within one process.
    address: Option<String>,
    /// A link that nobody was told of yet.
    fresh: Option<WorkerLink>,
    link: Option<WorkerLink>,
    /// A try to connect, beside the loop that asks for it again and again.
    trying: Option<JoinHandle<Result<WorkerLink, ClientError>>>,
    /// Before the next try.
    pause: Duration,
    met: bool,
    begun: Instant,
    /// How long a coordinator is looked for that it never met.
    patience: Option<Duration>,
}

impl Connection {
    pub fn new(source: Source, patience: Option<Duration>) -> Connection {
        let (address, fresh) = match source {
            Source::Link(link) => (None, Some(link)),
            Source::Address(address) => (Some(address), None),
        };
        let pause = Duration::ZERO;
        Connection {
            address,
            fresh,
            link: None,
            trying: None,
            pause,
            met: false,
            begun: Instant::now(),
            patience,
        }
    }

    /// Waits for the next thing to happen. May be dropped at any time and called again without loss.
    pub async fn hear(&mut self) -> Result<Heard, StartError> {
        if let Some(link) = &mut self.link {
            return Ok(match link.receive.recv().await {
                Some(message) => {
                    if matches!(message, ToWorker::Welcome { .. }) {
                        self.met = true;
                        self.pause = PAUSES.0;
                    }
                    Heard::Message(message)
                }
                None => {
                    self.link = None;
                    Heard::Disconnected
                }
            });
        }
        if let Some(link) = self.fresh.take() {
            self.link = Some(link);
            return Ok(Heard::Connected);
        }
        let Some(address) = self.address.clone() else {
            return Ok(Heard::Over);
        };
        loop {
            let pause = self.pause;
            let target = address.clone();
            let trying = self.trying.get_or_insert_with(|| {
                tokio::spawn(async move {
                    tokio::time::sleep(pause).await;
                    connect_session(&target, TRY).await
                })
            });
            let tried = trying
                .await
                .map_err(|error| StartError::Internal(error.to_string()))?;
            self.trying = None;
            self.pause = (self.pause * 2).clamp(PAUSES.0, PAUSES.1);
            match tried {
                Ok(link) => {
                    self.link = Some(link);
                    return Ok(Heard::Connected);
                }
                Err(error) => self.judge(&address, error)?,
            }
        }
    }

    /// May another try help?
    fn judge(&self, address: &str, error: ClientError) -> Result<(), StartError> {
        match error {
            ClientError::Version { ours, theirs } => Err(StartError::Version { ours, theirs }),
            ClientError::Invalid(reason) => Err(StartError::BadAddress { reason }),
            error
                if !self.met
                    && self
                        .patience
                        .is_some_and(|patience| self.begun.elapsed() >= patience) =>
            {
                Err(StartError::Unreachable {
                    address: address.into(),
                    tried: self.begun.elapsed(),
                    reason: match error {
                        ClientError::Unreachable { .. } => "nothing answers there".into(),
                        other => other.to_string(),
                    },
                })
            }
            _ => Ok(()),
        }
    }

    /// Says it, if there is a link; what a broken link swallows is repeated by the session.
    pub fn say(&self, message: FromWorker) {
        if let Some(link) = &self.link {
            let _ = link.send.send(message);
        }
    }

    /// Ends the conversation from this side and lets the last words get out.
    pub async fn finish(self) {
        if let Some(trying) = self.trying {
            trying.abort();
        }
        let Some(WorkerLink { send, mut receive }) = self.link else {
            return;
        };
        drop(send);
        if self.address.is_some() {
            // The other end closes when it has heard everything.
            let _ = tokio::time::timeout(FLUSH, async { while receive.recv().await.is_some() {} })
                .await;
        }
    }
}
