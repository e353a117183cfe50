//! The loop: take what is queued, step the core with each, commit once, perform the effects in order.
//!
//! Urgent records (what somebody is promised) are committed before any later effect of the same
//! round. Results of tasks are committed soon after, beside the loop: what a crash takes of them is
//! announced again by the workers that hold the artifacts, or computed again.

use crate::bridge::{self, Heard};
use crate::config::Config;
use crate::disk::Watermark;
use crate::store::Store;
use crate::view;
use crate::watch::Watchers;
use antipode_coordinator_core as core;
use antipode_coordinator_core::record::{Record, Stored};
use antipode_coordinator_core::{ConnectionId, Effect, Event, Reply, Report, RequestId};
use antipode_ids::JobId;
use antipode_proto::PROTOCOL_VERSION;
use antipode_proto::client::{ClientError, Submitted};
use antipode_proto::link::CoordinatorLink;
use antipode_proto::message::{FromWorker, ToWorker};
use antipode_proto::status::{Explanation, Holdings, JobStatus, Outlook, Subject, WorkerStatus};
use antipode_solver_core::engine::Digest;
use antipode_solver_core::job::{JobDefinition, JobSpec};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

/// At most so many commands are taken before their effects are performed.
const ROUND: usize = 1024;
/// Results are committed this soon: with remote workers, which outlive this process, at once; in
/// one process, whose end takes the artifacts along, rarely.
const FLUSH_REMOTE: Duration = Duration::from_millis(20);
const FLUSH_LOCAL: Duration = Duration::from_millis(500);
/// A store that does not take a commit is tried again after this time.
const RETRY_COMMIT: Duration = Duration::from_secs(1);

type To<T> = oneshot::Sender<Result<T, ClientError>>;

/// What a client asks.
pub enum Question {
    KnownKey {
        key: String,
        spec: Box<JobSpec>,
        to: To<Option<Submitted>>,
    },
    Submit {
        key: String,
        fresh: bool,
        definition: Arc<JobDefinition>,
        roots: Vec<(u64, Digest)>,
        to: To<Submitted>,
    },
    Jobs {
        to: To<Vec<JobStatus>>,
    },
    Show {
        job: JobId,
        to: To<JobStatus>,
    },
    Watch {
        job: JobId,
        to: To<mpsc::UnboundedReceiver<JobStatus>>,
    },
    Cancel {
        job: JobId,
        to: To<JobStatus>,
    },
    Pause {
        job: JobId,
        to: To<JobStatus>,
    },
    Resume {
        job: JobId,
        fresh: bool,
        to: To<JobStatus>,
    },
    Outlook {
        job: JobId,
        to: To<Outlook>,
    },
    Explain {
        subject: Subject,
        to: To<Explanation>,
    },
    Drain {
        worker: String,
        to: To<Vec<WorkerStatus>>,
    },
    Forget {
        job: JobId,
        to: To<()>,
    },
    Holdings {
        job: JobId,
        to: To<Holdings>,
    },
    Workers {
        to: To<Vec<WorkerStatus>>,
    },
}

/// What reaches the loop: a closed list.
pub enum Command {
    Ask(Question),
    /// A worker's conversation begins.
    Attach {
        link: CoordinatorLink,
        local: bool,
    },
    Heard {
        connection: ConnectionId,
        message: FromWorker,
    },
    Gone {
        connection: ConnectionId,
    },
    /// Something to be remembered for users.
    Note {
        what: String,
    },
    Close {
        done: oneshot::Sender<()>,
    },
}

/// Who waits for the core's reply.
enum Waiting {
    Submitted(To<Submitted>),
    Status(To<JobStatus>),
    Told(To<Vec<WorkerStatus>>),
    Forgotten(To<()>),
}

/// Records on their way to the disk, and the end of that way.
type Commit = (Arc<Vec<Record>>, JoinHandle<Result<(), String>>);

struct Connection {
    send: mpsc::UnboundedSender<ToWorker>,
    local: bool,
}

