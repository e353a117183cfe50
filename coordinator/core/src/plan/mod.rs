//! Planners, one a job kind: given what is done and what is where, what is next?

pub mod bfs;
