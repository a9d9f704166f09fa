//! What links do to packets, worked out by hand: exact times, loss, traces, routers bound by their processor.

use lockgate_measure::recording::Window;

use crate::common::{assert_near, one_link, simulate};

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
