//! Deficit round robin: how far two backlogged children can be apart, and how long one may have to wait.

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::{Value, json};

use crate::common::kind;
use crate::common::link::Link;
use crate::{between, random};

/// A byte takes a microsecond: no time is rounded.
const RATE: Rate = Rate::from_bits(8_000_000);

fn shares(quanta: &[u64]) -> Vec<Value> {
    quanta.iter().map(|quantum| json!({ "quantum": format!("{quantum}B") })).collect()
}

/// Children with these quanta, each with a queue without end.
fn link(quanta: &[u64]) -> Link {
    let children = shares(quanta).into_iter().enumerate().map(|(index, share)| {
        let limit = json!({ "limit": "1000000p" });
        (share, kind::build("fifo", &format!("child/{index}"), &limit, Vec::new()).expect("valid"))
    });
    let root = kind::build("drr", "root", &json!({}), children.collect()).expect("valid");
    Link::new(Port::new(root, Random::stream(Seed(1), "port")), RATE)
}

fn packet(child: usize, length: u64) -> Header {
    Header { flow: FlowId(child as u32), class: child as u16, length: length as u32, ..Header::default() }
}

/// Children that always have something, with packets up to their own longest.
struct Backlogged {
    link: Link,
    longest: Vec<u64>,
}

impl Backlogged {
    fn new(quanta: &[u64], longest: Vec<u64>, random: &mut Random) -> Self {
        let mut this = Self { link: link(quanta), longest };
        for child in 0..quanta.len() {
            for _ in 0..3 {
                this.offer(child, random);
            }
        }
        this
    }

    fn offer(&mut self, child: usize, random: &mut Random) {
        // The longest often, and now and then the shortest.
        let longest = self.longest[child];
        let length = match random.below(4) {
            0 => longest,
            1 => 1,
            _ => between(random, 1, longest as u32),
        };
        let now = self.link.sent.last().map_or(Instant::ZERO, |sent| sent.at);
        self.link.offer(packet(child, length), now);
    }

    /// Sends the next packet, gives its child another, and returns child and length.
    fn send(&mut self, random: &mut Random) -> (usize, u64) {
        let at = self.link.next_event().expect("it is backlogged");
        self.link.step(at);
        let packet = &self.link.sent.last().expect("it is backlogged").packet;
        let (child, length) = (packet.flow.0 as usize, u64::from(packet.length));
        self.offer(child, random);
        (child, length)
    }
}

/// `S_i Q_j - S_j Q_i` for every pair, and how far each has gone to either side.
struct Spread {
    served: Vec<i128>,
    reached: Vec<Vec<(i128, i128)>>,
}

impl Spread {
    fn new(count: usize) -> Self {
        Self { served: vec![0; count], reached: vec![vec![(0, 0); count]; count] }
    }

    fn serve(&mut self, child: usize, length: u64, quanta: &[u64]) {
        self.served[child] += i128::from(length);
        for other in (0..quanta.len()).filter(|other| *other != child) {
            let (first, second) = (child.min(other), child.max(other));
            let difference = self.served[first] * i128::from(quanta[second])
                - self.served[second] * i128::from(quanta[first]);
            let (low, high) = &mut self.reached[first][second];
            *low = (*low).min(difference);
            *high = (*high).max(difference);
        }
    }

    /// The largest difference over any interval, as a share of `Q_i Q_j + L_i Q_j + L_j Q_i`.
    fn worst(&self, quanta: &[u64], longest: &[u64]) -> f64 {
        let mut worst = 0.0_f64;
        for first in 0..quanta.len() {
            for second in first + 1..quanta.len() {
                let (low, high) = self.reached[first][second];
                let bound = u128::from(quanta[first]) * u128::from(quanta[second])
                    + u128::from(longest[first]) * u128::from(quanta[second])
                    + u128::from(longest[second]) * u128::from(quanta[first]);
                assert!((high - low) as u128 <= bound, "{} is over {bound}", high - low);
                worst = worst.max((high - low) as f64 / bound as f64);
            }
        }
        worst
    }
}

