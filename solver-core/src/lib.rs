//! Mathematics of Antipode: permutation groups, puzzles, perfect indices and word-parallel
//! breadth-first enumeration of Cayley graphs. No files, no sockets, no clock, no threads of its
//! own choosing (parallel loops run in the rayon pool of the caller), no GPU.
//!
//! # Conventions
//!
//! Positions and labels are 0-based. A permutation `p` is a list, the product is composition,
//! `(a*b)[i] = a[b[i]]`. A state is a labelling `s` of positions; the move `p` takes `s` to
//! `s*p`, that is `new[i] = s[p[i]]`. A word is applied from left to right. Every generator
//! costs 1: the metric is the generator list.

pub mod bfs;
pub mod engine;
pub mod group;
pub mod job;
pub mod perm;
pub mod puzzle;
pub mod space;

pub use perm::Perm;
