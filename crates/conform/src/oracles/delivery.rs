//! Minimum throughput of a saturated shaper.

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant};
use serde_json::{Value, json};

use super::envelope::{BYTE, packet, shaper};
use crate::finding::{Finding, Measurement};
use crate::fixtures::link::{Link, Sent};
use crate::kind::{self, Kind};
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct Delivery;

/// Keeps the shaper saturated until `until`, and changes it to the next of `configs` every `every`.
pub(super) fn saturated(configs: &[Value], every: Duration, until: Instant, random: &mut Random) -> Link {
    let mut link = shaper(&configs[0]);
    let (mut change, mut count) = (Instant::ZERO + every, 0);
    while link.fault.is_none() && link.next_event().is_none_or(|at| at <= until) {
        while link.port.backlog().packets < 20 {
            let now = link.sent.last().map_or(Instant::ZERO, |sent| sent.at);
            link.offer(packet(between(random, 40, 1514)), now);
        }
        if link.next_event().is_some_and(|next| next < change) {
            link.advance();
            continue;
        }
        count += 1;
        let config = &configs[count % configs.len()];
        let answer = link.port.with_node("shaper", change, &NoHeaders, &mut |node, cx| {
            kind::reconfigure(node, config, &[], cx)
        });
        if let Some(Err(why)) = answer {
            link.fault = Some(why.to_string());
        }
        // The change may have made the next packet eligible.
        link.step(change);
        change = change + every;
    }
    link
}

/// Checks that at all times up to `until` at least `credit + rate * t` bytes less one packet have left.
pub(super) fn hold_delivery(worst: &mut Measurement, sent: &[Sent], rate: u64, credit: u64, until: Instant) {
    let mut delivered = 0_u128;
    let packet = 1514 * BYTE;
    let ends = sent.iter().map(|sent| (sent.at, sent.packet.length)).chain([(until, 0)]);
    for (count, (at, length)) in ends.enumerate() {
        // Evaluated just before a packet leaves, after the first burst. Every packet's cost is rounded up
        // by less than a picosecond.
        let due = u128::from(credit) * BYTE + u128::from(rate) * u128::from(at.as_picos());
        let slack = u128::from(rate) * (count as u128 + 1);
        if at > Instant::from_picos(1_000_000) {
            let short = due.cast_signed() - delivered.cast_signed();
            worst.require_at_most(short, (packet + slack).cast_signed(), BYTE as u64);
        }
        delivered += u128::from(length) * BYTE;
    }
}

impl Oracle for Delivery {
    const FAMILY: &'static str = "O5";
    const NAME: &'static str = "delivery";
    const THEOREM: &'static str =
        "a saturated shaper has delivered at least burst + rate t less one packet at any time t";
    const SOURCE: &'static str = "Cruz, A calculus for network delay, part I (1991); tc-tbf(8)";
    const TRIALS: u32 = 20;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["tbf"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("shortfall", "B", 0.9);
        for trial in trials.each() {
            let mut random = trials.random("delivery", trial);
            let rate = between(&mut random, 100_000, 20_000_000);
            let burst = between(&mut random, 1514, 5_000);
            let mut config =
                json!({ "rate": format!("{rate}bit"), "burst": format!("{burst}B"), "limit": "200p" });
            if trial % 2 == 0 {
                config["peakrate"] = json!(format!("{}bit", rate * 3 / 2));
                config["mtu"] = json!("1514B");
            }
            // The bucket starts full: its burst is due in addition, unless the peak rate limits it.
            let credit = if trial % 2 == 0 { 0 } else { burst };
            let until = Instant::ZERO + Duration::from_secs(2);
            let link = saturated(&[config], Duration::from_secs(1), until, &mut random);
            worst.fault(link.fault.as_ref());
            worst.require(link.sent.len() > 20, || "almost nothing left".to_owned());
            hold_delivery(&mut worst, &link.sent, rate, credit, until);
        }
        vec![worst.finding(trials.count)]
    }
}