#[test]
fn backlogged_children_get_their_shares_over_every_interval() {
    let mut worst = 0.0_f64;
    for trial in 0..80 {
        let mut random = random("fairness", trial);
        let count = between(&mut random, 2, 6) as usize;
        // Quanta smaller and larger than the packets.
        let most = [100, 1_514, 20_000][random.below(3) as usize];
        let quanta: Vec<_> = (0..count).map(|_| between(&mut random, 1, most)).collect();
        let longest: Vec<_> = (0..count).map(|_| between(&mut random, 1, 1514)).collect();
        let mut children = Backlogged::new(&quanta, longest.clone(), &mut random);
        let mut spread = Spread::new(count);
        for _ in 0..2_000 {
            let (child, length) = children.send(&mut random);
            spread.serve(child, length, &quanta);
        }
        worst = worst.max(spread.worst(&quanta, &longest));
    }
    println!("fairness: {worst:.3} of the bound");
    assert!(worst > 0.8, "the traffic tries nothing");
}

#[test]
fn a_smaller_quantum_holds_at_once() {
    let mut random = random("smaller", 0);
    let longest = vec![1514, 1514];
    let mut children = Backlogged::new(&[1_000_000_000, 1514], longest.clone(), &mut random);
    for _ in 0..10 {
        children.send(&mut random);
    }
    let quanta = [1514, 1514];
    let now = children.link.sent.last().expect("some").at;
    let changed = children.link.port.with_node("root", now, &NoHeaders, &mut |node, cx| {
        kind::reconfigure(node, &json!({}), &shares(&quanta), cx)
    });
    changed.expect("there is one").expect("valid");
    let mut spread = Spread::new(2);
    for _ in 0..500 {
        let (child, length) = children.send(&mut random);
        spread.serve(child, length, &quanta);
    }
    spread.worst(&quanta, &longest);
}

/// One child comes and goes among others that always send; the longest latency of its service, as a
/// share of the bound.
fn latency(quanta: &[u64], random: &mut Random) -> f64 {
    let mut link = link(quanta);
    let frame: u64 = quanta.iter().sum();
    // (3F - 2Q)/C, in picoseconds: a byte takes a microsecond.
    let allowed = Duration::from_micros(3 * frame - 2 * quanta[0]);
    let mut worst = 0.0_f64;
    let others = |link: &mut Link, now: Instant, random: &mut Random| {
        for child in 1..quanta.len() {
            for _ in 0..between(random, 1, 3) {
                link.offer(packet(child, between(random, 40, 1514)), now);
            }
        }
    };
    for _ in 0..40 {
        // The others are backlogged; then the child's own busy period begins.
        let mut now = link.next_event().unwrap_or(Instant::ZERO);
        for _ in 0..20 {
            others(&mut link, now, random);
        }
        now = now + Duration::from_micros(between(random, 0, 3_000));
        link.run_until(now);
        let (count, from) = (between(random, 1, 40), link.sent.len());
        for _ in 0..count {
            link.offer(packet(0, between(random, 40, 1514)), now);
        }
        let (mut seen, mut served, mut left) = (from, 0, count);
        while left > 0 {
            let at = link.next_event().expect("it is backlogged");
            if link.port.backlog().packets < 60 {
                others(&mut link, at, random);
            } else {
                link.step(at);
            }
            while seen < link.sent.len() {
                let sent = &link.sent[seen];
                seen += 1;
                if sent.packet.class != 0 || sent.at < now {
                    continue;
                }
                // Just before the end of this packet, those before it have been served: the wait of the
                // server is how late that is against the rate r = C Q/F from the start.
                let end = sent.at + RATE.time_for(sent.packet.bytes());
                let at_rate = Duration::from_micros(served * frame / quanta[0]);
                let late = end.since(now).saturating_sub(at_rate);
                assert!(late <= allowed + Duration::from_micros(1), "{late} is over {allowed}");
                worst = worst.max(late.as_secs_f64() / allowed.as_secs_f64());
                served += u64::from(sent.packet.length);
                left -= 1;
            }
        }
    }
    worst
}

#[test]
fn a_child_that_wakes_is_served_within_the_latency() {
    let mut worst = 0.0_f64;
    for trial in 0..40 {
        let mut random = random("latency", trial);
        let count = between(&mut random, 2, 6) as usize;
        let quanta: Vec<_> = (0..count).map(|_| between(&mut random, 1514, 6_000)).collect();
        worst = worst.max(latency(&quanta, &mut random));
    }
    println!("latency: {worst:.3} of the bound");
    assert!(worst > 0.3, "the traffic tries nothing");
}