pub struct Driver {
    state: core::Coordinator,
    cluster: String,
    store: Arc<Store>,
    started: Instant,
    heartbeat: Duration,
    commands: mpsc::UnboundedSender<Command>,
    connections: BTreeMap<ConnectionId, Connection>,
    next_connection: u64,
    waiting: BTreeMap<RequestId, Waiting>,
    next_request: u64,
    watchers: Watchers,
    /// Not durable yet.
    pending: Vec<Record>,
    flush_at: Option<Instant>,
    /// The commit beside the loop. It gives its records back where it failed.
    flushing: Option<Commit>,
    disk: Watermark,
    /// What must wait until a commit works again, because it promises what is not durable yet.
    held_back: Vec<Effect>,
    /// When a commit that failed is tried again.
    retry_at: Option<Instant>,
}

impl Driver {
    pub fn new(
        config: &Config,
        store: Arc<Store>,
        stored: Stored,
        commands: mpsc::UnboundedSender<Command>,
    ) -> Result<Driver, String> {
        let started = Instant::now();
        let cluster = store.cluster().to_string();
        let state = core::Coordinator::new(
            config.core(),
            cluster.clone(),
            store.epoch(),
            stored,
            now_since(started),
        )?;
        Ok(Driver {
            state,
            cluster,
            store,
            started,
            heartbeat: config.heartbeat.max(Duration::from_millis(1)),
            commands,
            connections: BTreeMap::new(),
            next_connection: 1,
            waiting: BTreeMap::new(),
            next_request: 1,
            watchers: Watchers::default(),
            pending: Vec::new(),
            flush_at: None,
            flushing: None,
            disk: Watermark::new(&config.data, config.disk_reserve),
            held_back: Vec::new(),
            retry_at: None,
        })
    }

