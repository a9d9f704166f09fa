//! Tests of `cake` as a whole.

use core::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::classify::{Fields, Headers, NoHeaders};
use crate::disciplines::{Prio, Tbf, prio};
use crate::node::Node;
use crate::pacing::Pace;
use crate::packet::{FlowId, Header};
use crate::port::{Parameters, Poll, Port, PortChange, QueueChange};
use crate::random::{Random, Seed};

/// The rate of a pacer behind it sets the scale of memory, target and quantum, and shapes nothing.
#[test]
fn a_link_rate_has_the_scale_of_a_bandwidth() {
    let rate = Some(Rate::from_bits(1_000_000));
    let unknown = Config::default();
    let shaped = Config { bandwidth: rate, ..Config::default() };
    let paced = Config { link_rate: rate, ..Config::default() };
    let scale = |config: &Config, port| {
        let scale = config.scale(port);
        (config.memory(scale), config.tin(Part { numerator: 1, denominator: 1 }, scale))
    };
    assert_eq!(scale(&paced, None), scale(&shaped, None));
    assert_eq!(scale(&unknown, rate), scale(&shaped, None), "of the port");
    assert_eq!(scale(&paced, Some(Rate::from_bits(9))), scale(&shaped, None), "its own goes first");
    assert_ne!(scale(&paced, None), scale(&unknown, None));
    assert_eq!(paced.bandwidth, None);
    assert!(Config { link_rate: Some(Rate::from_bits(0)), ..Config::default() }.check().is_err());
}

/// The rate of the port sets the scale of a `cake` that no shaper is above and that has no rate itself, also
/// after a change of the rate, of its parameters and of the tree.
#[test]
fn the_scale_follows_the_rate_of_the_port() {
    let slow = Rate::from_bits(1_000_000);
    let pace = |rate| Pace { rate, ..Pace::default() };
    let cake = |config: &Config| Node::new::<Cake>("cake", config.clone(), Vec::new()).expect("a queue");
    let under_prio = |node| {
        let children = vec![Child { share: prio::Share::default(), node }];
        Node::new::<Prio>("prio", prio::Config {}, children).expect("a queue")
    };
    let under_tbf = |node| {
        let config = serde_json::json!({ "rate": "5mbit", "burst": "20kB" });
        let config = serde_json::from_value(config).expect("parameters");
        let children = vec![Child { share: NoShare {}, node }];
        Node::new::<Tbf>("tbf", config, children).expect("a queue")
    };
    let own = Config { link_rate: Some(Rate::from_bits(5_000_000)), ..Config::default() };
    let none = Config::default();
    let trees: [(Node, &Config, bool); 4] = [
        (cake(&none), &none, true),
        (under_prio(cake(&none)), &none, true),
        (under_tbf(cake(&none)), &none, false),
        (cake(&own), &own, false),
    ];
    for (index, (tree, config, follows)) in trees.into_iter().enumerate() {
        let mut port = Port::new(tree, Random::stream(Seed(1), "cake")).with_pace(pace(Some(slow)));
        let scale_is = |port: &mut Port, rate: Option<Rate>, at: &str| {
            let expected = config.scale(rate.filter(|_| follows));
            let aim = port.with_node("cake", Instant::ZERO, &NoHeaders, &mut |node, _| {
                node.downcast::<Cake>().map(|cake| (cake.memory, cake.tins[1].aim, cake.tins[1].quantum))
            });
            let (law, quantum, _) = config.tin(config.diffserv.parts()[1], expected);
            assert_eq!(aim, Some(Some((config.memory(expected), law, quantum))), "{index}, {at}");
        };
        scale_is(&mut port, Some(slow), "from the start");
        let fast = Some(Rate::from_bits(700_000_000));
        let mut change = PortChange::of_pace(pace(fast));
        port.apply(&mut change, Instant::ZERO, &NoHeaders).expect("a rate");
        scale_is(&mut port, fast, "after a change");
        let parameters = || Parameters::new::<Cake>("cake".into(), config.clone(), Vec::new());
        let queues = vec![QueueChange { new: parameters(), old: parameters() }];
        port.apply(&mut PortChange::of_queues(queues), Instant::ZERO, &NoHeaders).expect("parameters");
        scale_is(&mut port, fast, "with new parameters");
        port.apply(&mut change, Instant::ZERO, &NoHeaders).expect("a rate");
        scale_is(&mut port, Some(slow), "after the inverse");
        if follows {
            port.apply(&mut PortChange::of_tree(cake(&none)), Instant::ZERO, &NoHeaders).expect("a tree");
            scale_is(&mut port, Some(slow), "in a new tree");
        }
        port.apply(&mut PortChange::of_pace(pace(None)), Instant::ZERO, &NoHeaders).expect("no rate");
        scale_is(&mut port, None, "without a rate");
    }
}

