//! What a coordinator knows.
//!
//! # Invariants (checked by name in `crate::check`)
//!
//! - Every lease of a job is listed at exactly the worker that holds it, and conversely.
//! - Attempts only grow: (epoch of the store, counter of this start).
//! - A job in a final phase has no lease and no wanted task; its phase and results never change.
//! - A worker that is lost has no lease, no copy and no connection.
//! - Only the time given with events decides; workers' clocks are never read.

use crate::dispute::Dispute;
use crate::drain::Drain;
use crate::event::{ConnectionId, DiskUse, Now, RequestId};
use crate::incident::History;
use crate::plan::bfs::{Bfs, TaskKey};
use crate::record::{JobRecord, LevelRecord, Phase, Progress, Record, Stored, WorkerRecord};
use crate::rhythm::Checkpointing;
use crate::trouble::{self, Crashes, Trouble};
use antipode_ids::{Attempt, JobId, WorkerId};
use antipode_solver_core::engine::Level;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Times in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How often workers report and [`crate::Event::Tick`] comes.
    pub heartbeat: u64,
    /// A worker silent for longer is lost: its leases return.
    pub lease: u64,
    /// A worker away for longer loses its shards to others.
    pub rebuild_after: u64,
    /// The same, where its connection was closed while it was well: then its process has ended, or
    /// it connects again at once.
    pub reconnect: u64,
    /// `None`: as often as costs at most a tenth of the time.
    pub checkpoint_every: Option<u64>,
    /// On how many other workers' disks a checkpoint is copied, where there are so many. `None`: one.
    pub replicas: Option<u32>,
    /// A task that ended its worker so often, while nothing else ran, is set aside; a worker that ended
    /// so often without finishing anything gets no more tasks.
    pub crash_limit: u32,
}

impl Config {
    /// On how many disks a checkpoint is to be, with so many workers there.
    pub(crate) fn places(&self, workers: usize) -> u32 {
        let wanted = 1 + self.replicas.unwrap_or(1);
        wanted
            .min(u32::try_from(workers).unwrap_or(u32::MAX))
            .max(1)
    }
}

#[derive(Debug)]
pub struct Coordinator {
    pub(crate) config: Config,
    pub(crate) cluster: String,
    pub(crate) epoch: u64,
    pub(crate) counter: u64,
    pub(crate) jobs: BTreeMap<JobId, Job>,
    pub(crate) keys: BTreeMap<String, (JobId, bool)>,
    pub(crate) workers: BTreeMap<WorkerId, Worker>,
    pub(crate) connections: BTreeMap<ConnectionId, WorkerId>,
    pub(crate) last_tick: Option<u64>,
    /// After a start: workers that may still be computing, and until when nothing is leased.
    pub(crate) awaited: BTreeSet<WorkerId>,
    pub(crate) awaited_until: Option<u64>,
    /// Jobs that an event concerns.
    pub(crate) touched: BTreeSet<JobId>,
    /// The highest number of a dropped job: numbers are never given twice.
    pub(crate) forgotten: Option<JobId>,
    /// Why this process can store nothing more at present.
    pub(crate) disk_full: Option<String>,
    /// Workers that were refused, and other things that concern no known worker.
    pub(crate) history: History,
}

#[derive(Debug)]
pub struct Job {
    pub(crate) record: Arc<JobRecord>,
    pub(crate) progress: Progress,
    pub(crate) bfs: Bfs,
    /// The records of the items of a batch job. An item has one exactly when its result came with one.
    pub(crate) items: BTreeMap<u32, Arc<[u8]>>,
    pub(crate) owners: Vec<Option<WorkerId>>,
    /// Workers that were told the definition on their present connection.
    pub(crate) opened: BTreeSet<WorkerId>,
    pub(crate) troubles: BTreeMap<TaskKey, Trouble>,
    /// Clients that wait for the job to be paused.
    pub(crate) pausing: Vec<RequestId>,
    /// Since when (unix seconds) nothing can go on, and why.
    pub(crate) stalled: Option<(u64, String)>,
    /// Since when (milliseconds) nobody works on it; after a moment it counts as stalled.
    pub(crate) idle_since: Option<u64>,
    /// Since when it runs in this process (milliseconds).
    pub(crate) running_since: Option<u64>,
    pub(crate) checkpointing: Checkpointing,
    /// It was under way at the start of this process and no worker has come yet.
    pub(crate) is_taken_up: bool,
}

