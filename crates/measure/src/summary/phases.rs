//! Results by phase: each judged metric, and the delays and rates of the other flows, before and after a
//! change.

use indexmap::IndexMap;
use lockgate_engine::units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::batches::Levels;
use super::{
    Distribution, EchoSummary, FlowSummary, PagesSummary, Summary, Values, VoiceSummary, WithoutChange, ratio,
};
use crate::group::group_of;
use crate::metric::{Address, MemberStatistic, Metric, Statistic, Subject, SubjectKind};
use crate::recording::{FlowPhase, FlowRecord, Recording, RequestKind, RequestPhase};

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
    let starts = recording.phases();
    let ends = starts.iter().skip(1).copied().chain([end]);
    let phase = |(number, (&start, end)): (usize, (&Instant, Instant))| {
        let flows = recording.flows.iter().filter_map(|record| {
            let phase = record.phases().get(number)?;
            let next = record.phases().get(number + 1);
            Some((record.setup.name.clone(), flow(record, number, phase, next, end.since(start))))
        });
        let levels = recording.flows.iter().filter(|record| !record.phases().is_empty());
        let mut summary = PhaseSummary {
            levels: levels
                .map(|record| (record.setup.name.clone(), Levels::of(record, start, end)))
                .collect(),
            from_s: start.as_secs_f64(),
            to_s: end.as_secs_f64(),
            flows: flows.collect(),
            ..PhaseSummary::default()
        };
        for event in recording.changes_of(number) {
            summary.changes.push(change(&event.path, &event.value));
            summary.moved_packets += event.moved_packets.unwrap_or(0);
            summary.forced_out_packets += event.forced_out_packets;
        }
        summary
    };
    starts.iter().zip(ends).enumerate().map(phase).collect()
}

/// Returns the results of a flow in one phase, as far as they are recorded by phase.
fn flow(
    record: &FlowRecord,
    number: usize,
    phase: &FlowPhase,
    next: Option<&FlowPhase>,
    length: Duration,
) -> FlowSummary {
    let seconds = length.as_secs_f64();
    let whole = record.totals(crate::recording::Window::WholeRun);
    let sent_until = next.map_or(whole.sent, |next| next.sent_before);
    let received_until = next.map_or(whole.received, |next| next.received_before);
    let sent = sent_until.packets.saturating_sub(phase.sent_before.packets);
    let received = received_until.packets.saturating_sub(phase.received_before.packets);
    let received_bytes = received_until.bytes.saturating_sub(phase.received_before.bytes);
    let payload = match (phase.payload_before, next) {
        (Some(before), Some(next)) => next.payload_before.map(|after| after.saturating_sub(before)),
        (Some(before), None) => Some(record.payload_in_window().saturating_sub(before)),
        (None, _) => None,
    };
    let headers = received.saturating_mul(u64::from(record.setup.header_bytes));
    let payload = payload.map_or(received_bytes.0.saturating_sub(headers), |payload| payload.0);
    let requests =
        record.requests.as_deref().and_then(|requests| Some((requests.kind, requests.phases().get(number)?)));
    let [pages, echo] = [true, false].map(|is_pages| {
        requests.filter(|(kind, _)| (*kind == RequestKind::Pages) == is_pages).map(|(_, phase)| phase)
    });
    FlowSummary {
        sent_packets: sent,
        sent_bytes: sent_until.bytes.saturating_sub(phase.sent_before.bytes).0,
        received_packets: phase.owd.count(),
        lost_packets: phase.lost_packets,
        throughput_bps: ratio(received_bytes.0 as f64 * 8.0, seconds),
        goodput_bps: ratio(payload as f64 * 8.0, seconds),
        loss_ratio: ratio(phase.lost_packets as f64, sent as f64),
        owd_s: Distribution::of_picos(&phase.owd),
        queueing_s: Distribution::of_picos(&phase.queueing),
        pdv_s: Distribution::above_min(&phase.owd),
        pages: pages.map(|phase: &RequestPhase| PagesSummary {
            requests: phase.asked,
            loaded: phase.answered,
            load_s: Distribution::of_picos(&phase.times),
        }),
        echo: echo.map(|phase| EchoSummary {
            requests: phase.asked,
            answers: phase.answered,
            rtt_s: Distribution::of_picos(&phase.times),
            rtt_loss_ratio: None,
            answer_gap_s: Distribution::default(),
        }),
        voice: record.setup.codec.map(|codec| VoiceSummary::of(codec, &phase.owd, phase.lost_packets)),
        ..FlowSummary::default()
    }
}

/// Returns the name of a change as a reader would say it: the path without the words that every path has.
pub(crate) fn change(path: &str, value: &str) -> String {
    let path = path.strip_prefix("port.").unwrap_or(path);
    let path = path.strip_suffix(".root").unwrap_or(path);
    let path = path.strip_prefix("link.").unwrap_or(path).replace(".queue.", " ");
    format!("{path} = {value}")
}
