//! What the theorems on weighted children share: a link over them, traffic for them, and what was sent.

use lockgate_engine::discipline::Arity;
use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::{Value, json};

use crate::common::kind;
use crate::common::link::Link;
use crate::{between, exponential};

/// A byte takes a microsecond: no time is rounded.
pub(crate) const RATE: Rate = Rate::from_bits(8_000_000);

/// A packet that is offered: when (in microseconds, which are bytes of the link), to whom, how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub at: u64,
    pub child: usize,
    pub length: u64,
}

/// A packet that was sent: which of those offered, and from when to when, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub offer: usize,
    pub start: u64,
    pub end: u64,
}

/// A link over children of this kind with these weights, each with a queue without end.
pub(crate) fn link(name: &str, weights: &[u64]) -> Link {
    let share = |weight: &u64| if name == "rr" { json!({}) } else { json!({ "weight": weight }) };
    link_of(name, &json!({}), &weights.iter().map(share).collect::<Vec<_>>())
}

/// A link of this kind; over children with these shares, each with a queue without end, if it takes any.
pub(crate) fn link_of(name: &str, config: &Value, shares: &[Value]) -> Link {
    let children = shares.iter().enumerate().map(|(index, share)| {
        let limit = json!({ "limit": "1000000p" });
        let node = kind::build("fifo", &format!("child/{index}"), &limit, Vec::new()).expect("valid");
        (share.clone(), node)
    });
    let children = if kind::kind(name).children == Arity::None { Vec::new() } else { children.collect() };
    let root = kind::build(name, "root", config, children).expect("valid");
    Link::new(Port::new(root, Random::stream(Seed(1), "port")), RATE)
}

/// The header of a packet for `child`.
pub(crate) fn header(child: usize, length: u64, payload: usize) -> Header {
    Header {
        payload: payload as u64,
        flow: FlowId(child as u32),
        class: child as u16,
        length: length as u32,
        ..Header::default()
    }
}

/// Sends `offers`, in the order of their times, through a link of this kind.
pub(crate) fn send(name: &str, weights: &[u64], offers: &[Offer]) -> Vec<Sent> {
    send_through(link(name, weights), offers)
}

/// Sends `offers`, in the order of their times, through `link`.
pub(crate) fn send_through(mut link: Link, offers: &[Offer]) -> Vec<Sent> {
    for (index, offer) in offers.iter().enumerate() {
        let at = Instant::ZERO + Duration::from_micros(offer.at);
        link.offer(header(offer.child, offer.length, index), at);
    }
    link.drain();
    assert_eq!(link.sent.len(), offers.len(), "without loss");
    let sent = link.sent.iter().map(|sent| {
        let start = sent.at.as_picos() / 1_000_000;
        Sent { offer: sent.packet.payload as usize, start, end: start + u64::from(sent.packet.length) }
    });
    sent.collect()
}

/// Children with weights and longest packets, and their traffic: bursts, pauses, and now and then a child
/// that sends as if it were alone.
pub(crate) struct Traffic {
    pub weights: Vec<u64>,
    pub longest: Vec<u64>,
    pub offers: Vec<Offer>,
}

impl Traffic {
    /// `packets` packets in all; `load` is what the children send in the mean, against the link.
    pub(crate) fn new(packets: usize, most: u32, load: f64, random: &mut Random) -> Self {
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
                // Half of the packets come with the one before: what they would have waited is made up for.
                if random.below(2) == 0 {
                    now += exponential(random, 1.5 * longest[child] as f64 / share / load);
                }
                offers.push(Offer { at: now as u64, child, length });
            }
        }
        offers.sort_by_key(|offer| (offer.at, offer.child));
        Self { weights, longest, offers }
    }

    pub(crate) fn sum(&self) -> u64 {
        self.weights.iter().sum()
    }

    /// The longest packet of all children.
    pub(crate) fn longest_of_all(&self) -> u64 {
        self.longest.iter().copied().max().expect("there are children")
    }
}
