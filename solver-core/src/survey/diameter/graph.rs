//! The explicit graph: every state of a puzzle's orbits with a number, and where each move leads.

use super::error::SurveyError;
use super::packing::Packing;
use crate::group::chain::Chain;
use crate::group::colouring::count_states;
use crate::group::rng::mix;
use crate::perm::Perm;
use crate::puzzle::{Puzzle, State};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use num_bigint::BigUint;
use rayon::prelude::*;

/// States are numbered in the lexicographic order of their labellings, over all orbits of the roots together:
/// the smaller number is the smaller labelling. Moves are numbered as the puzzle's generators.
#[derive(Debug)]
pub struct Graph {
    packing: Packing,
    degree: usize,
    /// `packing.words()` words a state, ascending.
    keys: Vec<u64>,
    moves: usize,
    /// `out[state * moves + move]`.
    out: Vec<u32>,
    /// The same by inverse moves; `None` where the list is closed under inverse, so that `out` has the same neighbours.
    back: Option<Vec<u32>>,
    /// Component of every state; empty where there is one.
    component: Vec<u32>,
    /// States of every component, by the first root in it.
    component_states: Vec<u32>,
    roots: Vec<u32>,
}

/// How large an explicit graph will be, known beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphSize {
    /// At most so many states; `None` where that is not proved.
    pub states: Option<BigUint>,
    /// Bytes a state while a search of 512 sources runs, or while the graph is made, whichever is more.
    pub bytes_per_state: u64,
    moves: usize,
}

impl GraphSize {
    /// The size of the graph of `puzzle`, from the group alone.
    ///
    /// # Errors
    /// [`SurveyError::Group`] where the group has no explicit stabiliser chain.
    pub fn of(puzzle: &Puzzle) -> Result<GraphSize, SurveyError> {
        let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
        let natural: Vec<u16> = (0..puzzle.degree() as u16).collect();
        let chain = Chain::build(puzzle.degree(), &moves, &natural, None)?;
        let mut states = Some(BigUint::from(0u32));
        for root in puzzle.roots() {
            let orbit = count_states(&chain, &moves, root)?.states;
            states = states.zip(orbit).map(|(sum, n)| sum + n);
        }
        let key = 8 * packing_of(puzzle).words() as u64;
        let edges = 4 * moves.len() as u64;
        let directions = if puzzle.is_inverse_closed() { 1 } else { 2 };
        let making = 2 * key + 2 * edges + 32;
        let searching = key + directions * edges + super::sweep::BYTES_PER_STATE;
        Ok(GraphSize {
            states,
            bytes_per_state: making.max(searching),
            moves: moves.len(),
        })
    }

    /// Bytes of memory in all; `None` where the number of states is not proved.
    pub fn bytes(&self) -> Option<u128> {
        let states = u128::try_from(self.states.clone()?).unwrap_or(u128::MAX >> 32);
        Some(states.saturating_mul(self.bytes_per_state.into()))
    }

    /// Do graph and searches fit in `allowed` bytes, as far as that is known beforehand?
    ///
    /// # Errors
    /// [`SurveyError::TooLarge`] with the numbers where they do not.
    pub fn check(&self, allowed: u64) -> Result<(), SurveyError> {
        self.limit(allowed).map(|_| ())
    }

    /// Most states that fit in `allowed` bytes, at most 2^32 - 1.
    ///
    /// # Errors
    /// [`SurveyError::TooLarge`] where the graph is known not to fit.
    fn limit(&self, allowed: u64) -> Result<u32, SurveyError> {
        let limit = (allowed / self.bytes_per_state).min(u64::from(u32::MAX) - 1) as u32;
        match &self.states {
            Some(states) if *states > BigUint::from(limit) => {
                Err(self.too_large(states.to_string(), allowed))
            }
            _ => Ok(limit),
        }
    }

    fn too_large(&self, states: String, allowed: u64) -> SurveyError {
        SurveyError::TooLarge {
            needed: self
                .bytes()
                .unwrap_or_else(|| u128::from(allowed) + u128::from(self.bytes_per_state)),
            states,
            moves: self.moves,
            allowed,
        }
    }
}

