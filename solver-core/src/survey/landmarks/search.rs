//! Exact distances from both ends: a ball around the identity, and around each state spheres that are looked up in it.
//!
//! A word of `R + I` moves that makes `s` is `x * y` with `x` at distance `I` and `y` at distance `R`. So
//! with all smaller distances excluded, `d(s) = R + I` exactly if for some `x` of sphere `I` the
//! state `inverse(x) * s` lies in sphere `R`; where the moves are closed under inverse, so do the spheres, and
//! `inverse(s) * x` is asked for instead. All such `x` are found, hence the least word as well.
//!
//! Where memory allows no larger ball and `I = R`, the target itself is moved: `d(s) = A + R + I` exactly if some `w` at
//! distance `A` has `d(inverse(w) * s) = R + I`. Spheres beyond the ball are walked that way without being stored.

use super::ball::{Ball, Filter};
use super::beam;
use super::key::{Key, MAX_POINTS, Renaming, Shifts};
use super::symmetry::{Mirror, conjugate, mirror};
use crate::perm::Perm;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What a search may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// States made for the ball (one of each two mirrored) plus states looked up in it, over all targets. The size of the next
    /// level is predicted, so the limit may be passed by a few per cent of one level.
    pub max_nodes: u64,
    /// Bytes of the ball and what is needed to make it, about.
    pub memory_bytes: u64,
}

/// What ended a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// Every target has its exact distance.
    Complete,
    /// The next step would have taken more nodes than allowed.
    Nodes,
    /// The next step would have taken more memory than allowed.
    Memory,
    /// It was asked to stop.
    Stopped,
}

/// What is known of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The distance, and the lexicographically least word of this length (numbers of moves).
    Exact { distance: u32, word: Vec<u16> },
    /// No word is shorter than `lower`; a word that makes the target, where one is known, need not be a shortest.
    Open {
        lower: u32,
        proof: Proof,
        word: Option<Vec<u16>>,
    },
}

/// Why no shorter word exists: there is none of `ball + probe` or fewer moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// All states up to this distance from the identity are known ..
    pub ball: u32,
    /// .. and none of them is at up to this distance from the target.
    pub probe: u32,
}

/// A sentence.
impl std::fmt::Display for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "no word of {} or fewer moves: all states up to {} from the identity are known, none of them is within {} of the landmark",
            self.ball + self.probe,
            self.ball,
            self.probe
        )
    }
}

/// The answer of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// One a target, in their order.
    pub found: Vec<Found>,
    pub ended: Ended,
    pub nodes: u64,
    /// Radius of the ball.
    pub radius: u32,
    /// The most bytes that were planned for at once.
    pub bytes: u64,
}

/// Why a search cannot begin, or went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    #[error("{points} points; a search from both ends takes at most {MAX_POINTS}")]
    TooManyPoints { points: usize },
    #[error("the word found for a target does not make it; this is a fault of the program")]
    WrongWord,
    #[error("a target was not found although the whole group was: it is not in the group")]
    NotInGroup,
}

