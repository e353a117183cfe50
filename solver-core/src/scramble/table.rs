//! A job of scrambles: which rows, which columns, and how they are cut into files.

use super::children::Children;
use super::encode::Encoder;
use super::pieces::Layout;
use super::spec::{ScrambleError, Shape, WalkSpec};
use super::walks::Walks;
use crate::batch::{ItemPlan, MAX_ITEMS};
use crate::puzzle::Puzzle;
use serde::{Deserialize, Serialize};

/// What a row says, in the order in which files have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Column {
    /// The number of the row.
    Row,
    /// The labels.
    State,
    /// Moves of the walk: an upper bound of the distance.
    Depth,
    /// The exact distance from the state to the nearest root.
    Distance,
    /// The moves from the root to the state.
    Word,
    /// The inverses of the word's moves in reverse order; null where the list lacks one.
    Solution,
    /// The inverse of the last move; null where the list lacks it, and at the root.
    PrevMove,
    /// The move after a pivot.
    NextMove,
    /// 53 bits, see [`super::key`].
    Key,
    /// The states one move away, and whether they are roots.
    Children,
    /// Zeros and ones by pieces, see [`super::encode`].
    Piece,
    /// Zeros and ones by positions and labels.
    OneHot,
}

/// The kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    Parquet,
    Npy,
    JsonLines,
}

impl Format {
    /// How its files end.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Npy => "npy",
            Format::JsonLines => "jsonl",
        }
    }
}

/// Random walks from the root, as rows of a data set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScramblesSpec {
    pub puzzle: Puzzle,
    pub walks: WalkSpec,
    /// The first row.
    pub offset: u64,
    /// Number of rows.
    pub rows: u64,
    /// Ascending, each once.
    pub columns: Vec<Column>,
    pub format: Format,
    /// Parquet: states, children and words as lists instead of binary.
    pub lists: bool,
    /// Rows of a file, but for the last.
    pub part_rows: u32,
}

/// A part aims at so many bytes ...
const PART_BYTES: u64 = 64 << 20;
/// ... and has no more rows than this, unless told.
const PART_ROWS_MAX: u64 = 1 << 20;
/// A row group aims at so many bytes ...
const GROUP_BYTES: u64 = 16 << 20;
/// ... and has no more rows than this.
const GROUP_ROWS_MAX: u64 = 1 << 17;
/// A longer row is refused.
const ROW_BYTES_MAX: u64 = 4 << 20;
/// Rows are numbered below this, so that every number is exact as a double, too.
const ROWS_END: u64 = 1 << 53;

/// The largest power of two that is at most `x`.
fn power_below(x: u64) -> u64 {
    1 << x.max(1).ilog2()
}

impl ScramblesSpec {
    /// Rows of a part for rows of so many bytes: a power of two.
    pub fn usual_part_rows(row_bytes: u64) -> u32 {
        power_below(PART_BYTES / row_bytes.max(1)).min(PART_ROWS_MAX) as u32
    }

    /// Rows of a row group, but for the last of a part.
    pub fn group_rows(&self) -> u32 {
        let usual = power_below(GROUP_BYTES / self.row_bytes().max(1)).min(GROUP_ROWS_MAX);
        self.part_rows.min(usual as u32)
    }

    /// Bytes of a label.
    pub fn cell_bytes(&self) -> u64 {
        let labels = self.puzzle.roots().iter().flat_map(|r| r.iter());
        if labels.copied().any(|l| l > 255) {
            2
        } else {
            1
        }
    }

    /// Bytes of a move number in words: 1 or 2.
    pub fn move_bytes(&self) -> u64 {
        if self.puzzle.generators().len() > 256 {
            2
        } else {
            1
        }
    }

    /// Bytes of a row in memory, at most (encodings: about).
    pub fn row_bytes(&self) -> u64 {
        let degree = self.puzzle.degree() as u64;
        let moves = self.puzzle.generators().len() as u64;
        let state = degree * self.cell_bytes();
        let word = u64::from(self.walks.shape.max_depth()) * self.move_bytes() + 8;
        let labels = self.puzzle.roots().iter().flat_map(|r| r.iter());
        let labels = u64::from(labels.copied().max().unwrap_or(0)) + 1;
        let column = |column: &Column| match column {
            Column::State => state,
            Column::Row | Column::Key => 8,
            Column::Depth | Column::Distance => 4,
            Column::PrevMove | Column::NextMove => 5,
            Column::Word | Column::Solution => word,
            Column::Children => moves * (state + 1),
            Column::Piece | Column::OneHot => degree * labels.max(degree),
        };
        self.columns.iter().map(column).sum()
    }

