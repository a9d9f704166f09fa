//! Series over time as files: Parquet for notebooks, and the data format of flent.
//!
//! ```text
//! time_s   flow.call.owd_p50   flow.call.throughput   port.a:b.queue.voice.backlog_packets
//! 0.1                 0.0031                  85600                                      2
//! ```
//!
//! A row for each sampling interval, at its end; a column for each series of each flow and queue, named by
//! its address. Rates are per second of the interval; null: nothing was observed in it. Flows and queues that
//! are recorded briefly, as members of large groups, have no series.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use lockgate_engine::units::Instant;
use lockgate_measure::metric::{Fold, METRICS, Rows};
use lockgate_measure::recording::{FlowRecord, Recording, RequestKind};

use crate::ExportError;
use crate::parquet::{self, Column};

/// Version of flent's data format.
const FLENT_VERSION: u32 = 4;

/// A series: its address, and a value for each time.
type Named = (String, Vec<Option<f64>>);

/// Returns the ends of all intervals in seconds, and each series at these times.
fn series(recording: &Recording) -> (Vec<f64>, Vec<Named>) {
    let mut found: Vec<(String, Fold, Rows)> = Vec::new();
    for flow in recording.flows.iter().filter(|flow| flow.brief().is_none()) {
        for series in METRICS.iter().flat_map(|metric| metric.series) {
            if let Some(rows) = series.of_flow(flow) {
                found.push((format!("flow.{}.{}", flow.setup.name, series.name), series.fold, rows));
            }
        }
    }
    for port in &recording.ports {
        for queue in port.queues().iter().filter(|queue| !queue.is_brief) {
            for series in METRICS.iter().flat_map(|metric| metric.series) {
                if let Some(rows) = series.of_queue(port, queue).filter(|rows| !rows.values.is_empty()) {
                    let name = format!("port.{}.queue.{}.{}", port.setup.name, queue.name, series.name);
                    found.push((name, series.fold, rows));
                }
            }
        }
    }
    let times: BTreeMap<Instant, usize> =
        found.iter().flat_map(|(.., rows)| rows.ends.iter().map(|end| (*end, 0))).collect();
    let times: BTreeMap<Instant, usize> =
        times.into_keys().enumerate().map(|(row, end)| (end, row)).collect();
    let column = |(name, fold, rows): (String, Fold, Rows)| {
        let mut values = vec![None; times.len()];
        let mut before = Instant::ZERO;
        for (end, value) in rows.ends.iter().zip(rows.values) {
            let width = end.since(before).as_secs_f64();
            before = *end;
            let value = if fold == Fold::Rate { value / width } else { value };
            values[times[end]] = value.is_finite().then_some(value);
        }
        (name, values)
    };
    let columns = found.into_iter().map(column).collect();
    (times.keys().map(|end| end.as_secs_f64()).collect(), columns)
}

/// Writes the series of a run as a table in Parquet.
///
/// # Errors
/// With the writer's error.
pub fn parquet<W: Write + Send>(recording: &Recording, writer: W) -> Result<W, ExportError> {
    let (times, all) = series(recording);
    let time = ("time_s".to_owned(), Column::Real(times.into_iter().map(Some).collect()));
    let columns = all.into_iter().map(|(name, values)| (name, Column::Real(values)));
    let columns: Vec<(String, Column)> = std::iter::once(time).chain(columns).collect();
    parquet::table(&columns, &[("title".to_owned(), recording.title.clone())], writer)
}

/// Test of flent whose plots the file opens with, and the names that it gives to its series. Flent refuses
/// files of tests that it does not have.
const FLENT_TEST: &str = "tcp_ndown";
const DOWNLOAD: &str = "TCP download::";
const DOWNLOAD_SUM: &str = "TCP download sum";
const DOWNLOAD_MEAN: &str = "TCP download avg";
const PING: &str = "Ping (ms) ICMP";

