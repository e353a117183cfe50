//! Inputs from the worker's own disk and from other workers, one holder after the other.

use crate::clock::MILLI;
use crate::mutants::SimMutant;
use crate::network::Node;
use crate::sim::{Ev, Sim};
use crate::toy::Set;
use antipode_ids::WorkerId;
use antipode_proto::message::{Failure, Input};
use antipode_solver_core::engine::Digest;
use antipode_worker::session::{Event, LeaseId};
use rand::Rng;

/// Names one question to another worker; an answer to a question that is not open is nothing.
pub type FetchId = u64;

/// A peer that does not answer is given up after this time.
const PATIENCE: u64 = 400 * MILLI;

/// Said of an answer with another digest.
const WRONG: &str = "it sent something wrong";

/// One input that is not here yet.
#[derive(Debug)]
pub struct Fetch {
    input: Input,
    /// In the order in which they are asked.
    left: Vec<(WorkerId, Option<usize>)>,
    tried: Vec<WorkerId>,
    reasons: Vec<String>,
}

/// What came back.
#[derive(Debug, Clone)]
pub enum Answer {
    Set(Digest, Set),
    No(&'static str),
}

impl Sim {
    /// Looks for each input that is not in memory: on the own disk, then elsewhere.
    pub(super) fn begin_fetches(&mut self, w: usize, life: u64, lease: LeaseId) {
        let machine = &mut self.workers[w];
        let disk = machine.disk.as_mut();
        let Some(process) = machine.process.as_mut() else {
            return;
        };
        let Some(preparation) = process.preparing.get_mut(&lease) else {
            return;
        };
        let mut damaged = Vec::new();
        let mut begun = Vec::new();
        for input in preparation.ready.wanted.clone() {
            if let Some(set) = process.shelf.in_memory(&input) {
                preparation.ready.found.insert(input.name, set);
                continue;
            }
            if process.shelf.only_on_disk(&input) {
                match process.shelf.load(input.name, disk) {
                    Ok(Some(set)) => {
                        self.tally.count("input read from disk");
                        preparation.ready.found.insert(input.name, set);
                        continue;
                    }
                    Ok(None) => {}
                    Err(name) => damaged.push(name),
                }
            }
            let start = input.name.shard.0 as usize % input.holders.len().max(1);
            let (later, first) = input.holders.split_at(start);
            let place = |address: &Option<String>| address.as_ref().and_then(|a| a.parse().ok());
            let left = first.iter().chain(later);
            let mut left: Vec<_> = left.map(|h| (h.worker, place(&h.address))).collect();
            left.reverse();
            process.next_fetch += 1;
            let id = process.next_fetch;
            let (tried, reasons) = (Vec::new(), Vec::new());
            let fetch = Fetch {
                input,
                left,
                tried,
                reasons,
            };
            preparation.open.insert(id, fetch);
            begun.push(id);
        }
        if !damaged.is_empty() {
            self.tally.count("damage found when read");
            let (names, reason) = (damaged, "its checksum does not fit".into());
            self.say_to_session(w, life, Event::Lost { names, reason });
        }
        if begun.is_empty() {
            return self.prepared(w, life, lease);
        }
        for id in begun {
            self.ask_next(w, life, lease, id);
        }
    }

    /// Asks the next holder, or gives up.
    fn ask_next(&mut self, w: usize, life: u64, lease: LeaseId, id: FetchId) {
        let me = self.workers[w].member.as_ref().map(|m| m.0);
        loop {
            let Some(preparation) = self
                .process(w, life)
                .and_then(|p| p.preparing.get_mut(&lease))
            else {
                return;
            };
            let Some(fetch) = preparation.open.get_mut(&id) else {
                return;
            };
            let Some((holder, place)) = fetch.left.pop() else {
                if fetch.reasons.is_empty() {
                    fetch.reasons.push("nobody holds it".into());
                }
                let failure = Failure::InputMissing {
                    name: fetch.input.name,
                    tried: std::mem::take(&mut fetch.tried),
                    reason: fetch.reasons.join("; "),
                };
                return self.unprepared(w, life, lease, failure);
            };
            fetch.tried.push(holder);
            match place {
                _ if Some(holder) == me => {
                    fetch.reasons.push("it is not held here any more".into());
                }
                None => fetch.reasons.push("it serves nobody".into()),
                Some(to) => {
                    let (from, to_node) = (Node::Worker(w), Node::Worker(to));
                    let delay = self.network.delay(from, to_node, &mut self.rng);
                    let ask = Ev::Fetch {
                        w,
                        life,
                        lease,
                        id,
                        to,
                    };
                    self.after(delay, ask);
                    return;
                }
            }
        }
    }

