//! Congestion windows at the end of each round trip, through slow start and the first loss, beside those of a
//! kernel: short and long paths, slow and fast lines, shallow and deep queues.
//!
//! `cargo test -p lockgate-sim --test simulation tcp_windows -- --nocapture` prints the table.
#![allow(clippy::print_stdout, reason = "the table is wanted")]

use lockgate_measure::recording::Recording;
use serde_json::Value;

use crate::common::simulate;

/// Windows from `TCP_INFO` of Linux 6.1 (how: `crates/conform/tests/reference/README.md`).
const REFERENCE: &str = include_str!("../../../conform/tests/reference/tcp_windows.json");
/// Payload of a full segment.
const SEGMENT: u64 = 1448;
/// Allowed difference of two windows: the larger of these.
const SEGMENTS: u32 = 2;
const PER_CENT: u32 = 5;

/// One connection, alone on its line.
#[derive(Debug)]
struct Row {
    control: String,
    mbit: u64,
    rtt_ms: u64,
    /// Places of the queue before the line, without the packet that is sent.
    queue: u32,
    /// Windows one base round trip after the SYN, two, and so on.
    cwnd: Vec<u32>,
}

impl Row {
    fn read(row: &Value) -> Self {
        let number = |key: &str| row[key].as_u64().expect("a number");
        let cwnd = row["cwnd"].as_array().expect("windows").iter();
        Self {
            control: row["control"].as_str().expect("a name").to_owned(),
            mbit: number("mbit"),
            rtt_ms: number("rtt_ms"),
            queue: number("queue") as u32,
            cwnd: cwnd.map(|window| window.as_u64().expect("a window") as u32).collect(),
        }
    }

    fn name(&self) -> String {
        format!("{} {} Mbit/s {} ms {}p", self.control, self.mbit, self.rtt_ms, self.queue)
    }

    /// Windows of the simulation at the same times.
    fn simulated(&self) -> Vec<u32> {
        let Self { control, mbit, rtt_ms, queue, cwnd } = self;
        let duration = rtt_ms * (cwnd.len() as u64 + 1);
        let half = rtt_ms * 500;
        let text = format!(
            r#"
title = "as the kernel's run"
duration = "{duration}ms"
record.interval = "{rtt_ms}ms"
node.a = {{}}
node.r = {{}}
node.far = {{}}
node.b = {{}}
link.first = {{ between = ["a", "r"], rate = "100gbit" }}
link.line = {{ between = ["r", "far"], rate = "{mbit}mbit" }}
link.last = {{ between = ["far", "b"], rate = "100gbit", delay = "{half}us" }}
[port."r:far"]
root = "q"
queue.q = {{ kind = "fifo", limit = "{queue}p" }}
[flow.t]
from = "a"
to = "b"
transport = "tcp"
congestion = "{control}"
bytes = "unlimited"
receive_window = "64MiB"
start = "{rtt_ms}ms"
"#
        );
        windows(&simulate(&text, 1)).skip(1).take(cwnd.len()).collect()
    }
}

fn windows(recording: &Recording) -> impl Iterator<Item = u32> + '_ {
    let samples = recording.flows[0].tcp.as_ref().expect("a TCP flow").samples();
    samples.map(|sample| (sample.cwnd.0 / SEGMENT) as u32)
}

fn is_near(kernel: u32, ours: u32) -> bool {
    kernel.abs_diff(ours) <= SEGMENTS.max(kernel * PER_CENT / 100)
}

/// The first loss is found up to a burst of four packets apart, and in the recovery the window falls by up to
/// one and a half segments a packet. Before and after it windows are equal, or as near as that burst.
const BURST: &str = "the recovery begins up to a burst of four packets apart";
/// After the first recovery the window is what path and queue hold, to one segment: whether the queue
/// overflows again at once is decided by that segment.
const AGAIN: &str = "the kernel's queue overflows again at once";
/// The reference's machine executes an instruction a nanosecond. At 200 Mbit/s and 10 ms it sends bursts at
/// nine tenths of the line's rate.
const PROCESSOR: &str = "the reference's processor is slower than the line";
/// BBR moves between its phases by samples of rate and by counts of round trips.
const PHASE: &str = "a phase of BBR, or its cycle, begins a round trip apart";
/// STARTUP ends three rounds after the last in which the bandwidth grew by a quarter. In these rows ours grew
/// by a little more, and the kernel's by a little less, in the round before the line was full.
const STARTUP: &str = "BBR's STARTUP ends a round trip later than the kernel's";
const TIMEOUT: &str = "the kernel times out in its recovery, or its send buffer is full";

