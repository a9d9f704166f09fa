//! TCP held against Linux's own: the same network, flows and queues as the reference runs of the kernel.
#![allow(clippy::print_stdout, reason = "the table is wanted")]

use lockgate_engine::units::Instant;
use lockgate_measure::recording::{Recording, TcpSample, Window};
use serde_json::Value;

use crate::common::simulate;

const REFERENCE: &str = include_str!("../../../conform/tests/reference/linux.json");

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
[port."r:far"]
{queue}
{flows}
"#
    )
}

fn flow(name: &str, cc: &str, bytes: &str, start: f64) -> String {
    format!(
        "[flow.{name}]\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\ncongestion = \"{cc}\"\nbytes = \"{bytes}\"\nstart = \"{start:.6}s\"\n"
    )
}

/// The reference run called `id`.
fn reference(id: &str) -> Value {
    let all: Value = serde_json::from_str(REFERENCE).expect("JSON");
    let runs = all["experiments"].as_array().expect("a list of runs");
    runs.iter().find(|run| run["id"] == id).unwrap_or_else(|| panic!("there is no run `{id}`")).clone()
}

/// What is compared, of either.
#[derive(Debug, Default)]
struct Figures {
    goodput_bps: f64,
    queueing_ms: f64,
    drops: f64,
    acks: f64,
    cwnd: Vec<(f64, f64, f64)>,
    periods: Vec<f64>,
}

fn cwnd_figures(series: &[(f64, f64)]) -> (f64, f64, f64) {
    let late: Vec<f64> = series.iter().filter(|(at, _)| *at >= 5.0).map(|(_, cwnd)| *cwnd).collect();
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    let fold = |pick: fn(f64, f64) -> f64| late.iter().copied().reduce(pick).unwrap_or(0.0);
    (fold(f64::min), mean, fold(f64::max))
}

/// Mean time between falls of the window to less than 0.85 of its height since the last fall. (Of either from
/// its window every 0.1 s: recoveries shorter than that are not seen otherwise.)
fn period(series: &[(f64, f64)]) -> f64 {
    let (mut high, mut falls) = (0.0f64, Vec::new());
    for (at, cwnd) in series.iter().copied().filter(|(at, _)| *at >= 3.0) {
        high = high.max(cwnd);
        if cwnd < 0.85 * high {
            falls.push(at);
            high = cwnd;
        } else if falls.last().is_some_and(|last| at - last < 0.35) {
            // The same fall goes on.
            high = cwnd;
        }
    }
    match falls.as_slice() {
        [first, .., last] => (last - first) / (falls.len() - 1) as f64,
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
    let windows: Vec<Vec<(f64, f64)>> = flows
        .iter()
        .map(|flow| {
            let series = &each(flow)["cwnd_series"];
            let t0 = number(&series["t0_s"]);
            let cwnd = list(&series["cwnd"]).into_iter().enumerate();
            cwnd.map(|(index, cwnd)| (t0 + 0.1 * index as f64, cwnd)).collect()
        })
        .collect();
    Figures {
        goodput_bps: number(&tcp["total_goodput_bps_5s_to_end"]),
        queueing_ms: number(&tcp["queue_delay_us_after5s"]["mean"]) / 1e3,
        drops: number(&tcp["drops_total_at_bottleneck"]),
        acks: acks_of_kernel(run),
        cwnd: windows.iter().map(|series| cwnd_figures(series)).collect(),
        periods: windows.iter().map(|series| period(series)).collect(),
    }
}

/// Acknowledgements a data segment: packets that the delay line of the way back has sent, which `tc` counts.
fn acks_of_kernel(run: &Value) -> f64 {
    let mut counts = run["tc_stats"]["netem_b0"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let sent = counts.find_map(|line| line.split_once(" bytes "));
    let packets = sent.and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<f64>().ok());
    let segments = run["results"]["tcp"]["data_segments_total"].as_f64();
    packets.zip(segments).map_or(f64::NAN, |(packets, segments)| packets / segments)
}

fn samples(recording: &Recording, flow: usize) -> Vec<(f64, TcpSample)> {
    let tcp = recording.flows[flow].tcp.as_ref().expect("a TCP flow");
    tcp.ends().iter().map(|end| end.as_secs_f64()).zip(tcp.samples()).collect()
}

fn of_ours(recording: &Recording, flows: usize) -> Figures {
    let window = recording.window().as_secs_f64();
    let mut ours = Figures::default();
    let (mut waited, mut packets) = (0.0, 0.0);
    let sent = |is_return| {
        let of = recording.flows.iter().filter(|record| record.setup.is_return == is_return);
        of.map(|record| record.totals(Window::WholeRun).sent.packets as f64).sum::<f64>()
    };
    ours.acks = sent(true) / sent(false);
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
        ours.periods.push(period(&windows));
    }
    ours.queueing_ms = waited / packets;
    ours
}

