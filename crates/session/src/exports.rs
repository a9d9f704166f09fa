//! Exports of the latest sample: Prometheus, and the format of `tc -j -s qdisc show`.
//!
//! In the shapes of `tc`, queues are numbered by index: the handle of index 0 is `1:`, and so on. For
//! Prometheus a queue and its parent have their names: an index changes when a policy gets another queue, and
//! the series of one customer would go on as that of another. With `parent="root"` the figures of a link are
//! those of `node_exporter`, without counting children twice.

use std::fmt::Write;

use lockgate_measure::monitor::{AutorateSample, PortSample, QueueSample, RouterSample, Sample, TinSample};
use lockgate_measure::recording::SOJOURN_CLASSES;
use serde_json::{Value, json};

use crate::status::Status;

fn handle(index: u32) -> String {
    format!("{:x}:", index + 1)
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns the name of a queue's parent; `root` for the root alone.
fn parent_name<'a>(port: &'a PortSample, queue: &QueueSample) -> &'a str {
    let Some(index) = queue.parent else { return "root" };
    // Parents come before their children, in the order of their indices.
    let at = port.queues.binary_search_by_key(&index, |other| other.index).ok();
    let at = at.or_else(|| port.queues.iter().position(|other| other.index == index));
    match at.map_or("", |at| &*port.queues[at].name) {
        "root" => "queue root",
        name => name,
    }
}

