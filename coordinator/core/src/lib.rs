//! The coordinator as a state machine without IO: [`Coordinator::step`] takes the time and one
//! event and returns the effects, in order. No clock, no randomness, no threads, no files, no
//! sockets, no iteration over unordered maps: the same events give the same effects.
//!
//! The driver persists before it sends: effects come in an order in which every
//! [`Effect::Persist`] that a promise rests on stands before the promise.

pub mod artifact;
pub mod check;
pub mod dispute;
mod drain;
pub mod effect;
pub mod event;
pub mod explain;
mod follow;
pub mod incident;
mod lease;
#[doc(hidden)]
pub mod mutants;
pub mod outlook;
mod place;
pub mod plan;
pub mod record;
mod refute;
mod report;
mod request;
mod rhythm;
mod session;
pub mod state;
mod step;
pub mod trouble;

pub use effect::{Change, Effect, Input, Order, Reply};
pub use event::{
    ConnectionId, DiskUse, Ended, Event, Failure, Held, Now, Registration, Report, RequestId,
    Submission, Usage,
};
pub use state::{Config, Coordinator};