#[must_use]
fn row(what: &str, kernel: f64, ours: f64, tolerance: f64) -> bool {
    let off = (ours / kernel - 1.0) * 100.0;
    let holds = off.abs() <= tolerance;
    println!(
        "{what:24} kernel {kernel:12.2}  ours {ours:12.2}  off {off:+7.2} %  allowed {tolerance} %  {}",
        if holds { "holds" } else { "MISSED" }
    );
    holds
}

/// Prints the table; the rows that are missed.
fn compare(id: &str, kernel: &Figures, ours: &Figures, flows: &[&str]) -> Vec<&'static str> {
    println!("{id}");
    let mut missed = Vec::new();
    let mut check = |what: &'static str, kernel: f64, ours: f64, tolerance: f64| {
        if !row(what, kernel, ours, tolerance) {
            missed.push(what);
        }
    };
    check("goodput Mbit/s", kernel.goodput_bps / 1e6, ours.goodput_bps / 1e6, 3.0);
    check("queueing ms", kernel.queueing_ms, ours.queueing_ms, 10.0);
    check("drops", kernel.drops, ours.drops, 25.0);
    check("acknowledgements each", kernel.acks, ours.acks, 3.0);
    for (index, flow) in flows.iter().enumerate() {
        let ((low, mean, high), (our_low, our_mean, our_high)) = (kernel.cwnd[index], ours.cwnd[index]);
        println!(
            "{flow} cwnd    kernel {low:.0} {mean:.1} {high:.0}, period {:.2} s; ours {our_low:.0} {our_mean:.1} {our_high:.0}, period {:.2} s",
            kernel.periods[index], ours.periods[index]
        );
    }
    // How two equal flows share is a single draw of either: their ranges and periods are compared as means.
    let over = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / flows.len() as f64;
    let cwnd = |of: &Figures, pick: fn(&(f64, f64, f64)) -> f64| over(&mut of.cwnd.iter().map(pick));
    check("cwnd min", cwnd(kernel, |cwnd| cwnd.0), cwnd(ours, |cwnd| cwnd.0), 15.0);
    check("cwnd max", cwnd(kernel, |cwnd| cwnd.2), cwnd(ours, |cwnd| cwnd.2), 15.0);
    let periods = |of: &Figures| over(&mut of.periods.iter().copied());
    check("sawtooth period s", periods(kernel), periods(ours), 15.0);
    missed
}

/// How two flows fall into step is chaos: a start that is a millisecond later gives another run of the same
/// kind. The kernel's run is one draw of it; ours is the median of these, the last flow starting so much
/// later.
const LATER_MS: [u64; 9] = [0, 1, 2, 3, 4, 5, 6, 7, 8];

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The run of `id` in the simulator, its last flow starting `later` milliseconds later.
fn ours(run: &Value, cc: &str, flows: &[&str], queue: &str, later: u64) -> Figures {
    let written: Vec<String> = flows
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let start = run["results"]["tcp"]["flows"][*name]["t_connect_s"].as_f64().unwrap_or(0.1);
            let shift = if index + 1 == flows.len() { later as f64 / 1e3 } else { 0.0 };
            flow(name, cc, "unlimited", start + shift)
        })
        .collect();
    let recording = simulate(&network(60, "10mbit", "20ms", queue, &written.concat()), 1);
    of_ours(&recording, flows.len())
}

