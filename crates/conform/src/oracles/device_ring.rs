//! Fairness of a scheduler above a device ring: the 1998 driver that took 127 packets and freed its slots
//! 120 at a time.
//!
//! Two sources of 1450-byte packets (1488 on the wire) at 8050 packets per second each, gaps uniform within
//! 30 %, one link of 100 Mbit/s, 64 KiB of buffer, 8 s of which the first 2 do not count.

use std::collections::VecDeque;

use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::ring::RingConfig;
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::weighted::header;
use crate::kind::{self, Kind};
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct DeviceRing;

/// Weights of the second class; the first has 100.
const WEIGHTS: [u32; 5] = [30, 70, 100, 500, 1000];
/// Rate at which 1450 bytes take as long as 1488 at 100 Mbit/s.
const WIRE: Rate = Rate::from_bits(97_446_237);
/// Mean gap of a source, in picoseconds: 8050 packets per second.
const GAP: u64 = 124_223_602;

/// A row of the table: the setup above the link, and the results of an independent simulation for each
/// weight.
struct Row {
    whats: [&'static str; 3],
    ring: RingConfig,
    limit: &'static str,
    weighted: bool,
    /// Service of the second class divided by that of the first.
    ratio: [f64; 5],
    /// Delays in the scheduler in ms, of the first class and the second.
    delays: Option<[(f64, f64); 5]>,
    /// Longest queue of each class, in packets.
    longest: Option<[(u64, u64); 5]>,
}

const FXP: RingConfig = RingConfig { slots: 127, completions: 120 };
const ONE: RingConfig = RingConfig { slots: 1, completions: 1 };

const TABLE: [Row; 5] = [
    Row {
        whats: [
            "off the ratio, ring of 127, weighted drop",
            "off the delay, ring of 127, weighted drop",
            "off the longest queue, ring of 127, weighted drop",
        ],
        ring: FXP,
        limit: "65536B",
        weighted: true,
        ratio: [0.66, 0.86, 1.00, 1.70, 1.89],
        delays: Some([(1.05, 0.13), (0.70, 0.36), (0.53, 0.53), (0.07, 1.19), (0.02, 1.33)]),
        longest: Some([(35, 25), (27, 25), (25, 25), (25, 38), (25, 41)]),
    },
    Row {
        whats: ["off the ratio, ring of 127, unweighted drop", "", ""],
        ring: FXP,
        limit: "65536B",
        weighted: false,
        ratio: [1.00; 5],
        delays: None,
        longest: None,
    },
    Row {
        whats: ["off the ratio, ring of 1, weighted drop", "off the delay, ring of 1, weighted drop", ""],
        ring: ONE,
        limit: "65536B",
        weighted: true,
        ratio: [0.30, 0.70, 1.00, 5.00, 10.0],
        delays: Some([(4.28, 1.21), (3.30, 2.19), (2.79, 2.79), (0.85, 4.64), (0.52, 4.99)]),
        longest: None,
    },
    Row {
        whats: ["off the ratio, ring of 1, unweighted drop", "off the delay, ring of 1, unweighted drop", ""],
        ring: ONE,
        limit: "65536B",
        weighted: false,
        ratio: [0.30, 0.70, 1.00, 5.00, 10.0],
        delays: Some([(2.70, 2.82), (2.75, 2.80), (2.79, 2.79), (2.83, 2.68), (2.87, 2.64)]),
        longest: None,
    },
    Row {
        whats: ["off the ratio, ring of 127, 1 MB, unweighted drop", "", ""],
        ring: FXP,
        limit: "1MB",
        weighted: false,
        ratio: [0.30, 0.70, 1.00, 5.00, 10.0],
        delays: None,
        longest: None,
    },
];

/// Results of two classes.
#[derive(Default)]
struct Measured {
    sent: [u64; 2],
    /// Sum over the packets sent, in picoseconds.
    delay: [u64; 2],
    longest: [u64; 2],
}

impl Measured {
    fn delay_ms(&self, class: usize) -> f64 {
        self.delay[class] as f64 / self.sent[class] as f64 / 1e9
    }
}

/// A scheduler above a ring, with the time at which each packet passed from one to the other.
struct Driver {
    link: Link,
    offered: u64,
    dequeued: u64,
    seen: usize,
    /// Times at which the packets in the ring left the scheduler, in order.
    left: VecDeque<Instant>,
    measured: Measured,
}

impl Driver {
    /// Records packets that left the scheduler at `now`, and packets that were sent.
    fn note(&mut self, now: Instant) {
        let gone = self.link.dropped.len() as u64 + self.link.port.backlog().packets;
        while self.offered - gone > self.dequeued {
            self.left.push_back(now);
            self.dequeued += 1;
        }
        for sent in &self.link.sent[self.seen..] {
            let left = self.left.pop_front().unwrap_or(now);
            if sent.at.as_secs_f64() >= 2.0 {
                let class = sent.packet.position.child();
                self.measured.sent[class] += 1;
                self.measured.delay[class] += left.since(sent.packet.arrived).as_picos();
            }
        }
        self.seen = self.link.sent.len();
    }

