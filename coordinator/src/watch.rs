//! Who watches which job, and when they hear of it: at once of a level or another state, of other
//! progress at most every 50 ms.

use antipode_coordinator_core::Change;
use antipode_ids::JobId;
use antipode_proto::status::JobStatus;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

const PROGRESS_EVERY: Duration = Duration::from_millis(50);

#[derive(Default)]
pub struct Watchers {
    jobs: BTreeMap<JobId, Watched>,
}

struct Watched {
    listeners: Vec<UnboundedSender<JobStatus>>,
    last: Instant,
    /// What happened since then.
    pending: Option<Change>,
}

impl Watchers {
    /// Adds a listener, who hears the present status first.
    pub fn add(&mut self, status: JobStatus, listener: UnboundedSender<JobStatus>) {
        let (job, over) = (status.job, status.state.is_at_rest());
        if listener.send(status).is_err() || over {
            return;
        }
        let watched = self.jobs.entry(job).or_insert_with(|| Watched {
            listeners: Vec::new(),
            last: Instant::now(),
            pending: None,
        });
        watched.listeners.push(listener);
    }

    pub fn note(&mut self, job: JobId, change: Change) {
        if let Some(watched) = self.jobs.get_mut(&job) {
            watched.pending = watched.pending.max(Some(change));
        }
    }

    /// When somebody must hear of progress at the latest.
    pub fn due(&self) -> Option<Instant> {
        let pending = self
            .jobs
            .values()
            .filter(|watched| watched.pending.is_some());
        pending.map(|watched| watched.last + PROGRESS_EVERY).min()
    }

    /// Tells everybody who is to hear something now.
    pub fn tell(&mut self, mut status_of: impl FnMut(JobId) -> Option<JobStatus>) {
        let now = Instant::now();
        self.jobs.retain(|&job, watched| {
            let at_once = watched
                .pending
                .is_some_and(|change| change > Change::Progress);
            let due = watched.pending.is_some() && now >= watched.last + PROGRESS_EVERY;
            if !at_once && !due {
                return true;
            }
            let Some(status) = status_of(job) else {
                return false;
            };
            watched.pending = None;
            watched.last = now;
            let over = status.state.is_at_rest();
            watched
                .listeners
                .retain(|listener| listener.send(status.clone()).is_ok());
            !over && !watched.listeners.is_empty()
        });
    }
}
