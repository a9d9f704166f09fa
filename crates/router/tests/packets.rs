//! Interfaces without a link header (tun, and by the same code `WireGuard` and PPP): packets are classified
//! by their IP header, charged by their own length, and arrive as they were sent.
//!
//! ```text
//! host 0 (a0) -- eth1 [router] tun0 == threads that carry packets == tun1 (host 1)
//! ```
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use common::tunnel::Tunnel;
use common::{Network, ip};
use lockgate_dataplane::namespace::Namespace;
use lockgate_dataplane::netlink::Netlink;
use lockgate_router::control::Engine;

/// Addresses of host 0, of the router beside it, and of both ends of the tunnel.
const HOST: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

/// Makes the network; `None`, noted as skipped, if this kernel has no tunnels.
fn network() -> Option<(Network, Tunnel)> {
    let network = Network::make(1_500)?;
    let tunnel = Tunnel::start([(&network.router, "tun0"), (&network.hosts[1], "tun1")], Duration::ZERO)?;
    // The threads that carry packets may be late by all of them.
    ip(&network.router, "link set tun0 txqueuelen 5000");
    ip(&network.hosts[1], "link set tun1 txqueuelen 5000");
    set_up(&network.router, "tun0", NEAR);
    set_up(&network.hosts[1], "tun1", FAR);
    set_up(&network.router, "eth1", GATEWAY);
    set_up(&network.hosts[0], "a0", HOST);
    let forward = network.router.inside(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"));
    forward.expect("entered").expect("set");
    ip(&network.hosts[0], &format!("route add 10.9.0.0/24 via {GATEWAY}"));
    ip(&network.hosts[1], &format!("route add 10.1.0.0/24 via {NEAR}"));
    Some((network, tunnel))
}

fn set_up(place: &Namespace, name: &str, address: Ipv4Addr) {
    let done = place.inside(|| {
        let mut netlink = Netlink::open()?;
        netlink.add_address(name, address.into(), 24)?;
        netlink.set_up(name)
    });
    done.expect("entered").expect("set up");
}

/// Policy of `tun0`: datagrams to port 5001 have a queue of their own.
fn policy(mode: &str, io: &str, rate: &str) -> String {
    let port = |name: &str| {
        format!(
            "[port.\"{name}\"]\nrate = \"{rate}\"\nroot = \"top\"\n[port.\"{name}\".queue]\n\
             top = {{ kind = \"prio\", children = [\"first\", \"rest\"] }}\n\
             first = {{ kind = \"fifo\", limit = \"2000p\", match = [{{ protocol = \"udp\", destination_port = 5001 }}] }}\n\
             rest = {{ kind = \"fifo\", limit = \"2000p\" }}\n"
        )
    };
    let ports = if mode == "both" { port("wan") + &port("wan:in") } else { port("wan") };
    format!("[router]\nmode = \"{mode}\"\nio = \"{io}\"\ninterfaces = {{ wan = \"tun0\" }}\n{ports}")
}

/// Sends `count` datagrams of 972 bytes, packets of 1000, and returns the times of arrival of each, by its
/// number.
fn send(network: &Network, from: usize, count: u32, port: u16) -> Vec<(u32, Instant)> {
    let (to, place) = if from == 0 { (FAR, &network.hosts[1]) } else { (HOST, &network.hosts[0]) };
    let to = SocketAddr::from((to, port));
    let receiver = common::open_socket(place, || UdpSocket::bind(to));
    rustix::net::sockopt::set_socket_recv_buffer_size_force(&receiver, 64 << 20).expect("set");
    receiver.set_read_timeout(Some(Duration::from_secs(3))).expect("set");
    let sender = common::open_socket(&network.hosts[from], || UdpSocket::bind("0.0.0.0:0"));
    let mut arrived = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..count {
                let mut bytes = [number.to_be_bytes()[3]; 972];
                bytes[..4].copy_from_slice(&number.to_be_bytes());
                sender.send_to(&bytes, to).expect("sent");
                if number % 50 == 49 {
                    thread::sleep(Duration::from_millis(2));
                }
            }
        });
        let mut bytes = [0; 2_000];
        while arrived.len() < count as usize {
            let Ok(length) = receiver.recv(&mut bytes) else { break };
            assert!(length == 972 && bytes[4..length].iter().all(|byte| *byte == bytes[3]));
            arrived.push((u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]), Instant::now()));
        }
    });
    arrived
}

