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
        // Not for kinds that classify packets themselves, which depend on the number of their children, nor
        // for WF2Q+ and QFQ, which reserve a rate for each child, idle or not, so that it affects their
        // virtual time.
        kind.children.needs_children() && !kind.classifies && !kind.is(&["wf2q+", "qfq"])
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
