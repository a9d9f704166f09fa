//! `lockgate receive`: the receiver of the traffic generator.

use lockgate_live::generator::{self, Receiver, Report};

use crate::arguments::Receive;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::{interrupt, results, runs};
use lockgate::figures;

pub(crate) fn receive(arguments: &Receive) -> Result<Exit, Failure> {
    interrupt::listen();
    let receiver =
        Receiver { address: arguments.at, at_most: runs::time(&arguments.lasting)?, once: arguments.once };
    let json = arguments.json;
    let mut listening = |at| tell!("listening at {at}");
    let done =
        generator::receive(&receiver, &interrupt::is_requested, &mut listening, &mut |from, report| {
            if json {
                let text = results::json(&document(report)).unwrap_or_default();
                crate::output::document(text.as_bytes());
            } else {
                say!("from {from}:");
                show(report);
            }
        });
    done.map_err(|error| {
        Failure::run(
            format!("cannot receive at {}: {error}", arguments.at),
            "is the port taken, or not yours?",
        )
    })?;
    Ok(if interrupt::is_requested() { Exit::Interrupted } else { Exit::Ok })
}

const NANO: f64 = 1e-9;

/// Returns a report as JSON.
pub(super) fn document(report: &Report) -> serde_json::Value {
    let [min, p50, p99, max] = report.owd_ns.map(|nanos| nanos as f64 * NANO);
    serde_json::json!({
        "schema": 1,
        "received_packets": report.received,
        "received_bytes": report.bytes,
        "duplicate_packets": report.duplicates,
        "reordered_packets": report.reordered,
        "host_dropped_packets": report.host_drops,
        "throughput_bps": throughput(report),
        "owd_s": { "min": min, "p50": p50, "p99": p99, "max": max },
        "clock_error_s": report.error_ns as f64 * NANO,
    })
}

fn throughput(report: &Report) -> Option<f64> {
    (report.span_ns > 0).then(|| report.bytes as f64 * 8.0 / (report.span_ns as f64 * NANO))
}

/// Prints a report in lines.
pub(super) fn show(report: &Report) {
    let [min, p50, p99, max] = report.owd_ns.map(|nanos| figures::quantity(Some(nanos as f64 * NANO), "s"));
    say!(
        "received {} ({}), {} again, {} out of order",
        figures::count(report.received, "packet"),
        figures::rate(throughput(report)),
        report.duplicates,
        report.reordered
    );
    if report.host_drops > 0 {
        say!(
            "{} dropped at the receiving host's socket, which no program read in time",
            figures::count(report.host_drops, "packet")
        );
    }
    say!(
        "one-way delay min {min}, p50 {p50}, p99 {p99}, max {max}; each +- {}, the error of the clocks",
        figures::seconds(Some(report.error_ns as f64 * NANO))
    );
}