/// A worker that registered, now or before.
#[derive(Debug)]
pub struct Worker {
    pub(crate) record: WorkerRecord,
    pub(crate) version: String,
    pub(crate) address: Option<String>,
    pub(crate) threads: u32,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    pub(crate) devices: Vec<String>,
    pub(crate) local: bool,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) seen_at_millis: u64,
    pub(crate) seen_at: u64,
    /// When its connection was closed, if it was well until then.
    pub(crate) closed_at: Option<u64>,
    /// Its leases and copies count as gone, until it registers again.
    pub(crate) lost: bool,
    /// Others may own its shards.
    pub(crate) rehomed: bool,
    pub(crate) leases: BTreeMap<Attempt, (JobId, TaskKey)>,
    pub(crate) tasks_done: u64,
    pub(crate) peak_memory_bytes: u64,
    /// It is to end, and why.
    pub(crate) draining: Option<Drain>,
    pub(crate) disk: DiskUse,
    /// Tasks that failed here since one was done.
    pub(crate) failures: BTreeSet<(JobId, TaskKey)>,
    /// Why it gets no tasks any more.
    pub(crate) quarantined: Option<String>,
    /// Others could not fetch from it what it had announced, so that this is not believed any more. It may
    /// have it all the same: the way between them may have been bad.
    pub(crate) doubted: bool,
    /// What it was leased when it was lost, until it comes back or is given up.
    pub(crate) at_loss: Vec<(JobId, TaskKey)>,
}

impl Coordinator {
    /// A coordinator at its start. `epoch` must be larger than that of any start before.
    pub fn new(
        config: Config,
        cluster: String,
        epoch: u64,
        stored: Stored,
        now: Now,
    ) -> Result<Coordinator, String> {
        let mut coordinator = Coordinator {
            config,
            cluster,
            epoch,
            counter: 0,
            jobs: BTreeMap::new(),
            keys: stored.keys,
            workers: BTreeMap::new(),
            connections: BTreeMap::new(),
            last_tick: None,
            awaited: BTreeSet::new(),
            awaited_until: None,
            touched: BTreeSet::new(),
            forgotten: stored.forgotten,
            disk_full: None,
            history: History::default(),
        };
        for (id, stored) in stored.jobs {
            let mut job =
                Job::new(stored.record).map_err(|problem| format!("job {id}: {problem}"))?;
            let Progress {
                checkpoint, packed, ..
            } = &stored.progress;
            job.items = stored.items;
            let mut results = stored.results;
            if job.has_records() && !stored.progress.phase.is_final() {
                // The answer is made of the records: a result without one is of no use.
                results.retain(|(_, item, _)| job.items.contains_key(item));
            }
            job.bfs.restore(results, *checkpoint, packed);
            job.progress = stored.progress;
            if job.is_database() {
                job.bfs.close_keeping();
            } else if job.progress.phase.is_final() {
                job.bfs.close();
            } else {
                job.is_taken_up = true;
            }
            if job.progress.phase == Phase::Running {
                job.running_since = Some(now.millis);
                job.checkpointing.last = now.millis;
                coordinator.awaited.extend(&job.progress.leased_to);
            }
            coordinator.touched.insert(id);
            coordinator.jobs.insert(id, job);
        }
        for (id, record) in stored.workers {
            if record.left {
                coordinator.awaited.remove(&id);
            }
            coordinator.workers.insert(id, Worker::stored(record, now));
        }
        let known = &coordinator.workers;
        coordinator.awaited.retain(|id| known.contains_key(id));
        if !coordinator.awaited.is_empty() {
            coordinator.awaited_until = Some(now.millis + coordinator.config.lease);
        }
        Ok(coordinator)
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn jobs(&self) -> &BTreeMap<JobId, Job> {
        &self.jobs
    }

    pub fn workers(&self) -> &BTreeMap<WorkerId, Worker> {
        &self.workers
    }

    /// The job that a client's key stands for, and whether it existed before that submission.
    pub fn job_of_key(&self, key: &str) -> Option<(JobId, bool)> {
        self.keys.get(key).copied()
    }

    /// Records that bring the store up to date: all progress of unfinished jobs.
    pub fn snapshot(&self, now: Now) -> Vec<Record> {
        let unfinished = self
            .jobs
            .iter()
            .filter(|(_, job)| !job.progress.phase.is_final());
        unfinished
            .map(|(&id, job)| job.progress_record(id, now, true))
            .collect()
    }

    /// Why nothing more can be stored at present.
    pub fn disk_full(&self) -> Option<&str> {
        self.disk_full.as_deref()
    }

    /// What happened that concerns no known worker.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Workers that can be given work of any kind and are to stay.
    pub(crate) fn lasting(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.live().filter(|(_, w)| w.may_take_work())
    }

    /// Workers that are connected and not lost.
    pub(crate) fn live(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.workers
            .iter()
            .filter(|(_, w)| w.is_live())
            .map(|(&id, w)| (id, w))
    }

    pub(crate) fn next_attempt(&mut self) -> Attempt {
        self.counter += 1;
        Attempt {
            epoch: self.epoch,
            counter: self.counter,
        }
    }
}

impl Job {
    pub(crate) fn new(record: Arc<JobRecord>) -> Result<Job, String> {
        let bfs = Bfs::new(&record)?;
        let shards = bfs.graph().shards();
        Ok(Job {
            record,
            progress: Progress::default(),
            bfs,
            items: BTreeMap::new(),
            owners: vec![None; shards],
            opened: BTreeSet::new(),
            troubles: BTreeMap::new(),
            pausing: Vec::new(),
            stalled: None,
            idle_since: None,
            running_since: None,
            checkpointing: Checkpointing::default(),
            is_taken_up: false,
        })
    }

