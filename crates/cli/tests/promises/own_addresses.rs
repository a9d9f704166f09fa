//! Mode `bridge` on a box with addresses of its own: it keeps them, and each broadcast arrives once; or the
//! router does not start, or says that it cuts them off.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use lockgate_dataplane::namespace::Namespace;
use lockgate_dataplane::netlink::Netlink;
use lockgate_dataplane::redirection::Redirection;

use super::common::{Network, ip, open_socket, skip};
use super::misfits::{dry_run, refused};
use super::setting::{FIFO, PATIENCE, Running, has, network, policy, run, run_well};
use super::stream::address;

/// Address of the box, on the bridge that the router makes, and the broadcast address of its network.
const BOX: [u8; 4] = [10, 3, 0, 9];
const BROADCAST: [u8; 4] = [10, 3, 0, 255];

pub(super) const PORT: u16 = 6_000;

/// Opens a socket that receives at `PORT`.
pub(super) fn bound(namespace: &Namespace) -> UdpSocket {
    let socket = open_socket(namespace, || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)));
    socket.set_read_timeout(Some(Duration::from_millis(300))).expect("set");
    socket.set_broadcast(true).expect("set");
    socket
}

/// Asks `to` by a datagram, which it answers. Returns how many of the attempts were answered.
pub(super) fn asked(from: &UdpSocket, to: [u8; 4], at: &UdpSocket) -> usize {
    let attempt = |number: u8| {
        from.send_to(&[number; 40], SocketAddr::from((to, PORT))).expect("sent");
        let mut bytes = [0; 100];
        let answer = at.recv_from(&mut bytes).and_then(|(_, asker)| at.send_to(&[number; 50], asker));
        answer.is_ok() && from.recv(&mut bytes).is_ok_and(|length| length == 50 && bytes[0] == number)
    };
    // The first ones may wait for addresses to be resolved.
    (0..12).filter(|number| attempt(*number)).count()
}

/// Receives what waits, until there is silence.
pub(super) fn drain(at: &UdpSocket) {
    count(at);
}

/// Receives what waits, and counts it.
pub(super) fn count(at: &UdpSocket) -> usize {
    let mut bytes = [0; 100];
    std::iter::from_fn(|| at.recv(&mut bytes).ok()).count()
}

#[test]
fn the_box_keeps_its_own_address_on_the_bridge() {
    for host in ["pass", "queue"] {
        let Some(network) = network("bridge") else { return };
        let given = network.router.inside(|| {
            let mut netlink = Netlink::open()?;
            netlink.add_address("lockgate", BOX.into(), 24)
        });
        given.expect("entered").expect("an address");
        let text =
            policy("bridge", "16mbit", FIFO).replace("[router]\n", &format!("[router]\nhost = \"{host}\"\n"));
        let router = Running::start(&network, &text, &[]);
        let (a, b, own) = (bound(&network.hosts[0]), bound(&network.hosts[1]), bound(&network.router));
        let [address_a, address_b] = [0, 1].map(|host| address("bridge", host));
        for (what, from, to, at) in [
            ("to the box from one side", &a, BOX, &own),
            ("to the box from the other", &b, BOX, &own),
            ("from the box to one side", &own, address_a, &a),
            ("from the box to the other", &own, address_b, &b),
            ("through the box", &a, address_b, &b),
        ] {
            let answered = asked(from, to, at);
            assert!(answered >= 8, "{host}, {what}: {answered} of 12");
            [&a, &b, &own].into_iter().for_each(drain);
        }
        let follow = || ["eth1", "eth2"].map(|at| Redirection::follow(at, false));
        for others in ["no program", "a program"] {
            // It clears the mark of the router's program.
            let followers = (others == "a program").then(|| network.router.inside(follow).expect("entered"));
            assert!(followers.iter().flatten().all(Result::is_ok), "{followers:?}");
            for number in 0..20 {
                a.send_to(&[number; 60], SocketAddr::from((BROADCAST, PORT))).expect("sent");
            }
            let counts = (count(&b), count(&own));
            assert_eq!(counts, (20, 20), "{host}, {others} behind: each broadcast arrives once");
        }
        // A broadcast is heard by its sender, too.
        [&a, &b, &own].into_iter().for_each(drain);
        for number in 0..20 {
            own.send_to(&[number; 60], SocketAddr::from((BROADCAST, PORT))).expect("sent");
        }
        assert_eq!((count(&a), count(&b)), (20, 20), "{host}: each broadcast of the box arrives once");
        let status = router.status();
        assert_eq!(status["bypass"]["frames"].as_u64(), Some(0), "{host}: {status}");
        let log = router.stop();
        assert!(log.contains("; 0 frames lost") && !log.contains("ALARM"), "{host}: {log}");
    }
}

/// Returns a policy of a bridge with these keys.
fn bridge(keys: &str) -> String {
    policy("bridge", "16mbit", FIFO).replace("[router]\n", &format!("[router]\n{keys}\n"))
}