fn packing_of(puzzle: &Puzzle) -> Packing {
    let greatest = puzzle.roots().iter().flat_map(|r| r.iter()).max();
    Packing::new(puzzle.degree(), greatest.copied().unwrap_or(0))
}

impl Graph {
    /// Lists the states of `puzzle` and tabulates its moves, if graph and searches fit in `allowed` bytes of memory
    /// (see [`GraphSize`]). Deterministic.
    ///
    /// # Errors
    /// [`SurveyError::TooLarge`] with the numbers where they do not fit, [`SurveyError::Group`] as [`GraphSize::of`].
    pub fn build(puzzle: &Puzzle, allowed: u64) -> Result<Graph, SurveyError> {
        let size = GraphSize::of(puzzle)?;
        let limit = size.limit(allowed)?;
        let found = Discovery::run(puzzle, limit)
            .ok_or_else(|| size.too_large(format!("more than {limit}"), allowed))?;
        let graph = found.into_graph(puzzle);
        let counted = BigUint::from(graph.states());
        // The roots may share orbits: then the sum over the roots is larger.
        if puzzle.roots().len() == 1 && size.states.as_ref().is_some_and(|n| *n != counted) {
            return Err(SurveyError::Violated(format!(
                "{counted} states were listed, but the group says {:?}",
                size.states
            )));
        }
        Ok(graph)
    }

    /// Number of states.
    pub fn states(&self) -> u32 {
        (self.keys.len() / self.packing.words()) as u32
    }

    /// Number of moves.
    pub fn moves(&self) -> usize {
        self.moves
    }

    /// Is the generator list not closed under inverse?
    pub fn is_directed(&self) -> bool {
        self.back.is_some()
    }

    /// The numbers of the puzzle's roots, in its order.
    pub fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// States of every component.
    pub fn component_states(&self) -> &[u32] {
        &self.component_states
    }

    /// States that can be reached from `state`, itself included (and from which it can be reached).
    pub fn reachable(&self, state: u32) -> u32 {
        match self.component.get(state as usize) {
            Some(&c) => self.component_states[c as usize],
            None => self.states(),
        }
    }

    /// Where the moves lead from `state`, by generator.
    pub fn after(&self, state: u32) -> &[u32] {
        let at = state as usize * self.moves;
        &self.out[at..at + self.moves]
    }

    /// All edges, `moves` a state: forwards the targets of its moves in generator order, backwards the states that a move
    /// leads here from.
    pub(crate) fn edges(&self, backwards: bool) -> &[u32] {
        match &self.back {
            Some(back) if backwards => back,
            _ => &self.out,
        }
    }

    /// The labelling of a state.
    pub fn state(&self, number: u32) -> State {
        let mut labels = vec![0; self.degree];
        self.packing.unpack(self.key(number), &mut labels);
        labels.into()
    }

    /// The number of a labelling; `None` where it is no state.
    pub fn number(&self, labels: &[u16]) -> Option<u32> {
        let mut key = vec![0; self.packing.words()];
        let mut back = vec![0; self.degree];
        if labels.len() != self.degree {
            return None;
        }
        self.packing.pack(labels, &mut key);
        self.packing.unpack(&key, &mut back);
        // Labels too large for the packing are no state's.
        if back != labels {
            return None;
        }
        let (mut low, mut high) = (0, self.states());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle) < key.as_slice() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low < self.states() && self.key(low) == key.as_slice()).then_some(low)
    }

    fn key(&self, number: u32) -> &[u64] {
        let words = self.packing.words();
        &self.keys[number as usize * words..][..words]
    }

    /// Bytes of the graph itself.
    pub fn bytes(&self) -> u64 {
        let numbers =
            self.out.len() + self.back.as_ref().map_or(0, Vec::len) + self.component.len();
        (self.keys.len() * 8 + numbers * 4) as u64
    }
}

/// States in the order in which they are found.
struct Discovery {
    packing: Packing,
    keys: Vec<u64>,
    out: Vec<u32>,
    roots: Vec<u32>,
    /// The first state of every component; components follow each other.
    starts: Vec<u32>,
}

