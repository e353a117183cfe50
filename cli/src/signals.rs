//! The two signals that ask a command to stop: Ctrl-C (SIGINT) and SIGTERM.

use crate::exit::Failure;
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};

const SAME_ONE: Duration = Duration::from_millis(300);

/// Waits for signals; from its creation on they no longer end the process by themselves.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub fn new() -> Result<Signals, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|e| Failure::other(format!("signals cannot be caught: {e}")))
        };
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// The number of the next signal: 2 or 15.
    pub async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
        }
    }

    /// From now on the next signal ends the process at once. What comes within a moment is the same
    /// one again: `timeout`, for one, sends to the process and to its group.
    pub fn next_one_kills(mut self) {
        tokio::spawn(async move {
            let first = Instant::now();
            let mut signal = self.next().await;
            while first.elapsed() < SAME_ONE {
                signal = self.next().await;
            }
            eprintln!("stopped at once; what was stored before is still there");
            std::process::exit(128 + i32::from(signal));
        });
    }
}