/// Sends 4 MB by a connection, and compares what arrives.
fn transfer(network: &Network, from: usize) {
    const LENGTH: usize = 4_000_000;
    let byte = |at: usize| (at % 251) as u8;
    let (to, place) = if from == 0 { (FAR, &network.hosts[1]) } else { (HOST, &network.hosts[0]) };
    let to = SocketAddr::from((to, 5_100));
    let listener = common::open_socket(place, || TcpListener::bind(to));
    let sender = network.hosts[from].inside(|| TcpStream::connect(to)).expect("entered").expect("connected");
    let sending = thread::spawn(move || {
        let bytes: Vec<u8> = (0..LENGTH).map(byte).collect();
        let mut sender = sender;
        sender.write_all(&bytes)
    });
    let (mut stream, _) = listener.accept().expect("a connection");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("received");
    sending.join().expect("no panic").expect("sent");
    assert!(bytes.len() == LENGTH && bytes.iter().enumerate().all(|(at, it)| *it == byte(at)));
}

#[test]
fn packets_of_a_tunnel_are_queued_by_their_own_headers() {
    let Some((network, _tunnel)) = network() else { return };
    let network = &network;
    assert_eq!(send(network, 0, 50, 5_000).len(), 50, "the kernel routes");
    for (mode, io) in [("egress", "af_xdp"), ("egress", "packet"), ("ingress", "packet"), ("both", "af_xdp")]
    {
        let what = format!("{mode}, {io}");
        let (mut router, told) = network.start(&policy(mode, io, "20mbit"));
        let directions: &[usize] = match mode {
            "egress" => &[0],
            "ingress" => &[1],
            _ => &[0, 1],
        };
        for from in directions {
            let begin = Instant::now();
            let arrived = send(network, *from, 1_000, 5_001);
            let numbers: Vec<u32> = arrived.iter().map(|it| it.0).collect();
            let losses = router.losses();
            assert_eq!(numbers, (0..1_000).collect::<Vec<_>>(), "{what}, from {from}: {losses:?}");
            // 999 packets of 1000 bytes at 20 Mbit/s: 399.6 ms, less the one that pacing makes up for after a
            // pause. From before the first was sent, so that a busy machine only lengthens it.
            let took = (arrived[999].1 - begin).as_secs_f64() * 1e3;
            println!("{what}, from {from}: {took:.1} ms");
            assert!((398.6..5_000.0).contains(&took), "{what}, from {from}: {took} ms");
        }
        thread::sleep(Duration::from_millis(1_100));
        let sample = router.sample().expect("a sample each second");
        for port in &sample.ports {
            let of = |name: &str| &port.queues.iter().find(|queue| queue.name == name).expect("it").total;
            let first = of("first");
            assert_eq!(first.sent_packets, 1_000, "{what}: the datagrams by their port");
            assert_eq!(first.sent_bytes, 1_000_000, "{what}: charged by the packet, without a link header");
        }
        for from in directions {
            transfer(network, *from);
        }
        assert_eq!(router.stop().expect("drained").total(), 0, "{what}");
        assert!(told.lock().expect("no panic").is_empty(), "{what}: {told:?}");
        assert_eq!(send(network, 0, 50, 5_000).len(), 50, "the kernel's own way again, after {what}");
    }
}

#[test]
fn what_a_tunnel_cannot_be_is_refused() {
    let Some((network, _tunnel)) = network() else { return };
    let plan = |text: &str| {
        let policy = common::policy_of(text);
        network.router.inside(|| lockgate_router::attach::Plan::of(&policy)).expect("entered")
    };
    let text = policy("egress", "packet", "20mbit");
    let said = plan(&text).expect("a plan").to_string();
    assert!(said.contains("tun0") && said.contains("packets without a link header"), "{said}");
    let found =
        network.router.inside(|| lockgate_router::doctor::examine(&["tun0".to_owned()])).expect("entered");
    let attachment = found.iter().find(|finding| finding.what == "tun0 attachment").expect("a finding");
    assert!(attachment.found.contains("packets without a link header"), "{attachment:?}");
    let bridge = "[router]\nmode = \"bridge\"\ninterfaces = { lan = \"eth1\", wan = \"tun0\" }\n\
                  [port.\"lan->wan\"]\nqueue.q = { kind = \"fifo\" }\n[port.\"wan->lan\"]\nqueue.q = { kind = \"fifo\" }\n";
    let said = plan(bridge).expect_err("refused").to_string();
    assert!(said.contains("`tun0` have no Ethernet header"), "{said}");
    let driver = "[router]\nmode = \"ingress\"\nattach = \"xdp\"\ninterfaces = { wan = \"tun0\" }\n\
                  [port.wan]\nqueue.q = { kind = \"fifo\" }\n";
    let said = plan(driver).expect_err("refused").to_string();
    assert!(said.contains("`tun0` have no Ethernet header"), "{said}");
}
