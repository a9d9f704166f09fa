//! A shaper that counts by the second: its largest burst, and its throughput.

use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, PICOS_PER_SECOND, Rate};
use serde_json::{Value, json};

use super::envelope::{BYTE, fullest, hold_envelope, packet};
use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::kind::{self, Kind};
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct ByTheSecond;

fn shaper(kind: &Kind, config: &Value) -> Link {
    let root = kind::build(kind.name, "shaper", config, Vec::new());
    Link::new(Port::new(root, Random::stream(Seed(1), "port")), Rate::from_bits(u64::MAX))
}

/// A packet soon after the start of a second, silence almost until its end, and a flood; repeated.
fn floods(kind: &Kind, rate: u64, random: &mut Random) -> Link {
    let mut link = shaper(kind, &json!({ "rate": format!("{rate}bit"), "limit": "100000p" }));
    let mut now = Instant::from_picos(between(random, 0, 999) * PICOS_PER_SECOND / 1000);
    for _ in 0..20 {
        let began = now.as_picos() / PICOS_PER_SECOND + 1 + between(random, 0, 2);
        now = Instant::from_picos(began * PICOS_PER_SECOND) + Duration::from_micros(between(random, 1, 9));
        link.offer(packet(between(random, 1, 1514)), now);
        now = now + Duration::from_millis(between(random, 900, 1_999));
        for _ in 0..rate * between(random, 0, 4) / 8 / 700 {
            link.offer(packet(between(random, 40, 1514)), now);
        }
        now = now + Duration::from_millis(between(random, 0, 8_000));
    }
    link.drain();
    link
}

/// Measures the lateness of the packets of a saturated shaper against its rate.
fn saturate(kind: &Kind, rate: u64, random: &mut Random, worst: &mut Measurement) {
    let mut link = shaper(kind, &json!({ "rate": format!("{rate}bit") }));
    while link.fault.is_none() && link.sent.len() < 2_000 {
        while link.port.backlog().packets < 3 {
            let now = link.sent.last().map_or(Instant::ZERO, |sent| sent.at);
            link.offer(packet(between(random, 1, 1514)), now);
        }
        link.advance();
    }
    worst.fault(link.fault.as_ref());
    let mut delivered = 0_u128;
    for sent in &link.sent {
        // A packet leaves when the bytes sent before it are due; the time is rounded up to a picosecond.
        let due = u128::from(rate) * u128::from(sent.at.as_picos());
        let late = due.cast_signed() - (delivered * BYTE).cast_signed();
        worst.require_at_most(late, i128::from(rate), rate);
        delivered += u128::from(sent.packet.length);
    }
}

impl Oracle for ByTheSecond {
    const FAMILY: &'static str = "O5";
    const NAME: &'static str = "by-the-second";
    const THEOREM: &'static str = "at most 2 s * rate + rate t + L_max leave in any time t, which idleness saves up; a saturated one is never behind its rate";
    const SOURCE: &'static str =
        "Click, element BandwidthShaper and its GapRate; the bounds follow from its rule";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["bandwidth-shaper"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut burst = Measurement::bound("fullest bucket of the rate", "B", 0.95);
        let mut delivery = Measurement::bound("later than its rate says, when saturated", "ps", 0.5);
        for trial in trials.each() {
            let mut random = trials.random("by-the-second", trial);
            let rate = between(&mut random, 20_000, 400_000);
            let link = floods(kind, rate, &mut random);
            burst.fault(link.fault.as_ref());
            hold_envelope(&mut burst, fullest(&link.sent, rate), 2 * rate.div_ceil(8) + 1514, rate);
            saturate(kind, rate, &mut random, &mut delivery);
        }
        [burst, delivery].map(|worst| worst.finding(trials.count)).into()
    }
}
