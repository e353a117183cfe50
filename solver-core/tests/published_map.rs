//! `tests/data/published_map.toml` covers every row of both files, and what it names is the right puzzle.

mod support;

#[test]
fn every_row_is_mapped_or_left_out_for_a_reason() {
    let rows = support::published_rows();
    assert_eq!(rows.len(), 221 + 24);
    let mut left_out = Vec::new();
    for row in &rows {
        match &row.puzzle {
            Err(reason) => {
                assert!(reason.len() > 20, "{}: {reason}", row.name);
                left_out.push(format!("{}: {reason}", row.name));
            }
            Ok(puzzle) => {
                assert!(!puzzle.generators().is_empty());
                let counts = support::first_levels(puzzle, &row.counts, 8_000);
                assert_eq!(
                    counts,
                    row.counts[..counts.len()],
                    "{} as {}",
                    row.name,
                    puzzle.name()
                );
                assert!(counts.len() > 1, "{}", row.name);
            }
        }
    }
    println!("left out:\n{}", left_out.join("\n"));
    assert_eq!(left_out.len(), 30);
}
