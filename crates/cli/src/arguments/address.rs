//! Addresses on the command line, and their defaults.

use std::net::{SocketAddr, ToSocketAddrs};

/// Default address of the page that `lockgate watch --web` serves.
pub(super) const WEB: &str = "127.0.0.1:8180";

/// Port of [`WEB`].
const WEB_PORT: u16 = 8180;

/// Default port of `lockgate receive` and `lockgate send`.
const TRAFFIC_PORT: u16 = 5201;

/// Default address of `lockgate identify --serve`.
pub(super) const IDENTIFY: &str = "0.0.0.0:5202";

/// Port of [`IDENTIFY`].
const IDENTIFY_PORT: u16 = 5202;

/// Parses `PORT` (on loopback), `HOST` or `HOST:PORT`; a host is a name or an address. `port` is the default
/// port.
fn address(text: &str, port: u16) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let found = text.to_socket_addrs().or_else(|_| (bare, port).to_socket_addrs());
    let found = found.ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| "no such host; write `PORT`, `HOST` or `HOST:PORT`".to_owned())
}

pub(super) fn web_address(text: &str) -> Result<SocketAddr, String> {
    address(text, WEB_PORT)
}

/// Parses an address of a prober of lines, as [`address`] does.
pub(crate) fn identify_address(text: &str) -> Result<SocketAddr, String> {
    address(text, IDENTIFY_PORT)
}

/// Parses an address of the traffic generator, as [`address`] does.
pub(crate) fn traffic_address(text: &str) -> Result<SocketAddr, String> {
    address(text, TRAFFIC_PORT)
}
