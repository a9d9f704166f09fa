//! Totals of a group of flows: sums of its members' counters, and the worst of their delays.

use super::{FlowSummary, Summary};
use crate::group::group_of;

/// Totals of the flows of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupTotals {
    /// Number of flows.
    pub flows: usize,
    /// Packets sent in the window.
    pub sent_packets: u64,
    /// Packets received, of those sent in the window.
    pub received_packets: u64,
    /// Fraction of the packets sent that were lost; `None` if none was sent.
    pub loss_ratio: Option<f64>,
    /// Bits per second received; `None` if a flow has no value.
    pub throughput_bps: Option<f64>,
    /// Largest 99th percentile of the one-way delay, in seconds.
    pub worst_owd_p99_s: Option<f64>,
    /// Largest 99th percentile of the time in queues, in seconds.
    pub worst_queueing_p99_s: Option<f64>,
}

impl Summary {
    /// Returns the totals of a group's flows, without their other directions.
    pub fn group_totals(&self, group: &str) -> GroupTotals {
        let members = || self.flows.iter().filter(|(name, _)| group_of(name) == Some(group));
        let sum = |count: fn(&FlowSummary) -> u64| members().map(|(_, flow)| count(flow)).sum::<u64>();
        let worst = |time: fn(&FlowSummary) -> Option<f64>| {
            members().filter_map(|(_, flow)| time(flow)).reduce(f64::max)
        };
        let sent_packets = sum(|flow| flow.sent_packets);
        GroupTotals {
            flows: members().count(),
            sent_packets,
            received_packets: sum(|flow| flow.received_packets),
            loss_ratio: super::ratio(sum(|flow| flow.lost_packets) as f64, sent_packets as f64),
            throughput_bps: members().map(|(_, flow)| flow.throughput_bps).sum(),
            worst_owd_p99_s: worst(|flow| flow.owd_s.p99),
            worst_queueing_p99_s: worst(|flow| flow.queueing_s.p99),
        }
    }
}