/// Distances from the identity of `targets`, all of them elements of the group of `moves`, in the graph where every
/// move costs 1. `stop` is asked now and then; when it says yes, what is known by then comes back.
///
/// # Errors
/// More than [`MAX_POINTS`] points; a target outside of the group, if that is noticed.
pub fn search(
    moves: &[Perm],
    targets: &[Perm],
    budget: Budget,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Search, SearchError> {
    match moves.first().map_or(0, Perm::len) {
        0..=16 => Run::<u64>::new(moves, targets, budget, stop).run(),
        17..=MAX_POINTS => Run::<u128>::new(moves, targets, budget, stop).run(),
        points => Err(SearchError::TooManyPoints { points }),
    }
}

/// A state whose distance is asked for.
struct Goal<K> {
    state: Perm,
    /// Renames by the inverse of the state.
    renaming: Renaming<K>,
    /// The same of its mirror image, where that is another state: `standard(inverse(s) * image(x))` is `standard(inverse(image(s)) * x)`.
    mirrored: Option<Renaming<K>>,
}

impl<K: Key> Goal<K> {
    fn new(state: Perm, mirror: Option<&Perm>) -> Goal<K> {
        Goal {
            renaming: Renaming::of(&state.inverse()),
            mirrored: mirror
                .map(|p| conjugate(p, &state))
                .filter(|image| *image != state)
                .map(|image| Renaming::of(&image.inverse())),
            state,
        }
    }
}

struct Target<K> {
    goal: Goal<K>,
    proof: Proof,
    word: Option<Vec<u16>>,
}

struct Run<'a, K> {
    moves: &'a [Perm],
    back: Vec<Shifts<K>>,
    closed: bool,
    all_odd: bool,
    ball: Ball<K>,
    /// Of the last level.
    filter: Filter,
    targets: Vec<Target<K>>,
    mirror: Option<Perm>,
    /// Radius of the spheres around targets that are looked up.
    probe: usize,
    /// How far targets are moved before.
    outer: usize,
    budget: Budget,
    nodes: u64,
    bytes: u64,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a, K: Key> Run<'a, K> {
    fn new(
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

    fn run(mut self) -> Result<Search, SearchError> {
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
                    self.filter = Filter::of(&Ball::<K>::new(self.moves, None, true).level(0));
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

    fn product(&self, word: &[u16], points: usize) -> Perm {
        word.iter().fold(Perm::identity(points), |s, &m| {
            s.then(&self.moves[usize::from(m)])
        })
    }

    /// Where all moves are odd, the parity of a distance is known.
    fn fits(&self, target: &Target<K>, distance: usize) -> bool {
        !self.all_odd || target.goal.state.is_even() == (distance % 2 == 0)
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

    /// The least word of radius + probe + outer moves that makes the goal, if there is one.
    fn least(&self, goal: &Goal<K>, outer: &[K]) -> Result<Option<Vec<u16>>, SearchError> {
        let mut best: Option<Vec<u16>> = None;
        for &w in outer {
            if (self.stop)() {
                return Ok(None);
            }
            let moved;
            let rest = if self.outer == 0 {
                goal
            } else {
                let images: Vec<u16> = (0..goal.state.len()).map(|i| w.label(i) as u16).collect();
                let w = Perm::from_images(&images).map_err(|_| SearchError::WrongWord)?;
                moved = Goal::new(w.inverse().then(&goal.state), self.mirror.as_ref());
                &moved
            };
            let middles = self.middles(rest);
            if middles.is_empty() {
                continue;
            }
            let (mut word, _) = self.ball.least_word(self.outer, &[w], &self.back);
            word.extend(self.word(rest, &middles)?);
            if best.as_ref().is_none_or(|b| word < *b) {
                best = Some(word);
            }
        }
        match &best {
            Some(word) if !self.makes(word, &goal.state) => Err(SearchError::WrongWord),
            _ => Ok(best),
        }
    }

    /// Does the word, of the length that is looked for, make the state?
    fn makes(&self, word: &[u16], state: &Perm) -> bool {
        self.product(word, state.len()) == *state
            && word.len() == self.ball.depth() + self.probe + self.outer
    }

    /// All `x` of the sphere with `inverse(x) * s` in the last level of the ball.
    fn middles(&self, goal: &Goal<K>) -> Vec<K> {
        let last = self.ball.level(self.ball.depth());
        let mirror = self.ball.mirror();
        let spheres = self.ball.level(self.probe).parts().par_iter();
        spheres
            .flat_map_iter(|keys| {
                let mut out = Vec::new();
                let (mut rests, mut hits) = (Vec::new(), Vec::new());
                for keys in keys.chunks(1024) {
                    if (self.stop)() {
                        break;
                    }
                    rests.clear();
                    rests.extend(keys.iter().map(|&x| self.rest(goal, x)));
                    hits.clear();
                    self.filter.members(&self.ball, last, &rests, &mut hits);
                    out.extend(hits.iter().map(|&hit| keys[hit]));
                    let Some(mirror) = mirror else { continue };
                    if goal.mirrored.is_some() {
                        rests.clear();
                        rests.extend(keys.iter().map(|&x| self.rest_of_image(goal, mirror, x)));
                        hits.clear();
                        self.filter.members(&self.ball, last, &rests, &mut hits);
                    }
                    out.extend(hits.iter().map(|&hit| mirror.image(keys[hit])));
                }
                out
            })
            .collect()
    }

    /// [`Run::rest`] of the mirror image of `x`, or its mirror image.
    fn rest_of_image(&self, goal: &Goal<K>, mirror: &Mirror<K>, x: K) -> K {
        match &goal.mirrored {
            Some(renaming) if self.closed => renaming.apply(x),
            _ => self.rest(goal, mirror.image(x)),
        }
    }

    /// `inverse(x) * s`, or its inverse where that is at the same distance.
    fn rest(&self, goal: &Goal<K>, x: K) -> K {
        if self.closed {
            goal.renaming.apply(x)
        } else {
            self.after(goal, x)
        }
    }

    /// `inverse(x) * s`: at the position where `s` has the label `x[i]` stands `i`.
    fn after(&self, goal: &Goal<K>, x: K) -> K {
        let inverse = goal.renaming.apply(x);
        (0..goal.state.len()).fold(K::default(), |key, i| key | K::put(i, inverse.label(i)))
    }

    /// The least word through one of the middles.
    fn word(&self, goal: &Goal<K>, middles: &[K]) -> Result<Vec<u16>, SearchError> {
        let (mut word, x) = self.ball.least_word(self.probe, middles, &self.back);
        let rest = self.after(goal, x);
        let (second, _) = self.ball.least_word(self.ball.depth(), &[rest], &self.back);
        word.extend(second);
        Ok(word)
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
