//! Rows as they lie in memory, wherever they were drawn, with what follows from their states: what the writers of files
//! read. [`Loaded::drawn`] makes them by plain loops, the twin that other makers are compared with.

use super::key::key;
use super::spec::ScrambleError;
use super::table::{Column, Loaded, ScramblesSpec};
use super::walks::{Block, Walks};
use std::ops::Range;

/// What is made of every row beside its depth and its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    pub moves: bool,
    pub keys: bool,
    pub children: bool,
    pub encoded: bool,
}

impl Wanted {
    /// What the columns of `spec` need.
    pub fn of(spec: &ScramblesSpec) -> Wanted {
        let has = |columns: &[Column]| columns.iter().any(|&column| spec.has(column));
        Wanted {
            // Exact labels come along the walk.
            moves: has(&[
                Column::Distance,
                Column::Word,
                Column::Solution,
                Column::PrevMove,
                Column::NextMove,
            ]),
            keys: has(&[Column::Key]),
            children: has(&[Column::Children]),
            encoded: has(&[Column::Piece, Column::OneHot]),
        }
    }
}

/// Rows that were drawn at once. What was not wanted is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Moves between root and state of every row.
    pub depths: Vec<u32>,
    /// As [`Block::states`].
    pub states: Vec<u8>,
    /// The moves of a row from `row * stride` on, `stride` as in [`Walks::stride`]; those that are not drawn are anything.
    pub words: Option<Vec<u16>>,
    /// See [`super::key`].
    pub keys: Option<Vec<u64>>,
    /// As [`super::children::Children::states`].
    pub children: Option<Vec<u8>>,
    /// As [`super::children::Children::solved`].
    pub solved: Option<Vec<u8>>,
    /// As [`super::encode::Encoder::encode`].
    pub encoded: Option<Vec<u8>>,
}

/// Some successive rows, borrowed; fields as in [`Drawn`].
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    pub depths: &'a [u32],
    pub states: &'a [u8],
    pub(super) words: Option<&'a [u16]>,
    pub(super) stride: usize,
    pub(super) extra: usize,
    pub keys: Option<&'a [u64]>,
    pub children: Option<&'a [u8]>,
    pub solved: Option<&'a [u8]>,
    pub encoded: Option<&'a [u8]>,
}

impl<'a> Rows<'a> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.depths.len()
    }

    /// The moves from the root to the state of a row, as generator numbers; none where moves were not wanted.
    pub fn word(&self, row: usize) -> &'a [u16] {
        let words = self.words.unwrap_or_default();
        let word = words.get(row * self.stride..).unwrap_or_default();
        word.get(..self.depths[row] as usize).unwrap_or_default()
    }

    /// The move after them, where walks are cut at a pivot and moves were wanted.
    pub fn next_move(&self, row: usize) -> Option<u16> {
        let at = row * self.stride + self.depths[row] as usize;
        self.words?.get(at).copied().filter(|_| self.extra > 0)
    }

    /// What of these rows is not as in `right`, which has as many.
    pub fn difference(&self, right: &Rows<'_>) -> Option<&'static str> {
        let same_moves =
            |row| self.word(row) == right.word(row) && self.next_move(row) == right.next_move(row);
        [
            ("depths", self.depths == right.depths),
            ("states", self.states == right.states),
            ("moves", (0..self.rows()).all(same_moves)),
            ("keys", self.keys == right.keys),
            ("children", self.children == right.children),
            ("solved children", self.solved == right.solved),
            ("encodings", self.encoded == right.encoded),
        ]
        .into_iter()
        .find_map(|(what, same)| (!same).then_some(what))
    }
}

impl Drawn {
    /// Some of the rows, which are those of `walks`.
    pub fn view(&self, walks: &Walks, rows: Range<usize>) -> Rows<'_> {
        fn part<'a, T>(all: Option<&'a Vec<T>>, of: usize, rows: &Range<usize>) -> Option<&'a [T]> {
            // Every row has as many values.
            let each = all?.len() / of.max(1);
            all?.get(rows.start * each..rows.end * each)
        }
        let of = self.depths.len();
        Rows {
            depths: &self.depths[rows.clone()],
            states: part(Some(&self.states), of, &rows).unwrap_or_default(),
            words: part(self.words.as_ref(), of, &rows),
            stride: walks.stride(),
            extra: walks.spec().shape.extra() as usize,
            keys: part(self.keys.as_ref(), of, &rows),
            children: part(self.children.as_ref(), of, &rows),
            solved: part(self.solved.as_ref(), of, &rows),
            encoded: part(self.encoded.as_ref(), of, &rows),
        }
    }
}

impl Loaded {
    /// Keys of states.
    pub fn keys_of(&self, states: &[u8]) -> Vec<u64> {
        let cells = self.walks.cell_bytes();
        let label = |cell: &[u8]| match cell {
            [low, high] => u16::from_le_bytes([*low, *high]),
            _ => u16::from(cell[0]),
        };
        states
            .chunks_exact(self.walks.state_bytes())
            .map(|state| key(state.chunks_exact(cells).map(label)))
            .collect()
    }

    /// The children of states, and whether they are roots.
    pub fn children_of(&self, states: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (mut children, mut solved) = (Vec::new(), Vec::new());
        self.children.states(states, &mut children);
        self.children.solved(states, &mut solved);
        (children, solved)
    }

