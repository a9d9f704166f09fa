//! What lines do to packets besides transmitting them: tables of capacity, delay and loss, bursts of losses,
//! jitter with and without order, copies, slots. Every packet is accounted for: a run that does not balance
//! is an error.

use lockgate_engine::units::Instant;
use lockgate_measure::recording::{Recording, Totals, Window};
use lockgate_measure::summarise;

use crate::common::{assert_near, one_link, simulate, simulate_with};

const FIFO: &str = r#"root = "q"
queue.q = { kind = "fifo" }"#;

/// A packet of 1000 bytes each `gap`.
fn datagrams(gap: &str) -> String {
    format!("[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"1000B\"\ngap = \"{gap}\"")
}

/// A link of 80 Mbit/s, on which a packet takes 0.1 ms, with these keys.
fn line(duration: &str, keys: &str, flows: &str) -> String {
    let text = one_link(duration, "80mbit", FIFO, flows);
    text.replace("rate = \"80mbit\"", &format!("rate = \"80mbit\", {keys}"))
}

/// Returns shares of the packets sent: lost, and duplicated.
fn shares(recording: &Recording) -> [f64; 2] {
    let flow = &recording.flows[0];
    let totals = flow.totals(Window::WholeRun);
    let sent = totals.sent.packets as f64;
    [totals.lost.packets as f64 / sent, totals.duplicated.packets as f64 / sent]
}

/// Returns the share of the packets received that came after a later one.
fn reordered(recording: Recording) -> f64 {
    summarise(&[recording]).metric("flow.f.reordered").expect("packets")
}

#[test]
fn a_table_gives_capacity_delay_and_loss() {
    let text = one_link("4s", "RATE", FIFO, &datagrams("100ms"))
        .replace("rate = \"RATE\"", "trace = { up = \"line.csv\" }, rate = \"1mbit\", delay = \"5ms\"");
    let table = "time,rate,delay,loss\n0s,8mbit,10ms,0\n1s,4mbit,30ms,0\n2s,8mbit,0ms,100%\n3s,8mbit,0ms,0\n";
    let recording = simulate_with(&text, &[("line.csv", table)], 1);
    let owd = &recording.flows[0].delays().owd;
    // 1 ms + 5 ms, then 10 ms more; 2 ms + 5 ms + 30 ms in the second second.
    assert_eq!((owd.min(), owd.max()), (Some(6_000_000_000), Some(37_000_000_000)));
    let totals = recording.flows[0].totals(Window::WholeRun);
    assert_eq!((totals.sent.packets, totals.lost.packets), (39, 10), "those of the third second");
    let summary = summarise(&[recording]);
    let of = |what: &str| summary.metric(&format!("port.a:b.{what}")).expect("a value");
    assert_near("capacity", of("capacity"), 7e6, 1e-9);
    assert_near("utilisation of what the table allows", of("utilisation"), 78_000.0 / 7e6, 1e-9);
    assert_near("the way back", summary.metric("port.b:a.capacity").expect("a value"), 1e6, 1e-9);
}

#[test]
fn the_series_of_a_line_has_what_each_interval_allowed() {
    let table = "time_s rate_mbps\n0 8\n1 2\n";
    let text = one_link("2s", "RATE", FIFO, &datagrams("10ms"))
        .replace("rate = \"RATE\"", "trace = { up = \"line.txt\" }, rate = \"1mbit\"");
    let recording = simulate_with(&text, &[("line.txt", table)], 1);
    let port = &recording.ports[0];
    let capacity = port.capacity_series().expect("a series");
    assert_eq!(capacity.len(), port.ends().len());
    for (end, rate) in port.ends().iter().zip(capacity) {
        let expected = if *end <= Instant::from_picos(1_000_000_000_000) { 8e6 } else { 2e6 };
        assert!((rate / expected - 1.0).abs() < 1e-6, "{rate} at {end:?}");
    }
    assert_eq!(recording.ports[1].capacity_series(), None, "a rate is no trace");
}

#[test]
fn jitter_keeps_the_order_unless_it_is_said() {
    let keys = "delay = \"5ms\", jitter = { distribution = \"uniform\", min = \"0s\", max = \"20ms\" }";
    let in_order = simulate(&line("20s", keys, &datagrams("1ms")), 1);
    let free = simulate(&line("20s", &format!("{keys}, keep_order = false"), &datagrams("1ms")), 1);
    let mean = |recording: &Recording| recording.flows[0].delays().owd.mean().expect("packets") / 1e9;
    // 5 ms + 0.1 ms, and half of the jitter; without overtaking, most wait for one that is late.
    assert_near("mean, ms", mean(&free), 15.1, 0.01);
    assert!(mean(&in_order) > 20.0, "{}", mean(&in_order));
    let most = |recording: &Recording| recording.flows[0].delays().owd.max().expect("packets");
    assert!(most(&free) <= 25_100_000_000 && most(&in_order) <= 25_100_000_000);
    assert_eq!(free.flows[0].totals(Window::WholeRun).lost.packets, 0);
    let shares = [in_order, free].map(reordered);
    assert!(shares[0] < 1e-9 && shares[1] > 0.5, "{shares:?}");
}

