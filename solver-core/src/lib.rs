//! Mathematics of Antipode: permutation groups, puzzles, perfect indices and word-parallel
//! breadth-first enumeration of Cayley graphs. No files, no sockets, no clock (the yardsticks of
//! benchmarks apart), no threads of its own choosing (parallel loops run in the rayon pool of the
//! caller), no GPU.
//!
//! # Conventions
//!
//! Positions and labels are 0-based. A permutation `p` is a list, the product is composition,
//! `(a*b)[i] = a[b[i]]`. A state is a labelling `s` of positions; the move `p` takes `s` to
//! `s*p`, that is `new[i] = s[p[i]]`. A word is applied from left to right. Every generator
//! costs 1: the metric is the generator list.
//!
//! # Counting a graph
//!
//! ```
//! use antipode_solver_core::bfs::enumerate::enumerate;
//! use antipode_solver_core::engine::{Engine, KernelChoice};
//! use antipode_solver_core::puzzle::{PuzzleOptions, resolve};
//! use antipode_solver_core::space::{self, LayoutOptions};
//!
//! let puzzle = resolve("topspin:8,4", &PuzzleOptions::default())?;
//! // The group's order, a verified stabiliser chain and the layout of the index, computed once.
//! let index = space::build(&puzzle, &LayoutOptions::default())?;
//! assert_eq!(index.states.as_deref(), Some("40320"));
//! let engine = Engine::load(&puzzle, &index, KernelChoice::Auto)?;
//! // Level by level; ten states a task are certified with plain permutations.
//! let (levels, _last) = enumerate(&engine, None, None, 10, |_| ())?;
//! assert_eq!(levels.len() - 1, 22);
//! assert_eq!(levels.iter().map(|l| l.count).sum::<u64>(), 40_320);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod batch;
pub mod bfs;
pub mod distance;
pub mod engine;
pub mod group;
pub mod job;
pub mod perm;
pub mod puzzle;
pub mod scramble;
pub mod space;
pub mod states;
pub mod survey;
mod terms;
pub mod verify;

pub use perm::Perm;
