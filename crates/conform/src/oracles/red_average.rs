//! The moving average of random early detection for a constant queue.

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::packet::Packet;
use lockgate_engine::port::{Poll, Port};
use lockgate_engine::units::Instant;
use serde_json::{Value, json};

use crate::finding::{Finding, Measurement};
use crate::fixtures::managed::{gauge, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct RedAverage;

/// Adds this flavour to the parameters of `red`; `choke` has only Linux's. Thresholds are in bytes in both.
pub(super) fn flavoured(kind: &str, flavour: &str, mut config: Value) -> Value {
    if kind == "red" {
        config["flavour"] = json!(flavour);
    }
    config
}

/// Returns true if this kind has this flavour.
pub(super) fn has(kind: &Kind, flavour: &str) -> bool {
    kind.name == "red" || flavour == "linux"
}

/// Keeps exactly 30 packets of 1000 bytes in the queue, each of a flow of its own, and offers `count` more.
/// Calls `each` for each of these, with true if it was dropped. For an accepted one, another packet is
/// sent.
///
/// # Errors
/// Fails if the queue does not stay at 30 packets.
pub(super) fn pinned(
    port: &mut Port,
    count: u32,
    mut each: impl FnMut(bool, &mut Port),
) -> Result<(), String> {
    let now = Instant::ZERO;
    let mut flow = 0;
    let mut next = || {
        flow += 1;
        Packet::new(packet(flow, 1000))
    };
    for _ in 0..100_000 {
        if port.backlog().packets >= 30 {
            break;
        }
        port.offer(next(), now, &NoHeaders);
        port.take_drops().for_each(drop);
    }
    for _ in 0..count {
        port.offer(next(), now, &NoHeaders);
        let dropped = port.take_drops().count() > 0;
        let stays = dropped || matches!(port.poll(now, &NoHeaders), Poll::Transmit(_));
        if !stays || port.backlog().packets != 30 {
            return Err(format!("{} packets wait where there should be 30", port.backlog().packets));
        }
        each(dropped, port);
    }
    Ok(())
}

impl Oracle for RedAverage {
    const FAMILY: &'static str = "O14";
    const NAME: &'static str = "red-average";
    const THEOREM: &'static str =
        "over a constant queue q the average is q + (avg_0 - q) (1 - w)^n after n arrivals, but for rounding";
    const SOURCE: &'static str = "Floyd and Jacobson, Random early detection gateways (1993)";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["red", "choke"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        // Tolerance for rounding, in bytes: a byte in Linux, 8/1024 of a packet and its multiples in Click.
        let flavours = [
            ("paper", "off its law, paper", 1e-6),
            ("linux", "off its law, linux", 1.0),
            ("linux-2.4", "off its law, linux-2.4", 1.0),
            ("click", "off its law, click", 16.0),
        ];
        let hold = |(flavour, what, allowed): (&str, &'static str, f64)| {
            let mut worst = Measurement::tolerance(what, "B");
            let config = json!({
                "min": "200kB", "max": "300kB", "limit": "1MB", "burst": 400, "avpkt": "1000B",
            });
            let mut port = port(kind.name, &flavoured(kind.name, flavour, config));
            // Burst 400 gives w = 1/256.
            let weight: f64 = if flavour == "click" { 1.0 / 16.0 } else { 1.0 / 256.0 };
            let (mut start, mut count) = (None, 0.0);
            let mut off = 0.0_f64;
            let pinned = pinned(&mut port, 3_000, |dropped, port| {
                let average = gauge(port, "average_bytes");
                let start = *start.get_or_insert(average);
                let theory = 30_000.0 + (start - 30_000.0) * libm::pow(1.0 - weight, count);
                count += 1.0;
                // NaN if the gauge does not exist.
                off = if dropped { f64::INFINITY } else { off.max((average - theory).abs()) };
            });
            worst.fault(pinned.err().as_ref());
            worst.require_real(off, allowed);
            worst.finding(trials.count)
        };
        flavours.into_iter().filter(|(flavour, ..)| has(kind, flavour)).map(hold).collect()
    }
}
