//! The allowance of bursts of the proportional integral controller.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{SLOW, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct PieBurst;

/// Offers a burst of four times the link for `length` after a quiet time; returns the number of drops.
fn drops(link: &mut Link, start: Instant, length: Duration) -> usize {
    let before = link.dropped.len();
    let mut now = start;
    while now < start + length {
        link.offer(packet(0, 1000), now);
        now = now + Duration::from_micros(250);
    }
    link.dropped.len() - before
}

impl Oracle for PieBurst {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "pie-burst";
    const THEOREM: &'static str = "after quiet times a burst that ends one update before the allowance loses nothing, however much it \
         brings; one that goes on for a second loses packets";
    const SOURCE: &'static str = "RFC 8033, section 4.1 (`max_burst`)";
    const TRIALS: u32 = 20;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["pie"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("drops in a burst within the allowance", "packets");
        for trial in trials.each() {
            let mut random = trials.random("burst", trial);
            let update = between(&mut random, 5, 30);
            let allowance = update * between(&mut random, 3, 12);
            let flavour = if trial % 2 == 0 { "rfc" } else { "linux" };
            let config = json!({
                "flavour": flavour, "limit": "100000p", "target": "5ms",
                "tupdate": format!("{update}ms"), "max_burst": format!("{allowance}ms"),
            });
            for (length, is_within) in [(allowance - update, true), (allowance + 1_000, false)] {
                let mut link = Link::new(port(kind.name, &config), SLOW);
                // Quiet: a packet now and then, until any time between two updates.
                let mut now = Instant::ZERO;
                for _ in 0..between(&mut random, 20, 60) {
                    link.offer(packet(0, 1000), now);
                    now = now + Duration::from_micros(between(&mut random, 3_000, 40_000));
                }
                let dropped = drops(&mut link, now, Duration::from_millis(length));
                worst.fault(link.fault.as_ref());
                if is_within {
                    worst.require_zero(dropped as u64);
                } else {
                    worst.require(dropped > 0, || format!("a burst of {length} ms loses nothing"));
                }
            }
        }
        vec![worst.finding(trials.count)]
    }
}