#[test]
fn copies_are_packets_more_and_all_are_accounted_for() {
    let recording =
        simulate(&line("20s", "delay = \"3ms\", duplicate = \"10%\", loss = \"1%\"", &datagrams("1ms")), 1);
    let totals = recording.flows[0].totals(Window::WholeRun);
    let [lost, duplicated] = shares(&recording);
    assert_near("lost", lost, 0.01, 0.15);
    assert_near("duplicated", duplicated, 0.099, 0.05);
    let arrived = totals.received.packets + totals.inside.packets;
    assert_eq!(arrived, totals.sent.packets - totals.lost.packets + totals.duplicated.packets);
    // A connection gets each byte once, whatever arrives twice, and echoes are answered twice.
    let text = line(
        "20s",
        "delay = \"3ms\", duplicate = \"5%\"",
        "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\nbytes = \"2MB\"\n\
         [flow.ping]\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nsize = \"100B\"\ngap = \"100ms\"\necho = true",
    );
    let recording = simulate(&text, 2);
    let file = recording.flows[0].totals(Window::WholeRun);
    assert!(file.duplicated.packets > 20, "{file:?}");
    let summary = summarise(&[recording]);
    assert!(summary.metric("flow.f.fct").is_ok(), "the file is complete");
    assert!(summary.metric("flow.ping.rtt.p50").is_ok());
}

#[test]
fn reordered_packets_skip_the_delay() {
    let recording = simulate(&line("20s", "delay = \"10ms\", reorder = \"20%\"", &datagrams("1ms")), 1);
    let owd = &recording.flows[0].delays().owd;
    assert_eq!((owd.min(), owd.max()), (Some(100_000_000), Some(10_100_000_000)));
    let mean = owd.mean().expect("packets") / 1e9;
    assert_near("mean, ms", mean, 0.1 + 0.8 * 10.0, 0.02);
    // Of ten packets that are on their way, a part is overtaken by one of the next ten.
    assert!(reordered(recording) > 0.5);
}

#[test]
fn losses_come_in_bursts_on_a_link() {
    let keys = "loss_bursts = { begin = \"1%\", end = \"20%\" }";
    let recording = simulate(&line("100s", keys, &datagrams("1ms")), 1);
    let [lost, _] = shares(&recording);
    assert_near("lost", lost, 0.01 / 0.21, 0.1);
    // Each direction by itself.
    let only_back = line("10s", &format!("down = {{ {keys} }}"), &datagrams("1ms"));
    assert!(shares(&simulate(&only_back, 1))[0] < 1e-9);
}

#[test]
fn slots_hold_packets_before_the_line() {
    let keys = "slots = { every = \"100ms\", gap = \"30ms\" }";
    let recording = simulate(&line("10s", keys, &datagrams("1ms")), 1);
    let delays = recording.flows[0].delays();
    // The packet that comes at the start of a slot waits for its gap to end, in the port; the 30 that came
    // meanwhile leave behind it, 0.1 ms each.
    assert_eq!(delays.owd.max(), Some(30_100_000_000));
    let wait = recording.ports[0].sojourn(0).max().expect("packets") as f64 / 1e9;
    assert_near("longest wait in the port, ms", wait, 29.1, 0.01);
    let few = "slots = { every = \"10ms\", packets = \"5p\" }";
    let recording = simulate(&line("10s", few, &datagrams("1ms")), 1);
    let received = recording.flows[0].totals(Window::WholeRun).received.packets;
    assert!((4_990..=5_005).contains(&received), "500 a second: {received}");
}

/// All at once, in both directions, with a row of each packet and changes on the way.
#[test]
fn everything_at_once_balances() {
    let keys = "delay = \"10ms\", loss = \"1%\", duplicate = \"3%\", reorder = \"5%\", keep_order = false, \
                jitter = { distribution = \"exponential\", mean = \"4ms\" }, loss_bursts = { begin = \"1%\", end = \"30%\" }, \
                slots = { every = \"7ms\", up_to = \"9ms\", gap = \"1ms\", bytes = \"30kB\", delay = \"2ms\" }";
    let flows = "[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\nbytes = \"unlimited\"\n\
                 [flow.g]\nfrom = \"b\"\nto = \"a\"\ntransport = \"udp\"\nsize = \"700B\"\nrate = \"5mbit\"\n\
                 [[change]]\nat = \"2s\"\nset = { \"link.line.rate\" = \"1mbit\" }\n\
                 [[change]]\nat = \"4s\"\nset = { \"link.line.rate\" = \"30mbit\", \"link.line.delay\" = \"1ms\" }\n\
                 [record]\npackets = true\n";
    for seed in 1..=5 {
        let recording = simulate(&line("6s", keys, flows), seed);
        let again = simulate(&line("6s", keys, flows), seed);
        assert!(recording.has_same_packets(&again), "the same seed, the same packets");
        let sum = |of: fn(&Totals) -> u64| {
            recording.flows.iter().map(|flow| of(&flow.totals(Window::WholeRun))).sum::<u64>()
        };
        let (duplicated, lost) = (sum(|totals| totals.duplicated.packets), sum(|totals| totals.lost.packets));
        assert!(duplicated > 100 && lost > 100, "{duplicated} duplicated, {lost} lost");
    }
}
