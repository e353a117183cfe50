//! What a user may say about scrambles, whoever makes them.

use crate::count::count;
use crate::exit::Failure;
use crate::puzzle_arg::PuzzleArgs;
use antipode_solver_core::puzzle::Puzzle;
use antipode_solver_core::scramble::{Column, Format, Rules, ScramblesSpec, Shape, WalkSpec};

/// Flags of `run scrambles` and `submit scrambles`.
#[derive(Debug, Clone, clap::Args)]
pub struct ScrambleArgs {
    #[command(flatten)]
    pub puzzle: PuzzleArgs,

    /// How many rows, e.g. 10M
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub rows: u64,

    /// The first row: rows N.. are those of a longer run
    #[arg(long, value_name = "N", value_parser = count, default_value = "0", allow_negative_numbers = true)]
    pub offset: u64,

    /// Row i depends on the seed and on i alone
    #[arg(
        long,
        value_name = "SEED",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// The longest walk; lengths are uniform from --min-depth to it
    #[arg(
        long,
        value_name = "MOVES",
        default_value_t = 20,
        allow_negative_numbers = true
    )]
    pub max_depth: u32,

    /// The shortest walk [default: 1]
    #[arg(long, value_name = "MOVES", allow_negative_numbers = true)]
    pub min_depth: Option<u32>,

    /// All walks have --max-depth moves
    #[arg(long, conflicts_with_all = ["min_depth", "trajectories"])]
    pub exact_depth: bool,

    /// Walks of --max-depth moves of which every prefix is a row, from --min-depth on
    #[arg(long, conflicts_with = "pivot")]
    pub trajectories: bool,

    /// Cut every walk at a pivot: the row is the state there, with the moves before and after it
    #[arg(long, conflicts_with = "min_depth")]
    pub pivot: bool,

    /// The earliest pivot [default: 2]
    #[arg(
        long,
        value_name = "MOVES",
        requires = "pivot",
        allow_negative_numbers = true
    )]
    pub k_min: Option<u32>,

    /// A move may undo the last one
    #[arg(long, conflicts_with = "no_cancel")]
    pub allow_undo: bool,

    /// No move that cancels or merges with earlier ones across moves that commute: no U D U', no U U U
    #[arg(long)]
    pub no_cancel: bool,

    /// What a row says [default: state,depth; with --pivot also prev-move,next-move]
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub columns: Vec<ColumnArg>,

    /// Add the states one move away, and whether they are solved
    #[arg(long)]
    pub children: bool,

    /// Add the state as zeros and ones: by pieces, slots and turns, or by positions and labels
    #[arg(long, value_enum, value_name = "HOW")]
    pub encode: Option<EncodeArg>,

    /// Add the true distance to the root, from a finished enumeration (which is made where there is none)
    #[arg(long, value_enum, value_name = "WHICH")]
    pub label: Option<LabelArg>,

    #[arg(long, value_enum, default_value_t = FormatArg::Parquet)]
    pub format: FormatArg,

    /// Parquet: states, children and words as lists instead of binary
    #[arg(long)]
    pub lists: bool,

    /// Rows of a file [default: a power of two for about 64 MiB]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub part_rows: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ColumnArg {
    State,
    Depth,
    Word,
    Solution,
    #[value(alias = "prev_move")]
    PrevMove,
    #[value(alias = "next_move")]
    NextMove,
    Key,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum EncodeArg {
    Piece,
    OneHot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LabelArg {
    Exact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum FormatArg {
    Parquet,
    Npy,
    Jsonl,
}

impl ScrambleArgs {
    /// The question for `puzzle` (which these arguments have loaded), with a column of row numbers where asked.
    pub fn spec(&self, puzzle: Puzzle, with_row: bool) -> Result<ScramblesSpec, Failure> {
        let max_depth = self.max_depth;
        let min_depth = match self.exact_depth {
            true => max_depth,
            false => self.min_depth.unwrap_or(1),
        };
        let shape = if self.pivot {
            Shape::Pivot {
                k_min: self.k_min.unwrap_or(2),
                max_depth,
            }
        } else if self.trajectories {
            Shape::Trajectory {
                min_depth,
                max_depth,
            }
        } else {
            Shape::Walk {
                min_depth,
                max_depth,
            }
        };
        shape
            .check()
            .map_err(|error| Failure::input(error.to_string()))?;
        let mut spec = ScramblesSpec {
            puzzle,
            walks: WalkSpec {
                seed: self.seed,
                shape,
                rules: match (self.allow_undo, self.no_cancel) {
                    (true, _) => Rules::AllowUndo,
                    (_, true) => Rules::NoCancel,
                    _ => Rules::NoUndo,
                },
            },
            offset: self.offset,
            rows: self.rows,
            columns: self.columns(with_row),
            format: match self.format {
                FormatArg::Parquet => Format::Parquet,
                FormatArg::Npy => Format::Npy,
                FormatArg::Jsonl => Format::JsonLines,
            },
            lists: self.lists,
            part_rows: 0,
        };
        let usual = ScramblesSpec::usual_part_rows(spec.row_bytes());
        spec.part_rows = self.part_rows.unwrap_or(usual);
        Ok(spec)
    }

    fn columns(&self, with_row: bool) -> Vec<Column> {
        let mut columns: Vec<Column> = match self.columns.as_slice() {
            [] if self.pivot => vec![
                Column::State,
                Column::Depth,
                Column::PrevMove,
                Column::NextMove,
            ],
            [] => vec![Column::State, Column::Depth],
            some => some.iter().map(|c| c.column()).collect(),
        };
        let more = [
            (with_row, Column::Row),
            (self.label.is_some(), Column::Distance),
            (self.children, Column::Children),
            (self.encode == Some(EncodeArg::Piece), Column::Piece),
            (self.encode == Some(EncodeArg::OneHot), Column::OneHot),
        ];
        columns.extend(more.iter().filter(|(wanted, _)| *wanted).map(|(_, c)| *c));
        columns.sort_unstable();
        columns
    }
}

impl ColumnArg {
    fn column(self) -> Column {
        match self {
            ColumnArg::State => Column::State,
            ColumnArg::Depth => Column::Depth,
            ColumnArg::Word => Column::Word,
            ColumnArg::Solution => Column::Solution,
            ColumnArg::PrevMove => Column::PrevMove,
            ColumnArg::NextMove => Column::NextMove,
            ColumnArg::Key => Column::Key,
        }
    }
}
