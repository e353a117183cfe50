//! Two threads with a queue each: one computes, one task after the other, in the pool; one loads
//! engines, makes artifacts durable and closes jobs, in the order in which it is told.

use super::driver::Happened;
use crate::artifacts::Artifacts;
use crate::compute::Loader;
use crate::error::StartError;
use crate::exec::{self, Work};
use crate::session::{Event, LeaseId};
use antipode_ids::JobId;
use antipode_proto::message::{ArtifactName, Failure};
use antipode_solver_core::job::JobDefinition;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc;
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
}

/// A thread, and how it is told what to do.
type Started<T> = Result<(mpsc::Sender<T>, JoinHandle<()>), StartError>;

/// Starts the compute thread; it ends when the sender is dropped.
pub fn compute(
    pool: Arc<rayon::ThreadPool>,
    artifacts: Arc<Artifacts>,
    events: UnboundedSender<Happened>,
) -> Started<(LeaseId, Work)> {
    let (sender, receiver) = mpsc::channel::<(LeaseId, Work)>();
    let thread = spawn("compute", move || {
        for (lease, work) in receiver {
            let fetched_bytes = work.inputs.fetched_bytes;
            let start = Instant::now();
            let finished = pool.install(|| exec::run(work, &artifacts));
            let engine_time = start.elapsed();
            artifacts.unreserve(lease.0);
            let (result, lost) = (finished.result, finished.lost);
            let event = Event::Computed {
                lease,
                result,
                engine_time,
                fetched_bytes,
                lost,
            };
            // Nobody listens only while the worker ends.
            let _ = events.send(Happened::Event(event));
        }
    })?;
    Ok((sender, thread))
}

/// Starts the housekeeper; it ends when the sender is dropped.
pub fn housekeeping(
    pool: Arc<rayon::ThreadPool>,
    artifacts: Arc<Artifacts>,
    loader: Loader,
    events: UnboundedSender<Happened>,
) -> Started<Chore> {
    let (sender, receiver) = mpsc::channel();
    let thread = spawn("housekeeping", move || {
        for chore in receiver {
            match chore {
                Chore::Close { job, keep } => artifacts.close_job(job, keep),
                Chore::Persist { names } => persist(&artifacts, &names, &events),
                Chore::Load { job, definition } => {
                    let loaded =
                        pool.install(|| catch_unwind(AssertUnwindSafe(|| loader(&definition))));
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