    pub fn record(&self) -> &JobRecord {
        &self.record
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    pub fn bfs(&self) -> &Bfs {
        &self.bfs
    }

    /// Do its items answer with records? Those that make rows do not.
    pub(crate) fn has_records(&self) -> bool {
        let batch = self.record.definition.spec.batch();
        batch.is_some_and(|batch| !batch.makes_rows())
    }

    /// The records of the items of a batch job, by item.
    pub fn items(&self) -> &BTreeMap<u32, Arc<[u8]>> {
        &self.items
    }

    /// Since when (unix seconds) nothing can go on, and why.
    pub fn stalled(&self) -> Option<&(u64, String)> {
        self.stalled.as_ref()
    }

    /// Time spent running until now, in milliseconds, over all starts.
    pub fn run_millis(&self, now: Now) -> u64 {
        let present = self
            .running_since
            .map_or(0, |since| now.millis.saturating_sub(since));
        self.progress.run_millis + present
    }

    /// The complete levels, from 0 on.
    pub fn levels(&self) -> Vec<LevelRecord> {
        if self.progress.phase.is_final() {
            return self.progress.levels.clone();
        }
        let complete = self.bfs.rows().iter().take(self.bfs.complete() as usize);
        let level = |row: &crate::plan::bfs::Row| LevelRecord {
            count: u64::try_from(row.count).unwrap_or(u64::MAX),
            digest: row.digest,
            certificate: row.certificate,
            fetched_bytes: row.fetched_bytes,
            uploaded_bytes: row.uploaded_bytes,
            device_tasks: row.device_tasks,
        };
        complete.filter(|row| row.count > 0).map(level).collect()
    }

    /// It has ended and left its distances or frontiers to be asked.
    pub(crate) fn is_database(&self) -> bool {
        self.progress.phase == Phase::Finished && self.keeps_artifacts()
    }

    /// A task as users know it: of a batch job an item.
    pub fn name_of(&self, key: TaskKey) -> String {
        match key {
            TaskKey::Expand { shard, .. } if self.bfs.graph().is_batch() => format!("item {shard}"),
            _ => key.to_string(),
        }
    }

    /// What is known of the ends of workers with this task at work.
    pub(crate) fn crashes(&self, key: TaskKey) -> Option<&Crashes> {
        self.progress
            .crashes
            .iter()
            .find(|(of, _)| *of == key)
            .map(|(_, crashes)| crashes)
    }

    /// Why the task is not tried any more.
    pub(crate) fn set_aside(&self, key: TaskKey, crash_limit: u32) -> Option<String> {
        trouble::set_aside(self.troubles.get(&key), self.crashes(key), crash_limit)
    }

    /// The answers that differ for a task.
    pub(crate) fn dispute(&self, key: TaskKey) -> Option<&Dispute> {
        let TaskKey::Expand { level, shard } = key else {
            return None;
        };
        let it = |dispute: &&Dispute| (dispute.level, dispute.shard) == (level, shard);
        self.progress.disputes.iter().find(it)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.progress.phase == Phase::Running
    }

    pub(crate) fn progress_record(&self, job: JobId, now: Now, urgent: bool) -> Record {
        let mut progress = self.progress.clone();
        progress.run_millis = self.run_millis(now);
        Record::Progress {
            job,
            progress: Box::new(progress),
            urgent,
        }
    }

    /// The job is taken up again: from here on, tasks done again are counted.
    pub(crate) fn note_resumption(&mut self) {
        let kept = self.bfs.results();
        if kept > 0 {
            let from_level: Level = self.bfs.complete().saturating_sub(1);
            self.progress.resumed = Some(crate::record::Resumed {
                from_level,
                tasks_kept: kept,
                tasks_redone: 0,
            });
        }
    }

    pub(crate) fn start_clock(&mut self, now: Now) {
        self.running_since.get_or_insert(now.millis);
        self.idle_since = None;
        self.checkpointing = Checkpointing {
            last: now.millis,
            ..self.checkpointing
        };
    }

    pub(crate) fn stop_clock(&mut self, now: Now) {
        self.progress.run_millis = self.run_millis(now);
        self.running_since = None;
    }
}

impl Worker {
    fn stored(record: WorkerRecord, now: Now) -> Worker {
        Worker {
            record,
            version: String::new(),
            address: None,
            threads: 0,
            memory_bytes: 0,
            kernel: String::new(),
            devices: Vec::new(),
            local: false,
            connection: None,
            seen_at_millis: now.millis,
            seen_at: now.unix,
            closed_at: None,
            lost: true,
            rehomed: true,
            leases: BTreeMap::new(),
            tasks_done: 0,
            peak_memory_bytes: 0,
            draining: None,
            disk: DiskUse::default(),
            failures: BTreeSet::new(),
            quarantined: None,
            doubted: false,
            at_loss: Vec::new(),
        }
    }

