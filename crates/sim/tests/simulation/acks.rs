//! Filter of acknowledgements of `cake`, on a line that sends far less than it receives.

use lockgate_engine::discipline::DropReason;
use lockgate_measure::recording::Recording;
use lockgate_measure::summary::summarise;
use lockgate_sim::can_split;

use crate::common::{scenario, simulate};

/// A download at up to 40 Mbit/s whose acknowledgements leave at 190 kbit/s.
fn line(filter: &str) -> String {
    format!(
        r#"
duration = "12s"
warmup = "4s"
node.server = {{}}
node.home = {{}}
link.line = {{ between = ["home", "server"], rate = {{ up = "200kbit", down = "40mbit" }}, delay = "10ms" }}
port."home->server" = {{ root = "shaper", queue.shaper = {{ kind = "cake", bandwidth = "190kbit", ack_filter = {filter} }} }}
flow.download = {{ from = "server", to = "home", transport = "tcp", bytes = "unlimited" }}
"#
    )
}

/// Returns the goodput of the download in Mbit/s, and the acknowledgements that were filtered.
fn outcome(recording: &Recording) -> (f64, u64) {
    let drops = recording.ports.iter().flat_map(|port| port.drops_by(0));
    let filtered = drops.filter(|(reason, _)| *reason == DropReason::Superseded).map(|(_, count)| count);
    // In the 8 s after the warm-up.
    (recording.flows[0].payload_in_window().0 as f64 * 8.0 / 8e6, filtered.sum())
}

#[test]
fn a_filter_of_acknowledgements_speeds_up_a_download() {
    let of = |filter: &str| outcome(&simulate(&line(filter), 1));
    let [(off, none), (on, some), (hard, most)] = ["false", "true", "\"aggressive\""].map(of);
    assert_eq!(none, 0);
    assert!(some > 100 && most > 100, "{some} and {most} acknowledgements filtered");
    // 190 kbit/s are 360 acknowledgements of 66 bytes a second, each for two segments or a few more: 8 to 10
    // Mbit/s.
    assert!(off < 11.0, "{off} Mbit/s");
    assert!(on > 2.0 * off && hard > 2.0 * off, "{off}, {on}, {hard} Mbit/s");
}

/// The tins of `cake` by the marks of the flows: two flows of one code point have the parts of bulk and of
/// voice.
#[test]
fn marks_choose_the_tins() {
    let text = |fwmark: &str| {
        format!(
            r#"
duration = "6s"
warmup = "1s"
node = {{ a = {{}}, b = {{}} }}
link.l = {{ between = ["a", "b"], rate = "20mbit" }}
port."a:b" = {{ root = "q", queue.q = {{ kind = "cake", bandwidth = "10mbit", fwmark = {fwmark} }} }}
flow.bulk = {{ from = "a", to = "b", transport = "udp", size = "1000B", rate = "9mbit", mark = "0x1100" }}
flow.voice = {{ from = "a", to = "b", transport = "udp", size = "1000B", rate = "9mbit", mark = "0x3200" }}
"#
        )
    };
    let shares = |fwmark: &str| {
        let recording = simulate(&text(fwmark), 1);
        let bytes = |flow: usize| recording.flows[flow].received_in_window().bytes.0 as f64;
        bytes(0) / (bytes(0) + bytes(1))
    };
    assert!((shares("0") - 0.5).abs() < 0.01, "one tin: {}", shares("0"));
    // Bulk has a sixteenth and voice a quarter; the rest is shared as these.
    let marked = shares("0xf000");
    assert!(marked < 0.3, "bulk has {marked}");
    assert!((shares("0xff") - 0.5).abs() < 0.01, "no bits of the mark");
}

