//! A child more that has nothing to send: the same fates.

use crate::finding::{Finding, Worst};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;
use crate::twin::{Twin, same, traffic};

/// The oracle.
pub(super) struct IdleChild;

impl Oracle for IdleChild {
    const FAMILY: &'static str = "M3";
    const NAME: &'static str = "idle-child";
    const THEOREM: &'static str = "a child more that has nothing to send changes no packet's fate or time";
    const SOURCE: &'static str = "shares are among those that are backlogged";
    const TRIALS: u32 = 3;

    fn applies(kind: &Kind) -> bool {
        // Those that sort packets themselves know how many children they have; WF2Q+ and QFQ reserve a rate for each
        // child, idle or not, and their virtual time runs by all of them.
        kind.children.needs_children() && !kind.classifies && !kind.is(&["wf2q+", "qfq"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Worst::exact("packets of another fate or time", "");
        for trial in trials.each() {
            let arrivals = traffic(trials, trial);
            let twin = Twin::new(kind);
            let more = Twin { children: twin.children + 1, ..Twin::new(kind) };
            same(twin.fates(&arrivals), more.fates(&arrivals), &mut worst);
        }
        vec![worst.finding(trials.count)]
    }
}
