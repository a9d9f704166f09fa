//! Frames leave the router as they came: every byte, in order, both ways, in every mode.
#![cfg(target_os = "linux")]

mod common;

use std::thread;
use std::time::{Duration, Instant};

use common::{HOSTS, INTERFACES, Network, expect_doubts, receive, skipped};
use lockgate_dataplane::dataplane::Dataplane;
use lockgate_dataplane::ethtool::{Queues, set_queues};
use lockgate_dataplane::netlink::XdpMode;
use lockgate_dataplane::socket::SocketChoice;
use lockgate_engine::units::Duration as Patience;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Longest wait for what the watchdog does each second.
const PATIENCE: Duration = Duration::from_secs(20);

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

/// Kinds of frames: what stands between the Ethernet addresses and the payload.
fn kinds() -> Vec<(&'static str, Vec<u8>)> {
    let ip4 = |protocol: u8, flags: [u8; 2]| {
        let mut header = vec![8, 0, 0x45, 0x28, 0, 200, 0, 1];
        header.extend(flags);
        header.extend([64, protocol, 0x12, 0x34, 10, 0, 0, 1, 10, 0, 0, 2]);
        header
    };
    let ip6 = |next: u8, more: &[u8]| {
        let mut header = vec![0x86, 0xdd, 0x6b, 0x81, 0x23, 0x45, 0, 180, next, 64];
        header.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        header.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        header.extend(more);
        header
    };
    let udp = [4, 0, 5, 0, 0, 180, 0, 0];
    let tcp = [4, 0, 5, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0x50, 0x10, 0, 99, 0, 0, 0, 0];
    let join = |parts: &[&[u8]]| parts.concat();
    let tag = |kind: [u8; 2], id: u8| vec![kind[0], kind[1], 0x60, id];
    vec![
        ("IPv4 UDP", join(&[&ip4(17, [0x40, 0]), &udp])),
        ("IPv4 TCP", join(&[&ip4(6, [0x40, 0]), &tcp])),
        ("IPv4 ICMP", join(&[&ip4(1, [0, 0]), &[8, 0, 0, 0]])),
        ("IPv4 IGMP", ip4(2, [0, 0])),
        ("IPv4 GRE", ip4(47, [0, 0])),
        ("IPv4 ESP", ip4(50, [0, 0])),
        ("IPv4 OSPF", ip4(89, [0, 0])),
        ("IPv4 SCTP", ip4(132, [0, 0])),
        ("IPv4 first fragment", join(&[&ip4(17, [0x20, 0]), &udp])),
        ("IPv4 middle fragment", ip4(17, [0x20, 9])),
        ("IPv4 last fragment", ip4(17, [0, 99])),
        (
            "IPv4 with options",
            vec![8, 0, 0x46, 0, 0, 200, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 1, 1, 0],
        ),
        ("IPv4 cut short", vec![8, 0, 0x4f, 0, 0, 20]),
        ("IPv6 UDP", ip6(17, &udp)),
        ("IPv6 TCP", ip6(6, &tcp)),
        ("IPv6 neighbour solicitation", ip6(58, &[135, 0, 0, 0])),
        ("IPv6 router advertisement", ip6(58, &[134, 0, 0, 0])),
        ("IPv6 hop-by-hop", ip6(0, &[17, 0, 5, 2, 0, 0, 1, 0, 4, 0, 5, 0, 0, 8, 0, 0])),
        ("IPv6 fragment", ip6(44, &[17, 0, 0, 1, 0, 0, 0, 7])),
        ("IPv6 routing", ip6(43, &[6, 0, 4, 0, 0, 0, 0, 0])),
        ("IPv6 destination options", ip6(60, &[6, 0, 1, 4, 0, 0, 0, 0])),
        ("IPv6 no next header", ip6(59, &[])),
        ("ARP", vec![8, 6, 0, 1, 8, 0, 6, 4, 0, 1]),
        ("802.1Q IPv4", join(&[&tag([0x81, 0], 5), &ip4(17, [0, 0]), &udp])),
        ("802.1Q IPv6", join(&[&tag([0x81, 0], 5), &ip6(6, &tcp)])),
        ("802.1Q ARP", join(&[&tag([0x81, 0], 6), &[8, 6, 0, 1]])),
        ("priority tag", join(&[&[0x81, 0, 0xa0, 0], &ip4(17, [0, 0])])),
        ("QinQ", join(&[&tag([0x88, 0xa8], 7), &tag([0x81, 0], 5), &ip4(17, [0, 0])])),
        ("QinQ with 802.1Q outside", join(&[&tag([0x81, 0], 7), &tag([0x81, 0], 5), &ip4(6, [0, 0])])),
        (
            "three tags",
            join(&[&tag([0x88, 0xa8], 1), &tag([0x81, 0], 2), &tag([0x81, 0], 3), &ip4(17, [0, 0])]),
        ),
        ("PPPoE discovery", vec![0x88, 0x63, 0x11, 9, 0, 0, 0, 4]),
        ("PPPoE IPv4", join(&[&[0x88, 0x64, 0x11, 0, 0, 1, 0, 100, 0, 0x21], &ip4(17, [0, 0])[2..]])),
        ("PPPoE IPv6", join(&[&[0x88, 0x64, 0x11, 0, 0, 1, 0, 100, 0, 0x57], &ip6(6, &tcp)[2..]])),
        ("PPPoE link control", vec![0x88, 0x64, 0x11, 0, 0, 1, 0, 10, 0xc0, 0x21, 9, 1]),
        ("MPLS", join(&[&[0x88, 0x47, 0, 1, 0x01, 64], &ip4(17, [0, 0])[2..]])),
        ("MPLS, two labels, IPv6", join(&[&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64], &ip6(17, &udp)[2..]])),
        ("MPLS multicast, no IP", vec![0x88, 0x48, 0, 1, 1, 64, 0, 0, 0, 0]),
        ("LLDP", vec![0x88, 0xcc, 2, 7, 4, 2, 0, 0, 0, 0, 1]),
        ("spanning tree", vec![0, 38, 0x42, 0x42, 3, 0, 0, 2, 2]),
        ("802.1X", vec![0x88, 0x8e, 1, 1, 0, 0]),
        ("pause", vec![0x88, 0x08, 0, 1, 0xff, 0xff]),
        ("unknown type", vec![0x12, 0x34]),
    ]
}

