//! Why a survey gives no answer.

use crate::group::chain::ChainTooLarge;
use crate::terms::EngineError;

/// What stands in the way of a survey.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SurveyError {
    /// The explicit graph does not fit.
    #[error(
        "{states} states with {moves} moves need {needed} bytes of memory as an explicit graph, {allowed} are allowed; \
         allow more with --memory, or ask for less with --method from-start"
    )]
    TooLarge {
        states: String,
        moves: usize,
        needed: u128,
        allowed: u64,
    },
    /// The explicit graph is larger than any worker is asked to hold.
    #[error(
        "{states} states with {moves} moves need {needed} bytes of memory as an explicit graph, more than the {allowed} \
         that workers are asked for at most; --method from-start needs no such graph"
    )]
    BeyondWorkers {
        states: String,
        moves: usize,
        needed: u128,
        allowed: u64,
    },
    /// The group itself is out of reach.
    #[error(transparent)]
    Group(#[from] ChainTooLarge),
    /// Somebody asked to stop.
    #[error("stopped")]
    Stopped,
    /// A law was violated: an internal error.
    #[error("internal error: {0}")]
    Violated(String),
}

impl From<SurveyError> for EngineError {
    fn from(error: SurveyError) -> EngineError {
        match error {
            SurveyError::Violated(what) => EngineError::Violated(what),
            SurveyError::Stopped => EngineError::Stopped,
            other => EngineError::Input(other.to_string()),
        }
    }
}