/// Returns the series that flent's test has, in its units: the throughput of each flow over TCP, their sum
/// and mean, and as ping the round trip of the first echo (the sum of its medians there and back), or the
/// one-way delay of the first other flow of datagrams. With them, a sentence on what they are.
fn of_test(recording: &Recording, all: &[Named]) -> (Vec<Named>, String) {
    let of = |flow: &str, series: &str| {
        let name = format!("flow.{flow}.{series}");
        all.iter().find(|(known, _)| *known == name).map(|(_, values)| values)
    };
    let flows = || recording.flows.iter().filter(|flow| !flow.setup.is_return);
    let mut found: Vec<Named> = Vec::new();
    let names: Vec<&str> = flows().filter(|flow| flow.tcp.is_some()).map(|flow| &*flow.setup.name).collect();
    let rates: Vec<_> = names.iter().filter_map(|name| of(name, "throughput")).collect();
    for (number, rates) in (1..).zip(&rates) {
        let megabits = rates.iter().map(|rate| rate.map(|rate| rate * 1e-6)).collect();
        found.push((format!("{DOWNLOAD}{number}"), megabits));
    }
    if let Some(first) = rates.first() {
        let sum = |row: usize| rates.iter().filter_map(|rates| rates[row]).sum::<f64>() * 1e-6;
        let sums: Vec<Option<f64>> = (0..first.len()).map(|row| Some(sum(row))).collect();
        let mean = sums.iter().map(|sum| sum.map(|sum| sum / rates.len() as f64)).collect();
        found.extend([(DOWNLOAD_SUM.to_owned(), sums), (DOWNLOAD_MEAN.to_owned(), mean)]);
    }
    let echo = flows().find_map(|flow| match flow.setup.request_kind {
        Some(RequestKind::DatagramEcho { answers }) => Some((flow, recording.flows.get(answers)?)),
        _ => None,
    });
    let other = || flows().find(|flow| flow.tcp.is_none() && of(&flow.setup.name, "owd_p50").is_some());
    let (there, back, what) = match (echo, other()) {
        (Some((there, back)), _) => (Some(there), Some(back), "the round trip of"),
        (None, there) => (there, None, "the one-way delay of"),
    };
    let delay = |flow: Option<&FlowRecord>| flow.and_then(|flow| of(&flow.setup.name, "owd_p50"));
    let mut note = vec![format!("seed {}", recording.seed.0)];
    if !names.is_empty() {
        note.push(format!("the downloads are {}", names.join(", ")));
    }
    if let Some(there_ms) = delay(there) {
        let back_ms = delay(back);
        let at = |row: usize| Some(there_ms[row]? + back_ms.map_or(Some(0.0), |back| back[row])?);
        let values = (0..there_ms.len()).map(|row| at(row).map(|delay| delay * 1e3)).collect();
        found.push((PING.to_owned(), values));
        let name = there.map_or("", |flow| &flow.setup.name);
        note.push(format!("the ping is {what} {name}"));
    }
    (found, note.join("; "))
}

