//! What the processes say about themselves: on stderr, by `tracing`, as text or JSON.

use crate::exit::Failure;
use tracing_subscriber::EnvFilter;

/// How much is logged, and in which form.
#[derive(Debug, Clone, clap::Args)]
pub struct LogArgs {
    /// What is logged on stderr: error, warn, info, debug, trace, or a tracing filter
    #[arg(long, global = true, value_name = "FILTER", display_order = 900)]
    pub log: Option<String>,

    /// Log lines as JSON objects
    #[arg(long, global = true, display_order = 901)]
    pub log_json: bool,
}

/// Starts logging; `default` holds without `--log`.
pub fn start(args: &LogArgs, default: &str) -> Result<(), Failure> {
    let text = args.log.as_deref().unwrap_or(default);
    let filter = EnvFilter::try_new(text).map_err(|error| {
        Failure::input(format!(
            "--log {text}: {error}; use error, warn, info, debug or trace"
        ))
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let started = if args.log_json {
        builder.json().try_init()
    } else {
        builder
            .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
            .try_init()
    };
    started.map_err(|error| Failure::other(format!("logging cannot be started: {error}")))
}
