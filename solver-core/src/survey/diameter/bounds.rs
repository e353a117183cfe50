//! Diameter and radius alone, exactly, by bounds of eccentricities.
//!
//! A known eccentricity bounds all others: over an edge `u -> v` it is `e(u) <= 1 + e(v)`, so upper bounds spread
//! backwards along edges and lower bounds forwards, each loosened by one a step; and `e(u) >= d(u, v)` for any `v`.
//! Takes, Kosters: Determining the diameter of small world networks, CIKM 2011, do so one source at a time, for
//! undirected graphs. Here 512 sources are searched from in a round, and bounds spread from all known
//! states at once. Sources whose neighbourhoods overlap would settle the same states twice, so those of a
//! round lie apart.

use super::all_pairs::complete;
use super::error::SurveyError;
use super::graph::Graph;
use super::sweep::{SOURCES, Sweep, WORDS};
use super::symmetry::Symmetry;
use crate::group::rng::mix;
use serde::{Deserialize, Serialize};

/// What is known of radius and diameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    pub diameter: u32,
    /// The smallest outward eccentricity.
    pub radius: u32,
    /// States that were searched from.
    pub sources: u64,
    /// States whose eccentricity was found, with those that automorphisms carry them to.
    pub known: u64,
    /// Rounds of up to 512 sources.
    pub rounds: u32,
}

/// Radius and diameter of `graph`, over all its components. Members of a class of `symmetry` have equal eccentricities.
/// `stop` is asked between levels; `each` is told sources, known states and the bounds
/// `[radius from, to, diameter from, to]` after every round.
///
/// # Errors
/// [`SurveyError::Stopped`].
pub fn bounds(
    graph: &Graph,
    symmetry: &Symmetry,
    stop: &(dyn Fn() -> bool + Sync),
    mut each: impl FnMut(u64, u64, [u32; 4]),
) -> Result<Bounds, SurveyError> {
    let mut state = State::new(graph, symmetry);
    let mut sweep = Sweep::new(graph.states());
    let mut sources = state.first_sources();
    loop {
        state.search(&mut sweep, &sources, stop)?;
        let found = state.found();
        let [radius_low, radius, diameter, diameter_high] = found;
        each(state.searched, state.known, found);
        if radius_low >= radius && diameter >= diameter_high {
            return Ok(Bounds {
                diameter,
                radius,
                sources: state.searched,
                known: state.known,
                rounds: state.rounds,
            });
        }
        sources = state.next_sources(radius, diameter);
    }
}

struct State<'a> {
    graph: &'a Graph,
    symmetry: &'a Symmetry,
    /// Bounds of every state's eccentricity; equal where it is known.
    low: Vec<u32>,
    high: Vec<u32>,
    /// Eccentricities of the last round, ascending.
    last: Vec<u32>,
    searched: u64,
    known: u64,
    rounds: u32,
}

