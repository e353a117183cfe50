//! Making things go wrong, and right again.

use crate::clock::{MILLI, Micros, SECOND};
use crate::coordinator::CrashPoint;
use crate::disk::Hit;
use crate::network::{ConnId, Node, Way, some_delay};
use crate::plan::Fault;
use crate::sim::{Ev, Sim};
use antipode_ids::{Cause, Incarnation, WorkerId};
use antipode_worker::session::Event;
use rand::Rng;
use rand::seq::IndexedRandom;

impl Sim {
    fn some_worker(&mut self) -> Option<usize> {
        let up: Vec<usize> = (0..self.workers.len())
            .filter(|&w| self.workers[w].is_up())
            .collect();
        up.choose(&mut self.rng).copied()
    }

    /// How long something stays wrong.
    pub fn a_while(&mut self) -> Micros {
        match self.rng.random_range(0..3) {
            0 => self.rng.random_range(20 * MILLI..300 * MILLI),
            1 => self.rng.random_range(300 * MILLI..2 * SECOND),
            _ => self.rng.random_range(2 * SECOND..6 * SECOND),
        }
    }

    pub fn inject(&mut self, fault: Fault) {
        self.note("fault", format_args!("{fault:?}"));
        match fault {
            Fault::WorkerKilled => {
                let late = self.rng.random_range(0..5 * MILLI);
                _ = self.kill("fault: worker killed", Some(late));
            }
            Fault::WorkerKilledUnseen => _ = self.kill("fault: worker killed, unseen", None),
            Fault::WorkerDiskLost => {
                let Some(w) = self.kill("fault: worker's disk lost", Some(0)) else {
                    return;
                };
                self.watch.harm_all();
                let disk = self.new_disk();
                self.workers[w].wipe(disk);
                if self.watch.undisclosed.remove(&w) {
                    // Nobody is left to take back what it did.
                    self.watch.undisclosed.insert(usize::MAX);
                }
            }
            Fault::WorkerStopped => {
                let Some(w) = self.some_worker() else { return };
                if let Some(process) = self.workers[w].process.as_mut() {
                    process.frozen = true;
                }
                self.tally.count("fault: worker stopped");
                let span = self.a_while();
                self.after(span, Ev::Thaw { w });
            }
            Fault::WorkerDrained => {
                let Some(w) = self.some_worker() else { return };
                self.tally.count("fault: worker drained");
                let life = self.workers[w].life;
                if !self.workers[w].is_frozen() {
                    self.say_to_session(w, life, Event::Drain);
                }
            }
            Fault::DeviceFails => self.device_fails(),
            Fault::TaskKills => {
                self.tally.count("fault: a task kills its worker");
                self.poison = Some((self.rng.random_range(1..6), self.rng.random_range(0..6)));
                let span = self.rng.random_range(SECOND..8 * SECOND);
                self.after(span, Ev::Antidote);
            }
            Fault::WorkerJoins => {
                let w = self.add_worker(None);
                self.tally.count("fault: worker joins");
                self.start_worker(w);
            }
            Fault::ForeignWorker => {
                if self.rng.random_bool(0.5) {
                    let w = self.add_worker(None);
                    self.workers[w].protocol += 1;
                    self.tally.count("fault: worker of another version");
                    return self.start_worker(w);
                }
                let w = self.add_worker(Some((WorkerId(1), "elsewhere".into())));
                self.workers[w].incarnation = Incarnation(7);
                self.tally.count("fault: worker of another cluster");
                self.start_worker(w);
            }
            Fault::TaskFails => {
                if let Some(w) = self.some_worker() {
                    self.workers[w].failures += 1;
                }
            }
            Fault::BitFlips => {
                let w = self.rng.random_range(0..self.workers.len());
                match self.workers[w].disk.flip(&mut self.rng) {
                    Some(Hit::One(name)) => self.watch.harm([name]),
                    Some(Hit::Anything) => self.watch.harm_all(),
                    None => return,
                }
                self.tally.count("fault: bit flipped on a worker's disk");
            }
            Fault::WorkerDiskFull => {
                let w = self.rng.random_range(0..self.workers.len());
                if self.rng.random_bool(0.5) {
                    self.workers[w].low_disk = true;
                    self.tally.count("fault: worker's disk nearly full");
                } else {
                    self.workers[w].disk.set_full(true);
                    self.tally.count("fault: worker's disk full");
                }
                let span = self.a_while();
                self.after(span, Ev::DiskHasRoom { w });
            }
            Fault::ConnectionBreaks
            | Fault::CoordinatorSeesBreakLate
            | Fault::WorkerSeesBreakLate => self.break_connection(fault),
            Fault::NothingToCoordinator | Fault::NothingToWorker => {
                let w = Node::Worker(self.rng.random_range(0..self.workers.len()));
                let there = Node::Coordinator;
                if fault == Fault::NothingToCoordinator {
                    self.tally.count("fault: nothing gets to the coordinator");
                    self.block(w, there);
                } else {
                    self.tally.count("fault: nothing gets to the worker");
                    self.block(there, w);
                }
            }
            Fault::WorkersApart => {
                let number = self.workers.len();
                let a = self.rng.random_range(0..number);
                let b = (a + self.rng.random_range(1..number)) % number;
                self.tally.count("fault: workers do not reach each other");
                self.block(Node::Worker(a), Node::Worker(b));
            }
            Fault::SlowWay => {
                let w = Node::Worker(self.rng.random_range(0..self.workers.len()));
                let (from, to) = match self.rng.random_range(0..3) {
                    0 => (w, Node::Coordinator),
                    1 => (Node::Coordinator, w),
                    _ => (
                        w,
                        Node::Worker(self.rng.random_range(0..self.workers.len())),
                    ),
                };
                self.tally.count("fault: way is slow");
                let by = self.rng.random_range(50 * MILLI..2 * SECOND);
                self.network.slow_down(from, to, by);
                let span = self.a_while();
                self.after(span, Ev::SpeedUp { from, to });
            }
            Fault::AnswersDamaged => self.network.damages += 2,
            Fault::AnswersTwice => self.network.duplicates += 4,
            Fault::CoordinatorKilled => {
                if self.coordinator.process.is_some() {
                    self.tally.count("fault: coordinator killed");
                    self.crash_coordinator(false);
                }
            }
            Fault::CoordinatorKilledInRound => {
                let amid = CrashPoint::AmidSends(self.rng.random_range(0..4));
                let points = [
                    CrashPoint::BeforeCommit,
                    CrashPoint::InCommit,
                    CrashPoint::AfterCommit,
                    amid,
                ];
                self.coordinator.crash_at = points.choose(&mut self.rng).copied();
            }
            Fault::CoordinatorRestarts => {
                if self.coordinator.is_listening() {
                    self.tally.count("fault: coordinator ends and starts again");
                    self.close_coordinator();
                }
            }
            Fault::CoordinatorStopped => {
                let Some(process) = self.coordinator.process.as_mut() else {
                    return;
                };
                process.frozen = true;
                self.tally.count("fault: coordinator stopped");
                let span = self.a_while();
                self.after(span, Ev::ThawCoordinator);
            }
            Fault::CoordinatorDiskFull => {
                self.coordinator.full = true;
                self.tally.count("fault: coordinator's disk nearly full");
                if self.rng.random_bool(0.5) {
                    self.coordinator.ledger.set_full(true);
                    self.tally.count("fault: coordinator's disk full");
                }
                let span = self.a_while();
                self.after(span, Ev::LedgerHasRoom);
            }
            Fault::LedgerFlips => {
                if self.coordinator.process.is_some() {
                    self.crash_coordinator(false);
                }
                if self.coordinator.ledger.flip(&mut self.rng) {
                    self.watch.ledger_harmed = true;
                    self.tally
                        .count("fault: bit flipped in the coordinator's store");
                }
            }
            Fault::PowerCut => {
                self.tally.count("fault: everything at once");
                if self.coordinator.process.is_some() {
                    self.crash_coordinator(true);
                }
                self.cause_of_death = Cause::MachineRestarted;
                for w in 0..self.workers.len() {
                    self.crash_worker(w, None);
                    let back = self.a_while();
                    self.after(back, Ev::StartWorker { w, anew: false });
                }
                self.cause_of_death = Cause::Signal(9);
            }
            Fault::WallClockJumps => {
                self.tally.count("fault: wall clock jumps");
                self.coordinator.wall = self.rng.random_range(-900_000..1_000_000_000_000);
            }
        }
    }

