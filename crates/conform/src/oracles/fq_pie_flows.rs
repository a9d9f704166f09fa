//! Flows behind FQ-PIE, each with its own controller.

use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::units::{Duration, Instant, Rate};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::port;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, exponential};

pub(super) struct FqPieFlows;

/// 10 000 packets of 1000 bytes per second.
const LINK: Rate = Rate::from_bits(80_000_000);
/// Loads of the flows as fractions of the link. The max-min fair share is 0.4: two are above it, two below.
const LOADS: [f64; 4] = [0.6, 0.5, 0.1, 0.1];
const SHARE: f64 = 0.4;

impl Oracle for FqPieFlows {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "fq-pie-flows";
    const THEOREM: &'static str = "among Poisson flows those above their max-min fair share, up to 2.7 times it, wait for the target in the mean (within 10 %) and lose \
         1 - share/load (within 0.01); those below lose nothing and wait less than a tenth of it";
    const SOURCE: &'static str = "RFC 8033, section 4.2, on each flow's own waits; tc-fq_pie(8)";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["fq_pie"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut wait = Measurement::tolerance("mean wait off the target", "");
        let mut share_lost = Measurement::tolerance("loss off 1 - share/load", "");
        let mut below = Measurement::exact("packets lost below the share", "");
        let mut short = Measurement::tolerance("mean wait below the share, of the target", "");
        for (flavour, trial) in trials.each().flat_map(|trial| [("linux", trial), ("rfc", trial)]) {
            let config = json!({ "flavour": flavour, "flows": 65_536 });
            let mut link = Link::new(port(kind.name, &config), LINK);
            let mut random = trials.random("fq-pie-flows", trial);
            let mut next = LOADS.map(|load| exponential(&mut random, 1e-4 / load));
            loop {
                let flow =
                    (0..LOADS.len()).min_by(|one, other| next[*one].total_cmp(&next[*other])).unwrap_or(0);
                let at = Instant::ZERO + Duration::from_secs_f64(next[flow]);
                if at > Instant::ZERO + Duration::from_secs(40) || link.fault.is_some() {
                    break;
                }
                link.offer(
                    Header { sent: at, flow: FlowId(flow as u32), length: 1000, ..Header::default() },
                    at,
                );
                next[flow] += exponential(&mut random, 1e-4 / LOADS[flow]);
            }
            wait.fault(link.fault.as_ref());
            let from = Instant::ZERO + Duration::from_secs(10);
            for (flow, load) in LOADS.iter().enumerate() {
                let is_own = |header: &Header| header.flow.0 as usize == flow && header.sent > from;
                let waits = link.sent.iter().filter(|sent| is_own(&sent.packet));
                let waits: Vec<_> = waits.map(|sent| sent.at.since(sent.packet.sent).as_secs_f64()).collect();
                let mean = waits.iter().sum::<f64>() / waits.len() as f64;
                let lost = link.dropped.iter().filter(|drop| is_own(&drop.packet)).count();
                if *load > SHARE {
                    wait.require_near(mean, 15e-3, 0.1);
                    let share = lost as f64 / (lost + waits.len()) as f64;
                    share_lost.require_real((share - (1.0 - SHARE / load)).abs(), 0.01);
                } else {
                    below.require_zero(lost as u64);
                    short.require_real(mean / 15e-3, 0.1);
                }
            }
        }
        [wait, share_lost, below, short].map(|worst| worst.finding(trials.count)).into()
    }
}