    /// Connected, and fit for tasks.
    pub(crate) fn may_take_work(&self) -> bool {
        self.is_live() && self.draining.is_none() && self.quarantined.is_none() && !self.disk.full
    }

    /// What keeps it from getting tasks, in words; empty: nothing does.
    pub fn condition(&self) -> String {
        if let Some(reason) = &self.quarantined {
            return format!("quarantined: {reason}");
        }
        if self.record.left {
            return "left".into();
        }
        if let Some(drain) = self.draining.as_ref().filter(|_| self.is_live()) {
            return format!("draining: {}", drain.reason);
        }
        if self.disk.full {
            return "disk full".into();
        }
        String::new()
    }

    pub fn disk(&self) -> &DiskUse {
        &self.disk
    }

    pub fn history(&self) -> &History {
        &self.record.history
    }

    pub fn name(&self) -> &str {
        &self.record.name
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where it serves artifacts to others.
    pub fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    pub fn threads(&self) -> u32 {
        self.threads
    }

    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Names of the devices that it computes on.
    pub fn devices(&self) -> &[String] {
        &self.devices
    }

    /// Connected, and heard of within a lease.
    pub fn is_live(&self) -> bool {
        self.connection.is_some() && !self.lost
    }

    /// Its leases and copies count as gone, until it registers again.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    pub fn connection(&self) -> Option<ConnectionId> {
        self.connection
    }

    /// Lives in the coordinator's own process.
    pub fn is_local(&self) -> bool {
        self.local
    }

    pub fn leases(&self) -> &BTreeMap<Attempt, (JobId, TaskKey)> {
        &self.leases
    }

    pub fn tasks_done(&self) -> u64 {
        self.tasks_done
    }

    /// Unix seconds.
    pub fn last_seen(&self) -> u64 {
        self.seen_at
    }
}
