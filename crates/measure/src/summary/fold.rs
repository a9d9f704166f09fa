//! Folds the members of groups: statistics over all of them, and the worst ones by themselves.
//!
//! A run whose members are recorded briefly has too many of them to be read one by one. Its report and its
//! written summary have statistics of every group, but only the flows and queues of the worst members.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::Summary;
use super::worst::sort_worst_first;
use crate::metric::{Address, MemberStatistic, Metric, Statistic, SubjectKind, more_is_better};
use crate::recording::Detail;

/// Returns the addresses, below a flow, of the values that are summarised over the members of a group; the
/// first that has values orders the members.
fn paths() -> impl Iterator<Item = String> {
    let mut ranked: Vec<(u8, &Metric, &[Statistic])> = Metric::of(SubjectKind::Flow)
        .filter_map(|metric| metric.over_members.map(|over| (over.rank, metric, over.statistics)))
        .collect();
    ranked.sort_by_key(|(rank, ..)| *rank);
    ranked.into_iter().flat_map(|(_, metric, statistics)| {
        let plain = statistics.is_empty().then(|| metric.name.to_owned());
        let named = statistics.iter().map(|statistic| format!("{}.{}", metric.name, statistic.name()));
        plain.into_iter().chain(named)
    })
}

/// Statistics of a metric over the members of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        paths().filter_map(|path| Some((path.clone(), self.over_metric(group, &path)?))).collect()
    }

    fn over_metric(&self, group: &str, path: &str) -> Option<MembersSummary> {
        let address = Address::parse(&format!("flow.\"{group}/*\".{path}")).ok()?;
        let values = self.values(&address);
        let found: Vec<(&str, f64)> =
            values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let mut numbers: Vec<f64> = found.iter().map(|(_, value)| *value).collect();
        numbers.sort_unstable_by(f64::total_cmp);
        let worst = MemberStatistic::Worst.of(address.metric, &numbers)?;
        // The first of equal ones.
        let (worst_member, _) = found.iter().find(|(_, value)| value.total_cmp(&worst).is_eq())?;
        let over = |statistic| MemberStatistic::Plain(statistic).of(address.metric, &numbers);
        Some(MembersSummary {
            count: found.len() as u64,
            mean: over(Statistic::Mean)?,
            p50: over(Statistic::P50)?,
            p95: over(Statistic::P95)?,
            worst,
            worst_member: (*worst_member).to_owned(),
        })
    }

    /// Returns the members of a group, worst first, with the value that orders them: the first of a few
    /// metrics that has values.
    pub fn worst_members(&self, group: &str) -> Vec<(&str, f64)> {
        for path in paths() {
            let Ok(address) = Address::parse(&format!("flow.\"{group}/*\".{path}")) else { continue };
            let values = self.values(&address);
            let sign = if more_is_better(address.metric) { -1.0 } else { 1.0 };
            let mut found: Vec<(Option<f64>, (&str, f64))> = values
                .into_iter()
                .filter_map(|(name, value)| Some((Some(sign * value?), (name, value?))))
                .collect();
            if !found.is_empty() {
                sort_worst_first(&mut found);
                return found.into_iter().map(|(_, member)| member).collect();
            }
        }
        Vec::new()
    }

    /// Returns the summary without details: if the run recorded members briefly, with statistics over the
    /// members of each group, and without the flows and queues of members that are neither among the worst of
    /// a table nor named by an expectation.
    pub(crate) fn without_details(&self) -> Self {
        let mut kept = self.clone();
        if self.detail == Detail::All {
            return kept;
        }
        for (name, group) in &mut kept.groups {
            group.members = Some(self.over_members(name));
        }
        let (flows, queues) = (self.kept_flows(), self.kept_queues());
        kept.flows.retain(|name, _| !self.detail.is_brief(name) || flows.contains(name.as_str()));
        kept.ports.retain(|port, results| {
            let is_brief_port = self.detail.is_brief_port(port);
            results.queues.retain(|queue, _| {
                let is_brief = is_brief_port || self.detail.is_brief(queue);
                !is_brief || queues.contains(&(port.as_str(), queue.as_str()))
            });
            !is_brief_port || !results.queues.is_empty()
        });
        kept
    }
}
