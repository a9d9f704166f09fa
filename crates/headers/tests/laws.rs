//! Random lists of rules against the engine's own classifier, packet by packet over a reduced space of
//! headers.

use core::net::IpAddr;
use std::collections::BTreeSet;

use lockgate_engine::classify::{Classifier, Fields, Headers, PROTOCOL_OTHER, Prefix, Rule};
use lockgate_engine::packet::{Header, Packet as Queued};
use lockgate_headers::{Class, Field, Packet, Part, Region, Space, decisions, difference, never_matching};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Packet of the reduced space.
#[derive(Clone, Copy, Debug)]
struct Point {
    fields: Fields,
    dscp: u8,
    flags: u8,
    length: u32,
}

impl Headers for Point {
    fn fields(&self, _: &Queued) -> Option<Fields> {
        Some(self.fields)
    }
}

impl Point {
    fn queued(&self) -> Queued {
        let Self { dscp, flags, length, .. } = *self;
        Queued::new(Header { length, traffic_class: dscp << 2, tcp_flags: flags, ..Header::default() })
    }

    fn numbers(&self) -> [u128; Field::COUNT] {
        let of = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        };
        let Fields { protocol, source, destination, source_port, destination_port, flow_label } = self.fields;
        let version = if protocol == PROTOCOL_OTHER {
            0
        } else if source.is_ipv4() {
            4
        } else {
            6
        };
        Field::ALL.map(|field| match field {
            Field::Version => version,
            Field::Destination => of(destination),
            Field::Source => of(source),
            Field::Protocol => protocol.into(),
            Field::DestinationPort => destination_port.into(),
            Field::SourcePort => source_port.into(),
            Field::Dscp => self.dscp.into(),
            Field::FlowLabel => flow_label.into(),
            Field::TcpFlags => self.flags.into(),
            Field::Length => self.length.into(),
            Field::Mark | Field::Flow => 0,
        })
    }
}

/// Values of the fields that rules of a trial compare, and those of its packets.
struct Reduced {
    ports: [u16; 4],
    codes: [u8; 3],
    lengths: [u32; 4],
    /// Fields that rules compare, as bits.
    used: u32,
    is_v6: bool,
}

/// Packets of a trial from which no further protocol is added.
const MOST_POINTS: usize = 1000;

const BASE4: u32 = 0x0a00_0000;

impl Reduced {
    fn new(random: &mut ChaCha8Rng) -> Self {
        Self {
            ports: [0, 1, 80, 65535],
            codes: [0, 46, 63],
            lengths: [60, 64, 65, 1514],
            used: random.random_range(1..64),
            is_v6: random.random_ratio(1, 4),
        }
    }

    fn has(&self, bit: u32) -> bool {
        self.used >> bit & 1 == 1
    }

    fn address(&self, low: u32) -> IpAddr {
        if self.is_v6 {
            IpAddr::from(u128::from(low).to_be_bytes())
        } else {
            IpAddr::from((BASE4 + low).to_be_bytes())
        }
    }

    fn prefix(&self, random: &mut ChaCha8Rng) -> Prefix {
        let width = if self.is_v6 { 128 } else { 32 };
        Prefix {
            address: self.address(random.random_range(0..8)),
            bits: width - random.random_range(0..4_u8),
        }
    }

    fn rule(&self, random: &mut ChaCha8Rng) -> Rule {
        let mut rule = Rule { preference: random.random_range(0..3), ..Rule::default() };
        let some = |bit: u32, random: &mut ChaCha8Rng| self.has(bit) && random.random_ratio(1, 2);
        rule.destination = some(0, random).then(|| self.prefix(random));
        rule.source = some(1, random).then(|| self.prefix(random));
        rule.protocol = some(2, random).then(|| [6, 17, 1, PROTOCOL_OTHER][random.random_range(0..4)]);
        rule.destination_port = some(3, random).then(|| {
            let (low, high) = (random.random_range(0..4), random.random_range(0..4));
            self.ports[low]..=self.ports[low.max(high)]
        });
        rule.dscp = some(4, random).then(|| {
            let count = random.random_range(1..3);
            (0..count).map(|_| self.codes[random.random_range(0..3)]).collect()
        });
        if some(5, random) {
            rule.tcp_flags = random.random_bool(0.5).then_some(0x10);
            rule.tcp_flags_clear = random.random_bool(0.5).then_some(0x07);
            rule.length = random.random_bool(0.3).then(|| {
                let (low, high) = (random.random_range(0..4), random.random_range(0..4));
                self.lengths[low]..=self.lengths[low.max(high)]
            });
        }
        rule
    }

