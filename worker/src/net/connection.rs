//! The way to the coordinator: a link within the process, or one over the network that is made
//! anew as often as it breaks.

use crate::config::Source;
use crate::error::StartError;
use antipode_proto::client::ClientError;
use antipode_proto::link::WorkerLink;
use antipode_proto::message::{FromWorker, ToWorker};
use antipode_proto::remote::connect_session;
use std::time::{Duration, Instant};

/// How long a worker looks for a coordinator that it never met.
const FIRST_CONTACT: Duration = Duration::from_secs(10);
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
    pause: Duration,
    met: bool,
    begun: Instant,
}

impl Connection {
    pub fn new(source: Source) -> Connection {
        let (address, fresh) = match source {
            Source::Link(link) => (None, Some(link)),
            Source::Address(address) => (Some(address), None),
        };
        Connection { address, fresh, link: None, pause: PAUSES.0, met: false, begun: Instant::now() }
    }

    /// Waits for the next thing to happen. May be dropped at any time and called again: a message
    /// is never lost, a try to connect is just begun anew.
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
        let Some(address) = self.address.clone() else { return Ok(Heard::Over) };
        loop {
            match connect_session(&address, TRY).await {
                Ok(link) => {
                    self.link = Some(link);
                    return Ok(Heard::Connected);
                }
                Err(error) => self.judge(&address, error)?,
            }
            tokio::time::sleep(self.next_pause()).await;
        }
    }

    /// May another try help?
    fn judge(&self, address: &str, error: ClientError) -> Result<(), StartError> {
        match error {
            ClientError::Version { ours, theirs } => Err(StartError::Version { ours, theirs }),
            ClientError::Invalid(reason) => Err(StartError::BadAddress { reason }),
            error if !self.met && self.begun.elapsed() >= FIRST_CONTACT => Err(StartError::Unreachable {
                address: address.into(),
                tried: self.begun.elapsed(),
                reason: match error {
                    ClientError::Unreachable { .. } => "nothing answers there".into(),
                    other => other.to_string(),
                },
            }),
            _ => Ok(()),
        }
    }

    fn next_pause(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (pause * 2).min(PAUSES.1);
        pause
    }

    /// Says it, if there is a link; what a broken link swallows is repeated by the session.
    pub fn say(&self, message: FromWorker) {
        if let Some(link) = &self.link {
            let _ = link.send.send(message);
        }
    }

    /// Ends the conversation from this side and lets the last words get out.
    pub async fn finish(self) {
        let Some(WorkerLink { send, mut receive }) = self.link else { return };
        drop(send);
        if self.address.is_some() {
            // The other end closes when it has heard everything.
            let _ = tokio::time::timeout(FLUSH, async { while receive.recv().await.is_some() {} }).await;
        }
    }
}
