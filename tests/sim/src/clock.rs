//! Clocks that do not agree: each process sees the one true time through its own rate and offset.

/// One microsecond of true time.
pub type Micros = u64;

pub const MILLI: Micros = 1000;
pub const SECOND: Micros = 1_000_000;

/// A monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// What it shows at true time 0.
    pub offset: Micros,
    /// Its microseconds in a thousand true ones.
    pub rate: u64,
}

impl Clock {
    pub fn show(&self, now: Micros) -> Micros {
        self.offset + now * self.rate / 1000
    }

    /// True microseconds in which the clock goes on by `micros`.
    pub fn span(&self, micros: Micros) -> Micros {
        micros * 1000 / self.rate
    }
}
