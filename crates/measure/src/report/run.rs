//! One run, as data for the page.

use indexmap::IndexMap;
use lockgate_engine::node::Tally;
use lockgate_engine::units::{Duration, Instant};
use serde::Serialize;

use super::rounding::{short, shorts};
use super::{Ghost, Origin, WorstPacket, bands};
use crate::histogram::Histogram;
use crate::metric::During;
use crate::recording::{Brief, BriefSample, Brisk, EventKind, FlowRecord, PortRecord, Recording, TcpRecord};
use crate::series::rates;
use crate::summary::Summary;

/// Limit on the points of a distribution function.
const CDF_POINTS: usize = 240;
/// Limit on the points of the distribution functions of all phases of a flow.
const PHASE_POINTS: usize = 2 * CDF_POINTS;
/// Limit on the bins of a density.
const DENSITY_BINS: usize = 80;

/// The run of one configuration.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Run {
    /// Label that distinguishes it from the other runs.
    pub label: String,
    /// Origin.
    pub mode: Origin,
    /// Results.
    pub summary: Summary,
    /// Interval of the series, in seconds.
    pub interval_s: f64,
    /// Flows, in the scenario's order.
    pub flows: Vec<FlowData>,
    /// Ports, in the driver's order.
    pub ports: Vec<PortData>,
    /// Events.
    pub events: Vec<EventData>,
    /// Series of the same time without each change; absent if no such run was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ghosts: Vec<Ghost>,
    /// Packets with the largest delays, of flows that an expectation judges; absent if none was looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worst: Vec<WorstPacket>,
}

/// Data of a flow.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FlowData {
    /// Name.
    pub name: String,
    /// Series.
    pub series: FlowSeriesData,
    /// TCP sender over time; `null` for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSeriesData>,
    /// Distribution function of its one-way delay, in seconds.
    pub owd_cdf: Cdf,
    /// Density of the time between arrivals, in seconds.
    pub iat_density: Density,
    /// Box plot of its one-way delay, in seconds.
    pub owd_box: BoxPlot,
    /// Means of the parts of its one-way delay, in seconds.
    pub split_s: Split,
    /// Its one-way delay in each part of the window between changes; empty if nothing changed in the window,
    /// and of a member that is recorded briefly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseDelay>,
}

/// One-way delay of a flow in a part of the window, between two changes. A packet counts in the phase in
/// which it was sent, so the packets of all phases are those of the window.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PhaseDelay {
    /// Start in seconds: the end of the warm-up, or the time of a change.
    pub from_s: f64,
    /// End in seconds.
    pub to_s: f64,
    /// Packets of the distribution: sent in the phase, and received.
    pub packets: u64,
    /// Distribution function, in seconds.
    pub owd_cdf: Cdf,
    /// Box plot, in seconds.
    pub owd_box: BoxPlot,
    /// 99th percentile, in seconds.
    pub owd_p99_s: Option<f64>,
    /// Mean time spent waiting in queues, in seconds.
    pub queueing_s: Option<f64>,
}

/// A flow over time; columns of equal length.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "the fields are the document's keys, named with their units")]
pub struct FlowSeriesData {
    /// End of each interval.
    pub time_s: Vec<f64>,
    pub offered_bps: Vec<f64>,
    pub received_bps: Vec<f64>,
    pub lost_packets: Vec<u64>,
    pub owd_p50_s: Vec<Option<f64>>,
    pub owd_p99_s: Vec<Option<f64>>,
    pub owd_max_s: Vec<Option<f64>>,
}

/// A TCP sender over time; columns of equal length. Windows in payload bytes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "the fields are the document's keys, named with their units")]
pub struct TcpSeriesData {
    pub congestion: String,
    pub time_s: Vec<f64>,
    pub cwnd_bytes: Vec<u64>,
    pub ssthresh_bytes: Vec<Option<u64>>,
    pub in_flight_bytes: Vec<u64>,
    pub rtt_s: Vec<Option<f64>>,
    pub rto_s: Vec<f64>,
    /// Segments retransmitted since the previous sample.
    pub retransmissions: Vec<u64>,
}

/// A distribution function; its complement is `1 - fraction`.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Cdf {
    /// Values, ascending.
    pub value_s: Vec<f64>,
    /// Fraction of all values that are not larger.
    pub fraction: Vec<f64>,
}

