//! Time stamp options on their path through a network with a given clock: values written by routers and read
//! by queues.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use etherparse::{IpHeaders, Ipv4Extensions, Ipv4Header, PacketBuilder};
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant};
use lockgate_live::frames::Frames;
use lockgate_live::network::Network;
use lockgate_measure::recording::FlowRecord;
use lockgate_scenario::{Scenario, read};

/// Returns a scenario with these nodes, links (rate and delay), and queues: this kind at the port `from` to
/// `to`.
fn scenario(links: &[(&str, &str, &str, &str)], queues: &[(&str, &str, &str)], nodes: &str) -> Scenario {
    let link = |(index, (a, b, rate, delay)): (usize, &(&str, &str, &str, &str))| {
        format!("[link.l{index}]\nbetween = [\"{a}\", \"{b}\"]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n")
    };
    let queue = |(from, to, kind): &(&str, &str, &str)| {
        format!("[port.\"{from}->{to}\"]\nroot = \"all\"\nqueue.all = {{ kind = \"{kind}\" }}\n")
    };
    let links_text: String = links.iter().enumerate().map(link).collect();
    let queues: String = queues.iter().map(queue).collect();
    let (from, to) = (links[0].0, links[links.len() - 1].1);
    let text = format!(
        "title = \"options\"\nduration = \"1s\"\n{nodes}\n{links_text}{queues}\
         [flow.unused]\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"200B\"\ngap = \"1ms\"\n"
    );
    let none: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    read(&text, "options.toml", &none, &[]).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
}

fn node(scenario: &Scenario, name: &str) -> usize {
    scenario.nodes.iter().position(|node| node.name == name).expect("a node")
}

/// Returns a datagram of 1000 bytes from one node to another, with this option and identified by its port.
fn datagram(scenario: &Scenario, [from, to]: [&str; 2], option: &[u8], port: u16) -> Vec<u8> {
    let address = |name| match scenario.nodes[node(scenario, name)].address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(_) => panic!("no IPv4"),
    };
    let header = Ipv4Header {
        source: address(from),
        destination: address(to),
        time_to_live: 64,
        options: option.try_into().expect("an option"),
        ..Ipv4Header::default()
    };
    let step =
        PacketBuilder::ethernet2([2; 6], [4; 6]).ip(IpHeaders::Ipv4(header, Ipv4Extensions::default()));
    let mut frame = Vec::new();
    step.udp(port, 9).write(&mut frame, &vec![0; 1000 - 42 - option.len()]).expect("fits");
    frame
}

/// Returns the datagram's port and its option.
fn read_back(frame: &[u8], length: usize) -> (u16, &[u8]) {
    (u16::from_be_bytes([frame[34 + length], frame[35 + length]]), &frame[34..34 + length])
}

