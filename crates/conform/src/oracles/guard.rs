//! Guarded bands: the bands below get the link less the guards, over any interval.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::weighted::{header, link_of};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct Guard;

/// Link rate, in bits per second.
const LINK: i128 = 8_000_000;

/// Bands whose guards are `(rate, burst)`, and one band below them.
struct Bands {
    guards: Vec<(u64, u64)>,
    /// Arrival times in microseconds of the last band's packets, and their numbers.
    spells: Vec<(u64, usize)>,
}

impl Bands {
    /// Keeps the upper bands backlogged; the last one is offered packets in bursts.
    fn flood(trial: u32, trials: Trials) -> (Self, Link) {
        let mut random = trials.random("guard", trial);
        let last = between(&mut random, 1, 3) as usize;
        let most = [300_000, 2_000_000][trial as usize % 2];
        let guard = |random: &mut _| (between(random, 100_000, most), 1_514 * between(random, 1, 6));
        let guards: Vec<(u64, u64)> = (0..last).map(|_| guard(&mut random)).collect();
        let guarded = guards.iter().map(
            |(rate, burst)| json!({ "guard_rate": format!("{rate}bit"), "guard_burst": format!("{burst}B") }),
        );
        let shares: Vec<_> = guarded.chain([json!({})]).collect();
        let mut link = link_of("prio", &json!({}), &shares);
        let (mut now, mut spells) = (Instant::ZERO, Vec::new());
        for _ in 0..20 {
            for band in 0..last {
                for _ in 0..between(&mut random, 30, 120) {
                    let length = if trial.is_multiple_of(2) { 1514 } else { between(&mut random, 40, 1514) };
                    link.offer(header(band, length, 0), now);
                }
            }
            now = now + Duration::from_micros(between(&mut random, 0, 60_000));
            link.run_until(now);
            let count = between(&mut random, 1, 60) as usize;
            for _ in 0..count {
                link.offer(header(last, between(&mut random, 40, 1514), 0), now);
            }
            spells.push((now.as_picos() / 1_000_000, count));
        }
        link.drain();
        (Self { guards, spells }, link)
    }

    /// Returns the largest deficit of the last band against `(C - rho) t` over intervals in which it is
    /// backlogged, multiplied by `LINK`.
    fn shortfall(&self, link: &Link) -> i128 {
        let rho: i128 = self.guards.iter().map(|(rate, _)| i128::from(*rate)).sum();
        let mut own = link.sent.iter().filter(|sent| sent.packet.position.child() == self.guards.len());
        let (mut worst, mut busy_until, mut account, mut lowest, mut at) = (0, 0, 0, 0, 0);
        for (arrived, count) in &self.spells {
            if *arrived >= busy_until {
                // Start of a new busy period.
                (account, lowest, at) = (0_i128, 0_i128, *arrived);
            }
            for sent in own.by_ref().take(*count) {
                let start = sent.at.as_picos() / 1_000_000;
                account += (LINK - rho) * i128::from(start.saturating_sub(at));
                worst = worst.max(account - lowest);
                account -= rho * i128::from(sent.packet.length);
                lowest = lowest.min(account);
                at = start + u64::from(sent.packet.length);
                busy_until = at;
            }
        }
        worst
    }
}

impl Oracle for Guard {
    const FAMILY: &'static str = "O9";
    const NAME: &'static str = "guard";
    const THEOREM: &'static str = "below bands guarded to (sigma, rho) each, however much they send, a band is served at least \
         (C - sum of rho) t - sum of sigma - L_max in any time t in which it waits";
    const SOURCE: &'static str = "Le Boudec and Thiran, Network Calculus (2001)";
    const TRIALS: u32 = 60;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["prio"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("shortfall of the band below", "B", 0.8);
        for trial in trials.each() {
            let (bands, link) = Bands::flood(trial, trials);
            worst.fault(link.fault.as_ref());
            let sigma: i128 = bands.guards.iter().map(|(_, burst)| i128::from(*burst)).sum();
            worst.require_at_most(bands.shortfall(&link), LINK * (sigma + 1_514), LINK as u64);
        }
        vec![worst.finding(trials.count)]
    }
}
