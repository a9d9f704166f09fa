//! Tables of time series: a row for each sampling interval of a flow, a TCP sender, a port or a queue.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray, UInt64Array};
use lockgate::Recording;
use lockgate::units::{Bytes, Duration, Instant};
use lockgate_measure::recording::{Event, EventKind, FlowRecord, PortRecord, QueueRecord, TcpRecord};
use lockgate_scenario::Override;
use pyo3::prelude::*;

use crate::arrays::real;
use crate::table::{Table, fault};

type Columns = Vec<(String, ArrayRef)>;

/// Returns the series at an address: `flow.NAME`, `flow.NAME.tcp`, `port.NAME` or `port.NAME.queue.NAME`,
/// with all of its columns. A further name selects the columns that begin with it: `port.a:b.backlog`.
///
/// # Errors
/// If there is no such flow, port, queue or column: a `MetricError` with the existing ones.
pub(crate) fn table(recording: &Recording, address: &str) -> PyResult<Table> {
    let unknown = |help: String| crate::error::unknown(address, help);
    // As in settings, names may be quoted, and ports have two spellings.
    let setting = Override::new(address, "0").map_err(|error| unknown(error.to_string()))?;
    let segments: Vec<&str> = setting.path().iter().map(String::as_str).collect();
    let (columns, wanted) = match segments.as_slice() {
        ["flow", name, rest @ ..] => {
            let names = recording.flows.iter().map(|flow| flow.setup.name.as_str());
            let flow = recording.flows.iter().find(|flow| flow.setup.name == *name);
            let flow = flow.ok_or_else(|| unknown(choices("flows", names)))?;
            match rest {
                ["tcp", rest @ ..] => match &flow.tcp {
                    Some(tcp) => (of_tcp(tcp), rest),
                    None => return Err(unknown(format!("`{name}` is not a flow over TCP"))),
                },
                rest => (of_flow(flow), rest),
            }
        }
        ["port", name, rest @ ..] => {
            let names = recording.ports.iter().map(|port| port.setup.name.as_str());
            let port = recording.ports.iter().find(|port| port.setup.name == *name);
            let port = port.ok_or_else(|| unknown(choices("ports", names)))?;
            match rest {
                ["queue", queue, rest @ ..] => {
                    let names = port.queues().iter().map(|record| record.name.as_str());
                    let record = port.queues().iter().find(|record| record.name == *queue);
                    (of_queue(port, record.ok_or_else(|| unknown(choices("queues", names)))?), rest)
                }
                rest => (of_port(port), rest),
            }
        }
        _ => {
            let forms = "write `flow.NAME`, `flow.NAME.tcp`, `port.NAME` or `port.NAME.queue.NAME`";
            return Err(unknown(forms.to_owned()));
        }
    };
    let columns = match wanted {
        [] => columns,
        [column] => select(columns, column)
            .map_err(|names| unknown(choices("columns", names.iter().map(String::as_str))))?,
        [_, extra, ..] => return Err(unknown(format!("nothing comes after a column: `{extra}`"))),
    };
    Table::new(columns).map_err(|error| fault(&error))
}

/// Returns the time and the columns of this name, or those that begin with it and an underscore; if there are
/// none, the names of all columns.
fn select(columns: Columns, wanted: &str) -> Result<Columns, Vec<String>> {
    let is_wanted =
        |name: &str| name == wanted || name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('_'));
    let names: Vec<String> = columns.iter().skip(1).map(|(name, _)| name.clone()).collect();
    if !names.iter().any(|name| is_wanted(name)) {
        return Err(names);
    }
    Ok(columns
        .into_iter()
        .enumerate()
        .filter(|(index, (name, _))| *index == 0 || is_wanted(name))
        .map(|(_, column)| column)
        .collect())
}

/// Returns a sentence with the existing names.
fn choices<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let mut names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("the {what} are {}{more}", names.join(", "))
}

fn column(name: &str, array: ArrayRef) -> (String, ArrayRef) {
    (name.to_owned(), array)
}

/// Returns the ends of the intervals, in seconds.
fn time(ends: &[Instant]) -> (String, ArrayRef) {
    column("time_s", real(ends.iter().map(|end| Some(end.as_secs_f64()))))
}

fn counts(name: &str, values: impl IntoIterator<Item = u64>) -> (String, ArrayRef) {
    column(name, Arc::new(values.into_iter().collect::<UInt64Array>()))
}

/// Converts bytes per interval to bits per second.
fn rates(name: &str, bytes: &[u64], ends: &[Instant]) -> (String, ArrayRef) {
    let starts = std::iter::once(&Instant::ZERO).chain(ends);
    let rate = |((bytes, end), start): ((&u64, &Instant), &Instant)| {
        let width = end.since(*start).as_secs_f64();
        (width > 0.0).then(|| *bytes as f64 * 8.0 / width)
    };
    column(name, real(bytes.iter().zip(ends).zip(starts).map(rate)))
}