    /// States as zeros and ones; none where no encoding is loaded.
    pub fn encodings_of(&self, states: &[u8]) -> Option<Vec<u8>> {
        let encoder = self.encoder.as_ref()?;
        let mut out = Vec::new();
        let walks = &self.walks;
        encoder.encode(states, walks.state_bytes(), walks.cell_bytes(), &mut out);
        Some(out)
    }

    /// The rows `first .. first + rows` with what is wanted of them. Rows beyond 2^64 begin again at 0.
    pub fn drawn(&self, wanted: Wanted, first: u64, rows: usize) -> Drawn {
        let mut block = Block::default();
        self.walks.fill(first, rows, &mut block);
        let (children, solved) = wanted
            .children
            .then(|| self.children_of(&block.states))
            .unzip();
        Drawn {
            keys: wanted.keys.then(|| self.keys_of(&block.states)),
            encoded: wanted
                .encoded
                .then(|| self.encodings_of(&block.states))
                .flatten(),
            children,
            solved,
            words: wanted.moves.then_some(block.words),
            depths: block.depths,
            states: block.states,
        }
    }

    /// Checks the sizes of `rows` rows that were drawn elsewhere.
    ///
    /// # Errors
    /// [`ScrambleError::Values`] where something is missing or there is not as much of it as of rows, or a row is
    /// longer than walks are.
    pub fn check(&self, wanted: Wanted, rows: usize, drawn: &Drawn) -> Result<(), ScrambleError> {
        let walks = &self.walks;
        let moves = self.children.moves();
        let columns = self.encoder.as_ref().map_or(0, |e| e.columns());
        let of = |wanted: bool, each: usize| wanted.then_some(rows * each);
        let len = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(Vec::len);
        let sizes = [
            ("depths", Some(drawn.depths.len()), Some(rows)),
            (
                "bytes of states",
                Some(drawn.states.len()),
                of(true, walks.state_bytes()),
            ),
            (
                "moves",
                drawn.words.as_ref().map(Vec::len),
                of(wanted.moves, walks.stride()),
            ),
            (
                "keys",
                drawn.keys.as_ref().map(Vec::len),
                of(wanted.keys, 1),
            ),
            (
                "bytes of children",
                len(&drawn.children),
                of(wanted.children, moves * walks.state_bytes()),
            ),
            (
                "flags of children",
                len(&drawn.solved),
                of(wanted.children, moves),
            ),
            (
                "bytes of encodings",
                len(&drawn.encoded),
                of(wanted.encoded && self.encoder.is_some(), columns),
            ),
        ];
        for (what, is, should) in sizes {
            if is != should {
                return Err(ScrambleError::Values(format!(
                    "{rows} rows that were drawn elsewhere have {} {what}; {} are expected",
                    is.unwrap_or(0),
                    should.unwrap_or(0)
                )));
            }
        }
        let longest = drawn.depths.iter().copied().max().unwrap_or(0) as usize;
        if longest + walks.spec().shape.extra() as usize > walks.stride() {
            return Err(ScrambleError::Values(format!(
                "a row that was drawn elsewhere has {longest} moves; walks have at most {}",
                walks.stride()
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::{PuzzleOptions, resolve};
    use crate::scramble::{Format, Rules, Shape, WalkSpec};

    #[test]
    fn what_is_missing_or_too_much_is_refused() {
        let shape = Shape::Pivot {
            k_min: 1,
            max_depth: 9,
        };
        let walks = WalkSpec {
            seed: 1,
            shape,
            rules: Rules::NoUndo,
        };
        let spec = ScramblesSpec {
            puzzle: resolve("pocket", &PuzzleOptions::default()).expect("a known puzzle"),
            walks,
            offset: 0,
            rows: 1,
            columns: vec![Column::Word, Column::Key, Column::Children, Column::Piece],
            format: Format::Npy,
            lists: false,
            part_rows: 1,
        };
        let loaded = spec.load().expect("a question");
        let wanted = Wanted::of(&spec);
        let whole = loaded.drawn(wanted, 5, 7);
        assert_eq!(loaded.check(wanted, 7, &whole), Ok(()));
        assert!(loaded.check(wanted, 6, &whole).is_err());
        let spoiled: [fn(&mut Drawn); 8] = [
            |d| d.depths[3] = 9,
            |d| d.depths.truncate(6),
            |d| d.states.truncate(9),
            |d| d.words = None,
            |d| d.keys = Some(Vec::new()),
            |d| d.children = None,
            |d| d.solved.get_or_insert_default().push(0),
            |d| d.encoded.get_or_insert_default().push(0),
        ];
        for (k, spoil) in spoiled.into_iter().enumerate() {
            let mut drawn = whole.clone();
            spoil(&mut drawn);
            assert!(loaded.check(wanted, 7, &drawn).is_err(), "{k}");
        }
        // A part is as if it had been drawn alone.
        let part = loaded.drawn(wanted, 7, 3);
        let [ours, alone] = [
            whole.view(&loaded.walks, 2..5),
            part.view(&loaded.walks, 0..3),
        ];
        assert_eq!(ours.difference(&alone), None);
        let other = whole.view(&loaded.walks, 3..6);
        assert!(other.difference(&alone).is_some());
        let nothing = loaded.drawn(Wanted::default(), 5, 7);
        assert_eq!(nothing.keys, None);
        assert_eq!(loaded.check(Wanted::default(), 7, &nothing), Ok(()));
    }
}
