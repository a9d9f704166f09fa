//! Fixture of the oracles on fairness: the difference in service of two backlogged children, over every
//! interval.

use lockgate_engine::random::Random;
use lockgate_engine::units::Instant;
use serde_json::{Value, json};

use crate::finding::Worst;
use crate::link::{Link, Sent};
use crate::trials::between;
use crate::weighted::{header, link_of};

/// Children of a discipline, with their weights.
pub struct Shares {
    /// Parameters of the discipline.
    pub config: Value,
    /// Share of each child.
    pub shares: Vec<Value>,
    /// Service is compared per unit of these: weights, or bytes per turn.
    pub weights: Vec<u64>,
    /// Term of the bound for a turn: `w_0 w_1` for round robins, 0 for tags.
    pub turn: u64,
}

impl Shares {
    /// Creates children with weights, under a discipline that serves by tags.
    pub fn by_weight(weights: Vec<u64>) -> Self {
        let shares = weights.iter().map(|weight| json!({ "weight": weight })).collect();
        Self { config: json!({}), shares, weights, turn: 0 }
    }

    /// Creates children with quanta, in bytes.
    pub fn by_quantum(quanta: Vec<u64>) -> Self {
        let shares = quanta.iter().map(|quantum| json!({ "quantum": format!("{quantum}B") })).collect();
        let turn = quanta[0] * quanta[1];
        Self { config: json!({}), shares, weights: quanta, turn }
    }

    /// Creates flows with a common quantum.
    pub fn common(config: Value, quantum: u64, count: usize) -> Self {
        let turn = quantum * quantum;
        Self { config, shares: vec![json!({}); count], weights: vec![quantum; count], turn }
    }
}

/// Accounting of `S_0 w_1 - S_1 w_0`; children 0 and 1 are always backlogged, the others come and go.
struct Pair<'a> {
    weights: &'a [u64],
    waiting: Vec<u32>,
    difference: i128,
    low: i128,
    high: i128,
}

impl Pair<'_> {
    fn count(&mut self, sent: &[Sent]) {
        for sent in sent {
            // The discipline may classify flows itself: the flow is the child.
            let (child, length) = (sent.packet.flow.0 as usize, i128::from(sent.packet.length));
            self.waiting[child] = self.waiting[child].saturating_sub(1);
            match child {
                0 => self.difference += length * i128::from(self.weights[1]),
                1 => self.difference -= length * i128::from(self.weights[0]),
                _ => {}
            }
        }
        self.low = self.low.min(self.difference);
        self.high = self.high.max(self.difference);
    }

    /// Offers packets so that both stay backlogged: up to three packets are sent between two calls.
    fn refill(&mut self, link: &mut Link, longest: &[u64], now: Instant, random: &mut Random) {
        for (child, longest) in longest.iter().copied().enumerate() {
            let wanted = if child < 2 { 5 } else { random.below(3) * random.below(2) };
            while self.waiting[child] < wanted {
                self.waiting[child] += 1;
                let length = match random.below(4) {
                    0 => longest,
                    1 => 1,
                    _ => between(random, 1, longest as u32),
                };
                let before = link.sent.len();
                link.offer(header(child, length, 0), now);
                self.count(&link.sent[before..]);
            }
        }
    }
}

/// Checks the range of `S_0 w_1 - S_1 w_0` over all intervals against `turn + L_0 w_1 + L_1 w_0`; displayed
/// in bytes of child 0.
pub fn spread(kind: &str, shares: &Shares, rounds: u32, random: &mut Random, worst: &mut Worst) {
    let weights = &shares.weights;
    let longest: Vec<u64> = weights.iter().map(|_| between(random, 1, 1514)).collect();
    let mut link = link_of(kind, &shares.config, &shares.shares);
    let mut pair = Pair { weights, waiting: vec![0; weights.len()], difference: 0, low: 0, high: 0 };
    for round in 0..rounds {
        let now = link.next_event().unwrap_or(Instant::ZERO);
        pair.refill(&mut link, &longest, now, random);
        if round == 0 {
            // Discards the service before both were backlogged.
            (pair.difference, pair.low, pair.high) = (0, 0, 0);
        }
        let before = link.sent.len();
        if link.advance().is_none() {
            break;
        }
        pair.count(&link.sent[before..]);
    }
    let bound = shares.turn + longest[0] * weights[1] + longest[1] * weights[0];
    worst.at_most(pair.high - pair.low, i128::from(bound), weights[1]);
    worst.require(link.dropped.is_empty(), || "packets were lost".to_owned());
    worst.fault(link.fault.as_ref());
}
