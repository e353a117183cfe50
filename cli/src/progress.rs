//! What a waiting user sees: levels as they are finished, and on a terminal a bar with the level, the states so far
//! of all, the rate, and the time left.

use crate::exit::Failure;
use crate::render::table::LevelTable;
use crate::render::{self, short, span};
use crate::report;
use antipode_proto::status::{JobState, JobStatus};
use antipode_solver_core::batch;
use antipode_solver_core::space::SpaceDef;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Without a terminal a job of items says how far it is this often.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// Shows a job while it runs.
pub struct Progress {
    /// `None` for what has no levels.
    table: Option<LevelTable>,
    bar: ProgressBar,
    /// The table goes to stderr, because stdout is kept for the JSON object.
    json: bool,
    /// When the first status came, and how many states were counted then (a resumed job starts with many).
    began: Option<(Instant, u128)>,
    total: Option<u128>,
    /// Where there is no bar: when the next line is due, counted from the first status.
    say_after: Duration,
    /// Why the job does not move, and whether that was said.
    stalled: Option<(String, bool)>,
}

impl Progress {
    /// Shows a job with this index; with a depth limit it may end before all states are counted.
    pub fn new(space: &SpaceDef, depth: Option<u32>, json: bool) -> Progress {
        let states = space.states.as_deref();
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(8))
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("{prefix} {bar:24} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress {
            table: (space.kind != batch::KIND).then(|| LevelTable::new(states)),
            bar,
            json,
            began: None,
            total: states
                .filter(|_| depth.is_none())
                .and_then(|s| s.parse().ok()),
            stalled: None,
            say_after: SAY_EVERY,
        }
    }

    /// Devices are to compute the job.
    pub fn expect_devices(&mut self) {
        if let Some(table) = &mut self.table {
            table.expect_devices();
        }
    }

    /// Prints the levels that are new, and moves the bar.
    pub fn show(&mut self, status: &JobStatus) -> Result<(), Failure> {
        if let Some(table) = &mut self.table {
            let lines = table.new_lines(&status.levels);
            self.print(&lines)?;
        }
        match &status.state {
            JobState::Stalled { reason, .. } => {
                if self
                    .stalled
                    .as_ref()
                    .is_none_or(|(before, _)| before != reason)
                {
                    self.stalled = Some((reason.clone(), false));
                }
            }
            _ => self.stalled = None,
        }
        self.move_bar(status);
        Ok(())
    }

    /// Says why the job does not move, once. A stall of a moment is none of the user's business.
    pub fn say_if_stalled(&mut self) {
        if let Some((reason, said @ false)) = &mut self.stalled {
            *said = true;
            self.bar.suspend(|| eprintln!("stalled: {reason}"));
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn print(&self, lines: &[String]) -> Result<(), Failure> {
        if lines.is_empty() {
            return Ok(());
        }
        self.bar.suspend(|| {
            for line in lines {
                if self.json {
                    eprintln!("{}", console::strip_ansi_codes(line));
                } else {
                    render::line(line)?;
                }
            }
            Ok(())
        })
    }

    fn move_bar(&mut self, status: &JobStatus) {
        let counted = report::counted(status);
        let (began, before) = *self.began.get_or_insert((Instant::now(), counted));
        let seconds = began.elapsed().as_secs_f64();
        let rate = if seconds > 0.0 {
            counted.saturating_sub(before) as f64 / seconds
        } else {
            0.0
        };
        let (of, left) = match self.total {
            Some(total) if total > 0 => {
                let part = (counted as f64 / total as f64).clamp(0.0, 1.0);
                self.bar.set_position((part * 1000.0) as u64);
                let left = if rate > 0.0 {
                    span(total.saturating_sub(counted) as f64 / rate)
                } else {
                    "unknown".into()
                };
                (format!(" of {}", short(total as f64)), left)
            }
            _ => (String::new(), "unknown".into()),
        };
        let kind = status.definition.spec.kind();
        let (prefix, what) = match &self.table {
            None => (kind.to_string(), ""),
            Some(_) => (self.stage(status, counted), " states"),
        };
        let message = format!(
            "{}{of}{what}, {}{what}/s, time left: {left}",
            short(counted as f64),
            short(rate)
        );
        // Levels speak for themselves; items do not.
        let silent = self.table.is_none() && self.bar.is_hidden();
        if silent && began.elapsed() >= self.say_after {
            self.say_after = began.elapsed() + SAY_EVERY;
            eprintln!("{prefix}: {message}");
        }
        self.bar.set_prefix(prefix);
        self.bar.set_message(message);
    }

    /// What is being done.
    fn stage(&self, status: &JobStatus, counted: u128) -> String {
        // When every state is counted, what remains are the words of the antipodes.
        match status.levels.len() {
            _ if self.total == Some(counted) => "antipodes".into(),
            level => format!("level {level}"),
        }
    }
}
