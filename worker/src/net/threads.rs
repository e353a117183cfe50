//! Threads with a queue: some compute, one task after the other each, in a pool of their own or in the only one; one
//! loads engines, makes artifacts durable, ends the tasks that are about that, and closes jobs, in the
//! order in which it is told.

use super::announcer::Announcer;
use super::driver::Happened;
use crate::artifacts::Artifacts;
use crate::compute::Loader;
use crate::error::StartError;
use crate::exec::keep::{self, Keep};
use crate::exec::{self, Work};
use crate::session::{Event, LeaseId};
use antipode_ids::JobId;
use antipode_proto::message::{ArtifactName, Failure, Usage};
use antipode_solver_core::job::JobDefinition;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;

/// What the housekeeper is told.
pub enum Chore {
    Load {
        job: JobId,
        definition: Arc<JobDefinition>,
    },
    Close {
        job: JobId,
        keep: bool,
    },
    Persist {
        names: Vec<ArtifactName>,
    },
    /// Make durable what only this worker holds, the newest first, while there is time.
    PersistAll {
        until: Instant,
    },
    Keep(Box<Keep>),
}

/// Tasks that are ended with one commit.
const KEPT_AT_ONCE: usize = 64;
/// Artifacts that are stored between two looks at the clock.
const STORED_AT_ONCE: usize = 16;

/// How the threads are told what to do, and the threads.
type Started<T, H> = Result<(mpsc::Sender<T>, H), StartError>;

/// Starts a compute thread for each of these pools; they take from one queue, and end when the sender is dropped.
pub fn compute(
    pools: &[Arc<rayon::ThreadPool>],
    artifacts: &Arc<Artifacts>,
    events: &UnboundedSender<Happened>,
) -> Started<(LeaseId, Work), Vec<JoinHandle<()>>> {
    let (sender, queue) = mpsc::channel::<(LeaseId, Work)>();
    let queue = Arc::new(Mutex::new(queue));
    let start = |pool: &Arc<rayon::ThreadPool>| {
        let (pool, queue) = (pool.clone(), queue.clone());
        let (artifacts, events) = (artifacts.clone(), events.clone());
        spawn("compute", move || {
            loop {
                // The lock is held while waiting, not while working.
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((lease, work)) = next else { return };
                compute_one(lease, work, (&pool, &artifacts, &events));
            }
        })
    };
    let threads = pools.iter().map(start).collect::<Result<_, _>>()?;
    Ok((sender, threads))
}

fn compute_one(
    lease: LeaseId,
    work: Work,
    (pool, artifacts, events): (
        &rayon::ThreadPool,
        &Arc<Artifacts>,
        &UnboundedSender<Happened>,
    ),
) {
    let fetched_bytes = work.inputs.fetched_bytes;
    let start = Instant::now();
    let finished = pool.install(|| exec::run(work, artifacts));
    let usage = Usage {
        engine_time: start.elapsed(),
        fetched_bytes,
        on_device: finished.on_device,
    };
    artifacts.unreserve(lease.0);
    let event = Event::Computed {
        lease,
        result: finished.result,
        usage,
        lost: finished.lost,
    };
    // Nobody listens only while the worker ends.
    let _ = events.send(Happened::Event(event));
}

/// Starts the housekeeper; it ends when the sender is dropped.
pub fn housekeeping(
    pool: Arc<rayon::ThreadPool>,
    artifacts: Arc<Artifacts>,
    loader: Loader,
    events: UnboundedSender<Happened>,
) -> Started<Chore, JoinHandle<()>> {
    let (sender, receiver) = mpsc::channel();
    let thread = spawn("housekeeping", move || {
        let mut next = None;
        while let Some(chore) = next.take().or_else(|| receiver.recv().ok()) {
            match chore {
                Chore::Keep(first) => {
                    let mut tasks = vec![*first];
                    while next.is_none() && tasks.len() < KEPT_AT_ONCE {
                        match receiver.try_recv() {
                            Ok(Chore::Keep(task)) => tasks.push(*task),
                            Ok(other) => next = Some(other),
                            Err(_) => break,
                        }
                    }
                    keep(tasks, &artifacts, &events);
                }
                Chore::PersistAll { until } => {
                    for names in artifacts.volatile().chunks(STORED_AT_ONCE) {
                        if Instant::now() >= until {
                            break;
                        }
                        persist(&artifacts, names, &events);
                    }
                    let _ = events.send(Happened::Event(Event::Stored));
                }
                Chore::Close { job, keep } => artifacts.close_job(job, keep),
                Chore::Persist { names } => persist(&artifacts, &names, &events),
                Chore::Load { job, definition } => {
                    let announcer = Announcer::new(job, &artifacts, events.clone());
                    let load =
                        || catch_unwind(AssertUnwindSafe(|| loader(&definition, &announcer)));
                    let loaded = pool.install(load);
                    let result = match loaded {
                        Ok(Ok(engine)) => {
                            artifacts.open_job(job, &definition.fingerprint, engine);
                            Ok(())
                        }
                        Ok(Err(error)) => Err(exec::failure(error)),
                        Err(_) => Err(Failure::Other("loading the index panicked".into())),
                    };
                    let _ = events.send(Happened::Event(Event::Loaded { job, result }));
                }
            }
        }
    })?;
    Ok((sender, thread))
}

fn keep(tasks: Vec<Keep>, artifacts: &Artifacts, events: &UnboundedSender<Happened>) {
    let start = Instant::now();
    for kept in keep::run(tasks, artifacts) {
        artifacts.unreserve(kept.lease.0);
        let event = Event::Computed {
            lease: kept.lease,
            result: kept.result,
            usage: Usage {
                engine_time: start.elapsed(),
                fetched_bytes: kept.fetched_bytes,
                on_device: None,
            },
            lost: Vec::new(),
        };
        let _ = events.send(Happened::Event(event));
    }
}

fn persist(artifacts: &Artifacts, names: &[ArtifactName], events: &UnboundedSender<Happened>) {
    let say = |event| {
        let _ = events.send(Happened::Event(event));
    };
    let outcome = artifacts.persist(names, |names, bytes| say(Event::Persisted { names, bytes }));
    if !outcome.missing.is_empty() {
        say(Event::Lost {
            names: outcome.missing,
            reason: "it is not held here".into(),
        });
    }
    if !outcome.failed.is_empty() {
        tracing::error!(reason = %outcome.reason, "artifacts cannot be made durable; trying again later");
        say(Event::NotPersisted {
            names: outcome.failed,
        });
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StartError> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(body)
        .map_err(|error| StartError::Threads {
            threads: 1,
            reason: error.to_string(),
        })
}
