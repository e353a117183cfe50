//! `worker --restart`: the worker runs as a child of this process, and is started again when it crashes.
//!
//! How it ended is noted in its data directory, so that its next start can tell the coordinator. An end that
//! the user wants or has to do something about (exit codes 0, 2, 130, 143) ends the supervisor too. Killing the
//! supervisor kills the worker.

use crate::exit::Failure;
use crate::signals::Signals;
use antipode_worker::End;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

/// Pause before a new start: doubles from the first to the last ...
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// ... and begins anew after a life of this length.
const LONG_LIFE: Duration = Duration::from_secs(60);
/// The flag that asks for a supervisor; its child does not get it.
const RESTART: &str = "--restart";

/// What a supervised worker is told by its supervisor.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Supervised {
    /// The process that supervises this one, and must not be outlived
    #[arg(long, value_name = "PID", hide = true)]
    supervisor: Option<i32>,

    /// An earlier start found its coordinator: look for it as long as it takes
    #[arg(long, hide = true)]
    again: bool,
}

impl Supervised {
    /// Sees to it that this process dies with its supervisor, if it has one.
    pub fn bind(&self) -> Result<(), Failure> {
        let Some(supervisor) = self.supervisor else {
            return Ok(());
        };
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| {
            Failure::other(format!("cannot be bound to the supervisor's life: {error}"))
        })?;
        // It may have died before that.
        if rustix::process::getppid() != Pid::from_raw(supervisor) {
            return Err(Failure::other(format!(
                "the supervisor, process {supervisor}, has gone"
            )));
        }
        Ok(())
    }

    /// Is this a new start after a crash?
    pub fn is_again(&self) -> bool {
        self.again
    }
}

/// Runs the worker of this command line as a child until it ends for good; then this process ends with its exit code.
pub async fn supervise(data: &Path) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let mut pause = PAUSES.0;
    let mut again = false;
    loop {
        let born = Instant::now();
        let mut child = start(again)?;
        let pid = child.id().unwrap_or_default();
        let (status, asked) = watch(&mut child, &mut signals).await?;
        let said = describe(status);
        if asked || is_final(status) {
            eprintln!("supervisor: the worker {said}");
            std::process::exit(exit_code(status));
        }
        let end = match status.signal() {
            Some(signal) => End::Signal(signal),
            None => End::Exit(status.code().unwrap_or_default()),
        };
        if let Err(error) = antipode_worker::note_end(data, pid, end) {
            eprintln!(
                "supervisor: cannot note that in {}: {error}",
                data.display()
            );
        }
        if born.elapsed() >= LONG_LIFE {
            pause = PAUSES.0;
        }
        eprintln!(
            "supervisor: the worker (process {pid}) {said}; starting it again in {:.1} s",
            pause.as_secs_f64()
        );
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            signal = signals.next() => {
                eprintln!("supervisor: ending on signal {signal}");
                return Ok(());
            }
        }
        pause = (pause * 2).min(PAUSES.1);
        again = true;
    }
}

/// The same command line without the flag. Called on the main thread: the child is bound to the thread that made it.
fn start(again: bool) -> Result<Child, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::other(format!("the worker's process cannot be started: {error}"))
    };
    let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
    command
        .args(std::env::args_os().skip(1).filter(|word| word != RESTART))
        .arg("--supervisor")
        .arg(std::process::id().to_string())
        .stdin(Stdio::null())
        // A Ctrl-C at the terminal would reach it twice: from there and from us.
        .process_group(0)
        .kill_on_drop(true);
    if again {
        command.arg("--again");
    }
    command.spawn().map_err(cannot)
}

/// Waits for the child's end and passes signals on. True: it was asked to end.
async fn watch(child: &mut Child, signals: &mut Signals) -> Result<(ExitStatus, bool), Failure> {
    let mut asked = false;
    loop {
        tokio::select! {
            status = child.wait() => {
                let status = status.map_err(|error| {
                    Failure::other(format!("the worker's process cannot be waited for: {error}"))
                })?;
                return Ok((status, asked));
            }
            signal = signals.next() => {
                asked = true;
                let signal = if signal == 2 { Signal::INT } else { Signal::TERM };
                // Not waited for yet, so the number is still its own.
                if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
                    let _ = kill_process(pid, signal);
                }
            }
        }
    }
}

/// Ends that a new start would not change, or that somebody wished for.
fn is_final(status: ExitStatus) -> bool {
    matches!(status.code(), Some(0 | 2 | 130 | 143))
}

fn exit_code(status: ExitStatus) -> i32 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "ended".into(),
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
    }
}
