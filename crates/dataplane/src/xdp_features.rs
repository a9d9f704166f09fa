//! XDP features of an interface's driver, by the generic netlink family `netdev` (Linux 6.3 and later).

use std::io;

use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr};

use crate::netlink::index_of;
use crate::netlink::messages::{attribute, find, read, receive, request};

/// Header of generic netlink.
const HEADER: usize = 4;

/// Types, commands and attributes of `linux/genetlink.h` and `linux/netdev.h`.
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
    let name = attribute(ATTRIBUTE_FAMILY_NAME, b"netdev\0");
    let family = match exchange(&socket, FAMILY_CONTROL, COMMAND_GET_FAMILY, &name) {
        Ok(answer) => {
            find(&answer, ATTRIBUTE_FAMILY_ID).and_then(|id| Some(u16::from_ne_bytes(id.try_into().ok()?)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let Some(family) = family else { return Ok(None) };
    let answer =
        exchange(&socket, family, COMMAND_GET_DEVICE, &attribute(ATTRIBUTE_INDEX, &index.to_ne_bytes()))?;
    let features =
        find(&answer, ATTRIBUTE_FEATURES).and_then(|bits| Some(u64::from_ne_bytes(bits.try_into().ok()?)));
    Ok(features.map(|bits| XdpFeatures {
        is_native: bits & BASIC != 0,
        redirects: bits & REDIRECT != 0,
        has_zero_copy: bits & ZERO_COPY != 0,
        has_fragments: bits & FRAGMENTS != 0,
    }))
}

/// Sends a request and returns the attributes of the answer (blocking).
fn exchange(socket: &Socket, family: u16, command: u8, attribute: &[u8]) -> io::Result<Vec<u8>> {
    const SEQUENCE: u32 = 1;
    let body = [&[command, 1, 0, 0], attribute].concat();
    socket.send(&request(family, 0, SEQUENCE, &body), 0)?;
    let (mut buffer, mut answer) = (Vec::new(), Vec::new());
    receive(socket, 0, &mut buffer)?;
    read(&buffer, SEQUENCE, &mut |_, payload| answer = payload.get(HEADER..).unwrap_or_default().to_vec())?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethtool::{offloads, speed, switch_off_offloads};
    use crate::namespace::{Namespace, may_make_namespaces};
    use crate::netlink::{Netlink, VethEnd};
    use lockgate_testing::skipped;

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
