//! What a user may say about a landmark survey, whoever runs it.

use crate::exit::Failure;
use antipode_solver_core::batch::LandmarksSpec;
use antipode_solver_core::survey::landmarks::search::Budget;
use std::time::Duration;

/// Flags of `run landmarks` and `submit landmarks`.
#[derive(Debug, Clone, clap::Args)]
pub struct LandmarkArgs {
    /// A family whose states are the permutations of N points: topspin, lrx, pancake, ... (`antipode puzzle list`)
    family: String,

    /// The sizes N, both ends included: 6..13, or a single one
    #[arg(long, value_name = "RANGE", value_parser = parse_range, allow_hyphen_values = true)]
    n: (u32, u32),

    /// The family's parameter K
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    k: Option<u32>,

    /// Another parameter of the family, e.g. T=2; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_parameter)]
    parameters: Vec<(String, String)>,

    /// States that the exact search of one size may make and look up (words for what stays open are sought besides), e.g. 500000, 20M or 2e9
    #[arg(long, value_name = "COUNT", default_value = "1e9", value_parser = parse_count, allow_hyphen_values = true)]
    max_nodes: u64,

    /// Ends the search of one size after this time, e.g. 10m; what it leaves open is then not reproducible
    #[arg(long, value_name = "DURATION", value_parser = parse_limit, allow_hyphen_values = true)]
    time_limit: Option<Duration>,

    /// Enumerate whole groups up to this N, where memory allows it; larger ones are searched from both ends
    #[arg(
        long,
        value_name = "N",
        default_value_t = 13,
        allow_negative_numbers = true
    )]
    enumerate_to: u32,
}

/// Memory for one size where nothing else is said. Not what the machine has: the answer would depend on it.
pub const DEFAULT_MEMORY: u64 = 3 << 30;

impl LandmarkArgs {
    /// The question, checked as far as it can be without computing.
    pub fn spec(&self, memory_bytes: u64) -> Result<LandmarksSpec, Failure> {
        let k = self.k.map(|k| ("k".to_string(), k.to_string()));
        let (from, to) = self.n;
        let spec = LandmarksSpec {
            family: self.family.trim().to_ascii_lowercase(),
            parameters: k
                .into_iter()
                .chain(self.parameters.iter().cloned())
                .collect(),
            from,
            to,
            exhaustive: self.enumerate_to,
            budget: Budget {
                max_nodes: self.max_nodes,
                memory_bytes,
            },
            time_limit_ms: self.time_limit.map(|t| t.as_millis() as u64),
        };
        if spec.family.contains([':', ',', '/', '.']) {
            return Err(Failure::input(format!(
                "'{}' is not a family: give its name alone, the sizes by --n and other parameters by --k or --param",
                self.family
            )));
        }
        spec.check().map_err(Failure::input)?;
        for n in from..=to {
            spec.puzzle(n).map_err(Failure::input)?;
        }
        Ok(spec)
    }
}

/// `6..13` or `8`.
fn parse_range(text: &str) -> Result<(u32, u32), String> {
    let wrong = || {
        format!("'{text}' is not a range of sizes; write it like 6..13, both ends included, or 8")
    };
    let number = |part: &str| part.trim().parse::<u32>().map_err(|_| wrong());
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(text)?, number(text)?),
    };
    if from > to {
        return Err(format!(
            "the range {text} runs backwards; write the smaller size first"
        ));
    }
    Ok((from, to))
}

/// `500000`, `20M` or `2e9`.
fn parse_count(text: &str) -> Result<u64, String> {
    match crate::count::count(text) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!(
            "'{text}' is not a count of 1 and more; write it like 500000, 20M or 2e9"
        )),
    }
}

fn parse_limit(text: &str) -> Result<Duration, String> {
    let limit = crate::render::parse_span(text)?;
    if limit.as_millis() == 0 {
        return Err(format!("'{text}' is no time at all; write it like 10m"));
    }
    Ok(limit)
}

fn parse_parameter(text: &str) -> Result<(String, String), String> {
    let is_word = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric());
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim(), value.trim()),
        None => ("", text.trim()),
    };
    if !is_word(value)
        || !(name.is_empty() || is_word(name))
        || name.is_empty() == text.contains('=')
    {
        return Err(format!("'{text}' is not a parameter; write it like T=2"));
    }
    Ok((name.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_counts_and_parameters() {
        assert_eq!(parse_range("6..13"), Ok((6, 13)));
        assert_eq!(parse_range("9"), Ok((9, 9)));
        for wrong in ["13..6", "6..", "..", "6...9", "-6..9", "six", ""] {
            assert!(parse_range(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_count("2e9"), Ok(2_000_000_000));
        assert_eq!(parse_count("1_000"), Ok(1000));
        assert_eq!(parse_count("20M"), Ok(20_000_000));
        for wrong in ["0", "-1", "1e40", "2.5e-3", "many", "e9", ""] {
            assert!(parse_count(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_parameter("T=2"), Ok(("T".into(), "2".into())));
        assert_eq!(parse_parameter("ic"), Ok((String::new(), "ic".into())));
        for wrong in ["T=", "=2", "T=1,K=2", "a b"] {
            assert!(parse_parameter(wrong).is_err(), "{wrong}");
        }
    }
}
