//! Puzzles: named generators on a number of positions, and one or more roots. From what a user
//! types or a file holds to the checked [`Puzzle`] that everything else works with.
//!
//! [`resolve`] knows the families (`topspin:11,4`) and the data files shipped inside the binary
//! (`pyraminx`); [`from_bytes`] reads a puzzle file. Both take the same [`PuzzleOptions`].

mod builtin;
mod catalogue;
mod checked;
mod cube;
mod definition;
mod describe;
mod families;
mod file;
mod moves;
mod names;
mod options;
mod project;
mod roots;
mod rotations;
mod text;

pub use catalogue::{CatalogueEntry, EntryKind, catalogue};
pub use checked::{About, Generator, Metric, PositionClass, Puzzle, PuzzleError, State, TurnNote};
pub(crate) use cube::cubies;
pub use describe::{Description, GeneratorNote, OrbitNote, describe, identical_positions, orbits};
pub use options::PuzzleOptions;

/// No family and no file may have more positions than this.
pub const MAX_DEGREE: usize = 10_000;
/// No family and no file may have more generators than this.
pub const MAX_GENERATORS: usize = 20_000;
/// Generators times positions, at most.
pub const MAX_ENTRIES: usize = 20_000_000;

/// The puzzle that a family spec (`topspin:11,4`) or the name of a built-in data file (`pyraminx`)
/// means under `options`. The error names what is wrong and what exists instead.
pub fn resolve(spec: &str, options: &PuzzleOptions) -> Result<Puzzle, PuzzleError> {
    let spec = spec.trim();
    if let Some(definition) = builtin::find(spec)? {
        return definition.finish(options);
    }
    if let Some(definition) = families::find(spec)? {
        return definition.finish(options);
    }
    Err(PuzzleError(catalogue::unknown(spec)))
}

/// The puzzle that the content of a file means. The format is told from the content: Antipode's TOML,
/// CayleyPy's JSON or GAP cycles. `name` is how the user called the file; it leads every message.
/// There is no file access here.
///
/// The TOML states `base` (positions are counted from 0 or 1) and either `[generators]`, each in
/// one-line notation (`new[i] = old[p[i]]`) or in cycles, or `[turns]`, base turns whose powers the metric
/// chooses. Optional are `name`, `description`, `held`, `naming`, `degree`, `add_inverses`, `colouring` or
/// `roots`, `colours` (for `--colours`), `metric`, `[orbits]` and `[rotations]`.
///
/// ```
/// use antipode_solver_core::puzzle::{PuzzleOptions, from_bytes};
///
/// let file = r#"
///     base = 0
///     colouring = "000111"
///     add_inverses = true
///     [generators]
///     L = [1, 2, 3, 4, 5, 0]
///     X = "(0 3)(1 2)"
/// "#;
/// let puzzle = from_bytes("ring.toml", file.as_bytes(), &PuzzleOptions::default())?;
/// let names: Vec<&str> = puzzle.generators().iter().map(|g| g.name.as_str()).collect();
/// assert_eq!(names, ["L", "L'", "X"]);
/// # Ok::<(), antipode_solver_core::puzzle::PuzzleError>(())
/// ```
pub fn from_bytes(
    name: &str,
    bytes: &[u8],
    options: &PuzzleOptions,
) -> Result<Puzzle, PuzzleError> {
    file::read(name, bytes)?.finish(options)
}

/// Is this the name of a family or built-in puzzle (whatever its parameters), rather than a path?
pub fn is_known(spec: &str) -> bool {
    let head = spec.trim().split(':').next().unwrap_or_default();
    builtin::is_known(head) || families::is_known(head)
}
