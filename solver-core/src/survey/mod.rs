//! Surveys: questions about a whole graph that one breadth-first search from the roots does not answer.

pub mod diameter;
pub mod landmarks;
