//! Graphs that look the same from every state: one search from the root answers for all pairs.
//!
//! The group acts regularly on the states if it has as many elements as there are states of one root. Then states are
//! group elements, moves multiply from the right, and multiplication from the left is an automorphism that carries any
//! state to any other. Whether labels repeat does not matter.

use super::answer::{Answer, Method, Pair, Pairs};
use super::error::SurveyError;
use crate::group::chain::Chain;
use crate::group::colouring::count_states;
use crate::perm::Perm;
use crate::puzzle::{Puzzle, State};
use std::collections::HashSet;

/// Is one search enough?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transitivity {
    /// Proved: the graph is the Cayley graph of its group.
    Regular {
        /// A sentence that says why one search is enough.
        reason: String,
    },
    /// Not proved, and not assumed.
    Unproved {
        /// A sentence that says why one search is not enough.
        reason: String,
    },
}

impl Transitivity {
    /// Compares the order of the group (by a verified stabiliser chain) with the number of states.
    ///
    /// # Errors
    /// [`SurveyError::Group`] where the group has no explicit stabiliser chain.
    pub fn of(puzzle: &Puzzle) -> Result<Transitivity, SurveyError> {
        let [root] = puzzle.roots() else {
            return Ok(Transitivity::Unproved {
                reason: format!(
                    "{} roots: their levels are distances to the nearest root, not to one state, and say nothing about other pairs",
                    puzzle.roots().len()
                ),
            });
        };
        let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
        let natural: Vec<u16> = (0..puzzle.degree() as u16).collect();
        let chain = Chain::build(puzzle.degree(), &moves, &natural, None)?;
        let count = count_states(&chain, &moves, root)?;
        let order = count.group_order;
        Ok(match count.states {
            Some(states) if states == order => Transitivity::Regular {
                reason: format!(
                    "group order = number of states = {order}: the group acts regularly, so multiplication from the left \
                     carries every state to every other and keeps distances, and one search from the root answers for all pairs"
                ),
            },
            Some(states) => Transitivity::Unproved {
                reason: format!(
                    "the group has {order} elements and there are {states} states: several elements lead to each state, so one \
                     search from the root does not answer for other states"
                ),
            },
            None => Transitivity::Unproved {
                reason: format!(
                    "the group has {order} elements, the number of states is not proved ({}), so one search from the root is \
                     not known to answer for other states",
                    count.proof
                ),
            },
        })
    }

    /// Is one search enough?
    pub fn is_regular(&self) -> bool {
        matches!(self, Transitivity::Regular { .. })
    }

    /// The sentence.
    pub fn reason(&self) -> &str {
        match self {
            Transitivity::Regular { reason } | Transitivity::Unproved { reason } => reason,
        }
    }
}

/// What a search from the root found of its last level.
#[derive(Debug, Clone)]
pub struct LastLevel<'a> {
    /// The smallest of its states, ascending, with the lexicographically least shortest words from the root.
    pub states: &'a [(State, Vec<u16>)],
    /// Directed lists: how many states of the whole level are inverses of states of it, where that is known
    /// without the list. Lists closed under inverse: ignored.
    pub mutual: Option<u64>,
}

