//! How answers look: stdout is data, as a table for people or as one JSON object for programs.

pub mod batch;
pub mod diameter;
pub mod facts;
pub mod json;
pub mod landmarks;
pub mod scrambles;
pub mod summary;
pub mod table;

use crate::exit::Failure;
use std::io::Write;

/// Prints a line on stdout at once. A reader that has gone ends the command quietly.
pub fn line(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::other(format!("stdout cannot be written: {error}")),
        })
}

/// Prints many lines on stdout at once.
pub fn lines(texts: impl Iterator<Item = String>) -> Result<(), Failure> {
    let mut all = String::new();
    for text in texts {
        all.push_str(&text);
        all.push('\n');
    }
    line(all.trim_end_matches('\n'))
}

/// `3,674,160`.
pub fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (k, c) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A large number in three or four figures: `19.5 G`, `930 k`, `276`.
pub fn short(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 1e12 => (v / 1e12, " T"),
        v if v >= 1e9 => (v / 1e9, " G"),
        v if v >= 1e6 => (v / 1e6, " M"),
        v if v >= 1e3 => (v / 1e3, " k"),
        v => return format!("{v:.0}"),
    };
    if scaled < 100.0 {
        format!("{scaled:.1}{unit}")
    } else {
        format!("{scaled:.0}{unit}")
    }
}

/// A time span: `0.012 s`, `4.53 s`, `2m 3s`.
pub fn span(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{s:.3} s"),
        s if s < 60.0 => format!("{s:.2} s"),
        s if s.is_finite() && s < 1e10 => {
            humantime::format_duration(std::time::Duration::from_secs(s.round() as u64)).to_string()
        }
        _ => "longer than anyone will wait".into(),
    }
}

/// Reads a time span such as `500ms`, `10s`, `5m`.
pub fn parse_span(text: &str) -> Result<std::time::Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| format!("'{text}' is not a time span; write it like 500ms, 10s or 5m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(grouped("3674160"), "3,674,160");
        assert_eq!(grouped("276"), "276");
        assert_eq!(short(19_508_428_800.0), "19.5 G");
        assert_eq!(short(276.0), "276");
        assert_eq!(span(0.0123), "0.012 s");
        assert_eq!(span(123.0), "2m 3s");
    }
}
