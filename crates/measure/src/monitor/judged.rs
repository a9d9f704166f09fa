//! Expectations on flows, judged while a run goes on: on what was observed from the end of the warm-up until
//! now.

use lockgate_engine::units::{Duration, Instant};

use crate::metric::{Quantity, Subject};
use crate::recording::{FlowRecord, Recording, Setup};
use crate::summary::{Expected, summarise};
use crate::verdict::JudgedRow;

/// Flows up to which expectations are judged while the run goes on: the records of all are copied each time.
pub const MOST_JUDGED: usize = 256;

/// Judges the expectations on flows and groups of flows of a run that is at `now`; those missed come first,
/// as in the verdict. Expectations on ports and queues, and on parts of the run, are left out: they are
/// judged at the end. Empty until the warm-up is over.
pub fn judge_so_far(
    now: Instant,
    warmup: Duration,
    flows: &[FlowRecord],
    expected: &[Expected],
) -> Vec<JudgedRow> {
    let is_of_flows = |expected: &&Expected| {
        let quantity = Quantity::parse(&expected.that);
        quantity.is_ok_and(|quantity| {
            [Some(&quantity.of), quantity.less.as_ref()].into_iter().flatten().all(|address| {
                address.during.is_none() && matches!(address.subject, Subject::Flow(_) | Subject::Group(_))
            })
        })
    };
    let expected: Vec<&Expected> = expected.iter().filter(is_of_flows).collect();
    if expected.is_empty() || flows.len() > MOST_JUDGED || now <= Instant::ZERO + warmup {
        return Vec::new();
    }
    let duration = now.since(Instant::ZERO);
    let mut recording = Recording::new(Setup { duration, warmup, ..Setup::default() });
    recording.flows = flows.to_vec();
    let mut summary = summarise(&[recording]);
    for one in expected {
        // A metric that this run does not have is an error of the end of the run, where it has a place to be
        // said.
        let _ = summary.expect(one);
    }
    summary.verdict().rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::summary::Bound;

    #[test]
    fn a_delay_is_judged_on_the_packets_so_far_and_a_port_at_the_end() {
        let recording = example::run(1, 950);
        let expect = |that: &str, bound: f64| Expected {
            that: that.to_owned(),
            bounds: vec![Bound::Below(bound)],
            ..Expected::default()
        };
        let expected = [
            expect("flow.voice.owd.max", 1.0),
            expect("flow.voice.owd.p50", 0.2),
            expect("port.home:server.queue.voice.sojourn.p99", 1.0),
            expect("flow.unknown.owd.p50", 0.2),
        ];
        let judge = |millis| {
            judge_so_far(example::ms(millis), Duration::from_millis(100), &recording.flows, &expected)
        };
        let rows = judge(1_000);
        let said: Vec<_> =
            rows.iter().map(|row| (row.that.as_str(), row.value.as_str(), row.holds)).collect();
        assert_eq!(said, [("flow.voice.owd.p50", "210 ms", false), ("flow.voice.owd.max", "310 ms", true)]);
        assert_eq!(judge(100), []);
    }
}
