//! An additional idle child does not change the fate of any packet.

use crate::finding::{Finding, Measurement};
use crate::fixtures::metamorphic::{TrafficRun, require_same, traffic};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct IdleChild;

impl Oracle for IdleChild {
    const FAMILY: &'static str = "M3";
    const NAME: &'static str = "idle-child";
    const THEOREM: &'static str = "a child more that has nothing to send changes no packet's fate or time";
    const SOURCE: &'static str = "shares are among those that are backlogged";
    const TRIALS: u32 = 3;

    fn applies(kind: &Kind) -> bool {
        // A kind that classifies packets itself depends on the number of its children.
        kind.children.needs_children() && !kind.classifies && !kind.reserves_for_idle
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("packets of another fate or time", "");
        for trial in trials.each() {
            let arrivals = traffic(trials, trial);
            let run = TrafficRun::new(kind);
            let more = TrafficRun { children: run.children + 1, ..TrafficRun::new(kind) };
            require_same(run.fates(&arrivals), more.fates(&arrivals), &mut worst);
        }
        vec![worst.finding(trials.count)]
    }
}
