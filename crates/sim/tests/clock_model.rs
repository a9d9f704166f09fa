//! A token bucket on the clocks of 1999: the table of rates that a kernel's tick makes of those asked for.
//!
//! Constant-rate arrivals of 1400-byte payloads (1442 bytes charged) at 1, 1.4 or 3 Mbit/s of payload, the
//! first at 0 for jiffies and 1.3 ms after a tick for cpu; no limit on the queue; 60 s. With a bucket barely
//! larger than a packet the shaper sends one packet in a whole number of ticks.

mod common;

use common::simulate;

const ASKED: [u64; 13] = [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 2000];

struct Row {
    source: &'static str,
    hz: u32,
    burst: u32,
    /// Payload rate in kbit/s for each rate asked for, from an independent simulation.
    expected: [u64; 13],
}

const TABLE: [Row; 5] = [
    Row {
        source: "jiffies",
        hz: 100,
        burst: 1540,
        expected: [97, 187, 280, 373, 373, 560, 560, 560, 560, 560, 747, 1120, 1120],
    },
    Row {
        source: "jiffies",
        hz: 100,
        burst: 3000,
        expected: [97, 195, 292, 389, 486, 583, 680, 777, 874, 971, 1068, 1165, 1680],
    },
    Row {
        source: "cpu",
        hz: 100,
        burst: 1540,
        expected: [97, 193, 280, 374, 446, 560, 560, 620, 680, 840, 840, 1120, 1520],
    },
    Row {
        source: "cpu",
        hz: 1024,
        burst: 1540,
        expected: [97, 194, 291, 388, 486, 583, 680, 777, 874, 963, 1050, 1147, 1911],
    },
    Row {
        source: "cpu",
        hz: 10_000,
        burst: 1540,
        expected: [97, 194, 291, 388, 486, 583, 680, 777, 874, 971, 1068, 1165, 1942],
    },
];

/// Payload rate in kbit/s that comes through.
fn payload_rate(row: &Row, asked: u64) -> f64 {
    // Rates of frames: 1442 bytes for every 1400 of payload.
    let offered = match asked {
        0..=900 => "1.03mbit",
        901..=1200 => "1.442mbit",
        _ => "3.09mbit",
    };
    let start = if row.source == "jiffies" { "0s" } else { "1.3ms" };
    let text = common::one_link(
        "60s",
        "100mbit",
        &format!(
            r#"root = "shaper"
clock = {{ source = "{}", hz = {} }}
queue.shaper = {{ kind = "tbf", rate = "{asked}kbit", burst = "{}B", limit = "1000000p" }}"#,
            row.source, row.hz, row.burst
        ),
        &format!(
            r#"[flow.stream]
from = "a"
to = "b"
transport = "udp"
payload = "1400B"
rate = "{offered}"
start = "{start}""#
        ),
    );
    let recording = simulate(&text, 1);
    let packets = recording.flows[0].received_in_window().packets;
    packets as f64 * 1400.0 * 8.0 / 60.0 / 1000.0
}

#[test]
fn the_table_of_rates_under_coarse_clocks() {
    let mut worst: f64 = 0.0;
    for row in &TABLE {
        let values = ASKED.map(|asked| payload_rate(row, asked));
        let shown = values.map(|value| format!("{value:.0}")).join(" ");
        println!("{}/{} burst {}: {shown}", row.source, row.hz, row.burst);
        for ((asked, value), expected) in ASKED.into_iter().zip(values).zip(row.expected) {
            let error = value / expected as f64 - 1.0;
            worst = worst.max(error.abs());
            assert!(
                error.abs() <= 0.01,
                "{}/{} burst {}, asked {asked}: {value:.1}, expected {expected}",
                row.source,
                row.hz,
                row.burst
            );
        }
    }
    println!("worst: {:.2} %", worst * 100.0);
}
