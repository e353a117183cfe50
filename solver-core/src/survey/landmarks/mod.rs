//! Landmark surveys: how far 25 chosen permutations are from the identity, for one number of points after
//! another, and what that says about diameters that nobody can enumerate.
//!
//! [`rows`] makes the permutations, [`reach`] says which of them the moves can make, [`exhaustive`] and [`search`] find
//! distances and words, [`size`] puts that together for one number of points, [`spec`] is the question about
//! many, and [`items`] computes it piece by piece. [`ratios`] compares sizes;
//! [`celestial`], [`hull`] and [`enclosing`] look at the words' numbers of moves as points of space.

mod ball;
mod beam;
pub mod celestial;
pub mod enclosing;
pub mod exhaustive;
mod filter;
pub mod hull;
pub mod items;
mod key;
mod meet;
pub mod ratios;
pub mod reach;
pub mod rows;
mod run;
pub mod search;
pub mod size;
pub mod spec;
mod symmetry;

pub use key::MAX_POINTS;