/// A density over logarithmic bins.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Density {
    /// Centres of the bins.
    pub value_s: Vec<f64>,
    /// Fraction of all values per second of width.
    pub density: Vec<f64>,
}

/// Percentiles and mean of a box plot; all `null` if nothing was observed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "the fields are the document's keys")]
pub struct BoxPlot {
    pub p5: Option<f64>,
    pub p25: Option<f64>,
    pub p50: Option<f64>,
    pub p75: Option<f64>,
    pub p95: Option<f64>,
    pub mean: Option<f64>,
}

/// Means of the parts of the one-way delay, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "the fields are the document's keys")]
pub struct Split {
    pub queueing: Option<f64>,
    pub serialisation: Option<f64>,
    pub propagation: Option<f64>,
}

/// Data of a port over time; its results are in the summary.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PortData {
    /// Name.
    pub name: String,
    /// Queues, parents before children; without those that are recorded briefly.
    pub queues: Vec<QueueData>,
    /// Rates over time; absent if they are the same all the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<RateSeriesData>,
    /// Name of the port of the line behind, if a controller steps the rate of this one for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

/// Rates of a port over time; columns of equal length, means of each interval.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "the fields are the document's keys, named with their units")]
pub struct RateSeriesData {
    /// End of each interval.
    pub time_s: Vec<f64>,
    /// Rate of the port, its own or that of its link; empty if it never changed.
    pub rate_bps: Vec<f64>,
    /// Rate that a trace allowed; empty without a trace.
    pub capacity_bps: Vec<f64>,
}

/// Data of a queue over time; its results are in the summary.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct QueueData {
    /// Name.
    pub name: String,
    /// Series.
    pub series: QueueSeriesData,
}

/// A queue over time; columns of equal length.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "the fields are the document's keys, named with their units")]
pub struct QueueSeriesData {
    /// End of each interval.
    pub time_s: Vec<f64>,
    pub backlog_packets: Vec<u64>,
    pub peak_packets: Vec<u64>,
    pub backlog_bytes: Vec<u64>,
    pub offered_bps: Vec<f64>,
    pub sent_bps: Vec<f64>,
    pub dropped_packets: Vec<u64>,
    pub marked_packets: Vec<u64>,
}

/// An event of the run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct EventData {
    /// Time, in seconds since the start of the run.
    pub at_s: f64,
    /// Kind.
    pub kind: EventKind,
    /// Path of what changed; may be empty.
    pub path: String,
    /// New value; may be empty.
    pub value: String,
    /// Description.
    pub text: String,
}

impl Run {
    /// Creates the data of a run with this label.
    pub fn new(label: &str, recording: &Recording, summary: &Summary) -> Self {
        let times: Vec<f64> = bands::sample_times(recording).collect();
        let flows = recording.flows.iter().filter(|flow| summary.flows.contains_key(&flow.setup.name));
        let ports = recording.ports.iter().filter(|port| summary.ports.contains_key(&port.setup.name));
        let kind = |port: &PortRecord| port_data(port, summary);
        Self {
            label: label.into(),
            mode: recording.mode.into(),
            // The page reads each value from its own field, not from `metrics`.
            summary: Summary { metrics: IndexMap::new(), ..summary.clone() },
            interval_s: recording.interval.as_secs_f64(),
            flows: flows.map(|flow| flow_data(flow, &times, recording)).collect(),
            ports: ports.map(kind).collect(),
            events: recording
                .events
                .iter()
                .map(|event| EventData {
                    at_s: event.at.as_secs_f64(),
                    kind: event.kind,
                    path: event.path.clone(),
                    value: event.value.clone(),
                    text: event.text.clone(),
                })
                .collect(),
            ghosts: Vec::new(),
            worst: Vec::new(),
        }
    }
}