    /// A question arrives at the worker that is to have the artifact.
    pub fn serve(&mut self, w: usize, life: u64, lease: LeaseId, id: FetchId, to: usize) {
        let Some(name) = self
            .process(w, life)
            .and_then(|p| Some(p.preparing.get(&lease)?.open.get(&id)?.input.name))
        else {
            return;
        };
        let (here, there) = (Node::Worker(w), Node::Worker(to));
        let silent = self.network.is_blocked(here, there)
            || self.network.is_blocked(there, here)
            || self.workers.get(to).is_some_and(|m| m.is_frozen());
        let answer = |answer| Ev::Answer {
            w,
            life,
            lease,
            id,
            answer,
        };
        if silent {
            self.tally.count("fetch timed out");
            self.after(PATIENCE, answer(Answer::No("too slow")));
            return;
        }
        let delay = self.network.delay(there, here, &mut self.rng);
        let Some((process, disk)) = self
            .workers
            .get_mut(to)
            .and_then(|m| Some((m.process.as_mut()?, m.disk.as_mut())))
        else {
            self.after(delay, answer(Answer::No("nothing answers there")));
            return;
        };
        let damaged = match process.shelf.read(name, disk) {
            Ok(Some((digest, mut set))) => {
                if self.network.damages > 0 {
                    self.network.damages -= 1;
                    self.tally.count("fault: answer damaged");
                    let bit = self.rng.random_range(0..64);
                    set.0[0] ^= 1 << bit;
                }
                if self.network.duplicates > 0 {
                    self.network.duplicates -= 1;
                    self.tally.count("fault: answer twice");
                    let again = self.rng.random_range(0..50 * MILLI);
                    self.after(delay + again, answer(Answer::Set(digest, set)));
                }
                self.after(delay, answer(Answer::Set(digest, set)));
                return;
            }
            Ok(None) => None,
            Err(name) => Some(name),
        };
        self.after(delay, answer(Answer::No("it is not held there")));
        if let Some(name) = damaged {
            self.tally.count("damage found when read");
            let (names, reason) = (vec![name], "its checksum does not fit".into());
            let life = self.workers[to].life;
            self.say_to_session(to, life, Event::Lost { names, reason });
        }
    }

    /// An answer arrives; one to a question that is not open any more changes nothing.
    pub fn answered(&mut self, w: usize, life: u64, lease: LeaseId, id: FetchId, answer: Answer) {
        let put_off = || Ev::Answer {
            w,
            life,
            lease,
            id,
            answer: answer.clone(),
        };
        if self.is_put_off(w, life, put_off) {
            return;
        }
        let trusting = self.is_mutant(SimMutant::AcceptWrongChecksum);
        let Some(process) = self.process(w, life) else {
            return;
        };
        let Some(preparation) = process.preparing.get_mut(&lease) else {
            return;
        };
        let Some(fetch) = preparation.open.get_mut(&id) else {
            return;
        };
        let wanted = &fetch.input;
        let reason = match answer {
            Answer::No(reason) => reason,
            Answer::Set(_, set) if set.digest() != wanted.digest && !trusting => WRONG,
            Answer::Set(_, set) => {
                let (name, digest) = (wanted.name, wanted.digest);
                preparation.open.remove(&id);
                preparation.ready.found.insert(name, set);
                preparation.ready.fetched_bytes += 32;
                let all = preparation.open.is_empty();
                process.shelf.insert_fetched(name, set, digest);
                self.tally.count("input fetched");
                if all {
                    self.prepared(w, life, lease);
                }
                return;
            }
        };
        fetch.reasons.push(reason.into());
        if reason == WRONG {
            self.tally.count("wrong answer refused");
        }
        self.ask_next(w, life, lease, id);
    }
}
