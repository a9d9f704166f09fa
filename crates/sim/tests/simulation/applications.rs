//! Applications that talk in turns, worked out by hand: on links so fast that only round trips take time.

use lockgate_measure::recording::{FlowRecord, Recording};
use lockgate_measure::summarise;

use crate::common::{assert_near, simulate};

/// One way takes 50 ms; a frame of 1514 bytes takes 12 ns.
fn far_apart(flows: &str) -> String {
    format!(
        r#"
title = "test"
duration = "10s"
node.a = {{}}
node.b = {{}}
link.line = {{ between = ["a", "b"], rate = "1000gbit", delay = "50ms" }}
{flows}
"#
    )
}

fn flow<'a>(recording: &'a Recording, name: &str) -> &'a FlowRecord {
    recording.flows.iter().find(|flow| flow.setup.name == name).expect("the flow")
}

/// Seconds until flow `name` had delivered all it had.
fn completed(recording: &Recording, name: &str) -> f64 {
    flow(recording, name).completed().expect("it ends").as_secs_f64()
}

/// One way after another: SYN, SYN-ACK, ACK, 220, USER, 331, PASS, 230, TYPE, 200, PASV, 227; SYN, SYN-ACK,
/// STOR, 150 and the file: 17 one-way trips of 50 ms. Then 226, QUIT, 221 and the client's FIN: four more.
#[test]
fn a_file_stored_by_ftp_takes_its_dialogue() {
    let file = r#"[flow.file]
from = "a"
to = "b"
transport = "tcp"
bytes = "1kB"
ftp = {}
"#;
    let recording = simulate(&far_apart(file), 1);
    assert_near("the file is there after", completed(&recording, "file"), 17.0 * 0.05, 1e-4);
    assert_near("the dialogue ends after", completed(&recording, "file/control"), 21.0 * 0.05, 1e-4);
    assert_eq!(flow(&recording, "file").setup.from, flow(&recording, "file/control").setup.from);
    // The server takes 10 ms for each of its six answers before the file: 220, 331, 230, 200, 227 and 150.
    let slow = file.replace("{}", "{ after = \"10ms\" }");
    let recording = simulate(&far_apart(&slow), 1);
    assert_near("with a slow server", completed(&recording, "file"), 17.0 * 0.05 + 6.0 * 0.01, 1e-4);
}

/// The receiver is the client: SYN, SYN-ACK, ACK, 220, USER, 331, PASS, 230, TYPE, 200, PORT, 200, RETR; the
/// server's SYN, SYN-ACK, and the file: 16 trips.
#[test]
fn a_file_fetched_by_ftp_comes_from_the_server() {
    let recording = simulate(
        &far_apart(
            r#"[flow.file]
from = "a"
to = "b"
transport = "tcp"
bytes = "1kB"
ftp = { get = true }
start = "1s"
"#,
        ),
        1,
    );
    assert_near("the file is there after", completed(&recording, "file"), 16.0 * 0.05, 1e-4);
    let control = flow(&recording, "file/control");
    assert_eq!((&*control.setup.from, &*control.setup.to), ("b", "a"));
}

