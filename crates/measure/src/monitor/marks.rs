//! Marks of a sample: which queues and flows hurt, by the limits of expectations, and which links are full.

use super::pain::{Condition, held_words, reached};
use super::{FlowSample, Hurt, Sample, worst};
use crate::metric::{Quantity, Statistic, Subject, matches};
use crate::recording::FULL;
use crate::summary::{Bound, Expected};

/// Upper bounds of the expectations on delays of flows and queues, by which samples are marked.
#[derive(Clone, Debug, Default)]
pub struct Limits(Vec<Limit>);

#[derive(Clone, Debug)]
struct Limit {
    subject: Subject,
    /// True if it is on a high percentile or the largest value.
    is_tail: bool,
    most_s: f64,
}

impl Limits {
    /// Returns the limits of expectations; those on parts of the run, and on differences, are left out.
    pub fn new(expected: &[Expected]) -> Self {
        let limit = |expected: &Expected| {
            let quantity = Quantity::parse(&expected.that).ok()?;
            let of = quantity.of;
            let is_delay = ["owd", "sojourn"].contains(&of.metric.name);
            if !is_delay || of.during.is_some() || quantity.less.is_some() {
                return None;
            }
            let upper = expected.bounds.iter().filter_map(|bound| match *bound {
                Bound::Below(most) | Bound::AtMost(most) | Bound::Between(_, most) => Some(most),
                Bound::Above(_) | Bound::AtLeast(_) => None,
            });
            let is_tail = !matches!(of.statistic, Some(Statistic::Mean | Statistic::P50 | Statistic::Min));
            Some(Limit { subject: of.subject, is_tail, most_s: upper.reduce(f64::min)? })
        };
        Self(expected.iter().filter_map(limit).collect())
    }

    /// Returns the smallest limit on a flow, and whether it is on a high percentile.
    fn of_flow(&self, name: &str) -> Option<(f64, bool)> {
        let of = |limit: &&Limit| !matches!(limit.subject, Subject::Run) && limit.subject.has_flow(name);
        let all = self.0.iter().filter(of).map(|limit| (limit.most_s, limit.is_tail));
        all.min_by(|one, other| one.0.total_cmp(&other.0))
    }

    fn of_queue(&self, port: &str, name: &str) -> Option<f64> {
        let of = |limit: &&Limit| match &limit.subject {
            Subject::Queue(at, queue) => at == port && matches(queue, name),
            _ => false,
        };
        self.0.iter().filter(of).map(|limit| limit.most_s).reduce(f64::min)
    }
}

/// Marks the queues and flows of a sample that hurt, and the ports whose link is full.
pub fn mark(sample: &mut Sample, limits: &Limits) {
    let interval_s = sample.interval_s;
    for port in &mut sample.ports {
        port.is_full = port.rate_bps.is_some_and(|rate| port.sent_bps >= FULL * rate);
        for queue in &mut port.queues {
            queue.bound_s = limits.of_queue(&port.name, &queue.name);
            queue.pain = Condition::of_queue(queue, interval_s).pain();
            // Of the kernel's queues the reason is known already.
            if let Some(ceil) = reached(queue).filter(|_| queue.packets > 0 && queue.why.is_empty()) {
                queue.why = held_words(ceil);
            }
        }
    }
    sample.hurts = worst(sample).filter(Hurt::hurts).map(|hurt| hurt.advised()).unwrap_or_default();
    for flow in &mut sample.flows {
        let bound = limits.of_flow(&flow.name);
        flow.bound_s = bound.map(|(most, _)| most);
        flow.pain = of_flow(flow, bound).pain();
    }
}

