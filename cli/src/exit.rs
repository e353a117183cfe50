//! How a command ends: one error type, a variant per exit code, and the only conversions into it.

use antipode_proto::client::ClientError;
use antipode_solver_core::engine::EngineError;
use antipode_solver_core::puzzle::PuzzleError;
use antipode_solver_core::space::SpaceError;
use std::process::ExitCode;

/// Why a command did not give its answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The user can do something about it. Exit code 2.
    #[error("{0}")]
    Input(String),
    /// A law was violated: the program is wrong. Exit code 70.
    #[error("internal error: {0}")]
    Internal(String),
    /// Anything else. Exit code 1.
    #[error("{0}")]
    Other(String),
    /// Stopped by a signal, cleanly. Exit code 128 and the signal: 130 for Ctrl-C.
    #[error("{say}")]
    Interrupted { signal: u8, say: String },
    /// Whoever read our output has gone (`antipode ... | head`): nobody is left to be told. Exit code 0.
    #[error("the output was closed")]
    Closed,
}

impl Failure {
    /// Bad input: what, where, and what to do.
    pub fn input(text: impl Into<String>) -> Failure {
        Failure::Input(text.into())
    }

    /// Anything else.
    pub fn other(text: impl Into<String>) -> Failure {
        Failure::Other(text.into())
    }

    /// Says on stderr why, and gives the exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Failure::Closed => {}
            Failure::Interrupted { say, .. } => eprintln!("{say}"),
            _ => eprintln!("error: {self}"),
        }
        ExitCode::from(self.code())
    }

    /// 2 bad input, 70 internal error, 1 anything else, 128 and the signal where one came.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Input(_) => 2,
            Failure::Internal(_) => 70,
            Failure::Other(_) => 1,
            Failure::Interrupted { signal, .. } => 128 + signal,
            Failure::Closed => 0,
        }
    }
}

impl From<PuzzleError> for Failure {
    fn from(error: PuzzleError) -> Failure {
        Failure::Input(error.to_string())
    }
}

impl From<SpaceError> for Failure {
    fn from(error: SpaceError) -> Failure {
        match error {
            SpaceError::Unsupported(_) => Failure::Input(error.to_string()),
            SpaceError::Damaged(_) => Failure::Other(error.to_string()),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        match error {
            EngineError::Space(space) => space.into(),
            EngineError::Violated(what) => Failure::Internal(what),
            EngineError::NoKernel(_) | EngineError::Memory { .. } | EngineError::Input(_) => {
                Failure::Input(error.to_string())
            }
            EngineError::Frontier(_) | EngineError::Stopped => Failure::Other(error.to_string()),
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        match error {
            ClientError::Unreachable { .. }
            | ClientError::Version { .. }
            | ClientError::Invalid(_)
            | ClientError::NoSuchJob(_) => Failure::Input(error.to_string()),
            ClientError::NotNow(_) | ClientError::Internal(_) => Failure::Other(error.to_string()),
        }
    }
}

impl From<antipode_coordinator::OpenError> for Failure {
    fn from(error: antipode_coordinator::OpenError) -> Failure {
        // In use, unwritable, of a newer format, damaged: the user chooses another directory or program.
        Failure::Input(error.to_string())
    }
}

impl From<antipode_worker::StartError> for Failure {
    fn from(error: antipode_worker::StartError) -> Failure {
        match error {
            antipode_worker::StartError::Internal(what) => Failure::Internal(what),
            // It passes, with or without the user.
            antipode_worker::StartError::DiskFull { .. } => Failure::Other(error.to_string()),
            // All others are about a directory, an address, a version or a flag.
            _ => Failure::Input(error.to_string()),
        }
    }
}