/// Rows that differ, by the number of equal windows before the first that differs, with the reason.
const EXPLAINED: &[(&str, usize, &str)] = &[
    ("reno 2 Mbit/s 350 ms 20p", 5, BURST),
    ("reno 2 Mbit/s 600 ms 20p", 5, BURST),
    ("reno 20 Mbit/s 10 ms 20p", 7, BURST),
    ("reno 20 Mbit/s 40 ms 20p", 5, BURST),
    ("reno 20 Mbit/s 100 ms 33p", 5, BURST),
    ("reno 200 Mbit/s 10 ms 33p", 5, BURST),
    ("reno 200 Mbit/s 10 ms 165p", 7, PROCESSOR),
    ("reno 200 Mbit/s 40 ms 661p", 15, AGAIN),
    ("reno 200 Mbit/s 100 ms 1651p", 16, AGAIN),
    ("cubic 2 Mbit/s 350 ms 20p", 5, BURST),
    ("cubic 2 Mbit/s 600 ms 20p", 5, BURST),
    ("cubic 20 Mbit/s 40 ms 20p", 5, BURST),
    ("cubic 20 Mbit/s 100 ms 33p", 5, BURST),
    ("cubic 200 Mbit/s 10 ms 33p", 5, BURST),
    ("bbr 2 Mbit/s 10 ms 20p", 41, PHASE),
    ("bbr 2 Mbit/s 10 ms 100p", 41, PHASE),
    ("bbr 2 Mbit/s 40 ms 100p", 29, PHASE),
    ("bbr 2 Mbit/s 100 ms 100p", 21, PHASE),
    ("bbr 2 Mbit/s 350 ms 20p", 9, STARTUP),
    ("bbr 2 Mbit/s 600 ms 20p", 10, STARTUP),
    ("bbr 20 Mbit/s 10 ms 100p", 27, PHASE),
    ("bbr 20 Mbit/s 40 ms 20p", 10, STARTUP),
    ("bbr 20 Mbit/s 100 ms 33p", 11, STARTUP),
    ("bbr 20 Mbit/s 200 ms 66p", 13, STARTUP),
    ("bbr 20 Mbit/s 350 ms 116p", 13, STARTUP),
    ("bbr 20 Mbit/s 600 ms 198p", 13, STARTUP),
    ("bbr 200 Mbit/s 10 ms 33p", 7, PROCESSOR),
    ("bbr 200 Mbit/s 10 ms 165p", 9, PROCESSOR),
    ("bbr 200 Mbit/s 40 ms 132p", 12, STARTUP),
    ("bbr 200 Mbit/s 100 ms 330p", 13, STARTUP),
    ("bbr 200 Mbit/s 200 ms 3303p", 17, TIMEOUT),
    ("bbr 200 Mbit/s 600 ms 9908p", 15, TIMEOUT),
];

#[test]
fn windows_of_each_round_trip_are_the_kernels() {
    let read: Value = serde_json::from_str(REFERENCE).expect("JSON");
    let rows: Vec<Row> = read.as_array().expect("rows").iter().map(Row::read).collect();
    let mut differ = Vec::new();
    for row in &rows {
        let (name, ours) = (row.name(), row.simulated());
        assert_eq!(ours.len(), row.cwnd.len(), "{name}");
        let mut pairs = row.cwnd.iter().copied().zip(ours.iter().copied());
        let first = pairs.position(|(kernel, ours)| !is_near(kernel, ours));
        let why = EXPLAINED.iter().find(|(explained, ..)| *explained == name).map_or("", |(.., why)| why);
        println!("{name:28} {} round trips, differs from {first:?} on: {why}", ours.len());
        println!("    kernel {:?}\n    ours   {ours:?}", row.cwnd);
        differ.extend(first.map(|first| (name, first)));
    }
    println!("{} rows, {} of them differ", rows.len(), differ.len());
    let explained: Vec<(String, usize)> =
        EXPLAINED.iter().map(|(name, first, _)| ((*name).to_owned(), *first)).collect();
    assert_eq!(differ, explained);
}
