//! Ranks and moves of two-colour labellings as bit masks, eight positions a table step.
//!
//! The first position is the highest bit, so numeric order of masks with one number of set bits is
//! lexicographic order of labellings, and the rank is the combinatorial number system:
//! the sum of C(c_i, i) over the set bits c_1 < c_2 < .. (Knuth, TAOCP 4A, 7.2.1.3).

use crate::perm::Perm;

/// Tables for `n <= 64` positions.
pub(crate) struct TwoLabels {
    n: usize,
    /// `sums[(chunk * (n + 1) + bits below) * 256 + byte]`.
    sums: Vec<u64>,
}

/// One move on masks: `images[chunk][byte]` is what the byte contributes.
pub(crate) struct MaskMove(Vec<[u64; 256]>);

impl TwoLabels {
    pub fn new(n: usize, binomials: &[Vec<u64>]) -> TwoLabels {
        let chunks = n.div_ceil(8);
        let mut sums = vec![0u64; chunks * (n + 1) * 256];
        for chunk in 0..chunks {
            for below in 0..=n {
                for byte in 0..256usize {
                    let set = (0..8).filter(|b| byte >> b & 1 == 1);
                    let sum = (below + 1..)
                        .zip(set)
                        .map(|(i, b)| {
                            binomials
                                .get(chunk * 8 + b)
                                .and_then(|row| row.get(i))
                                .copied()
                                .unwrap_or(0)
                        })
                        .sum();
                    sums[(chunk * (n + 1) + below) * 256 + byte] = sum;
                }
            }
        }
        TwoLabels { n, sums }
    }

    /// Rank among the masks with as many set bits.
    #[inline]
    pub fn rank(&self, mut mask: u64) -> u64 {
        let (mut sum, mut below, mut chunk) = (0, 0, 0);
        while mask != 0 {
            let byte = (mask & 255) as usize;
            sum += self.sums[(chunk * (self.n + 1) + below) * 256 + byte];
            below += byte.count_ones() as usize;
            mask >>= 8;
            chunk += 1;
        }
        sum
    }

    /// The next larger mask with as many set bits (Gosper's hack).
    #[inline]
    pub fn next(mask: u64) -> u64 {
        if mask == 0 {
            return 0;
        }
        let low = mask & mask.wrapping_neg();
        let ripple = mask.wrapping_add(low);
        ripple | (((mask ^ ripple) >> 2) / low)
    }

    /// The mask of a labelling, given at its moved positions.
    pub fn mask(&self, state: &[u16], positions: &[u16], high: u16) -> u64 {
        positions
            .iter()
            .fold(0, |m, &i| m << 1 | u64::from(state[usize::from(i)] == high))
    }

    /// A move, as a permutation of the moved positions.
    pub fn mask_move(&self, p: &Perm, positions: &[u16]) -> MaskMove {
        let bit_of = |i: usize| self.n - 1 - i;
        let mut images = vec![[0u64; 256]; self.n.div_ceil(8)];
        for (to, &at) in positions.iter().enumerate() {
            let source = p.at(usize::from(at)) as u16;
            let Some(from) = positions.iter().position(|&i| i == source) else {
                continue;
            };
            let (chunk, bit) = (bit_of(from) / 8, bit_of(from) % 8);
            for (byte, image) in images[chunk].iter_mut().enumerate() {
                *image |= ((byte >> bit & 1) as u64) << bit_of(to);
            }
        }
        MaskMove(images)
    }
}

impl MaskMove {
    #[inline]
    pub fn apply(&self, mask: u64) -> u64 {
        self.0.iter().enumerate().fold(0, |m, (chunk, image)| {
            m | image[(mask >> (8 * chunk) & 255) as usize]
        })
    }
}
