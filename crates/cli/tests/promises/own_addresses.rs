//! Mode `bridge` on a bridge with an address of its own: the box keeps it, and each broadcast arrives once.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use lockgate_dataplane::namespace::Namespace;
use lockgate_dataplane::netlink::Netlink;

use super::common::open_socket;
use super::setting::{FIFO, Running, network, policy};
use super::stream::address;

/// Address of the box, on the bridge that the router makes, and the broadcast address of its network.
const BOX: [u8; 4] = [10, 3, 0, 9];
const BROADCAST: [u8; 4] = [10, 3, 0, 255];

const PORT: u16 = 6_000;

/// Opens a socket that receives at `PORT`.
fn bound(place: &Namespace) -> UdpSocket {
    let socket = open_socket(place, || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)));
    socket.set_read_timeout(Some(Duration::from_millis(300))).expect("set");
    socket.set_broadcast(true).expect("set");
    socket
}

/// Asks `to` by a datagram, which it answers. Returns how many of the attempts were answered.
fn asked(from: &UdpSocket, to: [u8; 4], at: &UdpSocket) -> usize {
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
fn drain(at: &UdpSocket) {
    count(at);
}

/// Receives what waits, and counts it.
fn count(at: &UdpSocket) -> usize {
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
        for number in 0..20 {
            a.send_to(&[number; 60], SocketAddr::from((BROADCAST, PORT))).expect("sent");
        }
        assert_eq!((count(&b), count(&own)), (20, 20), "{host}: each broadcast arrives once");
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
