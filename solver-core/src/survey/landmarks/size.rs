//! All that a survey finds out about one number of points.

use super::exhaustive;
use super::reach::Reach;
use super::rows::{Landmark, landmarks};
use super::search::{Budget, Ended, Found, Proof, Search, search};
use crate::engine::EngineError;
use crate::perm::Perm;
use crate::puzzle::Puzzle;
use crate::space::{self, LayoutOptions, SpaceDef};
use serde::{Deserialize, Serialize};

/// No survey of a size is thought to need less.
pub const LEAST_BYTES: u64 = 64 << 20;

/// What the distances rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// A breadth-first enumeration of the whole group, and the search from both ends for the words: two
    /// independent answers, which must agree.
    Exhaustive,
    /// The search from both ends alone.
    BothEnds,
}

/// One landmark of one size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// 1 to 25.
    pub id: u8,
    /// The labels, 0-based.
    pub state: Vec<u16>,
    pub outcome: Outcome,
}

/// How far a landmark is from the identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// No word makes it: `parity`, `blocks` or `not in the group`.
    Unreachable { reason: String },
    /// The lexicographically least shortest word, as numbers of generators; its length is the distance.
    Exact { word: Vec<u16> },
    /// The distance is proved (by an enumeration, or by a word as long as the lower bound), the least shortest word is
    /// not known; `word`, where there is one, is some shortest word.
    Proved {
        distance: u32,
        word: Option<Vec<u16>>,
    },
    /// No word is shorter than `lower`; `word`, where one is known, need not be a shortest.
    Open {
        lower: u32,
        proof: Proof,
        word: Option<Vec<u16>>,
    },
}

/// What was found out about one size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub n: u32,
    pub puzzle: String,
    /// Names of the generators, which words count.
    pub moves: Vec<String>,
    pub group_order: String,
    pub method: Method,
    /// Level sizes of the whole group, where it was enumerated.
    pub levels: Option<Vec<u64>>,
    pub rows: Vec<Row>,
    /// What ended the search from both ends, and what it used.
    pub ended: Ended,
    pub nodes: u64,
    pub radius: u32,
}

impl Size {
    /// The diameter, where the whole group was enumerated.
    pub fn diameter(&self) -> Option<u32> {
        self.levels.as_ref().map(|l| l.len() as u32 - 1)
    }
}

/// What the search left open may be known all the same.
fn open(enumerated: Option<u32>, lower: u32, proof: Proof, word: Option<&[u16]>) -> Outcome {
    let length = word.map(|word| word.len() as u32);
    let as_short = Some(lower).filter(|_| length == Some(lower));
    match enumerated.or(as_short) {
        Some(distance) => Outcome::Proved {
            distance,
            word: word
                .filter(|word| word.len() as u32 == distance)
                .map(<[u16]>::to_vec),
        },
        None => Outcome::Open {
            lower,
            proof,
            word: word.map(<[u16]>::to_vec),
        },
    }
}

/// The puzzle of one size, ready to be surveyed.
pub struct Survey {
    puzzle: Puzzle,
    moves: Vec<Perm>,
    reach: Reach,
    landmarks: Vec<Landmark>,
    /// The index, where the group is to be enumerated.
    space: Option<SpaceDef>,
    budget: Budget,
}

impl Survey {
    /// Prepares a survey of `puzzle`. Its group is enumerated where it has at most `exhaustive` points, has an index and
    /// fits in the budget's memory; the rest of the budget is for the search from both ends.
    ///
    /// # Errors
    /// A sentence where there are no landmarks for this puzzle: too few points, or states that are no permutations.
    pub fn new(puzzle: Puzzle, exhaustive: u32, budget: Budget) -> Result<Survey, String> {
        let mut survey = Survey::without_index(puzzle, budget)?;
        if survey.puzzle.degree() <= exhaustive as usize {
            let def = space::build(&survey.puzzle, &LayoutOptions::default()).ok();
            survey.space = def.filter(|def| exhaustive::bytes(def) <= budget.memory_bytes);
        }
        Ok(survey)
    }