fn seconds(name: &str, times: &[Option<Duration>]) -> (String, ArrayRef) {
    column(name, real(times.iter().map(|time| time.map(Duration::as_secs_f64))))
}

fn of_flow(flow: &FlowRecord) -> Columns {
    let series = flow.series();
    vec![
        time(&series.end),
        rates("offered_bps", &series.offered_bytes, &series.end),
        rates("received_bps", &series.received_bytes, &series.end),
        counts("lost_packets", series.lost_packets.iter().copied()),
        seconds("owd_p50_s", &series.owd_p50),
        seconds("owd_p99_s", &series.owd_p99),
        seconds("owd_max_s", &series.owd_max),
    ]
}

fn of_tcp(tcp: &TcpRecord) -> Columns {
    let bytes = |bytes: Bytes| bytes.0;
    let samples: Vec<_> = tcp.samples().collect();
    vec![
        time(&tcp.ends()),
        counts("cwnd_bytes", samples.iter().map(|sample| bytes(sample.cwnd))),
        counts("in_flight_bytes", samples.iter().map(|sample| bytes(sample.in_flight))),
        column("rtt_s", real(samples.iter().map(|sample| sample.rtt.map(Duration::as_secs_f64)))),
        column("rto_s", real(samples.iter().map(|sample| Some(sample.rto.as_secs_f64())))),
        counts("retransmissions", samples.iter().map(|sample| sample.retransmissions)),
    ]
}

fn of_queue(port: &PortRecord, record: &QueueRecord) -> Columns {
    let (series, ends) = (&record.series, port.ends());
    let mut columns = vec![
        time(ends),
        counts("backlog_packets", series.backlog.iter().map(|tally| tally.packets)),
        counts("backlog_bytes", series.backlog.iter().map(|tally| tally.bytes.0)),
        counts("peak_packets", series.peak.iter().map(|tally| tally.packets)),
        rates("offered_bps", &series.offered_bytes, ends),
        rates("sent_bps", &series.sent_bytes, ends),
        counts("dropped_packets", series.dropped_packets.iter().copied()),
        counts("marked_packets", series.marked_packets.iter().copied()),
    ];
    if !series.scheduling.is_empty() {
        columns.push(seconds("scheduling_s", &series.scheduling));
    }
    columns
}

/// Returns the sums over the port's roots: it has one at a time, and another one after its tree was replaced.
fn of_port(port: &PortRecord) -> Columns {
    let ends = port.ends();
    let roots: Vec<&QueueRecord> =
        port.queues().iter().filter(|record| record.parent.is_none() && !record.is_brief).collect();
    let sum = |of: &dyn Fn(&QueueRecord, usize) -> u64| -> Vec<u64> {
        (0..ends.len()).map(|row| roots.iter().map(|record| of(record, row)).sum()).collect()
    };
    let at = |values: &[u64], row: usize| values.get(row).copied().unwrap_or_default();
    let mut columns = vec![
        time(ends),
        counts(
            "backlog_packets",
            sum(&|record, row| record.series.backlog.get(row).map_or(0, |tally| tally.packets)),
        ),
        counts(
            "backlog_bytes",
            sum(&|record, row| record.series.backlog.get(row).map_or(0, |tally| tally.bytes.0)),
        ),
        rates("offered_bps", &sum(&|record, row| at(&record.series.offered_bytes, row)), ends),
        rates("sent_bps", &sum(&|record, row| at(&record.series.sent_bytes, row)), ends),
        counts("dropped_packets", sum(&|record, row| at(&record.series.dropped_packets, row))),
        counts("marked_packets", sum(&|record, row| at(&record.series.marked_packets, row))),
    ];
    let rates = [("rate_bps", port.rate_series()), ("capacity_bps", port.capacity_series())];
    for (name, values) in rates.into_iter().filter_map(|(name, values)| Some((name, values?))) {
        columns.push(column(name, real(values.into_iter().map(Some))));
    }
    columns
}

/// Returns the changes and other events of a run, in their order.
///
/// # Errors
/// None, unless the columns do not fit together.
pub(crate) fn events(recording: &Recording) -> PyResult<Table> {
    let events = &recording.events;
    let texts = |name: &str, of: fn(&Event) -> &str| {
        column(name, Arc::new(events.iter().map(|event| Some(of(event))).collect::<StringArray>()))
    };
    let kind: fn(&Event) -> &str = |event| match event.kind {
        EventKind::Change => "change",
        EventKind::Expect => "expect",
        EventKind::Note => "note",
    };
    let columns = vec![
        column("time_s", real(events.iter().map(|event| Some(event.at.as_secs_f64())))),
        texts("kind", kind),
        texts("path", |event| &event.path),
        texts("value", |event| &event.value),
        texts("text", |event| &event.text),
    ];
    Table::new(columns).map_err(|error| fault(&error))
}
