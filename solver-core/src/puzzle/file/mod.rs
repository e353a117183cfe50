//! Puzzle files: which format the content has, and one reader for each.

mod cayleypy;
mod cycles;
mod gap;
mod json;
mod table;
mod toml;

use super::checked::PuzzleError;
use super::definition::{Definition, Moves};
use super::{MAX_DEGREE, MAX_ENTRIES, MAX_GENERATORS, roots};

pub(crate) use toml::read as read_toml;

/// Larger contents are no puzzle.
const BYTES_MAX: usize = 256 << 20;

/// What is wrong in a file, and on which line (1-based) where that is known.
#[derive(Debug)]
pub(crate) struct FileError {
    pub line: Option<usize>,
    pub message: String,
}

impl FileError {
    pub fn new(message: impl Into<String>) -> FileError {
        FileError {
            line: None,
            message: message.into(),
        }
    }

    pub fn at(line: usize, message: impl Into<String>) -> FileError {
        FileError {
            line: Some(line),
            message: message.into(),
        }
    }

    fn in_file(self, name: &str) -> PuzzleError {
        match self.line {
            Some(line) => PuzzleError(format!("{name}, line {line}: {}", self.message)),
            None => PuzzleError(format!("{name}: {}", self.message)),
        }
    }
}

/// The line (1-based) of a byte offset.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())]
        .iter()
        .filter(|&&b| b == b'\n')
        .count()
}

/// The definition that a file's content means.
pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<Definition, PuzzleError> {
    let text = decode(bytes).map_err(|e| e.in_file(name))?;
    let definition = match format(text) {
        Format::Toml => toml::read(name, text),
        Format::CayleyPy => cayleypy::read(name, text),
        Format::Gap => gap::read(name, text),
        Format::Refused(what) => Err(FileError::new(format!(
            "this looks like {what}, which is not supported yet; write the generators as TOML \
             (see the README, puzzle files), CayleyPy JSON or GAP cycles"
        ))),
    };
    definition
        .and_then(|d| checked_size(d).map_err(FileError::new))
        .map_err(|e| e.in_file(name))
}

enum Format {
    Toml,
    CayleyPy,
    Gap,
    Refused(&'static str),
}

fn decode(bytes: &[u8]) -> Result<&str, FileError> {
    if bytes.len() > BYTES_MAX {
        return Err(FileError::new(format!(
            "the file has {} bytes; a puzzle file has at most {BYTES_MAX}",
            bytes.len()
        )));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        let line = 1 + bytes[..at].iter().filter(|&&b| b == b'\n').count();
        FileError::at(
            line,
            format!(
                "byte {at} is not UTF-8 text; a puzzle file is text, save it in the encoding UTF-8"
            ),
        )
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(FileError::new(
            "the file is empty; a puzzle file names at least one generator",
        ));
    }
    Ok(text)
}

/// Tells the format from the first signs that only one format has.
fn format(text: &str) -> Format {
    let start = text.trim_start();
    if let Some(inside) = start.strip_prefix('{') {
        // Santa 2023's puzzle_info has Python dictionaries, in single quotes.
        return match inside.trim_start().starts_with('\'') {
            true => Format::Refused("a Santa 2023 move table"),
            false => Format::CayleyPy,
        };
    }
    let first = start.lines().next().unwrap_or_default();
    if first.starts_with("id,puzzle_type") || first.starts_with("puzzle_type,") {
        return Format::Refused("a Santa 2023 table");
    }
    let mut words = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .map(|l| {
            l.split(|c: char| c.is_whitespace())
                .next()
                .unwrap_or_default()
        });
    if text
        .lines()
        .any(|l| !l.trim_start().starts_with('#') && l.contains(":="))
    {
        return Format::Gap;
    }
    if words.clone().any(|w| w == "Set") && words.any(|w| w == "Move" || w == "MoveTransform") {
        let ksolve = text.lines().any(|l| l.trim() == "Solved");
        return Format::Refused(if ksolve {
            "a ksolve definition"
        } else {
            "a twsearch (tws) definition"
        });
    }
    Format::Toml
}

fn checked_size(definition: Definition) -> Result<Definition, String> {
    let count = match &definition.moves {
        Moves::List { generators, .. } => generators.len(),
        Moves::Turns(turns) => turns.turns.len(),
    };
    let degree = definition.degree;
    if count > MAX_GENERATORS || degree > MAX_DEGREE || count.saturating_mul(degree) > MAX_ENTRIES {
        return Err(format!(
            "{count} generators on {degree} positions are too many; at most {MAX_GENERATORS} generators, \
             {MAX_DEGREE} positions and {MAX_ENTRIES} entries in all are supported"
        ));
    }
    for (k, root) in definition.roots.iter().enumerate() {
        roots::check(root, degree).map_err(|e| match definition.roots.len() {
            1 => format!("the colouring: {e}"),
            _ => format!("root {}: {e}", k + 1),
        })?;
        if let Some(first) = definition.roots[..k].iter().position(|r| r == root) {
            return Err(format!(
                "root {} is the same as root {}; leave one out",
                k + 1,
                first + 1
            ));
        }
    }
    Ok(definition)
}
