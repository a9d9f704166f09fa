//! Renamed flows and reordered children do not change the fate of any packet.

use crate::finding::{Finding, Measurement};
use crate::fixtures::metamorphic::{Arrival, FLOWS, TrafficRun, require_same, traffic};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct RenamedFlows;

impl Oracle for RenamedFlows {
    const FAMILY: &'static str = "M2";
    const NAME: &'static str = "renamed-flows";
    const THEOREM: &'static str = "where flows have other numbers, and equal children another order, each packet has the same fate at the same time";
    const SOURCE: &'static str = "nothing but rules and weights tells one flow from another; ties go by arrival where nothing else is said";
    const TRIALS: u32 = 3;

    fn applies(kind: &Kind) -> bool {
        !kind.orders_children
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("packets of another fate or time", "");
        for trial in trials.each() {
            let arrivals = traffic(trials, trial);
            let renamed: Vec<_> = arrivals
                .iter()
                .map(|arrival| Arrival {
                    flow: 7 * (FLOWS - arrival.flow),
                    class: if kind.classifies { arrival.class } else { 2 - arrival.class },
                    ..*arrival
                })
                .collect();
            let run = TrafficRun::new(kind);
            require_same(run.fates(&arrivals), run.fates(&renamed), &mut worst);
        }
        vec![worst.finding(trials.count)]
    }
}
