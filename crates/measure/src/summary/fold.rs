//! Folds the members of groups: statistics over all of them, and the worst ones by themselves.
//!
//! A run whose members are recorded briefly has too many of them to be read one by one. Its written summary
//! has statistics of every group, but only the flows and queues of the worst members.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{QueueSummary, Summary};
use crate::metric::{Address, MemberStatistic, Statistic, more_is_better};
use crate::recording::{Detail, family_of};

/// Number of members of a group that are kept: the worst.
pub const WORST: usize = 10;

/// Addresses, below a flow, of the metrics that are summarised over the members of a group; the first that
/// has values orders the members.
const METRICS: [&str; 12] = [
    "owd.p99",
    "owd.max",
    "owd.p50",
    "owd.mean",
    "queueing.p99",
    "loss",
    "throughput",
    "goodput",
    "r_factor",
    "mos",
    "fct",
    "retransmissions",
];

/// Statistics of a metric over the members of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MembersSummary {
    /// Members that have a value.
    pub count: u64,
    /// Mean of the members' values.
    pub mean: f64,
    /// Median of the members' values.
    pub p50: f64,
    /// 95th percentile of the members' values.
    pub p95: f64,
    /// Worst value: the largest delay or loss, the smallest throughput or rating.
    pub worst: f64,
    /// Member that has the worst value.
    pub worst_member: String,
}

impl Summary {
    /// Returns statistics over the members of a group, by the metric's address below a flow (`owd.p99`), for
    /// the metrics that have values.
    pub fn over_members(&self, group: &str) -> IndexMap<String, MembersSummary> {
        let of = |path: &&str| Some(((*path).to_owned(), self.over_metric(group, path)?));
        METRICS.iter().filter_map(of).collect()
    }

    fn over_metric(&self, group: &str, path: &str) -> Option<MembersSummary> {
        let address = Address::parse(&format!("flow.\"{group}/*\".{path}")).ok()?;
        let values = self.values(&address);
        let found: Vec<(&str, f64)> =
            values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let sign = if more_is_better(address.metric) { -1.0 } else { 1.0 };
        let by_badness =
            |one: &&(&str, f64), other: &&(&str, f64)| (sign * one.1).total_cmp(&(sign * other.1));
        // The first of equal ones.
        let (worst_member, worst) = *found.iter().rev().max_by(by_badness)?;
        let numbers = || found.iter().map(|(_, value)| *value).collect();
        let over = |statistic| MemberStatistic::Plain(statistic).of(address.metric, numbers());
        Some(MembersSummary {
            count: found.len() as u64,
            mean: over(Statistic::Mean)?,
            p50: over(Statistic::P50)?,
            p95: over(Statistic::P95)?,
            worst,
            worst_member: worst_member.to_owned(),
        })
    }

    /// Returns the members of a group, worst first, with the value that orders them: the first of a few
    /// metrics that has values.
    pub fn worst_members(&self, group: &str) -> Vec<(&str, f64)> {
        for path in METRICS {
            let Ok(address) = Address::parse(&format!("flow.\"{group}/*\".{path}")) else { continue };
            let values = self.values(&address);
            let mut found: Vec<(&str, f64)> =
                values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
            if !found.is_empty() {
                found.sort_by(|one, other| other.1.total_cmp(&one.1));
                return found;
            }
        }
        Vec::new()
    }

    /// Returns the summary as it is written: with statistics over the members of each group, and the worst
    /// members only, if the run recorded members briefly.
    #[must_use]
    pub fn folded(&self) -> Self {
        let mut folded = self.clone();
        if self.detail == Detail::All {
            return folded;
        }
        for (name, group) in &mut folded.groups {
            group.members = Some(self.over_members(name));
        }
        let worst: BTreeSet<&str> = self
            .groups
            .keys()
            .flat_map(|group| self.worst_members(group).into_iter().take(WORST).map(|(name, _)| name))
            .collect();
        folded.flows.retain(|name, _| !self.detail.is_brief(name) || worst.contains(name.as_str()));
        let is_brief = |port: &str| port.split([':', '@']).any(|name| self.detail.is_brief(name));
        folded.ports.retain(|name, _| !is_brief(name));
        for port in folded.ports.values_mut() {
            let worst = worst_queues(&port.queues, self.detail);
            port.queues.retain(|name, _| !self.detail.is_brief(name) || worst.contains(name));
        }
        folded
    }
}

/// Returns the worst queues of each group, by the 99th percentile of the sojourn time.
fn worst_queues(queues: &IndexMap<String, QueueSummary>, detail: Detail) -> BTreeSet<String> {
    let mut groups: IndexMap<&str, Vec<(f64, &String)>> = IndexMap::new();
    for (name, queue) in queues.iter().filter(|(name, _)| detail.is_brief(name)) {
        let Some(group) = family_of(name) else { continue };
        groups.entry(group).or_default().push((queue.sojourn_s.p99.unwrap_or(-1.0), name));
    }
    let worst = groups.into_values().flat_map(|mut members| {
        members.sort_by(|one, other| other.0.total_cmp(&one.0));
        members.into_iter().take(WORST).map(|(_, name)| name.clone())
    });
    worst.collect()
}