fn held(id: &str, cc: &str, flows: &[&str], queue: &str) -> Vec<&'static str> {
    let run = reference(id);
    let draws: Vec<Figures> = LATER_MS.iter().map(|later| ours(&run, cc, flows, queue, *later)).collect();
    let of = |pick: &dyn Fn(&Figures) -> f64| median(draws.iter().map(pick).collect());
    let middle = Figures {
        goodput_bps: of(&|draw| draw.goodput_bps),
        queueing_ms: of(&|draw| draw.queueing_ms),
        drops: of(&|draw| draw.drops),
        acks: of(&|draw| draw.acks),
        cwnd: (0..flows.len())
            .map(|flow| {
                (of(&|draw| draw.cwnd[flow].0), of(&|draw| draw.cwnd[flow].1), of(&|draw| draw.cwnd[flow].2))
            })
            .collect(),
        periods: (0..flows.len()).map(|flow| of(&|draw| draw.periods[flow])).collect(),
    };
    for (later, draw) in LATER_MS.iter().zip(&draws) {
        println!(
            "  +{later} ms: {:.3} Mbit/s, {:.2} ms, {} drops, cwnd {:.0?}, periods {:.2?}",
            draw.goodput_bps / 1e6,
            draw.queueing_ms,
            draw.drops,
            draw.cwnd,
            draw.periods
        );
    }
    compare(id, &of_kernel(&run, flows), &middle, flows)
}

const PFIFO: &str = "root = \"q\"\nqueue.q = { kind = \"fifo\", limit = \"100p\" }";
const FQ_CODEL: &str = "root = \"q\"\nqueue.q = { kind = \"fq_codel\" }";

#[test]
fn reno_two_flows_one_queue() {
    assert_eq!(held("L_E9_reno_n2_pfifo100", "reno", &["t0", "t1"], PFIFO), [""; 0]);
}

#[test]
fn cubic_two_flows_one_queue() {
    assert_eq!(held("L_E9_cubic_n2_pfifo100", "cubic", &["t0", "t1"], PFIFO), [""; 0]);
}

#[test]
fn cubic_alone_one_queue() {
    assert_eq!(held("L_E9_cubic_n1_pfifo100", "cubic", &["t0"], PFIFO), [""; 0]);
}

#[test]
fn reno_two_flows_fair_queueing() {
    assert_eq!(held("L_E9_reno_n2_fq_codel", "reno", &["t0", "t1"], FQ_CODEL), [""; 0]);
}

