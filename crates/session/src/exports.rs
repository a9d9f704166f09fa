//! Exports of the latest sample: Prometheus, and the format of `tc -j -s qdisc show`.
//!
//! Queues are numbered by index: the handle of index 0 is `1:`, and so on. With `parent="root"` the figures
//! of a link are those of `node_exporter`, without counting children twice.

use std::fmt::Write;

use lockgate_measure::monitor::{PortSample, QueueSample, Sample};
use lockgate_measure::recording::SOJOURN_CLASSES;
use serde_json::{Value, json};

use crate::status::Status;

fn handle(place: u32) -> String {
    format!("{:x}:", place + 1)
}

fn parent(queue: &QueueSample) -> String {
    queue.parent.map_or_else(|| "root".to_owned(), handle)
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn labels(port: &PortSample, queue: &QueueSample) -> String {
    format!(
        "device=\"{}\",kind=\"{}\",handle=\"{}\",parent=\"{}\",queue=\"{}\"",
        escaped(&port.name),
        queue.kind,
        handle(queue.place),
        parent(queue),
        escaped(&queue.name)
    )
}

/// Metric: name, type, help, and its value for one queue.
type Metric = (&'static str, &'static str, &'static str, fn(&QueueSample) -> f64);

const METRICS: [Metric; 10] = [
    ("node_qdisc_bytes_total", "counter", "Number of bytes sent.", |q| q.total.sent_bytes as f64),
    ("node_qdisc_packets_total", "counter", "Number of packets sent.", |q| q.total.sent_packets as f64),
    ("node_qdisc_drops_total", "counter", "Number of packets dropped.", |q| q.total.dropped_packets as f64),
    ("node_qdisc_current_queue_length", "gauge", "Number of packets currently in queue to be sent.", |q| {
        q.packets as f64
    }),
    ("node_qdisc_backlog", "gauge", "Number of bytes currently in queue to be sent.", |q| q.bytes as f64),
    ("lockgate_qdisc_offered_packets_total", "counter", "Number of packets offered.", |q| {
        q.total.offered_packets as f64
    }),
    (
        "lockgate_qdisc_marked_packets_total",
        "counter",
        "Number of packets marked with congestion experienced.",
        |q| q.total.marked_packets as f64,
    ),
    (
        "lockgate_qdisc_handed_packets_total",
        "counter",
        "Number of packets given to the device ring; zero where there is none.",
        |q| q.total.waited_count as f64,
    ),
    (
        "lockgate_qdisc_handed_seconds_total",
        "counter",
        "Time these packets had spent in the queue by then, in sum.",
        |q| q.total.waited_sum_s,
    ),
    ("lockgate_qdisc_peak_queue_length", "gauge", "Most packets in queue in the last interval.", |q| {
        q.peak_packets as f64
    }),
];

/// Returns the queues of a sample in the text format of Prometheus. Flows are left out, because their number
/// is not bounded.
pub fn prometheus_queues(sample: Option<&Sample>) -> String {
    let mut text = String::new();
    let ports = sample.map(|sample| sample.ports.as_slice()).unwrap_or_default();
    for (name, kind, help, value) in METRICS {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for port in ports {
            for queue in &port.queues {
                let _ = writeln!(text, "{name}{{{}}} {}", labels(port, queue), value(queue));
            }
        }
    }
    sojourn(&mut text, ports);
    text
}

/// Returns the run itself in the text format of Prometheus; `changes` is the number of events so far,
/// `streams` that of readers.
pub fn prometheus_run(sample: Option<&Sample>, status: &Status, changes: usize, streams: usize) -> String {
    let mut text = String::new();
    let single = [
        ("lockgate_run_seconds", "gauge", "Time of the run.", sample.map_or(0.0, |sample| sample.at_s)),
        ("lockgate_events_total", "counter", "Changes and other events of the run.", changes as f64),
        (
            "lockgate_dropped_samples_total",
            "counter",
            "Samples dropped because they were not read in time.",
            { sample.map_or(0.0, |sample| sample.dropped_samples as f64) },
        ),
        ("lockgate_streams", "gauge", "Readers of the stream of samples.", streams as f64),
        ("lockgate_run_ended", "gauge", "Whether the run has ended.", f64::from(u8::from(status.ended))),
    ];
    for (name, kind, help, value) in single {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }
    text
}

fn sojourn(text: &mut String, ports: &[PortSample]) {
    let name = "lockgate_qdisc_sojourn_seconds";
    let _ = writeln!(text, "# HELP {name} Time packets spent in the queue.\n# TYPE {name} histogram");
    for port in ports {
        for queue in &port.queues {
            let (labels, total) = (labels(port, queue), &queue.total);
            for (class, count) in SOJOURN_CLASSES.iter().zip(total.sojourn_classes) {
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{}\"}} {count}", class.as_secs_f64());
            }
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", total.sojourn_count);
            let _ = writeln!(text, "{name}_sum{{{labels}}} {}", total.sojourn_sum_s);
            let _ = writeln!(text, "{name}_count{{{labels}}} {}", total.sojourn_count);
        }
    }
}

/// Returns the output of `tc -j -s qdisc show`, with more under `lockgate`.
pub fn tc(sample: Option<&Sample>) -> Value {
    let mut all = Vec::new();
    for port in sample.map(|sample| sample.ports.as_slice()).unwrap_or_default() {
        for queue in &port.queues {
            let gauges: serde_json::Map<String, Value> =
                queue.gauges.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            let mut entry = json!({
                "kind": queue.kind,
                "handle": handle(queue.place),
                "dev": port.name,
                "options": {},
                "bytes": queue.total.sent_bytes,
                "packets": queue.total.sent_packets,
                "drops": queue.total.dropped_packets,
                "overlimits": 0,
                "requeues": 0,
                "backlog": queue.bytes,
                "qlen": queue.packets,
                "lockgate": {
                    "queue": queue.name,
                    "gauges": gauges,
                    "marked": queue.total.marked_packets,
                    "offered": queue.total.offered_packets,
                    "rate_bps": queue.sent_bps,
                    "peak_qlen": queue.peak_packets,
                    "sojourn_p99_s": queue.sojourn_p99_s,
                },
            });
            match queue.parent {
                None => entry["root"] = json!(true),
                Some(place) => entry["parent"] = json!(handle(place)),
            }
            all.push(entry);
        }
    }
    Value::Array(all)
}
