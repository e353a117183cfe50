//! Tables: the level table, whose lines appear one by one, and lists that are known at once.

use crate::exit::Failure;
use crate::memory;
use antipode_proto::status::LevelStatus;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Heading of what was brought to devices.
const UPLOADED: &str = "uploaded";

/// The level table. Its widths are fixed by the first line, since later lines are not known yet.
#[derive(Debug)]
pub struct LevelTable {
    width: usize,
    printed: usize,
    sum: u128,
    /// The heading names the bytes that were brought to devices: a device computed something.
    has_devices: bool,
}

impl LevelTable {
    /// A table for about `states` states (a decimal number, where it is known).
    pub fn new(states: Option<&str>) -> LevelTable {
        // Without a known number: as wide as the largest count of a level.
        LevelTable {
            width: states.map_or(20, str::len).clamp(6, 20),
            printed: 0,
            sum: 0,
            has_devices: false,
        }
    }

    /// The heading has a column for devices from the beginning.
    pub fn expect_devices(&mut self) {
        self.has_devices = true;
    }

    /// The lines of levels that were not given out before; the heading comes before the first. Where that was before
    /// a device computed a level, it comes once more, with a column for it.
    pub fn new_lines(&mut self, levels: &[LevelStatus]) -> Vec<String> {
        let mut lines = Vec::new();
        let width = self.width;
        let new = levels.get(self.printed..).unwrap_or_default();
        let first_with_devices = !self.has_devices && new.iter().any(|l| l.device_tasks > 0);
        self.has_devices |= first_with_devices;
        if self.printed == 0 && !new.is_empty() || first_with_devices {
            let mut heading = format!("{:>5}  {:>width$}  {:>width$}", "level", "states", "sum");
            if self.has_devices {
                heading += &format!("  {UPLOADED:>10}");
            }
            lines.push(console::style(heading).bold().to_string());
        }
        for level in new {
            self.printed += 1;
            self.sum += u128::from(level.count);
            let mut line = format!(
                "{:>5}  {:>width$}  {:>width$}",
                level.level, level.count, self.sum
            );
            if self.has_devices {
                let uploaded = match level.device_tasks {
                    0 => "-".into(),
                    _ => memory::show(level.uploaded_bytes),
                };
                line += &format!("  {uploaded:>10}");
            }
            lines.push(line);
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
            uploaded_bytes: 0,
            device_tasks: 0,
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

    #[test]
    fn uploads_have_a_column_once_a_device_computed_something() {
        let on_device = |number, count, uploaded_bytes| LevelStatus {
            uploaded_bytes,
            device_tasks: 4,
            ..level(number, count)
        };
        let levels = [
            level(0, 1),
            on_device(1, 6, 2 << 20),
            level(2, 27),
            on_device(3, 120, 0),
        ];
        let expected = [
            "    0        1        1           -",
            "    1        6        7     2.0 MiB",
            "    2       27       34           -",
            "    3      120      154         0 B",
        ];
        // All at once, as `show` has them.
        let all = LevelTable::new(Some("3674160")).new_lines(&levels);
        assert!(all[0].contains(UPLOADED), "{all:?}");
        assert_eq!(all[1..], expected);
        // One by one: the heading comes again.
        let mut table = LevelTable::new(Some("3674160"));
        let first = table.new_lines(&levels[..1]);
        assert!(!first[0].contains(UPLOADED), "{first:?}");
        let second = table.new_lines(&levels[..2]);
        assert!(second[0].contains(UPLOADED), "{second:?}");
        assert_eq!(second[1..], expected[1..2]);
        assert_eq!(table.new_lines(&levels), expected[2..]);
        // None: no column.
        let none = LevelTable::new(Some("3674160")).new_lines(&[level(0, 1), level(1, 6)]);
        assert!(!none[0].contains(UPLOADED), "{none:?}");
    }
}