/// A network that could be simulated in two halves is simulated as a whole: the segments are in one of them.
#[test]
fn a_filter_keeps_a_large_network_whole() {
    let text = |queue: &str| {
        format!(
            r#"
duration = "100ms"
node = {{ server = {{}}, edge = {{}}, spine = {{}}, hub = {{}}, member = {{ count = 1100 }} }}
link.core = {{ between = ["server", "edge"], rate = "200mbit", delay = "11ms" }}
link.short = {{ between = ["edge", "spine"], rate = "1gbit", delay = "10us" }}
link.metro = {{ between = ["spine", "hub"], rate = "100mbit", delay = "10ms" }}
link.last = {{ between = ["hub", "member/*"], rate = "20mbit", delay = "2.4ms" }}
port."spine:edge" = {{ root = "q", queue.q = {queue} }}
flow.train = {{ from = "server", to = "member/*", count = 9, transport = "udp", size = "500B", gap = "5us", packets = "90p" }}
flow.download = {{ from = "server", to = "member/*", count = 2, transport = "tcp", bytes = "1MB" }}
"#
        )
    };
    let splits = |queue: &str| can_split(&scenario(&text(queue)));
    assert!(splits("{ kind = \"cake\" }") && splits("{ kind = \"cake\", ack_filter = false }"));
    assert!(!splits("{ kind = \"cake\", ack_filter = true }"));
    assert!(!splits("{ kind = \"cake\", ack_filter = \"aggressive\" }"));
}

/// The tins of the summary add up to their queue, warm-up left out.
#[test]
fn the_summary_has_the_tins() {
    let text = r#"
duration = "5s"
warmup = "2s"
node.server = {}
node.home = {}
link.line = { between = ["home", "server"], rate = { up = "400kbit", down = "20mbit" }, delay = "10ms" }
port."home->server" = { root = "shaper", queue.shaper = { kind = "cake", bandwidth = "380kbit", ack_filter = "aggressive" } }
flow.download = { from = "server", to = "home", transport = "tcp", bytes = "unlimited" }
flow.upload = { from = "home", to = "server", transport = "tcp", bytes = "unlimited", ecn = true, dscp = "CS1" }
flow.call = { from = "home", to = "server", transport = "udp", size = "200B", gap = "20ms", dscp = "EF" }
flow.flood = { from = "home", to = "server", transport = "udp", size = "1000B", rate = "2mbit" }
"#;
    let summary = summarise(&[simulate(text, 1)]);
    let queue = &summary.ports["home:server"].queues["shaper"];
    assert_eq!(queue.tins.keys().collect::<Vec<_>>(), ["bulk", "best effort", "voice"]);
    let sum =
        |of: fn(&lockgate_measure::summary::TinSummary) -> u64| queue.tins.values().map(of).sum::<u64>();
    assert_eq!(sum(|tin| tin.sent_packets), queue.sent_packets);
    assert_eq!(sum(|tin| tin.sent_bytes), queue.sent_bytes);
    assert_eq!(sum(|tin| tin.dropped_packets), queue.dropped_packets);
    assert_eq!(sum(|tin| tin.marked_packets), queue.marked_packets);
    assert_eq!(sum(|tin| tin.backlog_packets), queue.backlog_packets);
    assert_eq!(sum(|tin| tin.superseded_packets), queue.drops_by["superseded"]);
    let [bulk, best, voice] = ["bulk", "best effort", "voice"].map(|name| &queue.tins[name]);
    // 3 s of a call, and marks for the upload alone.
    assert!((149..=151).contains(&voice.sent_packets) && voice.dropped_packets == 0, "{voice:?}");
    assert!(bulk.marked_packets > 0 && best.marked_packets == 0, "{bulk:?} {best:?}");
    assert!(best.superseded_packets > 0 && bulk.superseded_packets == 0, "{bulk:?} {best:?}");
    let weighted: f64 =
        queue.tins.values().map(|tin| tin.sojourn_mean_s.unwrap_or(0.0) * tin.sent_packets as f64).sum();
    let mean = queue.sojourn_s.mean.expect("a mean");
    assert!((weighted / queue.sent_packets as f64 / mean - 1.0).abs() < 1e-3, "{weighted} {mean}");
}
