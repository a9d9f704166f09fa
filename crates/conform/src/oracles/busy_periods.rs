//! Work conservation: the busy periods of the link do not depend on the order of service.

use lockgate_engine::units::Instant;

use super::mean_wait::{RATE, run, trace};
use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct BusyPeriods;

/// Returns the start and end of each busy period of the link.
fn busy_periods(link: &Link) -> Vec<(Instant, Instant)> {
    let mut periods: Vec<(Instant, Instant)> = Vec::new();
    for sent in &link.sent {
        let end = sent.at + RATE.time_for(sent.packet.bytes());
        match periods.last_mut() {
            Some(last) if last.1 == sent.at => last.1 = end,
            _ => periods.push((sent.at, end)),
        }
    }
    periods
}

impl Oracle for BusyPeriods {
    const FAMILY: &'static str = "O1";
    const NAME: &'static str = "busy-periods";
    const THEOREM: &'static str = "without loss, every work-conserving discipline is busy at exactly the times of a FIFO under the same \
         arrivals";
    const SOURCE: &'static str = "Kleinrock, Queueing Systems II (1976)";
    const TRIALS: u32 = 4;

    fn applies(kind: &Kind) -> bool {
        // Kinds that drop early have a law of their own.
        kind.work_conserving && !kind.drops_early
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::exact("busy periods that differ", "");
        let fifo = Kind::named("fifo").expect("it is on the list");
        for trial in trials.each() {
            // Byte times are whole microseconds, so that ends are exact.
            let trace = trace(trials, trial, |random| between(random, 1, 1514));
            let link = run(kind, &trace);
            worst.fault(link.fault.as_ref());
            let (own, other) = (busy_periods(&link), busy_periods(&run(&fifo, &trace)));
            let differ = own.iter().zip(&other).filter(|(own, other)| own != other).count();
            worst.require_zero((differ + own.len().abs_diff(other.len())) as u64);
        }
        vec![worst.finding(trials.count)]
    }
}
