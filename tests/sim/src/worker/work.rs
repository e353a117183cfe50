//! What the threads of a worker do: bring inputs together, compute, load, write, close.

use super::{Chore, Preparation, Ready};
use crate::clock::MILLI;
use crate::disk::Head;
use crate::shelf::Batch;
use crate::sim::{Ev, Sim};
use crate::toy::{Set, Toy};
use antipode_ids::JobId;
use antipode_proto::message::{ArtifactKind, ArtifactName, Failure, Input, Usage};
use antipode_solver_core::engine::{Certificate, Level, OnDevice, ShardId};
use antipode_solver_core::job::{Task, TaskOutput};
use antipode_worker::artifacts::Basis;
use antipode_worker::session::{Event, LeaseId};
use rand::Rng;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a task takes of the memory besides its inputs, in sets.
const WORKING: usize = 2;

/// A lease as the session wants it prepared.
pub struct Prepare {
    pub lease: LeaseId,
    pub job: JobId,
    pub task: Task,
    pub inputs: Vec<Input>,
    pub consume: bool,
    pub alone: bool,
}

fn frontier(job: JobId, level: Level, shard: u32) -> ArtifactName {
    let (shard, kind) = (ShardId(shard), ArtifactKind::Frontier);
    ArtifactName {
        job,
        level,
        shard,
        kind,
    }
}

fn visited(job: JobId, level: Level, shard: u32) -> ArtifactName {
    let kind = ArtifactKind::Visited;
    ArtifactName {
        kind,
        ..frontier(job, level, shard)
    }
}

/// What was seen before, as the task reads it.
fn seen_name(toy: &Toy, job: JobId, level: Level, shard: u32) -> Option<ArtifactName> {
    if toy.directed {
        return Some(visited(job, level - 1, shard));
    }
    level
        .checked_sub(2)
        .map(|before| frontier(job, before, shard))
}

fn names(toy: &Toy, job: JobId, task: &Task) -> Vec<ArtifactName> {
    match *task {
        Task::Expand { level, shard } => {
            let sources = toy.sources(shard.0).iter();
            let mut names: Vec<ArtifactName> =
                sources.map(|&s| frontier(job, level - 1, s)).collect();
            names.push(frontier(job, level - 1, shard.0));
            names.extend(seen_name(toy, job, level, shard.0));
            names.retain(|name| name.level > 0);
            names.sort_unstable();
            names.dedup();
            names
        }
        Task::Smallest { level, shard, .. } if level > 0 => vec![frontier(job, level, shard.0)],
        Task::Copy { kind, level, shard } => vec![ArtifactName {
            kind,
            ..frontier(job, level, shard.0)
        }],
        Task::Pack { last, shard } => (1..=last).map(|l| frontier(job, l, shard.0)).collect(),
        Task::Smallest { .. } | Task::Words { .. } | Task::Item { .. } => Vec::new(),
    }
}

impl Sim {
    /// Begins to bring the inputs of a lease together; what follows at once.
    pub(super) fn prepare(&mut self, w: usize, life: u64, order: Prepare) -> Vec<Event> {
        let lease = order.lease;
        let failed = |failure| vec![Event::Unprepared { lease, failure }];
        let (small, budget) = (self.workers[w].is_small, self.workers[w].budget);
        let Some(process) = self.process(w, life) else {
            return Vec::new();
        };
        let Some(toy) = process.shelf.toy(order.job) else {
            return failed(Failure::Other(format!("job {} is not open", order.job)));
        };
        let mut wanted = Vec::new();
        for name in names(&toy, order.job, &order.task) {
            match order.inputs.iter().find(|input| input.name == name) {
                Some(input) if input.count == 0 => {}
                Some(input) => wanted.push(input.clone()),
                None => {
                    let reason = "the lease does not say where it is".into();
                    let tried = Vec::new();
                    return failed(Failure::InputMissing {
                        name,
                        tried,
                        reason,
                    });
                }
            }
        }
        if small && matches!(&order.task, Task::Expand { shard, .. } if shard.0 == 0) {
            self.tally.count("fault: memory refused");
            let (needed, allowed) = (10, 5);
            return failed(Failure::Memory { needed, allowed });
        }
        let mut found = BTreeMap::new();
        if let (Task::Copy { .. }, Some(input)) = (&order.task, wanted.first()) {
            // What is to be copied and lies on the own disk need not be in memory.
            if process.shelf.only_on_disk(input) {
                found.insert(input.name, Set::EMPTY);
            }
        }
        for input in &wanted {
            if let Some(set) = process.shelf.in_memory(input) {
                found.insert(input.name, set);
            }
        }
        let need = wanted.len() - found.len() + WORKING;
        let fits = process.shelf.resident() + process.reserved() + need <= budget;
        let mut ready = Ready {
            job: order.job,
            task: order.task,
            toy,
            consume: order.consume,
            found,
            wanted,
            basis: Basis::of(&order.inputs),
            fetched_bytes: 0,
        };
        if fits && ready.found.len() == ready.wanted.len() {
            process.reserved.insert(lease, WORKING);
            process.ready.insert(lease, ready);
            return vec![Event::Prepared { lease }];
        }
        if fits {
            process.reserved.insert(lease, need);
        } else {
            ready.found.clear();
        }
        let preparation = Preparation {
            ready,
            alone: order.alone,
            open: BTreeMap::new(),
        };
        process.preparing.insert(lease, preparation);
        let soon = self.rng.random_range(100..2 * MILLI);
        self.after(soon, Ev::Gather { w, life, lease });
        Vec::new()
    }

