//! Controlled delay: the schedule of its drops against the exact square root.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::random::Random;
use lockgate_engine::units::Instant;
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{FAST, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct CodelSchedule;

/// A long queue of packets of one size that drains through this kind, with its parameters.
pub(super) struct Draining {
    /// Link after draining, with all drops.
    pub link: Link,
    /// Transmission time of a packet, in seconds.
    pub packet_time: f64,
    /// Interval, in seconds.
    pub interval: f64,
    /// Target, in seconds.
    pub target: f64,
}

impl Draining {
    /// Drains 60 000 packets offered at once: the queue lasts for more than twenty intervals.
    pub(super) fn new(kind: &str, random: &mut Random) -> Self {
        let length = between(random, 300, 1514);
        let micros = between(random, 200, 3 * length as u32);
        let target = micros / between(random, 4, 50);
        let config = json!({
            "limit": "100000p", "target": format!("{target}us"), "interval": format!("{micros}us"),
        });
        let mut link = Link::new(port(kind, &config), FAST);
        for _ in 0..60_000 {
            link.offer(packet(0, length), Instant::ZERO);
        }
        link.drain();
        Self {
            link,
            packet_time: length as f64 * 1e-9,
            interval: micros as f64 * 1e-6,
            target: target as f64 * 1e-6,
        }
    }
}

impl Oracle for CodelSchedule {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "codel-schedule";
    const THEOREM: &'static str = "the first drop comes an interval after the wait went over the target, the n-th after it interval / sqrt(n) after \
         the one before, each at the next departure";
    const SOURCE: &'static str = "RFC 8289, sections 4.2 and 5.3";
    const TRIALS: u32 = 20;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["codel"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut late_worst = Measurement::bound("after its schedule", "us", 0.9);
        let mut early_worst = Measurement::tolerance("before its schedule", "us");
        for trial in trials.each() {
            let draining = Draining::new(kind.name, &mut trials.random("codel", trial));
            let (drops, packet_time) = (&draining.link.dropped, draining.packet_time);
            late_worst.fault(draining.link.fault.as_ref());
            late_worst.require(drops.len() > 50, || format!("only {} drops", drops.len()));
            let mut due = draining.target + draining.interval;
            for (index, drop) in drops.iter().enumerate() {
                late_worst.require(drop.reason == DropReason::Early, || "a drop is not early".to_owned());
                let late = drop.at.as_secs_f64() - due;
                // The first drop needs a departure after the target, and another after the interval.
                let most = if index == 0 { 2.0 * packet_time } else { packet_time };
                late_worst.require_real(late * 1e6, (most + 1e-9) * 1e6);
                // Accumulated rounding of the steps.
                early_worst.require_real(-late * 1e6, 1e-5 * (index + 1) as f64);
                if index == 0 {
                    due = drop.at.as_secs_f64();
                }
                due += draining.interval / libm::sqrt((index + 1) as f64);
            }
        }
        [late_worst, early_worst].map(|worst| worst.finding(trials.count)).into()
    }
}
