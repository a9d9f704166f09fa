//! The controller of a rate in the whole simulation, before lines whose rate steps: an uplink with TCP
//! through `cake`, a modem with a deep FIFO, and the line.

use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::{PortRecord, Recording};
use lockgate_measure::summarise;

use crate::common::simulate_with;

const SHAPED: usize = 2;
const LINE: usize = 4;

/// What a test changes of the uplink.
struct Uplink<'a> {
    duration: &'a str,
    /// Interval of the recorded series.
    interval: &'a str,
    /// Table of the line.
    table: &'a str,
    /// Jitter of the line.
    jitter: &'a str,
    rtt_ms: u64,
    flows: &'a str,
    /// Law and signals of the controller.
    law: &'a str,
    /// Links of further reflectors, and the list of those that are probed.
    reflectors: &'a str,
    probed: &'a str,
}

const EIGHT: &str =
    "[flow.bulk]\nfrom = \"home\"\nto = \"server\"\ntransport = \"tcp\"\nbytes = \"unlimited\"\ncount = 8\n";

impl Default for Uplink<'_> {
    fn default() -> Self {
        Self {
            duration: "30s",
            interval: "50ms",
            jitter: "",
            table: "time_s rate_mbps\n0 20\n",
            rtt_ms: 40,
            flows: EIGHT,
            law: "",
            reflectors: "",
            probed: "\"isp\"",
        }
    }
}

impl Uplink<'_> {
    fn run(&self) -> Recording {
        let text = format!(
            r#"
title = "uplink"
duration = "{duration}"
[record]
interval = "{interval}"
[node]
home = {{}}
gateway = {{}}
modem = {{}}
isp = {{}}
server = {{}}
[link.lan]
between = ["home", "gateway"]
rate = "1gbit"
[link.cable]
between = ["gateway", "modem"]
rate = "1gbit"
[link.line]
between = ["modem", "isp"]
rate = "100mbit"
trace = {{ up = "line.txt" }}
{jitter}
[link.core]
between = ["isp", "server"]
rate = "1gbit"
delay = "{half}us"
[port."modem:isp"]
queue.buffer = {{ kind = "fifo", limit = "4MB" }}
[port."gateway:modem"]
queue.home = {{ kind = "cake" }}
[port."gateway:modem".autorate]
{law}
min = "200kbit"
max = "500mbit"
start = "10mbit"
probes = {{ to = [{probed}], every = "300ms" }}
{reflectors}
{flows}
"#,
            duration = self.duration,
            interval = self.interval,
            jitter = self.jitter,
            law = self.law,
            half = self.rtt_ms * 500,
            probed = self.probed,
            reflectors = self.reflectors,
            flows = self.flows,
        );
        simulate_with(&text, &[("line.txt", self.table)], 1)
    }
}

/// Returns the milliseconds that the backlog of the line takes at `rate`, at the end of each interval.
fn waits(port: &PortRecord, mbit: f64) -> Vec<(f64, f64)> {
    let backlog = &port.queues()[0].series.backlog;
    let wait = |bytes: u64| bytes as f64 * 8.0 / (mbit * 1e3);
    port.ends().iter().zip(backlog).map(|(end, waiting)| (end.as_secs_f64(), wait(waiting.bytes.0))).collect()
}

/// Returns the part of what the line allowed from one second to another that passed.
fn used(recording: &Recording, from: f64, to: f64) -> f64 {
    let port = &recording.ports[LINE];
    let sent = &port.queues()[0].series.sent_bytes;
    let capacity = port.capacity_series().expect("a trace");
    let (mut passed, mut allowed) = (0.0, 0.0);
    for ((end, bytes), rate) in port.ends().iter().zip(sent).zip(capacity) {
        if end.as_secs_f64() > from && end.as_secs_f64() <= to {
            passed += *bytes as f64 * 8.0;
            allowed += rate * 0.05;
        }
    }
    passed / allowed
}

