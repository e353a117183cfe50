//! Landmark surveys: how far 25 chosen permutations are from the identity, for one number of points after
//! another, and what that says about diameters that nobody can enumerate.

mod ball;
pub mod celestial;
pub mod enclosing;
pub mod hull;
mod key;
pub mod reach;
pub mod rows;
pub mod search;
mod symmetry;

pub use key::MAX_POINTS;
