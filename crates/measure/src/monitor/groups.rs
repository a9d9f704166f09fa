//! Groups of flows in a sample of a large network: percentiles over their members, and the worst of them.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::FlowSample;
use crate::group::group_of;

/// Members of a group that a sample names: the worst.
const WORST: usize = 5;

/// A group of flows in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GroupSample {
    /// Name.
    pub name: String,
    /// Members.
    pub members: u64,
    /// Members that received something in the interval.
    pub receiving: u64,
    /// Bits per second that reached the receivers of all members.
    pub received_bps: f64,
    /// Packets of all members lost in the interval.
    pub lost_packets: u64,
    /// Delay (p99 in the interval) that half of the receiving members stay at or below, in seconds; `None` if
    /// none received anything.
    pub owd_p50_s: Option<f64>,
    /// The same of 95 % of the members.
    pub owd_p95_s: Option<f64>,
    /// The same of 99 % of the members.
    pub owd_p99_s: Option<f64>,
    /// The largest.
    pub owd_max_s: Option<f64>,
    /// Members with the largest delays, the worst first.
    pub worst: Vec<String>,
}

/// Returns the groups of the flows of a sample, in the order of their first members.
pub fn groups(flows: &[FlowSample]) -> Vec<GroupSample> {
    let mut members: IndexMap<&str, Vec<&FlowSample>> = IndexMap::new();
    for flow in flows {
        if let Some(group) = group_of(&flow.name) {
            members.entry(group).or_default().push(flow);
        }
    }
    members.into_iter().map(|(name, flows)| group(name, &flows)).collect()
}

fn group(name: &str, flows: &[&FlowSample]) -> GroupSample {
    let mut delays: Vec<(f64, &str)> =
        flows.iter().filter_map(|flow| Some((flow.owd_p99_s?, flow.name.as_str()))).collect();
    delays.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    // By nearest rank.
    let rank = |fraction: f64| {
        let rank = (fraction * delays.len() as f64).ceil() as usize;
        delays.get(rank.max(1) - 1).map(|(delay, _)| *delay)
    };
    GroupSample {
        name: name.to_owned(),
        members: flows.len() as u64,
        receiving: delays.len() as u64,
        received_bps: flows.iter().map(|flow| flow.received_bps).sum(),
        lost_packets: flows.iter().map(|flow| flow.lost_packets).sum(),
        owd_p50_s: rank(0.5),
        owd_p95_s: rank(0.95),
        owd_p99_s: rank(0.99),
        owd_max_s: rank(1.0),
        worst: delays.iter().rev().take(WORST).map(|(_, name)| (*name).to_owned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_over_the_members_that_received() {
        let flow = |name: &str, delay: Option<f64>| FlowSample {
            name: name.to_owned(),
            received_bps: 10.0,
            lost_packets: 1,
            owd_p99_s: delay,
            ..FlowSample::default()
        };
        let mut flows: Vec<FlowSample> =
            (1..=100).map(|member| flow(&format!("call/{member}"), Some(f64::from(member)))).collect();
        flows.push(flow("call/101", None));
        flows.push(flow("alone", Some(7.0)));
        let groups = groups(&flows);
        assert_eq!(groups.len(), 1);
        let call = &groups[0];
        assert_eq!((call.members, call.receiving, call.lost_packets), (101, 100, 101));
        assert_eq!((call.owd_p50_s, call.owd_p95_s), (Some(50.0), Some(95.0)));
        assert_eq!((call.owd_p99_s, call.owd_max_s), (Some(99.0), Some(100.0)));
        assert_eq!(call.worst, ["call/100", "call/99", "call/98", "call/97", "call/96"]);
        assert!((call.received_bps - 1010.0).abs() < 1e-9);
    }
}
