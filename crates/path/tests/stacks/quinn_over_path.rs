//! QUIC by `quinn-proto` at both ends.

use lockgate_path::{Path, PathBuilder, Summary};
use quinn_proto::TransportConfig;

use crate::stacks::transfer::{Transferred, transfer};

const BYTES: usize = 3_000_000;

fn run(builder: PathBuilder) -> (Transferred, Summary) {
    let mut path = builder.build().expect("a path");
    let transferred = transfer(&mut path, BYTES, TransportConfig::default());
    (transferred, path.finish().expect("the account balances").summary().expect("a summary"))
}

fn line(queue: &str) -> PathBuilder {
    Path::between("client", "server").rate("20mbit").delay("20ms").queue(queue)
}

/// Seconds in which the line alone carries the file, in full packets of 1494 bytes with 1410 of the file.
const IDEAL_S: f64 = BYTES as f64 * 8.0 / 20e6 * (1494.0 / 1410.0);

#[test]
fn a_file_takes_little_longer_than_the_line_needs() {
    let (transferred, summary) = run(line("fq_codel"));
    let completed = transferred.completed.as_secs_f64();
    println!("{completed:.3} s, ideal {IDEAL_S:.3} s, {} marks", transferred.marks);
    // Handshake, slow start from ten packets, and the last acknowledgement take some round trips of 40 ms.
    assert!(completed > IDEAL_S && completed < IDEAL_S * 1.25 + 0.2, "{completed} s, ideal {IDEAL_S} s");
    let flow = &summary.flows["client-server"];
    assert_eq!(flow.sent_packets, flow.received_packets + flow.lost_packets + flow.inside_packets);
}

/// A call beside the transfer, which shares the line's queue.
fn beside_a_call(queue: &str) -> Summary {
    let text = format!(
        r#"
title = "QUIC beside a call"
duration = "60s"
node.client = {{}}
node.server = {{}}
link.line = {{ between = ["client", "server"], rate = "20mbit", delay = "20ms" }}
port."client:server".queue.q = {{ kind = "{queue}" }}
flow.call = {{ from = "client", to = "server", transport = "udp", size = "200B", gap = "2ms" }}
"#
    );
    run(Path::from_scenario(&text, 1).connect("client", "server")).1
}

#[test]
fn fq_codel_keeps_the_delay_that_a_fifo_does_not() {
    let [fifo, fair] = ["fifo", "fq_codel"].map(beside_a_call);
    for flow in ["client-server", "call"] {
        let delays = |summary: &Summary| {
            let owd = &summary.flows[flow].owd_s;
            [owd.p50.expect("packets"), owd.p99.expect("packets")]
        };
        let ([_, late], [middle, early]) = (delays(&fifo), delays(&fair));
        println!(
            "{flow}: p99 fifo {:.1} ms, fq_codel {:.1} ms, its median {:.1} ms",
            late * 1e3,
            early * 1e3,
            middle * 1e3
        );
        assert!(late > 2.0 * early, "{flow}: {late} s against {early} s");
    }
    let call = fair.flows["call"].owd_s.p99.expect("packets");
    assert!(call < 0.023, "20 ms of propagation, and a packet of the transfer or two: {call} s");
}

#[test]
fn the_sender_sees_marks_and_answers_them() {
    let (transferred, summary) = run(line("fq_codel"));
    assert!(transferred.marks > 0, "fq_codel marks packets that declare ECN");
    assert!(transferred.congestion_events > 0, "the sender answers them");
    assert!(transferred.congestion_events <= transferred.marks + summary.flows["client-server"].lost_packets);
    let (without, _) = run(Path::between("client", "server").rate("20mbit").delay("20ms").queue("fifo"));
    assert_eq!(without.marks, 0, "a FIFO marks nothing");
}

#[test]
fn twenty_runs_have_the_same_packets() {
    let (first, _) = run(line("fq_codel").loss("0.5%").seed(7));
    for _ in 1..if std::env::var_os("LOCKGATE_LAWS").is_some() { 20 } else { 4 } {
        assert_eq!(run(line("fq_codel").loss("0.5%").seed(7)).0, first);
    }
    assert_ne!(run(line("fq_codel").loss("0.5%").seed(8)).0, first, "another seed loses other packets");
}