#[test]
fn a_port_with_an_address_is_not_taken_into_a_bridge() {
    if !has(&["ip"]) {
        return;
    }
    let Some(network) = Network::make(1_500) else { return };
    network.join();
    ip(&network.router, "address add fe80::9/64 dev eth1 nodad");
    ip(&network.router, "address add 10.3.0.9/24 dev eth2");
    let why = ["interface `eth2` has the address 10.3.0.9/24", "ip link add name br0 type bridge"];
    for keys in ["", "attach = \"xdp\""] {
        network.whole_frames();
        refused(&network, &bridge(keys), 2, &why);
    }
    // The remedy is what it says.
    let (_, said) = dry_run(&network, &bridge(""));
    let (_, steps) = said.split_once("connected by it: ").expect("a remedy");
    let (steps, _) = steps.split_once("; and likewise").expect("its end");
    run_well(&network.router, "sh", &["-ec", steps]);
    let router = Running::start(&network, &bridge(""), &[]);
    let (a, own) = (bound(&network.hosts[0]), bound(&network.router));
    let answered = asked(&a, BOX, &own);
    assert!(answered >= 8, "{answered} of 12: {}", router.log());
    router.stop();
}

#[test]
fn a_layer_above_the_bridge_is_served_or_refused() {
    if !has(&["ip"]) {
        return;
    }
    let Some(network) = network("bridge") else { return };
    network.whole_frames();
    let layer = ["link", "add", "upper", "link", "lockgate", "type", "macvlan", "mode", "bridge"];
    if !run(&network.router, "ip", &layer).status.success() {
        return skip("this kernel has no macvlan");
    }
    ip(&network.router, "address add 10.3.0.9/24 dev upper");
    ip(&network.router, "link set upper up");
    let why = ["the interface `upper` has the address 10.3.0.9/24, which `attach = \"xdp\"` cuts off"];
    refused(&network, &bridge("attach = \"xdp\""), 2, &why);
    let (code, said) = dry_run(&network, &bridge(""));
    assert!(code == Some(0) && said.contains("on `lockgate`, `upper` are served"), "{said}");
    let router = Running::start(&network, &bridge(""), &[]);
    let own = bound(&network.router);
    for host in &network.hosts {
        let answered = asked(&bound(host), BOX, &own);
        assert!(answered >= 8, "{answered} of 12: {}", router.log());
    }
    // An address of its own, as VRRP gives one, is served within a second or two.
    ip(&network.router, "link set upper address 00:00:5e:00:01:07");
    ip(&network.hosts[0], "neighbour flush dev a0");
    let host = bound(&network.hosts[0]);
    let until = std::time::Instant::now() + PATIENCE;
    while asked(&host, BOX, &own) < 8 {
        assert!(std::time::Instant::now() < until, "{}", router.log());
    }
    // The bridge does not know that address, and floods its frames to the other port.
    let sent = || {
        let links = network.links();
        let other = links.iter().find(|link| link.name == "eth2").expect("there").index;
        let observed = network.router.inside(|| Netlink::open()?.observe(other));
        observed.expect("entered").expect("observed").expect("there").1.sent
    };
    let before = sent();
    for number in 0..200 {
        host.send_to(&[number; 40], SocketAddr::from((BOX, PORT))).expect("sent");
    }
    drain(&own);
    let flooded = sent() - before;
    assert!(flooded < 100, "{flooded} of 200 leave by the other port");
    let log = router.stop();
    assert!(!log.contains("ALARM"), "{log}");
}

#[test]
fn an_address_that_comes_while_it_runs_is_not_cut_off_in_silence() {
    if !has(&["ip"]) {
        return;
    }
    let Some(network) = network("bridge") else { return };
    network.whole_frames();
    let (a, b, own) = (bound(&network.hosts[0]), bound(&network.hosts[1]), bound(&network.router));
    for on_fault in ["open", "hold"] {
        let text = bridge(&format!("attach = \"xdp\"\non_fault = \"{on_fault}\""));
        let router = Running::start(&network, &text, &[]);
        ip(&network.router, "address add 10.3.0.9/24 dev lockgate");
        let why = "the bridge `lockgate` has the address 10.3.0.9/24, which `attach = \"xdp\"` cuts off";
        router.expect(&format!("ALARM: {why}"));
        let until = std::time::Instant::now() + PATIENCE;
        loop {
            let bypass = router.status()["bypass"].clone();
            let faults = bypass["faults"].as_array().cloned().unwrap_or_default();
            let is_told = faults.iter().any(|fault| fault.as_str().is_some_and(|it| it.starts_with(why)));
            let given_back = bypass["why"].as_str().unwrap_or_default().starts_with(why);
            if is_told && given_back == (on_fault == "open") {
                break;
            }
            assert!(std::time::Instant::now() < until, "{on_fault}: {bypass}\n{}", router.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        if on_fault == "open" {
            let answered = asked(&a, BOX, &own);
            assert!(answered >= 8, "the kernel has the line: {answered} of 12");
        }
        ip(&network.router, "address delete 10.3.0.9/24 dev lockgate");
        router.expect(if on_fault == "open" {
            "the router runs again"
        } else {
            "the alarm is over: the bridge"
        });
        let answered = asked(&a, address("bridge", 1), &b);
        assert!(answered >= 8, "{on_fault}, through the box: {answered} of 12");
        router.stop();
    }
}