/// Three files of a list over a slow link: 100 kB, 50 kB and, a second later, 1 MB. Their frames share 1
/// Mbit/s.
#[test]
fn listed_files_are_held_against_processor_sharing() {
    let text = r#"
title = "test"
duration = "60s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "1mbit", delay = "1ms" }
[record]
file_bins = ["60kB", "200kB"]
[flow.files]
from = "a"
to = "b"
transport = "tcp"
files = "sizes"
"#;
    let recording = crate::common::simulate_with(text, &[("sizes", "100kB\n50kB\n1MB 1s\n")], 1);
    let summary = summarise(core::slice::from_ref(&recording));
    // 1448 bytes of data in a frame of 1514; what is over in one of its own.
    let charged = |bytes: u64| (bytes + bytes.div_ceil(1448) * 66) as f64;
    let [first, second, third] = [100_000, 50_000, 1_000_000].map(charged);
    let rate = 125_000.0;
    // All three share from 1 s on: each has had half of 125 kB by then; the second lacks little, the first
    // more.
    let second_done = 1.0 + (second - rate / 2.0).max(0.0) * 3.0 / rate;
    let second_done = if second < rate / 2.0 { second * 2.0 / rate } else { second_done };
    let first_done = if second_done < 1.0 {
        let alone = (1.0 - second_done) * rate;
        1.0 + (first - second - alone) * 2.0 / rate
    } else {
        second_done + (first - second) * 2.0 / rate
    };
    let third_done = (first + second + third) / rate;
    let shared = |name: &str| summary.flows[name].file.expect("a file").ps_fct_s.expect("an end");
    assert_near("first", shared("files/1"), first_done, 1e-9);
    assert_near("second", shared("files/2"), second_done, 1e-9);
    assert_near("third", shared("files/3"), third_done - 1.0, 1e-9);
    let group = &summary.groups["files"];
    assert_eq!((group.all.files, group.all.completed), (3, 3));
    let numbers: Vec<(u64, u64)> = group.bins.iter().map(|bin| (bin.number, bin.files.files)).collect();
    assert_eq!(numbers, [(1, 1), (2, 1), (3, 1)]);
    let mean = summary.metric("group.files.bin.2.fct.mean").expect("a value");
    assert_eq!(Some(mean), summary.flows["files/1"].fct_s);
    let slowdown = summary.metric("flow.files/1.slowdown").expect("a value");
    assert_near("slowdown", slowdown, mean / first_done, 1e-9);
    // The link was never idle: the last byte cannot come later than the fluid's, but for handshake and
    // repetitions.
    let last = summary.flows["files/3"].fct_s.expect("an end");
    assert!(last > third_done - 1.0 - 0.02 && last < 1.1 * third_done, "{last} and {third_done}");
}

/// Four files of 1 MB from four hosts, over links of 10 Mbit/s each and then one that all share: also if both
/// are equally slow, the reference is that of the link where they meet. Each file has 690 frames of 1514
/// bytes and one of 946: four of them take 3.352 s.
#[test]
fn files_are_compared_where_most_of_equally_slow_links_meet() {
    let text = |edge: &str| {
        format!(
            r#"
duration = "20s"
node = {{ a = {{ count = 4 }}, r = {{}}, b = {{}} }}
link.edge = {{ between = ["a/*", "r"], rate = "{edge}" }}
link.shared = {{ between = ["r", "b"], rate = "10mbit" }}
flow.f = {{ from = "a/*", to = "b", transport = "tcp", bytes = "1MB" }}
"#
        )
    };
    let alone = 8.0 * (1_000_000.0 + 691.0 * 66.0) / 1e7;
    for (edge, expected) in [("10mbit", 4.0 * alone), ("10.1mbit", 4.0 * alone), ("5mbit", 2.0 * alone)] {
        let summary = summarise(&[crate::common::simulate(&text(edge), 1)]);
        let all = &summary.groups["f"].all;
        assert_near(edge, all.ps_fct_s.mean.expect("four files"), expected, 1e-9);
        let slowdown = all.slowdown.mean.expect("four files");
        let bounds = if edge == "5mbit" { 1.9..2.1 } else { 0.9..1.1 };
        assert!(bounds.contains(&slowdown), "{edge}: {slowdown}");
    }
}

/// Forty senders over links of one rate: each file has a fortieth of the last link. 256 kB are 176 frames of
/// 1514 bytes and one of 1218.
#[test]
fn files_of_an_incast_are_compared_at_its_last_link() {
    let text = r#"
duration = "3s"
node = { a = { count = 40 }, r = {}, b = {} }
link.edge = { between = ["a/*", "r"], rate = "1gbit" }
link.shared = { between = ["r", "b"], rate = "1gbit" }
flow.f = { from = "a/*", to = "b", transport = "tcp", bytes = "256kB" }
"#;
    let summary = summarise(&[crate::common::simulate(text, 1)]);
    let alone = 8.0 * (256_000.0 + 177.0 * 66.0) / 1e9;
    assert_near("40", summary.groups["f"].all.ps_fct_s.mean.expect("forty files"), 40.0 * alone, 1e-9);
}

