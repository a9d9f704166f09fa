//! Service of a low-priority band when the high-priority band conforms to an envelope.

use crate::finding::{Finding, Measurement};
use crate::fixtures::weighted::{Offer, link_of, send_through};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};
use serde_json::json;

pub(super) struct LowBand;

/// Draws packets of the high band that exhaust a bucket of `burst` bytes at `rate` thousandths of the link,
/// up to `until` microseconds.
fn high(burst: u64, rate: u64, until: u64, random: &mut lockgate_engine::random::Random) -> Vec<Offer> {
    // In thousandths of a byte.
    let (mut tokens, mut now) = (1_000 * burst, 0);
    let mut offers = Vec::new();
    while now < until {
        if random.below(10) == 0 {
            now += 1_000 * burst / rate + between(random, 0, 3_000);
            tokens = 1_000 * burst;
        }
        let length = between(random, 40, 1514);
        let missing = (1_000 * length).saturating_sub(tokens).div_ceil(rate);
        now += missing;
        tokens = (tokens + missing * rate).min(1_000 * burst) - 1_000 * length;
        offers.push(Offer { at: now, child: 0, length });
    }
    offers
}

impl Oracle for LowBand {
    const FAMILY: &'static str = "O9";
    const NAME: &'static str = "low-band";
    const THEOREM: &'static str = "beside a high band held to (sigma, rho) a backlogged low band is served at least (C - rho) t - sigma - L in \
         any time t";
    const SOURCE: &'static str = "Le Boudec and Thiran, Network Calculus (2001)";
    const TRIALS: u32 = 40;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["prio", "ets"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("shortfall of the low band", "B", 0.8);
        for trial in trials.each() {
            let mut random = trials.random("low-band", trial);
            let (burst, rate) = (between(&mut random, 1514, 15_000), between(&mut random, 100, 900));
            let mut offers = high(burst, rate, 400_000, &mut random);
            // All packets of the low band at once: it is backlogged from the start to its last packet.
            offers.extend((0..100).map(|_| Offer { at: 0, child: 1, length: 1000 }));
            offers.sort_by_key(|offer| offer.at);
            let config = if kind.name == "ets" { json!({ "strict": 1 }) } else { json!({}) };
            let (sent, fault) = send_through(link_of(kind.name, &config, &[json!({}), json!({})]), &offers);
            worst.fault(fault.as_ref());
            // Service due minus service received, in thousandths of a byte: its largest rise over any
            // interval.
            let (mut served, mut lowest, mut rise) = (0_i128, 0_i128, 0_i128);
            let bound = 1_000 * (i128::from(burst) + 1514);
            for sent in sent.iter().filter(|sent| offers[sent.offer].child == 1) {
                let owed = |time: u64| i128::from(1_000 - rate) * i128::from(time);
                rise = rise.max(owed(sent.start) - served - lowest);
                served += 1_000 * i128::from(sent.end - sent.start);
                lowest = lowest.min(owed(sent.end) - served);
            }
            worst.require_at_most(rise, bound, 1_000);
        }
        vec![worst.finding(trials.count)]
    }
}
