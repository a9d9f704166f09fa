//! Triple isolation: fairness over both ends at once.

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::{Hosts, WIRE, cake, packet, saturate, shares};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};
use serde_json::json;

pub(super) struct CakeLoads;

impl Oracle for CakeLoads {
    const FAMILY: &'static str = "O7";
    const NAME: &'static str = "cake-loads";
    const THEOREM: &'static str =
        "under triple isolation a flow's share is as 1 / max(flows of its source, flows of its destination)";
    const SOURCE: &'static str = "Høiland-Jørgensen, Täht, Morton, Piece of CAKE (2018), algorithm 2";
    const TRIALS: u32 = 10;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::tolerance("share of a flow off one over its busier end", "");
        for trial in trials.each() {
            let mut random = trials.random("cake-loads", trial);
            let count = between(&mut random, 5, 16) as u32;
            let ends: Vec<_> = (0..count)
                .map(|_| (random.below(4) as u8, random.below(2) as u8 * random.below(3) as u8))
                .collect();
            let load = |(source, destination): (u8, u8)| {
                let sends = ends.iter().filter(|end| end.0 == source).count();
                let receives = ends.iter().filter(|end| end.1 == destination).count();
                sends.max(receives) as f64
            };
            let weights: Vec<f64> = ends.iter().map(|end| 1.0 / load(*end)).collect();
            let sum: f64 = weights.iter().sum();
            let mut link =
                cake(&json!({ "bandwidth": "20mbit", "diffserv": "besteffort", "rtt": "1000s" }), WIRE);
            link.headers = Box::new(Hosts(ends.clone()));
            let mut draw = |flow| packet(flow, between(&mut random, 64, 1514), 0);
            saturate(&mut link, count, 30_000, &mut draw);
            let found = shares(link.sent.get(1_000..).unwrap_or_default(), |flow| flow);
            for (flow, weight) in weights.iter().enumerate() {
                let share = found.get(&(flow as u32)).copied().unwrap_or(0.0);
                worst.require_near(share, weight / sum, 0.01);
            }
            worst.fault(link.fault.as_ref());
        }
        vec![worst.finding(trials.count)]
    }
}
