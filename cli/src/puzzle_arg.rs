//! The puzzle on the command line: a specification such as `topspin:11,4`, or a file, and the flags
//! that say which moves, root and pieces are meant.

use crate::exit::Failure;
use antipode_solver_core::puzzle::{self, Puzzle, PuzzleOptions};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;

/// Larger files are refused before they are read: a puzzle of a thousand positions and a thousand
/// generators has a few MB.
pub const FILE_LIMIT_BYTES: u64 = 64 << 20;

/// Which puzzle.
#[derive(Debug, Clone, clap::Args)]
pub struct PuzzleArgs {
    /// A puzzle such as `pocket`, `cube:3`, `topspin:11,4` (see `antipode puzzle list`), or a file
    #[arg(value_name = "PUZZLE")]
    pub puzzle: OsString,

    /// Which turns count as one step: qtm, htm or stm (only where base turns are marked)
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,

    /// Only these generators, e.g. U,D,R2,L2,F2,B2; `all` adds a cube's slices
    #[arg(long, value_name = "LIST")]
    pub moves: Option<String>,

    /// The root as a list of labels, e.g. 0,0,1,1 (equal labels: equal pieces)
    #[arg(long, value_name = "LABELS")]
    pub root: Option<String>,

    /// Only these pieces, e.g. corners or edges
    #[arg(long, value_name = "PIECES")]
    pub orbits: Option<String>,

    /// The stickers of one face are equal
    #[arg(long)]
    pub colours: bool,
}

impl PuzzleArgs {
    /// The checked puzzle.
    pub fn load(&self) -> Result<Puzzle, Failure> {
        let options = self.options();
        match self.puzzle.to_str() {
            Some(spec) if puzzle::is_known(spec) => Ok(puzzle::resolve(spec, &options)?),
            Some(spec) if !looks_like_a_file(spec) => {
                puzzle::resolve(spec, &options).map_err(|error| {
                    Failure::input(format!(
                        "{error}. There is no file called {spec} either; `antipode puzzle list` explains them"
                    ))
                })
            }
            _ => load_file(Path::new(&self.puzzle), &options),
        }
    }

    /// The checked puzzle of a file, also where a known puzzle is called the same.
    pub fn load_as_file(&self) -> Result<Puzzle, Failure> {
        load_file(Path::new(&self.puzzle), &self.options())
    }

    fn options(&self) -> PuzzleOptions {
        PuzzleOptions {
            metric: self.metric.clone(),
            moves: self.moves.clone(),
            root: self.root.clone(),
            orbits: self.orbits.clone(),
            colours: self.colours,
        }
    }
}

/// Reads a puzzle file whose format is told from its content.
fn load_file(path: &Path, options: &PuzzleOptions) -> Result<Puzzle, Failure> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        Failure::input(match error.kind() {
            std::io::ErrorKind::NotFound => format!(
                "{shown}: there is no such file; check the path (`antipode puzzle list` shows what needs no file)"
            ),
            _ => format!("{shown}: cannot be read: {error}; give a file that you may read"),
        })
    };
    let about = std::fs::metadata(path).map_err(unreadable)?;
    if about.is_dir() {
        return Err(Failure::input(format!(
            "{shown} is a directory; name a puzzle file in it"
        )));
    }
    if about.len() > FILE_LIMIT_BYTES {
        return Err(too_large(path, Some(about.len())));
    }
    let mut bytes = Vec::new();
    // A pipe has no length to ask for, so the limit holds here too.
    std::fs::File::open(path)
        .and_then(|file| file.take(FILE_LIMIT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > FILE_LIMIT_BYTES {
        return Err(too_large(path, None));
    }
    if let Err(error) = std::str::from_utf8(&bytes) {
        return Err(Failure::input(format!(
            "{shown}: byte {} is not UTF-8 text; a puzzle file is text: save it as UTF-8",
            error.valid_up_to()
        )));
    }
    Ok(puzzle::from_bytes(&shown.to_string(), &bytes, options)?)
}

/// `bytes` where the size is known: a pipe is given up at the limit.
fn too_large(path: &Path, bytes: Option<u64>) -> Failure {
    Failure::input(format!(
        "{}: {} more than the {} that a puzzle file may have; is it the right file?",
        path.display(),
        bytes.map_or("it has".into(), |bytes| format!(
            "{} is",
            crate::memory::show(bytes)
        )),
        crate::memory::show(FILE_LIMIT_BYTES)
    ))
}

fn looks_like_a_file(text: &str) -> bool {
    let has_extension = Path::new(text).extension().is_some_and(|e| e.len() <= 5);
    text.contains('/') || has_extension || Path::new(text).exists()
}

/// A word as a shell would take it.
pub fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./:,=+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_where_a_shell_needs_it() {
        assert_eq!(quoted(OsStr::new("topspin:11,4")), "topspin:11,4");
        assert_eq!(quoted(OsStr::new("U',R")), r"'U'\'',R'");
    }

    #[test]
    fn a_file_is_told_from_a_specification() {
        assert!(looks_like_a_file("./pocket"));
        assert!(looks_like_a_file("my-puzzle.toml"));
        assert!(!looks_like_a_file("topspin:11,4"));
    }
}
