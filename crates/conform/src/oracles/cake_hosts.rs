//! Fairness among hosts with different numbers of flows under `cake`.

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::{Hosts, WIRE, apart, cake, packet, saturate, shares};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};
use serde_json::json;

pub(super) struct CakeHosts;

/// Number of flows of each host.
const FLOWS: [u32; 4] = [1, 2, 5, 20];
/// Quantum in bytes: a 4096th of the bytes of a second at 20 Mbit/s.
const QUANTUM: i128 = 610;

fn host_of(flow: u32) -> u32 {
    match flow {
        0 => 0,
        1..3 => 1,
        3..8 => 2,
        _ => 3,
    }
}

impl Oracle for CakeHosts {
    const FAMILY: &'static str = "O7";
    const NAME: &'static str = "cake-hosts";
    const THEOREM: &'static str = "backlogged hosts with m and n flows are served alike over every interval: |S - S'| <= 2 Q + (m + n) L; without host fairness flows are";
    const SOURCE: &'static str =
        "Høiland-Jørgensen, Täht, Morton, Piece of CAKE (2018), algorithm 2, and deficit round robin";
    const TRIALS: u32 = 5;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("difference of two hosts' service", "B", 0.3);
        let mut quarter = Measurement::tolerance("share of a host off a quarter", "");
        let mut control =
            Measurement::tolerance("share of a host off its part of the flows, with `flows`", "");
        for trial in trials.each() {
            let modes = [
                ("dual-srchost", true),
                ("dual-dsthost", false),
                ("triple-isolate", true),
                ("triple-isolate", false),
                ("flows", true),
            ];
            let (isolation, by_source) = modes[trial as usize % 5];
            let mut random = trials.random("cake-hosts", trial);
            let config = json!({
                "bandwidth": "20mbit", "diffserv": "besteffort", "isolation": isolation, "rtt": "1000s",
                "memlimit": "100MB",
            });
            let mut link = cake(&config, WIRE);
            // The other end differs for every flow.
            let ends = |flow: u32| {
                let (host, other) = (host_of(flow) as u8, 100 + flow as u8);
                if by_source { (host, other) } else { (other, host) }
            };
            link.headers = Box::new(Hosts((0..28).map(ends).collect()));
            let mut draw = |flow| packet(flow, between(&mut random, 64, 1514), 0);
            saturate(&mut link, 28, 40_000, &mut draw);
            let sent = link.sent.get(2_000..).unwrap_or_default();
            for (host, share) in shares(sent, host_of) {
                if isolation == "flows" {
                    let part = f64::from(FLOWS[host as usize]) / 28.0;
                    control.require_real((share - part).abs(), 0.005);
                } else {
                    quarter.require_real((share - 0.25).abs(), 0.002);
                }
            }
            for (first, second) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
                if isolation != "flows" {
                    let flows = FLOWS[first as usize] + FLOWS[second as usize];
                    let bound = 2 * QUANTUM + i128::from(flows) * 1514;
                    worst.require_at_most(apart(sent, first, second, host_of), bound, 1);
                }
            }
            worst.fault(link.fault.as_ref());
        }
        [worst, quarter, control].map(|worst| worst.finding(trials.count)).into()
    }
}
