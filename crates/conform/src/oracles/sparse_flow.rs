//! A sparse flow among bulk flows.

use lockgate_engine::packet::FlowId;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{SLOW, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct SparseFlow;

impl Oracle for SparseFlow {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "sparse-flow";
    const THEOREM: &'static str =
        "a flow that sends less than a quantum a round waits for the packet under way and nothing else";
    const SOURCE: &'static str = "RFC 8290, section 1.3 and 4.2: new flows before old ones";
    const TRIALS: u32 = 20;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["fq_codel", "fq_pie", "cake"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("wait of a sparse flow's packet", "us", 0.9);
        for trial in trials.each() {
            let mut random = trials.random("sparse", trial);
            let bulk = between(&mut random, 1, 8) as u32;
            let config = match kind.name {
                "cake" => json!({ "diffserv": "besteffort", "rtt": "100000s", "memlimit": "100MB" }),
                _ => json!({ "flows": 65_536, "limit": "1000000p", "target": "1000s" }),
            };
            let mut link = Link::new(port(kind.name, &config), SLOW);
            let mut now = Instant::ZERO;
            for flow in 1..=bulk {
                for _ in 0..8_000 / bulk {
                    link.offer(packet(flow, between(&mut random, 800, 1514)), now);
                }
            }
            for _ in 0..80 {
                // More than two rounds apart: by then it has left the lists.
                let rounds = 2 * u64::from(bulk + 1) * 3_028;
                now = now + Duration::from_micros(rounds + between(&mut random, 0, 5_000));
                link.run_until(now);
                let from = link.sent.len();
                link.offer(packet(0, between(&mut random, 40, 1514)), now);
                let mut left = None;
                while left.is_none() && link.advance().is_some() {
                    let own = |sent: &&crate::fixtures::link::Sent| sent.packet.flow == FlowId(0);
                    left = link.sent[from..].iter().find(own).map(|sent| sent.at);
                }
                let waited = left.map_or(u64::MAX, |at| at.since(now).as_picos());
                worst.require_at_most(i128::from(waited), 1514 * 1_000_000, 1_000_000);
            }
            worst.fault(link.fault.as_ref());
            worst.require(!link.port.is_empty(), || "the others are not always there".to_owned());
        }
        vec![worst.finding(trials.count)]
    }
}