    /// A device of a worker begins to fail. After a while that is found out, and all that was made meanwhile
    /// is retracted.
    fn device_fails(&mut self) {
        let Some(w) = self.some_worker() else { return };
        if self.workers[w].faulty.is_none() {
            self.workers[w].faulty = Some(Vec::new());
            self.tally.count("fault: device fails");
            let span = self.rng.random_range(50 * MILLI..SECOND);
            self.after(span, Ev::Retract { w });
        }
    }

    /// A worker takes back what a failing device has made; when it can, since it must be heard.
    pub fn retract(&mut self, w: usize) {
        let life = self.workers[w].life;
        let registered = self
            .process(w, life)
            .is_some_and(|p| !p.frozen && p.session.is_registered());
        if !registered {
            return self.after(20 * MILLI, Ev::Retract { w });
        }
        let machine = &mut self.workers[w];
        let found_out = machine.faulty.take();
        let is_new = found_out.is_some();
        if let Some(made) = found_out {
            machine.retracted.extend(made);
            self.tally.count("fault: worker retracts");
        }
        if is_new {
            let text = "a device is not used any more".to_string();
            self.say_to_session(w, life, Event::Note { job: None, text });
        }
        let names = self.workers[w].retracted.clone();
        if names.is_empty() {
            return;
        }
        if let Some(process) = self.process(w, life) {
            process.shelf.release(&names);
        }
        self.watch.harm(names.iter().copied());
        let reason = "a device failed its check".into();
        self.say_to_session(w, life, Event::Retracted { names, reason });
        if self.watch.undisclosed.contains(&w) {
            // Until it was heard.
            self.after(700 * MILLI, Ev::Retract { w });
        }
    }

