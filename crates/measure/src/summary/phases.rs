//! Results by phase: each judged metric, and the delays and rates of the other flows, before and after a
//! change.

use indexmap::IndexMap;
use lockgate_engine::units::Instant;
use serde::{Deserialize, Serialize};

use super::batches::Levels;
use super::flow::flow;
use super::{FlowSummary, Summary, Values, WithoutChange, requests};
use crate::group::group_of;
use crate::metric::{Address, During, MemberStatistic, Metric, Statistic, Subject, SubjectKind};
use crate::recording::{FlowRecord, Recording};

/// Results of a part of the window, between two changes.
///
/// A packet counts in the phase in which it was sent, so that a change is not blamed for packets that waited
/// before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PhaseSummary {
    /// Start in seconds: the end of the warm-up, or the time of a change.
    pub from_s: f64,
    /// End in seconds.
    pub to_s: f64,
    /// Changes at its start, such as `router:client = fair`; none for the first phase.
    pub changes: Vec<String>,
    /// Waiting packets that moved to new queues at its start.
    pub moved_packets: u64,
    /// Waiting packets that were lost by the changes at its start.
    pub forced_out_packets: u64,
    /// Value of each judged metric of flows, and of a delay or a rate of the other flows, by its address;
    /// `null` if nothing was observed.
    pub values: IndexMap<String, Option<f64>>,
    /// The same time without the changes at its start; absent for the first phase, and if no such run was
    /// made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<WithoutChange>,
    /// Levels of flows in parts of this phase.
    #[serde(skip)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub(crate) levels: IndexMap<String, Levels>,
    /// Flows in this phase, from which further values are computed.
    #[serde(skip)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub(crate) flows: IndexMap<String, FlowSummary>,
}

impl Summary {
    /// Adds the value at an address to those of each phase, if any phase has one: only flows are recorded by
    /// phase, and not all of their metrics.
    pub(super) fn add_to_phases(&mut self, address: &Address) {
        let mut of_flows = Summary::empty();
        let mut values = Vec::new();
        for phase in &mut self.phases {
            core::mem::swap(&mut of_flows.flows, &mut phase.flows);
            values.push(of_flows.value(address));
            core::mem::swap(&mut of_flows.flows, &mut phase.flows);
        }
        if values.iter().any(Option::is_some) {
            for (phase, value) in self.phases.iter_mut().zip(values) {
                phase.values.insert(address.to_string(), value);
            }
        }
    }

    /// Adds the goodput of each connection or group of them, and the median delay of each other flow or
    /// group: of a group the worst member's.
    pub(super) fn add_flows_to_phases(&mut self) {
        let Some(phase) = self.phases.first() else { return };
        let names =
            phase.flows.keys().filter(|name| !name.ends_with("/return") && !name.ends_with("/control"));
        let mut addresses: Vec<Address> = Vec::new();
        for name in names {
            let group = group_of(name);
            let flow = self.flows.get(name);
            let is_stream =
                flow.is_some_and(|flow| flow.tcp.is_some() && flow.pages.is_none() && flow.echo.is_none());
            let metric = if is_stream { "goodput" } else { "owd" };
            let Some(metric) = Metric::named(SubjectKind::Flow, metric) else {
                continue;
            };
            let over = if is_stream { MemberStatistic::Sum } else { MemberStatistic::Worst };
            let address = Address {
                subject: Subject::Flow(group.map_or_else(|| name.clone(), |group| format!("{group}/*"))),
                metric,
                statistic: (!is_stream).then_some(Statistic::P50),
                member_statistic: group.map(|_| over),
                during: None,
            };
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        for address in addresses {
            self.add_to_phases(&address);
        }
    }
}

/// Returns the values at these addresses in each phase of a recording.
pub fn values_by_phase<'p>(recording: &Recording, paths: impl Iterator<Item = &'p String>) -> Vec<Values> {
    let mut summary = Summary { phases: phases(recording), ..Summary::empty() };
    for address in paths.filter_map(|path| Address::parse(path).ok()) {
        summary.add_to_phases(&address);
    }
    summary.phases.into_iter().map(|phase| phase.values).collect()
}

/// Returns the phases of a recording; none if nothing changed in its window, and if only members of groups
/// were recorded.
pub(super) fn phases(recording: &Recording) -> Vec<PhaseSummary> {
    let end = Instant::ZERO + recording.duration;
    let phase = |(number, during): (usize, &During)| {
        let to = during.to.min(end);
        let in_full = || recording.flows.iter().filter(|record| record.brief().is_none());
        let of_phase = |record: &FlowRecord| {
            let record = record.part(*during)?;
            let echo = requests::echo(record, |index| recording.flows.get(index)?.part(*during));
            // Senders are sampled at intervals, and not at changes.
            let all = flow(record, to.since(during.from).as_secs_f64());
            Some((record.setup.name.clone(), FlowSummary { echo, tcp: None, ..all }))
        };
        let levels = |record: &FlowRecord| (record.setup.name.clone(), Levels::of(record, during.from, to));
        let mut summary = PhaseSummary {
            levels: in_full().map(levels).collect(),
            from_s: during.from.as_secs_f64(),
            to_s: to.as_secs_f64(),
            flows: in_full().filter_map(of_phase).collect(),
            ..PhaseSummary::default()
        };
        for event in recording.changes_of(number) {
            summary.changes.push(change(&event.path, &event.value));
            summary.moved_packets += event.moved_packets.unwrap_or(0);
            summary.forced_out_packets += event.forced_out_packets;
        }
        summary
    };
    recording.phases().iter().enumerate().map(phase).collect()
}

/// Splits paths or values that are joined by commas; those within quotes or brackets are of one.
fn settings(text: &str) -> Vec<&str> {
    let (mut depth, mut is_quoted, mut from) = (0_usize, false, 0);
    let mut parts = Vec::new();
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '{' | '[' if !is_quoted => depth += 1,
            '}' | ']' if !is_quoted => depth = depth.saturating_sub(1),
            ',' if !is_quoted && depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts
}

/// Returns the name of a change as a reader would say it: the path without the words that every path has. Of
/// several paths in one change each has its value.
pub(crate) fn change(path: &str, value: &str) -> String {
    let name = |path: &str| {
        let path = path.strip_prefix("port.").unwrap_or(path);
        let path = path.strip_suffix(".root").unwrap_or(path);
        path.strip_prefix("link.").unwrap_or(path).replace(".queue.", " ")
    };
    let (paths, values) = (settings(path), settings(value));
    if paths.len() == values.len() {
        let each = paths.iter().zip(values).map(|(path, value)| format!("{} = {value}", name(path)));
        return each.collect::<Vec<_>>().join(", ");
    }
    let names: Vec<String> = paths.into_iter().map(name).collect();
    format!("{} = {value}", names.join(", "))
}
