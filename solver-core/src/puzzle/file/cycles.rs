//! Permutations as they are written: cycle notation, and lists of images.

use crate::perm::{Perm, PermError};

/// Disjoint cycles such as `(0 1 2)(3,4)`, `()` for the identity; points as written.
pub(super) fn parse(text: &str) -> Result<Vec<Vec<usize>>, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("it is empty; write () for a move that does nothing".into());
    }
    let mut out = Vec::new();
    while !rest.is_empty() {
        let Some(inner) = rest.strip_prefix('(') else {
            return Err(format!(
                "{:?} stands where a cycle should start with (",
                head(rest)
            ));
        };
        let Some((inner, after)) = inner.split_once(')') else {
            return Err(format!("the cycle {:?} is not closed by )", head(rest)));
        };
        let points = inner
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|p| !p.is_empty())
            .map(|p| {
                p.parse::<usize>()
                    .map_err(|_| format!("{p:?} in the cycle ({inner}) is no position"))
            })
            .collect::<Result<Vec<usize>, String>>()?;
        if !points.is_empty() {
            out.push(points);
        }
        rest = after.trim_start();
    }
    Ok(out)
}

fn head(text: &str) -> String {
    text.chars().take(20).collect()
}

/// The permutation of `degree` points that cycles with points counted from `base` mean.
pub(super) fn permutation(
    cycles: &[Vec<usize>],
    base: usize,
    degree: usize,
) -> Result<Perm, String> {
    let mut images: Vec<u64> = (0..degree as u64).collect();
    let mut used = vec![false; degree];
    for cycle in cycles {
        for (k, &point) in cycle.iter().enumerate() {
            let at = index(point, base, degree)?;
            if std::mem::replace(&mut used[at], true) {
                return Err(format!(
                    "position {point} occurs twice; the cycles of one generator share no position"
                ));
            }
            images[at] = index(cycle[(k + 1) % cycle.len()], base, degree)? as u64;
        }
    }
    Perm::from_images(&images).map_err(|e| e.to_string())
}

/// A position counted from `base` as one counted from 0.
pub(super) fn index(point: usize, base: usize, degree: usize) -> Result<usize, String> {
    match point.checked_sub(base) {
        Some(at) if at < degree => Ok(at),
        _ => Err(format!(
            "position {point} is out of range; positions are {base} to {}",
            degree + base - 1
        )),
    }
}

/// The permutation that a list of images counted from `base` means; the message counts as the file does.
pub(super) fn from_list(images: &[u64], base: usize) -> Result<Perm, String> {
    let len = images.len();
    if let Some(at) = images.iter().position(|&v| v < base as u64) {
        return Err(format!(
            "entry {} is {}, but positions are counted from {base}",
            at + base,
            images[at]
        ));
    }
    let zero: Vec<u64> = images.iter().map(|v| v - base as u64).collect();
    Perm::from_images(&zero).map_err(|e| match e {
        PermError::OutOfRange { at, value, .. } => format!(
            "it is not a permutation: entry {} is {}, but its {len} entries must be the numbers {base} to {}",
            at + base,
            value + base as u64,
            len + base - 1
        ),
        PermError::Repeated { at, value, before } => format!(
            "it is not a permutation: entry {} is {}, which entry {} has already",
            at + base,
            value + base as u64,
            before + base
        ),
        PermError::TooLong { .. } => e.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_in_both_spellings() {
        let perm = |text: &str, base| permutation(&parse(text)?, base, 5);
        let expect = Perm::from_images(&[1u16, 2, 0, 4, 3]).unwrap();
        assert_eq!(perm("(0 1 2)(3,4)", 0), Ok(expect.clone()));
        assert_eq!(perm(" (1,2 , 3) (4 5) ", 1), Ok(expect));
        assert_eq!(perm("()", 0), Ok(Perm::identity(5)));
        for (text, wrong) in [
            ("(0 1", "not closed"),
            ("0 1)", "should start"),
            ("(0 x)", "\"x\""),
            ("(0 1)(1 2)", "position 1 occurs twice"),
            ("(0 0)", "position 0 occurs twice"),
            ("(0 5)", "position 5 is out of range; positions are 0 to 4"),
            ("", "empty"),
        ] {
            let error = perm(text, 0).unwrap_err();
            assert!(error.contains(wrong), "{text}: {error}");
        }
        assert!(
            perm("(0 1)", 1)
                .unwrap_err()
                .contains("positions are 1 to 5")
        );
    }

    #[test]
    fn messages_count_as_the_file_does() {
        assert!(
            from_list(&[1, 1, 2], 1)
                .unwrap_err()
                .contains("entry 2 is 1, which entry 1 has already")
        );
        assert!(
            from_list(&[0, 1], 1)
                .unwrap_err()
                .contains("entry 1 is 0, but positions are counted from 1")
        );
        assert!(
            from_list(&[0, 3, 1], 0)
                .unwrap_err()
                .contains("entry 1 is 3")
        );
    }
}
