//! Tables: the level table, whose lines appear one by one, and lists that are known at once.

use crate::exit::Failure;
use antipode_proto::status::LevelStatus;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// The level table. Its widths are fixed by the first line, since later lines are not known yet.
#[derive(Debug)]
pub struct LevelTable {
    width: usize,
    printed: usize,
    sum: u128,
}

impl LevelTable {
    /// A table for about `states` states (a decimal number, where it is known).
    pub fn new(states: Option<&str>) -> LevelTable {
        // Without a known number: as wide as the largest count of a level.
        LevelTable {
            width: states.map_or(20, str::len).clamp(6, 20),
            printed: 0,
            sum: 0,
        }
    }

    /// The lines of levels that were not given out before; the heading comes before the first.
    pub fn new_lines(&mut self, levels: &[LevelStatus]) -> Vec<String> {
        let mut lines = Vec::new();
        let width = self.width;
        for level in levels.iter().skip(self.printed) {
            if self.printed == 0 {
                let heading = format!("{:>5}  {:>width$}  {:>width$}", "level", "states", "sum");
                lines.push(console::style(heading).bold().to_string());
            }
            self.printed += 1;
            self.sum += u128::from(level.count);
            lines.push(format!(
                "{:>5}  {:>width$}  {:>width$}",
                level.level, level.count, self.sum
            ));
        }
        lines
    }
}

/// A plain table, wrapped where a terminal is too narrow. Columns with a `>` before the
/// heading are aligned to the right.
pub fn print(headings: &[&str], rows: Vec<Vec<String>>) -> Result<(), Failure> {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(headings.iter().map(|h| h.trim_start_matches('>')));
    for row in rows {
        table.add_row(row);
    }
    for (k, heading) in headings.iter().enumerate() {
        if let Some(column) = table.column_mut(k) {
            let padding = if k == 0 { (0, 1) } else { (1, 1) };
            column.set_padding(padding);
            if heading.starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    for line in table.lines() {
        super::line(line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(level: u32, count: u64) -> LevelStatus {
        LevelStatus {
            level,
            count,
            digest: Default::default(),
            certificate: Default::default(),
            fetched_bytes: 0,
        }
    }

    #[test]
    fn every_level_is_printed_once_with_the_sum_so_far() {
        let mut table = LevelTable::new(Some("3674160"));
        let levels = [level(0, 1), level(1, 6)];
        assert_eq!(table.new_lines(&levels[..1]).len(), 2);
        assert_eq!(table.new_lines(&levels), ["    1        6        7"]);
        assert!(table.new_lines(&levels).is_empty());
    }
}
