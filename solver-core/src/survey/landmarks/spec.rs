//! A landmark survey as a question: a family, a range of sizes, budgets.

use super::rows::MIN_POINTS;
use super::search::Budget;
use super::size::Survey;
use crate::batch::ItemPlan;
use crate::puzzle::{Puzzle, PuzzleOptions, resolve};
use serde::{Deserialize, Serialize};

/// Landmarks of a family for a range of sizes. An answer is a function of this, but for rows that a time limit ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandmarksSpec {
    /// The family's name; its first parameter is the size.
    pub family: String,
    /// The other parameters, as (name, value) or as (empty, word).
    pub parameters: Vec<(String, String)>,
    /// The smallest and the largest size, both included.
    pub from: u32,
    pub to: u32,
    /// Up to this size the whole group is enumerated where memory allows it.
    pub exhaustive: u32,
    /// For each size.
    pub budget: Budget,
    /// Ends the search of one size early. What it leaves open depends on the machine.
    pub time_limit_ms: Option<u64>,
}

/// Landmarks of one size.
const PER_SIZE: u64 = super::rows::COUNT as u64;

impl LandmarksSpec {
    /// `topspin, k=4, n = 6..13`, or `n = 8` for a single size.
    pub fn title(&self) -> String {
        let parameters = self.parameters.iter().map(|(name, value)| match &**name {
            "" => format!(", {value}"),
            name => format!(", {name}={value}"),
        });
        let sizes = match self.from == self.to {
            true => self.to.to_string(),
            false => format!("{}..{}", self.from, self.to),
        };
        let parameters: String = parameters.collect();
        format!("{}{parameters}, n = {sizes}", self.family)
    }

    /// Number of sizes, which are the items.
    pub fn sizes(&self) -> u32 {
        (self.to + 1).saturating_sub(self.from)
    }

    /// The puzzle of one size.
    ///
    /// # Errors
    /// A sentence where the family has no such puzzle, or its states are not permutations of `n` points.
    pub fn puzzle(&self, n: u32) -> Result<Puzzle, String> {
        let mut spec = format!("{}:{n}", self.family);
        for (name, value) in &self.parameters {
            spec.push(',');
            if !name.is_empty() {
                spec.push_str(name);
                spec.push('=');
            }
            spec.push_str(value);
        }
        let puzzle = resolve(&spec, &PuzzleOptions::default()).map_err(|e| {
            format!(
                "{}\n  in a survey N comes from --n, the family's other parameters from --k or --param NAME=VALUE",
                e.0
            )
        })?;
        if puzzle.degree() == n as usize {
            return Ok(puzzle);
        }
        Err(format!(
            "{spec}: landmarks are permutations of n points, this puzzle has {} positions for n = {n}; \
             families with one position a point are topspin, lrx, pancake, coxeter and others",
            puzzle.degree()
        ))
    }

    /// One item a size: a size's ball of states is made once and serves all its landmarks.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the question.
    pub fn plan(&self) -> Result<ItemPlan, String> {
        self.check()?;
        for n in self.from..=self.to {
            Survey::without_index(self.puzzle(n)?, self.budget)?;
        }
        let sizes = self.sizes();
        Ok(ItemPlan {
            counts: vec![PER_SIZE; sizes as usize],
            proof: "25 landmarks a size".into(),
            layout: format!(
                "{sizes} {}, {PER_SIZE} landmarks each",
                if sizes == 1 { "size" } else { "sizes" }
            ),
        })
    }

    /// Refuses ranges and budgets that make no sense, without looking at puzzles.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self) -> Result<(), String> {
        let (from, to, most) = (self.from, self.to, super::MAX_POINTS);
        if from > to {
            return Err(format!(
                "the range {from}..{to} runs backwards; write the smaller size first"
            ));
        }
        if (from as usize) < MIN_POINTS {
            return Err(format!(
                "n = {from} is too small: the 25 landmarks can be told apart from n = {MIN_POINTS} on"
            ));
        }
        if to as usize > most {
            return Err(format!(
                "n = {to} is too large: landmarks are searched for up to n = {most}"
            ));
        }
        if self.budget.memory_bytes < super::size::LEAST_BYTES {
            return Err(format!(
                "{} bytes of memory are too few; give --memory at least {} MiB",
                self.budget.memory_bytes,
                super::size::LEAST_BYTES >> 20
            ));
        }
        if self.budget.max_nodes == 0 {
            return Err("a search of no nodes finds nothing; give --max-nodes at least 1".into());
        }
        Ok(())
    }

    /// The survey of one size.
    ///
    /// # Errors
    /// As [`LandmarksSpec::puzzle`] and [`Survey::new`].
    pub fn survey(&self, n: u32) -> Result<Survey, String> {
        Survey::new(self.puzzle(n)?, self.exhaustive, self.budget)
    }
}
