//! The step threshold of the L queue.

use lockgate_engine::packet::Header;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{SLOW, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between, exponential};

pub(super) struct DualPi2Step;

impl Oracle for DualPi2Step {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "dualpi2-step";
    const THEOREM: &'static str = "while the probability is zero, the packets of the L queue that waited longer than the step are marked, and only those";
    const SOURCE: &'static str = "RFC 9332, appendix A.1; tc-dualpi2(8), step_thresh";
    const TRIALS: u32 = 10;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["dualpi2"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut longest = Measurement::bound("wait of an unmarked packet, of the step", "", 0.95);
        let mut wrong = Measurement::exact("marked although they waited no longer", "packets");
        for trial in trials.each() {
            let mut random = trials.random("dualpi2-step", trial);
            let micros = between(&mut random, 200, 5_000);
            let config = json!({ "step_thresh": format!("{micros}us"), "alpha": 0.0, "beta": 0.0 });
            let mut link = Link::new(port(kind.name, &config), SLOW);
            let (mut now, mut over) = (Instant::ZERO, 0);
            for _ in 0..3_000 {
                now = now + Duration::from_secs_f64(exponential(&mut random, 1.1e-3));
                let ecn = u8::from(random.below(3) > 0);
                link.offer(Header { sent: now, traffic_class: ecn, ..packet(0, 1000) }, now);
            }
            link.drain();
            let step = Duration::from_micros(micros);
            for sent in link.sent.iter().filter(|sent| sent.packet.traffic_class != 0) {
                let waited = sent.at.since(sent.packet.sent);
                if sent.packet.is_marked() {
                    over += 1;
                    wrong.require_zero(u64::from(waited <= step));
                } else {
                    longest.require_share(waited.as_picos().into(), step.as_picos().into());
                }
            }
            longest.require(over > 0, || "no packet waited longer than the step".to_owned());
            longest.fault(link.fault.as_ref());
        }
        vec![longest.finding(trials.count), wrong.finding(trials.count)]
    }
}