/// A Poisson flow of 12 Mbit/s from 10 to 25 s starves the TCP flow, which is back soon after.
#[test]
fn reno_alone_against_a_poisson_flow() {
    const SEEDS: u64 = 5;
    let id = "E9_reno_n1_pfifo100_poisson12M_10to25";
    let run = reference(id);
    let queue = "root = \"shape\"\nqueue.shape = { kind = \"tbf\", rate = \"10mbit\", burst = \"1600B\", children = [\"q\"] }\nqueue.q = { kind = \"fifo\", limit = \"100p\" }";
    let poisson = r#"
[flow.intf]
from = "a"
to = "b"
size = "1000B"
gap = { distribution = "exponential", mean = "666666667ps" }
start = "10s"
stop = "25s"
"#;
    let flows = flow("t0", "reno", "unlimited", 0.1001) + poisson;
    let text = network(45, "100gbit", "20ms", queue, &flows);
    let mut missed = 0;
    let (mut back, mut silent) = (0, Vec::new());
    let kernel = of_kernel(&run, &["t0"]);
    let mut sum = Figures::default();
    for seed in 1..=SEEDS {
        let recording = simulate(&text, seed);
        let ours = of_ours(&recording, 1);
        sum.goodput_bps += ours.goodput_bps / SEEDS as f64;
        sum.queueing_ms += ours.queueing_ms / SEEDS as f64;
        sum.drops += ours.drops / SEEDS as f64;
        let series = recording.flows[0].series();
        let bits = |from: f64, to: f64| {
            let within = |end: &Instant| (from..to).contains(&(end.as_secs_f64() - 0.01));
            let bytes = series.end.iter().zip(&series.received_bytes).filter(|(end, _)| within(end));
            bytes.map(|(_, bytes)| *bytes as f64 * 8.0).sum::<f64>() / (to - from)
        };
        silent.push(bits(11.0, 25.0) / 1e6);
        back += usize::from(bits(26.5, 27.0) > 5e6);
        println!(
            "seed {seed}: {:.3} Mbit/s under the other flow, {:.2} two seconds after it",
            bits(11.0, 25.0) / 1e6,
            bits(26.5, 27.0) / 1e6
        );
    }
    println!("{id}, mean of {SEEDS} seeds (the kernel's is one run)");
    missed += usize::from(!row("goodput Mbit/s", kernel.goodput_bps / 1e6, sum.goodput_bps / 1e6, 3.0));
    missed += usize::from(!row("queueing ms", kernel.queueing_ms, sum.queueing_ms, 10.0));
    missed += usize::from(!row("drops", kernel.drops, sum.drops, 25.0));
    assert!(silent.iter().all(|rate| *rate < 0.5), "starved to a few per cent: {silent:?}");
    assert_eq!(back, SEEDS as usize, "back within two seconds");
    assert_eq!(missed, 0);
}

/// Fifty short files and five long ones through 1 Mbit/s and 1000 packets.
#[test]
fn short_and_long_files() {
    let id = "L_E10_reno_shortflows";
    let run = reference(id);
    let flows = run["results"]["tcp"]["flows"].as_object().expect("flows");
    let mut written = String::new();
    for (name, result) in flows {
        let bytes = run["flows"][name]["bytes"].as_u64().expect("bytes");
        written += &flow(name, "reno", &format!("{bytes}B"), result["t_connect_s"].as_f64().expect("a time"));
    }
    let queue = "root = \"q\"\nqueue.q = { kind = \"fifo\", limit = \"1000p\" }";
    let text = network(150, "1mbit", "5ms", queue, &written).replace("warmup = \"5s\"", "");
    let recording = simulate(&text, 1);
    let tcp = &run["results"]["tcp"];
    let (mut missed, mut drops, mut again) = (0, 0, 0);
    for record in &recording.flows {
        drops += record.totals(Window::WholeRun).lost.packets;
        again += record.tcp.as_ref().and_then(|tcp| tcp.last()).map_or(0, |last| last.retransmissions);
    }
    let total = tcp["drops_total_at_bottleneck"].as_f64().expect("drops");
    missed += usize::from(!row("drops", total, drops as f64, 25.0));
    println!("retransmissions: kernel {}, ours {again}", tcp["sum_total_retrans"]);
    let (mut kernel, mut ours) = ([0.0; 2], [0.0; 2]);
    for record in recording.flows.iter().filter(|record| !record.setup.is_return) {
        let theirs = &flows[&record.setup.name];
        let at = |key: &str| theirs[key].as_f64().unwrap_or(f64::NAN);
        let large = usize::from(record.setup.name.starts_with('l'));
        let fct = record.completed().expect("it ends").as_secs_f64();
        if large == 1 {
            println!(
                "{}: kernel {:.2} s, ours {fct:.2} s",
                record.setup.name,
                at("t_last_byte_s") - at("t_connect_s")
            );
        }
        let count = if large == 1 { 5.0 } else { 50.0 };
        kernel[large] += (at("t_last_byte_s") - at("t_connect_s")) / count;
        ours[large] += fct / count;
    }
    missed += usize::from(!row("mean completion, long s", kernel[1], ours[1], 5.0));
    missed += usize::from(!row("mean completion, short s", kernel[0], ours[0], 5.0));
    assert_eq!(missed, 0);
}
