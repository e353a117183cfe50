//! One permutation of `0..n`: compose, invert, order, cycles.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A permutation as the list of its images, 0-based. As a move it takes the labelling `s` to
/// `new[i] = s[p[i]]`; the product is `(a*b)[i] = a[b[i]]`, so a word is applied left to right.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<u16>", into = "Vec<u16>")]
pub struct Perm(Box<[u16]>);

/// Why a list is not a permutation of `0..n`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PermError {
    #[error("entry {at} is {value}, but the {len} entries must be the numbers 0..{len}")]
    OutOfRange { at: usize, value: u64, len: usize },
    #[error("entry {at} is {value}, which entry {before} has already")]
    Repeated {
        at: usize,
        value: u64,
        before: usize,
    },
    #[error("{len} points; at most 65,535 are supported")]
    TooLong { len: usize },
}

impl Perm {
    /// The identity on `n` points.
    pub fn identity(n: usize) -> Perm {
        Perm((0..n).map(|i| i as u16).collect())
    }

    /// Checks that `images` holds each of `0..n` once.
    pub fn from_images<T: Copy + Into<u64>>(images: &[T]) -> Result<Perm, PermError> {
        let len = images.len();
        if len > usize::from(u16::MAX) {
            return Err(PermError::TooLong { len });
        }
        let mut before = vec![usize::MAX; len];
        let mut out = Vec::with_capacity(len);
        for (at, &value) in images.iter().enumerate() {
            let value: u64 = value.into();
            if value >= len as u64 {
                return Err(PermError::OutOfRange { at, value, len });
            }
            let first = before[value as usize];
            if first != usize::MAX {
                return Err(PermError::Repeated {
                    at,
                    value,
                    before: first,
                });
            }
            before[value as usize] = at;
            out.push(value as u16);
        }
        Ok(Perm(out.into()))
    }

    /// The permutation that is the product of `cycles`, each `(c0 c1 c2 ..)` meaning
    /// `p[c0] = c1, p[c1] = c2, ..`. The cycles must be disjoint; points must be below `n`.
    pub fn from_cycles(n: usize, cycles: &[Vec<u16>]) -> Result<Perm, PermError> {
        let mut images: Vec<u64> = (0..n as u64).collect();
        for cycle in cycles {
            for (k, &c) in cycle.iter().enumerate() {
                if usize::from(c) >= n {
                    return Err(PermError::OutOfRange {
                        at: k,
                        value: c.into(),
                        len: n,
                    });
                }
                images[usize::from(c)] = u64::from(cycle[(k + 1) % cycle.len()]);
            }
        }
        Perm::from_images(&images)
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True for the permutation of no points at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The images, `images()[i] = p[i]`.
    pub fn images(&self) -> &[u16] {
        &self.0
    }

    /// `p[i]`.
    pub fn at(&self, i: usize) -> usize {
        usize::from(self.0[i])
    }

    /// `(self * other)[i] = self[other[i]]`: first `self`, then `other` as moves of a word.
    pub fn then(&self, other: &Perm) -> Perm {
        debug_assert_eq!(self.len(), other.len());
        Perm(other.0.iter().map(|&j| self.0[usize::from(j)]).collect())
    }

    /// The inverse.
    pub fn inverse(&self) -> Perm {
        let mut out = vec![0u16; self.len()];
        for (i, &v) in self.0.iter().enumerate() {
            out[usize::from(v)] = i as u16;
        }
        Perm(out.into())
    }

    /// Is it the identity?
    pub fn is_identity(&self) -> bool {
        self.0.iter().enumerate().all(|(i, &v)| i == usize::from(v))
    }

    /// `self` repeated `times` times.
    pub fn power(&self, times: u32) -> Perm {
        let mut out = Perm::identity(self.len());
        for _ in 0..times {
            out = out.then(self);
        }
        out
    }

    /// The cycles of length two and more, each starting at its smallest point, in order.
    pub fn cycles(&self) -> Vec<Vec<u16>> {
        let mut seen = vec![false; self.len()];
        let mut out = Vec::new();
        for start in 0..self.len() {
            let mut cycle = Vec::new();
            let mut i = start;
            while !seen[i] {
                seen[i] = true;
                cycle.push(i as u16);
                i = self.at(i);
            }
            if cycle.len() > 1 {
                out.push(cycle);
            }
        }
        out
    }

    /// True for an even permutation.
    pub fn is_even(&self) -> bool {
        self.cycles().iter().map(|c| c.len() - 1).sum::<usize>() % 2 == 0
    }

    /// Applies the move to a labelling: `new[i] = state[p[i]]`.
    pub fn apply<T: Copy>(&self, state: &[T]) -> Vec<T> {
        self.0.iter().map(|&j| state[usize::from(j)]).collect()
    }
}

impl TryFrom<Vec<u16>> for Perm {
    type Error = PermError;
    fn try_from(images: Vec<u16>) -> Result<Perm, PermError> {
        Perm::from_images(&images)
    }
}

impl From<Perm> for Vec<u16> {
    fn from(p: Perm) -> Vec<u16> {
        p.0.into_vec()
    }
}

impl fmt::Debug for Perm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Cycle notation, 0-based, `()` for the identity.
impl fmt::Display for Perm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cycles = self.cycles();
        if cycles.is_empty() {
            return f.write_str("()");
        }
        for cycle in cycles {
            let text: Vec<String> = cycle.iter().map(u16::to_string).collect();
            write!(f, "({})", text.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_applied_left_to_right() {
        let a = Perm::from_images(&[1u16, 2, 0, 3]).unwrap();
        let b = Perm::from_images(&[0u16, 1, 3, 2]).unwrap();
        let state = [10, 11, 12, 13];
        assert_eq!(a.then(&b).apply(&state), b.apply(&a.apply(&state)));
        assert_eq!(a.then(&a.inverse()), Perm::identity(4));
    }

    #[test]
    fn a_list_that_is_no_permutation_is_named() {
        assert_eq!(
            Perm::from_images(&[0u16, 0, 1]),
            Err(PermError::Repeated {
                at: 1,
                value: 0,
                before: 0
            })
        );
        assert_eq!(
            Perm::from_images(&[0u16, 3, 1]),
            Err(PermError::OutOfRange {
                at: 1,
                value: 3,
                len: 3
            })
        );
    }
}
