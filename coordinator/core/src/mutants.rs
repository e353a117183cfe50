//! Deliberate faults, one at a time, for the tests that must notice them. Without the feature `mutants`
//! there are none, and asking costs nothing.

/// A fault of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A failure of an older lease frees the present one.
    StaleFailedFreesLease,
    /// The leases of a lost worker do not return.
    ForgetToRequeue,
    /// A result that comes again counts again.
    CountTwice,
    /// A task may run without its own shard's last level.
    ReadyWithoutOwnLevel,
    /// What the last checkpoint consists of may be dropped.
    DropCheckpoint,
    /// A pause is said to be done before its checkpoint is.
    PauseWithoutCheckpoint,
}

#[cfg(feature = "mutants")]
thread_local! {
    static PRESENT: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// From now on every coordinator in this thread has this fault.
#[cfg(feature = "mutants")]
pub fn set(mutant: Option<Mutant>) {
    PRESENT.set(mutant);
}

#[cfg(feature = "mutants")]
pub(crate) fn has(mutant: Mutant) -> bool {
    PRESENT.get() == Some(mutant)
}

#[cfg(not(feature = "mutants"))]
pub(crate) const fn has(_: Mutant) -> bool {
    false
}
