//! Which move may follow which: an automaton over *situations*, each with its allowed moves in generator order.

use super::rules_cancel::Cancel;
use super::spec::{Rules, ScrambleError};
use crate::perm::Perm;
use crate::puzzle::Puzzle;
use num_bigint::BigUint;
use std::collections::HashMap;
use std::hash::Hash;

/// More entries (situations times moves) than this are not built.
const ENTRIES_MAX: usize = 1 << 24;

/// A situation in the automaton: where its list begins and how long it is. An entry of the list is a move and
/// the situation that follows, packed so that a step is one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step(u64);

impl Step {
    fn new(first: usize, allowed: usize, chosen: u16) -> Step {
        Step(first as u64 | (allowed as u64) << 32 | u64::from(chosen) << 48)
    }

    /// Where the list of the situation after the move begins.
    fn first(self) -> usize {
        self.0 as u32 as usize
    }

    /// How many moves are allowed after the move.
    pub fn allowed(self) -> u32 {
        (self.0 >> 32) as u32 & 0xffff
    }

    /// As two words: where the list of the situation after the move begins; how many moves it has, and above 16 bits the
    /// move itself. For kernels that walk elsewhere.
    pub fn packed(self) -> [u32; 2] {
        [self.0 as u32, (self.0 >> 32) as u32]
    }

    /// The move.
    pub fn chosen(self) -> u16 {
        (self.0 >> 48) as u16
    }
}

/// The rules of a puzzle for walks up to a length.
#[derive(Debug, Clone)]
pub struct Automaton {
    start: Step,
    entries: Vec<Step>,
}

/// Rules as a transition function.
trait Grammar {
    type Situation: Clone + Eq + Hash;
    fn start(&self) -> Self::Situation;
    /// The situation after a move; `None` where it is refused.
    fn after(&self, situation: &Self::Situation, chosen: usize) -> Option<Self::Situation>;
}

impl Automaton {
    /// The rules of `puzzle` for walks of up to `max_depth` moves.
    ///
    /// # Errors
    /// [`ScrambleError::DeadEnd`] where some shorter walk has no move left, [`ScrambleError::TooLarge`] where the
    /// table would be.
    pub fn build(
        puzzle: &Puzzle,
        rules: Rules,
        max_depth: u32,
    ) -> Result<Automaton, ScrambleError> {
        let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
        match rules {
            Rules::AllowUndo => explore(puzzle, rules, max_depth, &Free),
            // With a single move there is nothing else to do.
            Rules::NoUndo if moves.len() == 1 => explore(puzzle, rules, max_depth, &Free),
            Rules::NoUndo => explore(puzzle, rules, max_depth, &Undo::new(&moves)),
            Rules::NoCancel => {
                let cancel = Cancel::new(&moves, max_depth).map_err(ScrambleError::TooLarge)?;
                explore(puzzle, rules, max_depth, &cancel)
            }
        }
    }

    /// The situation before the first move.
    pub fn start(&self) -> Step {
        self.start
    }

    /// The lists of all situations, one after the other.
    pub fn entries(&self) -> &[Step] {
        &self.entries
    }

    /// The `k`-th of the moves allowed after `step`, `k < step.allowed()`.
    #[inline(always)]
    pub fn choose(&self, step: Step, k: u32) -> Step {
        self.entries[step.first() + k as usize]
    }

    /// How many words of length 1, 2, .., `length` the rules allow; `length` is at most the depth built for.
    pub fn count_words(&self, length: u32) -> Vec<BigUint> {
        let mut at: HashMap<(usize, u32), BigUint> = HashMap::new();
        at.insert((self.start.first(), self.start.allowed()), 1u32.into());
        let mut out = Vec::new();
        for _ in 0..length {
            let mut next: HashMap<(usize, u32), BigUint> = HashMap::new();
            let mut total = BigUint::ZERO;
            for ((first, allowed), count) in at {
                total += &count * allowed;
                for step in &self.entries[first..first + allowed as usize] {
                    *next.entry((step.first(), step.allowed())).or_default() += &count;
                }
            }
            out.push(total);
            at = next;
        }
        out
    }
}