    /// Makes room for a lease where that is needed, and asks for its inputs.
    pub fn gather(&mut self, w: usize, life: u64, lease: LeaseId) {
        if self.is_put_off(w, life, || Ev::Gather { w, life, lease }) {
            return;
        }
        let machine = &mut self.workers[w];
        let (budget, disk) = (machine.budget, machine.disk.as_mut());
        let Some(process) = machine.process.as_mut() else {
            return;
        };
        let Some(preparation) = process.preparing.get(&lease) else {
            return;
        };
        let (alone, need) = (preparation.alone, preparation.ready.wanted.len() + WORKING);
        if !process.reserved.contains_key(&lease) {
            let mut spared = process.in_use();
            spared.extend(process.session.wanted());
            let excess = process.shelf.resident() + process.reserved() + need;
            let room = process
                .shelf
                .evict(excess.saturating_sub(budget), &spared, disk);
            let fits = process.shelf.resident() + process.reserved() + need <= budget;
            self.tally.count("memory was made free");
            if !room {
                process.preparing.remove(&lease);
                machine.low_disk = true;
                return self.say_to_session(w, life, Event::NoRoom { lease });
            }
            if !fits && !alone {
                process.preparing.remove(&lease);
                self.say_to_session(w, life, Event::Crowded { lease });
                return;
            }
            process.reserved.insert(lease, need);
        }
        self.begin_fetches(w, life, lease);
    }

    /// The inputs of a lease are there.
    pub(super) fn prepared(&mut self, w: usize, life: u64, lease: LeaseId) {
        let Some(process) = self.process(w, life) else {
            return;
        };
        if let Some(preparation) = process.preparing.remove(&lease) {
            process.reserved.insert(lease, WORKING);
            process.ready.insert(lease, preparation.ready);
            self.say_to_session(w, life, Event::Prepared { lease });
        }
    }

    pub(super) fn unprepared(&mut self, w: usize, life: u64, lease: LeaseId, failure: Failure) {
        let Some(process) = self.process(w, life) else {
            return;
        };
        if process.preparing.remove(&lease).is_some() {
            process.reserved.remove(&lease);
            self.say_to_session(w, life, Event::Unprepared { lease, failure });
        }
    }

    /// The compute thread takes the next task: what it may use up is used up now.
    pub(super) fn start_compute(&mut self, w: usize, life: u64) {
        let (low, high) = self.plan.task_micros;
        let span = self.rng.random_range(low..high) * self.workers[w].slowness;
        let Some(process) = self.process(w, life) else {
            return;
        };
        if process.computing.is_some() {
            return;
        }
        let Some((lease, ready)) = process.compute.pop_front() else {
            return;
        };
        let mut lost = Vec::new();
        if let Task::Expand { level, shard } = ready.task
            && let Some(seen) = seen_name(&ready.toy, ready.job, level, shard.0)
            && ready.consume
            && seen.level > 0
            && process.shelf.consume(seen)
        {
            lost.push(seen);
        }
        process.computing = Some((lease, ready, lost));
        self.after(span, Ev::Computed { w, life });
    }

