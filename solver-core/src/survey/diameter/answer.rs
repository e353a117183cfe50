//! The answer, whichever road led to it.

use crate::puzzle::State;
use serde::{Deserialize, Serialize};

/// The road that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    Transitive,
    AllPairs,
    Bounds,
    FromStart,
}

/// What is known about all pairs of states. `None`: not found by this method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub method: Method,
    /// Is the graph proved to be the Cayley graph of its group?
    pub transitive: bool,
    /// Why the method was chosen and why it is enough, a sentence.
    pub reason: String,
    /// Number of states, over all components.
    pub states: u128,
    /// Pairs in different components have no distance and are not counted.
    pub components: usize,
    pub diameter: Option<u32>,
    /// The smallest outward eccentricity.
    pub radius: Option<u32>,
    /// States by outward eccentricity.
    pub eccentricities: Option<Vec<u128>>,
    /// Ordered pairs by distance, `u = v` included.
    pub distances: Option<Vec<u128>>,
    pub pairs: Option<Pairs>,
}

/// The pairs whose distance is the diameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pairs {
    /// Number of `(u, v)`.
    pub ordered: u128,
    /// Number of `{u, v}` with this distance one way or the other.
    pub unordered: Option<u128>,
    /// The lexicographically smallest ones.
    pub list: Vec<Pair>,
    /// Why pairs or the number of unordered ones are missing.
    pub missing: Option<String>,
}

/// Two states and the lexicographically least shortest word (generator numbers, left to right) from one to the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    pub from: State,
    pub to: State,
    pub word: Vec<u16>,
}

/// The mean of a histogram of distances over ordered pairs, with or without the pairs `u = v` (those at distance 0);
/// `None` where there is no pair.
pub fn mean(distances: &[u128], with_self: bool) -> Option<f64> {
    let skipped = usize::from(!with_self);
    let pairs: u128 = distances.iter().skip(skipped).sum();
    let sum: u128 = (0u128..).zip(distances).map(|(d, n)| d * n).sum();
    (pairs > 0).then(|| sum as f64 / pairs as f64)
}
