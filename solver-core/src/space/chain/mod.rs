//! The chain kind: states are the elements of the group, numbered perfectly by a stabiliser chain.
//!
//! `s = k * r_w * c_j * u_(x_last) * .. * u_(x_0)`: the digits `x_0, x_1, ..` are positions of base
//! labels, then `j` is a coset of the superblock group B in the last stabiliser H, `w` a coset of the
//! leaf group K in B, `k` the element of K. What everything rests on: under a right
//! multiplication digit 0 of the result depends on digit 0 alone, and the rest is multiplied by
//! one known element: `u_x * p = sigma * u_x'`. A whole coset moves to a whole coset.

mod index;
mod key;
mod layout;
mod parts;
mod tables;
mod tail;

pub(crate) use index::ChainIndex;
pub(crate) use layout::build;
pub(crate) use parts::{ChainParts, parts_of};

use crate::perm::Perm;
use serde::{Deserialize, Serialize};

/// One point digit as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PointDigit {
    pub base: u16,
    /// `transversal[d]` has `orbit[d] -> base`.
    pub orbit: Vec<u16>,
    pub transversal: Vec<Perm>,
}

/// The index as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChainDef {
    pub degree: usize,
    pub points: Vec<PointDigit>,
    /// Base labels of the last stabiliser H.
    pub tail_base: Vec<u16>,
    pub cosets: Vec<Perm>,
    pub words: Vec<Perm>,
    pub leaf: Vec<Perm>,
    /// How many digits number the shards.
    pub prefix: usize,
    /// One for each orbit of roots: the labelling that element "identity" stands for, and the group
    /// elements of its roots.
    pub parts: Vec<ChainPart>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChainPart {
    pub labels: Vec<u16>,
    pub roots: Vec<Perm>,
}

impl ChainDef {
    /// Lengths of the digits before the superblock.
    pub fn lengths(&self) -> Vec<u64> {
        let mut out: Vec<u64> = self.points.iter().map(|p| p.orbit.len() as u64).collect();
        if self.cosets.len() > 1 {
            out.push(self.cosets.len() as u64);
        }
        out
    }

    /// One line for people.
    pub fn layout(&self) -> String {
        let mut digits: Vec<String> = self
            .points
            .iter()
            .map(|p| p.orbit.len().to_string())
            .collect();
        if self.cosets.len() > 1 {
            digits.push(format!("{} cosets", self.cosets.len()));
        }
        let (prefix, rest) = digits.split_at(self.prefix);
        format!(
            "shards [{}] digits [{}] superblock {} words x {} of 64 states",
            prefix.join(" x "),
            rest.join(" x "),
            self.words.len(),
            self.leaf.len()
        )
    }
}
