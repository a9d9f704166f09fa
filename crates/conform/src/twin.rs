//! The same traffic twice, changed in a way that must not matter: what the metamorphic oracles share.

use lockgate_engine::packet::{ChildNumber, FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::{Value, json};

use crate::finding::Worst;
use crate::kind::{self, Kind};
use crate::link::Link;
use crate::trials::{Trials, between, exponential};

/// Flows of the traffic.
pub const FLOWS: u32 = 6;

/// An arrival, in every respect that a discipline may look at.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub at: Instant,
    /// Bytes.
    pub length: u32,
    /// Whose, below [`FLOWS`].
    pub flow: u32,
    /// Which child it is for, where there are several.
    pub class: u16,
    /// Routers passed.
    pub hops: u8,
    /// How old it is.
    pub age: Duration,
    /// How long it waited before.
    pub waited: Duration,
}

/// Traffic at 1.15 of a link of 8 Mbit/s, in bursts: times are whole microseconds.
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

/// A discipline and how many children it has.
pub struct Twin<'a> {
    /// The kind.
    pub kind: &'a Kind,
    /// Its parameters.
    pub config: Value,
    /// How many children, where it takes several.
    pub children: usize,
    /// The link's rate.
    pub rate: Rate,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Its place among the arrivals.
    pub packet: u64,
    /// Whether it was sent, and not dropped.
    pub sent: bool,
    /// When.
    pub at: Instant,
}

impl<'a> Twin<'a> {
    /// The kind with its example parameters, on three children where it takes several.
    pub fn new(kind: &'a Kind) -> Self {
        let children = if kind.classifies { 2 } else { 3 };
        Self { kind, config: kind.example.clone(), children, rate: Rate::from_bits(8_000_000) }
    }

    /// What happens to these arrivals, in order; and what went wrong.
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

/// Holds that no packet has another fate, or one at another time, than in the first run.
pub fn same(first: (Vec<Fate>, Option<String>), second: (Vec<Fate>, Option<String>), worst: &mut Worst) {
    let ((first, fault), (second, other_fault)) = (first, second);
    worst.fault(fault.as_ref());
    worst.fault(other_fault.as_ref());
    let differ = first.iter().zip(&second).filter(|(one, other)| one != other).count();
    worst.none((differ + first.len().abs_diff(second.len())) as u64);
}