/// Address of flow 0's host, of that of flows 1 to 8, and of the machine that translates both.
const HOSTS: [IpAddr; 3] = [host(1), host(2), host(3)];

const fn host(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

/// Flows that all have the translated address; their hosts are known from some time on.
struct Translated {
    is_known: bool,
}

impl Headers for Translated {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        Some(Fields {
            protocol: 6,
            source: HOSTS[2],
            destination: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
            source_port: packet.flow.0 as u16,
            destination_port: 443,
            flow_label: 0,
        })
    }

    fn hosts(&self, packet: &Packet) -> Option<[IpAddr; 2]> {
        let destination = self.fields(packet)?.destination;
        let own = if self.is_known { HOSTS[usize::from(packet.flow.0 > 0)] } else { HOSTS[2] };
        Some([own, destination])
    }
}

/// A host with one flow and one with eight share alike if they are known, also if that happens while packets
/// wait; no flow changes its order.
#[test]
fn hosts_behind_a_translation_share_alike() {
    let packets = |nat: bool, known_from: u32| {
        let config = Config { nat, isolation: Isolation::DualSrchost, ..Config::default() };
        let node = Node::new::<Cake>("cake", config, Vec::new()).expect("a queue");
        let mut port = Port::new(node, Random::stream(Seed(1), "cake"));
        let now = Instant::ZERO;
        for round in 0..200 {
            for flow in 0..9 {
                let headers = Translated { is_known: round >= known_from };
                let header =
                    Header { flow: FlowId(flow), length: 1_000, sequence: round, ..Header::default() };
                port.offer(Packet::new(header), now, &headers);
            }
            if round == 20 {
                // All flows are bulk by now.
                for _ in 0..90 {
                    assert!(matches!(port.poll(now, &NoHeaders), Poll::Transmit(_)));
                }
            }
        }
        let mut last = [None; 9];
        let mut own = 0;
        for _ in 0..200 {
            let Poll::Transmit(packet) = port.poll(now, &NoHeaders) else { panic!("packets wait") };
            let flow = packet.flow.0 as usize;
            assert!(last[flow] < Some(packet.sequence), "flow {flow}");
            last[flow] = Some(packet.sequence);
            own += u32::from(flow == 0);
        }
        own
    };
    for known_from in [0, 1, 50] {
        assert!(packets(true, known_from).abs_diff(100) <= 3, "known from round {known_from}");
        assert!(packets(false, known_from) <= 25, "without `nat`");
    }
    assert!(packets(true, 1_000) <= 25, "never known");
}

/// Data of one flow of host 0 and of eight flows of host 1, always queued; acknowledgements of flow 9, of
/// host 0.
struct Mixed;

impl Headers for Mixed {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        let source = HOSTS[usize::from((1..9).contains(&packet.flow.0))];
        let destination = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
        let source_port = packet.flow.0 as u16;
        Some(Fields { protocol: 6, source, destination, source_port, destination_port: 443, flow_label: 0 })
    }
}

