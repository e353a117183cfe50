//! Numbers of the labellings with given labels, in lexicographic order: ranks of multiset permutations
//! (Knuth, TAOCP 4A, 7.2.1.2), computed and not looked up.

/// Ranks in lexicographic order.
pub(super) struct Multinomial {
    pub positions: Vec<u16>,
    /// Distinct labels ascending, and how often each occurs.
    pub labels: Vec<u16>,
    times: Vec<usize>,
    /// Labels of positions that never move.
    fixed: Vec<u16>,
    pub binomials: Vec<Vec<u64>>,
}

/// `rows[i][k]` = i over k, for i up to `n`.
fn binomials(n: usize) -> Vec<Vec<u64>> {
    let mut rows = vec![vec![1u64]];
    for i in 1..=n {
        let mut row = vec![1u64; i + 1];
        for k in 1..i {
            row[k] = rows[i - 1][k - 1].saturating_add(rows[i - 1][k]);
        }
        rows.push(row);
    }
    rows
}

impl Multinomial {
    pub fn new(positions: &[u16], sorted: &[u16], root: &[u16]) -> Multinomial {
        let mut labels = sorted.to_vec();
        labels.dedup();
        let times = labels
            .iter()
            .map(|l| sorted.iter().filter(|s| *s == l).count())
            .collect();
        Multinomial {
            positions: positions.to_vec(),
            labels,
            times,
            fixed: root.to_vec(),
            binomials: binomials(positions.len()),
        }
    }

    /// Number of labellings.
    pub fn states(&self) -> u64 {
        self.arrangements(&self.times)
    }

    /// Number of arrangements of `times`.
    fn arrangements(&self, times: &[usize]) -> u64 {
        let (mut n, mut product) = (times.iter().sum::<usize>(), 1u64);
        for &t in times {
            product = product.saturating_mul(self.binomials[n][t]);
            n -= t;
        }
        product
    }

    /// Place of a labelling among all; `None` where it is none of them.
    pub fn rank(&self, state: &[u16]) -> Option<u64> {
        let mut times = self.times.clone();
        let mut left = times.iter().sum::<usize>();
        let mut total = self.arrangements(&times);
        let mut rank = 0;
        for &i in &self.positions {
            let label = self.labels.binary_search(&state[usize::from(i)]).ok()?;
            // Arrangements that begin with label k are total * times[k] / left.
            for k in 0..label {
                rank += (u128::from(total) * times[k] as u128 / left as u128) as u64;
            }
            if times[label] == 0 {
                return None;
            }
            total = (u128::from(total) * times[label] as u128 / left as u128) as u64;
            times[label] -= 1;
            left -= 1;
        }
        Some(rank)
    }

    /// The labelling at a place.
    pub fn unrank(&self, mut rank: u64) -> Vec<u16> {
        let mut state = self.fixed.clone();
        let mut times = self.times.clone();
        let mut left = times.iter().sum::<usize>();
        let mut total = self.arrangements(&times);
        for &i in &self.positions {
            for k in 0..times.len() {
                let part = (u128::from(total) * times[k] as u128 / left as u128) as u64;
                if rank < part {
                    state[usize::from(i)] = self.labels[k];
                    total = part;
                    times[k] -= 1;
                    left -= 1;
                    break;
                }
                rank -= part;
            }
        }
        state
    }

    /// The next labelling in order, in place.
    pub fn advance(&self, state: &mut [u16]) {
        let at = |k: usize| usize::from(self.positions[k]);
        let n = self.positions.len();
        let Some(i) = (1..n).rev().find(|&k| state[at(k - 1)] < state[at(k)]) else {
            return;
        };
        let pivot = state[at(i - 1)];
        if let Some(j) = (i..n).rev().find(|&k| state[at(k)] > pivot) {
            state.swap(at(i - 1), at(j));
        }
        let (mut a, mut b) = (i, n - 1);
        while a < b {
            state.swap(at(a), at(b));
            a += 1;
            b -= 1;
        }
    }
}