    /// The compute thread is through with a task.
    pub fn computed(&mut self, w: usize, life: u64) {
        if self.is_put_off(w, life, || Ev::Computed { w, life }) {
            return;
        }
        let killer = self.poison;
        if let Some((_, ready, _)) = self.process(w, life).and_then(|p| p.computing.as_ref())
            && matches!(&ready.task, Task::Expand { level, shard } if killer == Some((*level, shard.0)))
        {
            self.tally.count("a task killed its worker");
            self.crash_worker(w, Some(0));
            let back = self.rng.random_range(20 * MILLI..200 * MILLI);
            return self.after(back, Ev::StartWorker { w, anew: false });
        }
        let machine = &self.workers[w];
        let (lies, fails) = (
            machine.lies || machine.faulty.is_some(),
            machine.failures > 0,
        );
        let Some(process) = self.process(w, life) else {
            return;
        };
        let Some((lease, ready, lost)) = process.computing.take() else {
            return;
        };
        process.reserved.remove(&lease);
        let mut usage = usage(&ready);
        if std::mem::take(&mut process.stopped) {
            let event = Event::Computed {
                lease,
                result: Err(Failure::Other("stopped".into())),
                usage,
                lost,
            };
            return self.say_to_session(w, life, event);
        }
        if fails {
            self.workers[w].failures -= 1;
            self.tally.count("fault: task failed");
            let result = Err(Failure::Other("the engine panicked".into()));
            let event = Event::Computed {
                lease,
                result,
                usage,
                lost,
            };
            self.say_to_session(w, life, event);
            return;
        }
        if self.workers[w].lies && self.rng.random_bool(0.1) {
            self.tally.count("fault: law violated");
            let result = Err(Failure::Violated("a certificate does not hold".into()));
            let event = Event::Computed {
                lease,
                result,
                usage,
                lost,
            };
            return self.say_to_session(w, life, event);
        }
        let levels_and_items = matches!(ready.task, Task::Expand { .. } | Task::Item { .. });
        if levels_and_items && !self.workers[w].devices.is_empty() {
            usage.on_device = Some(OnDevice { uploaded_bytes: 16 });
        }
        let output = match &ready.task {
            Task::Expand { level, shard } => self.expand(w, &ready, *level, shard.0, lies),
            Task::Smallest {
                level,
                shard,
                limit,
            } => {
                let name = frontier(ready.job, *level, shard.0);
                let set = input(&ready, name);
                let states = set.states().take(*limit as usize);
                TaskOutput::Smallest {
                    states: states.map(|x| vec![x as u16].into()).collect(),
                }
            }
            Task::Words { level, states } => {
                let word = Ok(vec![0u16; *level as usize]);
                TaskOutput::Words {
                    words: states.iter().map(|_| word.clone()).collect(),
                }
            }
            Task::Item { item } => self.item(w, &ready, item.0, lies),
            Task::Copy { .. } | Task::Pack { .. } => return,
        };
        let event = Event::Computed {
            lease,
            result: Ok(output),
            usage,
            lost: Vec::new(),
        };
        self.say_to_session(w, life, event);
    }

    fn expand(
        &mut self,
        w: usize,
        ready: &Ready,
        level: Level,
        shard: u32,
        lies: bool,
    ) -> TaskOutput {
        let toy = &ready.toy;
        let mut from = Set::EMPTY;
        for &source in toy.sources(shard) {
            from = from.union(&input(ready, frontier(ready.job, level - 1, source)));
        }
        let own = input(ready, frontier(ready.job, level - 1, shard));
        let seen_at = seen_name(toy, ready.job, level, shard);
        let seen = seen_at.map_or(Set::EMPTY, |name| input(ready, name));
        let mut set = toy.expand(shard, &from, &own.union(&seen));
        if lies {
            self.lie(w, &mut set);
        }
        let certificate = Certificate::default();
        let head = |set: &Set| Head {
            digest: set.digest(),
            count: set.len(),
            certificate: Some(certificate),
        };
        if let Some(made) = &mut self.workers[w].faulty {
            made.push(frontier(ready.job, level, shard));
            if toy.directed {
                made.push(visited(ready.job, level, shard));
            }
        }
        let Some(process) = self.workers[w].process.as_mut() else {
            unreachable!("it computes")
        };
        if toy.directed {
            let name = visited(ready.job, level, shard);
            let all = seen.union(&set);
            process
                .shelf
                .insert_made(name, all, head(&all), ready.basis);
        }
        let name = frontier(ready.job, level, shard);
        process
            .shelf
            .insert_made(name, set, head(&set), ready.basis);
        TaskOutput::Expanded {
            count: set.len(),
            digest: set.digest(),
            certificate,
        }
    }