fn of_flow(flow: &FlowSample, bound: Option<(f64, bool)>) -> Condition {
    let is_tail = bound.is_none_or(|(_, is_tail)| is_tail);
    let wait_s = if is_tail { flow.owd_p99_s } else { flow.owd_p50_s };
    Condition { wait_s, bound_s: flow.bound_s, loss: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::{Pain, PortSample, QueueSample};
    use super::*;

    fn expected(that: &str, bound: Bound) -> Expected {
        Expected { that: that.to_owned(), bounds: vec![bound], ..Expected::default() }
    }

    fn queue(name: &str, wait_ms: f64, dropped: u64) -> QueueSample {
        QueueSample {
            name: name.to_owned(),
            sent_packets: 98,
            dropped_packets: dropped,
            sojourn_p99_s: Some(wait_ms / 1e3),
            ..QueueSample::default()
        }
    }

    fn flow(name: &str, p50_ms: f64, p99_ms: f64) -> FlowSample {
        let [owd_p50_s, owd_p99_s] = [p50_ms, p99_ms].map(|ms| Some(ms / 1e3));
        FlowSample { name: name.to_owned(), owd_p50_s, owd_p99_s, ..FlowSample::default() }
    }

    #[test]
    fn a_long_queue_hurts_and_one_whose_aqm_drops_does_not() {
        let queues = vec![queue("bloated", 682.0, 0), queue("fair", 17.8, 2), queue("policed", 1.0, 6)];
        let ports = vec![PortSample { queues, ..PortSample::default() }];
        let mut sample = Sample { ports, interval_s: 0.1, ..Sample::default() };
        mark(&mut sample, &Limits::default());
        let pains: Vec<Option<Pain>> = sample.ports[0].queues.iter().map(|queue| queue.pain).collect();
        assert_eq!(pains, [Some(Pain::Wait), None, Some(Pain::Loss)]);
        assert!(sample.hurts.starts_with("`bloated` of port"), "the worst in words: {}", sample.hurts);
    }

    #[test]
    fn a_bound_stands_for_the_hundred_milliseconds() {
        let limits = Limits::new(&[
            expected("flow.call.owd.p99", Bound::Below(0.05)),
            expected("flow.call.owd.p99", Bound::Above(0.001)),
            expected("group.backup.owd.mean.worst", Bound::AtMost(0.3)),
            expected("port.wan.queue.rest.sojourn.p99", Bound::Below(0.5)),
            expected("flow.late.owd.p99 @ 1s..2s", Bound::Below(0.001)),
        ]);
        let queues = vec![queue("rest", 400.0, 0), queue("voice", 400.0, 0)];
        let ports = vec![PortSample { name: "wan".to_owned(), queues, ..PortSample::default() }];
        let flows = vec![
            flow("call", 10.0, 60.0),
            flow("backup/1", 200.0, 900.0),
            flow("late", 1.0, 90.0),
            flow("web", 1.0, 110.0),
        ];
        let mut sample = Sample { ports, flows, interval_s: 1.0, ..Sample::default() };
        mark(&mut sample, &limits);
        let flows: Vec<_> = sample.flows.iter().map(|flow| (flow.bound_s, flow.pain)).collect();
        assert_eq!(
            flows,
            [(Some(0.05), Some(Pain::Bound)), (Some(0.3), None), (None, None), (None, Some(Pain::Wait))]
        );
        let queues: Vec<_> = sample.ports[0].queues.iter().map(|queue| (queue.bound_s, queue.pain)).collect();
        assert_eq!(queues, [(Some(0.5), None), (None, Some(Pain::Wait))]);
    }

    #[test]
    fn a_link_is_full_from_98_percent_of_its_rate() {
        let port = |sent: f64, rate: Option<f64>| PortSample {
            sent_bps: sent,
            rate_bps: rate,
            ..PortSample::default()
        };
        let ports = vec![port(9.85e6, Some(10e6)), port(9.5e6, Some(10e6)), port(9.9e6, None)];
        let mut sample = Sample { ports, ..Sample::default() };
        mark(&mut sample, &Limits::default());
        assert_eq!(sample.ports.iter().map(|port| port.is_full).collect::<Vec<_>>(), [true, false, false]);
    }
}
