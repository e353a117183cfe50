//! A store that no coordinator has open, and what can be asked of it. Nothing in it is changed; while it is
//! looked at nobody else can have it.

use crate::bridge;
use crate::config::Config;
use crate::error::OpenError;
use crate::store::Store;
use crate::view;
use antipode_coordinator_core as core;
use antipode_ids::{Incarnation, JobId, WorkerId};
use antipode_proto::message::Held;
use antipode_proto::status::{Explanation, Holdings, JobState, JobStatus, Outlook, Subject};
use std::path::Path;
use std::time::SystemTime;

/// Later than anything that a coordinator waits for after its start.
const LATER: u64 = 1 << 40;

/// What a worker would announce if it were started.
#[derive(Debug, Clone)]
pub struct Announced {
    pub name: String,
    /// Number and cluster; `None`: it never registered.
    pub member: Option<(WorkerId, String)>,
    pub incarnation: Incarnation,
    pub held: Vec<Held>,
}

/// The store.
pub struct Offline {
    state: core::Coordinator,
    now: core::Now,
    _store: Store,
}

impl Offline {
    /// The store in `data`, with no worker.
    ///
    /// # Errors
    /// No store, one that is in use, damaged, or of another format.
    pub fn open(data: &Path) -> Result<Offline, OpenError> {
        Offline::with(data, None)
    }

    /// The store in `data`, as if this worker had come and had not been given anything to do yet.
    ///
    /// # Errors
    /// See [`Offline::open`].
    pub fn with(data: &Path, worker: Option<Announced>) -> Result<Offline, OpenError> {
        let (store, stored) = Store::open_existing(data)?;
        let config = Config::new(data.to_path_buf()).core();
        let cluster = store.cluster().into();
        let mut state =
            core::Coordinator::new(config, cluster, store.epoch(), stored, core::Now::default())
                .map_err(|problem| OpenError::damaged(data, problem))?;
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = core::Now {
            millis: LATER,
            unix: unix.map_or(0, |since| since.as_secs()),
        };
        state.suppose(now, worker.map(registration));
        Ok(Offline {
            state,
            now,
            _store: store,
        })
    }

    /// All jobs, oldest first.
    pub fn jobs(&self) -> Vec<JobStatus> {
        let jobs = self.state.jobs().iter();
        jobs.map(|(&id, job)| view::at_rest(id, job)).collect()
    }

    /// What going on with a job would keep and redo; `None` where there is no such job.
    pub fn outlook(&self, job: JobId) -> Option<Outlook> {
        view::outlook(&self.state, self.now, job)
    }

    /// Why a job or a task is as it is.
    ///
    /// # Errors
    /// What is not there.
    pub fn explain(&self, subject: &Subject) -> Result<Explanation, String> {
        let mut explanation = view::explain(&self.state, self.now, subject)?;
        if let Subject::Job(id) = *subject
            && let Some(job) = self.state.jobs().get(&JobId(id))
            && let JobState::Queued | JobState::Running | JobState::Stalled { .. } =
                view::at_rest(JobId(id), job).state
            && let Some(first) = explanation.now.first_mut()
        {
            // The core takes it that a coordinator runs.
            *first = "it was under way when its process ended; nobody works on it now".into();
        }
        Ok(explanation)
    }

    /// Which artifacts the worker would bring.
    pub fn holdings(&self, job: JobId) -> Option<Holdings> {
        view::holdings(&self.state, job)
    }
}

fn registration(worker: Announced) -> core::Registration {
    let (number, cluster) = worker.member.unzip();
    core::Registration {
        worker: number,
        cluster,
        incarnation: Incarnation(worker.incarnation.0 + 1),
        name: worker.name,
        version: String::new(),
        address: None,
        threads: 0,
        memory_bytes: 0,
        kernel: String::new(),
        devices: Vec::new(),
        local: true,
        held: worker.held.into_iter().map(bridge::held).collect(),
        running: Vec::new(),
        ended: None,
    }
}
