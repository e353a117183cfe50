//! A puzzle before the user's options are applied: what a family, a built-in or a file defines.

use super::checked::{About, Generator, Metric, PositionClass, State};
use crate::perm::Perm;

/// Everything that can be said about a puzzle without knowing metric, moves, orbits and roots.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    /// As the user would type it again.
    pub name: String,
    pub degree: usize,
    pub moves: Moves,
    /// Empty: the identity labelling.
    pub roots: Vec<State>,
    /// The labelling of `--colours`.
    pub colours: Option<State>,
    pub classes: Vec<PositionClass>,
    /// Whole-puzzle rotations (a generating set), to tell whether they are counted as states.
    pub rotations: Vec<Perm>,
    pub about: About,
}

/// What the generators come from.
#[derive(Debug, Clone)]
pub(crate) enum Moves {
    /// A fixed list; a name is that one generator.
    List {
        generators: Vec<Generator>,
        /// Other names that are accepted: (other name, generator's name).
        aliases: Vec<(String, String)>,
    },
    /// Base turns whose powers the metric chooses.
    Turns(Turns),
}

/// Base turns and how lists are made of them.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    pub turns: Vec<Turn>,
    pub default_metric: Metric,
    /// Quarter-turn order `U F R U' F' R'` instead of `U U' F F' R R'`.
    pub inverses_last: bool,
    /// Words such as `2R`, `Rw`, `x` of the cube with this many layers.
    pub cube: Option<usize>,
}

/// One base turn.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub name: String,
    pub perm: Perm,
    /// The least positive power that is the identity.
    pub order: u32,
    /// Not among the moves unless asked for by `--metric stm` or `--moves`.
    pub slice: bool,
    /// What it does, in words.
    pub about: String,
}

impl Definition {
    /// A definition with the identity as its root and nothing special.
    pub fn of_list(name: String, generators: Vec<Generator>, about: About) -> Definition {
        let degree = generators.first().map_or(0, |g| g.perm.len());
        Definition {
            name,
            degree,
            moves: Moves::List {
                generators,
                aliases: Vec::new(),
            },
            roots: Vec::new(),
            colours: None,
            classes: Vec::new(),
            rotations: Vec::new(),
            about,
        }
    }
}