/// Returns the data of a flow that is recorded briefly; `times` are the ends of its intervals.
fn brief_data(record: &FlowRecord, brief: &Brief, times: &[f64]) -> FlowData {
    let mean = |histogram: &Brisk| histogram.mean().map(|mean| short(mean / 1e12));
    let received = brief.owd.count();
    let starts = core::iter::once(0.0).chain(times.iter().copied());
    let widths = times.iter().zip(starts).map(|(end, start)| end - start);
    let bits = brief.samples.iter().map(|sample| f64::from(sample.received_bytes) * 8.0);
    let largest = |sample: &BriefSample| (sample.owd_max_us > 0).then(|| f64::from(sample.owd_max_us) / 1e6);
    let rows = brief.samples.len();
    FlowData {
        name: record.setup.name.clone(),
        series: FlowSeriesData {
            time_s: times.iter().copied().take(rows).collect(),
            offered_bps: Vec::new(),
            received_bps: bits.zip(widths).map(|(bits, width)| short(bits / width.max(1e-9))).collect(),
            lost_packets: Vec::new(),
            owd_p50_s: vec![None; rows],
            owd_p99_s: vec![None; rows],
            owd_max_s: brief.samples.iter().map(largest).collect(),
        },
        tcp: record.tcp.as_deref().map(tcp_data),
        owd_cdf: cdf(&brief.owd),
        iat_density: Density::default(),
        owd_box: box_plot(&brief.owd),
        split_s: Split {
            queueing: mean(&brief.queueing),
            serialisation: None,
            propagation: (received > 0)
                .then(|| short(record.delays().propagation_sum as f64 / received as f64 / 1e12)),
        },
        phases: Vec::new(),
    }
}

fn flow_data(record: &FlowRecord, ends: &[f64], recording: &Recording) -> FlowData {
    if let Some(brief) = record.brief() {
        return brief_data(record, brief, ends);
    }
    let delays = record.delays();
    let series = record.series();
    let seconds = |column: &[Option<Duration>]| -> Vec<Option<f64>> {
        column.iter().map(|delay| delay.map(|delay| short(delay.as_secs_f64()))).collect()
    };
    let mean = |histogram: &Histogram| histogram.mean().map(|mean| short(mean / 1e12));
    let received = delays.owd.count();
    FlowData {
        name: record.setup.name.clone(),
        series: FlowSeriesData {
            time_s: times(&series.end),
            offered_bps: shorts(&rates(&series.offered_bytes, &series.end)),
            received_bps: shorts(&rates(&series.received_bytes, &series.end)),
            lost_packets: series.lost_packets.clone(),
            owd_p50_s: seconds(&series.owd_p50),
            owd_p99_s: seconds(&series.owd_p99),
            owd_max_s: seconds(&series.owd_max),
        },
        tcp: record.tcp.as_deref().map(tcp_data),
        owd_cdf: cdf(&delays.owd),
        iat_density: density(&delays.iat),
        owd_box: box_plot(&delays.owd),
        split_s: Split {
            queueing: mean(&delays.queueing),
            serialisation: mean(&delays.serialisation),
            propagation: (received > 0)
                .then(|| short(delays.propagation_sum as f64 / received as f64 / 1e12)),
        },
        phases: phase_delays(record, recording),
    }
}

/// Returns the distribution function of one of so many phases of a flow.
pub(super) fn phase_cdf(delays: &Histogram, phases: usize) -> Cdf {
    cdf_of(delays, (PHASE_POINTS / phases.max(1)).min(CDF_POINTS))
}

/// Returns the delays of a flow by phase; none of one without phases.
fn phase_delays(record: &FlowRecord, recording: &Recording) -> Vec<PhaseDelay> {
    let end = Instant::ZERO + recording.duration;
    let one = |during: &During| {
        let delays = record.part(*during)?.delays();
        Some(PhaseDelay {
            from_s: during.from.as_secs_f64(),
            to_s: during.to.min(end).as_secs_f64(),
            packets: delays.owd.count(),
            owd_cdf: phase_cdf(&delays.owd, recording.phases().len()),
            owd_box: box_plot(&delays.owd),
            owd_p99_s: p99(&delays.owd),
            queueing_s: delays.queueing.mean().map(|mean| short(mean / 1e12)),
        })
    };
    recording.phases().iter().filter_map(one).collect()
}

