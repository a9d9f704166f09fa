//! COBALT: the schedule of its drops.

use super::codel_schedule::Draining;
use crate::finding::{Finding, Measurement};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct CobaltSchedule;

impl Oracle for CobaltSchedule {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "cobalt-schedule";
    const THEOREM: &'static str = "the first drop comes an interval after the first departure over the target, the n-th interval / sqrt(n) after \
         the schedule of the one before, however late that was";
    const SOURCE: &'static str = "Palmei et al., LANMAN 2019; tc-cake(8)";
    const TRIALS: u32 = 20;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cobalt"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut late_worst = Measurement::bound("after its schedule", "us", 0.9);
        let mut early_worst = Measurement::tolerance("before its schedule", "us");
        for trial in trials.each() {
            let draining = Draining::new(kind.name, &mut trials.random("cobalt", trial));
            let Draining { link, packet_time, interval, target } = &draining;
            late_worst.fault(link.fault.as_ref());
            late_worst.require(link.dropped.len() > 50, || format!("only {} drops", link.dropped.len()));
            // From the first departure after the target, which is not observable.
            let mut due = target + interval;
            for (index, drop) in link.dropped.iter().enumerate() {
                let late = drop.at.as_secs_f64() - due;
                // Of several drops at once, each delays the next by one packet.
                let most = if index == 0 { 2.0 * packet_time } else { *packet_time };
                early_worst.require_real(-late * 1e6, 1e-5 * (index + 1) as f64);
                if interval / libm::sqrt((index + 2) as f64) > 2.0 * packet_time {
                    late_worst.require_real(late * 1e6, (most + 1e-9) * 1e6);
                }
                if index == 0 {
                    // The first departure after the target began the dropping state.
                    due = (libm::floor(target / packet_time) + 1.0) * packet_time + interval;
                }
                due += interval / libm::sqrt((index + 2) as f64);
            }
        }
        [late_worst, early_worst].map(|worst| worst.finding(trials.count)).into()
    }
}
