//! Hash collisions of flows, with eight-way set association and without.

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::packet;
use crate::fixtures::link::Link;
use crate::fixtures::managed::gauge;
use crate::kind;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Instant, Rate};
use serde_json::json;

pub(super) struct CakeWays;

impl Oracle for CakeWays {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "cake-ways";
    const THEOREM: &'static str = "of n flows as many share one of the 1024 queues as there are beyond eight in sets of eight: 128 E[max(X - 8, 0)], X binomial(n, 1/128)";
    const SOURCE: &'static str = "Høiland-Jørgensen, Täht, Morton, Piece of CAKE (2018), on flow hashing";
    const TRIALS: u32 = 60;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (flows, what, gain) in [
            (100_u32, "flows of 100 that share, off theory", "sharing of 100 flows, of that by hash alone"),
            (500, "flows of 500 that share, off theory", "sharing of 500 flows, of that by hash alone"),
            (800, "flows of 800 that share, off theory", "sharing of 800 flows, of that by hash alone"),
        ] {
            let mut found = 0.0;
            for trial in trials.each() {
                let root = kind::build("cake", "cake", &json!({ "diffserv": "besteffort" }), Vec::new());
                let stream = Random::stream(Seed(trials.seed + u64::from(trial)), "conform/cake-ways");
                let mut link = Link::new(Port::new(root, stream), Rate::from_bits(1));
                for flow in 0..flows {
                    link.offer(packet(flow, 100, 0), Instant::ZERO);
                }
                found += gauge(&mut link.port, "way_collisions");
            }
            let n = f64::from(flows);
            let (mut probability, mut expected) = (libm::pow(1.0 - 1.0 / 128.0, n), 0.0);
            for k in 0..flows {
                if k > 8 {
                    expected += probability * f64::from(k - 8) * 128.0;
                }
                probability *= (n - f64::from(k)) / f64::from(k + 1) / 127.0;
            }
            // Expected collisions with direct hashing to 1024 queues: flows that are not the first in their
            // queue.
            let direct = n - 1024.0 * (1.0 - libm::pow(1.0 - 1.0 / 1024.0, n));
            let count = f64::from(trials.count);
            let mean = found / count;
            let (mut off, mut share) =
                (Measurement::tolerance(what, "flows"), Measurement::tolerance(gain, ""));
            // Four standard deviations of a count with about this mean, slightly overdispersed.
            let slack = 4.0 * libm::sqrt(expected.max(0.05) * 3.0 / count);
            off.require_real((mean - expected).abs(), slack);
            share.require_real(mean / direct, 1.0 / 3.0);
            findings.extend([off.finding(trials.count), share.finding(trials.count)]);
        }
        findings
    }
}
