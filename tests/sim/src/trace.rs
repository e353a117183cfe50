//! What happened, line by line: hashed for the comparison of two runs, or kept for a person to read.

use std::collections::VecDeque;
use std::fmt::{Arguments, Write};

/// Lines that a failing seed prints.
const TAIL: usize = 40000;

/// What is done with the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracing {
    Off,
    /// Hash them.
    Hash,
    /// Hash them and keep the last ones.
    Keep,
}

#[derive(Debug)]
pub struct Trace {
    tracing: Tracing,
    hash: u64,
    line: String,
    tail: VecDeque<String>,
}

impl Trace {
    pub fn new(tracing: Tracing) -> Trace {
        Trace {
            tracing,
            hash: 0xcbf2_9ce4_8422_2325,
            line: String::new(),
            tail: VecDeque::new(),
        }
    }

    /// One thing that happened at `micros`.
    pub fn add(&mut self, micros: u64, what: Arguments) {
        if self.tracing == Tracing::Off {
            return;
        }
        self.line.clear();
        // Writing to a string cannot fail.
        _ = write!(self.line, "{:>10.3} {what}", micros as f64 / 1000.0);
        for byte in self.line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        if self.tracing == Tracing::Keep {
            if self.tail.len() == TAIL {
                self.tail.pop_front();
            }
            self.tail.push_back(self.line.clone());
        }
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    pub fn tail(&self) -> Vec<String> {
        self.tail.iter().cloned().collect()
    }
}
