//! Scheduling of the two queues of `dualpi2` while both are backlogged.

use lockgate_engine::packet::Header;
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::{saturate, widest};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{SLOW, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct DualPi2Protection;

impl Oracle for DualPi2Protection {
    const FAMILY: &'static str = "O12";
    const NAME: &'static str = "dualpi2-protection";
    const THEOREM: &'static str = "while both queues wait, the classic one gets its protection w of the bytes: |(1 - w) S_C - w S_L| <= (1 - w) L_C + w L_L over every interval";
    const SOURCE: &'static str =
        "the credits of tc-dualpi2(8), classic_protection, as in RFC 9332, section 4.2.2";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["dualpi2"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("off its protection, of the bound", "", 0.9);
        for trial in trials.each() {
            let mut random = trials.random("dualpi2-protection", trial);
            let percent = between(&mut random, 0, 100);
            let longest = [between(&mut random, 64, 1514), between(&mut random, 64, 9014)];
            let config = json!({
                "classic_protection": format!("{percent}%"), "alpha": 0.0, "beta": 0.0, "step_thresh": "1000s",
            });
            let mut link = Link::new(port(kind.name, &config), SLOW);
            // Flow 0 is not ECN-capable, flow 1 belongs to the L queue.
            let mut draw = |flow: u32| {
                let most = longest[flow as usize];
                let length = if random.below(3) == 0 { most } else { between(&mut random, 1, most as u32) };
                Header { traffic_class: flow as u8, ..packet(flow, length) }
            };
            saturate(&mut link, 2, 3_000, &mut draw);
            // The first packets found an idle link.
            let [rest, percent] = [i128::from(100 - percent), i128::from(percent)];
            let off = widest(link.sent.get(6..).unwrap_or_default(), |packet| {
                i128::from(packet.length) * if packet.flow.0 == 0 { rest } else { -percent }
            });
            // The protection is represented in steps of 2^-32: a byte for the whole run is more than their
            // sum.
            let bound = rest * i128::from(longest[0]) + percent * i128::from(longest[1]) + 1;
            worst.require_share(off, bound);
            worst.require(link.dropped.is_empty(), || "packets were lost".to_owned());
            worst.fault(link.fault.as_ref());
        }
        vec![worst.finding(trials.count)]
    }
}