    /// Returns a packet for each combination of values that rules can tell apart.
    fn points(&self) -> Vec<Point> {
        fn values<T: Copy>(is_used: bool, all: &[T]) -> Vec<T> {
            all[..if is_used { all.len() } else { 1 }].to_vec()
        }
        let hosts = [9, 0, 1, 2, 3, 4, 5, 6, 7];
        let (destinations, sources) = (values(self.has(0), &hosts), values(self.has(1), &hosts));
        let protocols = [17, 6, 1, PROTOCOL_OTHER, 47, 132];
        let (flags, lengths) = (
            values(self.has(5), &[0, 0x10, 0x11, 0x01]),
            values(self.has(5), &[60, 64, 65, 1514, 61, 100, 2000]),
        );
        let mut points = Vec::new();
        for protocol in protocols {
            let (has_ports, is_tcp, is_ip) =
                ([6, 17, 132].contains(&protocol), protocol == 6, protocol != PROTOCOL_OTHER);
            for destination in &destinations {
                for source in &sources {
                    for port in values(self.has(3) && has_ports, &[0, 1, 80, 65535, 2, 1000]) {
                        for dscp in values(self.has(4) && is_ip, &[0, 46, 63, 8]) {
                            for flags in values(is_tcp, &flags) {
                                for length in &lengths {
                                    let none = IpAddr::from([0, 0, 0, 0]);
                                    let address = |low: u32| if is_ip { self.address(low) } else { none };
                                    let fields = Fields {
                                        protocol,
                                        source: address(*source),
                                        destination: address(*destination),
                                        source_port: 0,
                                        destination_port: port,
                                        flow_label: 0,
                                    };
                                    points.push(Point { fields, dscp, flags, length: *length });
                                }
                            }
                        }
                    }
                }
            }
            if points.len() > MOST_POINTS {
                break;
            }
        }
        points
    }
}

/// Children of a node with their rules; the last takes the rest.
fn children(reduced: &Reduced, random: &mut ChaCha8Rng) -> Vec<Vec<Rule>> {
    let count = random.random_range(2..5);
    let mut children: Vec<Vec<Rule>> =
        (0..count).map(|_| (0..random.random_range(1..4)).map(|_| reduced.rule(random)).collect()).collect();
    children.push(Vec::new());
    children
}

/// Changes some of the rules.
fn changed(before: &[Vec<Rule>], reduced: &Reduced, random: &mut ChaCha8Rng) -> Vec<Vec<Rule>> {
    let mut after = before.to_vec();
    for _ in 0..random.random_range(0..3) {
        let child = random.random_range(0..after.len() - 1);
        match random.random_range(0..3) {
            0 => after[child].push(reduced.rule(random)),
            1 => after[child][0] = reduced.rule(random),
            _ => {
                let other = random.random_range(0..after.len() - 1);
                after.swap(child, other);
            }
        }
    }
    after
}

fn list(children: &[Vec<Rule>]) -> Vec<(Region, u32)> {
    let mut classes = vec![Class { children: (1..=children.len()).collect(), ..Class::default() }];
    let regions = |own: &Vec<Rule>| own.iter().map(|rule| (Region::of_rule(rule), rule.preference)).collect();
    classes.extend(children.iter().map(|own| Class { rules: regions(own), ..Class::default() }));
    decisions(&classes)
}

fn find(parts: &[Part], numbers: &[u128; Field::COUNT]) -> Option<(u32, u32)> {
    let mut found = parts.iter().filter(|part| part.region.contains(numbers));
    let first = found.next().map(|part| (part.old, part.new));
    assert!(found.next().is_none(), "the parts are disjoint");
    first
}