    pub async fn run(mut self, mut queue: mpsc::UnboundedReceiver<Command>) {
        let mut tick = tokio::time::interval(self.heartbeat);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let mut effects = Vec::new();
            let mut closing = None;
            tokio::select! {
                command = queue.recv() => {
                    // This driver holds a sender itself, so the queue never ends by itself.
                    let mut next = command;
                    for _ in 0..ROUND {
                        let Some(command) = next else { break };
                        match command {
                            Command::Close { done } => closing = Some(done),
                            other => self.take(other, &mut effects),
                        }
                        next = queue.try_recv().ok();
                    }
                    if let Some(command) = next {
                        match command {
                            Command::Close { done } => closing = Some(done),
                            other => self.take(other, &mut effects),
                        }
                    }
                }
                _ = tick.tick() => {
                    self.look_at_disk(&mut effects);
                    self.step(Event::Tick, &mut effects);
                }
                () = at(self.retry_at) => self.retry(&mut effects).await,
                () = at(self.flush_at) => self.start_flush().await,
                () = at(self.watchers.due()) => {}
            }
            self.perform(effects).await;
            self.tell_watchers();
            if let Some(done) = closing {
                self.close().await;
                drop(self);
                _ = done.send(());
                return;
            }
        }
    }

    fn now(&self) -> core::Now {
        now_since(self.started)
    }

    fn take(&mut self, command: Command, effects: &mut Vec<Effect>) {
        match command {
            Command::Ask(question) => self.answer(question, effects),
            Command::Attach { link, local } => self.attach(link, local),
            Command::Heard {
                connection,
                message,
            } => {
                let local = self.connections.get(&connection).is_some_and(|c| c.local);
                match bridge::heard(message, local) {
                    Heard::Register {
                        protocol,
                        registration,
                    } if protocol != PROTOCOL_VERSION => {
                        let what = format!(
                            "worker {} was refused: {}",
                            registration.name,
                            self.refuse(connection, protocol)
                        );
                        self.step(Event::Noted { what }, effects);
                    }
                    Heard::Register { registration, .. } => {
                        self.step(
                            Event::Register {
                                connection,
                                registration,
                            },
                            effects,
                        );
                    }
                    Heard::Report(report) => self.report(connection, report, effects),
                }
            }
            Command::Gone { connection } => {
                self.connections.remove(&connection);
                self.step(Event::Disconnected { connection }, effects);
            }
            Command::Note { what } => self.step(Event::Noted { what }, effects),
            Command::Close { .. } => {}
        }
    }

    fn report(&mut self, connection: ConnectionId, report: Report, effects: &mut Vec<Effect>) {
        if let Report::Lost { artifacts, reason } = &report {
            tracing::warn!("a worker lost {} artifacts: {reason}", artifacts.len());
        }
        if let Report::Failed { task, failure, .. } = &report {
            tracing::warn!("a task failed: {task:?}: {failure:?}");
        }
        self.step(Event::Report { connection, report }, effects);
    }

    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        effects.extend(self.state.step(self.now(), event));
    }

    fn attach(&mut self, mut link: CoordinatorLink, local: bool) {
        let connection = ConnectionId(self.next_connection);
        self.next_connection += 1;
        self.connections.insert(
            connection,
            Connection {
                send: link.send,
                local,
            },
        );
        let commands = self.commands.clone();
        tokio::spawn(async move {
            while let Some(message) = link.receive.recv().await {
                if commands
                    .send(Command::Heard {
                        connection,
                        message,
                    })
                    .is_err()
                {
                    return;
                }
            }
            _ = commands.send(Command::Gone { connection });
        });
    }

    /// Ends the conversation; says why.
    fn refuse(&mut self, connection: ConnectionId, theirs: u32) -> String {
        let reason = format!(
            "this worker speaks protocol {theirs}, the coordinator speaks {PROTOCOL_VERSION}; use the same version of antipode on both sides"
        );
        if let Some(gone) = self.connections.remove(&connection) {
            let reason = reason.clone();
            _ = gone.send.send(ToWorker::Refused { reason });
        }
        reason
    }

    fn answer(&mut self, question: Question, effects: &mut Vec<Effect>) {
        let request = RequestId(self.next_request);
        self.next_request += 1;
        // An answer that nobody waits for any more is no error.
        match question {
            Question::KnownKey { key, spec, to } => {
                let known = self.state.job_of_key(&key);
                let other = known.and_then(|(job, _)| {
                    let record = self.state.jobs().get(&job)?.record();
                    let old = &record.definition.spec;
                    (!old.asks_the_same_as(&spec)).then(|| (job, old.title()))
                });
                _ = to.send(match other {
                    Some((job, puzzle)) => Err(ClientError::Invalid(format!(
                        "the key '{key}' was used for job {job} ({puzzle}), which is another question; a retry must ask the same, anything else needs another --key"
                    ))),
                    None => Ok(known.map(|(job, existing)| Submitted { job, existing })),
                });
            }
            Question::Submit {
                key,
                fresh,
                definition,
                roots,
                to,
            } => {
                self.waiting.insert(request, Waiting::Submitted(to));
                let submission = core::Submission {
                    request,
                    key,
                    fresh,
                    definition,
                    roots,
                };
                self.step(Event::Submit(Box::new(submission)), effects);
            }
            Question::Jobs { to } => {
                let ids: Vec<JobId> = self.state.jobs().keys().copied().collect();
                let statuses = ids.into_iter().filter_map(|id| self.status(id));
                // A list does not show answers, and those of many jobs would be a large message.
                let bare = |status: JobStatus| JobStatus {
                    items: Vec::new(),
                    ..status
                };
                _ = to.send(Ok(statuses.map(bare).collect()));
            }
            Question::Show { job, to } => {
                _ = to.send(self.status(job).ok_or(ClientError::NoSuchJob(job)));
            }
            Question::Watch { job, to } => {
                let Some(status) = self.status(job) else {
                    _ = to.send(Err(ClientError::NoSuchJob(job)));
                    return;
                };
                let (listener, receiver) = mpsc::unbounded_channel();
                self.watchers.add(status, listener);
                _ = to.send(Ok(receiver));
            }
            Question::Cancel { job, to } => {
                self.waiting.insert(request, Waiting::Status(to));
                self.step(Event::Cancel { request, job }, effects);
            }
            Question::Pause { job, to } => {
                self.waiting.insert(request, Waiting::Status(to));
                self.step(Event::Pause { request, job }, effects);
            }
            Question::Resume { job, fresh, to } => {
                self.waiting.insert(request, Waiting::Status(to));
                self.step(
                    Event::Resume {
                        request,
                        job,
                        fresh,
                    },
                    effects,
                );
            }
            Question::Drain { worker, to } => match view::worker_named(&self.state, &worker) {
                Ok(worker) => {
                    self.waiting.insert(request, Waiting::Told(to));
                    self.step(Event::Drain { request, worker }, effects);
                }
                Err(reason) => _ = to.send(Err(ClientError::Invalid(reason))),
            },
            Question::Forget { job, to } => {
                self.waiting.insert(request, Waiting::Forgotten(to));
                self.step(Event::Forget { request, job }, effects);
            }
            Question::Outlook { job, to } => {
                let outlook = view::outlook(&self.state, self.now(), job);
                _ = to.send(outlook.ok_or(ClientError::NoSuchJob(job)));
            }
            Question::Explain { subject, to } => {
                let explained = view::explain(&self.state, self.now(), &subject);
                _ = to.send(explained.map_err(ClientError::Invalid));
            }
            Question::Holdings { job, to } => {
                let holdings = view::holdings(&self.state, job);
                _ = to.send(holdings.ok_or(ClientError::NoSuchJob(job)));
            }
            Question::Workers { to } => _ = to.send(Ok(view::workers(&self.state))),
        }
    }

    fn status(&self, job: JobId) -> Option<JobStatus> {
        view::job_status(&self.state, self.now(), job)
    }

    /// One round's effects: first everything to the store, at once if any of it is urgent; then
    /// the others, in order. While the store takes nothing they wait: they promise what is in it.
    async fn perform(&mut self, effects: Vec<Effect>) {
        let mut urgent = false;
        for effect in effects {
            match effect {
                Effect::Persist(record) => {
                    urgent |= record.is_urgent();
                    self.pending.push(record);
                }
                // A refusal promises nothing.
                Effect::Reply {
                    reply: Reply::NotNow { .. },
                    ..
                } => self.perform_one(effect),
                other => self.held_back.push(other),
            }
        }
        if self.retry_at.is_some() {
            return;
        }
        if urgent && !self.commit().await {
            return;
        }
        if !self.pending.is_empty() && self.flush_at.is_none() {
            let remote = self.connections.values().any(|c| !c.local);
            self.flush_at = Some(Instant::now() + if remote { FLUSH_REMOTE } else { FLUSH_LOCAL });
        }
        for effect in std::mem::take(&mut self.held_back) {
            self.perform_one(effect);
        }
    }

    fn look_at_disk(&mut self, effects: &mut Vec<Effect>) {
        let full = self.disk.look();
        if full.as_deref() != self.state.disk_full() {
            if let Some(reason) = &full {
                tracing::error!("{reason}");
            }
            self.step(Event::Disk { full }, effects);
        }
    }

    /// Tries a commit again that failed.
    async fn retry(&mut self, effects: &mut Vec<Effect>) {
        self.retry_at = None;
        if self.commit().await {
            self.look_at_disk(effects);
        }
    }

    fn perform_one(&mut self, effect: Effect) {
        match effect {
            Effect::Persist(_) => {}
            Effect::Send { connection, order } => {
                let message = bridge::message(order, &self.state, &self.cluster);
                if let Some(to) = self.connections.get(&connection) {
                    // A link that is gone is reported by its other half.
                    _ = to.send.send(message);
                }
            }
            Effect::HangUp { connection } => _ = self.connections.remove(&connection),
            Effect::Reply { request, reply } => self.reply(request, reply),
            Effect::Changed { job, change } => self.watchers.note(job, change),
        }
    }

    fn reply(&mut self, request: RequestId, reply: Reply) {
        let Some(waiting) = self.waiting.remove(&request) else {
            return;
        };
        let failure = match &reply {
            Reply::Submitted { .. } | Reply::Done { .. } | Reply::Told => None,
            Reply::NotNow { reason } => Some(ClientError::NotNow(reason.clone())),
            Reply::NoSuchWorker { worker } => Some(ClientError::Invalid(format!(
                "worker {worker} is not connected; `antipode workers` lists them"
            ))),
            Reply::NoSuchJob { job } => Some(ClientError::NoSuchJob(*job)),
            Reply::Invalid { reason } => Some(ClientError::Invalid(reason.clone())),
        };
        match (waiting, reply, failure) {
            (Waiting::Submitted(to), _, Some(error)) => _ = to.send(Err(error)),
            (Waiting::Status(to), _, Some(error)) => _ = to.send(Err(error)),
            (Waiting::Told(to), _, Some(error)) => _ = to.send(Err(error)),
            (Waiting::Forgotten(to), _, Some(error)) => _ = to.send(Err(error)),
            (Waiting::Told(to), Reply::Told, None) => {
                _ = to.send(Ok(view::workers(&self.state)));
            }
            (Waiting::Forgotten(to), Reply::Done { .. }, None) => _ = to.send(Ok(())),
            (Waiting::Submitted(to), Reply::Submitted { job, existing }, None) => {
                _ = to.send(Ok(Submitted { job, existing }));
            }
            (Waiting::Status(to), Reply::Done { job }, None) => {
                _ = to.send(self.status(job).ok_or(ClientError::NoSuchJob(job)));
            }
            // The core answers each question with its own kind of reply; dropping says "it has ended".
            _ => {}
        }
    }

    fn tell_watchers(&mut self) {
        let (state, now) = (&self.state, now_since(self.started));
        self.watchers.tell(|job| view::job_status(state, now, job));
    }

    /// Starts a commit beside the loop.
    async fn start_flush(&mut self) {
        self.flush_at = None;
        self.end_flush().await;
        if self.pending.is_empty() || self.retry_at.is_some() {
            return;
        }
        self.flushing = Some(self.begin_commit());
    }

    /// Writes what is pending on another thread. The records stay here too: a commit that fails, in
    /// whatever way, loses nothing.
    fn begin_commit(&mut self) -> Commit {
        let records = Arc::new(std::mem::take(&mut self.pending));
        let (store, written) = (Arc::clone(&self.store), Arc::clone(&records));
        let commit = move || store.commit(&written).map_err(|error| error.to_string());
        (records, tokio::task::spawn_blocking(commit))
    }

    /// True if it worked; otherwise what it could not write is pending again.
    async fn end_commit(&mut self, (records, commit): Commit) -> bool {
        let ended = commit.await.unwrap_or_else(|panic| Err(panic.to_string()));
        let Err(reason) = ended else {
            return true;
        };
        let mut records = Arc::try_unwrap(records).unwrap_or_else(|shared| (*shared).clone());
        records.append(&mut self.pending);
        self.pending = records;
        tracing::error!("cannot write to the store: {reason}; everything waits until it can be");
        self.disk.note_commit(Some(reason));
        self.retry_at = Some(Instant::now() + RETRY_COMMIT);
        false
    }

    /// Waits for the commit beside the loop; what it could not write is pending again.
    async fn end_flush(&mut self) {
        if let Some(flushing) = self.flushing.take() {
            self.end_commit(flushing).await;
        }
    }

    /// Makes everything durable: what follows is a promise. False where that does not work at
    /// present: then it is tried again later.
    async fn commit(&mut self) -> bool {
        self.end_flush().await;
        self.flush_at = None;
        if self.retry_at.is_some() {
            return false;
        }
        let commit = self.begin_commit();
        let committed = self.end_commit(commit).await;
        if committed {
            self.disk.note_commit(None);
        }
        committed
    }

    async fn close(&mut self) {
        self.pending.extend(self.state.snapshot(self.now()));
        self.end_flush().await;
        let records = std::mem::take(&mut self.pending);
        let store = Arc::clone(&self.store);
        match tokio::task::spawn_blocking(move || store.commit(&records)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!("the last changes could not be written: {error}"),
            Err(panic) => tracing::error!("the last changes could not be written: {panic}"),
        }
    }
}

fn now_since(started: Instant) -> core::Now {
    let unix = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    // From one millisecond on: zero would look like "never".
    let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1;
    core::Now {
        millis,
        unix: unix.as_secs(),
    }
}

/// Waits until then; for ever where there is nothing to wait for.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