    fn offer(&mut self, class: usize, now: Instant) {
        while let Some(at) = self.link.next_event().filter(|at| *at <= now) {
            self.link.step(at);
            self.note(at);
        }
        self.offered += 1;
        self.link.offer(header(class, 1450, 0), now);
        self.note(now);
        let longest = &mut self.measured.longest;
        self.link.port.each_node(&mut |node| {
            if let Some(class) = ["class/0", "class/1"].iter().position(|name| **name == **node.name()) {
                longest[class] = longest[class].max(node.backlog().packets);
            }
        });
    }
}

fn measure(kind: &str, row: &Row, weight: u32, random: &mut Random) -> Result<Measured, String> {
    let children = [100, weight].into_iter().enumerate().map(|(class, weight)| {
        let limit = json!({ "limit": "1000000p" });
        (json!({ "weight": weight }), kind::build("fifo", &format!("class/{class}"), &limit, Vec::new()))
    });
    let config = json!({ "limit": row.limit, "weighted_drop": row.weighted });
    let root = kind::build(kind, "root", &config, children.collect());
    let port = Port::new(root, Random::stream(Seed(1), "port"));
    let port = port.with_ring(row.ring).map_err(|invalid| invalid.to_string())?;
    let mut driver = Driver {
        link: Link::new(port, WIRE),
        offered: 0,
        dequeued: 0,
        seen: 0,
        left: VecDeque::new(),
        measured: Measured::default(),
    };
    let mut gap =
        || Duration::from_picos(GAP / 10 * 7 + GAP / 10 * 6 * u64::from(random.below(1 << 16)) / (1 << 16));
    let mut next = [Instant::ZERO + gap(), Instant::ZERO + gap()];
    while next[0].min(next[1]) < Instant::ZERO + Duration::from_secs(8) {
        let class = usize::from(next[1] < next[0]);
        driver.offer(class, next[class]);
        next[class] = next[class] + gap();
    }
    driver.link.fault.map_or(Ok(driver.measured), Err)
}

/// Requires a deviation of at most 5 % of `theory`, plus half of the last digit that the table prints.
fn near(worst: &mut Measurement, measured: f64, theory: f64, digit: f64) {
    worst.require_real((measured - theory).abs(), 0.05 * theory + digit / 2.0);
}

fn hold_row(kind: &str, row: &Row, trials: Trials) -> Vec<Finding> {
    let mut worst = row.whats.map(|what| Measurement::tolerance(what, ""));
    for trial in trials.each() {
        let mut random = trials.random("device-ring", trial);
        for (index, weight) in WEIGHTS.into_iter().enumerate() {
            let measured = match measure(kind, row, weight, &mut random) {
                Ok(measured) => measured,
                Err(why) => {
                    worst[0].fault(Some(&why));
                    continue;
                }
            };
            near(&mut worst[0], measured.sent[1] as f64 / measured.sent[0] as f64, row.ratio[index], 0.01);
            if let Some((first, second)) = row.delays.map(|delays| delays[index]) {
                near(&mut worst[1], measured.delay_ms(0), first, 0.01);
                near(&mut worst[1], measured.delay_ms(1), second, 0.01);
            }
            if let Some((first, second)) = row.longest.map(|longest| longest[index]) {
                near(&mut worst[2], measured.longest[0] as f64, first as f64, 1.0);
                near(&mut worst[2], measured.longest[1] as f64, second as f64, 1.0);
            }
        }
    }
    let asked = row.whats.iter().zip(worst).filter(|(what, _)| !what.is_empty());
    asked.map(|(_, worst)| worst.finding(trials.count)).collect()
}

impl Oracle for DeviceRing {
    const FAMILY: &'static str = "O22";
    const NAME: &'static str = "device-ring";
    const THEOREM: &'static str = "above a ring that swallows the buffer, weights 1000:100 give 1.9 and not 10, and 1.0 with an unweighted drop; above          a ring of one, or with a buffer larger than the ring, exactly 10";
    const SOURCE: &'static str =
        "an independent simulation of ALTQ 1.0.1 over the fxp driver of 1998; 5 % of each value";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["wfq-altq"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        TABLE.iter().flat_map(|row| hold_row(kind.name, row, trials)).collect()
    }
}
