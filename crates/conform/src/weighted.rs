//! Fixture of the oracles on weighted children: a link over them, traffic for them, and the packets sent.

use lockgate_engine::discipline::Arity;
use lockgate_engine::packet::{ChildNumber, FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::{Value, json};

use crate::kind::{self, Kind};
use crate::link::Link;
use crate::trials::{between, exponential};

/// Rate at which a byte takes a microsecond: no time is rounded.
pub const RATE: Rate = Rate::from_bits(8_000_000);

/// A packet to offer.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Time in microseconds, equal to bytes of the link.
    pub at: u64,
    /// Child to which it goes.
    pub child: usize,
    /// Length, in bytes.
    pub length: u64,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Index among the offers.
    pub offer: usize,
    /// Start of its transmission, in microseconds.
    pub start: u64,
    /// End of its transmission, in microseconds.
    pub end: u64,
}

/// Creates a link over children of this kind with these weights, each an unlimited queue.
pub fn link(name: &str, weights: &[u64]) -> Link {
    let share = |weight: &u64| if name == "rr" { json!({}) } else { json!({ "weight": weight }) };
    link_of(name, &json!({}), &weights.iter().map(share).collect::<Vec<_>>())
}

/// Creates a link of this kind; if it takes children, over children with these shares, each an unlimited
/// queue.
pub fn link_of(name: &str, config: &Value, shares: &[Value]) -> Link {
    let children = shares.iter().enumerate().map(|(index, share)| {
        let limit = json!({ "limit": "1000000p" });
        (share.clone(), kind::build("fifo", &format!("child/{index}"), &limit, Vec::new()))
    });
    let is_leaf = Kind::named(name).is_none_or(|kind| kind.children == Arity::None);
    let children = if is_leaf { Vec::new() } else { children.collect() };
    let root = kind::build(name, "root", config, children);
    Link::new(Port::new(root, Random::stream(Seed(1), "port")), RATE)
}

/// Creates the header of a packet for `child`.
pub fn header(child: usize, length: u64, payload: usize) -> Header {
    Header {
        payload: payload as u64,
        flow: FlowId(child as u32),
        class: ChildNumber::new(child),
        length: length as u32,
        ..Header::default()
    }
}

/// Sends `offers`, sorted by time, through `link`. Also returns the first fault.
pub fn send_through(mut link: Link, offers: &[Offer]) -> (Vec<Sent>, Option<String>) {
    for (index, offer) in offers.iter().enumerate() {
        let at = Instant::ZERO + Duration::from_micros(offer.at);
        link.offer(header(offer.child, offer.length, index), at);
    }
    link.drain();
    let lost = (link.sent.len() != offers.len()).then(|| "packets were lost or are still there".to_owned());
    let sent = link.sent.iter().map(|sent| {
        let start = sent.at.as_picos() / 1_000_000;
        Sent { offer: sent.packet.payload as usize, start, end: start + u64::from(sent.packet.length) }
    });
    (sent.collect(), link.fault.or(lost))
}

/// Sends `offers`, sorted by time, through a link of this kind.
pub fn send(name: &str, weights: &[u64], offers: &[Offer]) -> (Vec<Sent>, Option<String>) {
    send_through(link(name, weights), offers)
}

/// Children with weights and longest packets, and their traffic: bursts, pauses, and occasionally a child
/// that sends as if alone.
pub struct Traffic {
    /// Weights of the children.
    pub weights: Vec<u64>,
    /// Longest packet of each child, in bytes.
    pub longest: Vec<u64>,
    /// All packets, sorted by time.
    pub offers: Vec<Offer>,
}

impl Traffic {
    /// Draws about `packets` packets for up to `most` children; `load` is their mean rate as a fraction of
    /// the link's.
    pub fn new(packets: usize, most: u32, load: f64, random: &mut Random) -> Self {
        let count = between(random, 2, most) as usize;
        let weights: Vec<u64> = (0..count).map(|_| between(random, 1, 20)).collect();
        let longest: Vec<u64> = (0..count).map(|_| between(random, 40, 1514)).collect();
        let sum: u64 = weights.iter().sum();
        let mut offers = Vec::new();
        for child in 0..count {
            let share = weights[child] as f64 / sum as f64;
            let mut now = 0.0;
            for _ in 0..packets / count {
                let length = if random.below(2) == 0 {
                    longest[child]
                } else {
                    between(random, 1, longest[child] as u32)
                };
                // Half of the packets come with the previous one; the gaps of the others compensate for it.
                if random.below(2) == 0 {
                    now += exponential(random, 1.5 * longest[child] as f64 / share / load);
                }
                offers.push(Offer { at: now as u64, child, length });
            }
        }
        offers.sort_by_key(|offer| (offer.at, offer.child));
        Self { weights, longest, offers }
    }

    /// Returns the sum of the weights.
    pub fn sum(&self) -> u64 {
        self.weights.iter().sum()
    }

    /// Returns the longest packet of all children.
    pub fn longest_of_all(&self) -> u64 {
        self.longest.iter().copied().max().unwrap_or(0)
    }
}
