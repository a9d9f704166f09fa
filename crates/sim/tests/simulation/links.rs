//! What links do to packets, worked out by hand: exact times, loss, traces, routers bound by their processor.

use lockgate_measure::recording::Window;
use lockgate_testing::lines;

use crate::common::{assert_near, one_link, scenario, simulate};

const FIFO: &str = r#"root = "q"
queue.q = { kind = "fifo" }"#;

/// 64-byte frames back to back at 100 Gbit/s for a millisecond: 5.12 ns each, without any drift.
#[test]
fn a_hundred_gigabits_of_smallest_frames_are_exact() {
    let flows = r#"[flow.f]
from = "a"
to = "b"
transport = "udp"
size = "64B"
rate = "100gbit"
packets = "100000p""#;
    let recording = simulate(&one_link("1ms", "100gbit", FIFO, flows), 1);
    let owd = &recording.flows[0].delays().owd;
    assert_eq!(owd.count(), 100_000);
    assert_eq!((owd.min(), owd.max()), (Some(5_120), Some(5_120)), "picoseconds");
    // At a rate that does not divide, what is left over of one packet is carried to the next.
    let recording = simulate(&one_link("1ms", "99.7gbit", FIFO, flows), 1);
    let last = recording.flows[0].delays().iat.sum() as f64 / 99_999.0;
    assert_near("mean spacing at 99.7 Gbit/s, ps", last, 64.0 * 8e12 / 99.7e9, 1e-6);
}

/// Two hops: 1250 bytes take 1 ms on each 10 Mbit/s link, which is 2 ms long.
#[test]
fn delay_is_the_sum_of_its_parts() {
    let text = r#"
duration = "1s"
node.a = {}
node.r = { service = { per_packet = "500us" } }
node.b = {}
link.one = { between = ["a", "r"], rate = "10mbit", delay = "2ms" }
link.two = { between = ["r", "b"], rate = "10mbit", delay = "2ms" }
[flow.f]
from = "a"
to = "b"
transport = "udp"
size = "1250B"
rate = "1mbit"
"#;
    let recording = simulate(text, 1);
    let delays = recording.flows[0].delays();
    // 1 ms + 2 ms + 0.5 ms of service + 1 ms + 2 ms.
    assert_eq!((delays.owd.min(), delays.owd.max()), (Some(6_500_000_000), Some(6_500_000_000)));
    assert_eq!(delays.queueing.max(), Some(500_000_000), "service counts as waiting in the router");
    assert_eq!(delays.serialisation.max(), Some(2_000_000_000));
}

/// A router that needs 2 ms a packet passes 500 a second, whatever its links carry.
#[test]
fn a_router_is_bound_by_its_processor() {
    let text = r#"
duration = "10s"
node.a = {}
node.r = { service = { per_packet = "2ms", limit = "10p" } }
node.b = {}
link.one = { between = ["a", "r"], rate = "100mbit" }
link.two = { between = ["r", "b"], rate = "100mbit" }
[flow.f]
from = "a"
to = "b"
transport = "udp"
size = "1000B"
gap = "1ms"
"#;
    let recording = simulate(text, 1);
    let totals = recording.flows[0].totals(Window::WholeRun);
    assert!((4_988..=5_000).contains(&totals.received.packets), "{totals:?}");
    assert!((4_980..=5_000).contains(&totals.lost.packets), "{totals:?}");
}

#[test]
fn random_loss_is_as_frequent_as_asked_and_counted() {
    let text = one_link(
        "100s",
        "10mbit",
        FIFO,
        "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"100B\"\nrate = \"1mbit\"",
    )
    .replace("rate = \"10mbit\" }", "rate = \"10mbit\", loss = \"2%\" }");
    let totals = simulate(&text, 3).flows[0].totals(Window::WholeRun);
    assert_eq!(totals.sent.packets, 125_000);
    assert_near("loss", totals.lost.packets as f64 / 125_000.0, 0.02, 0.05);
}

