//! The checked puzzle: the one type that travels on, also over the wire, where it is checked again.

use crate::perm::Perm;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

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

/// A named set of positions that every generator maps to itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionClass {
    /// As `--orbits` takes it: `corners`, `f1:0,1,1`.
    pub label: String,
    /// Ascending.
    pub positions: Vec<u16>,
}

/// A base turn that the generators are powers of, explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnNote {
    pub name: String,
    /// How often it must be repeated to do nothing.
    pub order: u32,
    /// What one turn does, in words.
    pub about: String,
}

/// What a human wants to know about a puzzle; nothing is computed from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// What the puzzle is and what its states are.
    pub states: String,
    /// What is held, so that it never moves; `None` where nothing is.
    pub held: Option<String>,
    /// The rule behind the generators' names.
    pub naming: String,
    /// The base turns, where the puzzle marks them.
    pub turns: Vec<TurnNote>,
}

/// A puzzle whose every part has been checked: at least one generator, all of them permutations
/// of the same `degree` points with different names, and at least one root of that length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Puzzle {
    name: String,
    degree: usize,
    generators: Vec<Generator>,
    roots: Vec<State>,
    metric: Metric,
    /// Things the user should know: merged generators, whole-puzzle rotations counted as states.
    warnings: Vec<String>,
    classes: Vec<PositionClass>,
    about: About,
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
            return Err(PuzzleError(format!(
                "{name}: there is no generator; give at least one"
            )));
        };
        let degree = first.perm.len();
        if degree == 0 {
            return Err(PuzzleError(format!(
                "{name}: generator {} moves no position at all",
                first.name
            )));
        }
        let mut names = HashSet::new();
        for g in &generators {
            if g.perm.len() != degree {
                return Err(PuzzleError(format!(
                    "{name}: generator {} moves {} positions, but {} moves {degree}; all must be of one length",
                    g.name,
                    g.perm.len(),
                    first.name
                )));
            }
            if g.name.trim().is_empty() {
                return Err(PuzzleError(format!(
                    "{name}: a generator has no name; give it one"
                )));
            }
            if !names.insert(g.name.as_str()) {
                return Err(PuzzleError(format!(
                    "{name}: two generators are called {}; give each its own name",
                    g.name
                )));
            }
        }
        let roots = if roots.is_empty() {
            vec![(0..degree).map(|i| i as u16).collect()]
        } else {
            roots
        };
        for (k, root) in roots.iter().enumerate() {
            if root.len() != degree {
                return Err(PuzzleError(format!(
                    "{name}: root {k} has {} labels, but the generators move {degree} positions",
                    root.len()
                )));
            }
        }
        Ok(Puzzle {
            name,
            degree,
            generators,
            roots,
            metric,
            warnings,
            classes: Vec::new(),
            about: About::default(),
        })
    }

    /// Adds what a human wants to know.
    #[must_use]
    pub fn with_about(mut self, about: About) -> Puzzle {
        self.about = about;
        self
    }

    /// Adds names for sets of positions; each set must be closed under the generators, and no
    /// position may be in two of them.
    pub fn with_classes(mut self, classes: Vec<PositionClass>) -> Result<Puzzle, PuzzleError> {
        let mut owner: Vec<Option<usize>> = vec![None; self.degree];
        for (k, class) in classes.iter().enumerate() {
            for &at in &class.positions {
                let place = owner.get_mut(usize::from(at)).ok_or_else(|| {
                    PuzzleError(format!(
                        "{}: orbit {} names position {at}, but there are {} positions",
                        self.name, class.label, self.degree
                    ))
                })?;
                if let Some(other) = place.replace(k) {
                    return Err(PuzzleError(format!(
                        "{}: position {at} is in orbit {} and in orbit {}; it can be in one only",
                        self.name, classes[other].label, class.label
                    )));
                }
            }
        }
        for g in &self.generators {
            for (i, &j) in g.perm.images().iter().enumerate() {
                if owner[i] != owner[usize::from(j)] {
                    let label = owner[i]
                        .or(owner[usize::from(j)])
                        .map_or("", |k| &classes[k].label);
                    return Err(PuzzleError(format!(
                        "{}: generator {} moves position {j} to {i}, across the border of orbit {label}; \
                         an orbit must be mapped to itself",
                        self.name, g.name
                    )));
                }
            }
        }
        self.classes = classes;
        Ok(self)
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

    /// Named sets of positions; empty where the puzzle names none.
    pub fn classes(&self) -> &[PositionClass] {
        &self.classes
    }

    /// What the puzzle is, in words.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Does the list hold the inverse of each of its generators?
    pub fn is_inverse_closed(&self) -> bool {
        let all: HashSet<&Perm> = self.generators.iter().map(|g| &g.perm).collect();
        self.generators
            .iter()
            .all(|g| all.contains(&g.perm.inverse()))
    }

    /// Are all labels of the first root different?
    pub fn has_distinct_labels(&self) -> bool {
        let mut labels: Vec<u16> = self.roots[0].to_vec();
        labels.sort_unstable();
        labels.windows(2).all(|w| w[0] != w[1])
    }
}

