//! The share of an unresponsive flow of a link behind `CHOKe`.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{SLOW, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, exponential};

pub(super) struct ChokeShare;

/// Number of packets in the queue: the others always fill up to it, as many responsive flows would.
const BACKLOG: u64 = 300;
/// Packets sent before counting starts, and packets counted.
const BEFORE: usize = 3_000;
const COUNTED: usize = 60_000;

/// Results for the unresponsive flow.
struct Outcome {
    /// Fraction of the packets sent.
    share: f64,
    /// Fraction of its arrivals that were compared with one of its own packets.
    met: f64,
    fault: Option<String>,
}

/// Runs a Poisson flow of `load` times the link among packets that all belong to different flows.
fn run(kind: &str, load: f64, trials: Trials, trial: u32) -> Outcome {
    // The average is far above the minimum, and packets are dropped only because of their flow.
    let config = json!({
        "limit": "1000000p", "min": "1p", "max": "1000000000p", "burst": 1, "probability": "0%",
    });
    let mut random = trials.random("choke-share", trial);
    let mut link = Link::new(port(kind, &config), SLOW);
    let (mut other, mut next, mut came) = (1, 0.0, 0_u32);
    let mut now = Instant::ZERO;
    let (mut sent_before, mut dropped_before) = (None, 0);
    while link.fault.is_none() && link.sent.len() < BEFORE + COUNTED {
        while link.port.backlog().packets < BACKLOG {
            link.offer(packet(other, 1000), now);
            other += 1;
        }
        if sent_before.is_none() && link.sent.len() >= BEFORE {
            (sent_before, dropped_before, came) = (Some(link.sent.len()), link.dropped.len(), 0);
        }
        let arrival = Instant::ZERO + Duration::from_secs_f64(next);
        if link.next_event().is_some_and(|end| end < arrival) {
            now = link.advance().unwrap_or(now);
        } else {
            now = arrival;
            link.offer(packet(0, 1000), now);
            came += 1;
            next += exponential(&mut random, 1e-3 / load);
        }
    }
    let sent = &link.sent[sent_before.unwrap_or(0)..];
    let own = sent.iter().filter(|sent| sent.packet.flow.0 == 0).count();
    let dropped = &link.dropped[dropped_before..];
    let stranger = dropped.iter().any(|dropped| dropped.packet.flow.0 != 0);
    let wrong = stranger.then(|| "a packet was dropped that never met its own flow".to_owned());
    Outcome {
        share: own as f64 / sent.len() as f64,
        met: dropped.len() as f64 / 2.0 / f64::from(came),
        fault: link.fault.or(wrong),
    }
}

impl Oracle for ChokeShare {
    const FAMILY: &'static str = "O14";
    const NAME: &'static str = "choke-share";
    const THEOREM: &'static str = "a Poisson flow of x times the link among many others that keep the queue at b packets gets a / (e^a + a) of the link \
         (within 0.01), at most 1 / (1 + e), and meets itself with (1 - e^-a) / (2 - e^-a) of its packets (within 0.01), where \
         x = a (2 - e^-a) / (1 + a e^-a): as x grows it gets nothing, and half of its packets meet";
    const SOURCE: &'static str = "Tang, Wang and Low, Understanding CHOKe, Transactions on Networking 12 (2004), for many flows and no drops but by CHOKe";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["choke"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut off = Measurement::tolerance("off its share of the link", "");
        let mut most = Measurement::bound("share of the link", "", 0.9);
        let mut met = Measurement::tolerance("off its share that meets", "");
        for trial in trials.each() {
            for a in [0.25_f64, 0.5, 1.0, 2.0, 4.0, 6.0] {
                let rest = libm::exp(-a);
                let load = a * (2.0 - rest) / (1.0 + a * rest);
                let outcome = run(kind.name, load, trials, trial);
                off.fault(outcome.fault.as_ref());
                off.require_real((outcome.share - a / (libm::exp(a) + a)).abs(), 0.01);
                most.require_real(outcome.share, 1.0 / (1.0 + core::f64::consts::E) + 0.01);
                met.require_real((outcome.met - (1.0 - rest) / (2.0 - rest)).abs(), 0.01);
            }
        }
        [off, most, met].map(|worst| worst.finding(trials.count)).into()
    }
}
