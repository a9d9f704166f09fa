//! Fairness among flows of one host under `cake`.

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::{Hosts, WIRE, apart, cake, packet, saturate};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};
use serde_json::json;

pub(super) struct CakeFlows;

impl Oracle for CakeFlows {
    const FAMILY: &'static str = "O7";
    const NAME: &'static str = "cake-flows";
    const THEOREM: &'static str = "backlogged flows of one host are served alike over every interval: |S_i - S_j| <= 2 q + L_i + L_j, where a turn q is the quantum over the flows of the host";
    const SOURCE: &'static str = "Shreedhar and Varghese, Efficient fair queuing using deficit round robin (1996), with turns that are counted ahead";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("difference of two flows' service", "B", 0.8);
        for trial in trials.each() {
            let mut random = trials.random("cake-flows", trial);
            let count = between(&mut random, 2, 7) as u32;
            // Quantum: a 4096th of the bytes of a second, within its limits.
            let quantum = between(&mut random, 300, 1_514);
            let isolation = ["flows", "triple-isolate", "dual-srchost", "dual-dsthost"][trial as usize % 4];
            let config = json!({
                "bandwidth": format!("{}bit", quantum * 4096 * 8), "diffserv": "besteffort", "isolation": isolation,
                "rtt": "1000s",
            });
            let mut link = cake(&config, WIRE);
            link.headers = Box::new(Hosts(vec![(1, 1); count as usize]));
            let longest: Vec<_> = (0..count).map(|_| between(&mut random, 64, 9014)).collect();
            let mut draw = |flow: u32| {
                let most = longest[flow as usize];
                let length = if random.below(3) == 0 { most } else { between(&mut random, 1, most as u32) };
                packet(flow, length, 0)
            };
            saturate(&mut link, count, 3_000, &mut draw);
            // From the time on at which all flows are counted as bulk flows of their host.
            let sent = link.sent.get(24 * count as usize..).unwrap_or_default();
            // Multiplied by the number of flows, by which the quantum is divided.
            let flows = if isolation == "flows" { 1 } else { i128::from(count) };
            for first in 0..count {
                for second in first + 1..count {
                    let difference = apart(sent, first, second, |flow| flow);
                    let lengths = longest[first as usize] + longest[second as usize];
                    let bound = 2 * i128::from(quantum) + flows * i128::from(lengths);
                    worst.require_at_most(flows * difference, bound, flows as u64);
                }
            }
            worst.fault(link.fault.as_ref());
        }
        vec![worst.finding(trials.count)]
    }
}
