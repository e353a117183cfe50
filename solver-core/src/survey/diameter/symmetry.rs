//! Classes of states that automorphisms of the graph carry into each other.

use super::graph::Graph;
use crate::puzzle::Puzzle;

/// States in classes; all states of a class have the same counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symmetry {
    /// The smallest state of every state's class; empty where every state is a class of its own.
    leader: Vec<u32>,
    /// What the classes rest on, a sentence.
    pub proof: String,
}

/// Consecutive sources whose classes have one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeClass {
    pub first: usize,
    pub end: usize,
    pub size: u32,
}

impl Symmetry {
    /// Every state is searched from.
    pub fn none(why: &str) -> Symmetry {
        Symmetry {
            leader: Vec::new(),
            proof: why.into(),
        }
    }

    /// Classes by all automorphisms that permute positions and rename labels, as far as they are found; each one is proved on
    /// the graph.
    pub fn of(puzzle: &Puzzle, graph: &Graph) -> Symmetry {
        super::automorphisms::classes(puzzle, graph)
    }

    /// Classes by their smallest state.
    pub(crate) fn new(leader: Vec<u32>, proof: String) -> Symmetry {
        debug_assert!(leader.iter().all(|&l| leader[l as usize] == l));
        Symmetry { leader, proof }
    }

    /// The smallest state of the class of `state`.
    pub(crate) fn leader(&self, state: u32) -> u32 {
        self.leader.get(state as usize).copied().unwrap_or(state)
    }

    /// The smallest state of each class, large classes first, then ascending; and where the sizes change.
    pub(crate) fn sources(&self, states: u32) -> (Vec<u32>, Vec<SizeClass>) {
        let mut size = vec![0u32; states as usize];
        match self.leader.is_empty() {
            true => size.fill(1),
            false => self.leader.iter().for_each(|&l| size[l as usize] += 1),
        }
        let mut sources: Vec<u32> = (0..states).filter(|&s| size[s as usize] > 0).collect();
        sources.sort_by_key(|&s| std::cmp::Reverse(size[s as usize]));
        let mut first = 0;
        let sizes = sources
            .chunk_by(|&a, &b| size[a as usize] == size[b as usize])
            .map(|class| {
                let end = first + class.len();
                let out = SizeClass {
                    first,
                    end,
                    size: size[class[0] as usize],
                };
                first = end;
                out
            })
            .collect();
        (sources, sizes)
    }

    /// The smallest `max` states in the classes of `leaders`, ascending. The smallest `max` leaders are enough for that:
    /// none of the states asked for is smaller than its leader.
    pub(crate) fn members(&self, leaders: &[u32], max: usize) -> Vec<u32> {
        if self.leader.is_empty() {
            return leaders.iter().copied().take(max).collect();
        }
        let all = (0..self.leader.len() as u32).zip(&self.leader);
        all.filter(|(_, l)| leaders.binary_search(l).is_ok())
            .map(|(s, _)| s)
            .take(max)
            .collect()
    }

    /// Number of classes among `states` states.
    pub fn classes(&self, states: u32) -> u32 {
        match self.leader.is_empty() {
            true => states,
            false => (0u32..).zip(&self.leader).filter(|(s, l)| s == *l).count() as u32,
        }
    }
}
