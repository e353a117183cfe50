//! The 25 landmark permutations of `n` points, from which the diameter of larger graphs is judged.

use crate::perm::Perm;
use std::collections::HashSet;

/// The smallest number of points for which the 25 rows can be told apart.
pub const MIN_POINTS: usize = 6;
/// How many landmarks there are for each `n`.
pub const COUNT: usize = 25;

/// The names, by id minus one.
pub const NAMES: [&str; COUNT] = [
    "full_reverse",
    "block_swap",
    "riffle",
    "envelope",
    "adjacent_swaps",
    "broken_cycle",
    "zigzag",
    "block_rotate3",
    "two_cycles",
    "shift_reverse",
    "pair_shift",
    "reverse_first",
    "reverse_second",
    "spiral",
    "local_block",
    "single_swap",
    "faro_in",
    "block_reverse_pairs",
    "doubling",
    "shift_third",
    "double_riffle",
    "cycles3",
    "alt_pairs",
    "cascade",
    "derangement",
];

/// One landmark: a permutation with a number and a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landmark {
    /// 1 to 25.
    pub id: u8,
    pub name: &'static str,
    /// The state, 0-based: `state[i]` is the label at position `i`.
    pub state: Perm,
    /// Was the row a rotation of an earlier one, so that its first two labels were exchanged?
    pub repaired: bool,
}

/// Why there are no landmarks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LandmarkError {
    #[error(
        "n = {n} is too small for landmarks: the 25 rows can be told apart from n = {MIN_POINTS} on"
    )]
    TooFew { n: usize },
    #[error(
        "landmark {id} ({name}) of n = {n} is a rotation of an earlier one even after its first two labels were exchanged"
    )]
    NotSeparated {
        n: usize,
        id: usize,
        name: &'static str,
    },
    #[error("landmark {id} of n = {n} is no permutation: {what}")]
    NoPermutation { n: usize, id: usize, what: String },
}

/// The 25 landmarks of `n` points, by id.
///
/// The rows are those of the R package cayleyR 0.3.0 (`landmark_states`). No two of them differ by a rotation of
/// positions alone: going through the ids in order, a row that is a rotation of an earlier one (as that stands
/// by then) has its first two labels exchanged.
///
/// # Errors
/// Below [`MIN_POINTS`], and if an exchange should not be enough (no `n` is known where that happens).
///
/// ```
/// use antipode_solver_core::survey::landmarks::rows::landmarks;
///
/// let all = landmarks(8)?;
/// assert_eq!(all[0].state.images(), [7, 6, 5, 4, 3, 2, 1, 0]);
/// assert_eq!(all[9].name, "shift_reverse");
/// # Ok::<(), antipode_solver_core::survey::landmarks::rows::LandmarkError>(())
/// ```
pub fn landmarks(n: usize) -> Result<Vec<Landmark>, LandmarkError> {
    if n < MIN_POINTS {
        return Err(LandmarkError::TooFew { n });
    }
    // Rotations are compared by the one that starts with label 1.
    let mut known: HashSet<Vec<usize>> = HashSet::new();
    let mut out = Vec::with_capacity(COUNT);
    for (at, name) in NAMES.into_iter().enumerate() {
        let id = at + 1;
        let mut row = row(id, n);
        let repaired = known.contains(&turned(&row));
        if repaired {
            row.swap(0, 1);
        }
        if !known.insert(turned(&row)) {
            return Err(LandmarkError::NotSeparated { n, id, name });
        }
        let images: Vec<u64> = row.iter().map(|&v| v as u64 - 1).collect();
        let state = Perm::from_images(&images).map_err(|e| LandmarkError::NoPermutation {
            n,
            id,
            what: e.to_string(),
        })?;
        out.push(Landmark {
            id: id as u8,
            name,
            state,
            repaired,
        });
    }
    Ok(out)
}

/// The rotation that starts with label 1.
fn turned(row: &[usize]) -> Vec<usize> {
    let at = row.iter().position(|&v| v == 1).unwrap_or(0);
    [&row[at..], &row[..at]].concat()
}

