//! Fixture of the metamorphic oracles: the same traffic twice, with a change that must not matter.

use lockgate_engine::packet::{ChildNumber, FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::{Value, json};

use crate::finding::Worst;
use crate::kind::{self, Kind};
use crate::link::Link;
use crate::trials::{Trials, between, exponential};

/// Number of flows.
pub const FLOWS: u32 = 6;

/// An arrival, with every property that a discipline may use.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time.
    pub at: Instant,
    /// Length, in bytes.
    pub length: u32,
    /// Flow, below [`FLOWS`].
    pub flow: u32,
    /// Child to which it goes, if there are several.
    pub class: u16,
    /// Number of routers passed.
    pub hops: u8,
    /// Age.
    pub age: Duration,
    /// Time waited before.
    pub waited: Duration,
}

/// Draws traffic at 1.15 times a link of 8 Mbit/s, in bursts; times are whole microseconds.
pub fn traffic(trials: Trials, trial: u32) -> Vec<Arrival> {
    let mut random = trials.random("twin", trial);
    let mut micros = 0;
    let mut draw = |_| {
        let length = between(&mut random, 40, 1514) as u32;
        micros += exponential(&mut random, 777.0 / 1.15) as u64;
        let flow = random.below(FLOWS);
        Arrival {
            at: Instant::ZERO + Duration::from_micros(micros + 60_000),
            length,
            flow,
            class: (flow % 3) as u16,
            hops: random.below(5) as u8,
            age: Duration::from_micros(between(&mut random, 0, 50_000)),
            waited: Duration::from_micros(between(&mut random, 0, 50_000)),
        }
    };
    (0..2_500).map(&mut draw).collect()
}

/// A discipline with a number of children.
pub struct Twin<'a> {
    /// The kind.
    pub kind: &'a Kind,
    /// Parameters.
    pub config: Value,
    /// Number of children, if it takes several.
    pub children: usize,
    /// The link's rate.
    pub rate: Rate,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Index among the arrivals.
    pub packet: u64,
    /// True if it was sent, false if dropped.
    pub sent: bool,
    /// Time.
    pub at: Instant,
}

impl<'a> Twin<'a> {
    /// Creates the kind with its example parameters, over three children if it takes several, two if it
    /// classifies.
    pub fn new(kind: &'a Kind) -> Self {
        let children = if kind.classifies { 2 } else { 3 };
        Self { kind, config: kind.example.clone(), children, rate: Rate::from_bits(8_000_000) }
    }

    /// Returns the fates of these arrivals, in order, and the first fault.
    pub fn fates(&self, arrivals: &[Arrival]) -> (Vec<Fate>, Option<String>) {
        let limit = json!({ "limit": "30p" });
        let leaf = |index: usize| {
            (self.kind.share.clone(), kind::build("fifo", &format!("child/{index}"), &limit, Vec::new()))
        };
        let count = if self.kind.children.needs_children() { self.children } else { 0 };
        let children = (0..count).map(leaf).collect();
        let root = kind::build(self.kind.name, "root", &self.config, children);
        let mut link = Link::new(Port::new(root, Random::stream(Seed(1), "port")), self.rate);
        for (payload, arrival) in arrivals.iter().enumerate() {
            let header = Header {
                payload: payload as u64,
                flow: FlowId(arrival.flow),
                length: arrival.length,
                class: ChildNumber::new(usize::from(arrival.class)),
                hops: arrival.hops,
                stamp: arrival.at - arrival.age,
                waited: arrival.waited,
                ..Header::default()
            };
            link.offer(header, arrival.at);
        }
        link.drain();
        let fates = link
            .sent
            .iter()
            .map(|sent| Fate { packet: sent.packet.payload, sent: true, at: sent.at })
            .chain(link.dropped.iter().map(|drop| Fate {
                packet: drop.packet.payload,
                sent: false,
                at: drop.at,
            }))
            .collect();
        (fates, link.fault)
    }
}

/// Checks that every packet has the same fate at the same time in both runs.
pub fn same(first: (Vec<Fate>, Option<String>), second: (Vec<Fate>, Option<String>), worst: &mut Worst) {
    let ((first, fault), (second, other_fault)) = (first, second);
    worst.fault(fault.as_ref());
    worst.fault(other_fault.as_ref());
    let differ = first.iter().zip(&second).filter(|(one, other)| one != other).count();
    worst.none((differ + first.len().abs_diff(second.len())) as u64);
}
