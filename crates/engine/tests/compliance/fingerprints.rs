//! Fingerprints: one hash for each parameter of each kind, over everything a port shows for a range of
//! values.
//!
//! The vectors and oracles say what is right; a fingerprint only says that something changed. It covers what
//! they leave out: refusals and doubts of parameters, gauges, and rarely used parameters. A run offers bursts
//! and silences, changes parameters under load, and hashes departures, drops, marks and gauges.
//!
//! A change on purpose: `make renew`, and the commit says why.

use std::fmt::Write as _;

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::discipline::{Arity, PortConditions};
use lockgate_engine::node::Node;
use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::Value;

use crate::common::kind::{self, Kind, Refusal};
use crate::common::link::Link;
use crate::parameters::{Parameter, draw, parameters};
use crate::topology::{FLOWS, Topology};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compliance/fingerprints.txt");
const KEPT_FINGERPRINTS: &str = include_str!("fingerprints.txt");
/// Drawn sets of parameters of a kind, beside one parameter at a time.
const DRAWN: u64 = 150;
const PACKETS: u32 = 240;

/// FNV-1a, 64 bits.
struct Hash(u64);

impl Hash {
    fn number(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.number(u64::from(byte)));
    }
}

fn trees(kind: &Kind) -> Vec<Topology> {
    match kind.children {
        Arity::None => vec![Topology::alone(kind.name)],
        Arity::Optional => {
            vec![
                Topology::alone(kind.name),
                Topology::over("root", kind.name, vec![Topology::leaf("leaf", "tbf")]),
            ]
        }
        Arity::Many => {
            let leaves = [("leaf/0", "fifo"), ("leaf/1", "tbf"), ("leaf/2", "codel")];
            vec![Topology::over(
                "root",
                kind.name,
                leaves.map(|(name, kind)| Topology::leaf(name, kind)).into(),
            )]
        }
        Arity::Classes => ["fifo", "tbf", "codel"].map(|leaf| Topology::classes(kind.name, leaf)).into(),
    }
}

fn shares(tree: &Topology) -> Vec<Value> {
    tree.shares().iter().map(|child| child.share.clone()).collect()
}

fn hash_node(node: &Node, hash: &mut Hash) {
    hash.text(node.name());
    node.gauges(&mut |name, value| {
        hash.text(name);
        hash.number(value.to_bits());
    });
    for link in [None, Some(Rate::from_bits(10_000_000))] {
        node.doubts(PortConditions::exact(link), &mut |doubt| hash.text(&format!("{doubt:?}")));
    }
}

/// Offers `PACKETS` packets to `tree`; in the middle, changes it to `other` and back.
fn run(tree: &Topology, other: &Topology, seed: u64, hash: &mut Hash) -> Result<(), Refusal> {
    let port = Port::new(tree.build()?, Random::stream(Seed(seed), "port"));
    let mut link = Link::new(port, Rate::from_bits(10_000_000));
    let mut random = Random::stream(Seed(seed), "traffic");
    let mut now = Instant::ZERO;
    for sequence in 0..PACKETS {
        let gap = match random.below(40) {
            0..20 => 0,
            20..39 => random.below(3_000),
            _ => random.below(400_000),
        };
        now = now + Duration::from_micros(u64::from(gap));
        let header = Header {
            flow: FlowId(random.below(FLOWS)),
            sequence,
            stamp: now,
            hops: random.below(4) as u8,
            tcp_sequence: 1 + sequence * 1_000,
            traffic_class: random.below(256) as u8,
            length: if random.below(3) == 0 { 1514 } else { 60 + random.below(1_454) },
            ..Header::default()
        };
        link.offer(header, now);
        if sequence == PACKETS / 2 || sequence == PACKETS / 2 + 40 {
            let to = if sequence == PACKETS / 2 { other } else { tree };
            let changed = link.port.with_node("root", now, &NoHeaders, &mut |node, cx| {
                kind::reconfigure(node, &to.config, &shares(to), cx)
            });
            hash.text(&format!("{changed:?}"));
        }
        if sequence % 16 == 0 {
            link.port.each_node(&mut |node| hash_node(node, hash));
        }
    }
    link.run_until(now + Duration::from_secs(2));
    for sent in &link.sent {
        hash.number(sent.at.as_picos());
        hash.number(u64::from(sent.packet.sequence));
        hash.number(u64::from(sent.packet.traffic_class));
    }
    for dropped in &link.dropped {
        hash.number(dropped.at.as_picos());
        hash.number(u64::from(dropped.packet.sequence));
        hash.text(dropped.reason.name());
    }
    link.port.each_node(&mut |node| hash_node(node, hash));
    Ok(())
}

/// Returns the hash of `runs` runs of a kind's trees, each changed by `set` before.
fn fingerprint(kind: &Kind, runs: u64, mut set: impl FnMut(u64, &mut Topology)) -> u64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    for example in trees(kind) {
        for number in 0..runs {
            let mut tree = example.clone();
            set(number, &mut tree);
            if let Err(refusal) = run(&tree, &example, number, &mut hash) {
                hash.text(&format!("{refusal:?}"));
            }
        }
    }
    hash.0
}

fn values(parameter: &Parameter) -> Vec<Value> {
    parameter.extremes.iter().chain(&parameter.usual).cloned().collect()
}

fn lines(kind: &Kind) -> String {
    let (own, of_share) = (parameters(&kind.config_schema), parameters(&kind.share_schema));
    let mut lines = String::new();
    for parameter in &own {
        let values = values(parameter);
        let hash = fingerprint(kind, values.len() as u64, |number, tree| {
            tree.config[&parameter.name] = values[number as usize].clone();
        });
        let _ = writeln!(lines, "{} {} {hash:016x}", kind.name, parameter.name);
    }
    for parameter in &of_share {
        let values = values(parameter);
        let hash = fingerprint(kind, values.len() as u64, |number, tree| {
            if let Some(child) = tree.children.first_mut() {
                child.share[&parameter.name] = values[number as usize].clone();
            }
        });
        let _ = writeln!(lines, "{} child.{} {hash:016x}", kind.name, parameter.name);
    }
    // One value of four is from the ends of its range.
    let wide = |parameters: &[Parameter]| {
        let mut wide = parameters.to_vec();
        for parameter in &mut wide {
            let times = 1 + 3 * parameter.extremes.len() / parameter.usual.len().max(1);
            let usual = vec![parameter.usual.clone(); times].concat();
            parameter.usual = [usual, parameter.extremes.clone()].concat();
        }
        wide
    };
    let (own, of_share) = (wide(&own), wide(&of_share));
    let mut random = Random::stream(Seed(1), kind.name);
    let hash = fingerprint(kind, DRAWN, |_, tree| {
        tree.config = draw(&tree.config, &own, &mut random);
        for child in &mut tree.children {
            child.share = draw(&child.share, &of_share, &mut random);
        }
    });
    let _ = writeln!(lines, "{} drawn {hash:016x}", kind.name);
    lines
}

#[test]
fn every_parameter_does_what_it_did() {
    let found: String = kind::kinds().into_iter().map(lines).collect();
    if std::env::var_os("LOCKGATE_RENEW").is_some() {
        std::fs::write(FILE, &found).expect("the file can be written");
        return;
    }
    let changed: Vec<_> =
        found.lines().filter(|line| !KEPT_FINGERPRINTS.lines().any(|kept| kept == *line)).collect();
    assert!(
        changed.is_empty() && found.lines().count() == KEPT_FINGERPRINTS.lines().count(),
        "behaviour changed (`make renew` if on purpose):\n{}",
        changed.join("\n")
    );
}