/// Forty senders of DCTCP over links of 10 Gbit/s, a round trip of 1 ms. By hand: processor sharing is done
/// when the last link has sent all forty files, 8.57 ms. DCTCP needs 17 to 22 rounds, one of them for the
/// handshake: its first windows are ten segments each, 606 kB that arrive within 12 us, above the mark of 95
/// kB, so that slow start ends there. From a window of 5 (one cut; of 3 after two) each round adds a segment,
/// and 177 are sent after 16 rounds (18). The link, which could carry 20 segments of each a round, is idle
/// for half of the time: the slowdown is 2.0 to 2.6.
#[test]
fn an_incast_of_dctcp_takes_twice_its_share_and_more() {
    let text = r#"
duration = "200ms"
node = { a = { count = 40 }, r = {}, b = {} }
link.edge = { between = ["a/*", "r"], rate = "10gbit", delay = "250us" }
link.shared = { between = ["r", "b"], rate = "10gbit", delay = "250us" }
flow.f = { from = "a/*", to = "b", transport = "tcp", congestion = "dctcp", bytes = "256kB" }
[port."r:b"]
queue.q = { kind = "fifo", limit = "1MB", mark = "95kB" }
"#;
    let recording = crate::common::simulate(text, 1);
    let summary = summarise(&[recording]);
    let all = &summary.groups["f"].all;
    let alone = 8.0 * (256_000.0 + 177.0 * 66.0) / 1e10;
    assert_near("shared", all.ps_fct_s.mean.expect("forty files"), 40.0 * alone, 1e-9);
    assert_eq!((all.files, all.completed), (40, 40));
    let slowdown = all.slowdown.mean.expect("forty files");
    println!("slowdown {slowdown}");
    let rounds = slowdown * 40.0 * alone / 1e-3;
    assert!((17.0..22.0).contains(&rounds), "{slowdown}, {rounds} rounds");
    let loss = summary.metric("group.f.loss.max").expect("a value");
    assert!(loss < 1e-9, "{loss}: nothing waits for a timer");
}

/// A port's own rate is what its files share, with what it charges for a frame (an overhead of 34 bytes in
/// place of the 14 of Ethernet); and what its utilisation is of.
#[test]
fn files_share_the_own_rate_of_a_port() {
    let text = |port: &str| {
        format!(
            r#"
duration = "20s"
node = {{ a = {{ count = 4 }}, r = {{}}, b = {{}} }}
link.edge = {{ between = ["a/*", "r"], rate = "100mbit" }}
link.shared = {{ between = ["r", "b"], rate = "100mbit" }}
flow.f = {{ from = "a/*", to = "b", transport = "tcp", bytes = "1MB" }}
[port."r:b"]
{port}
"#
        )
    };
    for (port, rate, extra) in [
        ("rate = \"10mbit\"", 1e7, 0.0),
        ("rate = \"10mbit\"\noverhead = \"34B\"", 1e7, 20.0),
        ("rate = \"1gbit\"", 1e8, 0.0),
    ] {
        let summary = summarise(&[crate::common::simulate(&text(port), 1)]);
        let alone = 8.0 * (1_000_000.0 + 691.0 * (66.0 + extra)) / rate;
        let all = &summary.groups["f"].all;
        assert_near(port, all.ps_fct_s.mean.expect("four files"), 4.0 * alone, 1e-9);
        let rate_of_port = summary.metric("port.r:b.rate").expect("a rate");
        assert_near(port, rate_of_port, rate, 1e-9);
    }
}