/// Row `id` (1 to 25) before any repair; labels 1 to n, and `s(i)` of the comments is the label at position i of 1 to n.
fn row(id: usize, n: usize) -> Vec<usize> {
    let (h, f) = (n.div_ceil(2), n / 2);
    // A rule for each position, counted from 1.
    let each = |rule: &dyn Fn(usize) -> usize| -> Vec<usize> { (1..=n).map(rule).collect() };
    match id {
        1 => each(&|i| n + 1 - i),
        // The upper half, for odd n the middle label, the lower half.
        2 => (n - f + 1..=n).chain(f + 1..=n - f).chain(1..=f).collect(),
        3 => alternately(1..=h, h + 1..=n, 1),
        4 => each(&|i| {
            if i % 2 == 1 {
                n + 1 - i.div_ceil(2)
            } else {
                i / 2
            }
        }),
        5 => swaps(n, (1..n).step_by(2)),
        6 => rotated_ranges(n, &[(1, n - 1)]),
        // Odd labels ascending, then even ones descending.
        7 => each(&|i| if i <= h { 2 * i - 1 } else { 2 * (n - i + 1) }),
        8 => {
            let c = n / 5 + n / 3;
            (c + 1..=n).chain(1..=c).collect()
        }
        9 => rotated_ranges(n, &[(1, h), (h + 1, n)]),
        10 => [6, 5, 4, 3]
            .into_iter()
            .chain(7..=n)
            .chain([1, 2])
            .collect(),
        // The odd positions rotate by one.
        11 => each(&|i| match i {
            i if i % 2 == 0 => i,
            i if i + 2 <= n => i + 2,
            _ => 1,
        }),
        12 => each(&|i| if i <= h { h + 1 - i } else { i }),
        13 => each(&|i| if i <= h { i } else { n + h + 1 - i }),
        14 => each(&|i| {
            if i % 2 == 1 {
                i.div_ceil(2)
            } else {
                n + 1 - i / 2
            }
        }),
        15 => {
            let p = h.min(n - 5);
            each(&|i| match i {
                i if i == p => p + 3,
                i if i > p && i <= p + 3 => i - 1,
                i => i,
            })
        }
        16 => swaps(n, [f]),
        // For odd n the upper part is the longer one.
        17 => alternately(f + 1..=n, 1..=f, 1),
        18 => each(&|i| match i {
            i if i > 2 * f => n,
            i if i % 2 == 1 => 2 * (f - i.div_ceil(2)) + 1,
            i => 2 * (f - i / 2) + 2,
        }),
        19 => each(&|i| match (n % 2, i) {
            (0, i) => 2 * i % (n + 1),
            (_, i) if i < n => 2 * i % n,
            _ => n,
        }),
        20 => {
            let t = n / 3;
            (t + 1..=n).chain((1..=t).rev()).collect()
        }
        21 => alternately(1..=h, h + 1..=n, 2),
        22 => {
            let triples: Vec<(usize, usize)> = (1..=n / 3).map(|k| (3 * k - 2, 3 * k)).collect();
            rotated_ranges(n, &triples)
        }
        23 => swaps(n, (1..n).step_by(4)),
        // Positions 5, 10, 15, .. stay.
        24 => swaps(n, (1..n).filter(|i| matches!(i % 5, 1 | 3))),
        // Even labels, then odd ones; for odd n the ends are exchanged.
        _ => {
            let mut row: Vec<usize> = (2..=n).step_by(2).chain((1..=n).step_by(2)).collect();
            if n % 2 == 1 {
                row.swap(0, n - 1);
            }
            row
        }
    }
}

/// Labels `1..=n` with each listed position exchanged with the next.
fn swaps(n: usize, at: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut row: Vec<usize> = (1..=n).collect();
    for i in at {
        row.swap(i - 1, i);
    }
    row
}

/// Labels `1..=n` with each range of positions rotated one place to the left.
fn rotated_ranges(n: usize, ranges: &[(usize, usize)]) -> Vec<usize> {
    let mut row: Vec<usize> = (1..=n).collect();
    for &(from, to) in ranges {
        row[from - 1..to].rotate_left(1);
    }
    row
}

/// The labels of both ranges in turn, `width` at a time (fewer when fewer are left), the first range first.
fn alternately(
    a: std::ops::RangeInclusive<usize>,
    b: std::ops::RangeInclusive<usize>,
    width: usize,
) -> Vec<usize> {
    let (a, b): (Vec<usize>, Vec<usize>) = (a.collect(), b.collect());
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut from_a, mut from_b) = (a.chunks(width), b.chunks(width));
    loop {
        match (from_a.next(), from_b.next()) {
            (None, None) => return out,
            (x, y) => {
                out.extend_from_slice(x.unwrap_or_default());
                out.extend_from_slice(y.unwrap_or_default());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which ids the repair changes, in closed form.
    fn repaired(n: usize) -> Vec<u8> {
        let mut ids = if n.is_multiple_of(2) {
            vec![8, 25]
        } else {
            vec![17]
        };
        if n == 8 || n == 14 {
            ids.push(16);
        }
        if n == 6 {
            ids.push(22);
        }
        ids.sort_unstable();
        ids
    }

    #[test]
    fn the_repair_fires_where_the_closed_form_says() {
        for n in MIN_POINTS..=200 {
            let all = landmarks(n).unwrap();
            let ids: Vec<u8> = all.iter().filter(|l| l.repaired).map(|l| l.id).collect();
            assert_eq!(ids, repaired(n), "n = {n}");
            let different: HashSet<&Perm> = all.iter().map(|l| &l.state).collect();
            assert_eq!(different.len(), COUNT);
        }
    }

    #[test]
    fn one_pure_rotation_of_the_identity_stays() {
        for n in MIN_POINTS..=100 {
            let identity: Vec<usize> = (1..=n).collect();
            let pure: Vec<u8> = landmarks(n)
                .unwrap()
                .iter()
                .filter(|l| {
                    let row: Vec<usize> = l
                        .state
                        .images()
                        .iter()
                        .map(|&v| usize::from(v) + 1)
                        .collect();
                    turned(&row) == identity
                })
                .map(|l| l.id)
                .collect();
            assert_eq!(pure, [if n % 2 == 0 { 2 } else { 8 }], "n = {n}");
        }
    }

    #[test]
    fn few_points_are_refused() {
        for n in 0..MIN_POINTS {
            let error = landmarks(n).unwrap_err();
            assert_eq!(error, LandmarkError::TooFew { n });
            assert!(error.to_string().contains("from n = 6 on"));
        }
    }
}