impl<'a> State<'a> {
    fn new(graph: &'a Graph, symmetry: &'a Symmetry) -> State<'a> {
        let n = graph.states() as usize;
        State {
            graph,
            symmetry,
            low: vec![0; n],
            high: (0..graph.states())
                .map(|s| graph.reachable(s) - 1)
                .collect(),
            last: Vec::new(),
            searched: 0,
            known: 0,
            rounds: 0,
        }
    }

    /// Bounds of the radius and of the diameter.
    fn found(&self) -> [u32; 4] {
        let least = |list: &[u32]| list.iter().copied().min().unwrap_or(0);
        let most = |list: &[u32]| list.iter().copied().max().unwrap_or(0);
        [
            least(&self.low),
            least(&self.high),
            most(&self.low),
            most(&self.high),
        ]
    }

    /// The roots and some others.
    fn first_sources(&self) -> Vec<u32> {
        let mut picked: Vec<u32> = self.graph.roots().to_vec();
        picked.extend(self.shuffled(|_| true).into_iter().take(SOURCES));
        self.distinct(picked)
    }

    /// Searches from the sources and draws all conclusions.
    fn search(
        &mut self,
        sweep: &mut Sweep,
        sources: &[u32],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), SurveyError> {
        let eccentricities = self.eccentricities(sweep, sources, stop)?;
        let mut classes: Vec<(u32, u32)> = sources
            .iter()
            .map(|&s| self.symmetry.leader(s))
            .zip(eccentricities.iter().copied())
            .collect();
        classes.sort_unstable();
        for s in 0..self.graph.states() {
            if let Ok(k) = classes.binary_search_by_key(&self.symmetry.leader(s), |c| c.0) {
                let (i, e) = (s as usize, classes[k].1);
                if self.low[i] > e || self.high[i] < e {
                    return Err(SurveyError::Violated(format!(
                        "state {s} has eccentricity {e}, outside its bounds {} and {}",
                        self.low[i], self.high[i]
                    )));
                }
                (self.low[i], self.high[i]) = (e, e);
                self.known += 1;
            }
        }
        self.last = eccentricities;
        self.last.sort_unstable();
        self.searched += sources.len() as u64;
        self.rounds += 1;
        self.spread_high();
        self.spread_low();
        Ok(())
    }

    /// Eccentricities of the sources; by the way every state learns how far it is from the farthest of them.
    fn eccentricities(
        &mut self,
        sweep: &mut Sweep,
        sources: &[u32],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<u32>, SurveyError> {
        let mut out = vec![0; sources.len()];
        // Distances to the sources bound the eccentricities of others, distances from them are the sources' own.
        let directed = self.graph.is_directed();
        let directions: &[bool] = if directed { &[true, false] } else { &[true] };
        let wanted: u64 = sources
            .iter()
            .map(|&s| u64::from(self.graph.reachable(s)))
            .sum();
        for &backwards in directions {
            sweep.start(sources);
            let (mut found, mut distance) = (sources.len() as u64, 0);
            while found < wanted {
                if stop() {
                    return Err(SurveyError::Stopped);
                }
                distance += 1;
                let level = sweep.step(
                    self.graph.edges(backwards),
                    self.graph.moves(),
                    &complete(sources.len()),
                );
                if level.sources == [0; WORDS] {
                    return Err(SurveyError::Violated(format!(
                        "a search reached {found} pairs of {wanted}"
                    )));
                }
                found += level.pairs;
                if backwards {
                    for (s, e) in out.iter_mut().enumerate() {
                        if level.sources[s / 64] >> (s % 64) & 1 == 1 {
                            *e = distance;
                        }
                    }
                }
                if !directed || !backwards {
                    for (low, changed) in self.low.iter_mut().zip(sweep.changed()) {
                        if changed {
                            *low = (*low).max(distance);
                        }
                    }
                }
            }
        }
        Ok(out)
    }

    /// `high(u) <= 1 + high(v)` for every edge `u -> v`, smallest first.
    fn spread_high(&mut self) {
        let (edges, moves) = (self.graph.edges(true), self.graph.moves());
        let worth = self.high.iter().copied().max().unwrap_or(0);
        let mut buckets = Buckets::new(&self.high, |h| h < worth);
        let mut value = 0;
        while value < buckets.len() {
            for v in std::mem::take(&mut buckets.0[value]) {
                if self.high[v as usize] as usize != value {
                    continue;
                }
                for &u in &edges[v as usize * moves..][..moves] {
                    if self.high[u as usize] as usize > value + 1 {
                        self.high[u as usize] = value as u32 + 1;
                        buckets.push(value + 1, u);
                    }
                }
            }
            value += 1;
        }
    }

    /// `low(v) >= low(u) - 1` for every edge `u -> v`, greatest first.
    fn spread_low(&mut self) {
        let mut buckets = Buckets::new(&self.low, |_| true);
        for value in (1..buckets.len()).rev() {
            for u in std::mem::take(&mut buckets.0[value]) {
                if self.low[u as usize] as usize != value {
                    continue;
                }
                for &v in self.graph.after(u) {
                    if (self.low[v as usize] as usize) < value - 1 {
                        self.low[v as usize] = value as u32 - 1;
                        buckets.push(value - 1, v);
                    }
                }
            }
        }
    }

    /// States that a search would help with, at most [`SOURCES`]: half of them for each of the two questions that is open.
    fn next_sources(&self, radius: u32, diameter: u32) -> Vec<u32> {
        let mut central = self.shuffled(|i| self.low[i] < radius && self.low[i] < self.high[i]);
        central.sort_by_key(|&s| self.low[s as usize]);
        let open = self.shuffled(|i| self.high[i] > diameter);
        let half = if open.is_empty() {
            SOURCES
        } else {
            SOURCES / 2
        };
        let mut picked: Vec<u32> = self.distinct(central);
        picked.truncate(half);
        // A state of middling eccentricity settles what lies this near.
        let middle = self.last.get(self.last.len() / 2).copied().unwrap_or(0);
        let reach = diameter.saturating_sub(middle);
        let mut covered = vec![false; self.low.len()];
        let mut rest = Vec::new();
        for &s in &open {
            if picked.len() >= SOURCES {
                break;
            }
            if covered[s as usize] {
                rest.push(s);
            } else {
                self.cover(s, reach, &mut covered);
                picked.push(s);
            }
        }
        picked.extend(rest);
        self.distinct(picked)
    }

    /// Marks the states that have at most `reach` moves to `s`.
    fn cover(&self, s: u32, reach: u32, covered: &mut [bool]) {
        let (edges, moves) = (self.graph.edges(true), self.graph.moves());
        let mut level = vec![s];
        covered[s as usize] = true;
        for _ in 0..reach {
            let mut next = Vec::new();
            for &v in &level {
                for &u in &edges[v as usize * moves..][..moves] {
                    if !std::mem::replace(&mut covered[u as usize], true) {
                        next.push(u);
                    }
                }
            }
            level = next;
        }
    }

    /// The states that `wanted` takes, in an order that is the same everywhere and means nothing.
    fn shuffled(&self, wanted: impl Fn(usize) -> bool) -> Vec<u32> {
        let mut list: Vec<u32> = (0..self.graph.states())
            .filter(|&s| wanted(s as usize))
            .collect();
        let salt = u64::from(self.rounds) << 32;
        list.sort_by_cached_key(|&s| mix(salt | u64::from(s)));
        list
    }

    /// One state of each class, at most [`SOURCES`], in order.
    fn distinct(&self, list: Vec<u32>) -> Vec<u32> {
        let mut seen = std::collections::HashSet::new();
        let fresh = |s: &u32| seen.insert(self.symmetry.leader(*s));
        list.into_iter().filter(fresh).take(SOURCES).collect()
    }
}

/// States by value.
struct Buckets(Vec<Vec<u32>>);

impl Buckets {
    fn new(values: &[u32], wanted: impl Fn(u32) -> bool) -> Buckets {
        let mut out = Buckets(Vec::new());
        for (s, &value) in (0u32..).zip(values) {
            if wanted(value) {
                out.push(value as usize, s);
            }
        }
        out
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn push(&mut self, value: usize, s: u32) {
        if self.0.len() <= value {
            self.0.resize_with(value + 1, Vec::new);
        }
        self.0[value].push(s);
    }
}
