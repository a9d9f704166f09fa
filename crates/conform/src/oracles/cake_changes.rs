//! The shaper of `cake` under changes of its rate.

use crate::finding::{Finding, Measurement};
use crate::fixtures::hosts::{WIRE, cake, packet};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

pub(super) struct CakeChanges;

impl Oracle for CakeChanges {
    const FAMILY: &'static str = "O5";
    const NAME: &'static str = "cake-changes";
    const THEOREM: &'static str = "a saturated shaper that is changed every 70 us has sent the sum of its bandwidths to within a packet at any time";
    const SOURCE: &'static str =
        "the envelope of Høiland-Jørgensen, Täht, Morton, Piece of CAKE (2018), algorithm 1";
    const TRIALS: u32 = 3;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["cake"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("off the sum of the bandwidths", "B", 0.9);
        for trial in trials.each() {
            let mut random = trials.random("cake-changes", trial);
            let rates = [[100_000_u64, 100_000], [100_000, 300_000], [8_000_000, 64_000]][trial as usize % 3];
            let config = |rate: u64| json!({ "bandwidth": format!("{rate}bit"), "diffserv": "diffserv4", "rtt": "1000s" });
            let mut link = cake(&config(rates[0]), WIRE);
            let every = Duration::from_micros(70);
            let (mut now, mut bits, mut delivered, mut seen) = (Instant::ZERO, 0_i128, 0_i128, 0);
            for change in 0..40_000_usize {
                let rate = rates[change % 2];
                link.reconfigure("cake", now, &config(rate));
                while link.port.backlog().packets < 10 {
                    let dscp = [0, 8, 34, 46][random.below(4) as usize];
                    link.offer(packet(random.below(9), between(&mut random, 40, 1514), dscp), now);
                }
                // The change may have made the next packet eligible, or no longer eligible.
                link.step(now);
                now = now + every;
                link.run_until(now);
                // Millionths of a bit.
                bits += i128::from(rate) * 70;
                delivered +=
                    link.sent[seen..].iter().map(|sent| i128::from(sent.packet.length)).sum::<i128>();
                seen = link.sent.len();
                // Rounding loses at most a picosecond per change and per packet.
                worst.require_at_most((delivered * 8_000_000 - bits).abs(), 1515 * 8_000_000, 8_000_000);
            }
            worst.fault(link.fault.as_ref());
        }
        vec![worst.finding(trials.count)]
    }
}
