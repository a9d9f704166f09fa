//! Addresses of a box that routes, on the interface of its router and on the other one: it keeps them, and
//! each broadcast arrives once.

use std::net::SocketAddr;

use super::common::ROUTER_ADDRESSES;
use super::own_addresses::{PORT, asked, bound, count, drain};
use super::setting::{FIFO, MODES, Running, network, policy};
use super::stream::address;

#[test]
fn a_box_that_routes_keeps_its_own_addresses() {
    for mode in MODES.into_iter().filter(|mode| *mode != "bridge") {
        let Some(network) = network(mode) else { return };
        let router = Running::start(&network, &policy(mode, "16mbit", FIFO), &[]);
        let (a, b, own) = (bound(&network.hosts[0]), bound(&network.hosts[1]), bound(&network.router));
        let [address_a, address_b] = [0, 1].map(|host| address(mode, host));
        for (way, from, to, at) in [
            ("to the box from one side", &a, ROUTER_ADDRESSES[0], &own),
            ("to the box from the other", &b, ROUTER_ADDRESSES[1], &own),
            ("from the box to one side", &own, address_a, &a),
            ("from the box to the other", &own, address_b, &b),
            ("through the box", &a, address_b, &b),
            ("through the box, back", &b, address_a, &a),
        ] {
            let answered = asked(from, to, at);
            assert!(answered >= 8, "{mode}, {way}: {answered} of 12");
            [&a, &b, &own].into_iter().for_each(drain);
        }
        // Broadcasts stay on their side.
        for (way, from, [x, y, z, _], to, other) in [
            ("of one side", &a, address_a, &own, &b),
            ("of the other", &b, address_b, &own, &a),
            ("of the box to one side", &own, address_a, &a, &b),
            ("of the box to the other", &own, address_b, &b, &a),
        ] {
            for number in 0..20 {
                from.send_to(&[number; 60], SocketAddr::from(([x, y, z, 255], PORT))).expect("sent");
            }
            assert_eq!((count(to), count(other)), (20, 0), "{mode}: each broadcast {way} arrives once");
            assert_eq!(count(from), 20, "{mode}: each broadcast {way} is heard by its sender");
        }
        let status = router.status();
        assert_eq!(status["bypass"]["frames"].as_u64(), Some(0), "{mode}: {status}");
        let log = router.stop();
        assert!(log.contains("; 0 frames lost") && !log.contains("ALARM"), "{mode}: {log}");
    }
}
