//! A checked puzzle explained: for `puzzle show` and `puzzle check`.

use super::checked::{Metric, Puzzle};
use super::names;
use crate::group;
use crate::perm::Perm;
use serde::Serialize;

/// What a puzzle is, in words and lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Description {
    pub name: String,
    /// What the states are.
    pub states: String,
    /// What is held, so that it never moves.
    pub held: Option<String>,
    pub positions: usize,
    /// `qtm`, `htm`, `stm`, `generators` or `custom`.
    pub metric: String,
    /// The rule behind the names.
    pub naming: String,
    pub generators: Vec<GeneratorNote>,
    /// Does the list hold the inverse of each of its generators? If not, distances there and back may differ.
    pub inverse_closed: bool,
    pub orbits: Vec<OrbitNote>,
    /// Roots as labellings.
    pub roots: Vec<Vec<u16>>,
    /// Positions with equal labels in every root, where there are any.
    pub identical: Vec<Vec<u16>>,
    pub warnings: Vec<String>,
}

/// One generator explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GeneratorNote {
    pub name: String,
    /// What it does, in words.
    pub about: String,
    /// In cycles, positions counted from 0.
    pub cycles: String,
}

/// An orbit of positions under the generators, or a named set of such orbits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OrbitNote {
    /// As `--orbits` takes it.
    pub label: String,
    /// Ascending, counted from 0.
    pub positions: Vec<u16>,
}

/// Explains a puzzle.
pub fn describe(puzzle: &Puzzle) -> Description {
    let about = puzzle.about();
    Description {
        name: puzzle.name().into(),
        states: about.states.clone(),
        held: about.held.clone(),
        positions: puzzle.degree(),
        metric: puzzle.metric().name().into(),
        naming: about.naming.clone(),
        generators: puzzle
            .generators()
            .iter()
            .map(|g| GeneratorNote {
                name: g.name.clone(),
                about: explain_name(puzzle, &g.name).unwrap_or_else(|| explain(&g.perm)),
                cycles: g.perm.to_string(),
            })
            .collect(),
        inverse_closed: puzzle.is_inverse_closed(),
        orbits: orbits(puzzle),
        roots: puzzle.roots().iter().map(|r| r.to_vec()).collect(),
        identical: identical_positions(puzzle),
        warnings: puzzle.warnings().to_vec(),
    }
}

/// The orbits of positions with the labels of `--orbits`: the puzzle's own names where it has them,
/// else `orbit0`, `orbit1` .. for the orbits of more than one position.
pub fn orbits(puzzle: &Puzzle) -> Vec<OrbitNote> {
    if !puzzle.classes().is_empty() {
        let note = |c: &super::PositionClass| OrbitNote {
            label: c.label.clone(),
            positions: c.positions.clone(),
        };
        return puzzle.classes().iter().map(note).collect();
    }
    let perms: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
    group::orbits(puzzle.degree(), &perms)
        .into_iter()
        .filter(|o| o.len() > 1)
        .enumerate()
        .map(|(k, positions)| OrbitNote {
            label: format!("orbit{k}"),
            positions,
        })
        .collect()
}

/// Classes of two and more positions that no root tells apart: identical pieces.
pub fn identical_positions(puzzle: &Puzzle) -> Vec<Vec<u16>> {
    let mut classes: Vec<(Vec<u16>, Vec<u16>)> = Vec::new();
    let mut place = std::collections::HashMap::new();
    for i in 0..puzzle.degree() {
        let labels: Vec<u16> = puzzle.roots().iter().map(|r| r[i]).collect();
        let k = *place.entry(labels.clone()).or_insert_with(|| {
            classes.push((labels, Vec::new()));
            classes.len() - 1
        });
        classes[k].1.push(i as u16);
    }
    classes
        .into_iter()
        .map(|(_, positions)| positions)
        .filter(|p| p.len() > 1)
        .collect()
}

/// A power of a base turn in words.
fn explain_name(puzzle: &Puzzle, name: &str) -> Option<String> {
    if puzzle.metric() == Metric::Generators {
        return None;
    }
    let inner = name
        .strip_prefix('(')
        .and_then(|n| n.strip_suffix(')'))
        .filter(|n| n.contains(' '));
    if let Some(word) = inner {
        return Some(format!(
            "{} one after the other as one move",
            word.split_whitespace().collect::<Vec<_>>().join(", ")
        ));
    }
    for reading in names::readings(name) {
        let Some(turn) = puzzle.about().turns.iter().find(|t| t.name == reading.base) else {
            continue;
        };
        return Some(
            match reading.power.map(|p| p.rem_euclid(i64::from(turn.order))) {
                None | Some(1) => turn.about.clone(),
                Some(k) if k == i64::from(turn.order) - 1 => {
                    format!("the inverse of {}: {}, backwards", turn.name, turn.about)
                }
                Some(2) => format!("{} twice: {}, two times", turn.name, turn.about),
                Some(k) => format!("{} {k} times: {}, {k} times", turn.name, turn.about),
            },
        );
    }
    None
}

/// A permutation in words, where it has a simple shape; else how many cycles of which lengths it has.
fn explain(p: &Perm) -> String {
    let cycles = p.cycles();
    if cycles.is_empty() {
        return "does nothing".into();
    }
    let moved: Vec<usize> = (0..p.len()).filter(|&i| p.at(i) != i).collect();
    let (first, last) = (moved[0], moved[moved.len() - 1]);
    if let [cycle] = cycles.as_slice()
        && let [a, b] = cycle.as_slice()
    {
        return format!("swaps what is at positions {a} and {b}");
    }
    let stretch = |f: &dyn Fn(usize) -> usize| (first..=last).all(|i| p.at(i) == f(i));
    if stretch(&|i| first + last - i) {
        return format!("reverses positions {first} to {last}");
    }
    if stretch(&|i| if i == last { first } else { i + 1 }) {
        return format!(
            "shifts positions {first} to {last} by one to the left, the first comes last"
        );
    }
    if stretch(&|i| if i == first { last } else { i - 1 }) {
        return format!(
            "shifts positions {first} to {last} by one to the right, the last comes first"
        );
    }
    let mut lengths: Vec<usize> = cycles.iter().map(Vec::len).collect();
    lengths.sort_unstable();
    let mut parts = Vec::new();
    for run in lengths.chunk_by(|a, b| a == b) {
        parts.push(match (run.len(), run[0]) {
            (1, 2) => "a swap".to_owned(),
            (n, 2) => format!("{n} swaps"),
            (1, k) => format!("a cycle of {k}"),
            (n, k) => format!("{n} cycles of {k}"),
        });
    }
    format!("{} ({} positions moved)", parts.join(" and "), moved.len())
}
