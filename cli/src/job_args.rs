//! What a user may say about an enumeration itself, whoever runs it.

use crate::puzzle_arg::PuzzleArgs;
use antipode_solver_core::job::{BfsSpec, Keep};
use antipode_solver_core::puzzle::Puzzle;
use antipode_solver_core::space::LayoutOptions;

/// Flags of `run`, `submit` and `plan`.
#[derive(Debug, Clone, clap::Args)]
pub struct JobArgs {
    #[command(flatten)]
    pub puzzle: PuzzleArgs,

    /// Stop after this level
    #[arg(long, value_name = "LEVEL", allow_negative_numbers = true)]
    pub depth: Option<u32>,

    /// How many of the farthest states are listed, each with a shortest word
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3,
        allow_negative_numbers = true
    )]
    pub antipodes: u32,

    /// What a finished job leaves: its result, or the frontiers of all levels
    #[arg(long, value_enum, default_value_t = KeepArg::Result)]
    pub keep: KeepArg,

    /// At least this many shards, where the index can be cut so
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub shards: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum KeepArg {
    Result,
    Frontiers,
}

impl JobArgs {
    /// The question for `puzzle` (which these arguments have loaded).
    pub fn spec(&self, puzzle: Puzzle) -> BfsSpec {
        BfsSpec {
            puzzle,
            depth: self.depth,
            antipodes: self.antipodes,
            keep: match self.keep {
                KeepArg::Result => Keep::Result,
                KeepArg::Frontiers => Keep::Frontiers,
            },
            layout: LayoutOptions {
                min_shards: self.shards,
                depth: self.depth,
                ..LayoutOptions::default()
            },
        }
    }
}