/// The answer for all pairs from the level counts of a complete search from the root. `transitivity` must be
/// regular, `max_pairs` pairs are listed.
///
/// Every pair is `(u, u g)` with `g` an element at greatest distance, and its least word is that of `g`. So pairs are
/// listed where `last` holds the whole last level, or where it holds `max_pairs` states and the root is the
/// smallest state; and unordered pairs are counted for directed lists where it holds the whole level or `mutual` is known.
pub fn answer_by_transitivity(
    puzzle: &Puzzle,
    transitivity: &Transitivity,
    counts: &[u128],
    last: &LastLevel<'_>,
    max_pairs: usize,
) -> Result<Answer, SurveyError> {
    let violated = |what: &str| SurveyError::Violated(what.into());
    if !transitivity.is_regular() || counts.is_empty() {
        return Err(violated(
            "an answer by transitivity needs a complete search of a regular action",
        ));
    }
    let states: u128 = counts.iter().sum();
    let diameter = counts.len() - 1;
    let farthest = counts[diameter];
    let is_whole = last.states.len() as u128 == farthest;
    let elements: Vec<Perm> = last
        .states
        .iter()
        .map(|(_, word)| element(puzzle, word))
        .collect();
    let mutual = if puzzle.is_inverse_closed() {
        Some(farthest)
    } else if is_whole {
        let root = &puzzle.roots()[0];
        let all: HashSet<&[u16]> = last.states.iter().map(|(s, _)| &**s).collect();
        let back = |g: &&Perm| all.contains(g.inverse().apply(root).as_slice());
        Some(elements.iter().filter(back).count() as u128)
    } else {
        last.mutual.map(u128::from)
    };
    let ordered = states * farthest;
    let unordered = mutual.map(|mutual| {
        if diameter == 0 {
            ordered
        } else {
            ordered - states * mutual / 2
        }
    });
    let first = smallest_states(puzzle, 1)?;
    let from_root = first.first() == Some(&puzzle.roots()[0]) && max_pairs <= last.states.len();
    let sources = match (is_whole, from_root) {
        (false, false) => Vec::new(),
        (false, true) => first,
        (true, _) => smallest_states(puzzle, max_pairs.div_ceil(elements.len().max(1)))?,
    };
    let mut list = Vec::new();
    for u in sources {
        let mut pairs: Vec<Pair> = elements
            .iter()
            .zip(last.states)
            .map(|(g, (_, word))| Pair {
                from: u.clone(),
                to: g.apply(&u).into(),
                word: word.clone(),
            })
            .collect();
        pairs.sort_unstable();
        list.extend(pairs);
    }
    list.truncate(max_pairs);
    let missing = (list.is_empty() && max_pairs > 0 || unordered.is_none()).then(|| {
        format!(
            "{farthest} states are at distance {diameter} from the root, of which {} are listed; the rest needs all of them",
            last.states.len()
        )
    });
    let mut eccentricities = vec![0; diameter + 1];
    eccentricities[diameter] = states;
    Ok(Answer {
        method: Method::Transitive,
        transitive: true,
        reason: transitivity.reason().into(),
        states,
        components: 1,
        diameter: Some(diameter as u32),
        radius: Some(diameter as u32),
        eccentricities: Some(eccentricities),
        distances: Some(counts.iter().map(|c| c * states).collect()),
        pairs: Some(Pairs {
            ordered,
            unordered,
            list,
            missing,
        }),
    })
}

/// The group element of a word.
fn element(puzzle: &Puzzle, word: &[u16]) -> Perm {
    let start = Perm::identity(puzzle.degree());
    word.iter().fold(start, |g, &m| {
        g.then(&puzzle.generators()[usize::from(m)].perm)
    })
}

/// More partial elements than this are not kept where labels repeat.
const PARTIAL_MAX: usize = 1 << 20;

/// The smallest `count` states of the first root's orbit, ascending, without listing the orbit: position by
/// position along a stabiliser chain. Elements that agree on all labels so far go on together.
pub fn smallest_states(puzzle: &Puzzle, count: usize) -> Result<Vec<State>, SurveyError> {
    let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
    let natural: Vec<u16> = (0..puzzle.degree() as u16).collect();
    let chain = Chain::build(puzzle.degree(), &moves, &natural, None)?;
    let mut walk = Walk {
        chain: &chain,
        root: &puzzle.roots()[0],
        count,
        found: Vec::new(),
    };
    let start = vec![Perm::identity(puzzle.degree())];
    walk.go(0, 0, start, &mut Vec::new())?;
    Ok(walk.found)
}

struct Walk<'a> {
    chain: &'a Chain,
    root: &'a State,
    count: usize,
    found: Vec<State>,
}

impl Walk<'_> {
    /// Goes on at `position`, whose chain level is `level` or a later one, with elements that give `labels` so far: the
    /// states `root[g]` with `g = p * h`, `p` one of `partial`, `h` in the stabiliser of the positions before.
    fn go(
        &mut self,
        position: usize,
        level: usize,
        partial: Vec<Perm>,
        labels: &mut Vec<u16>,
    ) -> Result<(), SurveyError> {
        if self.found.len() >= self.count {
            return Ok(());
        }
        if position == self.root.len() {
            self.found.push(labels.as_slice().into());
            return Ok(());
        }
        let here = self.chain.levels().get(level);
        let here = here.filter(|l| usize::from(l.base) == position);
        let label_of = |p: &Perm, x: u16| self.root[p.at(usize::from(x))];
        let mut options: Vec<(u16, Perm)> = Vec::new();
        for p in &partial {
            match here {
                // The transversal's inverse takes the position to x.
                Some(l) => options.extend((0..l.orbit.len()).map(|k| {
                    let x = l.orbit[k];
                    (label_of(p, x), p.then(l.inverse(k)))
                })),
                None => options.push((label_of(p, position as u16), p.clone())),
            }
        }
        if options.len() > PARTIAL_MAX {
            return Err(SurveyError::Violated(format!(
                "more than {PARTIAL_MAX} elements agree on the first {position} labels"
            )));
        }
        options.sort_by_key(|(label, _)| *label);
        let next = level + usize::from(here.is_some());
        for group in options.chunk_by(|a, b| a.0 == b.0) {
            labels.push(group[0].0);
            let partial = group.iter().map(|(_, p)| p.clone()).collect();
            self.go(position + 1, next, partial, labels)?;
            labels.pop();
        }
        Ok(())
    }
}
