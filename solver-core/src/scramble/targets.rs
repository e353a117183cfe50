//! Values and policies of states from values of their children: one step of value iteration,
//! `value = min over moves (1 + v(child))`, where a solved child counts 0 whatever `v` says of it.

use super::spec::ScrambleError;
use serde::{Deserialize, Serialize};

/// What is made of a child's value before the minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Variant {
    /// Nothing.
    Raw,
    /// Negative values count 0, so that no unsolved state is worth less than 1.
    Floored,
}

/// What is made of a child's value that is not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotFinite {
    /// An error.
    Refuse,
    /// NaN counts 0: the child may become the best one.
    Zero,
    /// NaN is never the best one.
    Skip,
}

/// The target of a state that is not solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    pub value: f64,
    /// The first move that attains it.
    pub policy: usize,
}

/// The target of a state, from the values of its children and whether they are solved. `place` names the state in
/// messages.
///
/// # Errors
/// [`ScrambleError::Values`] names the child where a value is not finite and that is refused, or where no child
/// has a value.
pub fn target(
    values: &[f64],
    solved: &[u8],
    variant: Variant,
    not_finite: NotFinite,
    place: impl Fn() -> String,
) -> Result<Target, ScrambleError> {
    let mut best: Option<Target> = None;
    for (policy, (&v, &solved)) in values.iter().zip(solved).enumerate() {
        let x = if solved != 0 {
            0.0
        } else if !v.is_finite() && not_finite == NotFinite::Refuse {
            return Err(ScrambleError::Values(format!(
                "{}, child {policy}: the value is {v}; values must be finite (--nan zero or --nan skip take NaN)",
                place()
            )));
        } else if v.is_nan() {
            if not_finite == NotFinite::Skip {
                continue;
            }
            0.0
        } else if variant == Variant::Floored && v < 0.0 {
            0.0
        } else {
            v
        };
        let value = 1.0 + x;
        if best.is_none_or(|b| value < b.value) {
            best = Some(Target { value, policy });
        }
    }
    best.ok_or_else(|| ScrambleError::Values(format!("{}: no child has a value", place())))
}
