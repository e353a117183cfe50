//! Addresses on the command line, and the rule that only loopback goes without `--insecure`.

use crate::exit::Failure;
use std::net::{SocketAddr, ToSocketAddrs};

/// Where a coordinator listens unless told otherwise.
pub const DEFAULT_COORDINATOR: &str = "127.0.0.1:7700";

/// Checks `HOST:PORT` as given with `flag`. Without `insecure` every address behind the name must
/// be this machine's loopback.
pub fn check(flag: &str, text: &str, insecure: bool) -> Result<SocketAddr, Failure> {
    let addresses: Vec<SocketAddr> = text
        .to_socket_addrs()
        .map_err(|error| {
            Failure::input(format!(
                "{flag} {text} is not an address that can be used ({error}); write HOST:PORT, e.g. {DEFAULT_COORDINATOR}"
            ))
        })?
        .collect();
    let outside = addresses.iter().find(|a| !a.ip().is_loopback());
    if let (Some(outside), false) = (outside, insecure) {
        return Err(Failure::input(format!(
            "{flag} {text} is not a loopback address ({}), and connections are not encrypted yet: \
             use 127.0.0.1, or add --insecure if everybody on that network may read and command the cluster",
            outside.ip()
        )));
    }
    addresses.first().copied().ok_or_else(|| {
        Failure::input(format!(
            "{flag} {text} names no address; write HOST:PORT, e.g. {DEFAULT_COORDINATOR}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_goes_without_insecure() {
        assert!(check("--listen", "127.0.0.1:0", false).is_ok());
        assert!(check("--listen", "[::1]:7700", false).is_ok());
        let refused = check("--listen", "0.0.0.0:7700", false)
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("--insecure") && refused.contains("0.0.0.0"),
            "{refused}"
        );
        assert!(check("--listen", "0.0.0.0:7700", true).is_ok());
        assert!(
            check("--listen", "7700", false)
                .unwrap_err()
                .to_string()
                .contains("HOST:PORT")
        );
    }
}
