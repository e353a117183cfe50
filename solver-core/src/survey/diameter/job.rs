//! All-pairs and bounds as batch jobs: the question, its items, and the answer from their records.

use super::all_pairs::AllPairs;
use super::answer::{Answer, Method};
use super::bounds::{Bounds, bounds};
use super::error::SurveyError;
use super::graph::Graph;
use super::summary::Summary;
use super::sweep::BYTES_PER_STATE;
use super::symmetry::Symmetry;
use super::transitive::Transitivity;
use crate::batch::{Batch, ItemOutput, ItemPlan, Stop};
use crate::engine::EngineError;
use crate::puzzle::Puzzle;
use serde::{Deserialize, Serialize};

/// At most so many pairs can be listed: items keep so many sources.
pub const FAR_MAX: usize = 1000;

/// Graphs that take more than this are not cut into items; workers may have less.
const MEMORY_MAX: u64 = 8 << 30;

/// How a batch job finds the diameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Route {
    /// Every source, a batch an item.
    AllPairs,
    /// Eccentricity bounds, in one item.
    Bounds,
}

/// All pairs of a graph by a batch job. (By transitivity, or for the root alone, it is a breadth-first search.)
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiameterSpec {
    pub puzzle: Puzzle,
    pub route: Route,
    /// How many pairs are listed, at most [`FAR_MAX`]. The items do not depend on it.
    pub max_pairs: u32,
}

/// The answer of a finished job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub answer: Answer,
    /// States that were searched from.
    pub sources: u64,
    /// Why these were enough, a sentence.
    pub symmetry: String,
}

impl DiameterSpec {
    /// What the items depend on: moves, roots and route, without the puzzle's name and what people are told of it.
    pub fn question(&self) -> DiameterSpec {
        let (generators, roots) = (self.puzzle.generators(), self.puzzle.roots());
        let bare = Puzzle::new(
            String::new(),
            generators.to_vec(),
            roots.to_vec(),
            self.puzzle.metric(),
            Vec::new(),
        );
        DiameterSpec {
            // The parts of a checked puzzle pass the check again.
            puzzle: bare.unwrap_or_else(|_| self.puzzle.clone()),
            route: self.route,
            max_pairs: 0,
        }
    }

    /// The items. Lists all states once.
    ///
    /// # Errors
    /// A sentence where the graph is too large, or its group.
    pub fn plan(&self) -> Result<ItemPlan, String> {
        if self.max_pairs as usize > FAR_MAX {
            return Err(format!(
                "{} pairs are more than the {FAR_MAX} that can be listed",
                self.max_pairs
            ));
        }
        let batch = self.load().map_err(|error| error.to_string())?;
        let states = batch.all.graph().states();
        Ok(match self.route {
            Route::Bounds => ItemPlan {
                counts: vec![states.into()],
                proof: "every state's eccentricity is found or bounded".into(),
                layout: format!("1 item, eccentricity bounds of {states} states"),
            },
            Route::AllPairs => {
                let items = batch.all.items();
                let sources: u64 = (0..items).map(|i| batch.all.sources_of(i)).sum();
                ItemPlan {
                    counts: (0..items).map(|i| batch.all.states_of(i)).collect(),
                    proof: "every state is a source, or an automorphism carries one to it".into(),
                    layout: format!(
                        "{items} item{} of at most {} sources; {sources} sources for {states} states",
                        if items == 1 { "" } else { "s" },
                        (0..items)
                            .map(|i| batch.all.sources_of(i))
                            .max()
                            .unwrap_or(0),
                    ),
                }
            }
        })
    }

    /// What computes the items.
    ///
    /// # Errors
    /// [`SurveyError::BeyondWorkers`] where the graph is too large, [`SurveyError::Group`] where its group is.
    pub fn load(&self) -> Result<DiameterBatch, SurveyError> {
        let graph = Graph::build(&self.puzzle, MEMORY_MAX).map_err(|error| match error {
            SurveyError::TooLarge {
                states,
                moves,
                needed,
                allowed,
            } => SurveyError::BeyondWorkers {
                states,
                moves,
                needed,
                allowed,
            },
            other => other,
        })?;
        let transitive = Transitivity::of(&self.puzzle)?;
        // Where one source would do, to search from all of them is the point.
        let symmetry = match (self.route, transitive.is_regular()) {
            (Route::AllPairs, true) => Symmetry::none(
                "the graph is transitive; every state is searched from all the same, as was asked",
            ),
            _ => Symmetry::of(&self.puzzle, &graph),
        };
        Ok(DiameterBatch {
            route: self.route,
            all: AllPairs::new(graph, symmetry),
            transitive,
        })
    }

