//! All pairs of states: diameter, radius, eccentricities, distances and the pairs farthest apart.
//!
//! Distances are those of the directed graph whose edges are the generators, each of cost 1. The outward
//! eccentricity of `u` is the greatest `d(u, v)`; the diameter is the greatest eccentricity, the radius the
//! smallest. Pairs are ordered, `u = v` included, and lie in one component: states are permutations' images, so
//! each orbit of the group is strongly connected, and several components arise only from roots in
//! different orbits.
//!
//! Four roads lead to an answer:
//!
//! - [`Transitivity`]: where the moves act regularly one search from the root answers for all pairs;
//! - [`AllPairs`]: a bit-parallel search from 512 sources at once, batch by batch, on an explicit [`Graph`];
//! - [`bounds`](fn@bounds): diameter and radius alone, by eccentricity bounds, from far fewer sources;
//! - the eccentricity of the root alone is an ordinary breadth-first search and needs nothing from here.

mod all_pairs;
mod answer;
mod automorphisms;
mod bounds;
mod error;
mod far;
mod graph;
mod job;
mod last_level;
mod packing;
mod search;
mod summary;
mod sweep;
mod symmetry;
mod transitive;

pub use all_pairs::AllPairs;
pub use answer::{Answer, Method, Pair, Pairs, mean};

pub use bounds::{Bounds, bounds};
pub use error::SurveyError;
pub use graph::{Graph, GraphSize};
pub use job::{Answered, DiameterBatch, DiameterSpec, FAR_MAX, Route};
pub use last_level::mutual_of_last_level;
pub use summary::Summary;
pub use symmetry::Symmetry;
pub use transitive::{LastLevel, Transitivity, answer_by_transitivity, smallest_states};
