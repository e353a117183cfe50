//! One loop that owns the session: it hears, steps, and performs what the session says, in order.

use super::connection::{Connection, Heard};
use super::prepare::{Order, Outcome};
use super::threads::{self, Chore};
use crate::artifacts::fetch::{Gatherer, Inputs};
use crate::artifacts::{Artifacts, Basis, Loss};
use crate::beside::Beside;
use crate::compute::{Compute, Loader};
use crate::delay::Delay;
use crate::disk_room::DiskRoom;
use crate::error::StartError;
use crate::exec::Work;
use crate::exec::keep::Keep;
use crate::gauges::{Gauges, process_memory_bytes};
use crate::identity::Identity;
use crate::journal::Journal;
use crate::sabotage::Sabotage;
use crate::session::{Action, Event, Exit, LeaseId, Session, is_for_the_disk};
use antipode_ids::{Attempt, JobId};
use antipode_proto::PROTOCOL_VERSION;
use antipode_proto::message::{FromWorker, Input, ToWorker};
use antipode_solver_core::batch::Stop;
use antipode_solver_core::job::Task;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc as thread_mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;

/// How often the session is told that time passes.
const TICK: Duration = Duration::from_millis(200);
/// How often the journal notes that the process lives.
const TOUCH: Duration = Duration::from_secs(1);
/// How long the end waits for disks, and within one process with the coordinator for what computes
/// although nobody wants it any more.
const END: Duration = Duration::from_secs(30);
/// The same for what nobody waits for: it dies with the process.
const HURRY: Duration = Duration::from_millis(500);

/// What the rest of the process tells the loop.
pub enum Happened {
    Event(Event),
    Prepared(LeaseId, Outcome),
}

/// What a driver is made of.
pub struct Parts {
    pub identity: Identity,
    pub journal: Journal,
    pub name: String,
    /// Where others fetch from this worker.
    pub address: Option<String>,
    pub kernel: &'static str,
    pub memory_bytes: u64,
    pub artifacts: Arc<Artifacts>,
    pub disk: Arc<DiskRoom>,
    pub beside: Beside,
    /// For all that is not a task: loading, packing, unpacking.
    pub pool: Arc<rayon::ThreadPool>,
    /// As many tasks are computed side by side, each in a pool of these.
    pub lanes: Vec<Arc<rayon::ThreadPool>>,
    /// Names of the devices that tasks are computed on.
    pub devices: Vec<String>,
    pub gauges: Arc<Gauges>,
    pub loader: Loader,
    pub delay: Option<Delay>,
    pub sabotage: Arc<Sabotage>,
    /// How long the end may take; `None` within one process with the coordinator.
    pub grace: Option<Duration>,
}

/// A lease that is being prepared.
pub struct Ready {
    pub job: JobId,
    pub task: Task,
    pub engine: Arc<dyn Compute>,
    pub wanted: Vec<Input>,
    pub basis: Basis,
    pub consume: bool,
}

pub struct Driver {
    pub parts: Parts,
    pub session: Session,
    pub gatherer: Arc<Gatherer>,
    /// Leases whose preparation goes on; one that is missing here was given up.
    pub preparing: HashMap<LeaseId, Ready>,
    ready: HashMap<LeaseId, (Ready, Inputs)>,
    /// Tasks that were handed to the compute threads, and how they are told to end early.
    computing: HashMap<LeaseId, Arc<Stop>>,
    pub events: UnboundedSender<Happened>,
    /// Events that follow at once from what was just performed.
    queue: VecDeque<Event>,
    /// They run beside the loop and may be given up.
    pub preparations: JoinSet<()>,
    /// Making room is for one at a time.
    pub room: Arc<tokio::sync::Mutex<()>>,
    connection: Connection,
}

/// The ends of the worker's own threads.
struct Threads {
    compute: thread_mpsc::Sender<(LeaseId, Work)>,
    chores: thread_mpsc::Sender<Chore>,
    computing: Vec<JoinHandle<()>>,
    keeping: JoinHandle<()>,
}