/// 500 bytes each millisecond are 4 Mbit/s: half of a port's 8, with an overhead of 100 bytes in place of
/// Ethernet's 14 it is 0.586 of it; at 3 Mbit/s the port is full. A change of the rate at 5 s counts from
/// then on.
#[test]
fn utilisation_is_that_of_the_own_rate_of_a_port() {
    let text = |port: &str, change: &str| {
        format!(
            r#"
duration = "10s"
node = {{ a = {{}}, b = {{}} }}
link.line = {{ between = ["a", "b"], rate = "100mbit" }}
flow.f = {{ from = "a", to = "b", size = "500B", gap = "1ms" }}
[port."a:b"]
{port}
{change}
"#
        )
    };
    let half = "[[change]]\nat = \"5s\"\nset = { \"port.a:b.rate\" = \"16mbit\" }";
    for (port, change, expected) in [
        ("rate = \"8mbit\"", "", 0.5),
        ("rate = \"8mbit\"\noverhead = \"100B\"", "", 0.586),
        ("rate = \"3mbit\"", "", 1.0),
        ("rate = \"8mbit\"", half, 4.0 / 12.0),
        ("rate = \"200mbit\"", "", 0.04),
    ] {
        let summary = summarise(&[crate::common::simulate(&text(port, change), 1)]);
        let value = summary.metric("port.a:b.utilisation").expect("a value");
        assert_near(port, value, expected, 2e-4);
    }
}

/// 1250 bytes take 1 ms on a link of 10 Mbit/s that is 5 ms long: the echo is back after 12 ms.
#[test]
fn datagrams_come_back() {
    let text = |loss: &str| {
        format!(
            r#"
title = "test"
duration = "10s"
node.a = {{}}
node.b = {{}}
link.line = {{ between = ["a", "b"], rate = "10mbit", delay = "5ms"{loss} }}
[flow.ping]
from = "a"
to = "b"
transport = "udp"
size = "1250B"
gap = "100ms"
echo = true
"#
        )
    };
    let summary = summarise(&[simulate(&text(""), 1)]);
    let ping = summary.flows["ping"].echo.expect("an echo");
    // At 0.1 s, 0.2 s ... 9.9 s; the run ends at 10 s.
    assert_eq!((ping.requests, ping.answers, ping.rtt_loss_ratio), (99, 99, Some(0.0)));
    assert_eq!((ping.rtt_s.min, ping.rtt_s.max), (Some(0.012), Some(0.012)));
    assert_eq!((ping.answer_gap_s.min, ping.answer_gap_s.count), (Some(0.1), 98));
    assert_eq!(summary.metric("flow.ping.rtt.p99"), Ok(0.012));
    let back = &summary.flows["ping/return"];
    assert_eq!((back.sent_packets, back.received_packets), (99, 99));
    // A link that loses a tenth each way: 1 - 0.9^2 of the requests are not answered.
    let summary = summarise(&[simulate(&text(", loss = 0.1").replace("100ms", "2ms"), 1)]);
    let lost = summary.metric("flow.ping.rtt_loss").expect("a value");
    assert_near("lost there or back", lost, 0.19, 0.1);
    let ping = summary.flows["ping"].echo.expect("an echo");
    assert!(ping.requests - ping.answers >= (lost * ping.requests as f64) as u64);
}

/// Each request of 100 bytes over TCP is back after two trips of 50 ms; the first waits for the handshake's
/// two besides.
#[test]
fn requests_over_tcp_come_back() {
    let recording = simulate(
        &far_apart(
            r#"[flow.ask]
from = "a"
to = "b"
transport = "tcp"
size = "100B"
gap = "1s"
bytes = "500B"
echo = true
"#,
        ),
        1,
    );
    let summary = summarise(core::slice::from_ref(&recording));
    let ask = summary.flows["ask"].echo.expect("an echo");
    assert_eq!((ask.requests, ask.answers, ask.rtt_loss_ratio), (5, 5, Some(0.0)));
    assert_near("each", ask.rtt_s.max.expect("answers"), 0.1, 1e-4);
    assert_near("gap", ask.answer_gap_s.mean.expect("answers"), 1.0, 1e-4);
    // It opens at once, long before the first request at 1 s.
    assert_near("nothing else", ask.rtt_s.min.expect("answers"), 0.1, 1e-4);
}

