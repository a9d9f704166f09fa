//! TCP held against Linux's own: the same network, flows and queues as the reference runs of the kernel.
//!
//! The reference runs are not part of the repository; without them this says so and passes.
#![allow(clippy::print_stdout, reason = "the table is wanted")]

mod common;

use std::path::Path;

use common::simulate;
use lockgate_engine::units::Instant;
use lockgate_measure::recording::{Recording, TcpSample, Window};
use serde_json::Value;

/// The kernel's network: sender, router, receiver; acknowledgements are delayed by `delay` on their way back.
fn network(duration: u64, rate: &str, delay: &str, queue: &str, flows: &str) -> String {
    format!(
        r#"
title = "as the kernel's reference run"
duration = "{duration}s"
warmup = "5s"
record.interval = "100ms"
node.a = {{}}
node.r = {{}}
node.b = {{}}
node.far = {{}}
link.first = {{ between = ["a", "r"], rate = "100gbit" }}
link.line = {{ between = ["r", "far"], rate = "{rate}" }}
link.last = {{ between = ["far", "b"], rate = "100gbit", delay = "{delay}" }}
[port."r->far"]
{queue}
{flows}
"#
    )
}

fn flow(name: &str, cc: &str, bytes: &str, start: f64) -> String {
    format!(
        "[flow.{name}]\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\ncongestion = \"{cc}\"\nbytes = \"{bytes}\"\nstart = \"{start}s\"\n"
    )
}

fn reference(id: &str) -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/kernel.json");
    let text = std::fs::read(path).ok()?;
    let all: Value = serde_json::from_slice(&text).ok()?;
    all["experiments"].as_array()?.iter().find(|run| run["id"] == id).cloned()
}

/// What is compared, of either.
#[derive(Debug, Default)]
struct Figures {
    goodput_bps: f64,
    queueing_ms: f64,
    drops: f64,
    cwnd: Vec<(f64, f64, f64)>,
    periods: Vec<f64>,
}

fn cwnd_figures(series: &[(f64, f64)]) -> (f64, f64, f64) {
    let late: Vec<f64> = series.iter().filter(|(at, _)| *at >= 5.0).map(|(_, cwnd)| *cwnd).collect();
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    let fold = |pick: fn(f64, f64) -> f64| late.iter().copied().reduce(pick).unwrap_or(0.0);
    (fold(f64::min), mean, fold(f64::max))
}

fn mean_gap(times: &[f64]) -> f64 {
    let late: Vec<f64> = times.iter().copied().filter(|at| *at >= 3.0).collect();
    match late.as_slice() {
        [first, .., last] => (last - first) / (late.len() - 1) as f64,
        _ => f64::NAN,
    }
}

