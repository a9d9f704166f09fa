//! XDP features of an interface's driver, by the generic netlink family `netdev` (Linux 6.3 and later).

use std::io;

use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr};

use crate::netlink::index_of;

/// Headers: of a netlink message, and of generic netlink behind it.
const HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;

/// Types, flags, commands and attributes of `linux/netlink.h`, `linux/genetlink.h` and `linux/netdev.h`.
const TYPE_ERROR: u16 = 2;
const FLAG_REQUEST: u16 = 1;
const FAMILY_CONTROL: u16 = 0x10;
const COMMAND_GET_FAMILY: u8 = 3;
const COMMAND_GET_DEVICE: u8 = 1;
const ATTRIBUTE_FAMILY_ID: u16 = 1;
const ATTRIBUTE_FAMILY_NAME: u16 = 2;
const ATTRIBUTE_INDEX: u16 = 1;
const ATTRIBUTE_FEATURES: u16 = 3;

const BASIC: u64 = 1;
const REDIRECT: u64 = 1 << 1;
const ZERO_COPY: u64 = 1 << 3;
const FRAGMENTS: u64 = 1 << 5;

/// Features of a driver: XDP programs and `AF_XDP` sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "the features are independent")]
pub struct XdpFeatures {
    /// It runs programs in the driver.
    pub is_native: bool,
    /// Programs can redirect frames.
    pub redirects: bool,
    /// `AF_XDP` sockets share their memory with the device.
    pub has_zero_copy: bool,
    /// Frames longer than a page are supported.
    pub has_fragments: bool,
}

/// Returns the features of an interface of this thread's namespace; `None` if the kernel does not report
/// them.
///
/// # Errors
/// If there is no such interface, or the kernel refuses.
pub fn xdp_features(name: &str) -> io::Result<Option<XdpFeatures>> {
    let index = index_of(name).map_err(|refusal| refusal.why)?;
    let mut socket = Socket::new(NETLINK_GENERIC)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let request = message(FAMILY_CONTROL, COMMAND_GET_FAMILY, ATTRIBUTE_FAMILY_NAME, b"netdev\0");
    let family = match exchange(&socket, &request) {
        Ok(answer) => attribute(&answer, ATTRIBUTE_FAMILY_ID)
            .and_then(|id| Some(u16::from_ne_bytes(id.try_into().ok()?))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let Some(family) = family else { return Ok(None) };
    let answer =
        exchange(&socket, &message(family, COMMAND_GET_DEVICE, ATTRIBUTE_INDEX, &index.to_ne_bytes()))?;
    let features = attribute(&answer, ATTRIBUTE_FEATURES)
        .and_then(|bits| Some(u64::from_ne_bytes(bits.try_into().ok()?)));
    Ok(features.map(|bits| XdpFeatures {
        is_native: bits & BASIC != 0,
        redirects: bits & REDIRECT != 0,
        has_zero_copy: bits & ZERO_COPY != 0,
        has_fragments: bits & FRAGMENTS != 0,
    }))
}

/// Encodes a request with one attribute.
fn message(family: u16, command: u8, kind: u16, value: &[u8]) -> Vec<u8> {
    let mut body = vec![command, 1, 0, 0];
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    body.extend_from_slice(&length.to_ne_bytes());
    body.extend_from_slice(&kind.to_ne_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&family.to_ne_bytes());
    bytes.extend_from_slice(&FLAG_REQUEST.to_ne_bytes());
    bytes.extend_from_slice(&1_u32.to_ne_bytes());
    bytes.extend_from_slice(&0_u32.to_ne_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

/// Sends a request and returns the attributes of the answer (blocking).
fn exchange(socket: &Socket, request: &[u8]) -> io::Result<Vec<u8>> {
    socket.send(request, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let kind = answer.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    if kind == Some(TYPE_ERROR) {
        let code =
            answer.get(HEADER..HEADER + 4).and_then(|code| Some(i32::from_ne_bytes(code.try_into().ok()?)));
        return Err(io::Error::from_raw_os_error(-code.unwrap_or(-libc::EIO)));
    }
    Ok(answer.get(HEADER + GENERIC_HEADER..).unwrap_or_default().to_vec())
}

/// Returns the value of the first attribute of a kind.
fn attribute(mut rest: &[u8], wanted: u16) -> Option<&[u8]> {
    while let [low, high, kind_low, kind_high, ..] = *rest {
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let kind = u16::from_ne_bytes([kind_low, kind_high]);
        let value = rest.get(4..length)?;
        if kind == wanted {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethtool::{offloads, speed, switch_off_offloads};
    use crate::namespace::{Namespace, may_make_namespaces};
    use crate::netlink::{Netlink, VethEnd};
    use lockgate_testing::skipped;

    #[test]
    fn attributes_are_found_in_torn_answers_or_not() {
        let request = message(7, 1, 3, &[1, 2, 3, 4, 5]);
        let whole = &request[HEADER + GENERIC_HEADER..];
        assert_eq!(attribute(whole, 3), Some(&[1, 2, 3, 4, 5][..]));
        assert_eq!(attribute(whole, 4), None);
        for length in 0..9 {
            assert_eq!(attribute(&whole[..length], 3), None);
        }
        assert_eq!(attribute(&[0; 64], 3), None, "a length of zero ends the search");
    }

    #[test]
    fn a_veth_tells_its_features_speed_and_offloads() {
        if !may_make_namespaces() {
            skipped("this user may not make network namespaces");
            return;
        }
        let namespace = Namespace::new().expect("made");
        let inside = namespace.inside(|| {
            let mut netlink = Netlink::open().expect("opened");
            let end =
                |name, last| VethEnd { name, address: [2, 0, 0, 0, 0, last], mtu: 1_500, namespace: None };
            netlink.add_veth_pair(end("a0", 1), end("a1", 2)).expect("made");
            for name in ["a0", "a1"] {
                netlink.set_up(name).expect("up");
            }
            let links = netlink.links().expect("listed");
            let veth = links.iter().find(|link| link.name == "a0").expect("there");
            assert_eq!((veth.kind.as_str(), veth.controller), ("veth", None));
            assert_eq!(speed("a0").expect("told"), Some(10_000));
            assert!(offloads("a0").expect("told").contains(&"tso"));
            switch_off_offloads(&netlink, "a0").expect("off");
            let left = offloads("a0").expect("told");
            assert!(left.iter().all(|what| *what == "rx checksums"), "{left:?}");
            assert!(xdp_features("none").is_err());
            xdp_features("a0").expect("asked")
        });
        if let Some(features) = inside.expect("entered") {
            assert!(features.is_native && !features.has_zero_copy, "{features:?}");
        }
    }
}
