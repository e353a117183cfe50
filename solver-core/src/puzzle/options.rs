//! What a user may ask of any puzzle (metric, moves, root, orbits, colours) applied to a definition.

use super::checked::{About, Puzzle, PuzzleError, State};
use super::definition::{Definition, Moves};
use super::moves::choose_moves;
use super::{project, roots, rotations};

/// How a puzzle is wanted; the default is the puzzle as its family or file defines it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PuzzleOptions {
    /// For puzzles with base turns: `qtm` (every turn X as X, X'), `htm` (all its powers: X, X2, X') or `stm`
    /// (htm, then the slices in the same way), in the order of the turns. Only `pocket` lists its quarter
    /// turns as U, F, R, U', F', R'.
    pub metric: Option<String>,
    /// Comma-separated moves. A bare base turn stands for all its powers in the metric, a suffixed one
    /// for itself, moves separated by spaces for their product as one generator, `all` for the
    /// default moves and the slices.
    pub moves: Option<String>,
    /// Labels of the root, comma-separated or as a digit string; several roots separated by `;`.
    pub root: Option<String>,
    /// Comma-separated orbits of positions to project onto: `corners`, `f1:0,1,1`, `orbit0`.
    pub orbits: Option<String>,
    /// Makes the stickers of one face equal.
    pub colours: bool,
}

impl Definition {
    /// Applies the options and checks everything.
    pub(crate) fn finish(self, options: &PuzzleOptions) -> Result<Puzzle, PuzzleError> {
        let fail = |message: String| PuzzleError(format!("{}: {message}", self.name));
        let chosen = choose_moves(&self, options).map_err(fail)?;
        let mut warnings = Vec::new();
        let mut puzzle = project::Projection {
            generators: chosen.generators,
            roots: self.roots.clone(),
            colours: self.colours.clone(),
            classes: self.classes.clone(),
            rotations: self.rotations.clone(),
        };
        if let Some(orbits) = &options.orbits {
            warnings.extend(project::project(&mut puzzle, self.degree, orbits).map_err(fail)?);
        }
        let degree = puzzle
            .generators
            .first()
            .map_or(self.degree, |g| g.perm.len());
        let roots: Vec<State> = match (&options.root, options.colours) {
            (Some(_), true) => {
                return Err(fail(
                    "--root and --colours both choose the root; give one of them".into(),
                ));
            }
            (Some(text), false) => roots::parse(text, degree).map_err(fail)?,
            (None, true) => vec![puzzle.colours.take().ok_or_else(|| {
                fail(
                    "this puzzle knows no colours of its stickers; give a colouring by --root"
                        .into(),
                )
            })?],
            (None, false) => puzzle.roots,
        };
        for (k, root) in roots.iter().enumerate() {
            roots::check(root, degree).map_err(|e| fail(format!("root {}: {e}", k + 1)))?;
        }
        warnings.extend(rotations::warning(&puzzle.generators, &puzzle.rotations));
        let about = About {
            turns: chosen.notes,
            ..self.about.clone()
        };
        let name = name_with_options(&self, options);
        Puzzle::new(name, puzzle.generators, roots, chosen.metric, warnings)?
            .with_about(about)
            .with_classes(puzzle.classes)
    }
}

/// The name with the options that make it another puzzle.
fn name_with_options(definition: &Definition, options: &PuzzleOptions) -> String {
    let mut name = definition.name.clone();
    let mut add = |flag: &str, value: &str| {
        let value = value.trim();
        name.push(' ');
        name.push_str(flag);
        match value {
            "" => {}
            _ if value.contains([' ', '\'', '(', ';', '’']) => {
                name.push_str(&format!(" {value:?}"))
            }
            _ => name.push_str(&format!(" {value}")),
        }
    };
    if let (Some(word), Moves::Turns(turns)) = (&options.metric, &definition.moves) {
        let word = word.trim().to_ascii_lowercase();
        if word != turns.default_metric.name() {
            add("--metric", &word);
        }
    }
    for (flag, value) in [
        ("--moves", &options.moves),
        ("--orbits", &options.orbits),
        ("--root", &options.root),
    ] {
        if let Some(value) = value {
            add(flag, value);
        }
    }
    if options.colours {
        add("--colours", "");
    }
    name
}