    /// The same without the index of the group, which takes its time: enough to know that there is such a survey.
    ///
    /// # Errors
    /// As [`Survey::new`].
    pub(super) fn without_index(puzzle: Puzzle, budget: Budget) -> Result<Survey, String> {
        let n = puzzle.degree();
        let landmarks = landmarks(n).map_err(|e| e.to_string())?;
        if n > super::MAX_POINTS {
            return Err(format!(
                "n = {n} is too large: landmarks are searched for up to n = {}",
                super::MAX_POINTS
            ));
        }
        let is_identity = |root: &[u16]| root.iter().enumerate().all(|(i, &v)| i == usize::from(v));
        if !matches!(puzzle.roots(), [root] if is_identity(root)) {
            return Err(format!(
                "{}: landmarks are permutations, its states are not",
                puzzle.name()
            ));
        }
        let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
        let reach = Reach::new(n, &moves).map_err(|e| e.to_string())?;
        Ok(Survey {
            puzzle,
            moves,
            reach,
            landmarks,
            space: None,
            budget,
        })
    }

    /// Bytes that [`Survey::run`] needs at most, about.
    pub fn bytes(&self) -> u64 {
        // Sixteen bytes a state, and as much again while a level is made.
        let search = (self.budget.max_nodes.saturating_mul(32)).min(self.budget.memory_bytes);
        let whole = self.space.as_ref().map_or(search, exhaustive::bytes);
        whole.max(LEAST_BYTES)
    }

    /// Surveys it. `stop` ends it as a whole; `enough` ends only the search, what is known by then is the answer.
    ///
    /// # Errors
    /// [`EngineError::Stopped`]; [`EngineError::Violated`] where two ways to an answer differ.
    pub fn run(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
        enough: &(dyn Fn() -> bool + Sync),
    ) -> Result<Size, EngineError> {
        let reasons: Vec<_> = self
            .landmarks
            .iter()
            .map(|l| self.reach.why_not(&l.state))
            .collect();
        let targets: Vec<Perm> = self
            .landmarks
            .iter()
            .zip(&reasons)
            .filter(|(_, reason)| reason.is_none())
            .map(|(l, _)| l.state.clone())
            .collect();
        let whole = match &self.space {
            None => None,
            Some(def) => Some(exhaustive::enumerate(&self.puzzle, def, &targets, stop)?),
        };
        let found = search(&self.moves, &targets, self.budget, &|| stop() || enough())
            .map_err(|e| EngineError::Violated(format!("{}: {e}", self.puzzle.name())))?;
        if stop() {
            return Err(EngineError::Stopped);
        }
        if let Some(whole) = &whole {
            self.compare(&whole.distances, &found)?;
        }
        let mut answers = found.found.iter();
        let mut distances = whole.iter().flat_map(|whole| whole.distances.iter());
        let rows = self
            .landmarks
            .iter()
            .zip(reasons)
            .map(|(l, reason)| Row {
                id: l.id,
                state: l.state.images().to_vec(),
                outcome: match (reason, answers.as_slice().first()) {
                    (Some(why), _) => Outcome::Unreachable {
                        reason: why.name().into(),
                    },
                    (None, answer) => {
                        answers.next();
                        let enumerated = distances.next().copied().flatten();
                        match answer {
                            Some(Found::Exact { word, .. }) => {
                                Outcome::Exact { word: word.clone() }
                            }
                            Some(Found::Open { lower, proof, word }) => {
                                open(enumerated, *lower, *proof, word.as_deref())
                            }
                            None => Outcome::Open {
                                lower: 0,
                                proof: Proof { ball: 0, probe: 0 },
                                word: None,
                            },
                        }
                    }
                },
            })
            .collect();
        Ok(Size {
            n: self.puzzle.degree() as u32,
            puzzle: self.puzzle.name().into(),
            moves: self
                .puzzle
                .generators()
                .iter()
                .map(|g| g.name.clone())
                .collect(),
            group_order: self.reach.chain().order().to_string(),
            method: match whole {
                Some(_) => Method::Exhaustive,
                None => Method::BothEnds,
            },
            levels: whole.map(|w| w.levels),
            rows,
            ended: found.ended,
            nodes: found.nodes,
            radius: found.radius,
        })
    }

    /// The enumeration must say the same as the search.
    fn compare(&self, distances: &[Option<u32>], search: &Search) -> Result<(), EngineError> {
        for (whole, found) in distances.iter().zip(&search.found) {
            let agree = match (whole, found) {
                (None, _) => false,
                (Some(d), Found::Exact { distance, .. }) => d == distance,
                (Some(d), Found::Open { lower, .. }) => d >= lower,
            };
            if !agree {
                return Err(EngineError::Violated(format!(
                    "{}: the enumeration of the group gives a landmark the distance {whole:?}, the search from both ends {found:?}",
                    self.puzzle.name()
                )));
            }
        }
        Ok(())
    }
}