impl Driver {
    pub fn new(parts: Parts, connection: Connection) -> (Driver, UnboundedReceiver<Happened>) {
        let (events, happened) = mpsc::unbounded_channel();
        let gatherer = Gatherer::new(
            parts.artifacts.clone(),
            parts.gauges.clone(),
            parts.pool.clone(),
            parts.beside.clone(),
        );
        if let Some(member) = &parts.identity.member {
            gatherer.set_me(member.worker);
        }
        let (grace, lanes) = (parts.grace, parts.lanes.len());
        let driver = Driver {
            parts,
            session: Session::new(Instant::now(), grace, lanes),
            gatherer: Arc::new(gatherer),
            preparing: HashMap::new(),
            ready: HashMap::new(),
            computing: HashMap::new(),
            events,
            queue: VecDeque::new(),
            preparations: JoinSet::new(),
            room: Arc::default(),
            connection,
        };
        (driver, happened)
    }

    /// Until the session says that it is over.
    pub async fn run(
        mut self,
        mut happened: UnboundedReceiver<Happened>,
        mut lost: UnboundedReceiver<Loss>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), StartError> {
        let threads = self.start_threads()?;
        let mut shutdown = std::pin::pin!(shutdown);
        let mut draining = false;
        let mut touched_at = Instant::now();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let outcome = loop {
            let event = tokio::select! {
                // What the coordinator said before the end was asked for is heard before it.
                biased;
                Some(happened) = happened.recv() => self.happened(happened),
                heard = self.connection.hear() => match heard {
                    Ok(Heard::Message(message)) => {
                        if message == ToWorker::Shutdown {
                            // What is computed is to be reported first.
                            while let Ok(before) = happened.try_recv() {
                                let event = self.happened(before);
                                self.queue.extend(event);
                            }
                        }
                        Some(self.message(message))
                    }
                    Ok(Heard::Connected) => Some(Event::Connected),
                    Ok(Heard::Disconnected) => Some(Event::Disconnected),
                    Ok(Heard::Over) => break Ok(Exit::Done),
                    Err(error) => break Err(error),
                },
                Some(Loss { names, reason, retracted }) = lost.recv() => Some(match retracted {
                    true => Event::Retracted { names, reason },
                    false => Event::Lost { names, reason },
                }),
                _ = ticks.tick() => {
                    if touched_at.elapsed() >= TOUCH {
                        touched_at = Instant::now();
                        self.parts.journal.touch();
                    }
                    Some(self.tick())
                }
                () = &mut shutdown, if !draining => {
                    draining = true;
                    Some(Event::Drain)
                }
            };
            if self.parts.disk.is_full() && !self.session.is_disk_full() {
                // Before it hears of anything that failed for it.
                let tick = self.tick();
                self.queue.push_back(tick);
            }
            self.queue.extend(event);
            // Collect what is done, so that the set does not grow for ever.
            while self.preparations.try_join_next().is_some() {}
            match self.work_off(&threads) {
                Ok(None) => {}
                Ok(Some(exit)) => break Ok(exit),
                Err(error) => break Err(error),
            }
        };
        self.end(threads, matches!(outcome, Ok(Exit::Overdue)))
            .await;
        match outcome? {
            Exit::Done => Ok(()),
            Exit::Overdue => {
                tracing::warn!(
                    "the grace time is over; what is not on disk by now is computed again"
                );
                Ok(())
            }
            Exit::Refused { reason } => Err(StartError::Refused { reason }),
        }
    }

    fn start_threads(&self) -> Result<Threads, StartError> {
        let Parts {
            pool,
            lanes,
            artifacts,
            loader,
            ..
        } = &self.parts;
        let (compute, computing) = threads::compute(lanes, artifacts, &self.events)?;
        let (chores, keeping) = threads::housekeeping(
            pool.clone(),
            artifacts.clone(),
            loader.clone(),
            self.events.clone(),
        )?;
        Ok(Threads {
            compute,
            chores,
            computing,
            keeping,
        })
    }

