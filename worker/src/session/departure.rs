//! How a worker ends: what it still does once somebody wishes it to, and when it is through.
//!
//! A daemon says that it drains and then does what the coordinator still wants of it (copies, writes,
//! serving), until it is told to shut down. If that takes too long, or nobody is there to say so, it
//! brings what only it holds to its own disk, within the rest of the grace time. Within one process with
//! the coordinator there is nothing to hand over: it finishes the level that computes and leaves.

use super::lease::Stage;
use super::{Action, Exit, LeaseId, Session};
use antipode_proto::message::FromWorker;
use antipode_solver_core::job::Task;
use std::time::{Duration, Instant};

/// How far the worker is on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Departure {
    Staying,
    /// It ends as soon as nothing computes.
    Finishing,
    /// The coordinator says what is still wanted; from `alone_from` on there is none to wait for.
    Draining {
        reason: String,
        since: Instant,
        alone_from: Option<Instant>,
    },
    /// What is held is being brought to disk.
    Storing {
        until: Instant,
    },
}

impl Departure {
    /// May leases be started at all?
    pub(super) fn may_start(&self) -> bool {
        match self {
            Departure::Staying => true,
            Departure::Draining { alone_from, .. } => alone_from.is_none(),
            Departure::Finishing | Departure::Storing { .. } => false,
        }
    }
}

/// The part of the grace time that is left for the own disk.
fn storing_time(grace: Duration) -> Duration {
    grace / 3
}

/// How long a coordinator that went away meanwhile is waited for.
fn absence(grace: Duration) -> Duration {
    grace / 10
}

impl Session {
    /// Somebody wishes that the worker ends.
    pub(super) fn drain(&mut self, now: Instant, reason: &str, actions: &mut Vec<Action>) {
        if self.departure != Departure::Staying {
            return;
        }
        if self.grace.is_none() {
            self.departure = Departure::Finishing;
            self.stop_items(|_| true, actions);
            return;
        }
        let idle: Vec<LeaseId> = self
            .leases
            .iter()
            .filter(|(_, lease)| {
                lease.stage != Stage::Computing && !matches!(lease.task, Task::Copy { .. })
            })
            .map(|(key, _)| key.lease)
            .collect();
        idle.into_iter()
            .for_each(|lease| self.forget(lease, actions));
        let registered = self.is_registered();
        self.departure = Departure::Draining {
            reason: reason.into(),
            since: now,
            alone_from: (!registered).then_some(now),
        };
        if registered {
            let reason = reason.into();
            actions.push(Action::Send(FromWorker::Draining { reason }));
        }
    }

    /// A coordinator is there (again), and may not know it.
    pub(super) fn say_again_that_it_drains(&mut self, actions: &mut Vec<Action>) {
        if let Departure::Draining {
            reason, alone_from, ..
        } = &mut self.departure
        {
            *alone_from = None;
            let reason = reason.clone();
            actions.push(Action::Send(FromWorker::Draining { reason }));
        }
    }

    /// The connection broke.
    pub(super) fn left_alone(&mut self, now: Instant) {
        let grace = self.grace.unwrap_or_default();
        if let Departure::Draining { alone_from, .. } = &mut self.departure {
            alone_from.get_or_insert(now + absence(grace));
        }
    }

    /// Nothing more is needed of this worker.
    pub(super) fn shut_down(&mut self, actions: &mut Vec<Action>) {
        match self.grace {
            None => self.departure = Departure::Finishing,
            Some(_) => self.leave(Exit::Done, actions),
        }
    }

    pub(super) fn stored(&mut self, actions: &mut Vec<Action>) {
        if matches!(self.departure, Departure::Storing { .. }) {
            self.leave(Exit::Done, actions);
        }
    }

    /// Goes on with the end where it is time for it.
    pub(super) fn depart(&mut self, now: Instant, actions: &mut Vec<Action>) {
        let computing = self
            .leases
            .values()
            .any(|lease| lease.stage == Stage::Computing)
            || !self.orphans.is_empty();
        match self.departure {
            Departure::Finishing if !computing => self.leave(Exit::Done, actions),
            Departure::Draining {
                since, alone_from, ..
            } => {
                let alone = alone_from.is_some_and(|from| now >= from);
                let grace = self.grace.unwrap_or_default();
                let begin = since + grace.saturating_sub(storing_time(grace));
                if now >= begin || (alone && !computing) {
                    let until = since + grace;
                    self.departure = Departure::Storing { until };
                    actions.push(Action::PersistAll { until });
                }
            }
            Departure::Storing { until } if now >= until => self.leave(Exit::Overdue, actions),
            _ => {}
        }
    }

    fn leave(&mut self, exit: Exit, actions: &mut Vec<Action>) {
        if self.exited {
            return;
        }
        let leases: Vec<LeaseId> = self.keys.keys().copied().collect();
        leases
            .into_iter()
            .for_each(|lease| self.forget(lease, actions));
        let reason = "the worker was asked to end".into();
        self.say(FromWorker::Leaving { reason }, actions);
        self.exited = true;
        actions.push(Action::Exit(exit));
    }
}
