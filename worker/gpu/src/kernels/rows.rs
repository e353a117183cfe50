//! Rows of labels as the shaders read them: two labels to a word, the first in the lower half, a last half of 0.

use antipode_solver_core::states::States;
use std::ops::Range;

/// Words of one row.
pub fn pairs(degree: usize) -> usize {
    degree.div_ceil(2)
}

/// Bytes of one row.
pub fn row_bytes(degree: usize) -> u64 {
    4 * pairs(degree) as u64
}

fn pair(labels: &[u16]) -> u32 {
    let second = labels.get(1).copied().unwrap_or(0);
    u32::from(labels[0]) | u32::from(second) << 16
}

/// Row after row.
pub fn pack(states: &States, rows: Range<usize>) -> Vec<u32> {
    rows.flat_map(|at| states.row(at).chunks(2).map(pair))
        .collect()
}

/// All first words, then all second ones, so that threads beside each other read words beside each other.
pub fn pack_columns(states: &States, rows: Range<usize>) -> Vec<u32> {
    let count = rows.len();
    let mut out = vec![0; count * pairs(states.degree())];
    for (i, at) in rows.enumerate() {
        for (k, labels) in states.row(at).chunks(2).enumerate() {
            out[k * count + i] = pair(labels);
        }
    }
    out
}

/// Writes the labels of packed rows to `out`, row after row.
pub fn unpack(words: &[u32], degree: usize, out: &mut [u16]) {
    let rows = words.chunks_exact(pairs(degree));
    for (row, out) in rows.zip(out.chunks_exact_mut(degree)) {
        for (word, labels) in row.iter().zip(out.chunks_mut(2)) {
            labels[0] = *word as u16;
            if let Some(second) = labels.get_mut(1) {
                *second = (word >> 16) as u16;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_there_and_back() {
        for degree in [1usize, 2, 5] {
            let labels: Vec<u16> = (0..3 * degree as u16).map(|i| i * 7919).collect();
            let states = States::of(degree, labels.clone()).expect("rows");
            let mut back = vec![0; labels.len()];
            unpack(&pack(&states, 0..3), degree, &mut back);
            assert_eq!(back, labels);
        }
        let states = States::of(3, vec![1, 2, 3, 4, 5, 6]).expect("rows");
        assert_eq!(pack(&states, 0..2), [0x2_0001, 3, 0x5_0004, 6]);
        assert_eq!(pack_columns(&states, 0..2), [0x2_0001, 0x5_0004, 3, 6]);
    }
}
