//! One search from both ends: which side is raised next, within the budget, and what is known at the end.

use super::ball::Ball;
use super::beam;
use super::filter::Filter;
use super::key::{Key, Shifts};
use super::meet::Goal;
use super::search::{Budget, Ended, Found, Proof, Search, SearchError};
use super::symmetry::mirror;
use crate::perm::Perm;
use std::collections::HashSet;

struct Target<K> {
    goal: Goal<K>,
    proof: Proof,
    word: Option<Vec<u16>>,
}

pub(super) struct Run<'a, K> {
    pub(super) moves: &'a [Perm],
    pub(super) back: Vec<Shifts<K>>,
    pub(super) closed: bool,
    all_odd: bool,
    pub(super) ball: Ball<K>,
    /// Of the last level.
    pub(super) filter: Filter,
    targets: Vec<Target<K>>,
    pub(super) mirror: Option<Perm>,
    /// Radius of the spheres around targets that are looked up.
    pub(super) probe: usize,
    /// How far targets are moved before.
    pub(super) outer: usize,
    budget: Budget,
    nodes: u64,
    bytes: u64,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a, K: Key> Run<'a, K> {
    pub fn new(
        moves: &'a [Perm],
        targets: &[Perm],
        budget: Budget,
        stop: &'a (dyn Fn() -> bool + Sync),
    ) -> Run<'a, K> {
        let all: HashSet<&Perm> = moves.iter().collect();
        let closed = moves.iter().all(|m| all.contains(&m.inverse()));
        let mirror = mirror(moves);
        let ball: Ball<K> = Ball::new(moves, mirror.as_ref(), closed);
        Run {
            moves,
            back: moves.iter().map(|m| Shifts::of(&m.inverse())).collect(),
            closed,
            all_odd: moves.iter().all(|m| !m.is_even()),
            filter: Filter::of(ball.level(0)),
            ball,
            targets: targets
                .iter()
                .map(|s| Target {
                    goal: Goal::new(s.clone(), mirror.as_ref()),
                    proof: Proof { ball: 0, probe: 0 },
                    word: None,
                })
                .collect(),
            mirror,
            probe: 0,
            outer: 0,
            budget,
            nodes: 1,
            bytes: 0,
            stop,
        }
    }

    pub fn run(mut self) -> Result<Search, SearchError> {
        let mut ended = self.look_up()?;
        while ended.is_none() {
            ended = match self.next_step() {
                Err(why) => Some(why),
                Ok(Step::Probe) => {
                    self.probe += 1;
                    self.look_up()?
                }
                Ok(Step::Outer) => {
                    self.outer += 1;
                    self.look_up()?
                }
                Ok(Step::Grow { transient }) => {
                    // The filter of the level before makes room first.
                    self.filter = Filter::default();
                    if self.ball.grow(transient, self.stop) {
                        let last = self.ball.level(self.ball.depth());
                        if last.keys == 0 {
                            return Err(SearchError::NotInGroup);
                        }
                        self.nodes += last.keys;
                        self.filter = Filter::of(last);
                        self.look_up()?
                    } else {
                        Some(Ended::Stopped)
                    }
                }
            };
        }
        Ok(Search {
            found: self
                .targets
                .iter()
                .map(|t| self.found(t))
                .collect::<Result<_, _>>()?,
            ended: ended.unwrap_or(Ended::Complete),
            nodes: self.nodes,
            radius: self.ball.depth() as u32,
            bytes: self.bytes,
        })
    }

    fn found(&self, target: &Target<K>) -> Result<Found, SearchError> {
        Ok(match &target.word {
            Some(word) => Found::Exact {
                distance: word.len() as u32,
                word: word.clone(),
            },
            None => {
                let mut lower = target.proof.ball + target.proof.probe + 1;
                lower += u32::from(!self.fits(target, lower as usize));
                Found::Open {
                    lower,
                    proof: target.proof,
                    word: self.some_word(&target.goal.state)?,
                }
            }
        })
    }

    /// A word that makes the state, as short as is easily found, where moves can be undone.
    fn some_word(&self, state: &Perm) -> Result<Option<Vec<u16>>, SearchError> {
        let undo = |m: &Perm| {
            let inverse = m.inverse();
            self.moves.iter().position(|g| *g == inverse)
        };
        let inverse: Option<Vec<u16>> = self
            .moves
            .iter()
            .map(|m| undo(m).map(|k| k as u16))
            .collect();
        let Some(inverse) = inverse else {
            return Ok(None);
        };
        let start = K::pack((0..state.len()).map(|i| state.at(i)));
        let moves: Vec<Shifts<K>> = self.moves.iter().map(Shifts::of).collect();
        let longest = state.len() * state.len();
        let word = beam::word(
            &self.ball,
            &moves,
            &inverse,
            (start, state.len()),
            longest,
            self.stop,
        );
        match word {
            Some(word) if !self.product(&word, state.len()).eq(state) => {
                Err(SearchError::WrongWord)
            }
            word => Ok(word),
        }
    }

    pub(super) fn product(&self, word: &[u16], points: usize) -> Perm {
        word.iter().fold(Perm::identity(points), |s, &m| {
            s.then(&self.moves[usize::from(m)])
        })
    }

    /// Where all moves are odd, the parity of a distance is known.
    fn fits(&self, target: &Target<K>, distance: usize) -> bool {
        !self.all_odd || target.goal.state.is_even() == distance.is_multiple_of(2)
    }

    fn open(&self) -> u64 {
        self.targets.iter().filter(|t| t.word.is_none()).count() as u64
    }

    /// States that a look-up of sphere `at` for one target asks for, at most.
    fn asked(&self, at: usize) -> u64 {
        self.ball.level(at).keys * if self.ball.mirror().is_some() { 2 } else { 1 }
    }

    /// What excludes or finds the next distance at the least cost, or why nothing can.
    fn next_step(&mut self) -> Result<Step, Ended> {
        let open = self.open();
        let left = self.budget.max_nodes.saturating_sub(self.nodes);
        if self.outer > 0 {
            return self.outward(left);
        }
        let next = self.ball.next_keys();
        let transient = self.ball.transient(self.budget.memory_bytes / 4);
        let bytes = self.ball.bytes() + next * K::BYTES + transient.max(Filter::bytes(next));
        let fits = bytes <= self.budget.memory_bytes;
        // Both must leave nodes for at least one target's look-up.
        let grow = (fits && next + self.asked(self.probe) <= left)
            .then(|| next + open * self.asked(self.probe));
        let probe = (self.probe < self.ball.depth())
            .then(|| self.asked(self.probe + 1))
            .filter(|&one| one <= left)
            .map(|one| open * one);
        match (grow, probe) {
            (Some(grow), Some(probe)) if probe <= grow => Ok(Step::Probe),
            (None, Some(_)) => Ok(Step::Probe),
            (Some(_), _) => {
                self.bytes = self.bytes.max(bytes);
                Ok(Step::Grow { transient })
            }
            (None, None) if fits || self.probe < self.ball.depth() => Err(Ended::Nodes),
            (None, None) => self.outward(left),
        }
    }

    /// Moves the targets one step further, if that leaves nodes for one of them.
    fn outward(&self, left: u64) -> Result<Step, Ended> {
        if self.outer == self.ball.depth() {
            return Err(Ended::Memory);
        }
        let cost = self
            .asked(self.outer + 1)
            .saturating_mul(self.asked(self.probe));
        if cost <= left {
            Ok(Step::Outer)
        } else {
            Err(Ended::Nodes)
        }
    }

    /// Asks for all open targets whether their distance is radius + probe + outer.
    fn look_up(&mut self) -> Result<Option<Ended>, SearchError> {
        let distance = self.ball.depth() + self.probe + self.outer;
        let outer = self.ball.states_of(self.outer);
        for at in 0..self.targets.len() {
            let target = &self.targets[at];
            if target.word.is_some() {
                continue;
            }
            if self.fits(target, distance) {
                // The first look-up, for the identity itself, is free.
                let cost = match distance {
                    0 => 0,
                    _ if self.outer == 0 && target.goal.mirrored.is_none() => {
                        self.ball.level(self.probe).keys
                    }
                    _ => outer.len() as u64 * self.asked(self.probe),
                };
                if self.nodes + cost > self.budget.max_nodes.max(1) {
                    return Ok(Some(Ended::Nodes));
                }
                self.nodes += cost;
                let word = self.least(&target.goal, &outer)?;
                if (self.stop)() {
                    return Ok(Some(Ended::Stopped));
                }
                if word.is_some() {
                    self.targets[at].word = word;
                    continue;
                }
            }
            self.targets[at].proof = Proof {
                ball: self.ball.depth() as u32,
                probe: (self.probe + self.outer) as u32,
            };
        }
        Ok((self.open() == 0).then_some(Ended::Complete))
    }
}

enum Step {
    /// A larger sphere around the targets.
    Probe,
    /// Targets moved further.
    Outer,
    /// A larger ball.
    Grow { transient: u64 },
}