fn labels(port: &PortSample, queue: &QueueSample) -> String {
    format!(
        "device=\"{}\",kind=\"{}\",parent=\"{}\",queue=\"{}\"",
        escaped(&port.name),
        queue.kind,
        escaped(parent_name(port, queue)),
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

/// Metric of a tin. The names are not those of queues, in which the sum over a port would count its packets
/// twice.
type TinMetric = (&'static str, &'static str, &'static str, fn(&TinSample) -> f64);

const TIN_METRICS: [TinMetric; 7] = [
    ("lockgate_tin_bytes_total", "counter", "Number of bytes sent, of a tin of CAKE.", |t| {
        t.sent_bytes as f64
    }),
    ("lockgate_tin_packets_total", "counter", "Number of packets sent, of a tin.", |t| t.sent_packets as f64),
    ("lockgate_tin_drops_total", "counter", "Number of packets dropped, of a tin.", |t| {
        t.dropped_packets as f64
    }),
    ("lockgate_tin_marked_packets_total", "counter", "Number of packets marked, of a tin.", |t| {
        t.marked_packets as f64
    }),
    (
        "lockgate_tin_sojourn_seconds_total",
        "counter",
        "Time that the sent packets had been in the port, in sum.",
        |t| t.sojourn_sum_s,
    ),
    ("lockgate_tin_current_queue_length", "gauge", "Number of packets currently in a tin.", |t| {
        t.packets as f64
    }),
    ("lockgate_tin_backlog", "gauge", "Number of bytes currently in a tin.", |t| t.bytes as f64),
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
    tins(&mut text, ports);
    sojourn(&mut text, ports);
    text
}

/// Appends the tins of each `cake`; nothing without one.
fn tins(text: &mut String, ports: &[PortSample]) {
    let queues = || ports.iter().flat_map(|port| port.queues.iter().map(move |queue| (port, queue)));
    if queues().all(|(_, queue)| queue.tins.is_empty()) {
        return;
    }
    for (name, kind, help, value) in TIN_METRICS {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (port, queue) in queues() {
            for tin in &queue.tins {
                let (labels, of) = (labels(port, queue), escaped(&tin.name));
                let _ = writeln!(text, "{name}{{{labels},tin=\"{of}\"}} {}", value(tin));
            }
        }
    }
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
    if let Some((sample, router)) = sample.and_then(|sample| Some((sample, sample.router.as_ref()?))) {
        // What makes a router unfaithful are the faults that its log calls alarms.
        let fidelity = sample.fidelity.as_ref();
        let faults = fidelity.map_or(0, |fidelity| fidelity.unfaithful.len());
        let late = fidelity.and_then(|fidelity| fidelity.late_p99_s);
        self::router(&mut text, router, faults, late);
    }
    text
}

/// Appends the condition of a router with this number of faults, whose frames leave so late, in seconds.
fn router(text: &mut String, router: &RouterSample, faults: usize, late: Option<f64>) {
    let mut metric = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    };
    let bit = |is_so: bool| f64::from(u8::from(is_so));
    let mode = format!("{{mode=\"{}\"}}", escaped(&router.mode));
    metric("lockgate_router_info", "gauge", "The router.", &[(mode, 1.0)]);
    let interface = |(role, name): &(String, String)| {
        (format!("{{device=\"{}\",interface=\"{}\"}}", escaped(role), escaped(name)), 1.0)
    };
    let interfaces: Vec<_> = router.interfaces.iter().map(interface).collect();
    metric(
        "lockgate_router_interface_info",
        "gauge",
        "Interfaces: name in the policy, and on the machine.",
        &interfaces,
    );
    let one = |value: f64| [(String::new(), value)];
    metric("lockgate_router_policy", "gauge", "Number of the policy that runs.", &one(router.policy as f64));
    metric(
        "lockgate_router_on_trial",
        "gauge",
        "Whether that policy is on trial.",
        &one(bit(router.is_on_trial)),
    );
    let cause = |(cause, frames): &(std::borrow::Cow<'static, str>, u64)| {
        (format!("{{cause=\"{}\"}}", escaped(cause)), *frames as f64)
    };
    let lost: Vec<_> = router.lost_by.iter().map(cause).collect();
    metric("lockgate_router_lost_frames_total", "counter", "Frames lost outside the queues.", &lost);
    let bypassed = router.bypassed_frames as f64;
    metric(
        "lockgate_router_bypassed_frames_total",
        "counter",
        "Frames that passed by the router.",
        &one(bypassed),
    );
    let is_open = bit(!router.bypass.is_empty());
    metric("lockgate_router_bypass", "gauge", "Whether frames pass by the router now.", &one(is_open));
    metric(
        "lockgate_router_faults",
        "gauge",
        "Faults that go on, as the log names them.",
        &one(faults as f64),
    );
    if let Some(late) = late {
        let help = "99th percentile of the lateness of frames in the last interval.";
        metric("lockgate_router_late_seconds", "gauge", help, &one(late));
    }
    if !router.autorate.is_empty() {
        controllers(&mut metric, &router.autorate);
    }
}

/// Value of a controller, if it is known.
type ControllerMetric = (&'static str, &'static str, fn(&AutorateSample) -> Option<f64>);

const CONTROLLER_METRICS: [ControllerMetric; 5] = [
    ("lockgate_autorate_rate_bits", "Rate that the law has chosen, in bit/s.", |it| Some(it.rate_bps)),
    ("lockgate_autorate_applied", "Whether the port has that rate.", |it| {
        Some(f64::from(u8::from(it.is_applied)))
    }),
    ("lockgate_autorate_delivered_bits", "Delivered rate, in bit/s.", |it| it.delivered_bps),
    ("lockgate_autorate_delay_seconds", "Delay of the queue on the line.", |it| it.delay_s),
    ("lockgate_autorate_safe_rate_bits", "Rate with which a restart begins, in bit/s.", |it| it.safe_bps),
];

/// Appends the controllers of rates by `metric`.
fn controllers(metric: &mut impl FnMut(&str, &str, &str, &[(String, f64)]), of: &[AutorateSample]) {
    for (name, help, value) in CONTROLLER_METRICS {
        let labels = |it: &AutorateSample| format!("{{device=\"{}\",law=\"{}\"}}", escaped(&it.port), it.law);
        let values: Vec<_> = of.iter().filter_map(|it| Some((labels(it), value(it)?))).collect();
        metric(name, "gauge", help, &values);
    }
    let of_port = |it: &AutorateSample, key: &str, value: &str| {
        format!("{{device=\"{}\",{key}=\"{}\"}}", escaped(&it.port), escaped(value))
    };
    let steps = of.iter().flat_map(|it| it.steps.iter().map(move |(why, count)| (it, why, *count as f64)));
    let steps: Vec<_> = steps.map(|(it, why, count)| (of_port(it, "reason", why), count)).collect();
    metric("lockgate_autorate_steps_total", "counter", "Steps of the rate, by their reason.", &steps);
    let now: Vec<_> = of.iter().map(|it| (of_port(it, "reason", &it.why), 1.0)).collect();
    metric("lockgate_autorate_reason", "gauge", "Reason of the latest step.", &now);
    let blind = of.iter().flat_map(|it| it.blind.iter().map(move |signal| (it, &**signal)));
    let left_out = of.iter().flat_map(|it| it.left_out.iter().map(move |address| (it, &**address)));
    let unused = blind.chain(left_out);
    let unused: Vec<_> = unused.map(|(it, signal)| (of_port(it, "signal", signal), 1.0)).collect();
    let help = "Signals that are not used: blind ones, and probed addresses that differ from the others.";
    metric("lockgate_autorate_unused_signal", "gauge", help, &unused);
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
                queue.gauges.iter().map(|(name, value)| (name.clone().into_owned(), json!(value))).collect();
            let mut entry = json!({
                "kind": queue.kind,
                "handle": handle(queue.index),
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
                Some(index) => entry["parent"] = json!(handle(index)),
            }
            all.push(entry);
        }
    }
    Value::Array(all)
}

#[cfg(test)]
mod tests {
    use lockgate_measure::monitor::FidelitySample;

    use super::*;

    /// Policy of customers with these names, as a sample.
    fn sample(customers: &[&str]) -> Sample {
        let queue = |name: &str, index, parent| QueueSample {
            name: name.to_owned(),
            kind: "fifo".into(),
            index,
            parent,
            ..QueueSample::default()
        };
        let mut queues = vec![queue("all", 0, None)];
        queues.extend((1..).zip(customers).map(|(index, name)| queue(name, index, Some(0))));
        let ports = vec![PortSample { name: "wan".to_owned(), queues, ..PortSample::default() }];
        Sample { ports, ..Sample::default() }
    }

    #[test]
    fn series_stay_those_of_their_customer() {
        let (before, after) = (sample(&["plan/C1", "plan/C2"]), sample(&["plan/C0", "plan/C1", "plan/C2"]));
        let of = |sample: &Sample| -> Vec<String> {
            let text = prometheus_queues(Some(sample));
            let lines = text.lines().filter(|line| line.starts_with("node_qdisc_drops_total{"));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(
            of(&before)[1],
            r#"node_qdisc_drops_total{device="wan",kind="fifo",parent="all",queue="plan/C1"} 0"#
        );
        assert!(of(&before).iter().all(|line| of(&after).contains(line)), "{:?}", of(&after));
        assert!(of(&before)[0].contains(r#"parent="root",queue="all""#));
    }

    #[test]
    fn tins_of_a_cake_have_rows_of_their_own() {
        let mut shown = sample(&["plan/C1"]);
        assert!(!prometheus_queues(Some(&shown)).contains("lockgate_tin_"));
        let tin = |name: &'static str, packets| TinSample {
            name: name.into(),
            packets,
            sent_packets: 10 * packets,
            dropped_packets: 7,
            sojourn_sum_s: 0.25,
            ..TinSample::default()
        };
        shown.ports[0].queues[1].tins = vec![tin("best effort", 3), tin("voice", 1)];
        let text = prometheus_queues(Some(&shown));
        let labels = r#"device="wan",kind="fifo",parent="all",queue="plan/C1""#;
        for line in [
            format!("lockgate_tin_packets_total{{{labels},tin=\"best effort\"}} 30"),
            format!("lockgate_tin_packets_total{{{labels},tin=\"voice\"}} 10"),
            format!("lockgate_tin_drops_total{{{labels},tin=\"voice\"}} 7"),
            format!("lockgate_tin_sojourn_seconds_total{{{labels},tin=\"voice\"}} 0.25"),
            format!("lockgate_tin_current_queue_length{{{labels},tin=\"best effort\"}} 3"),
        ] {
            assert!(text.lines().any(|known| known == line), "`{line}` in {text}");
        }
        assert_eq!(text.matches("# TYPE lockgate_tin_").count(), TIN_METRICS.len());
    }

    #[test]
    fn a_router_shows_its_losses_and_its_trial() {
        let router = RouterSample {
            mode: "both".to_owned(),
            interfaces: vec![("wan".to_owned(), "eth0".to_owned())],
            policy: 3,
            is_on_trial: true,
            lost_by: vec![("ring".into(), 17)],
            bypassed_frames: 5,
            bypass: "it stands still".to_owned(),
            ..RouterSample::default()
        };
        let controller = AutorateSample {
            port: "wan".to_owned(),
            law: "brake".into(),
            rate_bps: 4e6,
            is_applied: true,
            why: "brake".into(),
            delay_s: Some(0.02),
            safe_bps: Some(5e6),
            steps: vec![("brake".into(), 7), ("grow".into(), 90)],
            blind: vec!["probes".into()],
            left_out: vec!["192.0.2.1".to_owned()],
            ..AutorateSample::default()
        };
        let router = RouterSample { autorate: vec![controller], ..router };
        let unfaithful = vec!["frames passed around the router".to_owned()];
        let fidelity =
            Some(FidelitySample { unfaithful, late_p99_s: Some(0.002), ..FidelitySample::default() });
        let shown = Sample { router: Some(router), fidelity, ..Sample::default() };
        let text = prometheus_run(Some(&shown), &Status::default(), 0, 0);
        for line in [
            r#"lockgate_router_info{mode="both"} 1"#,
            r#"lockgate_router_interface_info{device="wan",interface="eth0"} 1"#,
            "lockgate_router_policy 3",
            "lockgate_router_on_trial 1",
            r#"lockgate_router_lost_frames_total{cause="ring"} 17"#,
            "lockgate_router_bypassed_frames_total 5",
            "lockgate_router_bypass 1",
            "lockgate_router_faults 1",
            "lockgate_router_late_seconds 0.002",
            r#"lockgate_autorate_rate_bits{device="wan",law="brake"} 4000000"#,
            r#"lockgate_autorate_applied{device="wan",law="brake"} 1"#,
            r#"lockgate_autorate_delay_seconds{device="wan",law="brake"} 0.02"#,
            r#"lockgate_autorate_safe_rate_bits{device="wan",law="brake"} 5000000"#,
            r#"lockgate_autorate_steps_total{device="wan",reason="grow"} 90"#,
            r#"lockgate_autorate_reason{device="wan",reason="brake"} 1"#,
            r#"lockgate_autorate_unused_signal{device="wan",signal="probes"} 1"#,
            r#"lockgate_autorate_unused_signal{device="wan",signal="192.0.2.1"} 1"#,
        ] {
            assert!(text.lines().any(|known| known == line), "`{line}` in {text}");
        }
        assert!(!prometheus_run(Some(&Sample::default()), &Status::default(), 0, 0).contains("router"));
    }
}
