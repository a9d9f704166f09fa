//! Ingress mode of `cake`: drops count towards the shaped rate.

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::{WIRE, cake, packet};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

pub(super) struct CakeIngress;

impl Oracle for CakeIngress {
    const FAMILY: &'static str = "O5";
    const NAME: &'static str = "cake-ingress";
    const THEOREM: &'static str = "on ingress what is sent and what is dropped take the bandwidth together, and two packets of a flow stay; else what is sent takes it";
    const SOURCE: &'static str = "tc-cake(8), ingress";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut off = Measurement::tolerance("bandwidth used off 1", "");
        let mut few = Measurement::exact("drops that left fewer than two packets", "");
        for ingress in [false, true] {
            let config = json!({
                "bandwidth": "8mbit", "diffserv": "besteffort", "rtt": "20ms", "ingress": ingress, "memlimit": "100MB",
            });
            let mut link = cake(&config, WIRE);
            let (mut now, mut dropped) = (Instant::ZERO, 0);
            for _ in 0..20_000 {
                now = now + Duration::from_micros(800);
                while let Some(at) = link.next_event().filter(|at| *at <= now) {
                    link.step(at);
                    if link.dropped.len() > dropped {
                        dropped = link.dropped.len();
                        few.require_zero(u64::from(ingress && link.port.backlog().packets < 2));
                    }
                }
                link.offer(packet(0, 1000, 0), now);
            }
            let counted = link.sent.len() + if ingress { dropped } else { 0 };
            // 1000 bytes per millisecond.
            off.require_near(counted as f64 / 1e3, now.as_secs_f64(), 0.001);
            off.require(dropped > 1_000, || format!("only {dropped} drops"));
            off.fault(link.fault.as_ref());
        }
        vec![off.finding(trials.count), few.finding(trials.count)]
    }
}
