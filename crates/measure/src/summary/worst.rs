//! Ranking of flows and queues by how bad they are: the order of tables that are cut, and the choice of what
//! the written summary keeps of a run whose members are recorded briefly.
//!
//! Both rank by the same functions, so that what a table shows as the worst is in the file.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::{FlowSummary, QueueSummary, Summary};
use crate::metric::{Quantity, Subject};
use crate::recording::kin;

/// Number of flows or queues shown, and kept of each group: the worst.
pub const WORST: usize = 10;

/// Table of flows, named after the value that ranks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowTable {
    /// All flows, by the 99th percentile of the one-way delay.
    Delays,
    /// Flows that make requests, by the 99th percentile of the time to the answer.
    Answers,
    /// Calls, by their rating.
    Calls,
}

impl FlowTable {
    /// Every table.
    pub const ALL: [Self; 3] = [Self::Delays, Self::Answers, Self::Calls];

    /// Returns how bad a flow is, more being worse; `None` if nothing was observed, or if it is not in the
    /// table.
    pub fn badness(self, flow: &FlowSummary) -> Option<f64> {
        match self {
            Self::Delays => flow.owd_s.p99.or(flow.owd_s.max),
            Self::Answers => {
                let times = flow.echo.map(|echo| echo.rtt_s).or(flow.pages.map(|pages| pages.load_s))?;
                times.p99.or(times.max)
            }
            Self::Calls => flow.voice.as_ref()?.r_factor.map(|rating| -rating),
        }
    }
}

impl QueueSummary {
    /// Returns how bad a queue is, more being worse: the 99th percentile of the sojourn time. `None` if
    /// nothing was observed.
    pub fn badness(&self) -> Option<f64> {
        self.sojourn_s.p99.or(self.sojourn_s.max)
    }
}

/// Sorts rows by badness, the worst first; equal ones, and those without, keep their order.
pub fn sort_worst_first<T>(rows: &mut [(Option<f64>, T)]) {
    let key = |badness: Option<f64>| badness.unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|(one, _), (other, _)| key(*other).total_cmp(&key(*one)));
}

/// Rows of tables, by the kin that are ranked together.
type Ranked<T> = IndexMap<String, Vec<(Option<f64>, T)>>;

/// Returns the worst of each kin. The worst of any number of kin together are among them.
fn worst_of<T: Ord>(ranked: Ranked<T>) -> BTreeSet<T> {
    let worst = ranked.into_values().flat_map(|mut rows| {
        sort_worst_first(&mut rows);
        rows.into_iter().take(WORST).map(|(_, row)| row)
    });
    worst.collect()
}

impl Summary {
    /// Returns the members of groups that the written summary keeps: the worst of each group in each table,
    /// and those that an expectation names.
    pub(super) fn kept_flows(&self) -> BTreeSet<&str> {
        let mut kept: BTreeSet<&str> = BTreeSet::new();
        let members = || self.flows.iter().filter(|(name, _)| self.detail.is_brief(name));
        for table in FlowTable::ALL {
            let mut ranked: Ranked<&str> = Ranked::new();
            for (name, flow) in members() {
                let badness = table.badness(flow);
                if table == FlowTable::Delays || badness.is_some() {
                    ranked.entry(kin(name)).or_default().push((badness, name));
                }
            }
            kept.extend(worst_of(ranked));
        }
        let named = self.named();
        kept.extend(members().map(|(name, _)| name.as_str()).filter(|name| {
            named.iter().any(|subject| matches!(subject, Subject::Flow(named) if named == name))
        }));
        kept
    }

    /// Returns the queues, each with its port, that the written summary keeps of those that are members of
    /// groups, or at ports of members.
    pub(super) fn kept_queues(&self) -> BTreeSet<(&str, &str)> {
        let mut ranked: Ranked<(&str, &str)> = Ranked::new();
        let mut kept = BTreeSet::new();
        let named = self.named();
        for (port, results) in &self.ports {
            let is_brief_port = self.detail.is_brief_port(port);
            for (name, queue) in &results.queues {
                if !is_brief_port && !self.detail.is_brief(name) {
                    continue;
                }
                let at = port.split([':', '@']).map(kin).collect::<Vec<_>>().join(":");
                ranked
                    .entry(format!("{at} {}", kin(name)))
                    .or_default()
                    .push((queue.badness(), (port, name)));
                let is_named = |subject: &Subject| match subject {
                    Subject::Queue(at, queue) => at == port && queue == name,
                    Subject::Port(at) => at == port,
                    _ => false,
                };
                if named.iter().any(is_named) {
                    kept.insert((port.as_str(), name.as_str()));
                }
            }
        }
        kept.extend(worst_of(ranked));
        kept
    }

    /// Returns the subjects of the expectations.
    fn named(&self) -> Vec<Subject> {
        let quantities = self.expect.iter().filter_map(|one| Quantity::parse(&one.that).ok());
        quantities.flat_map(|it| [Some(it.of), it.less]).flatten().map(|address| address.subject).collect()
    }
}
