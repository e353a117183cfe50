//! Scrambles: random walks on the graph of a puzzle with everything that learning from them needs. A row is a pure
//! function of (puzzle, [`WalkSpec`], row number), so any sharding, number of threads or device gives the same rows.
//!
//! - [`spec`]: what is asked, checked.
//! - [`philox`]: the counter-based generator of random words.
//! - [`rules`]: which move may follow which, as an automaton; dead ends are found beforehand.
//! - [`walks`]: blocks of rows: lengths, words, states.
//! - [`table`]: columns, formats, parts.
//! - [`drawn`]: rows that were made elsewhere.
//! - [`children`], [`encode`], [`key`], [`pieces`], [`targets`]: what is derived from a state.
//!
//! # A row
//!
//! Let `u_0, u_1, ..` be the words of Philox4x32-10 under the key (low, high half of the seed) at the counters
//! (low half of the row, high half of the row, 0, 0), (.., 1, 0), .. , four words each, in order. `u_0` gives the
//! length `d = min + (u_0 * (max - min + 1) >> 32)`, `u_i` the i-th move: the `(u_i * m >> 32)`-th, from 0 in generator
//! order, of the `m` moves that the rules allow then. All in unsigned integers of 32 and 64 bits.

pub mod children;
mod compose;
mod compose_narrow;
pub mod drawn;
pub mod encode;
pub mod key;
pub mod philox;
pub mod pieces;
pub mod rules;
mod rules_cancel;
pub mod spec;
pub mod table;
pub mod targets;
mod vectors;
pub mod walks;

pub use drawn::{Drawn, Rows, Wanted};
pub use spec::{Rules, ScrambleError, Shape, WalkSpec};
pub use table::{Column, Format, ScramblesSpec};
pub use walks::{Block, Walks};