fn tcp_data(record: &TcpRecord) -> TcpSeriesData {
    let samples = record.samples();
    let totals = samples.clone().map(|sample| sample.retransmissions);
    let before = core::iter::once(0).chain(totals.clone());
    TcpSeriesData {
        congestion: record.congestion.to_owned(),
        time_s: times(&record.ends()),
        cwnd_bytes: samples.clone().map(|sample| sample.cwnd.0).collect(),
        ssthresh_bytes: samples.clone().map(|sample| sample.ssthresh.map(|bytes| bytes.0)).collect(),
        in_flight_bytes: samples.clone().map(|sample| sample.in_flight.0).collect(),
        rtt_s: samples.clone().map(|sample| sample.rtt.map(|rtt| short(rtt.as_secs_f64()))).collect(),
        rto_s: samples.map(|sample| short(sample.rto.as_secs_f64())).collect(),
        retransmissions: totals.zip(before).map(|(total, before)| total - before).collect(),
    }
}

fn port_data(record: &PortRecord, summary: &Summary) -> PortData {
    let time_s = times(record.ends());
    let results = summary.ports.get(&record.setup.name);
    let queue = |queue_record: &crate::recording::QueueRecord| {
        let series = &queue_record.series;
        let packets = |column: &[Tally]| column.iter().map(|tally| tally.packets).collect();
        QueueData {
            name: queue_record.name.clone(),
            series: QueueSeriesData {
                time_s: time_s.clone(),
                backlog_packets: packets(&series.backlog),
                peak_packets: packets(&series.peak),
                backlog_bytes: series.backlog.iter().map(|tally| tally.bytes.0).collect(),
                offered_bps: shorts(&rates(&series.offered_bytes, record.ends())),
                sent_bps: shorts(&rates(&series.sent_bytes, record.ends())),
                dropped_packets: series.dropped_packets.clone(),
                marked_packets: series.marked_packets.clone(),
            },
        }
    };
    let (rate, capacity) = (record.rate_series(), record.capacity_series());
    let column = |of: Option<Vec<f64>>| of.map(|rates| shorts(&rates)).unwrap_or_default();
    let rates = (rate.is_some() || capacity.is_some()).then(|| RateSeriesData {
        time_s: time_s.clone(),
        rate_bps: column(rate),
        capacity_bps: column(capacity),
    });
    PortData {
        rates,
        line: record.setup.line.clone(),
        name: record.setup.name.clone(),
        queues: record
            .queues()
            .iter()
            .filter(|queue_record| results.is_none_or(|port| port.queues.contains_key(&queue_record.name)))
            .filter(|queue_record| !queue_record.is_brief)
            .map(queue)
            .collect(),
    }
}

fn times(ends: &[Instant]) -> Vec<f64> {
    ends.iter().map(|end| end.as_secs_f64()).collect()
}

pub(super) fn cdf<const SUB: usize>(histogram: &Histogram<SUB>) -> Cdf {
    cdf_of(histogram, CDF_POINTS)
}

fn cdf_of<const SUB: usize>(histogram: &Histogram<SUB>, most: usize) -> Cdf {
    let points = histogram.cdf(most);
    Cdf {
        value_s: points.iter().map(|(value, _)| short(*value as f64 / 1e12)).collect(),
        // Not rounded: in the tail of the complement every digit counts.
        fraction: points.iter().map(|(_, fraction)| *fraction).collect(),
    }
}

pub(super) fn density(histogram: &Histogram) -> Density {
    let bins = histogram.density(DENSITY_BINS);
    Density {
        value_s: bins.iter().map(|(centre, _)| short(centre / 1e12)).collect(),
        density: bins.iter().map(|(_, density)| short(density * 1e12)).collect(),
    }
}

/// Returns the 99th percentile, in seconds.
pub(super) fn p99(histogram: &Histogram) -> Option<f64> {
    histogram.quantile(0.99).map(|value| short(value as f64 / 1e12))
}

pub(super) fn box_plot<const SUB: usize>(histogram: &Histogram<SUB>) -> BoxPlot {
    let Some(quantiles) = histogram.quantiles([0.05, 0.25, 0.5, 0.75, 0.95]) else {
        return BoxPlot::default();
    };
    let [p5, p25, p50, p75, p95] = quantiles.map(|value| Some(short(value as f64 / 1e12)));
    BoxPlot { p5, p25, p50, p75, p95, mean: histogram.mean().map(|mean| short(mean / 1e12)) }
}
