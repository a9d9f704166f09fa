//! Series over time as files: Parquet for notebooks, and the data format of flent.
//!
//! ```text
//! time_s   flow.call.owd_p50   flow.call.throughput   port.a:b.queue.voice.backlog_packets
//! 0.1                 0.0031                  85600                                      2
//! ```
//!
//! A row for each sampling interval, at its end; a column for each series of each flow and queue, named by its address.
//! Rates are per second of the interval; null: nothing was observed in it. Flows and queues that are recorded briefly, as
//! members of large groups, have no series.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use lockgate_engine::units::Instant;
use lockgate_measure::metric::{Fold, METRICS, Rows};
use lockgate_measure::recording::Recording;

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
        for queue in port.places().iter().filter(|queue| !queue.is_brief) {
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

/// Writes the series of a run as a data file of flent (`.flent.gz`): rates in Mbit/s and times in ms, as its tests have
/// them.
///
/// # Errors
/// With the writer's error.
pub fn flent<W: Write>(recording: &Recording, writer: W) -> Result<W, ExportError> {
    let (times, all) = series(recording);
    let mut results = serde_json::Map::new();
    let mut units = serde_json::Map::new();
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
            "NAME": "lockgate",
            "TITLE": recording.title,
            "T0": start,
            "TIME": start,
            "LENGTH": recording.duration.as_secs_f64(),
            "TOTAL_LENGTH": recording.duration.as_secs_f64(),
            "STEP_SIZE": recording.interval.as_secs_f64(),
            "HOST": "lockgate",
            "LOCAL_HOST": "lockgate",
            "NOTE": "seed ".to_owned() + &recording.seed.0.to_string(),
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

    /// The run of the example: 100 bytes leave at 0, 200, 300 and 400 ms, which is when it records their arrivals; intervals
    /// of 250 ms, and one that ends with the warm-up.
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
    }
}
