//! A puzzle, checked: named generators on a number of positions, and one or more roots.

use crate::perm::Perm;
use serde::{Deserialize, Serialize};

/// One named move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generator {
    /// As the user writes it in words, e.g. `U'`.
    pub name: String,
    /// `new[i] = old[perm[i]]`.
    pub perm: Perm,
}

/// Which list of generators counts as one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// Base turns and their inverses.
    Quarter,
    /// All powers of every base turn.
    Half,
    /// Half-turn metric plus the slices.
    Slice,
    /// The generators of a family without base turns, as the family defines them.
    Generators,
    /// A list made by hand.
    Custom,
}

impl Metric {
    /// `qtm`, `htm`, `stm`, `generators` or `custom`.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Quarter => "qtm",
            Metric::Half => "htm",
            Metric::Slice => "stm",
            Metric::Generators => "generators",
            Metric::Custom => "custom",
        }
    }
}

/// A labelling of the positions; labels are `0..` and may repeat.
pub type State = Box<[u16]>;

/// A puzzle whose every part has been checked: at least one generator, all of them permutations
/// of the same `degree` points with different names, and at least one root of that length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Puzzle {
    name: String,
    degree: usize,
    generators: Vec<Generator>,
    roots: Vec<State>,
    metric: Metric,
    /// Things the user should know: merged generators, whole-puzzle rotations counted as states.
    warnings: Vec<String>,
}

/// What is wrong with a definition. The text names the place and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PuzzleError(pub String);

impl Puzzle {
    /// Checks the parts (see the type). `roots` empty means the identity labelling.
    pub fn new(
        name: String,
        generators: Vec<Generator>,
        roots: Vec<State>,
        metric: Metric,
        warnings: Vec<String>,
    ) -> Result<Puzzle, PuzzleError> {
        let Some(first) = generators.first() else {
            return Err(PuzzleError(format!("{name}: there is no generator; give at least one")));
        };
        let degree = first.perm.len();
        for (k, g) in generators.iter().enumerate() {
            if g.perm.len() != degree {
                return Err(PuzzleError(format!(
                    "{name}: generator {} moves {} positions, but {} moves {degree}; all must be of one length",
                    g.name,
                    g.perm.len(),
                    first.name
                )));
            }
            if generators[..k].iter().any(|h| h.name == g.name) {
                return Err(PuzzleError(format!(
                    "{name}: two generators are called {}; give each its own name",
                    g.name
                )));
            }
        }
        let roots = if roots.is_empty() { vec![(0..degree).map(|i| i as u16).collect()] } else { roots };
        for (k, root) in roots.iter().enumerate() {
            if root.len() != degree {
                return Err(PuzzleError(format!(
                    "{name}: root {k} has {} labels, but the generators move {degree} positions",
                    root.len()
                )));
            }
        }
        Ok(Puzzle { name, degree, generators, roots, metric, warnings })
    }

    /// The name a user would type to get this puzzle again.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of positions.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The moves, in order; each costs 1.
    pub fn generators(&self) -> &[Generator] {
        &self.generators
    }

    /// The states at distance 0.
    pub fn roots(&self) -> &[State] {
        &self.roots
    }

    /// How the list of generators is called.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// What the user should know.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Does the list hold the inverse of each of its generators?
    pub fn is_inverse_closed(&self) -> bool {
        self.generators.iter().all(|g| {
            let inverse = g.perm.inverse();
            self.generators.iter().any(|h| h.perm == inverse)
        })
    }

    /// Are all labels of the first root different?
    pub fn has_distinct_labels(&self) -> bool {
        let mut labels: Vec<u16> = self.roots[0].to_vec();
        labels.sort_unstable();
        labels.windows(2).all(|w| w[0] != w[1])
    }
}
