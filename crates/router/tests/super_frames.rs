//! Super-frames of the kernel's TCP through a router: divided for its queues, and joined again behind them.
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use common::{HOST_ADDRESSES, INTERFACES, Network};
use lockgate_dataplane::netlink::Netlink;
use lockgate_router::control::Engine;

/// Bytes of a transfer, and of a full segment's payload.
const BYTES: usize = 24 << 20;
const SEGMENT: u64 = 1_448;

/// Returns the byte at a place of the transfer: each segment differs.
fn byte(at: usize) -> u8 {
    (at ^ at >> 8 ^ at >> 16).to_le_bytes()[0]
}

/// Sends a transfer from one host to the other, and compares what arrives.
fn transfer(network: &Network, from: usize, to: SocketAddr) {
    let listener = common::open_socket(&network.hosts[1 - from], || TcpListener::bind(to));
    let reading = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
        let mut received = Vec::new();
        stream.read_to_end(&mut received).expect("all of it");
        received
    });
    let mut stream = common::open_socket(&network.hosts[from], || TcpStream::connect(to));
    let sent: Vec<u8> = (0..BYTES).map(byte).collect();
    stream.write_all(&sent).expect("sent");
    drop(stream);
    assert!(reading.join().expect("no panic") == sent, "what arrives is what was sent");
}

/// Returns the packets that an interface of the router has sent, a super-frame being one.
fn sent_by(network: &Network, interface: &str) -> u64 {
    let read = || {
        let mut netlink = Netlink::open()?;
        let index = netlink.index_of(interface)?;
        Ok::<_, lockgate_dataplane::error::Refusal>(netlink.observe(index)?.expect("there").1.sent)
    };
    network.router.inside(read).expect("entered").expect("read")
}

#[test]
fn super_frames_arrive_as_sent_and_are_counted() {
    let bridged = SocketAddr::from(([10, 3, 0, 2], 5_000));
    let to_host = |host: usize| SocketAddr::from((HOST_ADDRESSES[host], 5_000));
    let variants = [
        ("bridge", "", "a->b", 0, bridged),
        ("bridge", "super_frames = \"64kB\"", "a->b", 0, bridged),
        ("egress", "io = \"packet\"", "b", 0, to_host(1)),
        ("egress", "io = \"packet\"\nsuper_frames = \"64kB\"", "b", 0, to_host(1)),
        ("egress", "", "b", 0, to_host(1)),
        ("ingress", "", "b", 1, to_host(0)),
        ("ingress", "super_frames = \"4kB\"", "b", 1, to_host(0)),
    ];
    for (mode, keys, port, from, to) in variants {
        // The bridge that a router makes stays.
        let Some(network) = Network::make(1_500) else { return };
        if mode == "bridge" {
            network.join();
        } else {
            network.route_by_kernel();
        }
        let interfaces = if mode == "bridge" { "a = \"eth1\", b = \"eth2\"" } else { "b = \"eth2\"" };
        let policy = format!(
            "[router]\nmode = \"{mode}\"\ninterfaces = {{ {interfaces} }}\n{keys}\n\
             [port.\"{port}\"]\nrate = \"2gbit\"\nqueue.q = {{ kind = \"fifo\", limit = \"4000p\" }}\n"
        );
        let (mut router, told) = network.start(&policy);
        let before = sent_by(&network, INTERFACES[1]);
        transfer(&network, from, to);
        std::thread::sleep(Duration::from_millis(1_200));
        let sample = router.sample().expect("a sample each second");
        let names: Vec<&str> = sample.ports.iter().map(|it| &*it.name).collect();
        let wanted = port.replace("->", ":");
        let place = names.iter().position(|it| *it == wanted).unwrap_or_else(|| panic!("{names:?}"));
        let port = &sample.ports[place];
        let sent = &port.queues[0].total;
        let (segments, is_whole) = (BYTES as u64 / SEGMENT, keys.contains("super_frames"));
        let is_counted = if is_whole { sent.sent_packets < segments } else { sent.sent_packets >= segments };
        assert!(is_counted, "{mode}, {keys}: {} packets", sent.sent_packets);
        let least = segments * (SEGMENT + 66);
        assert!(
            sent.sent_bytes >= least,
            "{mode}, {keys}: {} bytes, each segment with its headers",
            sent.sent_bytes
        );
        if mode != "ingress" {
            let passed = sent_by(&network, INTERFACES[1]) - before;
            assert!(passed < segments / 2, "{mode}, {keys}: {passed} frames of {segments} segments");
        }
        assert_eq!(router.stop().expect("drained").total(), 0, "{mode}");
        assert!(told.lock().expect("no panic").is_empty(), "{mode}: {told:?}");
    }
}
