//! The loop around the session: events in, actions performed, in order.

use super::work::Prepare;
use super::{Chore, Machine, Process, TICK};
use crate::clock::{MILLI, SECOND};
use crate::mutants::SimMutant;
use crate::network::{Arrival, ConnId, Node, Way};
use crate::shelf::Shelf;
use crate::sim::{Ev, Sim};
use crate::tally;
use antipode_ids::JobId;
use antipode_ids::{Attempt, Incarnation};
use antipode_proto::message::{DiskUse, Ended, FromWorker, ToWorker};
use antipode_solver_core::job::Task;
use antipode_worker::session::{Action, Event, Exit, is_for_the_disk};
use rand::Rng;
use std::collections::VecDeque;

impl Sim {
    /// The process of a worker, if it is still the one meant.
    pub fn process(&mut self, w: usize, life: u64) -> Option<&mut Process> {
        let machine = self.workers.get_mut(w).filter(|m| m.life == life)?;
        machine.process.as_mut()
    }

    /// A stopped process sees nothing: what happens to it waits. True: this event is put off.
    pub fn is_put_off(&mut self, w: usize, life: u64, ev: impl FnOnce() -> Ev) -> bool {
        match self.process(w, life) {
            Some(process) if process.frozen => {
                process.mailbox.push(ev());
                true
            }
            Some(_) => false,
            None => true,
        }
    }

    pub fn start_worker(&mut self, w: usize) {
        let (base, now) = (self.base, self.now);
        let machine = &mut self.workers[w];
        if machine.retired || machine.is_up() {
            return;
        }
        machine.incarnation = Incarnation(machine.incarnation.0 + 1);
        machine.life += 1;
        let shelf = Shelf::open(machine.disk.as_mut());
        machine.process = Some(Process::new(machine.time(base, now), shelf));
        let life = machine.life;
        let first = machine.clock.span(TICK);
        self.started = now;
        self.note("worker starts", format_args!("{w} life {life}"));
        self.after(first, Ev::WorkerTick { w, life });
        let soon = self.rng.random_range(0..5 * MILLI);
        self.after(soon, Ev::Connect { w, life });
    }

    /// A try to connect. It takes both directions, and a coordinator that is there.
    pub fn connect(&mut self, w: usize, life: u64) {
        if self.is_put_off(w, life, || Ev::Connect { w, life }) {
            return;
        }
        let there = Node::Coordinator;
        let reachable = self.coordinator.is_listening()
            && !self.network.is_blocked(Node::Worker(w), there)
            && !self.network.is_blocked(there, Node::Worker(w));
        let Some(process) = self.process(w, life) else {
            return;
        };
        if process.connection.is_some() {
            return;
        }
        process.pause = (process.pause * 2).clamp(100 * MILLI, SECOND);
        if !reachable {
            let pause = self.workers[w]
                .clock
                .span(self.workers[w].process.as_ref().map_or(SECOND, |p| p.pause));
            self.after(pause, Ev::Connect { w, life });
            return;
        }
        let id = self.network.connect(w);
        self.coordinator.attach(id);
        if let Some(process) = self.process(w, life) {
            process.connection = Some(id);
        }
        self.tally.count("connection: made");
        self.say_to_session(w, life, Event::Connected);
    }

    /// Something of the coordinator arrives.
    pub fn hear_down(&mut self, id: ConnId) {
        let Some(connection) = self.network.connections.get(&id) else {
            return;
        };
        let w = connection.worker;
        let life = self.workers[w].life;
        let mine = self.workers[w]
            .process
            .as_ref()
            .is_some_and(|p| p.connection == Some(id));
        if !mine {
            self.network.deafen(id, Way::Down);
            return;
        }
        if self.is_put_off(w, life, || Ev::Arrive { id, way: Way::Down }) {
            return;
        }
        match self.network.take_down(self.now, id) {
            Arrival::Nothing => {}
            Arrival::Message(message) => {
                if matches!(message, ToWorker::Welcome { .. })
                    && let Some(process) = self.process(w, life)
                {
                    process.pause = 0;
                }
                let event = self.event_of(w, message);
                self.say_to_session(w, life, event);
            }
            Arrival::End => self.end_of_connection(w, life),
        }
    }

    /// The worker sees that its connection is gone, and looks for another.
    pub fn end_of_connection(&mut self, w: usize, life: u64) {
        let Some(process) = self.process(w, life) else {
            return;
        };
        let Some(id) = process.connection.take() else {
            return;
        };
        let pause = process.pause;
        // What the coordinator has not read yet it may read still.
        let kept = self.rng.random_range(0..=self.network.under_way(id));
        let late = self.rng.random_range(0..5 * MILLI);
        self.close_up(id, late, kept);
        self.network.deafen(id, Way::Down);
        self.say_to_session(w, life, Event::Disconnected);
        let pause = self.workers[w].clock.span(pause);
        self.after(pause, Ev::Connect { w, life });
    }