    /// The answer from the records of all items, with up to `max_pairs` pairs. For these the states are listed once more.
    ///
    /// # Errors
    /// [`SurveyError::Violated`] where a record cannot be read or the sums are wrong.
    pub fn answer(&self, records: &[Vec<u8>], max_pairs: usize) -> Result<Answered, SurveyError> {
        match self.route {
            Route::Bounds => {
                let [record] = records else {
                    return Err(SurveyError::Violated("bounds have one record".into()));
                };
                let transitive = Transitivity::of(&self.puzzle)?;
                let (found, states, components): BoundsRecord = read(record)?;
                let symmetry = format!(
                    "{} of {states} states were searched from, up to 512 at once; bounds from them are enough for all others",
                    found.sources
                );
                Ok(Answered {
                    sources: found.sources,
                    answer: Answer {
                        method: Method::Bounds,
                        transitive: transitive.is_regular(),
                        reason: format!(
                            "eccentricity bounds, as was asked. {}",
                            sentence(transitive.reason())
                        ),
                        states: states.into(),
                        components,
                        diameter: Some(found.diameter),
                        radius: Some(found.radius),
                        eccentricities: None,
                        distances: None,
                        pairs: None,
                    },
                    symmetry,
                })
            }
            Route::AllPairs => {
                let batch = self.load()?;
                let transitive = batch.transitive.is_regular();
                let reason = batch.transitive.reason();
                let mut sum = Summary::default();
                for record in records {
                    sum.merge(&read(record)?, FAR_MAX);
                }
                let reason = format!("a search from every source. {}", sentence(reason));
                let sources = (0..batch.all.items())
                    .map(|i| batch.all.sources_of(i))
                    .sum();
                Ok(Answered {
                    answer: batch.all.finish(&sum, max_pairs, transitive, reason)?,
                    sources,
                    symmetry: batch.all.symmetry().proof.clone(),
                })
            }
        }
    }
}

/// The record of a search by bounds, with the numbers of states and components.
type BoundsRecord = (Bounds, u32, usize);

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

fn read<T: for<'de> Deserialize<'de>>(record: &[u8]) -> Result<T, SurveyError> {
    serde_json::from_slice(record)
        .map_err(|error| SurveyError::Violated(format!("an item's record: {error}")))
}

/// A loaded job.
#[derive(Debug)]
pub struct DiameterBatch {
    route: Route,
    all: AllPairs,
    transitive: Transitivity,
}

impl Batch for DiameterBatch {
    fn items(&self) -> u32 {
        match self.route {
            Route::AllPairs => self.all.items(),
            Route::Bounds => 1,
        }
    }

    fn resident_bytes(&self) -> u64 {
        // The states' classes, and the sources.
        self.all.graph().bytes() + 8 * u64::from(self.all.graph().states())
    }

    fn item_bytes(&self, _item: u32) -> u64 {
        let bounds = match self.route {
            Route::AllPairs => 0,
            // Two bounds a state, and lists of states while they spread or are chosen from.
            Route::Bounds => 32,
        };
        u64::from(self.all.graph().states()) * (BYTES_PER_STATE + bounds)
    }

    fn run(&self, item: u32, stop: &Stop) -> Result<ItemOutput, EngineError> {
        if item >= self.items() {
            return Err(EngineError::Input(format!("there is no item {item}")));
        }
        let asked = || stop.is_asked();
        let (count, record) = match self.route {
            Route::AllPairs => {
                let sum = self.all.run(item, FAR_MAX, &asked)?;
                (self.all.states_of(item), write(&sum)?)
            }
            Route::Bounds => {
                let (graph, symmetry) = (self.all.graph(), self.all.symmetry());
                let found = bounds(graph, symmetry, &asked, |_, _, _| ())?;
                let record: BoundsRecord = (found, graph.states(), graph.component_states().len());
                (graph.states().into(), write(&record)?)
            }
        };
        Ok(ItemOutput {
            count,
            record,
            rows: None,
            on_device: None,
        })
    }
}

fn write<T: Serialize>(record: &T) -> Result<Vec<u8>, SurveyError> {
    serde_json::to_vec(record)
        .map_err(|error| SurveyError::Violated(format!("an item's record: {error}")))
}