    fn tick(&self) -> Event {
        let (memory_bytes, peak_memory_bytes) = process_memory_bytes();
        Event::Tick {
            memory_bytes,
            peak_memory_bytes,
            disk: self.parts.disk.look(Instant::now()),
        }
    }

    /// A lease comes with the answer, where it is known already.
    fn message(&self, message: ToWorker) -> Event {
        match message {
            ToWorker::Lease {
                job,
                task,
                attempt,
                inputs,
                consume,
            } => {
                let known = self.parts.artifacts.known(job, &task, &inputs);
                Event::Leased {
                    job,
                    task,
                    attempt,
                    inputs,
                    consume,
                    known,
                }
            }
            other => Event::Message(other),
        }
    }

    fn happened(&mut self, happened: Happened) -> Option<Event> {
        match happened {
            Happened::Prepared(lease, outcome) => {
                self.outcome(lease, outcome);
                None
            }
            Happened::Event(event) => {
                if let Event::Computed { lease, .. } = &event {
                    self.computing.remove(lease);
                }
                if let Event::Computed { result: Ok(_), .. } = &event {
                    Gauges::add(&self.parts.gauges.tasks_done, 1);
                }
                Some(event)
            }
        }
    }

    /// The end of a preparation; of a lease that was given up meanwhile nothing stays.
    pub fn outcome(&mut self, lease: LeaseId, outcome: Outcome) {
        let known = self.preparing.remove(&lease);
        let event = match (known, outcome) {
            (Some(ready), Outcome::Inputs(inputs)) => {
                self.parts.artifacts.settle(lease.0);
                self.ready.insert(lease, (ready, inputs));
                Event::Prepared { lease }
            }
            (None, Outcome::Inputs(_)) => return self.parts.artifacts.unreserve(lease.0),
            (_, Outcome::Crowded) => Event::Crowded { lease },
            (_, Outcome::NoRoom) => Event::NoRoom { lease },
            (_, Outcome::Failed(failure)) => {
                self.parts.artifacts.unreserve(lease.0);
                Event::Unprepared { lease, failure }
            }
        };
        self.queue.push_back(event);
    }

    /// Steps the session until nothing follows any more.
    fn work_off(&mut self, threads: &Threads) -> Result<Option<Exit>, StartError> {
        while let Some(event) = self.queue.pop_front() {
            if let Event::Loaded { job, .. } = &event
                && !self.session.is_open(*job)
            {
                // Closed while its engine was being loaded.
                let _ = threads.chores.send(Chore::Close {
                    job: *job,
                    keep: true,
                });
            }
            if let Event::Computed { lease, .. }
            | Event::Crowded { lease }
            | Event::NoRoom { lease }
            | Event::Unprepared { lease, .. } = &event
            {
                self.parts.journal.end(*lease);
            }
            for action in self.session.step(Instant::now(), event) {
                if let Some(exit) = self.perform(threads, action)? {
                    return Ok(Some(exit));
                }
            }
        }
        Ok(None)
    }

