//! Large numbers as people write them.

/// Reads `10M`, `2.5k`, `1e6` or a plain number.
pub fn count(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not a number of rows; write it like 250000, 250k or 10M");
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        Some((at, 'M')) => (&text[..at], 1e6),
        Some((at, 'G')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    if unit == 1.0
        && let Ok(plain) = digits.replace('_', "").parse::<u64>()
    {
        return Ok(plain);
    }
    let value: f64 = digits.parse().map_err(|_| wrong())?;
    let rows = value * unit;
    // Beyond 2^53 a decimal fraction is no exact number of rows.
    if !(0.0..9e15).contains(&rows) || rows.fract() != 0.0 {
        return Err(wrong());
    }
    Ok(rows as u64)
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn numbers_of_rows() {
        assert_eq!(count("10M"), Ok(10_000_000));
        assert_eq!(count("2.5k"), Ok(2500));
        assert_eq!(count("1e6"), Ok(1_000_000));
        assert_eq!(count("1_000"), Ok(1000));
        assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
        for wrong in ["", "M", "-5", "1.5", "ten", "1e300", "NaN", "5MB"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }
}
