//! What tasks cost on a device and on the processor, and so which of them is to do a task. Measured, see
//! [`crate::calibrate`].

use antipode_solver_core::bfs::device::{DeviceTables, DeviceTask, InnerView};
use serde::{Deserialize, Serialize};

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Levels of a space whose superblocks are words.
    Words,
    /// Levels of a space whose superblocks are rows of bits.
    Rows,
    /// Levels of a space with a table of states a move.
    Tables,
    /// Rows of scrambles.
    Scrambles,
}

impl Task {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Task; 4] = [Task::Words, Task::Rows, Task::Tables, Task::Scrambles];

    /// What levels of a space with these tables are.
    pub fn of(tables: &DeviceTables<'_>) -> Task {
        match tables {
            DeviceTables::Blocks(view) => match view.inner {
                InnerView::Leaf { .. } => Task::Words,
                InnerView::Row { .. } => Task::Rows,
            },
            DeviceTables::States(_) => Task::Tables,
        }
    }

    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Task::Words => "levels by words",
            Task::Rows => "levels by rows",
            Task::Tables => "levels by tables",
            Task::Scrambles => "scrambles",
        }
    }

    /// What its size is counted in.
    pub fn unit(self) -> &'static str {
        match self {
            Task::Words | Task::Rows | Task::Tables => "states x moves",
            Task::Scrambles => "rows",
        }
    }
}

/// A straight line through two measurements: `fixed + unit * size` seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub fixed_seconds: f64,
    pub unit_seconds: f64,
}

impl Line {
    /// Through (size, seconds) twice, the larger size last. Neither part is negative.
    pub fn through([(small, quick), (large, slow)]: [(f64, f64); 2]) -> Line {
        let unit = ((slow - quick) / (large - small).max(1.0)).max(0.0);
        // Nothing is free: where the small one took as long, the large one says what a unit costs at most.
        let unit = if unit > 0.0 { unit } else { slow / large };
        Line {
            fixed_seconds: (quick - unit * small).max(0.0),
            unit_seconds: unit,
        }
    }

    /// What `size` takes.
    pub fn at(&self, size: f64) -> f64 {
        self.fixed_seconds + self.unit_seconds * size
    }
}

/// One kind of task on a device and on the processor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub task: Task,
    pub device: Line,
    pub processor: Line,
    /// Seconds of the processor for each state of a thin level, which it moves one by one; 0 for what has none.
    pub thin_seconds: f64,
}

impl Cost {
    /// From which size on the device is quicker; `None`: never.
    pub fn device_from(&self) -> Option<f64> {
        let gain = self.processor.unit_seconds - self.device.unit_seconds;
        let lead = self.device.fixed_seconds - self.processor.fixed_seconds;
        match (gain > 0.0, lead > 0.0) {
            (true, true) => Some(lead / gain),
            (_, false) if gain >= 0.0 => Some(0.0),
            _ => None,
        }
    }
}

/// What a device costs, for all kinds of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    pub costs: Vec<Cost>,
    /// Bytes a second on the way to the device.
    pub upload_bytes_per_second: f64,
}

impl Costs {
    /// That of one kind.
    pub fn of(&self, task: Task) -> Option<&Cost> {
        self.costs.iter().find(|cost| cost.task == task)
    }

    /// Is the device to make so many rows of scrambles?
    pub fn wants_rows(&self, rows: u64) -> bool {
        let size = rows as f64;
        self.of(Task::Scrambles)
            .is_some_and(|cost| cost.device.at(size) < cost.processor.at(size))
    }

    /// Is the device to make a level with this task? `missing_bytes` must be sent first.
    pub fn wants_level(&self, kind: Task, level: &LevelSize, missing_bytes: u64) -> bool {
        let Some(cost) = self.of(kind) else {
            return false;
        };
        let sent = missing_bytes as f64 / self.upload_bytes_per_second.max(1.0);
        let device = cost.device.at(level.work) + sent;
        let dense = cost.processor.at(level.work);
        let thin = cost.thin_seconds * level.sources;
        device < dense.min(thin)
    }
}

/// How large a level of a shard is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelSize {
    /// States of the shard times moves.
    pub work: f64,
    /// States that the moves start from, counted once a move.
    pub sources: f64,
}

impl LevelSize {
    /// That of a task in a space of this kind and with so many moves.
    pub fn of(kind: Task, task: &DeviceTask<'_>, moves: usize) -> LevelSize {
        let counted: u64 = task.sources.iter().map(|(_, source)| source.count()).sum();
        // Sources are listed move by move, except for tables.
        let times = if kind == Task::Tables { moves } else { 1 };
        LevelSize {
            work: task.own.geometry().states as f64 * moves as f64,
            sources: counted as f64 * times as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(device: Line, processor: Line) -> Costs {
        Costs {
            costs: vec![Cost {
                task: Task::Words,
                device,
                processor,
                thin_seconds: 1e-8,
            }],
            upload_bytes_per_second: 1e10,
        }
    }

    #[test]
    fn large_dense_levels_go_to_a_quick_device() {
        let line = |fixed_seconds, unit_seconds| Line {
            fixed_seconds,
            unit_seconds,
        };
        let quick = costs(line(1e-3, 1e-12), line(1e-5, 1e-11));
        let size = |work, sources| LevelSize { work, sources };
        let wants = |costs: &Costs, level, sent| costs.wants_level(Task::Words, &level, sent);
        assert!(wants(&quick, size(1e10, 1e9), 0));
        // Too small, too thin, too much to be sent, another kind.
        assert!(!wants(&quick, size(1e7, 1e6), 0));
        assert!(!wants(&quick, size(1e10, 1e3), 0));
        assert!(!wants(&quick, size(1e10, 1e9), 1 << 30));
        assert!(!quick.wants_level(Task::Rows, &size(1e10, 1e9), 0));
        assert!(!quick.wants_rows(1 << 40));
        let from = quick.costs[0].device_from().expect("it is quicker");
        assert!((1e8..1.2e8).contains(&from), "{from}");
        let slow = costs(line(1e-3, 1e-10), line(1e-5, 1e-11));
        assert!(!wants(&slow, size(1e12, 1e11), 0));
        assert_eq!(slow.costs[0].device_from(), None);
    }

    #[test]
    fn lines_are_never_negative() {
        let line = Line::through([(10.0, 3.0), (20.0, 5.0)]);
        assert_eq!((line.fixed_seconds, line.unit_seconds), (1.0, 0.2));
        let line = Line::through([(10.0, 1.0), (20.0, 5.0)]);
        assert_eq!((line.fixed_seconds, line.unit_seconds), (0.0, 0.4));
        let line = Line::through([(10.0, 5.0), (20.0, 4.0)]);
        assert_eq!((line.fixed_seconds, line.unit_seconds), (3.0, 0.2));
    }
}
