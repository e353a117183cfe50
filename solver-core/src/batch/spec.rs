//! What the kinds of batch jobs have in common, seen from outside.

use super::ItemPlan;
use crate::puzzle::Puzzle;
pub use crate::scramble::ScramblesSpec;
pub use crate::survey::diameter::DiameterSpec;
pub use crate::survey::landmarks::spec::LandmarksSpec;
use serde::{Deserialize, Serialize};

/// A batch job as a user asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BatchSpec {
    Diameter(DiameterSpec),
    Landmarks(LandmarksSpec),
    Scrambles(ScramblesSpec),
}

impl BatchSpec {
    /// As users name it.
    pub fn kind(&self) -> &'static str {
        match self {
            BatchSpec::Diameter(_) => "diameter",
            BatchSpec::Landmarks(_) => "landmarks",
            BatchSpec::Scrambles(_) => "scrambles",
        }
    }

    /// The graph it is about, where it is about one.
    pub fn puzzle(&self) -> Option<&Puzzle> {
        match self {
            BatchSpec::Diameter(spec) => Some(&spec.puzzle),
            BatchSpec::Landmarks(_) => None,
            BatchSpec::Scrambles(spec) => Some(&spec.puzzle),
        }
    }

    /// The same, to be replaced by a checked one.
    pub fn puzzle_mut(&mut self) -> Option<&mut Puzzle> {
        match self {
            BatchSpec::Diameter(spec) => Some(&mut spec.puzzle),
            BatchSpec::Landmarks(_) => None,
            BatchSpec::Scrambles(spec) => Some(&mut spec.puzzle),
        }
    }

    /// What it is about, in a few words.
    pub fn title(&self) -> String {
        match self {
            BatchSpec::Diameter(spec) => spec.puzzle.name().into(),
            BatchSpec::Landmarks(spec) => spec.title(),
            BatchSpec::Scrambles(spec) => spec.puzzle.name().into(),
        }
    }

    /// Do its items make rows, which are kept until they are fetched?
    pub fn makes_rows(&self) -> bool {
        matches!(self, BatchSpec::Scrambles(_))
    }

    /// What its items depend on: without what is a matter of listing alone.
    pub fn question(&self) -> BatchSpec {
        match self {
            BatchSpec::Diameter(spec) => BatchSpec::Diameter(spec.question()),
            other => other.clone(),
        }
    }

    /// Its items. May take its time.
    ///
    /// # Errors
    /// A sentence where the question cannot be answered.
    pub fn plan(&self) -> Result<ItemPlan, String> {
        match self {
            BatchSpec::Diameter(spec) => spec.plan(),
            BatchSpec::Landmarks(spec) => spec.plan(),
            BatchSpec::Scrambles(spec) => spec.plan(),
        }
    }
}
