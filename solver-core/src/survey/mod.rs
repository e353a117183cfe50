//! Questions about a graph beyond its level counts.

pub mod landmarks;
