//! Faults for tests, planted where real ones arise, so that they take the same road.

/// What goes wrong at a submission.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The driver says that the device is lost.
    Lost,
    /// The driver has no memory for the submission.
    OutOfMemory,
    /// The time runs out.
    Hang,
    /// One bit of what comes back is wrong, at this submission or the next that brings something back.
    Wrong,
}
