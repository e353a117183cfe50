//! States and words as users write them, which is as the program prints them: `[0 1 6 11]`, `U U F'`.

use crate::exit::Failure;
use crate::memory;
use crate::puzzle_arg::FILE_LIMIT_BYTES;
use antipode_solver_core::distance::Question;
use antipode_solver_core::puzzle::Puzzle;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

/// The word of the root itself.
const NO_MOVE: &str = "(no move)";

/// Reads questions about one puzzle.
pub struct Reader<'a> {
    generators: HashMap<&'a str, u16>,
    /// The labels of every root, sorted.
    labels: Vec<Vec<u16>>,
}

impl<'a> Reader<'a> {
    pub fn new(puzzle: &'a Puzzle) -> Reader<'a> {
        let sorted = |root: &[u16]| {
            let mut labels = root.to_vec();
            labels.sort_unstable();
            labels
        };
        let generators = puzzle.generators().iter().zip(0..);
        Reader {
            generators: generators.map(|(g, k)| (g.name.as_str(), k)).collect(),
            labels: puzzle.roots().iter().map(|root| sorted(root)).collect(),
        }
    }

    /// `[0 1 6 11]`; commas and the brackets are a matter of taste.
    pub fn state(&self, text: &str) -> Result<Question, String> {
        let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
        let labels = inside
            .split([' ', ',', '\t'])
            .filter(|label| !label.is_empty())
            .map(|label| label.parse::<u16>())
            .collect::<Result<Vec<u16>, _>>()
            .map_err(|_| format!("'{text}' is no state; write its labels, e.g. [0 1 3 2]"))?;
        let length = self.labels.first().map_or(0, Vec::len);
        if labels.len() != length {
            return Err(format!(
                "the state has {} labels, the puzzle has {length} positions",
                labels.len()
            ));
        }
        let mut sorted = labels.clone();
        sorted.sort_unstable();
        if !self.labels.contains(&sorted) {
            return Err(
                "the state's labels are not those of the puzzle (`antipode puzzle show` prints the root)".into(),
            );
        }
        Ok(Question::State(labels.into()))
    }

    /// `U U F'`, applied from left to right to the root.
    pub fn word(&self, text: &str) -> Result<Question, String> {
        let text = text.trim();
        if text == NO_MOVE {
            return Ok(Question::Word(Vec::new()));
        }
        let letter = |name: &str| {
            self.generators.get(name).copied().ok_or_else(|| {
                let mut names: Vec<&&str> = self.generators.keys().collect();
                names.sort_by_key(|name| self.generators[**name]);
                let names: Vec<&str> = names.into_iter().take(24).copied().collect();
                format!(
                    "'{name}' is no generator of the puzzle; it has {}{}",
                    names.join(" "),
                    if names.len() < self.generators.len() {
                        " ..."
                    } else {
                        ""
                    }
                )
            })
        };
        let letters = text.split_whitespace().map(letter);
        letters.collect::<Result<_, _>>().map(Question::Word)
    }

    /// One line of a file: a state begins with `[`, or is made of numbers; everything else is a word.
    pub fn line(&self, text: &str) -> Result<Question, String> {
        let text = text.trim();
        let first = text.split([' ', ',']).next().unwrap_or_default();
        let is_state = text.starts_with('[')
            || (first.parse::<u16>().is_ok() && !self.generators.contains_key(first));
        if is_state {
            self.state(text)
        } else {
            self.word(text)
        }
    }
}

/// The questions of a file, with the numbers of their lines; empty lines and those that begin with `#` ask nothing.
pub fn lines<'t>(
    reader: &Reader<'_>,
    text: &'t str,
) -> Result<Vec<(&'t str, Question)>, (usize, String)> {
    asking_lines(text)
        .map(|(number, line)| match reader.line(line) {
            Ok(question) => Ok((line, question)),
            Err(why) => Err((number, why)),
        })
        .collect()
}

/// The lines that ask something, with their numbers.
pub fn asking_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(k, line)| (k + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The text of the file that `flag` names, `-` for stdin.
pub fn read(flag: &str, path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let unreadable =
        |error: std::io::Error| Failure::input(format!("{flag} {shown} cannot be read: {error}"));
    let mut text = String::new();
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(path).map_err(unreadable)?)
    };
    let limit = FILE_LIMIT_BYTES * 16;
    let read = input.take(limit + 1).read_to_string(&mut text);
    match read.map_err(unreadable)? as u64 > limit {
        false => Ok(text),
        true => Err(Failure::input(format!(
            "{flag} {shown} has more than {}; ask in several parts",
            memory::show(limit)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use antipode_solver_core::puzzle::{PuzzleOptions, resolve};

    #[test]
    fn states_and_words_are_read_as_they_are_printed() {
        let puzzle = resolve("lrx:4", &PuzzleOptions::default()).unwrap();
        let reader = Reader::new(&puzzle);
        let state = Question::State(vec![1, 0, 2, 3].into());
        for text in ["[1 0 2 3]", "1,0,2,3", " [1, 0, 2, 3] ", "1 0 2 3"] {
            assert_eq!(reader.line(text).as_ref(), Ok(&state), "{text}");
        }
        assert_eq!(reader.line("L X R"), Ok(Question::Word(vec![0, 2, 1])));
        assert_eq!(reader.line("(no move)"), Ok(Question::Word(vec![])));
        for (text, part) in [
            ("[1 0 2]", "3 labels"),
            ("[1 0 2 2]", "labels are not those"),
            ("[1 0 2 -3]", "no state"),
            ("L Y", "'Y' is no generator"),
        ] {
            let why = reader.line(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        let puzzle = resolve("lrx:4", &PuzzleOptions::default()).unwrap();
        let reader = Reader::new(&puzzle);
        let text = "# some\n\nL X\n[0 1 2 3]\nL Q\n";
        assert_eq!(lines(&reader, text).unwrap_err().0, 5);
        assert_eq!(
            lines(&reader, "# some\n\nL X\n[0 1 2 3]\n").unwrap().len(),
            2
        );
    }
}
