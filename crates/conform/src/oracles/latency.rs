//! Latency of the service of a child that becomes backlogged.

use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::weighted::{RATE, header, link_of};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct Latency;

/// Offers a few packets to every child but the first.
fn others(link: &mut Link, children: usize, now: Instant, random: &mut Random) {
    for child in 1..children {
        for _ in 0..between(random, 1, 3) {
            link.offer(header(child, between(random, 40, 1514), 0), now);
        }
    }
}

/// Measures the largest latency in one busy period of child 0, among others that are always backlogged.
/// Returns true if the busy period ended.
fn busy_period(link: &mut Link, quanta: &[u64], random: &mut Random, worst: &mut Measurement) -> bool {
    let frame: u64 = quanta.iter().sum();
    // (3F - 2Q)/C, in picoseconds, plus one of rounding: a byte takes a microsecond.
    let allowed = Duration::from_micros(3 * frame - 2 * quanta[0] + 1);
    let mut now = link.next_event().unwrap_or(Instant::ZERO);
    for _ in 0..20 {
        others(link, quanta.len(), now, random);
    }
    now = now + Duration::from_micros(between(random, 0, 3_000));
    link.run_until(now);
    let (count, mut seen) = (between(random, 1, 40), link.sent.len());
    for _ in 0..count {
        link.offer(header(0, between(random, 40, 1514), 0), now);
    }
    let (mut served, mut left) = (0, count);
    while left > 0 {
        if link.port.backlog().packets < 60 {
            let at = link.next_event().unwrap_or(now);
            others(link, quanta.len(), at, random);
        } else if link.advance().is_none() {
            return false;
        }
        while seen < link.sent.len() {
            let sent = &link.sent[seen];
            seen += 1;
            if sent.packet.position.child() != 0 || sent.at < now {
                continue;
            }
            // Just before the end of this packet, all earlier ones have been served: the latency is their
            // delay against the rate r = C Q/F from the start.
            let end = sent.at + RATE.time_for(sent.packet.bytes());
            let at_rate = Duration::from_micros(served * frame / quanta[0]);
            let late = end.since(now).saturating_sub(at_rate);
            worst.require_at_most(i128::from(late.as_picos()), i128::from(allowed.as_picos()), 1_000_000);
            served += u64::from(sent.packet.length);
            left -= 1;
        }
    }
    true
}

impl Oracle for Latency {
    const FAMILY: &'static str = "O8";
    const NAME: &'static str = "latency";
    const THEOREM: &'static str =
        "a child with quantum Q of the frame F is served at rate C Q/F from (3 F - 2 Q)/C after it wakes";
    const SOURCE: &'static str = "Stiliadis and Varma, Latency-rate servers, ToN 6 (1998)";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["drr", "ets"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("latency of a child that wakes", "us", 0.3);
        for trial in trials.each() {
            let mut random = trials.random("latency", trial);
            let count = between(&mut random, 2, 6) as usize;
            let quanta: Vec<_> = (0..count).map(|_| between(&mut random, 1514, 6_000)).collect();
            let shares: Vec<_> =
                quanta.iter().map(|quantum| json!({ "quantum": format!("{quantum}B") })).collect();
            let mut link = link_of(kind.name, &json!({}), &shares);
            for _ in 0..40 {
                if !busy_period(&mut link, &quanta, &mut random, &mut worst) {
                    break;
                }
            }
            worst.fault(link.fault.as_ref());
        }
        vec![worst.finding(trials.count)]
    }
}