/// Returns whether the pair differs.
fn trial(seed: u64) -> bool {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let reduced = Reduced::new(&mut random);
    let old = children(&reduced, &mut random);
    let new = if random.random_ratio(1, 3) {
        children(&reduced, &mut random)
    } else {
        changed(&old, &reduced, &mut random)
    };
    let (old_list, new_list) = (list(&old), list(&new));
    let space = Space::packets();
    let parts = difference(&old_list, &new_list, &space).expect("few parts");
    let classifiers = [Classifier::new(old.clone()), Classifier::new(new)];
    let mut found_pairs = BTreeSet::new();
    let points = reduced.points();
    for point in &points {
        let queued = point.queued();
        let [before, after] = classifiers.each_ref().map(|one| one.classify(&queued, point).child + 1);
        let numbers = point.numbers();
        let expected = (before != after).then_some((before, after));
        assert_eq!(find(&parts, &numbers), expected, "seed {seed}: {point:?}");
        found_pairs.extend(expected);
    }
    // The packets of the space are all that rules can tell apart: no part is without one.
    for part in &parts {
        let smallest = Packet::smallest(&part.region, &space).expect("a packet");
        assert_eq!(find(&parts, &smallest.numbers()), Some((part.old, part.new)));
    }
    // A rule that never matches is exactly one whose packets earlier ones take.
    let regions: Vec<Region> = old_list.iter().map(|(region, _)| region.clone()).collect();
    let never = never_matching(&regions, &space);
    let mut reached = vec![false; regions.len()];
    let mut has = vec![false; regions.len()];
    for point in &points {
        let numbers = point.numbers();
        let mut holding = (0..regions.len()).filter(|rule| regions[*rule].contains(&numbers));
        holding.clone().for_each(|rule| has[rule] = true);
        if let Some(first) = holding.next() {
            reached[first] = true;
        }
    }
    for (rule, (reached, has)) in reached.into_iter().zip(has).enumerate() {
        let named = never.iter().find(|one| one.rule == rule);
        assert!(!(reached && named.is_some()), "seed {seed}: rule {rule} matches");
        if points.len() <= MOST_POINTS {
            assert!(!has || reached || named.is_some(), "seed {seed}: rule {rule} never matches");
        }
    }
    !parts.is_empty()
}

#[test]
fn differences_are_those_of_the_classifier() {
    let trials = if std::env::var_os("LOCKGATE_LAWS").is_some() { 10_000 } else { 100 };
    let differing = (0..trials).filter(|seed| trial(*seed)).count();
    println!("{differing} of {trials} pairs of lists differ");
    assert!((trials / 4..trials).contains(&(differing as u64)), "{differing} of {trials}");
}

fn of(rules: &[(&str, &str, u32)]) -> Vec<(Region, u32)> {
    let region = |(prefix, port, class): &(&str, &str, u32)| {
        let prefix = prefix.split_once('/').map(|(address, bits)| Prefix {
            address: address.parse().expect("an address"),
            bits: bits.parse().expect("a length"),
        });
        let ports = port
            .split_once('-')
            .map(|(low, high)| low.parse().expect("a port")..=high.parse().expect("a port"));
        (Region::of_rule(&Rule { destination: prefix, destination_port: ports, ..Rule::default() }), *class)
    };
    rules.iter().map(region).collect()
}

#[test]
fn policies_that_mean_the_same_are_the_same() {
    let old = of(&[
        ("10.0.0.0/24", "", 1),
        ("10.0.1.0/24", "", 1),
        ("", "5000-5009", 2),
        ("192.0.2.0/25", "", 3),
        ("", "", 0),
    ]);
    let merged = of(&[("10.0.0.0/23", "", 1), ("", "5000-5009", 2), ("192.0.2.0/25", "", 3), ("", "", 0)]);
    let split = of(&[
        ("10.0.1.128/25", "", 1),
        ("10.0.0.0/25", "", 1),
        ("10.0.1.0/25", "", 1),
        ("10.0.0.128/25", "", 1),
        ("", "5004-5009", 2),
        ("", "5000-5003", 2),
        ("192.0.2.64/26", "", 3),
        ("192.0.2.0/26", "", 3),
        ("", "", 0),
    ]);
    let space = Space::packets();
    for (one, other) in [(&old, &merged), (&merged, &old), (&old, &split), (&split, &merged)] {
        assert_eq!(difference(one, other, &space), Ok(Vec::new()));
    }
    let swapped = of(&[("10.0.0.0/23", "", 1), ("192.0.2.0/25", "", 3), ("", "5000-5009", 2), ("", "", 0)]);
    let parts = difference(&old, &swapped, &space).expect("few parts");
    assert!(parts.iter().all(|part| (part.old, part.new) == (2, 3)), "{parts:?}");
    assert_eq!(parts.len(), 1, "the order of rules that overlap counts");
}

