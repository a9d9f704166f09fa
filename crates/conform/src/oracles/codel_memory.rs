//! Controlled delay: memory of the last dropping state.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{FAST, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct CodelMemory;

/// Fills a queue to start a dropping state; returns its drops.
pub(super) fn spell(link: &mut Link, at: Instant) -> Vec<Instant> {
    let from = link.dropped.len();
    for _ in 0..20_000 {
        link.offer(packet(0, 1000), at);
    }
    link.drain();
    link.dropped[from..].iter().map(|drop| drop.at).collect()
}

impl Oracle for CodelMemory {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "codel-memory";
    const THEOREM: &'static str = "a spell of drops within sixteen intervals of the last goes on from the count it had learnt; a later one begins anew";
    const SOURCE: &'static str = "RFC 8289, section 5.4, with the sixteen intervals of Linux";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["codel"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("gap off its schedule", "us", 0.8);
        let config = json!({ "limit": "100000p", "target": "50us", "interval": "1ms" });
        // The memory expires relative to the drop that would have been next.
        for (pause, remembers) in [(1, true), (14, true), (18, false), (100, false)] {
            let mut link = Link::new(port(kind.name, &config), FAST);
            let first = spell(&mut link, Instant::ZERO);
            let end = link.sent.last().map_or(Instant::ZERO, |sent| sent.at);
            let second = spell(&mut link, end + Duration::from_millis(pause));
            worst.fault(link.fault.as_ref());
            let [one, two, ..] = second[..] else {
                worst.fault(Some(&format!("{} drops after {pause} ms", second.len())));
                continue;
            };
            // Number of drops of the first dropping state, without the one that began it.
            let learnt = if remembers { (first.len() - 1) as f64 } else { 1.0 };
            let gap = two.since(one).as_secs_f64();
            let late = gap - 1e-3 / libm::sqrt(learnt);
            worst.require(late >= -1e-9, || format!("after {pause} ms the gap is {gap} s"));
            // A packet takes a microsecond.
            worst.require_real(late * 1e6, 1.1);
        }
        vec![worst.finding(trials.count)]
    }
}