#[test]
fn a_line_that_halves_is_drained_within_a_second() {
    for rtt_ms in [20, 40, 100] {
        let table = "time_s rate_mbps\n0 20\n10 10\n20 10\n";
        let recording = Uplink { table, rtt_ms, duration: "20s", ..Uplink::default() }.run();
        let after: Vec<_> =
            waits(&recording.ports[LINE], 10.0).into_iter().filter(|(end, _)| *end > 10.0).collect();
        let most = after.iter().map(|(_, wait)| *wait).fold(0.0, f64::max);
        let drained = after.iter().find(|(end, wait)| *end > 10.1 && *wait < 25.0);
        println!("{rtt_ms} ms: at most {most:.0} ms, drained at {drained:?}");
        assert!(most > 25.0, "{rtt_ms} ms: there was something to drain: {most} ms");
        assert!(drained.is_some_and(|(end, _)| *end <= 11.0), "{rtt_ms} ms: {drained:?}");
    }
}

#[test]
fn a_line_that_doubles_is_used_within_ten_seconds() {
    for rtt_ms in [20, 40, 100] {
        let table = "time_s rate_mbps\n0 10\n10 20\n20 20\n";
        let recording = Uplink { table, rtt_ms, ..Uplink::default() }.run();
        let used = used(&recording, 20.0, 30.0);
        println!("{rtt_ms} ms: {used:.3}");
        assert!(used >= 0.9, "{rtt_ms} ms: {used}");
    }
}

/// Senders over TCP wait for their own timers after an outage, so what counts is the shaper's rate.
#[test]
fn the_rate_is_back_three_seconds_after_an_outage_of_five() {
    for rtt_ms in [20, 40, 100] {
        let table = "time_s rate_mbps\n0 20\n10 0\n15 20\n30 20\n";
        let flood = "[flow.flood]\nfrom = \"home\"\nto = \"server\"\ntransport = \"udp\"\nsize = \"1000B\"\nrate = \"15mbit\"\n";
        let flows = format!("{EIGHT}{flood}");
        let recording = Uplink { table, rtt_ms, flows: &flows, ..Uplink::default() }.run();
        let outages =
            recording.events.iter().filter(|event| event.text.contains("nothing comes back")).count();
        let used = used(&recording, 18.0, 28.0);
        println!("{rtt_ms} ms: {used:.3}, {outages} outages");
        assert!(outages > 0, "{rtt_ms} ms: {:?}", recording.events);
        assert!(used >= 0.9, "{rtt_ms} ms: {used}");
    }
}

#[test]
fn a_constant_line_loses_at_most_three_percent() {
    for rtt_ms in [20, 40, 100] {
        let recording = Uplink { rtt_ms, duration: "40s", ..Uplink::default() }.run();
        let used = used(&recording, 10.0, 40.0);
        println!("{rtt_ms} ms: {used:.3}");
        assert!(used >= 0.97, "{rtt_ms} ms: {used}");
    }
}

/// Ten minutes, or with `LOCKGATE_LAWS` a day, in which nothing is sent but probes and a datagram each 20 s.
#[test]
fn idle_hours_move_nothing() {
    let duration = if std::env::var_os("LOCKGATE_LAWS").is_some() { "86400s" } else { "600s" };
    let ends = "from = \"home\"\nto = \"server\"";
    let flows = format!(
        "[flow.bulk]\n{ends}\ntransport = \"tcp\"\nbytes = \"30MB\"\n\
         [flow.beat]\n{ends}\ntransport = \"udp\"\nsize = \"200B\"\nrate = \"80bit\"\n"
    );
    let jitter = "jitter = { distribution = \"exponential\", mean = \"3ms\" }";
    let uplink = Uplink { duration, interval: "500ms", jitter, flows: &flows, ..Uplink::default() };
    let recording = uplink.run();
    let rates = recording.ports[SHAPED].rate_series().expect("a rate that has moved");
    let ends = recording.ports[SHAPED].ends();
    let idle = ends.iter().position(|end| *end > Instant::ZERO + Duration::from_secs(60)).expect("a minute");
    println!("{:.0} at the start, {:.0} after a minute", rates[0], rates[idle]);
    assert!((rates[0] / rates[idle] - 1.0).abs() > 0.1, "the transfer has moved it: {}", rates[idle]);
    let moved = rates[idle..].iter().filter(|rate| (*rate / rates[idle] - 1.0).abs() > 1e-9).count();
    assert_eq!(moved, 0, "after a transfer of a minute at most, the rate stays");
}