    /// Leaves a state out of a result; false where there is none.
    fn lie(&mut self, w: usize, set: &mut Set) -> bool {
        let Some(first) = set.states().next() else {
            return false;
        };
        self.tally.count("fault: wrong result");
        self.watch.lies = true;
        self.watch.undisclosed.insert(w);
        let mut wrong = Set::EMPTY;
        wrong.insert(first);
        *set = set.minus(&wrong);
        true
    }

    fn item(&mut self, w: usize, ready: &Ready, item: u32, lies: bool) -> TaskOutput {
        let toy = &ready.toy;
        let mut set = toy.range(item);
        let mut record = toy.record_of(item);
        if lies && self.lie(w, &mut set) {
            record.push(0);
        }
        let (count, digest) = (set.len(), set.digest());
        let name = frontier(ready.job, 1, item);
        // Also where there is no artifact: it names the result.
        if let Some(made) = &mut self.workers[w].faulty {
            made.push(name);
        }
        if toy.batch == Some(true) {
            record.clear();
            let head = Head {
                digest,
                count,
                certificate: None,
            };
            if let Some(process) = self.workers[w].process.as_mut() {
                process.shelf.insert_made(name, set, head, ready.basis);
            }
        }
        TaskOutput::Item {
            count,
            digest,
            record,
        }
    }

    /// Puts what a task for the disk is about on the shelf, and names it.
    fn take_on(&mut self, w: usize, life: u64, ready: &Ready) -> Option<ArtifactName> {
        let process = self.process(w, life)?;
        if let Task::Pack { last, shard } = ready.task {
            let level = |level| input(ready, frontier(ready.job, level, shard.0));
            let set = (0..=last).fold(Set::EMPTY, |all, l| all.union(&level(l)));
            let name = ArtifactName {
                kind: ArtifactKind::Distances,
                ..frontier(ready.job, last, shard.0)
            };
            let (count, digest, certificate) = (set.len(), set.digest(), None);
            let head = Head {
                digest,
                count,
                certificate,
            };
            process.shelf.insert_made(name, set, head, ready.basis);
            return Some(name);
        }
        let input = ready.wanted.first()?;
        process.shelf.adopt(input.name, input.digest);
        Some(input.name)
    }

    /// The end of a task for the disk.
    fn kept(&mut self, w: usize, life: u64, lease: LeaseId, ready: Ready, batch: Batch) -> Event {
        let machine = &mut self.workers[w];
        let name = batch.named().chain(batch.missing.iter().copied()).next();
        let mut result = match &ready.task {
            Task::Copy { .. } => Ok(TaskOutput::Copied),
            _ => Err(Failure::Other("it was released meanwhile".into())),
        };
        if let (Some(process), Some(name)) = (machine.process.as_mut(), name) {
            let written = process.shelf.write(batch, true, machine.disk.as_mut());
            machine.low_disk |= written.refused;
            let item = process.shelf.item(name).map(|item| item.head);
            result = match (&ready.task, item) {
                _ if !written.durable.contains(&name) => {
                    Err(Failure::Other("it cannot be made durable".into()))
                }
                (Task::Pack { .. }, Some(Head { count, digest, .. })) => {
                    Ok(TaskOutput::Packed { count, digest })
                }
                (Task::Copy { .. }, Some(_)) => Ok(TaskOutput::Copied),
                _ => Err(Failure::Other("it was released meanwhile".into())),
            };
        }
        if let Some(process) = self.process(w, life) {
            process.reserved.remove(&lease);
        }
        Event::Computed {
            lease,
            result,
            usage: usage(&ready),
            lost: Vec::new(),
        }
    }

    /// The housekeeper takes the next chore.
    pub(super) fn start_chore(&mut self, w: usize, life: u64) {
        let span = self.rng.random_range(200..8 * MILLI);
        let lies = self.lies_about_durability();
        let Some(process) = self.process(w, life) else {
            return;
        };
        if process.writing.is_some() {
            return;
        }
        let Some(first) = process.chores.front() else {
            return;
        };
        let batch = match first {
            Chore::Persist { names } => process.shelf.batch(names),
            Chore::PersistAll { .. } => process.shelf.batch(&process.shelf.volatile()),
            Chore::Keep { ready, .. } => {
                let ready = ready.clone();
                let name = self.take_on(w, life, &ready);
                let Some(process) = self.process(w, life) else {
                    return;
                };
                process.shelf.batch(name.as_slice())
            }
            Chore::Load { .. } | Chore::Close { .. } => Default::default(),
        };
        let Some(process) = self.process(w, life) else {
            return;
        };
        process.writing = Some(batch);
        self.after(span, Ev::Chore { w, life });
        if lies {
            self.durable_too_early(w, life);
        }
    }

