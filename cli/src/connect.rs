//! How a command finds its coordinator: `--coordinator`, else the access file.

use crate::exit::Failure;
use crate::{access, address};
use antipode_proto::remote::RemoteClient;
use std::time::Duration;

/// How long a command tries before it says that nobody is there.
const PATIENCE: Duration = Duration::from_secs(3);

/// Which coordinator.
#[derive(Debug, Clone, clap::Args)]
pub struct CoordinatorArgs {
    /// The coordinator's address [default: the access file's, written by `antipode coordinator`]
    #[arg(long, value_name = "HOST:PORT")]
    pub coordinator: Option<String>,

    /// Allow addresses that are not loopback; connections are not encrypted
    #[arg(long)]
    pub insecure: bool,
}

impl CoordinatorArgs {
    /// The address, checked.
    pub fn address(&self) -> Result<String, Failure> {
        if let Some(given) = &self.coordinator {
            address::check("--coordinator", given, self.insecure)?;
            return Ok(given.clone());
        }
        match access::read()? {
            Some(access) => {
                address::check(
                    "the access file's address",
                    &access.address,
                    self.insecure || access.insecure,
                )?;
                Ok(access.address)
            }
            None => Err(Failure::input(format!(
                "no coordinator is known: there is no access file {}; start one with `antipode coordinator --data DIR`, \
                 or name one with --coordinator HOST:PORT",
                access::path().display()
            ))),
        }
    }

    /// A connection.
    pub async fn connect(&self) -> Result<RemoteClient, Failure> {
        Ok(RemoteClient::connect(&self.address()?, PATIENCE).await?)
    }
}