    fn perform(&mut self, threads: &Threads, action: Action) -> Result<Option<Exit>, StartError> {
        match action {
            Action::Register { running } => self.register(running),
            Action::Send(message) => self.connection.say(message),
            Action::Join { worker, cluster } => {
                self.parts.identity.join(worker, &cluster)?;
                self.parts.journal.said();
                self.gatherer.set_me(worker);
                tracing::info!(%worker, %cluster, "registered");
            }
            Action::Load { job, definition } => {
                // The thread lives as long as its sender.
                let _ = threads.chores.send(Chore::Load { job, definition });
            }
            Action::Prepare {
                lease,
                job,
                task,
                inputs,
                consume,
                alone,
            } => {
                self.parts.journal.begin(lease, job, &task);
                self.prepare(Order {
                    lease,
                    job,
                    task,
                    inputs,
                    consume,
                    alone,
                });
            }
            Action::Compute { lease } => self.compute(threads, lease),
            Action::Stop { lease } => {
                if let Some(stop) = self.computing.get(&lease) {
                    stop.ask();
                }
            }
            Action::Forget { lease } => {
                self.parts.journal.end(lease);
                self.preparing.remove(&lease);
                if self.ready.remove(&lease).is_some() {
                    self.parts.artifacts.unreserve(lease.0);
                }
            }
            Action::Persist { names } => {
                let _ = threads.chores.send(Chore::Persist { names });
            }
            Action::PersistAll { until } => {
                let _ = threads.chores.send(Chore::PersistAll { until });
            }
            Action::Release { names } => self.parts.artifacts.release(&names),
            Action::Close { job, keep } => {
                let _ = threads.chores.send(Chore::Close { job, keep });
            }
            Action::Exit(exit) => return Ok(Some(exit)),
        }
        Ok(None)
    }

    fn register(&self, running: Vec<(JobId, Task, Attempt)>) {
        let Parts {
            identity,
            journal,
            name,
            address,
            kernel,
            memory_bytes,
            artifacts,
            pool,
            devices,
            ..
        } = &self.parts;
        let member = identity.member.as_ref();
        self.connection.say(FromWorker::Register {
            protocol: PROTOCOL_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            name: name.clone(),
            worker: member.map(|member| member.worker),
            cluster: member.map(|member| member.cluster.clone()),
            incarnation: identity.incarnation,
            address: address.clone(),
            threads: pool.current_num_threads() as u32,
            memory_bytes: *memory_bytes,
            pid: std::process::id(),
            kernel: (*kernel).into(),
            devices: devices.clone(),
            held: artifacts.held(),
            running,
            ended: journal.unsaid().cloned().map(Box::new),
        });
    }

    fn compute(&mut self, threads: &Threads, lease: LeaseId) {
        let Some((ready, inputs)) = self.ready.remove(&lease) else {
            return;
        };
        let Ready {
            job,
            task,
            engine,
            wanted,
            basis,
            consume,
        } = ready;
        if self.parts.artifacts.has_old_copies(job) {
            let wanted = self.session.wanted();
            self.parts.artifacts.drop_old_copies(job, &wanted);
        }
        let work = Work {
            job,
            task,
            engine,
            inputs,
            wanted,
            basis,
            consume,
            sabotage: self.parts.sabotage.clone(),
            stop: Arc::default(),
        };
        self.computing.insert(lease, work.stop.clone());
        if is_for_the_disk(&work.task) {
            let _ = threads
                .chores
                .send(Chore::Keep(Box::new(Keep::new(lease, work))));
        } else {
            let _ = threads.compute.send((lease, work));
        }
    }

    /// Lets the last words out, and waits for what uses the disk. `overdue`: no longer than a moment.
    async fn end(mut self, threads: Threads, overdue: bool) {
        self.preparations.shutdown().await;
        self.connection.finish().await;
        self.parts.journal.close();
        let Threads {
            compute,
            chores,
            computing,
            keeping,
        } = threads;
        drop((compute, chores));
        let embedded = self.parts.grace.is_none();
        let ends = [
            (vec![keeping], if overdue { HURRY } else { END }),
            (computing, if embedded { END } else { HURRY }),
        ];
        for (threads, patience) in ends {
            let (over, ended) = tokio::sync::oneshot::channel();
            // Not one of the threads beside: they may be what is being waited for.
            let waiting = std::thread::Builder::new().spawn(move || {
                for thread in threads {
                    let _ = thread.join();
                }
                let _ = over.send(());
            });
            if waiting.is_ok() && tokio::time::timeout(patience, ended).await.is_err() {
                tracing::warn!("a task or a write is left behind unfinished");
            }
        }
    }
}