    /// Ends the process of some worker; it starts again after a while.
    fn kill(&mut self, name: &'static str, late: Option<Micros>) -> Option<usize> {
        let w = self.some_worker()?;
        self.tally.count(name);
        self.crash_worker(w, late);
        let back = self.a_while();
        self.after(back, Ev::StartWorker { w, anew: false });
        Some(w)
    }

    fn block(&mut self, from: Node, to: Node) {
        self.network.block(from, to);
        let span = self.a_while();
        self.after(span, Ev::Unblock { from, to });
    }

    fn break_connection(&mut self, fault: Fault) {
        let Some(w) = self.some_worker() else { return };
        let (life, connection) = match &self.workers[w].process {
            Some(process) => (self.workers[w].life, process.connection),
            None => return,
        };
        let Some(id) = connection else { return };
        match fault {
            Fault::CoordinatorSeesBreakLate => {
                self.tally
                    .count("fault: connection breaks, coordinator sees it late");
                if !self.workers[w].is_frozen() {
                    let late = some_delay(&mut self.rng);
                    let kept = self.rng.random_range(0..=self.network.under_way(id));
                    self.close_up(id, late, kept);
                    self.end_of_connection(w, life);
                }
            }
            Fault::WorkerSeesBreakLate => {
                self.tally
                    .count("fault: connection breaks, worker sees it late");
                let late = some_delay(&mut self.rng);
                self.break_both(id, 0, late);
            }
            _ => {
                self.tally.count("fault: connection breaks");
                self.break_both(id, 0, 0);
            }
        }
    }

    /// Both halves end; what is under way is lost but for a few messages.
    fn break_both(&mut self, id: ConnId, up_late: Micros, down_late: Micros) {
        let kept = self.rng.random_range(0..=self.network.under_way(id));
        self.close_up(id, up_late, kept);
        let kept = self.rng.random_range(0..3);
        let due = self.network.close(self.now, id, Way::Down, down_late, kept);
        self.arrive(due);
    }

    /// All faults end.
    pub fn calm(&mut self) {
        self.note("calm", format_args!(""));
        self.is_calm = true;
        self.poison = None;
        let due = self.network.calm(self.now);
        due.into_iter().for_each(|due| self.arrive(Some(due)));
        self.coordinator.crash_at = None;
        self.coordinator.full = false;
        self.coordinator.ledger.set_full(false);
        self.thaw_coordinator();
        self.start_coordinator();
        for w in 0..self.workers.len() {
            let machine = &mut self.workers[w];
            machine.disk.set_full(false);
            machine.low_disk = false;
            machine.failures = 0;
            machine.is_small = false;
            machine.lies = false;
            self.thaw(w);
        }
        // Whoever left for good stays away, unless too few are there.
        let members = self.plan.machines.len();
        for w in 0..members {
            self.workers[w].retired = false;
            self.start_worker(w);
        }
        self.after(0, Ev::Urge);
    }
}