/// A puzzle as it comes over the wire or from a disk.
#[derive(Deserialize)]
struct Unchecked {
    name: String,
    degree: usize,
    generators: Vec<Generator>,
    roots: Vec<State>,
    metric: Metric,
    warnings: Vec<String>,
    classes: Vec<PositionClass>,
    about: About,
}

impl TryFrom<Unchecked> for Puzzle {
    type Error = PuzzleError;
    fn try_from(raw: Unchecked) -> Result<Puzzle, PuzzleError> {
        let puzzle = Puzzle::new(
            raw.name,
            raw.generators,
            raw.roots,
            raw.metric,
            raw.warnings,
        )?
        .with_about(raw.about)
        .with_classes(raw.classes)?;
        if puzzle.degree != raw.degree {
            return Err(PuzzleError(format!(
                "{}: {} positions announced, but the generators move {}",
                puzzle.name, raw.degree, puzzle.degree
            )));
        }
        Ok(puzzle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generator(name: &str, images: &[u16]) -> Generator {
        Generator {
            name: name.into(),
            perm: Perm::from_images(images).unwrap(),
        }
    }

    fn make(generators: Vec<Generator>, roots: Vec<State>) -> Result<Puzzle, PuzzleError> {
        Puzzle::new("p".into(), generators, roots, Metric::Generators, vec![])
    }

    #[test]
    fn what_is_wrong_is_named() {
        let a = || generator("a", &[1, 0]);
        let check = |result: Result<Puzzle, PuzzleError>, expect: &str| {
            let message = result.unwrap_err().0;
            assert!(message.contains(expect), "{message}");
        };
        check(make(vec![], vec![]), "no generator");
        check(make(vec![a(), a()], vec![]), "two generators are called a");
        check(
            make(vec![a(), generator("b", &[0, 1, 2])], vec![]),
            "b moves 3 positions, but a moves 2",
        );
        check(make(vec![a()], vec![vec![0].into()]), "root 0 has 1 labels");
        let class = |label: &str, positions: &[u16]| PositionClass {
            label: label.into(),
            positions: positions.to_vec(),
        };
        let p = make(vec![a()], vec![]).unwrap();
        check(
            p.clone().with_classes(vec![class("x", &[0])]),
            "across the border of orbit x",
        );
        check(
            p.clone().with_classes(vec![class("x", &[0, 5])]),
            "position 5",
        );
        check(
            p.with_classes(vec![class("x", &[0, 1]), class("y", &[1])]),
            "in orbit x and in orbit y",
        );
    }

    #[test]
    fn a_puzzle_from_the_wire_is_checked_again() {
        let p = make(vec![generator("a", &[1, 0])], vec![]).unwrap();
        let json = serde_json::to_string(&p).unwrap();
        assert_eq!(serde_json::from_str::<Puzzle>(&json).unwrap(), p);
        let spoilt = json.replace("[[0,1]]", "[[0,1,2]]");
        assert_ne!(spoilt, json);
        assert!(
            serde_json::from_str::<Puzzle>(&spoilt)
                .unwrap_err()
                .to_string()
                .contains("root 0")
        );
        let spoilt = json.replace("\"degree\":2", "\"degree\":3");
        assert!(serde_json::from_str::<Puzzle>(&spoilt).is_err());
    }
}