/// Sends for a minute at 9.5 Mbit/s: data of flow 0, always four packets of it in its queue; data of flows 1
/// to 8, of each at most `window` packets in its queue, the next one `again` after one has left;
/// acknowledgements of flow 9, `burst` of them at once. Returns the bytes of host 1 for each byte of host 0.
fn ratio(window: u32, again: Duration, burst: u64) -> f64 {
    let rate = Rate::from_bits(9_500_000);
    let config = Config {
        link_rate: Some(rate),
        isolation: Isolation::DualSrchost,
        diffserv: Diffserv::Besteffort,
        // No drops: the shares are those of the turns.
        rtt: Duration::from_secs(1_000),
        ..Config::default()
    };
    let node = Node::new::<Cake>("cake", config, Vec::new()).expect("a queue");
    let mut port = Port::new(node, Random::stream(Seed(1), "cake"));
    let (mut now, mut burst_at, mut sequence) = (Instant::ZERO, Instant::ZERO, 0);
    let mut bytes = [0_u64; 2];
    let mut offer = |port: &mut Port, now: Instant, flow: u32, length: u32| {
        sequence += 1;
        let header = Header { flow: FlowId(flow), length, sequence, ..Header::default() };
        port.offer(Packet::new(header), now, &Mixed);
    };
    for flow in 0..9 {
        for _ in 0..if flow == 0 { 4 } else { window } {
            offer(&mut port, now, flow, 1_514);
        }
    }
    let mut due = std::collections::VecDeque::new();
    while now < Instant::ZERO + Duration::from_secs(60) {
        // Some 1000 acknowledgements a second.
        while burst > 0 && burst_at <= now {
            for _ in 0..burst {
                offer(&mut port, now, 9, 66);
            }
            burst_at = burst_at + Duration::from_millis(burst);
        }
        while let Some((_, flow)) = due.pop_front_if(|(at, _): &mut (Instant, u32)| *at <= now) {
            offer(&mut port, now, flow, 1_514);
        }
        let Poll::Transmit(packet) = port.poll(now, &Mixed) else { panic!("packets wait") };
        now = now + rate.time_for(packet.bytes());
        let flow = packet.flow.0;
        bytes[usize::from((1..9).contains(&flow))] += packet.bytes().0;
        match flow {
            0 => offer(&mut port, now, 0, 1_514),
            9 => {}
            _ => due.push_back((now + again, flow)),
        }
    }
    bytes[1] as f64 / bytes[0] as f64
}

/// Acknowledgements that come in bursts count at their host for some rounds, in which they halve the turns of
/// its other flow. That flow does not skip the rounds after them as if they went on.
#[test]
fn a_short_burst_halves_the_turns_of_its_rounds_alone() {
    // A turn of acknowledgements goes ahead of all others, at no other's cost.
    let found = [0, 6, 12, 24].map(|burst| ratio(4, Duration::ZERO, burst));
    assert!(found.iter().all(|ratio| (0.95..1.03).contains(ratio)), "{found:?}");
}

/// Flows that never have more than a packet or two in their queues, and ask for more than their host's share
/// together, count at it although each is empty when it has sent a packet.
#[test]
fn flows_of_small_windows_count_at_their_host() {
    for (window, most) in [(1, 15), (2, 36)] {
        let found = [1, 5, 10, 15, most].map(|millis| ratio(window, Duration::from_millis(millis), 12));
        assert!(found.iter().all(|ratio| (0.98..1.02).contains(ratio)), "{window}: {found:?}");
    }
}

/// Flows 0 to 99 of host 0, and flow 100 of host 1.
struct Many;

impl Headers for Many {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        let source = HOSTS[usize::from(packet.flow.0 == 100)];
        let destination = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
        let source_port = packet.flow.0 as u16;
        Some(Fields { protocol: 6, source, destination, source_port, destination_port: 443, flow_label: 0 })
    }
}

/// Turns that flows of a packet took ahead are not paid by their host after a time in which no packet waited.
#[test]
fn turns_taken_ahead_are_forgotten_when_the_tin_was_empty_for_an_interval() {
    let config = Config {
        link_rate: Some(Rate::from_bits(1_000_000)),
        isolation: Isolation::DualSrchost,
        ..Config::default()
    };
    let node = Node::new::<Cake>("cake", config, Vec::new()).expect("a queue");
    let mut port = Port::new(node, Random::stream(Seed(1), "cake"));
    let mut now = Instant::ZERO;
    let offer = |port: &mut Port, now, flow, sequence| {
        let header = Header { flow: FlowId(flow), length: 1_514, sequence, ..Header::default() };
        port.offer(Packet::new(header), now, &Many);
    };
    for flow in 0..100 {
        offer(&mut port, now, flow, 0);
    }
    while let Poll::Transmit(_) = port.poll(now, &Many) {}
    now = now + Duration::from_millis(200);
    for sequence in 1..=100 {
        offer(&mut port, now, 0, sequence);
        offer(&mut port, now, 100, sequence);
    }
    let mut own = 0;
    for _ in 0..100 {
        let Poll::Transmit(packet) = port.poll(now, &Many) else { panic!("packets wait") };
        own += u32::from(packet.flow.0 == 100);
    }
    assert!((48..=52).contains(&own), "{own} of 100");
}
