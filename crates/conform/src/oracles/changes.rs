//! A shaper under changes: they neither lose nor gain service.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use super::delivery::{hold_delivery, saturated};
use super::envelope::{fullest, hold_envelope};
use crate::finding::{Finding, Measurement};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct Changes;

impl Oracle for Changes {
    const FAMILY: &'static str = "O5";
    const NAME: &'static str = "changes";
    const THEOREM: &'static str = "a shaper that is set anew every 50 us keeps envelope and delivery as if it were left alone, and one that \
         changes between two rates those of their mean";
    const SOURCE: &'static str = "Cruz, A calculus for network delay, part I (1991)";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["tbf"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut short = Measurement::bound("shortfall", "B", 0.9);
        let mut full = Measurement::bound("fullest bucket", "B", 0.9);
        for trial in trials.each() {
            // A byte takes 80 us, and a change comes every 50 us.
            let mut random = trials.random("changes", trial);
            let config = json!({ "rate": "100kbit", "burst": "1514B", "limit": "200p" });
            let until = Instant::ZERO + Duration::from_secs(2);
            let link = saturated(&[config], Duration::from_micros(50), until, &mut random);
            short.fault(link.fault.as_ref());
            hold_delivery(&mut short, &link.sent, 100_000, 1514, until);
            hold_envelope(&mut full, fullest(&link.sent, 100_000), 1514, 100_000);
            // Two rates in turns of 70 us, each for half of the time: within one packet.
            let configs = [100_000, 300_000]
                .map(|rate| json!({ "rate": format!("{rate}bit"), "burst": "1514B", "limit": "200p" }));
            let link = saturated(&configs, Duration::from_micros(70), until, &mut random);
            short.fault(link.fault.as_ref());
            hold_delivery(&mut short, &link.sent, 200_000, 1500, until);
            hold_envelope(&mut full, fullest(&link.sent, 200_000), 1530, 0);
        }
        [short, full].map(|worst| worst.finding(trials.count)).into()
    }
}
