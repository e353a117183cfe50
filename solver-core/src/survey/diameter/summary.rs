//! What a batch of sources counted, and the sum of batches.

use serde::{Deserialize, Serialize};

/// Counts over some sources `u` and all states `v` of their components. Each source may stand for several
/// states with equal counts; then all of them are counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// States by outward eccentricity.
    pub eccentricities: Vec<u64>,
    /// Ordered pairs by distance, `u = v` included.
    pub distances: Vec<u64>,
    /// The greatest distance.
    pub greatest: u32,
    /// Ordered pairs at it.
    pub ordered: u64,
    /// Those of them whose way back is as long. Directed lists: 0 where `greatest` is known beforehand
    /// not to be the diameter.
    pub mutual: u64,
    /// The smallest sources with this eccentricity, ascending; at most as many as pairs were asked for.
    pub far: Vec<u32>,
}

impl Summary {
    /// Counts of other sources, where the greatest distance keeps its pairs alone. At most `max_far` sources are kept.
    pub fn merge(&mut self, other: &Summary, max_far: usize) {
        add(&mut self.eccentricities, &other.eccentricities);
        add(&mut self.distances, &other.distances);
        if other.greatest > self.greatest {
            self.greatest = other.greatest;
            (self.ordered, self.mutual) = (0, 0);
            self.far.clear();
        }
        if other.greatest == self.greatest {
            self.ordered += other.ordered;
            self.mutual += other.mutual;
            self.far.extend(&other.far);
            self.far.sort_unstable();
            self.far.truncate(max_far);
        }
    }

    /// Number of sources, with those that they stand for.
    pub fn sources(&self) -> u64 {
        self.eccentricities.iter().sum()
    }
}

fn add(sum: &mut Vec<u64>, more: &[u64]) {
    if sum.len() < more.len() {
        sum.resize(more.len(), 0);
    }
    for (a, b) in sum.iter_mut().zip(more) {
        *a += b;
    }
}