/// Frame number `number` of a kind, of a length and to an address that vary with it.
fn frame(kind: &[u8], number: usize, longest: usize) -> Vec<u8> {
    let destinations: [[u8; 6]; 5] = [
        [2, 0, 0, 0, 0, 2],
        [0xff; 6],
        [1, 0, 0x5e, 0, 0, 5],
        [0x33, 0x33, 0, 0, 0, 1],
        [1, 0x80, 0xc2, 0, 0, 0x0e],
    ];
    let mut frame = destinations[number % 5].to_vec();
    frame.extend([2, 0, 0, 0, 9, 9]);
    frame.extend(kind);
    let length = [60, 61, 128, 594, 1_400, longest][number / 5 % 6].max(frame.len());
    let mut value = number as u32;
    while frame.len() < length {
        value = value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        frame.push((value >> 24) as u8);
    }
    frame
}

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
        let mut arrived = receive(&mut receiver, sent.len(), Patience::from_secs(2));
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

/// Expects that one frame passes without the router.
fn pass_by_kernel(network: &Network) {
    let mut sender = network.open(0, SocketChoice::Packet, LONGEST);
    let mut receiver = network.open(1, SocketChoice::Packet, LONGEST);
    let frame = frame(&[0x12, 0x34], 1, LONGEST);
    assert_eq!(sender.transmit(0, &[&frame]).expect("there").taken, 1);
    assert_eq!(receive(&mut receiver, 1, Patience::from_secs(2)), [frame]);
}

#[test]
fn frames_pass_a_bridge_byte_for_byte() {
    let Some(network) = Network::make(1_500) else { return };
    for (attach, io) in [("tcx", "af_xdp"), ("tcx", "packet"), ("xdp", "af_xdp")] {
        let keys = format!("attach = \"{attach}\"\nio = \"{io}\"\nmode =");
        let (router, told) = network.start(&BRIDGE.replace("mode =", &keys));
        assert_eq!(router.packet_sockets().is_none(), io == "af_xdp");
        assert_eq!(network.links().iter().any(|link| link.name.starts_with("lg")), attach == "tcx");
        for from in [0, 1] {
            for sockets in [SocketChoice::Packet, SocketChoice::AfXdp] {
                pass(&network, from, sockets, 60);
            }
        }
        let losses = router.stop().expect("drained");
        assert_eq!(losses.total(), 0, "{attach}, {io}: {losses:?}");
        expect_doubts(&told.lock().expect("no panic"), attach, 2);
        let links = network.links();
        assert!(!links.iter().any(|link| link.name.starts_with("lg")), "{links:?}");
        assert!(links.iter().all(|link| link.xdp == XdpMode::Absent), "{links:?}");
        // The bridge that takes over now.
        let bridge = links.iter().find(|link| link.kind == "bridge").expect("a bridge");
        assert!(links.iter().filter(|link| link.controller == Some(bridge.index)).count() == 2);
    }
}

#[test]
fn each_receive_queue_has_a_socket_or_the_kernel_has_the_interface() {
    let Some(network) = Network::make(1_500) else { return };
    let set = |receive: u32| {
        let all = |count| Queues { receive: count, transmit: count };
        let router = network.router.inside(|| set_queues(INTERFACES[0], all(receive)));
        router.expect("entered").is_ok()
    };
    if !set(2) {
        return skipped::skipped("a veth has one queue on a machine with one processor");
    }
    let spread = network.hosts[0].inside(|| set_queues(HOSTS[0], Queues { receive: 2, transmit: 2 }));
    spread.expect("entered").expect("as many on the host's end");
    let policy = BRIDGE.replace("mode =", "attach = \"xdp\"\nmode =");
    let (router, _) = network.start(&policy);
    // A packet socket sends by the queue of its processor.
    let everywhere = sched_getaffinity(None).expect("known");
    for processor in 0..2 {
        let mut one = CpuSet::new();
        one.set(processor);
        sched_setaffinity(None, &one).expect("there are two");
        for from in [0, 1] {
            pass(&network, from, SocketChoice::Packet, 20);
        }
    }
    sched_setaffinity(None, &everywhere).expect("as before");
    assert_eq!(router.stop().expect("drained").total(), 0);

    // One queue at the start, and a second later: it would pass the router by.
    let one = network.hosts[0].inside(|| set_queues(HOSTS[0], Queues { receive: 1, transmit: 1 }));
    one.expect("entered").expect("fewer");
    assert!(set(1));
    let (router, told) = network.start(&policy);
    assert!(router.is_attached() && set(2));
    let until = Instant::now() + PATIENCE;
    while router.is_attached() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(!router.is_attached(), "the kernel has the interface");
    let said = told.lock().expect("no panic").join("\n");
    assert!(said.contains("uses 2 receive queues") && said.contains("ethtool -L eth1"), "{said}");
    // By the kernel's bridge.
    pass_by_kernel(&network);
    assert!(set(1));
    while !router.is_attached() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(router.is_attached(), "the router has the interface again");
    pass(&network, 0, SocketChoice::Packet, 2);
    router.stop().expect("drained");
}
