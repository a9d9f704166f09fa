//! COBALT: a packet that waits alone is never dropped.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{SLOW, gauge, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between, exponential};

pub(super) struct LastPacket;

impl Oracle for LastPacket {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "last-packet";
    const THEOREM: &'static str = "after overload, while the drop probability is high and every wait above the target, packets that \
         wait alone are sent, each of them";
    const SOURCE: &'static str = "tc-cake(8); Palmei et al., LANMAN 2019";
    const TRIALS: u32 = 10;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cobalt"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("drops of packets that waited alone", "packets");
        for trial in trials.each() {
            let mut random = trials.random("last", trial);
            // No backlog is too small for a drop, no wait below the target, and the probability never falls.
            let config = |interval| {
                json!({
                    "limit": "20p", "mtu": "1B", "target": "1ns", "interval": interval,
                    "increase": "5%", "decrease": "0%",
                })
            };
            // The overload is BLUE's alone; the schedule of drops begins after it.
            let mut link = Link::new(port(kind.name, &config("10000s")), SLOW);
            let mut now = Instant::ZERO;
            while now < Instant::ZERO + Duration::from_secs(2) {
                now = now + Duration::from_secs_f64(exponential(&mut random, 0.25e-3));
                link.offer(packet(0, 1000), now);
            }
            link.drain();
            let high = gauge(&mut link.port, "drop_probability");
            worst.require(high > 0.2, || format!("the probability is only {high}"));
            link.reconfigure(kind.name, now, &config("10ns"));
            let before = link.dropped.len();
            for _ in 0..200 {
                // The second waits alone behind the first, which is under way.
                now = now + Duration::from_micros(between(&mut random, 2_000, 9_000));
                link.offer(packet(0, 1000), now);
                link.offer(packet(0, 1000), now + Duration::from_micros(between(&mut random, 1, 900)));
            }
            link.drain();
            worst.fault(link.fault.as_ref());
            worst.require_zero((link.dropped.len() - before) as u64);
        }
        vec![worst.finding(trials.count)]
    }
}