fn hash(key: &[u64]) -> u64 {
    key.iter().fold(0, |h, &word| mix(h ^ word))
}

impl Discovery {
    /// Breadth first from every root that was not reached before; `None` beyond `limit` states.
    fn run(puzzle: &Puzzle, limit: u32) -> Option<Discovery> {
        let packing = packing_of(puzzle);
        let words = packing.words();
        let mut found = Discovery {
            packing,
            keys: Vec::new(),
            out: Vec::new(),
            roots: Vec::new(),
            starts: Vec::new(),
        };
        let mut places: HashTable<u32> = HashTable::new();
        let mut place_of = |key: &[u64], keys: &mut Vec<u64>| -> Option<u32> {
            let same = |&i: &u32| keys[i as usize * words..][..words] == *key;
            let again = |&i: &u32| hash(&keys[i as usize * words..][..words]);
            match places.entry(hash(key), same, again) {
                Entry::Occupied(entry) => Some(*entry.get()),
                Entry::Vacant(entry) => {
                    let place = (keys.len() / words) as u32;
                    if place >= limit {
                        return None;
                    }
                    entry.insert(place);
                    keys.extend_from_slice(key);
                    Some(place)
                }
            }
        };
        let mut key = vec![0; words];
        let (mut labels, mut moved) = (vec![0; puzzle.degree()], vec![0; puzzle.degree()]);
        let mut at = 0;
        for root in puzzle.roots() {
            packing.pack(root, &mut key);
            let known = found.keys.len() / words;
            let place = place_of(&key, &mut found.keys)?;
            found.roots.push(place);
            if place as usize == known {
                found.starts.push(place);
            }
            while at < found.keys.len() / words {
                packing.unpack(&found.keys[at * words..][..words], &mut labels);
                for g in puzzle.generators() {
                    for (to, &from) in moved.iter_mut().zip(g.perm.images()) {
                        *to = labels[usize::from(from)];
                    }
                    packing.pack(&moved, &mut key);
                    found.out.push(place_of(&key, &mut found.keys)?);
                }
                at += 1;
            }
        }
        Some(found)
    }

    /// Renumbered in lexicographic order.
    fn into_graph(self, puzzle: &Puzzle) -> Graph {
        let words = self.packing.words();
        let states = self.keys.len() / words;
        let moves = puzzle.generators().len();
        let key = |i: u32| &self.keys[i as usize * words..][..words];
        // The first word decides nearly always, and lies in the list that is sorted.
        let mut order: Vec<(u64, u32)> = (0..states as u32).map(|i| (key(i)[0], i)).collect();
        order.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))));
        let mut new = vec![0u32; states];
        for (i, &(_, old)) in order.iter().enumerate() {
            new[old as usize] = i as u32;
        }
        let keys: Vec<u64> = order
            .iter()
            .flat_map(|&(_, old)| key(old).iter().copied())
            .collect();
        let mut out = vec![0u32; self.out.len()];
        out.par_chunks_mut(moves)
            .zip(&order)
            .for_each(|(row, &(_, old))| {
                let edges = &self.out[old as usize * moves..][..moves];
                for (to, &edge) in row.iter_mut().zip(edges) {
                    *to = new[edge as usize];
                }
            });
        let back = (!puzzle.is_inverse_closed()).then(|| {
            let mut back = vec![0u32; out.len()];
            for (i, row) in out.chunks_exact(moves).enumerate() {
                for (g, &to) in row.iter().enumerate() {
                    back[to as usize * moves + g] = i as u32;
                }
            }
            back
        });
        let component = |old: u32| self.starts.partition_point(|&s| s <= old) as u32 - 1;
        let ends = self.starts[1..].iter().copied().chain([states as u32]);
        Graph {
            packing: self.packing,
            degree: puzzle.degree(),
            keys,
            moves,
            back,
            component: if self.starts.len() > 1 {
                order.iter().map(|&(_, old)| component(old)).collect()
            } else {
                Vec::new()
            },
            component_states: self.starts.iter().zip(ends).map(|(&a, b)| b - a).collect(),
            roots: self.roots.iter().map(|&r| new[r as usize]).collect(),
            out,
        }
    }
}
