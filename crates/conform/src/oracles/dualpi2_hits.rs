//! Frequency of drops and marks in `dualpi2`, at constant probabilities.

use lockgate_engine::packet::Header;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::{Link, Sent};
use crate::fixtures::managed::{FAST, SLOW, gauge, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct DualPi2Hits;

/// Creates a link whose base probability is brought to `base` and then frozen by zero gains.
fn frozen(kind: &str, base: f64, k: u8, moment: &str) -> Link {
    let mut config = json!({
        "coupling_factor": k, "drop": moment, "step_thresh": "1000s", "limit": "100000p", "target": "0ms",
        "tupdate": "10ms", "beta": 0.0, "alpha": base * 100.0,
    });
    // The link is busy until the update at 10 ms, by which time the second packet has waited that long.
    let mut link = Link::new(port(kind, &config), SLOW);
    link.offer(packet(0, 10_000), Instant::ZERO);
    link.offer(Header { traffic_class: 2, ..packet(0, 64) }, Instant::ZERO);
    link.run_until(Instant::ZERO + Duration::from_millis(10));
    config["alpha"] = json!(0.0);
    link.reconfigure(kind, Instant::ZERO + Duration::from_micros(10_001), &config);
    link.rate = FAST;
    link.drain();
    link.sent.clear();
    link.dropped.clear();
    link
}

impl Oracle for DualPi2Hits {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "dualpi2-hits";
    const THEOREM: &'static str = "of n packets of the L queue n k p' are marked, and of n classic ones n p'^2 are marked or dropped, to within one";
    const SOURCE: &'static str = "RFC 9332, appendix A.1";
    const TRIALS: u32 = 10;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["dualpi2"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("hits off n p", "packets", 0.5);
        for trial in trials.each() {
            let (base, k) = [(0.1, 2_u8), (0.25, 2), (0.37, 2), (0.05, 8), (0.2, 0)][trial as usize % 5];
            let moment = ["drop_dequeue", "drop_enqueue"][trial as usize / 5 % 2];
            let mut link = frozen(kind.name, base, k, moment);
            let off = (gauge(&mut link.port, "base_probability") - base).abs();
            worst.require(off < 1e-8, || format!("the base probability is off by {off}"));
            let mut random = trials.random("dualpi2-hits", trial);
            let mut offered = [0.0; 3];
            for index in 0..30_000 {
                let ecn = random.below(3) as u8;
                offered[usize::from(ecn)] += 1.0;
                let header = Header { traffic_class: ecn, ..packet(ecn.into(), 300) };
                link.offer(header, Instant::ZERO + Duration::from_micros(20_000 + index));
            }
            link.drain();
            let marked = |flow: u32| {
                let of = |sent: &&Sent| sent.packet.flow.0 == flow && sent.packet.is_marked();
                link.sent.iter().filter(of).count() as f64
            };
            // The flow's number is its codepoint: not ECN-capable, ECT(1), ECT(0).
            let classic = link.dropped.len() as f64 + marked(2);
            // Within one, plus the granularity of the probability.
            worst.require_real((classic - (offered[0] + offered[2]) * base * base).abs(), 1.001);
            worst.require_real((marked(1) - offered[1] * f64::from(k) * base).abs(), 1.001);
            let wrong = link.dropped.iter().filter(|drop| drop.packet.flow.0 != 0).count();
            worst.require(wrong == 0, || format!("{wrong} dropped whose senders understand marks"));
            worst.fault(link.fault.as_ref());
        }
        vec![worst.finding(trials.count)]
    }
}
