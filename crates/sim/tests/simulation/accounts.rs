//! What a run says of itself, held against what happened: peaks, moved packets, rows of packets, what a link
//! carried, and that a run of very many events can be stopped.

use std::fmt::Write as _;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::Monitor;
use lockgate_measure::summary::{QueueSummary, summarise};
use lockgate_sim::{Command, Control, EVENTS_BETWEEN_STOPS, Observer, RunView, run, watched};

use crate::common::{one_link, scenario, simulate};

/// A queue that fills at 10 000 packets a second and is swapped out between two samples, ten milliseconds
/// apart.
const SWAP: &str = r#"
duration = "6s"
node.a = {}
node.b = {}
link.l = { between = ["a", "b"], rate = "1mbit" }
[port."a:b"]
root = "one"
alternatives = ["one", "two"]
queue.one = { kind = "fifo", limit = "100000p" }
queue.two = { kind = "drr", children = ["leaf"] }
queue.leaf = { kind = "fifo", limit = "100000p" }
[flow.u]
from = "a"
to = "b"
transport = "udp"
size = "125B"
gap = "100us"
stop = "600ms"
[[change]]
at = "505.05ms"
set = { "port.a:b.root" = "two" }
"#;

fn queues(recording: &lockgate_measure::Recording) -> Vec<(String, QueueSummary)> {
    let summary = summarise(std::slice::from_ref(recording));
    summary.ports["a:b"].queues.iter().map(|(name, queue)| (name.clone(), queue.clone())).collect()
}

#[test]
fn a_tree_that_is_swapped_out_keeps_its_peak_and_every_queue_balances() {
    let recording = simulate(SWAP, 1);
    let moved = recording.events.iter().find_map(|event| event.moved_packets).expect("a swap");
    let queues = queues(&recording);
    let of = |wanted: &str| &queues.iter().find(|(name, _)| name == wanted).expect("a queue").1;
    assert_eq!(of("one").peak_backlog_packets, moved, "what was moved had waited");
    assert_eq!((of("one").moved_out_packets, of("two").moved_in_packets), (moved, moved));
    assert_eq!((of("leaf").moved_in_packets, of("one").moved_in_packets), (moved, 0));
    for (name, queue) in &queues {
        assert_eq!(
            queue.enqueued_packets + queue.moved_in_packets,
            queue.sent_packets + queue.dropped_packets + queue.moved_out_packets + queue.backlog_packets,
            "{name} balances"
        );
    }
    let sent = recording.flows[0].totals(lockgate_measure::recording::Window::WholeRun).sent.packets;
    assert_eq!(
        of("one").enqueued_packets + of("two").enqueued_packets,
        sent,
        "what moves is not offered again"
    );
}

/// Looks at odd times.
struct Looker(Monitor);

impl Observer for Looker {
    fn next(&self, now: Instant) -> Instant {
        now + Duration::from_micros(3_333)
    }

    fn look(&mut self, view: RunView<'_>) -> Command {
        self.0.observe(view.links.iter_mut().map(|link| (&mut link.port, &mut link.record)));
        Command::Continue
    }
}

#[test]
fn a_look_changes_no_peak_of_a_tree_that_is_swapped_out() {
    let watched = watched(&scenario(SWAP), Seed(1), &mut Looker(Monitor::default())).expect("it runs");
    assert_eq!(queues(&watched.recording), queues(&simulate(SWAP, 1)));
}

#[test]
fn packets_that_wait_at_the_end_leave_a_row() {
    let flows = "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"1250B\"\ngap = \"1ms\"\n\
                 [record]\npackets = true";
    let port = "root = \"q\"\nring = { slots = 3 }\nqueue.q = { kind = \"fifo\", limit = \"20p\" }";
    let recording = simulate(&one_link("100ms", "2mbit", port, flows), 1);
    let rows = recording.packets.as_ref().expect("rows were asked for");
    let count = |left: bool, lost: bool| {
        rows.iter().filter(|row| row.departed.is_some() == left && row.drop.is_some() == lost).count() as u64
    };
    let queue = &recording.ports[0].queues()[0];
    assert_eq!(count(true, false), recording.ports[0].transmitted().packets);
    assert_eq!(count(false, true), queue.counters.dropped.packets);
    // The link has one of the ring's three slots, two packets wait in the others.
    assert_eq!((count(false, false), queue.counters.backlog.packets), (22, 20));
    assert_eq!(rows.len() as u64, queue.counters.offered.packets, "a row a packet that came to the port");
}

