//! Exact distances from both ends: a ball around the identity, and around each state spheres that are looked up in it.
//!
//! A word of `R + I` moves that makes `s` is `x * y` with `x` at distance `I` and `y` at distance `R`. So
//! with all smaller distances excluded, `d(s) = R + I` exactly if for some `x` of sphere `I` the
//! state `inverse(x) * s` lies in sphere `R`; where the moves are closed under inverse, so do the spheres, and
//! `inverse(s) * x` is asked for instead. All such `x` are found, hence the least word as well.
//!
//! Where memory allows no larger ball and `I = R`, the target itself is moved: `d(s) = A + R + I` exactly if some `w` at
//! distance `A` has `d(inverse(w) * s) = R + I`. Spheres beyond the ball are walked that way without being stored.

use super::key::MAX_POINTS;
use super::run::Run;
use crate::perm::Perm;
use serde::{Deserialize, Serialize};

/// What a search may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// States made for the ball (one of each two mirrored) plus states looked up in it, over all targets. The size of the next
    /// level is predicted, so the limit may be passed by a few per cent of one level.
    pub max_nodes: u64,
    /// Bytes of the ball and what is needed to make it, about.
    pub memory_bytes: u64,
}

/// What ended a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// Every target has its exact distance.
    Complete,
    /// The next step would have taken more nodes than allowed.
    Nodes,
    /// The next step would have taken more memory than allowed.
    Memory,
    /// It was asked to stop.
    Stopped,
}

/// What is known of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The distance, and the lexicographically least word of this length (numbers of moves).
    Exact { distance: u32, word: Vec<u16> },
    /// No word is shorter than `lower`; a word that makes the target, where one is known, need not be a shortest.
    Open {
        lower: u32,
        proof: Proof,
        word: Option<Vec<u16>>,
    },
}

/// Why no shorter word exists: there is none of `ball + probe` or fewer moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// All states up to this distance from the identity are known ..
    pub ball: u32,
    /// .. and none of them is at up to this distance from the target.
    pub probe: u32,
}

/// A sentence.
impl std::fmt::Display for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "no word of {} or fewer moves: all states up to {} from the identity are known, none of them is within {} of the landmark",
            self.ball + self.probe,
            self.ball,
            self.probe
        )
    }
}

/// The answer of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// One a target, in their order.
    pub found: Vec<Found>,
    pub ended: Ended,
    pub nodes: u64,
    /// Radius of the ball.
    pub radius: u32,
    /// The most bytes that were planned for at once.
    pub bytes: u64,
}

/// Why a search cannot begin, or went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    #[error("{points} points; a search from both ends takes at most {MAX_POINTS}")]
    TooManyPoints { points: usize },
    #[error("the word found for a target does not make it; this is a fault of the program")]
    WrongWord,
    #[error("a target was not found although the whole group was: it is not in the group")]
    NotInGroup,
}

/// Distances from the identity of `targets`, all of them elements of the group of `moves`, in the graph where every
/// move costs 1. `stop` is asked now and then; when it says yes, what is known by then comes back.
///
/// # Errors
/// More than [`MAX_POINTS`] points; a target outside of the group, if that is noticed.
pub fn search(
    moves: &[Perm],
    targets: &[Perm],
    budget: Budget,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Search, SearchError> {
    match moves.first().map_or(0, Perm::len) {
        0..=16 => Run::<u64>::new(moves, targets, budget, stop).run(),
        17..=MAX_POINTS => Run::<u128>::new(moves, targets, budget, stop).run(),
        points => Err(SearchError::TooManyPoints { points }),
    }
}