fn micros(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// Enters frames at their times and nodes. Returns those that left, with their times.
fn play(scenario: &Scenario, frames: &[(Instant, usize, Vec<u8>)]) -> Vec<(Instant, Vec<u8>)> {
    let links = |node| scenario.links.iter().filter(|link| link.ends.contains(&node)).count();
    let is_host = (0..scenario.nodes.len()).map(|node| links(node) == 1).collect();
    let mut network =
        Network::new(scenario, Seed(1), is_host, Frames::new(1 << 10, 1600)).expect("a network");
    for (at, node, frame) in frames {
        network.play_before_frame(*at).expect("plays");
        network.enter(*node, *at, frame);
    }
    network.play(micros(999_000)).expect("plays");
    let mut left = Vec::new();
    for leaving in std::mem::take(&mut network.leaving) {
        left.push((leaving.at, network.frames().bytes(leaving.packet.payload).to_vec()));
        network.account_delivery(leaving.packet, leaving.at, leaving.at, true);
    }
    let (recording, _) = network.close().expect("an account that balances");
    for delays in recording.flows.iter().map(FlowRecord::delays) {
        assert!(delays.queueing.max() <= delays.owd.max(), "what was waited before is not of this network");
    }
    left
}

/// Returns an option: type, length, pointer, overflow and flag, then these words.
fn option(head: [u8; 4], words: &[u32]) -> Vec<u8> {
    head.into_iter().chain(words.iter().flat_map(|word| word.to_be_bytes())).collect()
}

#[test]
fn every_router_stamps_by_its_own_clock_and_one_that_may_not_says_so() {
    // A frame of 1000 bytes takes 1 us; r's clock is 7 ms ahead. The run begins at midnight.
    let links = [("a", "r", "8gbit", "2ms"), ("r", "s", "8gbit", "3ms"), ("s", "c", "8gbit", "1ms")];
    let scenario =
        scenario(&links, &[], "[node]\na = {}\nr = { clock = { offset = \"7ms\" } }\ns = {}\nc = {}");
    let a = node(&scenario, "a");
    let send =
        |option: &[u8]| play(&scenario, &[(micros(10_000), a, datagram(&scenario, ["a", "c"], option, 1))]);
    let left = send(&option([68, 20, 5, 1], &[0; 4]));
    assert_eq!(left.len(), 1);
    // At r at 12.001 ms, when its clock shows 19.001 ms; at s at 15.002 ms. At the host, its kernel adds the
    // stamp.
    let [r, s] = [0x0a00_0002, 0x0a00_0003];
    assert_eq!(read_back(&left[0].1, 20).1, option([68, 20, 21, 1], &[r, 19, s, 15]));
    let left = send(&option([68, 12, 5, 3], &[s, 0]));
    assert_eq!(read_back(&left[0].1, 12).1, option([68, 12, 13, 3], &[s, 15]), "r was not asked");
    // Fourteen routers had no room, and r is the fifteenth. The counter of s would overflow, so s reports a
    // parameter problem at octet 23 of the header. Its 590 bytes take 0.59 us and 3 ms, then 0.59 us and 2
    // ms.
    let left = send(&option([68, 8, 9, 0xe0], &[5]));
    let [(at, said)] = left.as_slice() else { panic!("{left:?}") };
    assert_eq!(*at, micros(15_002) + Duration::from_picos(5_001_180_000));
    assert_eq!((&said[26..30], &said[34..36], said[38]), (&[10, 0, 0, 3][..], &[12, 0][..], 23));
}

/// Offers four packets at once to a router's slow port, each with an option that carries so many
/// microseconds. Returns the order in which they leave, and the values that they then carry.
fn order(kind: &str, flag: u8, says: [u32; 4]) -> Vec<(u16, Vec<u8>)> {
    let scenario = scenario(
        &[("a", "r", "8gbit", "0s"), ("r", "c", "8mbit", "0s")],
        &[("r", "c", kind)],
        "[node]\na = {}\nr = {}\nc = {}",
    );
    let frames: Vec<_> = (0u16..)
        .zip(says)
        .map(|(port, said)| {
            let option = option([68, 12, 5, flag], &[0, said]);
            (micros(1_000), node(&scenario, "a"), datagram(&scenario, ["a", "c"], &option, port))
        })
        .collect();
    let left = play(&scenario, &frames);
    left.iter().map(|(_, frame)| read_back(frame, 12)).map(|(port, option)| (port, option.to_vec())).collect()
}

#[test]
fn lisb_ranks_by_the_waiting_it_is_told_and_adds_its_own() {
    // A transmission takes 1 us to the router and 1 ms from there. The first packet leaves at once. Of the
    // others, the second has already waited 2 ms and the third 1 ms, so they go first; in the end all three
    // have waited equally long.
    let left = order("lisb", 5, [0, 0, 2_000, 1_000]);
    let waited = |micros| option([68, 12, 5, 5], &[0, micros]);
    let want = [(0, waited(0)), (2, waited(3_000)), (3, waited(3_000)), (1, waited(3_000))];
    assert_eq!(left, want);
    // Every queue adds its delay, whatever it ranks by. Delay that a packet carried on entry is not queueing
    // in this network (see `play`).
    let left = order("fifo", 5, [9_000_000; 4]);
    assert_eq!(left[1], (1, option([68, 12, 5, 5], &[9, 1_000])));
}

#[test]
fn lis_and_sis_rank_by_the_time_of_sending_and_leave_it_alone() {
    let says = [999, 900, 100, 500];
    for (kind, want) in [("lis", [0, 2, 3, 1]), ("sis", [0, 1, 3, 2])] {
        let left = order(kind, 4, says);
        let expected = want.map(|port| (port, option([68, 12, 5, 4], &[0, says[usize::from(port)]])));
        assert_eq!(left, expected, "{kind}");
    }
}

/// A packet carries what the next network must know: two networks in succession give every packet the rank,
/// the time and the queueing delay that one network of all routers gives it.
#[test]
fn two_networks_one_after_the_other_rank_as_one() {
    let nodes = |names: &[(&str, u8)]| {
        let list = names.iter().map(|(name, last)| format!("{name} = {{ address = \"10.0.0.{last}\" }}\n"));
        format!("[node]\n{}", list.collect::<String>())
    };
    let [a, b, r1, x, r2, c] = [("a", 1), ("b", 2), ("r1", 3), ("x", 4), ("r2", 5), ("c", 6)];
    let fast = |from, to| (from, to, "8gbit", "0s");
    let slow = |from, to| (from, to, "8mbit", "0s");
    let whole = scenario(
        &[fast("a", "r1"), slow("r1", "x"), fast("b", "r2"), fast("x", "r2"), slow("r2", "c")],
        &[("r1", "x", "lisb"), ("r2", "c", "lisb")],
        &nodes(&[a, b, r1, x, r2, c]),
    );
    let first = scenario(&[fast("a", "r1"), slow("r1", "c")], &[("r1", "c", "lisb")], &nodes(&[a, r1, c]));
    let second = scenario(
        &[fast("b", "r2"), fast("x", "r2"), slow("r2", "c")],
        &[("r2", "c", "lisb")],
        &nodes(&[b, x, r2, c]),
    );
    let mut random = Random::stream(Seed(5), "two networks");
    let waited = option([68, 12, 5, 5], &[0, 0]);
    let mut offered = Vec::new();
    for port in 0..80 {
        let from = if port % 2 == 0 { "a" } else { "b" };
        let at = micros(u64::from(random.bits() % 60_000));
        offered.push((at, from, datagram(&whole, [from, "c"], &waited, port)));
    }
    offered.sort_by_key(|(at, ..)| *at);
    let of = |scenario: &Scenario, name: &str| -> Vec<(Instant, usize, Vec<u8>)> {
        let mine = offered.iter().filter(|(_, from, _)| *from == name);
        mine.map(|(at, _, frame)| (*at, node(scenario, name), frame.clone())).collect()
    };
    let mut both = [of(&whole, "a"), of(&whole, "b")].concat();
    both.sort_by_key(|(at, ..)| *at);
    let one = play(&whole, &both);
    let x = node(&second, "x");
    let mut passed: Vec<_> =
        play(&first, &of(&first, "a")).into_iter().map(|(at, frame)| (at, x, frame)).collect();
    passed.extend(of(&second, "b"));
    passed.sort_by_key(|(at, ..)| *at);
    let two = play(&second, &passed);
    let seen = |left: &[(Instant, Vec<u8>)]| -> Vec<(Instant, u16, Vec<u8>)> {
        left.iter()
            .map(|(at, frame)| (*at, read_back(frame, 12).0, read_back(frame, 12).1.to_vec()))
            .collect()
    };
    assert_eq!(one.len(), 80);
    assert_eq!(seen(&one), seen(&two));
    let order: Vec<u16> = seen(&one).iter().map(|(_, port, _)| *port).collect();
    let arrived: Vec<u16> = passed.iter().map(|(_, _, frame)| read_back(frame, 12).0).collect();
    assert_ne!(order, arrived, "some overtake others");
}
