//! States as vectors of zeros and ones.

use super::pieces::Layout;
use super::spec::ScrambleError;
use crate::puzzle::Puzzle;

/// How states are encoded.
#[derive(Debug, Clone)]
pub enum Encoder {
    Piece(PieceEncoder),
    OneHot(OneHot),
}

/// One column for each slot, home and turn of a piece: `reshape(pieces, width, pieces)`, the slot fastest. A slot's piece is
/// told by the label at the slot's first position.
#[derive(Debug, Clone)]
pub struct PieceEncoder {
    /// First position of every slot.
    firsts: Vec<u16>,
    /// Label to home * width + turn.
    rows: Vec<usize>,
    pieces: usize,
    width: usize,
}

/// One column for each position and label, the label fastest.
#[derive(Debug, Clone)]
pub struct OneHot {
    degree: usize,
    labels: usize,
}

/// What makes a column 1, for those who make columns one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wants {
    /// Column by column a position and the label that it must have; none for one that is never 1.
    Table(Vec<Option<(u16, u16)>>),
    /// Column `c` wants the label `c % labels` at position `c / labels`.
    EveryLabel { labels: usize },
}

impl Encoder {
    /// The encoding by pieces.
    ///
    /// # Errors
    /// [`ScrambleError::Option`] where labels repeat: then a label does not tell its piece.
    pub fn piece(puzzle: &Puzzle, layout: &Layout) -> Result<Encoder, ScrambleError> {
        let root = &puzzle.roots()[0];
        let mut rows =
            vec![usize::MAX; root.iter().map(|&l| usize::from(l) + 1).max().unwrap_or(0)];
        if !puzzle.has_distinct_labels() {
            return Err(ScrambleError::Option(format!(
                "--encode piece needs a puzzle whose labels all differ, and those of {} repeat; use --encode one-hot",
                puzzle.name()
            )));
        }
        if layout.pieces.is_empty() {
            return Err(ScrambleError::Option(format!(
                "--encode piece: no generator of {} moves anything",
                puzzle.name()
            )));
        }
        for (i, home) in layout.home.iter().enumerate() {
            if let Some((piece, turn)) = *home {
                rows[usize::from(root[i])] = usize::from(piece) * layout.width + usize::from(turn);
            }
        }
        Ok(Encoder::Piece(PieceEncoder {
            firsts: layout.pieces.iter().map(|p| p[0]).collect(),
            rows,
            pieces: layout.pieces.len(),
            width: layout.width,
        }))
    }

    /// The encoding by positions and labels.
    pub fn one_hot(puzzle: &Puzzle) -> Encoder {
        let labels = puzzle.roots().iter().flat_map(|r| r.iter());
        Encoder::OneHot(OneHot {
            degree: puzzle.degree(),
            labels: labels.map(|&l| usize::from(l) + 1).max().unwrap_or(0),
        })
    }

    /// Columns of a row.
    pub fn columns(&self) -> usize {
        match self {
            Encoder::Piece(p) => p.pieces * p.width * p.pieces,
            Encoder::OneHot(o) => o.degree * o.labels,
        }
    }

    /// The shape of a row.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            Encoder::Piece(p) => vec![p.pieces, p.width, p.pieces],
            Encoder::OneHot(o) => vec![o.degree, o.labels],
        }
    }

    /// What makes a column 1.
    pub fn wants(&self) -> Wants {
        match self {
            Encoder::Piece(p) => {
                let mut out = vec![None; p.pieces * p.width * p.pieces];
                for (label, &row) in p.rows.iter().enumerate().filter(|(_, r)| **r != usize::MAX) {
                    for (slot, &first) in p.firsts.iter().enumerate() {
                        out[row * p.pieces + slot] = Some((first, label as u16));
                    }
                }
                Wants::Table(out)
            }
            Encoder::OneHot(o) => Wants::EveryLabel { labels: o.labels },
        }
    }

    /// The columns of a state that are 1. `label(i)` is the label at position `i`.
    pub fn ones(&self, label: impl Fn(usize) -> u16, mut one: impl FnMut(usize)) {
        match self {
            Encoder::Piece(p) => {
                for (slot, &first) in p.firsts.iter().enumerate() {
                    let row = p.rows.get(usize::from(label(usize::from(first))));
                    if let Some(&row) = row.filter(|&&row| row != usize::MAX) {
                        one(row * p.pieces + slot);
                    }
                }
            }
            Encoder::OneHot(o) => {
                for i in 0..o.degree {
                    one(i * o.labels + usize::from(label(i)));
                }
            }
        }
    }

    /// Appends the rows of states (labels of `cell_bytes` bytes, little-endian, one after the other), a byte a column.
    pub fn encode(&self, states: &[u8], state_bytes: usize, cell_bytes: usize, out: &mut Vec<u8>) {
        let columns = self.columns();
        for state in states.chunks_exact(state_bytes) {
            let from = out.len();
            out.resize(from + columns, 0);
            let row = &mut out[from..];
            self.ones(
                |i| match cell_bytes {
                    1 => u16::from(state[i]),
                    _ => u16::from_le_bytes([state[2 * i], state[2 * i + 1]]),
                },
                |column| row[column] = 1,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::{PuzzleOptions, resolve};

    #[test]
    fn what_columns_want_is_what_is_encoded() {
        let of = |spec: &str, root: Option<&str>| {
            let root = root.map(str::to_string);
            let options = PuzzleOptions {
                root,
                ..PuzzleOptions::default()
            };
            resolve(spec, &options).expect("a known puzzle")
        };
        for (spec, root) in [
            ("pocket", None),
            ("cube:3", None),
            ("lrx:7", None),
            ("topspin:6,4", Some("0,0,1,1,2,2")),
        ] {
            let puzzle = of(spec, root);
            let layout = Layout::of(&puzzle).expect("pieces");
            let encoders = [
                Encoder::piece(&puzzle, &layout).ok(),
                Some(Encoder::one_hot(&puzzle)),
            ];
            let mut state = puzzle.roots()[0].to_vec();
            for step in 0..20 {
                let moves = puzzle.generators();
                state = moves[(7 * step) % moves.len()].perm.apply(&state).to_vec();
                for encoder in encoders.iter().flatten() {
                    let mut ones = vec![0; encoder.columns()];
                    encoder.ones(|i| state[i], |column| ones[column] = 1);
                    let wanted: Vec<u8> = match encoder.wants() {
                        Wants::Table(table) => table
                            .into_iter()
                            .map(|want| want.map(|(at, label)| state[usize::from(at)] == label))
                            .map(|one| u8::from(one == Some(true)))
                            .collect(),
                        Wants::EveryLabel { labels } => (0..encoder.columns())
                            .map(|c| usize::from(state[c / labels]) == c % labels)
                            .map(u8::from)
                            .collect(),
                    };
                    assert_eq!(ones, wanted, "{spec} {step}");
                }
            }
        }
    }
}
