//! TCP by `smoltcp` at both ends.

use lockgate_path::{Path, PathBuilder, Summary};
use smoltcp::socket::tcp::CongestionControl;

use crate::stacks::download::{Downloaded, download};

const BYTES: usize = 2_000_000;

fn run(builder: PathBuilder, window: usize, control: CongestionControl) -> (Downloaded, Summary) {
    let mut path = builder.build().expect("a path");
    let downloaded = download(&mut path, BYTES, window, control);
    (downloaded, path.finish().expect("the account balances").summary().expect("a summary"))
}

fn line(queue: &str) -> PathBuilder {
    Path::between("device", "cloud").rate("10mbit").delay("20ms").queue(queue)
}

#[test]
fn a_window_limits_the_goodput_as_its_round_trip_says() {
    let window = 11 * 1460;
    let (downloaded, _) = run(line("fifo"), window, CongestionControl::None);
    let goodput = BYTES as f64 * 8.0 / downloaded.completed.as_secs_f64();
    // A window a round trip: 40 ms, the transmission of a packet and of its acknowledgement. The window is a
    // segment less than the buffer: this stack acknowledges a segment before the application can read it.
    let model = (window - 1460) as f64 * 8.0 / (0.040 + 1514.0 * 8.0 / 10e6 + 54.0 * 8.0 / 10e6);
    println!("goodput {:.3} Mbit/s, model {:.3} Mbit/s", goodput / 1e6, model / 1e6);
    assert!((goodput / model - 1.0).abs() < 0.05, "{goodput} bit/s, model {model} bit/s");
}

#[test]
fn a_large_window_fills_the_line_and_a_short_queue_keeps_the_delay() {
    let results = ["fifo", "fq_codel"].map(|queue| run(line(queue), 256 << 10, CongestionControl::Cubic));
    let ideal = BYTES as f64 * 8.0 / 10e6 * 1514.0 / 1460.0;
    let median = |summary: &Summary| summary.flows["device-cloud"].owd_s.p50.expect("packets");
    for (downloaded, summary) in &results {
        let completed = downloaded.completed.as_secs_f64();
        let lost = summary.flows["device-cloud"].lost_packets;
        println!("{completed:.3} s, ideal {ideal:.3} s, median {:.1} ms, {lost} lost", median(summary) * 1e3);
    }
    let completed = results[0].0.completed.as_secs_f64();
    assert!(completed < ideal + 0.4, "handshake and slow start take at most ten round trips: {completed} s");
    assert!(median(&results[0].1) > 2.0 * median(&results[1].1), "the window waits in a FIFO");
}

#[test]
fn twenty_runs_have_the_same_bytes() {
    let lossy = || line("fq_codel").loss("1%").seed(3);
    let (first, _) = run(lossy(), 64 << 10, CongestionControl::Reno);
    for _ in 1..20 {
        let (again, _) = run(lossy(), 64 << 10, CongestionControl::Reno);
        assert!(again == first, "other packets in another run");
    }
}
