//! A token bucket on the clocks of 1999: the achieved rates with a kernel's tick.
//!
//! Constant-rate arrivals of 1400-byte payloads (1442 bytes charged) at 1, 1.4 or 3 Mbit/s of payload, the
//! first at 0 for jiffies and 1.3 ms after a tick for cpu; no limit on the queue; 60 s. With a bucket barely
//! larger than a packet the shaper sends one packet in a whole number of ticks.

use crate::finding::{Finding, Measurement};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::simulate::{one_link, simulate};
use crate::trials::Trials;

pub(super) struct CoarseClock;

const ASKED: [u64; 13] = [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 2000];

struct Row {
    what: &'static str,
    source: &'static str,
    hz: u32,
    burst: u32,
    /// Payload rate in kbit/s for each configured rate, from an independent simulation.
    expected: [u64; 13],
}

const TABLE: [Row; 5] = [
    Row {
        what: "off the rate, jiffies/100, burst 1540 B",
        source: "jiffies",
        hz: 100,
        burst: 1540,
        expected: [97, 187, 280, 373, 373, 560, 560, 560, 560, 560, 747, 1120, 1120],
    },
    Row {
        what: "off the rate, jiffies/100, burst 3000 B",
        source: "jiffies",
        hz: 100,
        burst: 3000,
        expected: [97, 195, 292, 389, 486, 583, 680, 777, 874, 971, 1068, 1165, 1680],
    },
    Row {
        what: "off the rate, cpu/100, burst 1540 B",
        source: "cpu",
        hz: 100,
        burst: 1540,
        expected: [97, 193, 280, 374, 446, 560, 560, 620, 680, 840, 840, 1120, 1520],
    },
    Row {
        what: "off the rate, cpu/1024, burst 1540 B",
        source: "cpu",
        hz: 1024,
        burst: 1540,
        expected: [97, 194, 291, 388, 486, 583, 680, 777, 874, 963, 1050, 1147, 1911],
    },
    Row {
        what: "off the rate, cpu/10000, burst 1540 B",
        source: "cpu",
        hz: 10_000,
        burst: 1540,
        expected: [97, 194, 291, 388, 486, 583, 680, 777, 874, 971, 1068, 1165, 1942],
    },
];

/// Returns the achieved payload rate in kbit/s.
fn payload_rate(row: &Row, asked: u64) -> Result<f64, String> {
    // Rates of frames: 1442 bytes for every 1400 of payload.
    let offered = match asked {
        0..=900 => "1.03mbit",
        901..=1200 => "1.442mbit",
        _ => "3.09mbit",
    };
    let start = if row.source == "jiffies" { "0s" } else { "1.3ms" };
    let (source, hz, burst) = (row.source, row.hz, row.burst);
    let text = one_link(
        "60s",
        "100mbit",
        &format!(
            r#"root = "shaper"
clock = {{ source = "{source}", hz = {hz} }}
queue.shaper = {{ kind = "tbf", rate = "{asked}kbit", burst = "{burst}B", limit = "1000000p" }}"#
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
    let packets = simulate(&text, 1)?.flows[0].received_in_window().packets;
    Ok(packets as f64 * 1400.0 * 8.0 / 60.0 / 1000.0)
}

impl Oracle for CoarseClock {
    const FAMILY: &'static str = "O21";
    const NAME: &'static str = "coarse-clock";
    const THEOREM: &'static str = "with a bucket barely larger than a packet a shaper on ticks of J sends L / (ceil(L / (r J)) J); with a deeper one, \
         what it was asked for";
    const SOURCE: &'static str =
        "derived from Linux 2.4's timers and checked by an independent simulation: 65 rates, 1 %";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["tbf"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let hold = |row: &Row| {
            let mut worst = Measurement::tolerance(row.what, "");
            for (asked, expected) in ASKED.into_iter().zip(row.expected) {
                match payload_rate(row, asked) {
                    Ok(rate) => worst.require_near(rate, expected as f64, 0.01),
                    Err(why) => worst.fault(Some(&why)),
                }
            }
            worst.finding(trials.count)
        };
        TABLE.iter().map(hold).collect()
    }
}