    /// A lease comes with the answer, where it is known already.
    fn event_of(&mut self, w: usize, message: ToWorker) -> Event {
        match message {
            ToWorker::Lease {
                job,
                task,
                attempt,
                inputs,
                consume,
            } => {
                let process = self.workers[w].process.as_mut();
                let known = process.and_then(|p| p.shelf.known(job, &task, &inputs));
                if known.is_some() {
                    self.tally.count("lease answered from what is held");
                }
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

    /// Steps the session until nothing follows any more.
    pub fn say_to_session(&mut self, w: usize, life: u64, event: Event) {
        let mut queue = VecDeque::from([event]);
        while let Some(event) = queue.pop_front() {
            let now = self.workers[w].time(self.base, self.now);
            self.tally.count(tally::session_event(&event));
            self.trace
                .add(self.now, format_args!("w{w} hears {event:?}"));
            let Some(process) = self.process(w, life) else {
                return;
            };
            if let Event::Loaded { job, .. } = &event
                && !process.session.is_open(*job)
            {
                // Closed while its engine was being loaded.
                let (job, keep) = (*job, true);
                process.chores.push_back(Chore::Close { job, keep });
            }
            for action in process.session.step(now, event) {
                self.perform(w, life, action, &mut queue);
            }
            self.start_chore(w, life);
            self.start_compute(w, life);
        }
    }

    fn perform(&mut self, w: usize, life: u64, action: Action, queue: &mut VecDeque<Event>) {
        self.tally.count(tally::session_action(&action));
        self.trace.add(self.now, format_args!("w{w} {action:?}"));
        let Some(process) = self.process(w, life) else {
            return;
        };
        match action {
            Action::Register { running } => self.register(w, running),
            Action::Send(message) => self.say_up(w, message),
            Action::Join { worker, cluster } => {
                let machine = &mut self.workers[w];
                let foreign = machine
                    .member
                    .as_ref()
                    .is_some_and(|(_, ours)| *ours != cluster);
                if foreign {
                    machine.retired = true;
                    self.end_worker(w);
                } else {
                    machine.member = Some((worker, cluster));
                    machine.ended = None;
                }
            }
            Action::Load { job, definition } => {
                process.chores.push_back(Chore::Load { job, definition });
            }
            Action::Prepare {
                lease,
                job,
                task,
                inputs,
                consume,
                alone,
            } => {
                let order = Prepare {
                    lease,
                    job,
                    task,
                    inputs,
                    consume,
                    alone,
                };
                queue.extend(self.prepare(w, life, order));
            }
            Action::Compute { lease } => {
                if let Some(ready) = process.ready.remove(&lease) {
                    if is_for_the_disk(&ready.task) {
                        process.chores.push_back(Chore::Keep { lease, ready });
                        return;
                    }
                    let wanted = process.session.wanted();
                    process.shelf.drop_old_copies(ready.job, &wanted);
                    process.compute.push_back((lease, ready));
                }
            }
            Action::Stop { lease } => {
                if let Some((computing, _, _)) = &process.computing
                    && *computing == lease
                {
                    process.stopped = true;
                }
                process.compute.retain(|(of, _)| *of != lease);
            }
            Action::Forget { lease } => {
                process.preparing.remove(&lease);
                process.ready.remove(&lease);
                process.reserved.remove(&lease);
            }
            Action::Persist { names } => {
                // One job each: a commit is of one store.
                let mut by_job: Vec<(JobId, Vec<_>)> = Vec::new();
                for name in names {
                    match by_job.iter_mut().find(|(job, _)| *job == name.job) {
                        Some((_, list)) => list.push(name),
                        None => by_job.push((name.job, vec![name])),
                    }
                }
                let chores = by_job
                    .into_iter()
                    .map(|(_, names)| Chore::Persist { names });
                process.chores.extend(chores);
            }
            Action::PersistAll { until } => process.chores.push_back(Chore::PersistAll { until }),
            Action::Release { names } => process.shelf.release(&names),
            Action::Close { job, keep } => process.chores.push_back(Chore::Close { job, keep }),
            Action::Exit(exit) => {
                self.workers[w].retired = true;
                self.end_worker(w);
                if !matches!(exit, Exit::Refused { .. }) {
                    let back = self.a_while();
                    self.after(back, Ev::StartWorker { w, anew: true });
                }
            }
        }
    }

    fn register(&mut self, w: usize, running: Vec<(JobId, Task, Attempt)>) {
        let machine = &self.workers[w];
        let Some(process) = &machine.process else {
            return;
        };
        let member = machine.member.clone();
        let message = FromWorker::Register {
            protocol: machine.protocol,
            version: "0".into(),
            name: machine.name.clone(),
            worker: member.as_ref().map(|m| m.0),
            cluster: member.map(|m| m.1),
            incarnation: machine.incarnation,
            address: Some(w.to_string()),
            threads: machine.threads,
            memory_bytes: 1 << 20,
            pid: machine.life as u32,
            kernel: "portable".into(),
            devices: machine.devices.clone(),
            held: process.shelf.held(),
            running,
            ended: machine.ended.clone().map(Box::new),
        };
        self.say_up(w, message);
    }

    /// Into the connection, if there is one; what a broken one swallows, the session repeats.
    fn say_up(&mut self, w: usize, message: FromWorker) {
        let Some(id) = self.workers[w].process.as_ref().and_then(|p| p.connection) else {
            return;
        };
        let due = self.network.send_up(self.now, id, message, &mut self.rng);
        self.arrive(due);
    }

    /// The process ends by itself: its last words get out.
    pub fn end_worker(&mut self, w: usize) {
        self.note("worker ends by itself", format_args!("{w}"));
        let machine = &mut self.workers[w];
        let Some(process) = machine.process.take() else {
            return;
        };
        // It syncs nothing more; what was begun is finished.
        machine.disk.crash(&[], &mut self.rng);
        if let Some(id) = process.connection {
            self.close_up(id, 0, usize::MAX);
            self.network.deafen(id, Way::Down);
        }
    }

    /// The process is gone from one moment to the next. `late`: when the coordinator sees it, if ever.
    pub fn crash_worker(&mut self, w: usize, late: Option<u64>) {
        let machine = &mut self.workers[w];
        let Some(mut process) = machine.process.take() else {
            return;
        };
        let (cause, at) = (self.cause_of_death, 1_000_000 + self.now / SECOND);
        let running = process.at_work();
        let unfinished = process.half_written();
        self.workers[w].ended = Some(Ended { cause, at, running });
        if !unfinished.is_empty() {
            self.tally.count("fault: torn write");
        }
        if self.spilled_anything(&process) {
            self.tally.count("fault: unsynced writes lost");
        }
        self.workers[w].disk.crash(&unfinished, &mut self.rng);
        self.watch.harm(unfinished.iter().map(|new| new.name));
        let Some(id) = process.connection else {
            return;
        };
        self.network.deafen(id, Way::Down);
        if let Some(late) = late {
            let kept = self.rng.random_range(0..=self.network.under_way(id));
            self.close_up(id, late, kept);
        }
    }

    fn spilled_anything(&self, process: &Process) -> bool {
        let spilled = |name| {
            process
                .shelf
                .item(name)
                .is_some_and(|item| item.disk == crate::shelf::OnDisk::Spilled)
        };
        process.shelf.names().any(|&name| spilled(name))
    }

    /// The worker's half of a connection ends.
    pub fn close_up(&mut self, id: ConnId, late: u64, kept: usize) {
        let due = self.network.close(self.now, id, Way::Up, late, kept);
        self.arrive(due);
    }

    pub fn worker_tick(&mut self, w: usize, life: u64) {
        if self.is_put_off(w, life, || Ev::WorkerTick { w, life }) {
            return;
        }
        let next = self.workers[w].clock.span(TICK);
        self.after(next, Ev::WorkerTick { w, life });
        let (memory_bytes, peak_memory_bytes) = (1, 2);
        let disk = DiskUse {
            full: self.workers[w].low_disk,
            ..DiskUse::default()
        };
        let tick = Event::Tick {
            memory_bytes,
            peak_memory_bytes,
            disk,
        };
        self.say_to_session(w, life, tick);
    }

    /// The process goes on after it was stopped.
    pub fn thaw(&mut self, w: usize) {
        let Some(process) = self.workers[w].process.as_mut() else {
            return;
        };
        process.frozen = false;
        for ev in std::mem::take(&mut process.mailbox) {
            self.after(0, ev);
        }
    }

    /// Is this worker to say that a write is durable before it is?
    pub fn lies_about_durability(&self) -> bool {
        self.is_mutant(SimMutant::DurableBeforeSynced)
    }
}

impl Machine {
    /// Everything on it is gone; whoever starts here is a newcomer.
    pub fn wipe(&mut self, disk: Box<dyn crate::disk::Disk>) {
        self.disk = disk;
        self.incarnation = Incarnation(0);
        self.member = None;
        self.ended = None;
        self.faulty = None;
        self.retracted.clear();
    }
}