/// Breadth first over the situations, so that a dead end is found by a shortest word.
fn explore<G: Grammar>(
    puzzle: &Puzzle,
    rules: Rules,
    max_depth: u32,
    grammar: &G,
) -> Result<Automaton, ScrambleError> {
    let moves = puzzle.generators().len();
    let mut number: HashMap<G::Situation, usize> = HashMap::new();
    let mut situations = vec![grammar.start()];
    // Depth, and the situation and move it was first reached by.
    let mut reached = vec![(0u32, 0usize, 0usize)];
    number.insert(grammar.start(), 0);
    // Per situation its entries as (move, situation after it).
    let mut lists: Vec<Vec<(u16, usize)>> = Vec::new();
    let mut entries = 0;
    while lists.len() < situations.len() {
        let (from, depth) = (lists.len(), reached[lists.len()].0);
        let mut list = Vec::new();
        // After the longest walk no move follows: its situation needs no list.
        if depth < max_depth {
            let situation = situations[from].clone();
            for a in 0..moves {
                let Some(next) = grammar.after(&situation, a) else {
                    continue;
                };
                let to = *number.entry(next.clone()).or_insert_with(|| {
                    situations.push(next);
                    reached.push((depth + 1, from, a));
                    situations.len() - 1
                });
                list.push((a as u16, to));
            }
            if list.is_empty() {
                return Err(dead_end(puzzle, rules, max_depth, &reached, from));
            }
        }
        entries += list.len();
        if entries > ENTRIES_MAX || situations.len() * moves > ENTRIES_MAX * 4 {
            return Err(ScrambleError::TooLarge(format!(
                "the table of {} for {} moves of {} would have more than {ENTRIES_MAX} entries; \
                 use --allow-undo or fewer moves (--moves)",
                rules.name(),
                moves,
                puzzle.name()
            )));
        }
        lists.push(list);
    }
    let mut first = vec![0; lists.len()];
    let mut total = 0;
    for (k, list) in lists.iter().enumerate() {
        first[k] = total;
        total += list.len();
    }
    let entries = lists
        .iter()
        .flatten()
        .map(|&(a, to)| Step::new(first[to], lists[to].len(), a))
        .collect();
    Ok(Automaton {
        start: Step::new(0, lists[0].len(), 0),
        entries,
    })
}

fn dead_end(
    puzzle: &Puzzle,
    rules: Rules,
    max_depth: u32,
    reached: &[(u32, usize, usize)],
    from: usize,
) -> ScrambleError {
    let mut names = Vec::new();
    let mut at = from;
    while reached[at].0 > 0 {
        names.push(puzzle.generators()[reached[at].2].name.as_str());
        at = reached[at].1;
    }
    names.reverse();
    ScrambleError::DeadEnd {
        rules: rules.name(),
        reached: names.len(),
        word: names.join(" "),
        max_depth,
    }
}

/// Everything is allowed.
struct Free;

impl Grammar for Free {
    type Situation = ();
    fn start(&self) {}
    fn after(&self, (): &(), _: usize) -> Option<()> {
        Some(())
    }
}

/// The last move's inverses are refused. A situation is the set of refused moves.
struct Undo {
    refused: Vec<Vec<u16>>,
}

impl Undo {
    fn new(moves: &[Perm]) -> Undo {
        let mut by_perm: HashMap<&Perm, Vec<u16>> = HashMap::new();
        for (a, p) in moves.iter().enumerate() {
            by_perm.entry(p).or_default().push(a as u16);
        }
        let refused = moves
            .iter()
            .map(|p| by_perm.get(&p.inverse()).cloned().unwrap_or_default())
            .collect();
        Undo { refused }
    }
}

impl Grammar for Undo {
    type Situation = Vec<u16>;
    fn start(&self) -> Vec<u16> {
        Vec::new()
    }
    fn after(&self, refused: &Vec<u16>, chosen: usize) -> Option<Vec<u16>> {
        (!refused.contains(&(chosen as u16))).then(|| self.refused[chosen].clone())
    }
}

impl Grammar for Cancel {
    type Situation = Box<[u32]>;
    fn start(&self) -> Box<[u32]> {
        self.empty()
    }
    fn after(&self, situation: &Box<[u32]>, chosen: usize) -> Option<Box<[u32]>> {
        self.follow(situation, chosen)
    }
}
