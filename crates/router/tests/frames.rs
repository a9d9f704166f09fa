//! Frames leave the router as they arrived: every byte, in order, both ways, in every mode.
#![cfg(target_os = "linux")]

mod common;

use std::thread;
use std::time::{Duration, Instant};

use common::kinds::{frame, kinds};
use common::{HOSTS, INTERFACES, Network, expect_doubts, ip, receive};
use lockgate_dataplane::dataplane::Dataplane;
use lockgate_dataplane::ethtool::{Queues, set_queues};
use lockgate_dataplane::netlink::XdpMode;
use lockgate_dataplane::socket::SocketChoice;
use lockgate_engine::units::Duration as Patience;
use lockgate_router::control::{Bypass, Engine};
use lockgate_router::router::Options;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Limit on waiting for the watchdog, which polls the interfaces each second.
const PATIENCE: Duration = Duration::from_mins(1);

/// Length of the longest frame with a VLAN tag at an MTU of 1500, in bytes.
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

/// Expects that one frame passes through the kernel alone.
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
    for (attach, io, thread_for_each_port) in [
        // Received by packet sockets, sent by AF_XDP.
        ("tcx", "", false),
        ("tcx", "io = \"af_xdp\"", false),
        ("tcx", "io = \"packet\"", false),
        ("xdp", "", false),
        // Each thread sends by the socket by which the other one receives.
        ("xdp", "", true),
    ] {
        let keys = format!("attach = \"{attach}\"\n{io}\nmode =");
        let options = Options { thread_for_each_port, ..Options::default() };
        let (router, told) = network.start_with(&BRIDGE.replace("mode =", &keys), options);
        assert_eq!(router.packet_sockets().is_none(), attach == "xdp" || io.contains("af_xdp"));
        assert_eq!(router.packet_senders(), None);
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
        // The bridge that forwards once the router has ended.
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
        return lockgate_testing::skipped("a veth has one queue on a machine with one processor");
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

    // One queue at the start, two a second later: the second one would bypass the router.
    let one = network.hosts[0].inside(|| set_queues(HOSTS[0], Queues { receive: 1, transmit: 1 }));
    one.expect("entered").expect("fewer");
    // Refused while an AF_XDP socket has the second queue: the kernel frees it some time after the socket has
    // closed.
    let until = Instant::now() + PATIENCE;
    while !set(1) {
        assert!(Instant::now() < until, "the queue is free again");
        thread::sleep(Duration::from_millis(20));
    }
    let (mut router, told) = network.start(&policy);
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
    let bypassed = &mut router;
    let Bypass { frames, why, .. } = network.router.inside(move || bypassed.bypass()).expect("entered");
    assert!(frames > 0 && why.contains("uses 2 receive queues"), "{frames}, {why}");
    assert!(set(1));
    while !router.is_attached() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(router.is_attached(), "the router has the interface again");
    assert_eq!(router.bypass().why, "");
    pass(&network, 0, SocketChoice::Packet, 2);
    router.stop().expect("drained");
}

#[test]
fn frames_longer_than_an_mtu_that_shrank_are_lost_and_counted() {
    let Some(network) = Network::make(1_500) else { return };
    if std::process::Command::new("ip").arg("-V").output().is_err() {
        return lockgate_testing::skipped("no ip");
    }
    for attach in ["tcx", "xdp"] {
        let keys = format!("attach = \"{attach}\"\nmode =");
        let (router, told) = network.start(&BRIDGE.replace("mode =", &keys));
        let mut sender = network.open(0, SocketChoice::Packet, LONGEST);
        let mut receiver = network.open(1, SocketChoice::Packet, LONGEST);
        let mut send = |length: usize| {
            let mut sent = frame(&[0x12, 0x34], 1, length);
            sent.resize(length, 0);
            assert_eq!(sender.transmit(0, &[&sent]).expect("there").taken, 1, "{attach}");
        };
        ip(&network.router, &format!("link set {} mtu 1400", INTERFACES[1]));
        // The router reads it within 0.1 s: until then longer frames leave.
        let until = Instant::now() + PATIENCE;
        while router.losses().too_long == 0 {
            assert!(Instant::now() < until, "{attach}: {:?}, {told:?}", router.losses());
            send(1_514);
            thread::sleep(Duration::from_millis(20));
        }
        receive(&mut receiver, usize::MAX, Patience::from_millis(200));
        let before = router.losses().too_long;
        for _ in 0..10 {
            send(1_514);
            send(1_414);
        }
        let arrived = receive(&mut receiver, 10, Patience::from_secs(5));
        assert!(arrived.len() == 10 && arrived.iter().all(|frame| frame.len() == 1_414), "{attach}");
        while router.losses().too_long < before + 10 {
            assert!(Instant::now() < until, "{attach}: {before}, {:?}", router.losses());
            thread::sleep(Duration::from_millis(20));
        }
        ip(&network.router, &format!("link set {} mtu 1500", INTERFACES[1]));
        assert_eq!(receive(&mut receiver, 1, Patience::from_millis(200)), [[0; 0]; 0], "{attach}");
        let losses = router.stop().expect("drained");
        assert_eq!(losses.total(), losses.too_long, "{attach}: {losses:?}");
    }
}
