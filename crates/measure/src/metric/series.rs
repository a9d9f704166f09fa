//! Series and distributions of a recording that belong to metrics.

use core::fmt;

use lockgate_engine::node::Tally;
use lockgate_engine::units::{Duration, Instant};

use crate::histogram::Histogram;
use crate::recording::{FlowRecord, PortRecord, QueueRecord, TcpSample};
use crate::series::{FlowSeries, QueueSeries};

/// A series over time, with a name in formulas of claims.
#[derive(Clone, Copy, Debug)]
pub struct Series {
    /// Name: that of the metric, or one of its own where it is another quantity or statistic.
    pub name: &'static str,
    /// Reduction of several intervals to one value.
    pub fold: Fold,
    /// Function that reads it.
    pub read: SeriesOf,
}

/// Reduction of a series' intervals to one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Sum of the intervals' amounts, per second.
    Rate,
    /// Sum.
    Sum,
    /// Mean.
    Mean,
    /// Largest value.
    Max,
    /// Growth of a counter.
    Growth,
}

/// Function that reads a series.
#[derive(Clone, Copy)]
pub enum SeriesOf {
    /// Of a flow; `None` if it has no such series.
    Flow(fn(&FlowRecord) -> Option<Rows>),
    /// Of a queue: its values at the ends of the port's intervals.
    Queue(fn(&QueueSeries) -> Vec<f64>),
}

/// Rows of a series: the end of each interval, and its value, NaN if there was none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Ends of the intervals.
    pub ends: Vec<Instant>,
    /// Values, one an interval.
    pub values: Vec<f64>,
}

/// Function that reads the recorded values of a distribution, in picoseconds.
#[derive(Clone, Copy)]
pub enum Values {
    /// Of a flow; `None` if it has no such distribution.
    Flow(fn(&FlowRecord) -> Option<&Histogram>),
    /// Of a queue of a port, by its index.
    Queue(fn(&PortRecord, u32) -> Histogram),
}

impl fmt::Debug for SeriesOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Flow(_)) { "Flow" } else { "Queue" })
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Flow(_)) { "Flow" } else { "Queue" })
    }
}

impl Series {
    pub(super) const fn flow(name: &'static str, fold: Fold, read: fn(&FlowRecord) -> Option<Rows>) -> Self {
        Self { name, fold, read: SeriesOf::Flow(read) }
    }

    pub(super) const fn queue(name: &'static str, fold: Fold, read: fn(&QueueSeries) -> Vec<f64>) -> Self {
        Self { name, fold, read: SeriesOf::Queue(read) }
    }

    /// Returns the rows of a flow; `None` if it is not a flow's series, or the flow has none.
    pub fn of_flow(&self, flow: &FlowRecord) -> Option<Rows> {
        match self.read {
            SeriesOf::Flow(read) => read(flow),
            SeriesOf::Queue(_) => None,
        }
    }

    /// Returns the rows of a queue of `port`; `None` if it is not a queue's series.
    pub fn of_queue(&self, port: &PortRecord, queue: &QueueRecord) -> Option<Rows> {
        match self.read {
            SeriesOf::Queue(read) => Some(Rows { ends: port.ends().to_vec(), values: read(&queue.series) }),
            SeriesOf::Flow(_) => None,
        }
    }
}

/// Returns values at the ends of a flow's intervals.
#[allow(clippy::unnecessary_wraps, reason = "reads the same for flows without the series")]
pub(super) fn of(flow: &FlowRecord, values: Vec<f64>) -> Option<Rows> {
    Some(Rows { ends: flow.series().end.clone(), values })
}

/// Returns a column of a flow's series as bits an interval.
pub(super) fn bits(flow: &FlowRecord, bytes: fn(&FlowSeries) -> &Vec<u64>) -> Option<Rows> {
    of(flow, rates(bytes(flow.series())))
}

/// Returns the samples of a flow's TCP sender.
pub(super) fn tcp(flow: &FlowRecord, value: fn(&TcpSample) -> u64) -> Option<Rows> {
    let tcp = flow.tcp.as_deref()?;
    let values = tcp.samples().map(|sample| value(&sample) as f64).collect();
    Some(Rows { ends: tcp.ends(), values })
}

pub(super) fn rates(bytes: &[u64]) -> Vec<f64> {
    bytes.iter().map(|bytes| *bytes as f64 * 8.0).collect()
}

pub(super) fn counts(counts: &[u64]) -> Vec<f64> {
    counts.iter().map(|count| *count as f64).collect()
}

pub(super) fn packets(tallies: &[Tally]) -> Vec<f64> {
    tallies.iter().map(|tally| tally.packets as f64).collect()
}

pub(super) fn seconds(times: &[Option<Duration>]) -> Vec<f64> {
    times.iter().map(|time| time.map_or(f64::NAN, Duration::as_secs_f64)).collect()
}