/// Writes the series of a run as a data file of flent (`.flent.gz`): rates in Mbit/s and times in ms, as its
/// tests have them. It opens as flent's test of downloads with a ping; every series is in it under its
/// address as well.
///
/// # Errors
/// With the writer's error.
pub fn flent<W: Write>(recording: &Recording, writer: W) -> Result<W, ExportError> {
    let (times, all) = series(recording);
    let mut results = serde_json::Map::new();
    let mut units = serde_json::Map::new();
    let (of_test, note) = of_test(recording, &all);
    let downloads = of_test.iter().filter(|(name, _)| name.starts_with(DOWNLOAD)).count();
    for (name, values) in of_test {
        units.insert(name.clone(), json!({ "UNITS": if name == PING { "ms" } else { "Mbits/s" } }));
        results.insert(name, json!(values));
    }
    for (name, values) in all {
        let end = name.rsplit('.').next().unwrap_or_default();
        let (unit, scale) = match end {
            "throughput" | "offered" => ("Mbits/s", 1e-6),
            "owd_p50" | "owd_max" | "scheduling_mean" => ("ms", 1e3),
            "cwnd" | "in_flight" => ("bytes", 1.0),
            _ => ("count", 1.0),
        };
        let scaled = values.iter().map(|value| value.map_or(Value::Null, |value| json!(value * scale)));
        results.insert(name.clone(), Value::Array(scaled.collect()));
        units.insert(name, json!({ "UNITS": unit }));
    }
    // A simulation has no time of day; the same run gives the same bytes.
    let start = "1970-01-01T00:00:00.000000Z";
    let document = json!({
        "version": FLENT_VERSION,
        "metadata": {
            "NAME": FLENT_TEST,
            "TEST_PARAMETERS": { "download_streams": downloads.max(1).to_string() },
            "TITLE": recording.title,
            "T0": start,
            "TIME": start,
            "LENGTH": recording.duration.as_secs_f64(),
            "TOTAL_LENGTH": recording.duration.as_secs_f64(),
            "STEP_SIZE": recording.interval.as_secs_f64(),
            "HOST": "lockgate",
            "LOCAL_HOST": "lockgate",
            "NOTE": note,
            "DATA_FILENAME": "lockgate.flent.gz",
            "SERIES_META": units,
        },
        "x_values": times,
        "results": results,
        "raw_values": {},
    });
    let mut zipped = GzEncoder::new(writer, Compression::default());
    serde_json::to_writer(&mut zipped, &document).map_err(std::io::Error::from)?;
    Ok(zipped.finish()?)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use lockgate_measure::example;

    use super::*;

    /// The run of the example: 100 bytes leave at 0, 200, 300 and 400 ms, which is when it records their
    /// arrivals; intervals of 250 ms, and one that ends with the warm-up.
    #[test]
    fn rows_are_intervals_and_columns_are_addresses() {
        let recording = example::run(1, 950);
        let (times, all) = series(&recording);
        assert_eq!(times, [0.1, 0.25, 0.5, 0.75, 1.0]);
        let of = |name: &str| &all.iter().find(|(known, _)| known == name).expect(name).1;
        let bits = |packets: f64, width: f64| Some(packets * 800.0 / width);
        assert_eq!(
            of("flow.voice.throughput"),
            &[bits(1.0, 0.1), bits(1.0, 0.15), bits(2.0, 0.25), Some(0.0), Some(0.0)]
        );
        assert_eq!(of("flow.voice.owd_max"), &[Some(0.11), Some(0.11), Some(0.31), None, None]);
        assert_eq!(of("port.home:server.queue.voice.backlog_packets")[1], Some(2.0));
        let file = parquet(&recording, Vec::new()).expect("a file");
        assert!(file.starts_with(b"PAR1"));
    }

    #[test]
    fn flent_reads_milliseconds_and_megabits() {
        let file = flent(&example::run(1, 950), Vec::new()).expect("a file");
        let mut text = String::new();
        flate2::read::GzDecoder::new(file.as_slice()).read_to_string(&mut text).expect("gzip");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&document["version"], &document["x_values"][2]), (&json!(4), &json!(0.5)));
        assert_eq!(document["results"]["flow.voice.owd_max"], json!([110.0, 110.0, 310.0, null, null]));
        let rate = document["results"]["flow.voice.throughput"][2].as_f64().expect("a number");
        assert!((rate - 0.0064).abs() < 1e-12, "{rate}");
        assert_eq!(document["metadata"]["SERIES_META"]["flow.voice.throughput"]["UNITS"], "Mbits/s");
        // Without an echo, the ping of flent's test is the median delay of the datagrams: of 210 and 310 ms,
        // the lower.
        assert_eq!(document["results"][PING], json!([110.0, 110.0, 210.0, null, null]));
        let metadata = &document["metadata"];
        assert_eq!(
            (&metadata["NAME"], &metadata["SERIES_META"][PING]["UNITS"]),
            (&json!("tcp_ndown"), &json!("ms"))
        );
        assert_eq!(metadata["NOTE"], "seed 1; the ping is the one-way delay of voice");
    }
}