/// Three objects of 1000 bytes: SYN, SYN-ACK, request, the first object, two requests, two objects: six
/// trips. The user thinks for 1 s; the second page needs no handshake: four trips.
#[test]
fn pages_are_read_one_after_the_other() {
    let recording = simulate(
        &far_apart(
            r#"[flow.user]
from = "a"
to = "b"
transport = "tcp"
pages = { objects = 3, object = "1000B", think = "1s" }
"#,
        ),
        1,
    );
    let summary = summarise(core::slice::from_ref(&recording));
    let user = summary.flows["user"].pages.expect("pages");
    // The first page is there at 0.3 s, the k-th at 0.3 + 1.2 (k - 1): 0.3, 1.5, ... 9.9.
    assert_eq!((user.requests, user.loaded), (9, 9));
    assert_near("first", user.load_s.max.expect("pages"), 0.3, 1e-4);
    assert_near("others", user.load_s.min.expect("pages"), 0.2, 1e-4);
    let objects = flow(&recording, "user/return").payload_in_window();
    assert_eq!(objects.0, 9 * 3000);
    assert!(summary.flows["user/return"].tcp.is_some(), "the server sends, so its window is of interest");
}

/// Files whose sizes follow a measured curve start as a Poisson process does.
#[test]
fn short_flows_follow_their_laws() {
    let text = r#"
title = "test"
duration = "100s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "100mbit", delay = "1ms" }
[flow.web]
from = "a"
to = "b"
transport = "tcp"
count = 1000
file = { distribution = "empirical", file = "sizes" }
every = { distribution = "exponential", mean = "50ms" }
"#;
    // From 1 kB to 10 kB evenly for eight of ten, from 10 kB to 100 kB for the rest: 4.4 kB + 11 kB on
    // average.
    let recording = crate::common::simulate_with(text, &[("sizes", "1kB 0\n10kB 0.8\n100kB 1\n")], 1);
    let summary = summarise(core::slice::from_ref(&recording));
    let web = &summary.groups["web"];
    assert_eq!((web.all.files, web.all.completed), (1000, 1000));
    assert_near("mean size", web.all.mean_bytes.expect("files"), 15_400.0, 0.1);
    let small = web.bins.iter().find(|bin| bin.number == 2).expect("from 1 kB to 10 kB");
    assert_near("small ones", small.files.files as f64, 800.0, 0.05);
    let starts: Vec<f64> =
        summary.flows.values().filter_map(|flow| flow.file).map(|file| file.start_s).collect();
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.len() as f64;
    assert_near("mean gap", mean, 0.05, 0.1);
    assert_near("second moment", square, 2.0 * 0.05 * 0.05, 0.2);
}

/// A call with a delay that does not vary: its rating is that of the delay and the codec.
#[test]
fn a_call_is_rated() {
    let text = r#"
title = "test"
duration = "60s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "100mbit", delay = "30ms", loss = 0.02 }
[flow.call]
from = "a"
to = "b"
payload = "172B"
gap = "20ms"
voice = "g711"
[flow.other]
from = "a"
to = "b"
profile = "g711"
[flow.plain]
from = "a"
to = "b"
payload = "172B"
gap = "20ms"
"#;
    let summary = summarise(&[simulate(text, 1)]);
    let call = &summary.flows["call"];
    let voice = call.voice.clone().expect("a call");
    assert_near("delay with 20 ms of framing", voice.delay_s.expect("packets"), 0.050, 1e-3);
    let lost = call.loss_ratio.expect("packets");
    assert_near("loss", voice.loss_ratio.expect("packets"), lost, 1e-3);
    let rating = lockgate_measure::emodel::rating(
        lockgate_measure::emodel::codec("g711").expect("known"),
        voice.delay_s.expect("packets"),
        lost,
    );
    assert_near("R", summary.metric("flow.call.r_factor").expect("a value"), rating, 1e-4);
    // 93.2, less about 1.2 for the delay, less 95 * 2 / 27.1 for the loss.
    assert_near("R by hand", rating, 93.2 - 1.2 - 95.0 * 2.0 / 27.1, 0.03);
    assert!(summary.metric("flow.other.mos").expect("the profile is a call") > 3.5);
    assert!(summary.flows["plain"].voice.is_none());
}
