//! What a walk is, checked.

use serde::{Deserialize, Serialize};

/// No walk is longer than this many moves.
pub const DEPTH_MAX: u32 = 65_535;

/// Which move may follow which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rules {
    /// Any.
    AllowUndo,
    /// Not the inverse of the last move (by composition, not by name). With a single move nothing is refused.
    NoUndo,
    /// No move that, together with those before it that commute with it, says less than it costs: `U D U'`, and in
    /// quarter turns `U U U`, which is `U'`.
    NoCancel,
}

impl Rules {
    /// As files and messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Rules::AllowUndo => "allow-undo",
            Rules::NoUndo => "no-undo",
            Rules::NoCancel => "no-cancel",
        }
    }
}

/// How walks are cut into rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// A walk a row, its length uniform in `min_depth..=max_depth`.
    Walk { min_depth: u32, max_depth: u32 },
    /// Walks of `max_depth` moves; every prefix of `min_depth..=max_depth` moves is a row, shortest first. The walk of row
    /// `i` is number `i / (max_depth - min_depth + 1)`, and that number is its counter.
    Trajectory { min_depth: u32, max_depth: u32 },
    /// A walk of `c + 1` moves a row, `c` uniform in `k_min..max_depth`; the row is the state after `c` of them.
    Pivot { k_min: u32, max_depth: u32 },
}

/// The walks of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkSpec {
    pub seed: u64,
    pub shape: Shape,
    pub rules: Rules,
}

/// Why there are no such scrambles.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScrambleError {
    #[error("{0}")]
    Option(String),
    /// The rules lead into a situation without a move.
    #[error(
        "{rules} leaves no move after {word}, and a walk of up to {max_depth} moves could get there; \
         use at most {reached} moves (--max-depth {reached}) or other rules"
    )]
    DeadEnd {
        rules: &'static str,
        word: String,
        reached: usize,
        max_depth: u32,
    },
    #[error("{0}")]
    TooLarge(String),
    #[error("{0}")]
    Values(String),
}

impl Shape {
    /// Refuses empty ranges.
    ///
    /// # Errors
    /// [`ScrambleError::Option`] names the option and its range.
    pub fn check(&self) -> Result<(), ScrambleError> {
        let no = |text: String| Err(ScrambleError::Option(text));
        let max = self.max_depth();
        if !(1..=DEPTH_MAX).contains(&max) {
            return no(format!(
                "--max-depth is {max}; it must be between 1 and {DEPTH_MAX}"
            ));
        }
        match *self {
            Shape::Walk { min_depth, .. } | Shape::Trajectory { min_depth, .. }
                if min_depth > max =>
            {
                no(format!(
                    "--min-depth is {min_depth}; it must be between 0 and --max-depth, which is {max}"
                ))
            }
            Shape::Pivot { k_min: 0, .. } => no("--k-min is 0; it must be at least 1".into()),
            Shape::Pivot { k_min, .. } if k_min >= max => no(format!(
                "--pivot cuts between --k-min and --max-depth - 1, that is between {k_min} and {}: \
                 raise --max-depth to {} or more, or lower --k-min",
                max - 1,
                u64::from(k_min) + 1
            )),
            _ => Ok(()),
        }
    }

    /// The longest walk.
    pub fn max_depth(&self) -> u32 {
        match *self {
            Shape::Walk { max_depth, .. }
            | Shape::Trajectory { max_depth, .. }
            | Shape::Pivot { max_depth, .. } => max_depth,
        }
    }

    /// Smallest and largest depth of a row.
    pub fn depths(&self) -> (u32, u32) {
        match *self {
            Shape::Walk {
                min_depth,
                max_depth,
            }
            | Shape::Trajectory {
                min_depth,
                max_depth,
            } => (min_depth, max_depth),
            Shape::Pivot { k_min, max_depth } => (k_min, max_depth - 1),
        }
    }

    /// Moves that are drawn beyond the row's depth.
    pub fn extra(&self) -> u32 {
        u32::from(matches!(self, Shape::Pivot { .. }))
    }
}