#[test]
fn ten_thousand_subscribers_with_one_change_differ_in_that_one() {
    let subscribers = |changed: Option<u32>| -> Vec<(Region, u32)> {
        let one = |index: u32| {
            let address = IpAddr::from((BASE4 + index).to_be_bytes());
            let rule = Rule { destination: Some(Prefix { address, bits: 32 }), ..Rule::default() };
            (Region::of_rule(&rule), if changed == Some(index) { 1 } else { index })
        };
        (0..10_000).map(one).chain([(Region::all(), 10_000)]).collect()
    };
    let (old, new) = (subscribers(None), subscribers(Some(7777)));
    let parts = difference(&old, &new, &Space::packets()).expect("few parts");
    assert_eq!(parts.len(), 1);
    assert_eq!((parts[0].old, parts[0].new), (7777, 1));
    let packet = Packet::smallest(&parts[0].region, &Space::packets()).expect("a packet");
    assert_eq!(packet.addresses().map(|ends| ends[1]), Some(IpAddr::from((BASE4 + 7777).to_be_bytes())));
    // Everything changes: as many parts, without comparing each with each.
    let other: Vec<(Region, u32)> =
        old.iter().map(|(region, class)| (region.clone(), class + 20_000)).collect();
    assert_eq!(
        difference(&old, &other, &Space::packets()).expect("parts").len(),
        10_002,
        "the rest is IPv4, and others"
    );
    assert!(
        never_matching(&old.iter().map(|(region, _)| region.clone()).collect::<Vec<_>>(), &Space::packets())
            .is_empty()
    );
}

#[test]
fn a_tree_sorts_as_its_levels_do() {
    // root: site a (10.0.0.0/30) with two hosts and a rest, site b the rest.
    let all =
        of(&[("10.0.0.0/30", "", 0), ("10.0.0.1/32", "", 0), ("10.0.0.2/32", "", 0), ("10.0.0.9/32", "", 0)]);
    let rule = |index: usize| vec![(all[index].0.clone(), 0)];
    let class = |rules, children| Class { rules, children, ..Class::default() };
    let classes = [
        class(vec![], vec![1, 2]),
        class(rule(0), vec![3, 4, 5]),
        class(vec![], vec![]),
        class(rule(1), vec![]),
        class([rule(2), rule(3)].concat(), vec![]),
        class(vec![], vec![]),
    ];
    let list = decisions(&classes);
    let at = |host: u8| {
        let mut numbers = [0; Field::COUNT];
        numbers[Field::Version as usize] = 4;
        numbers[Field::Destination as usize] = u128::from(BASE4) + u128::from(host);
        list.iter().find(|(region, _)| region.contains(&numbers)).map(|(_, class)| *class)
    };
    assert_eq!([0, 1, 2, 3, 9, 77].map(at), [5, 3, 4, 5, 2, 2].map(Some));
}

#[test]
fn a_gap_in_the_middle_lets_a_rule_match() {
    let named = |rules: &[(&str, &str, u32)]| {
        let regions: Vec<Region> = of(rules).into_iter().map(|(region, _)| region).collect();
        never_matching(&regions, &Space::packets()).into_iter().map(|never| (never.rule, never.by)).collect()
    };
    // Lowest, smallest and highest packet of the last rule are taken; ports 4 and 5 are not.
    let none: Vec<(usize, Vec<usize>)> = named(&[("", "0-3", 1), ("", "6-9", 1), ("", "0-9", 2)]);
    assert_eq!(none, []);
    let all = [("10.0.0.0/8", "", 1), ("", "0-4", 1), ("", "5-9", 1), ("", "7-9", 1), ("", "0-9", 2)];
    assert_eq!(named(&all), [(3, vec![2]), (4, vec![1, 2])], "the fewest rules that are enough");
}