fn of_kernel(run: &Value, flows: &[&str]) -> Figures {
    let tcp = &run["results"]["tcp"];
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let each = |flow: &&str| &tcp["flows"][*flow];
    let list = |value: &Value| -> Vec<f64> {
        value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    Figures {
        goodput_bps: number(&tcp["total_goodput_bps_5s_to_end"]),
        queueing_ms: number(&tcp["queue_delay_us_after5s"]["mean"]) / 1e3,
        drops: number(&tcp["drops_total_at_bottleneck"]),
        cwnd: flows
            .iter()
            .map(|flow| {
                let flow = each(flow);
                let t0 = number(&flow["cwnd_series"]["t0_s"]);
                let series: Vec<(f64, f64)> = list(&flow["cwnd_series"]["cwnd"])
                    .into_iter()
                    .enumerate()
                    .map(|(place, cwnd)| (t0 + 0.1 * place as f64, cwnd))
                    .collect();
                cwnd_figures(&series)
            })
            .collect(),
        periods: flows.iter().map(|flow| mean_gap(&list(&each(flow)["recovery_starts_s"]))).collect(),
    }
}

fn samples(recording: &Recording, flow: usize) -> Vec<(f64, TcpSample)> {
    let tcp = recording.flows[flow].tcp.as_ref().expect("a TCP flow");
    tcp.end.iter().map(Instant::as_secs_f64_of).zip(tcp.samples.iter().copied()).collect()
}

trait Seconds {
    fn as_secs_f64_of(&self) -> f64;
}

impl Seconds for Instant {
    fn as_secs_f64_of(&self) -> f64 {
        self.as_secs_f64()
    }
}

fn of_ours(recording: &Recording, flows: usize) -> Figures {
    let window = recording.window().as_secs_f64();
    let mut ours = Figures::default();
    let (mut waited, mut packets) = (0.0, 0.0);
    for flow in 0..flows {
        let record = &recording.flows[flow];
        ours.goodput_bps += record.payload_in_window().0 as f64 * 8.0 / window;
        ours.drops += record.totals(Window::WholeRun).lost.packets as f64;
        // The kernel's figure is between two taps: the transmission counts.
        for part in [&record.delays().queueing, &record.delays().serialisation] {
            waited += part.sum() as f64 / 1e9;
        }
        packets += record.delays().queueing.count() as f64;
        let series = samples(recording, flow);
        let windows: Vec<(f64, f64)> = series.iter().map(|(at, s)| (*at, s.cwnd.0 as f64 / 1448.0)).collect();
        ours.cwnd.push(cwnd_figures(&windows));
        let mut starts = Vec::new();
        for pair in series.windows(2) {
            if pair[1].1.recoveries > pair[0].1.recoveries {
                starts.push(pair[1].0);
            }
        }
        ours.periods.push(mean_gap(&starts));
    }
    ours.queueing_ms = waited / packets;
    ours
}

fn row(what: &str, kernel: f64, ours: f64, tolerance: f64) -> bool {
    let off = (ours / kernel - 1.0) * 100.0;
    let holds = off.abs() <= tolerance;
    println!(
        "{what:24} kernel {kernel:12.2}  ours {ours:12.2}  off {off:+7.2} %  allowed {tolerance} %  {}",
        if holds { "holds" } else { "MISSED" }
    );
    holds
}

/// Prints the table; how many rows are missed.
fn compare(id: &str, kernel: &Figures, ours: &Figures, flows: &[&str]) -> usize {
    println!("{id}");
    let mut missed = 0;
    let mut check = |what: &str, kernel: f64, ours: f64, tolerance: f64| {
        missed += usize::from(!row(what, kernel, ours, tolerance));
    };
    check("goodput Mbit/s", kernel.goodput_bps / 1e6, ours.goodput_bps / 1e6, 3.0);
    check("queueing ms", kernel.queueing_ms, ours.queueing_ms, 10.0);
    check("drops", kernel.drops, ours.drops, 25.0);
    for (place, flow) in flows.iter().enumerate() {
        let ((low, mean, high), (our_low, our_mean, our_high)) = (kernel.cwnd[place], ours.cwnd[place]);
        println!("{flow} cwnd mean            kernel {mean:12.2}  ours {our_mean:12.2}");
        check(&format!("{flow} cwnd min"), low, our_low, 15.0);
        check(&format!("{flow} cwnd max"), high, our_high, 15.0);
        check(&format!("{flow} period s"), kernel.periods[place], ours.periods[place], 15.0);
    }
    missed
}

fn held(id: &str, cc: &str, flows: &[&str], queue: &str) -> usize {
    let Some(run) = reference(id) else {
        println!("skipped: the kernel's reference runs are not there");
        return 0;
    };
    let written: Vec<String> =
        flows.iter().zip([0.1, 0.2]).map(|(name, start)| flow(name, cc, "unlimited", start)).collect();
    let text = network(60, "10mbit", "20ms", queue, &written.concat());
    let recording = simulate(&text, 1);
    let ours = of_ours(&recording, flows.len());
    if std::env::var("LOCKGATE_CWND").is_ok() {
        for (place, name) in flows.iter().enumerate() {
            let kernel: Vec<f64> = run["results"]["tcp"]["flows"][name]["cwnd_series"]["cwnd"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_f64)
                .collect();
            for (at, sample) in samples(&recording, place) {
                let index = ((at - if place == 0 { 0.2 } else { 0.3 }) * 10.0).round();
                let theirs = if index >= 0.0 { kernel.get(index as usize) } else { None };
                println!(
                    "{name} {at:5.1} cwnd {:5.0} kernel {:5.0} ssthresh {:5.0} rtt {:6.1} lost {} rtos {}",
                    sample.cwnd.0 as f64 / 1448.0,
                    theirs.copied().unwrap_or(f64::NAN),
                    sample.ssthresh.map_or(f64::NAN, |bytes| bytes.0 as f64 / 1448.0),
                    sample.rtt.map_or(0.0, |rtt| rtt.as_secs_f64() * 1e3),
                    sample.retransmissions,
                    sample.timeouts,
                );
            }
        }
    }
    compare(id, &of_kernel(&run, flows), &ours, flows)
}

const PFIFO: &str = "root = \"q\"\nqueue.q = { kind = \"fifo\", limit = \"100p\" }";
const FQ_CODEL: &str = "root = \"q\"\nqueue.q = { kind = \"fq_codel\" }";

#[test]
fn reno_two_flows_one_queue() {
    assert_eq!(held("L_E9_reno_n2_pfifo100", "reno", &["t0", "t1"], PFIFO), 0);
}

#[test]
fn cubic_two_flows_one_queue() {
    assert_eq!(held("L_E9_cubic_n2_pfifo100", "cubic", &["t0", "t1"], PFIFO), 0);
}

#[test]
fn cubic_alone_one_queue() {
    assert_eq!(held("L_E9_cubic_n1_pfifo100", "cubic", &["t0"], PFIFO), 0);
}

#[test]
fn reno_two_flows_fair_queueing() {
    assert_eq!(held("L_E9_reno_n2_fq_codel", "reno", &["t0", "t1"], FQ_CODEL), 0);
}
