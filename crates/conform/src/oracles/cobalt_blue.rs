//! BLUE in COBALT under unresponsive senders.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::{Dropped, Link};
use crate::fixtures::managed::{SLOW, gauge, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, exponential};

pub(super) struct CobaltBlue;

/// One minute of Poisson packets at this load. The interval is so long that the schedule of drops has no
/// effect.
fn overload(kind: &str, load: f64, trials: Trials, share: &mut Measurement, off: &mut Measurement) {
    let config = json!({ "limit": "100p", "interval": "10000s" });
    for trial in trials.each() {
        let mut link = Link::new(port(kind, &config), SLOW);
        let mut random = trials.random("blue", trial);
        let mut now = Instant::ZERO;
        while now < Instant::ZERO + Duration::from_secs(60) {
            now = now + Duration::from_secs_f64(exponential(&mut random, 1e-3 / load));
            link.offer(packet(0, 1000), now);
        }
        let late = |reason| {
            let of = |drop: &&Dropped| drop.reason == reason && drop.at.as_secs_f64() > 20.0;
            link.dropped.iter().filter(of).count() as f64
        };
        let (full, early) = (late(DropReason::Limit), late(DropReason::Early));
        share.fault(link.fault.as_ref());
        share.require_real(full / (full + early), 0.05);
        off.require_real((gauge(&mut link.port, "drop_probability") - (1.0 - 1.0 / load)).abs(), 0.03);
    }
}

/// Full once per millisecond, and never empty. The target is 5 ms: the probability rises by 1/256 at 0, 6
/// and 12 ms.
fn steps(kind: &str, worst: &mut Measurement) {
    let mut link = Link::new(port(kind, &json!({ "limit": "2p" })), SLOW);
    for millis in 0..18 {
        let now = Instant::ZERO + Duration::from_millis(millis);
        for _ in 0..10 {
            link.offer(packet(0, 1000), now);
        }
        let probability = gauge(&mut link.port, "drop_probability");
        worst.require_real((probability * 256.0 - (1 + millis / 6) as f64).abs(), 1e-6);
    }
    worst.fault(link.fault.as_ref());
}

impl Oracle for CobaltBlue {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "cobalt-blue";
    const THEOREM: &'static str = "under overload by senders that do not react the drop probability goes to 1 - 1/load, one step of 1/256 in a \
         target, and the queue is seldom full";
    const SOURCE: &'static str =
        "Feng et al., The BLUE active queue management algorithms, ToN 10 (2002); Palmei et al., LANMAN 2019";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cobalt"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut share = Measurement::tolerance("share of drops at the limit", "");
        let mut off = Measurement::tolerance("probability off 1 - 1/load", "");
        let mut step = Measurement::tolerance("steps off one a target", "");
        for load in [1.2, 1.5, 3.0] {
            overload(kind.name, load, trials, &mut share, &mut off);
        }
        steps(kind.name, &mut step);
        [share, off, step].map(|worst| worst.finding(trials.count)).into()
    }
}