    /// For a mutant: says that what is about to be written is durable.
    fn durable_too_early(&mut self, w: usize, life: u64) {
        let Some(process) = self.process(w, life) else {
            return;
        };
        let named: Vec<ArtifactName> = process.writing.iter().flat_map(|b| b.named()).collect();
        if !named.is_empty() {
            let (names, bytes) = (named, 1);
            self.say_to_session(w, life, Event::Persisted { names, bytes });
        }
    }

    /// The housekeeper is through with a chore.
    pub fn chore_done(&mut self, w: usize, life: u64) {
        if self.is_put_off(w, life, || Ev::Chore { w, life }) {
            return;
        }
        let machine = &mut self.workers[w];
        let disk = machine.disk.as_mut();
        let Some(process) = machine.process.as_mut() else {
            return;
        };
        let (Some(chore), Some(batch)) = (process.chores.pop_front(), process.writing.take())
        else {
            return;
        };
        let mut events = Vec::new();
        match chore {
            Chore::Load { job, definition } => {
                let lost = match self.toys.get(&definition.fingerprint) {
                    Some(toy) => {
                        process
                            .shelf
                            .open_job(job, &definition.fingerprint, toy.clone(), disk)
                    }
                    None => Vec::new(),
                };
                if !lost.is_empty() {
                    let (names, reason) = (lost, "stored for another definition".into());
                    events.push(Event::Lost { names, reason });
                }
                let result = Ok(());
                events.push(Event::Loaded { job, result });
            }
            Chore::Close { job, keep } => process.shelf.close_job(job, keep, disk),
            Chore::Keep { lease, ready } => {
                let event = self.kept(w, life, lease, ready, batch);
                events.push(event);
            }
            Chore::PersistAll { until } => {
                let mut names = Vec::new();
                if machine.clock.show(self.now) <= (until - self.base).as_micros() as u64 {
                    names = process.shelf.write(batch, true, disk).durable;
                }
                if !names.is_empty() {
                    events.push(Event::Persisted { names, bytes: 1 });
                }
                // Those of other jobs come next.
                let rest = process.shelf.volatile();
                if rest.is_empty() || self.is_calm || rest.len() == process.last_volatile {
                    events.push(Event::Stored);
                } else {
                    process.last_volatile = rest.len();
                    process.chores.push_back(Chore::PersistAll { until });
                }
            }
            Chore::Persist { names } => {
                let (roots, missing): (Vec<_>, Vec<_>) =
                    batch.missing.iter().partition(|name| name.level == 0);
                let written = process.shelf.write(batch, true, disk);
                machine.low_disk |= written.refused;
                self.trace
                    .add(self.now, format_args!("w{w} wrote {names:?}: {written:?}"));
                let mut durable = written.durable;
                durable.extend(roots);
                if !durable.is_empty() {
                    let (names, bytes) = (durable, 1);
                    events.push(Event::Persisted { names, bytes });
                }
                if !written.lost.is_empty() {
                    let (names, reason) = (written.lost, "it is not held here".into());
                    events.push(Event::Lost { names, reason });
                }
                if !missing.is_empty() {
                    let (names, reason) = (missing, "it is not held here".into());
                    events.push(Event::Lost { names, reason });
                }
                if !written.failed.is_empty() {
                    let names = written.failed;
                    events.push(Event::NotPersisted { names });
                }
            }
        }
        for event in events {
            self.say_to_session(w, life, event);
        }
        self.start_chore(w, life);
    }
}

/// What a task took, computed by the processor.
fn usage(ready: &Ready) -> Usage {
    Usage {
        engine_time: Duration::from_micros(5),
        fetched_bytes: ready.fetched_bytes,
        on_device: None,
    }
}

/// An input as it was prepared; level 0 is made here, and what is not wanted is empty.
fn input(ready: &Ready, name: ArtifactName) -> Set {
    if name.level == 0 {
        return ready.toy.root(name.shard.0);
    }
    ready.found.get(&name).copied().unwrap_or(Set::EMPTY)
}
