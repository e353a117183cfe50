//! How far states are from targets, by two measures that look at labels only. Both are heuristics for searches; neither
//! is the distance in a graph. As in cayleyR 0.3.0, whose values the tests compare.

use super::{States, StatesError};
use rayon::prelude::*;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The sum of the differences of the labels, position by position, without their signs.
    Manhattan,
    /// Read the state in the order in which the target has its labels, least first: how many neighbours there do not
    /// rise by exactly one. The target itself has none, its reverse `degree - 1`.
    Breakpoint,
}

impl Measure {
    /// As on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Manhattan => "manhattan",
            Measure::Breakpoint => "breakpoint",
        }
    }
}

/// The positions of every target, those of smaller labels first: what [`Measure::Breakpoint`] reads states by.
///
/// # Errors
/// A target with a label twice.
pub fn orders(targets: &States) -> Result<States, StatesError> {
    let mut orders = States::new(targets.degree())?;
    for (at, target) in targets.rows().enumerate() {
        let mut order: Vec<u16> = (0..target.len() as u16).collect();
        order.sort_unstable_by_key(|&position| target[usize::from(position)]);
        let twice = order
            .windows(2)
            .find(|pair| target[usize::from(pair[0])] == target[usize::from(pair[1])]);
        if let Some(pair) = twice {
            let label = target[usize::from(pair[0])];
            return Err(StatesError::Repeated { at, label });
        }
        orders.push(&order)?;
    }
    Ok(orders)
}

/// The distances of all states to all targets: `out[i * targets.len() + j]` is that of state `i` to target `j`.
///
/// # Errors
/// States and targets of different lengths, and those of [`orders`].
pub fn distances(
    measure: Measure,
    states: &States,
    targets: &States,
) -> Result<Vec<u32>, StatesError> {
    check(states, targets)?;
    // The side that a state is compared with: the target, or the order in which it is read.
    let sides = match measure {
        Measure::Manhattan => targets.clone(),
        Measure::Breakpoint => orders(targets)?,
    };
    if sides.is_empty() {
        return Ok(Vec::new());
    }
    let mut out = vec![0; states.len() * sides.len()];
    out.par_chunks_mut(sides.len())
        .zip(states.labels.par_chunks_exact(states.degree))
        .for_each(|(row, state)| {
            for (distance, side) in row.iter_mut().zip(sides.rows()) {
                *distance = match measure {
                    Measure::Manhattan => manhattan(state, side),
                    Measure::Breakpoint => breakpoints(state, side),
                };
            }
        });
    Ok(out)
}

/// States and targets must be of one puzzle.
///
/// # Errors
/// Where they are not as long.
pub fn check(states: &States, targets: &States) -> Result<(), StatesError> {
    match states.degree() == targets.degree() {
        true => Ok(()),
        false => Err(StatesError::Length {
            at: 0,
            labels: states.degree(),
            degree: targets.degree(),
        }),
    }
}

fn manhattan(state: &[u16], target: &[u16]) -> u32 {
    let pairs = state.iter().zip(target);
    pairs.map(|(&a, &b)| u32::from(a.abs_diff(b))).sum()
}

fn breakpoints(state: &[u16], order: &[u16]) -> u32 {
    let at = |position: u16| u32::from(state[usize::from(position)]);
    order
        .windows(2)
        .map(|pair| u32::from(at(pair[1]) != at(pair[0]) + 1))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn one(labels: &[u16]) -> States {
        States::of(labels.len(), labels.to_vec()).expect("a state")
    }

    fn both(state: &[u16], target: &[u16]) -> [u32; 2] {
        [Measure::Manhattan, Measure::Breakpoint]
            .map(|measure| distances(measure, &one(state), &one(target)).expect("of one puzzle")[0])
    }

    #[test]
    fn the_values_of_cayley_r() {
        let text = include_str!("../../../tests/data/cayleyR/topspin.json");
        let vectors: Value = serde_json::from_str(text).expect("JSON");
        let rows = vectors["breakpoint_manhattan"].as_array().expect("a list");
        assert_eq!(rows.len(), 27);
        for row in rows {
            // Their labels begin with 1.
            let labels = |name: &str| -> Vec<u16> {
                let list = row[name].as_array().expect("a list");
                list.iter()
                    .map(|x| x.as_u64().expect("a number") as u16 - 1)
                    .collect()
            };
            let number = |name: &str| row[name].as_u64().expect("a number") as u32;
            assert_eq!(
                both(&labels("start"), &labels("target")),
                [number("manhattan"), number("breakpoints")],
                "{row}"
            );
        }
    }

    #[test]
    fn by_hand() {
        assert_eq!(both(&[0, 1, 2, 3, 4], &[4, 3, 2, 1, 0]), [12, 4]);
        assert_eq!(both(&[3, 1, 2], &[3, 1, 2]), [0, 0]);
        // Read by the target's order of labels, positions 1, 2, 0, the state is 0 1 2.
        assert_eq!(both(&[2, 0, 1], &[7, 3, 5]), [12, 0]);
        assert_eq!(both(&[65_535], &[0]), [65_535, 0]);
    }

    #[test]
    fn all_from_all_are_the_single_ones() {
        let states = States::of(3, vec![0, 1, 2, 2, 1, 0, 1, 0, 2, 0, 0, 1]).expect("rows");
        let targets = States::of(3, vec![2, 0, 1, 0, 1, 2]).expect("rows");
        for measure in [Measure::Manhattan, Measure::Breakpoint] {
            let all = distances(measure, &states, &targets).expect("of one puzzle");
            for i in 0..4 {
                for j in 0..2 {
                    let single = distances(measure, &one(states.row(i)), &one(targets.row(j)));
                    assert_eq!(Ok(vec![all[i * 2 + j]]), single, "{measure:?} {i} {j}");
                }
            }
        }
    }

    #[test]
    fn what_has_no_breakpoints_is_refused() {
        let coloured = one(&[0, 1, 1]);
        assert_eq!(
            distances(Measure::Breakpoint, &coloured, &coloured),
            Err(StatesError::Repeated { at: 0, label: 1 })
        );
        assert_eq!(
            distances(Measure::Manhattan, &coloured, &coloured),
            Ok(vec![0])
        );
        assert!(distances(Measure::Manhattan, &coloured, &one(&[0, 1])).is_err());
    }
}