/// One packet of 1000 bytes at the start, on a link whose rate changes.
fn one_packet(rate: &str, changes: &[(&str, &str)]) -> lockgate_measure::Recording {
    let flows = "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"1000B\"\ngap = \"1ms\"\n\
                 packets = \"1p\"";
    let mut text = one_link("10s", rate, "root = \"q\"\nqueue.q = { kind = \"fifo\" }", flows);
    for (at, rate) in changes {
        let _ = write!(text, "\n[[change]]\nat = \"{at}\"\nset = {{ \"link.line.rate\" = \"{rate}\" }}");
    }
    simulate(&text, 1)
}

#[test]
fn a_rate_holds_from_its_instant_for_the_packet_under_way_too() {
    let arrives = |rate: &str, changes: &[(&str, &str)]| {
        one_packet(rate, changes).flows[0].delays().owd.max().map(|picos| picos / 1_000_000)
    };
    // It is sent after a gap of 1 ms; 8000 bits.
    assert_eq!(arrives("1mbit", &[]), Some(8_000), "microseconds");
    assert_eq!(arrives("1mbit", &[("4ms", "500kbit")]), Some(3_000 + 10_000), "5000 bits at half the rate");
    let slow = [("2ms", "1kbit"), ("1002ms", "1mbit")];
    assert_eq!(arrives("1mbit", &slow), Some(1_000 + 1_000_000 + 6_000), "1000 bits in the slow second");
    assert_eq!(arrives("1kbit", &[("1001ms", "1mbit")]), Some(1_000_000 + 7_000));
    assert_eq!(arrives("1mbit", &[("9ms", "8bit")]), Some(8_000), "its last bit is on the line");
}

#[test]
fn a_link_is_used_for_what_it_carries_within_the_window() {
    let used = |recording: &lockgate_measure::Recording| {
        summarise(std::slice::from_ref(recording)).ports["a:b"].utilisation.expect("a rate")
    };
    // From 1 ms on it carries 8 bit/s; the packet would take a thousand seconds.
    crate::common::assert_near("utilisation at 8 bit/s", used(&one_packet("8bit", &[])), 0.9999, 1e-9);
    let lowered = one_packet("1mbit", &[("2ms", "8bit")]);
    let (carried, could) = (1_000.0 + 8.0 * 9.998, 2_000.0 + 8.0 * 9.998);
    crate::common::assert_near("utilisation after a rate is lowered", used(&lowered), carried / could, 1e-9);
}

/// Packets of 1000 bits begin at 0.1 s, 0.2 s, ... on a link of 20 kbit/s, which they use for half of the
/// time; so one begins at each end of the window, and of its parts. With an overhead of 125 bytes they use
/// all of it.
#[test]
fn a_packet_that_begins_with_a_window_is_in_it_once() {
    let flow = "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"125B\"\ngap = \"100ms\"";
    for (line, used) in [("\"20kbit\"", 0.5), ("\"20kbit\", overhead = \"125B\"", 1.0)] {
        let expect = "\n[[expect]]\nthat = \"port.a:b.utilisation @ 4s..6s\"\nabove = 0\n";
        let text = one_link("8s", "1mbit", "root = \"q\"\nqueue.q = { kind = \"fifo\" }", flow);
        let text = text.replace("rate = \"1mbit\"", &format!("rate = {line}")) + expect;
        let text = text.replacen("duration = \"8s\"", "duration = \"8s\"\nwarmup = \"2s\"", 1);
        let summary = summarise(&[simulate(&text, 1)]);
        for name in ["port.a:b.utilisation", "port.a:b.utilisation @ 4s..6s"] {
            let value = summary.metric(name).expect("a value");
            crate::common::assert_near(name, value, used, 1e-9);
        }
    }
}

/// No sample is taken at the start of a run, where a part may begin. No packet begins at 2 s.
#[test]
fn a_part_from_the_start_is_as_a_run_of_its_length() {
    let flow = "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"130B\"\nrate = \"3mbit\"";
    let queue = "root = \"q\"\nqueue.q = { kind = \"fifo\", limit = \"10p\" }";
    let metrics = [("throughput", "0bit"), ("offered_bytes", "0B"), ("dropped_packets", "0p")];
    let metrics = metrics.map(|(name, none)| (format!("port.a:b.queue.q.{name}"), none));
    let expect = |(name, none): &(String, &str)| {
        format!("\n[[expect]]\nthat = \"{name} @ 0s..2s\"\nat_least = \"{none}\"\n")
    };
    let text = one_link("8s", "1mbit", queue, flow) + &metrics.iter().map(expect).collect::<String>();
    let (part, run) = (simulate(&text, 1), simulate(&one_link("2s", "1mbit", queue, flow), 1));
    let (part, run) = (summarise(&[part]), summarise(&[run]));
    for (name, _) in metrics {
        let of_part = part.metric(&format!("{name} @ 0s..2s")).expect("a value of the part");
        crate::common::assert_near(&name, of_part, run.metric(&name).expect("a value of the run"), 1e-9);
    }
}

