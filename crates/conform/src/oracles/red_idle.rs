//! Decay of the average of random early detection during idle time.

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::packet::Packet;
use lockgate_engine::port::Poll;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use super::red_average::{flavoured, has};
use crate::finding::{Finding, Measurement};
use crate::fixtures::managed::{gauge, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct RedIdle;

/// Returns the average after `micros` of silence, as a fraction of the one before. 10 Mbit/s, packets of
/// 1000 bytes.
fn left_after(kind: &str, flavour: &str, micros: u64) -> f64 {
    let config = json!({
        "min": "15kB", "max": "45kB", "limit": "60kB", "burst": 20, "probability": "0.000001%",
    });
    let mut port = port(kind, &flavoured(kind, flavour, config));
    let mut now = Instant::ZERO;
    for _ in 0..14 {
        port.offer(Packet::new(packet(0, 1000)), now, &NoHeaders);
    }
    while let Poll::Transmit(_) = port.poll(now, &NoHeaders) {
        now = now + Duration::from_micros(800);
    }
    let before = gauge(&mut port, "average_bytes");
    // The poll that found an empty queue was at the end of the last transmission: idle time begins there.
    port.offer(Packet::new(packet(0, 1000)), now + Duration::from_micros(micros), &NoHeaders);
    gauge(&mut port, "average_bytes") / before
}

/// Returns the fraction that Linux's table leaves after `micros` in cells of `2^cell` units of a
/// microsecond: a shift if it is at least one, or else linear down to one half.
fn linux(micros: u64, cell: u32, slope: f64) -> f64 {
    let shift = libm::floor((micros >> cell << cell) as f64 * slope);
    if shift < 1.0 {
        1.0 - (micros as f64 / f64::from(1 << cell)).min(0.5)
    } else {
        libm::exp2(-shift.min(31.0))
    }
}

impl Oracle for RedIdle {
    const FAMILY: &'static str = "O14";
    const NAME: &'static str = "red-idle";
    const THEOREM: &'static str = "idle for m packet times the average falls to (1 - w)^m in the paper; in Linux to a half within half a cell, and by \
         powers of two from a table of natural logarithms";
    const SOURCE: &'static str = "Floyd and Jacobson (1993); Linux's idle table, as tc-red(8) sets it up";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["red", "choke"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        // w = 1/8; a packet takes 800 us.
        let mut findings = Vec::new();
        if has(kind, "paper") {
            let mut paper = Measurement::tolerance("off what is left, paper", "");
            for micros in [0, 1, 400, 800, 8_000, 20_000] {
                let theory = libm::pow(7.0 / 8.0, micros as f64 / 800.0);
                paper.require_near(left_after(kind.name, "paper", micros), theory, 1e-9);
            }
            findings.push(paper.finding(trials.count));
        }
        // As tc prints it for these parameters, Scell_log 13: cells of 8.192 ms.
        let slope = libm::log(8.0 / 7.0) / (800.0 * 15.625);
        let flavours = [
            ("linux", "off what is left, linux", 13, slope),
            ("linux-2.4", "off what is left, linux-2.4", 9, slope * 15.625),
        ];
        for (flavour, what, cell, slope) in flavours.into_iter().filter(|(flavour, ..)| has(kind, flavour)) {
            let mut worst = Measurement::tolerance(what, "");
            for micros in [0, 50, 300, 3_000, 8_191, 8_193, 50_000, 120_000, 900_000] {
                let left = left_after(kind.name, flavour, micros);
                worst.require_real((left - linux(micros, cell, slope)).abs(), 1e-3);
            }
            findings.push(worst.finding(trials.count));
        }
        findings
    }
}
