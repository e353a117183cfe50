//! How moves are written: a base turn and the power of it (`U`, `U2`, `U'`, `U’`, `Ui`, `U-`, `U3`).

/// Marks that people use for "backwards".
const PRIMES: [char; 8] = ['\'', '’', '‘', '′', 'ʼ', '`', '´', 'ˈ'];

/// A move name taken apart: the base turn, and the power, `None` where no suffix is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suffixed<'a> {
    pub base: &'a str,
    pub power: Option<i64>,
}

/// All ways to read `token`, the plainest first. `3Rw2'` is the base `3Rw` with power -2.
pub(crate) fn readings(token: &str) -> Vec<Suffixed<'_>> {
    let mut out = vec![Suffixed {
        base: token,
        power: None,
    }];
    let mut push = |base: &'_ str, digits: &str, sign: i64| {
        let times = if digits.is_empty() {
            Some(1)
        } else {
            digits.parse::<i64>().ok()
        };
        if let (false, Some(times)) = (base.is_empty(), times.filter(|&t| t <= 1_000_000)) {
            // Safe to tie to `token`: every base handed in is a part of it.
            let len = base.len();
            out.push(Suffixed {
                base: &token[..len],
                power: Some(sign * times),
            });
        }
    };
    let (body, digits) = trailing_digits(token);
    if !digits.is_empty() {
        push(body, digits, 1);
        if let Some(inner) = body.strip_suffix(PRIMES) {
            push(inner, digits, -1);
        }
    }
    if let Some(inner) = token
        .strip_suffix(PRIMES)
        .or(token.strip_suffix(['i', '-']))
    {
        let (body, digits) = trailing_digits(inner);
        push(body, digits, -1);
        if !digits.is_empty() {
            push(inner, "", -1);
        }
    }
    out
}

fn trailing_digits(text: &str) -> (&str, &str) {
    let body = text.trim_end_matches(|c: char| c.is_ascii_digit());
    (body, &text[body.len()..])
}

/// The canonical name of a power (1..order) of a turn: `U`, `U2`, `U'`, for order 5 `U`, `U2`, `U2'`, `U'`.
pub(crate) fn power_name(base: &str, power: u32, order: u32) -> String {
    let back = order - power;
    match (power, back) {
        (1, _) => base.to_owned(),
        (_, 1) => format!("{base}'"),
        _ if power <= back => format!("{base}{power}"),
        _ => format!("{base}{back}'"),
    }
}

/// Every mark for "backwards" replaced by the plain one, to compare names of a fixed list.
pub(crate) fn plain_primes(token: &str) -> String {
    token.replace(PRIMES, "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The power of U (order 4) that a token means.
    fn power(token: &str) -> Option<i64> {
        readings(token)
            .into_iter()
            .find(|r| r.base == "U")
            .map(|r| r.power.map_or(1, |p| p.rem_euclid(4)))
    }

    #[test]
    fn many_ways_to_write_the_same_turn() {
        for token in ["U'", "U’", "Ui", "U-", "U3", "U′", "U`", "U7"] {
            assert_eq!(power(token), Some(3), "{token}");
        }
        for token in ["U2", "U2'", "U'2", "U6", "U2i"] {
            assert_eq!(power(token), Some(2), "{token}");
        }
        assert_eq!(power("U"), Some(1));
        assert_eq!(power("V2"), None);
        assert_eq!(readings("99999999999999999999").len(), 1);
    }

    #[test]
    fn powers_have_one_name_each() {
        let names = |order| {
            (1..order)
                .map(|k| power_name("U", k, order))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(2), ["U"]);
        assert_eq!(names(3), ["U", "U'"]);
        assert_eq!(names(4), ["U", "U2", "U'"]);
        assert_eq!(names(5), ["U", "U2", "U2'", "U'"]);
    }
}