/// The source's clock is 5 s fast: LIS takes its packets for younger than they are.
#[test]
fn a_wrong_clock_misleads_lis_and_not_lisb() {
    let run = |kind: &str, clock: &str| {
        let text = format!(
            r#"
duration = "20s"
node.early = {{ {clock} }}
node.right = {{}}
node.r = {{}}
node.sink = {{}}
link.one = {{ between = ["early", "r"], rate = "100mbit" }}
link.two = {{ between = ["right", "r"], rate = "100mbit" }}
link.out = {{ between = ["r", "sink"], rate = "1mbit" }}
[port."r->sink"]
root = "q"
queue.q = {{ kind = "{kind}", limit = "100p" }}
[flow.early]
from = "early"
to = "sink"
transport = "udp"
size = "1000B"
gap = {{ distribution = "exponential", mean = "12ms" }}
[flow.right]
from = "right"
to = "sink"
transport = "udp"
size = "1000B"
gap = {{ distribution = "exponential", mean = "12ms" }}
"#
        );
        let recording = simulate(&text, 5);
        recording.flows.iter().map(|flow| flow.received_in_window().packets as f64).collect::<Vec<_>>()
    };
    let fair = run("lis", "");
    assert!((fair[0] / fair[1] - 1.0).abs() < 0.1, "{fair:?}");
    let misled = run("lis", r#"clock = { offset = "5s" }"#);
    assert!(misled[0] < 0.8 * misled[1], "a fast clock looks young: {misled:?}");
    assert_eq!(run("lisb", ""), run("lisb", r#"clock = { offset = "5s" }"#), "LISB reads no stamps");
}

/// The packets of a line are as far apart as their bytes on the wire take, wherever it is stated: at a link,
/// at a port, in `cake`, `tbf` and `htb`.
#[test]
fn a_line_takes_the_same_bytes_wherever_it_is_stated() {
    let [header, _] = lines::HEADERS;
    let flow = |bytes: u64| {
        format!(
            "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"{bytes}B\"\nrate = \"8mbit\"\npackets = \"40p\""
        )
    };
    let mut count = 0;
    for line in lines::LINES {
        let at_link = |keys: &str| {
            let text = one_link("1s", "5mbit", FIFO, "FLOW");
            text.replace("rate = \"5mbit\"", &format!("rate = \"5mbit\", {keys}"))
        };
        let mut links = vec![("link in bytes", at_link(&line.keys(header).join(", ")))];
        if line.has_name() {
            let by_name = at_link(&format!("overhead = \"{}\"", line.word));
            // Cells hide a few bytes from the lengths below.
            let overhead = |text: &str| scenario(&text.replace("FLOW", &flow(100))).links[0].overhead;
            assert_eq!(overhead(&by_name), overhead(&links[0].1), "{}", line.word);
            links.push(("link by name", by_name));
        }
        for (packet, length) in lines::PACKETS.into_iter().zip(line.lengths[0]) {
            let ports = line.ports(header, length).into_iter();
            let ports = ports.map(|(index, port)| (index, one_link("1s", "100mbit", &port, "FLOW")));
            for (index, text) in links.iter().cloned().chain(ports) {
                let recording = simulate(&text.replace("FLOW", &flow(packet + header)), 1);
                let apart = recording.flows[0].delays().iat.max().expect("packets") as f64;
                let wire = (length * 8) as f64 * 1e12 / lines::RATE as f64;
                assert_near(&format!("{}, {packet} bytes, {index}", line.word), apart, wire, 1e-3);
                count += 1;
            }
        }
    }
    assert_eq!(count, 4 * (19 * 5 + 13 * 2));
}

/// A flood of twice the rate waits in a `cake` behind a port's `rate` as long as in one that shapes: memory,
/// target and quantum follow the rate, wherever it is said. Without a rate it would hold 13 s of packets.
#[test]
fn a_flood_waits_as_long_behind_a_ports_rate_as_behind_that_of_cake() {
    let flood =
        "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"1514B\"\nrate = \"20mbit\"";
    let waits = |port: &str| {
        let recording = simulate(&one_link("20s", "100mbit", port, flood), 1);
        lockgate_measure::summarise(&[recording]).metric("port.a:b.queue.q.sojourn.p99").expect("packets")
    };
    let port = waits("rate = \"9.5mbit\"\nqueue.q = { kind = \"cake\" }");
    let cake = waits("queue.q = { kind = \"cake\", bandwidth = \"9.5mbit\" }");
    let unknown = waits("rate = \"9.5mbit\"\nqueue.q = { kind = \"cake\", link_rate = \"10gbit\" }");
    assert_near("p99", port, cake, 0.02);
    assert!(cake < 2.0 && unknown > 2.0 * cake, "{cake} s; without a rate {unknown} s");
}

/// A port's own rate holds from the instant that it is set, and the packets before stay charged.
#[test]
fn the_rate_of_a_port_changes_during_a_run() {
    let flow = "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"1000B\"\nrate = \"8mbit\"\n\
                [[change]]\nat = \"1s\"\nset = { \"port.a:b.rate\" = \"2mbit\" }\n\
                [[change]]\nat = \"2s\"\nset = { \"port.a:b.rate\" = \"\" }\n";
    let port = "rate = \"4mbit\"\nqueue.q = { kind = \"fifo\", limit = \"10p\" }";
    let recording = simulate(&one_link("3s", "5mbit", port, flow), 1);
    let passed = recording.flows[0].totals(Window::WholeRun).received.packets;
    // 4, 2 and, as fast as the link, 5 Mbit.
    assert!((1_374..=1_377).contains(&passed), "{passed}");
}
