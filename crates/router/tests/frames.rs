//! Frames leave the router as they came: every byte, in order, both ways, in every mode.
#![cfg(target_os = "linux")]

mod common;

use common::kinds::{frame, kinds};
use common::{Network, receive};
use lockgate_dataplane::dataplane::Dataplane;
use lockgate_dataplane::socket::SocketChoice;
use lockgate_engine::units::Duration;

/// Longest frame, in bytes, of an MTU of 1500 with a VLAN tag.
const LONGEST: usize = 1_518;

const BRIDGE: &str = r#"
[router]
mode = "bridge"
interfaces = { lan = "eth1", wan = "eth2" }
[port."lan->wan"]
root = "fifo"
queue.fifo = { kind = "fifo", limit = "20000p" }
[port."wan->lan"]
root = "fifo"
queue.fifo = { kind = "fifo", limit = "20000p" }
"#;

/// Sends frames of all kinds from one host, and expects them at the other, byte for byte and in order.
fn pass(network: &Network, from: usize, sockets: SocketChoice, rounds: usize) {
    let mut sender = network.open(from, SocketChoice::Packet, LONGEST);
    let mut receiver = network.open(1 - from, sockets, LONGEST);
    let kinds = kinds();
    let mut number = 0;
    for round in 0..rounds {
        let sent: Vec<Vec<u8>> = kinds
            .iter()
            .map(|(_, kind)| {
                number += 1;
                // With a tag a frame may be 4 bytes longer.
                let longest = if kind.starts_with(&[0x81, 0]) { 1_518 } else { 1_514 };
                frame(kind, number, longest)
            })
            .collect();
        for frame in &sent {
            assert_eq!(sender.transmit(0, &[frame]).expect("there").taken, 1, "{} bytes", frame.len());
        }
        let mut arrived = receive(&mut receiver, sent.len(), Duration::from_secs(2));
        // Frames without an IP packet may go ahead of others.
        let mut expected = sent;
        arrived.sort();
        expected.sort();
        for (arrived, expected) in arrived.iter().zip(&expected) {
            let kind = kinds.iter().find(|(_, kind)| expected[12..].starts_with(kind)).map(|(name, _)| name);
            assert_eq!(arrived, expected, "round {round}, {kind:?}");
        }
        assert_eq!(arrived.len(), expected.len(), "round {round}");
    }
}

#[test]
fn frames_pass_a_bridge_byte_for_byte() {
    let Some(network) = Network::make(1_500) else { return };
    for io in ["af_xdp", "packet"] {
        let policy = BRIDGE.replace("mode =", &format!("io = \"{io}\"\nmode ="));
        let (router, told) = network.start(&policy);
        assert_eq!(router.packet_sockets().is_none(), io == "af_xdp");
        for from in [0, 1] {
            for sockets in [SocketChoice::Packet, SocketChoice::AfXdp] {
                pass(&network, from, sockets, 60);
            }
        }
        let losses = router.stop().expect("drained");
        assert_eq!(losses.total(), 0, "{losses:?}");
        assert_eq!(told.lock().expect("no panic").as_slice(), [""; 0]);
        let links = network.links();
        assert!(!links.iter().any(|link| link.name.starts_with("lg")), "{links:?}");
        // The bridge that takes over now.
        let bridge = links.iter().find(|link| link.kind == "bridge").expect("a bridge");
        assert!(links.iter().filter(|link| link.controller == Some(bridge.index)).count() == 2);
    }
}