#[test]
fn a_link_is_used_for_its_overhead_too() {
    let used = |overhead: &str, changes: &str| {
        let flows = format!(
            "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"64B\"\nrate = \"2mbit\"\n{changes}"
        );
        let text = one_link("10s", "1mbit", "root = \"q\"\nqueue.q = { kind = \"fifo\" }", &flows);
        let text = text.replace("rate = \"1mbit\"", &format!("rate = \"1mbit\", overhead = \"{overhead}\""));
        let summary = summarise(&[simulate(&text, 1)]);
        (
            summary.ports["a:b"].utilisation.expect("a rate"),
            summary.flows["f"].throughput_bps.expect("a flow"),
        )
    };
    let change = "[[change]]\nat = \"5s\"\nset = { \"link.line.rate\" = \"500kbit\" }";
    for (overhead, line) in [("38B", 102.0), ("-12B", 52.0), ("0B", 64.0)] {
        let (utilisation, throughput) = used(overhead, "");
        crate::common::assert_near(overhead, utilisation, 1.0, 1e-3);
        crate::common::assert_near(overhead, throughput, 1e6 * 64.0 / line, 1e-3);
        crate::common::assert_near(overhead, used(overhead, change).0, 1.0, 1e-3);
    }
}

#[test]
fn a_run_of_many_events_at_one_time_can_be_stopped() {
    let flows = "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"500B\"\ngap = \"1ps\"";
    let text = one_link("10s", "100mbit", "root = \"q\"\nqueue.q = { kind = \"fifo\" }", flows);
    let mut told = 0;
    let outcome = run(&scenario(&text), Seed(1), &mut |_| {
        told += 1;
        if told == 5 { Control::Stop } else { Control::Continue }
    })
    .expect("what was done so far is accounted for");
    assert!(outcome.stopped_early);
    assert_eq!(outcome.recording.engine.events, 5 * EVENTS_BETWEEN_STOPS);
    assert!(outcome.recording.duration < Duration::from_micros(1));
}

/// A burst at the start takes the first three seconds to drain: of a group of flows one warning says so.
#[test]
fn a_warm_up_that_is_too_short_is_reported_once_a_group() {
    let text = r#"
duration = "20s"
warmup = "100ms"
node = { a = {}, b = {} }
link.l = { between = ["a", "b"], rate = "10mbit", delay = "1ms" }
flow.fill = { from = "a", to = "b", size = "1250B", rate = "15mbit", stop = "2s" }
flow.f = { from = "a", to = "b", size = "125B", gap = "10ms", count = 4 }
flow.single = { from = "a", to = "b", size = "125B", gap = "10ms" }
"#;
    let warnings = summarise(&[simulate(text, 1)]).warnings;
    let begins: Vec<&str> = warnings.iter().filter_map(|warning| warning.split(':').next()).collect();
    let whose = ["4 of 4 flows of the group `f`", "flow `single`"];
    assert_eq!(begins, whose.map(|whose| format!("the warm-up looks too short for {whose}")), "{warnings:?}");
}

/// Reno loses half of a burst and repairs it for 200 ms: data beyond the gap arrive long before they are
/// delivered. In every window the goodput is the payload's share of the throughput, repeated segments left
/// out.
#[test]
fn goodput_is_never_more_than_the_payload_of_the_throughput() {
    let share = 1448.0 / 1514.0;
    let mut full = 0;
    for warmup in (200..=420).step_by(20) {
        let text = format!(
            r#"
duration = "{}ms"
warmup = "{warmup}ms"
node = {{ a = {{}}, b = {{}} }}
link.l = {{ between = ["a", "b"], rate = "10mbit", delay = "25ms" }}
port."a:b" = {{ root = "q", queue.q = {{ kind = "fifo", limit = "20p" }} }}
flow.f = {{ from = "a", to = "b", transport = "tcp", congestion = "reno", bytes = "unlimited" }}
"#,
            warmup + 60
        );
        let summary = summarise(&[simulate(&text, 1)]);
        let flow = &summary.flows["f"];
        let (goodput, throughput) = (flow.goodput_bps.expect("data"), flow.throughput_bps.expect("frames"));
        assert!(goodput <= throughput * share * (1.0 + 1e-9), "{warmup} ms: {goodput} of {throughput}");
        full += u32::from(goodput > 0.99 * throughput * share);
    }
    assert!(full >= 10, "{full} windows without a segment that arrived twice");
}
