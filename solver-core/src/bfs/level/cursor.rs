//! Membership for ascending questions: a sparse set is walked along with them, not searched anew.

use crate::bfs::frontier::{Body, Frontier};

/// Membership for ascending questions.
pub(super) struct Cursor<'a> {
    set: &'a Frontier,
    at: usize,
    started: bool,
}

impl<'a> Cursor<'a> {
    pub fn new(set: &'a Frontier) -> Cursor<'a> {
        Cursor {
            set,
            at: 0,
            started: false,
        }
    }

    #[inline]
    pub fn has(&mut self, p: u32) -> bool {
        match &self.set.body {
            Body::Sparse(v) => {
                if !self.started {
                    self.at = v.partition_point(|&q| q < p);
                    self.started = true;
                }
                // Questions are close together or far apart: gallop, then halve.
                let mut step = 1;
                while self.at + step < v.len() && v[self.at + step] < p {
                    self.at += step;
                    step *= 2;
                }
                let end = (self.at + step + 1).min(v.len());
                self.at += v[self.at.min(end)..end].partition_point(|&q| q < p);
                v.get(self.at) == Some(&p)
            }
            _ => self.set.contains(p),
        }
    }
}
