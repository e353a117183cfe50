//! `puzzle`.
use super::Call;
use crate::exit::Failure;
#[derive(Debug, clap::Subcommand)]
pub enum What {
    List,
}
pub fn puzzle(_what: &What, _call: &Call) -> Result<(), Failure> {
    Ok(())
}
