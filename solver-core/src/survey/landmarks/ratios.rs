//! From distances to diameters: how far landmarks are as a share of a known diameter, and what that share
//! says about sizes whose diameter is not known.

use super::rows::NAMES;
use super::size::{Outcome, Row, Size};
use serde::Serialize;

/// A guess at a diameter from landmarks of equal parity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// The middle of the single guesses (of an even number: the mean of the two in the middle).
    pub median: f64,
    pub low: f64,
    pub high: f64,
    /// How many landmarks guessed.
    pub landmarks: usize,
    /// The size whose ratios were used: the largest smaller one of the same parity with a known diameter.
    pub from_n: u32,
}

/// The least shortest word of a landmark, where it is known.
pub fn word(row: &Row) -> Option<&[u16]> {
    match &row.outcome {
        Outcome::Exact { word } => Some(word),
        _ => None,
    }
}

/// The distance, where it is proved.
pub fn distance(row: &Row) -> Option<u32> {
    match &row.outcome {
        Outcome::Exact { word } => Some(word.len() as u32),
        Outcome::Proved { distance, .. } => Some(*distance),
        Outcome::Open { .. } | Outcome::Unreachable { .. } => None,
    }
}

/// The name of a row.
pub fn name(row: &Row) -> &'static str {
    NAMES[usize::from(row.id - 1)]
}

/// Why a landmark says nothing about the diameter of this size: its word is the same for every size, or nearly
/// nothing. `None` for a landmark that probes.
///
/// Where the moves are called L, R and X: at most one X. Such are id 10 (LLX in TopSpin), the rotation
/// of the identity (id 2 for even n, id 8 for odd n), id 12 where the turntable is as long as its half, id 20 where it is as long as
/// its third, and others by chance. Elsewhere: at most one move.
pub fn why_trivial(size: &Size, row: &Row) -> Option<String> {
    let word = word(row)?;
    if !has_ring_moves(size) {
        return (word.len() <= 1).then(|| "a single move makes it".to_string());
    }
    let [_, _, x] = counts(size, row)?;
    match x {
        0 => Some("a rotation of the identity".into()),
        1 => Some("one X and rotations make it".into()),
        _ => None,
    }
}

/// Are the moves called L, R and X?
pub fn has_ring_moves(size: &Size) -> bool {
    let mut names: Vec<&str> = size.moves.iter().map(String::as_str).collect();
    names.sort_unstable();
    names == ["L", "R", "X"]
}

/// How often the least shortest word has L, R and X; nothing without one, or where the moves have other names.
pub fn counts(size: &Size, row: &Row) -> Option<[u32; 3]> {
    counts_of(size, word(row)?)
}

/// The same of any word.
pub fn counts_of(size: &Size, word: &[u16]) -> Option<[u32; 3]> {
    has_ring_moves(size).then(|| {
        ["L", "R", "X"].map(|name| {
            word.iter()
                .filter(|&&m| size.moves[usize::from(m)] == name)
                .count() as u32
        })
    })
}

/// Distance divided by diameter, where both are known and the landmark is no trivial one.
pub fn ratio(size: &Size, row: &Row) -> Option<f64> {
    let (distance, diameter) = (distance(row)?, size.diameter()?);
    why_trivial(size, row)
        .is_none()
        .then(|| f64::from(distance) / f64::from(diameter))
}

/// The diameter is at least this: the largest proved lower bound of a distance.
pub fn proved_bound(size: &Size) -> Option<u32> {
    size.rows
        .iter()
        .filter_map(|row| match &row.outcome {
            Outcome::Open { lower, .. } => Some(*lower),
            _ => distance(row),
        })
        .max()
}

/// A guess at the diameter of `size` from a smaller one: each landmark whose distance is proved and that is not trivial in both
/// guesses distance / ratio. Nothing where no smaller size of equal parity has a known diameter. It is no bound.
pub fn estimate(sizes: &[Size], size: &Size) -> Option<Estimate> {
    let known = sizes
        .iter()
        .filter(|s| s.n < size.n && s.n % 2 == size.n % 2 && s.diameter().is_some())
        .max_by_key(|s| s.n)?;
    let mut guesses: Vec<f64> = size
        .rows
        .iter()
        .zip(&known.rows)
        .filter(|(row, _)| why_trivial(size, row).is_none())
        .filter_map(|(row, before)| Some(f64::from(distance(row)?) / ratio(known, before)?))
        .collect();
    guesses.sort_by(f64::total_cmp);
    let middle = guesses.len() / 2;
    Some(Estimate {
        median: if guesses.len() % 2 == 1 {
            guesses[middle]
        } else {
            f64::midpoint(*guesses.get(middle.checked_sub(1)?)?, guesses[middle])
        },
        low: *guesses.first()?,
        high: *guesses.last()?,
        landmarks: guesses.len(),
        from_n: known.n,
    })
}