    /// Number of parts.
    pub fn parts(&self) -> u64 {
        self.rows.div_ceil(u64::from(self.part_rows.max(1)))
    }

    /// First row and number of rows of a part.
    pub fn part(&self, part: u32) -> (u64, u64) {
        let done = u64::from(part) * u64::from(self.part_rows);
        let rows = self
            .rows
            .saturating_sub(done)
            .min(u64::from(self.part_rows));
        (self.offset + done, rows)
    }

    /// The file of a part: named after its first row.
    pub fn part_name(&self, part: u32) -> String {
        let extension = self.format.extension();
        format!("scrambles-{:012}.{extension}", self.part(part).0)
    }

    pub fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }

    /// Checks everything and makes the tables.
    ///
    /// # Errors
    /// What is wrong, and which option changes it.
    pub fn load(&self) -> Result<Loaded, ScrambleError> {
        let no = |text: String| Err(ScrambleError::Option(text));
        self.walks.shape.check()?;
        if self.rows == 0 {
            return no("--rows is 0; ask for at least one".into());
        }
        if self
            .offset
            .checked_add(self.rows)
            .is_none_or(|end| end > ROWS_END)
        {
            return no(format!(
                "--offset {} and --rows {} lead beyond row 2^53",
                self.offset, self.rows
            ));
        }
        if self.columns.is_empty() {
            return no("--columns names no column; name at least one".into());
        }
        if let Some(pair) = self.columns.windows(2).find(|pair| pair[0] >= pair[1]) {
            return no(format!(
                "--columns: {:?} stands twice; name each column once",
                pair[1]
            ));
        }
        let pivot = matches!(self.walks.shape, Shape::Pivot { .. });
        if self.has(Column::NextMove) && !pivot {
            return no("next_move is known with --pivot only".into());
        }
        if self.lists && self.format != Format::Parquet {
            return no("--lists is about Parquet; other formats have arrays anyway".into());
        }
        if self.row_bytes() > ROW_BYTES_MAX {
            return no(format!(
                "a row would have {} bytes, at most {ROW_BYTES_MAX} are written; leave out --children or --encode",
                self.row_bytes()
            ));
        }
        if self.part_rows == 0 || self.parts() > u64::from(MAX_ITEMS) {
            return no(format!(
                "{} rows in parts of {} make {} files; at most {MAX_ITEMS} are written: raise --part-rows",
                self.rows,
                self.part_rows,
                self.parts()
            ));
        }
        let walks = Walks::new(&self.puzzle, &self.walks)?;
        let layout = match self.has(Column::Piece) {
            true => Some(Layout::of(&self.puzzle)?),
            false => None,
        };
        let encoder = match &layout {
            Some(layout) => Some(Encoder::piece(&self.puzzle, layout)?),
            None => self
                .has(Column::OneHot)
                .then(|| Encoder::one_hot(&self.puzzle)),
        };
        let children = Children::new(&self.puzzle, walks.cell_bytes());
        Ok(Loaded {
            inverses: inverses(&self.puzzle),
            walks,
            children,
            layout,
            encoder,
        })
    }

    /// The parts as items of a batch job.
    ///
    /// # Errors
    /// A sentence, see [`ScramblesSpec::load`].
    pub fn plan(&self) -> Result<ItemPlan, String> {
        if self.has(Column::Distance) {
            return Err(
                "exact labels need the distances of all states where the rows are made: \
                 use `antipode run scrambles ... --label exact`, which takes them from a finished job of a \
                 coordinator with --distances JOB"
                    .into(),
            );
        }
        self.load().map_err(|error| error.to_string())?;
        let parts = self.parts() as u32;
        Ok(ItemPlan {
            counts: (0..parts).map(|part| self.part(part).1).collect(),
            proof: "every row is in one part".into(),
            layout: format!(
                "{parts} parts of up to {} rows, seed {}",
                self.part_rows, self.walks.seed
            ),
        })
    }
}

/// The tables of a job of scrambles.
pub struct Loaded {
    pub walks: Walks,
    pub children: Children,
    pub layout: Option<Layout>,
    pub encoder: Option<Encoder>,
    /// Per move the number of its inverse, where the list has it.
    pub inverses: Vec<Option<u16>>,
}

/// Per move the number of its inverse, where the list has it.
fn inverses(puzzle: &Puzzle) -> Vec<Option<u16>> {
    let generators = puzzle.generators();
    let number: std::collections::HashMap<_, u16> =
        generators.iter().map(|g| &g.perm).zip(0..).collect();
    let inverse = generators.iter().map(|g| g.perm.inverse());
    inverse.map(|p| number.get(&p).copied()).collect()
}