/// A reflector before the line shows nothing of its queue. In the first hour the law takes its answers for
/// those of an empty line, and grows; then the signal is known to be blind, and no rate follows from it.
#[test]
fn probes_that_do_not_cross_the_line_are_blind_after_an_hour() {
    let near =
        "[node.near]\n[link.near]\nbetween = [\"gateway\", \"near\"]\nrate = \"1gbit\"\ndelay = \"5ms\"\n";
    let flood = |name: &str, start: u64, stop: u64| {
        format!(
            "[flow.{name}]\nfrom = \"home\"\nto = \"server\"\ntransport = \"udp\"\nsize = \"1000B\"\n\
             rate = \"30mbit\"\nstart = \"{start}s\"\nstop = \"{stop}s\"\n"
        )
    };
    let recording = Uplink {
        duration: "3625s",
        // Slow enough that the rate is below its limit after the hour.
        law: "acknowledgements = false\nbrake = { growth = 0.0001 }",
        flows: &format!("{}{}", flood("first", 1800, 1840), flood("last", 3610, 3620)),
        reflectors: near,
        probed: "\"near\"",
        ..Uplink::default()
    }
    .run();
    let words = "port gateway:modem: probes are blind: their delay has not moved with the load for an hour";
    let told: Vec<_> = recording.events.iter().filter(|event| event.text.starts_with(words)).collect();
    assert_eq!(told.len(), 1, "{:?}", recording.events);
    let at = told[0].at.as_secs_f64();
    assert!((3600.0..3601.0).contains(&at), "{at}");
    let rates = recording.ports[SHAPED].rate_series().expect("a rate that has moved");
    let rate_at = |second: usize| rates[20 * second - 1];
    println!(
        "{} before the first load, {} after it, {} at the end",
        rate_at(1799),
        rate_at(1845),
        rate_at(3624)
    );
    assert!(rate_at(1845) > 1.05 * rate_at(1799), "believed: {} after {}", rate_at(1845), rate_at(1799));
    assert!((rate_at(3624) / rate_at(1845) - 1.0).abs() < 1e-9, "not used: {}", rate_at(3624));
}

/// Of three reflectors one does not answer, one answers at times that mean nothing, or one is congested
/// itself. `delta-steps` counts late answers of any of them, as its original does: a reflector that lies
/// moves its delay by two fifths.
#[test]
fn a_reflector_that_is_wrong_changes_little() {
    let table = "time_s rate_mbps\n0 20\n5 8\n9 15\n13 6\n18 20\n24 12\n30 12\n";
    let with = |law: &str, keys: &str| {
        let link = |name: &str, keys: &str| {
            format!(
                "[node.{name}]\n[link.{name}]\nbetween = [\"isp\", \"{name}\"]\nrate = \"1gbit\"\ndelay = \"4ms\"\n{keys}\n"
            )
        };
        let reflectors = format!("{}{}", link("one", ""), link("two", keys));
        let probed = "\"isp\", \"one\", \"two\"";
        let recording = Uplink { table, law, reflectors: &reflectors, probed, ..Uplink::default() }.run();
        let passed = used(&recording, 2.0, 30.0);
        let summary = summarise(&[recording]);
        (summary.metric("port.modem:isp.queue.buffer.sojourn.p95").expect("packets"), passed)
    };
    // With acknowledgements, what reflectors answer is not read.
    let law = "law = \"brake\"\nacknowledgements = false";
    let (right, passed) = with(law, "");
    for (what, keys) in [
        ("dead", "loss = { up = 1, down = 0 }"),
        (
            "lying",
            "down = { jitter = { distribution = \"uniform\", min = \"0s\", max = \"200ms\" }, keep_order = false }",
        ),
        ("congested", "down = { jitter = { distribution = \"exponential\", mean = \"60ms\" } }"),
    ] {
        let (p95, used) = with(law, keys);
        println!("{what}: {:.1} ms beside {:.1} ms, {used:.3} beside {passed:.3}", p95 * 1e3, right * 1e3);
        assert!(p95 < 1.2 * right, "{what}: {p95} s beside {right} s");
        assert!(used > 0.8 * passed, "{what}: {used} beside {passed}");
    }
}
