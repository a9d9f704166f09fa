//! Voice within its share of the link, beside permanently backlogged best effort.

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::{WIRE, cake, packet};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};
use lockgate_engine::packet::Header;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

pub(super) struct CakeVoice;

impl Oracle for CakeVoice {
    const FAMILY: &'static str = "O9";
    const NAME: &'static str = "cake-voice";
    const THEOREM: &'static str = "a tin within its part waits for the packet under way and its own; beyond its part it has its part and no more";
    const SOURCE: &'static str =
        "Høiland-Jørgensen, Täht, Morton, Piece of CAKE (2018), on DiffServ handling";
    const TRIALS: u32 = 2;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut within = Measurement::bound("wait of voice at 10 % and 24 % of the link", "us", 0.8);
        let mut beyond =
            Measurement::tolerance("share of voice that offers 40 %, off what the parts give", "");
        for trial in trials.each() {
            for percent in [10_u64, 24, 40] {
                let mut random = trials.random("cake-voice", trial);
                let mut link =
                    cake(&json!({ "bandwidth": "8mbit", "rtt": "1000s", "memlimit": "100MB" }), WIRE);
                for _ in 0..6_000 {
                    link.offer(packet(1, between(&mut random, 800, 1514), 0), Instant::ZERO);
                }
                // Packets of 200 bytes, at this percentage of the link.
                let gap = Duration::from_micros(200 * 100 / percent);
                let mut now = Instant::ZERO;
                for _ in 0..1_000 {
                    now = now + gap;
                    link.offer(Header { sent: now, ..packet(0, 200, 46) }, now);
                }
                let during = link.sent.iter().filter(|sent| sent.packet.flow.0 == 0).count() as f64;
                link.run_until(now + Duration::from_secs(2));
                if percent == 40 {
                    beyond.require_near(during * 200.0, 0.25 * now.as_secs_f64() * 1e6, 0.02);
                } else {
                    for sent in link.sent.iter().filter(|sent| sent.packet.flow.0 == 0) {
                        let waited = sent.at.since(sent.packet.sent).as_picos();
                        // A byte takes a microsecond.
                        within.require_at_most(waited.into(), (1514 + 200) * 1_000_000, 1_000_000);
                    }
                }
                within.fault(link.fault.as_ref());
            }
        }
        vec![within.finding(trials.count), beyond.finding(trials.count)]
    }
}
