//! Long-run shares of a link among classes that borrow from each other.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::borrowing::{Draw, Lender, forest, shares};
use crate::fixtures::forest::{WIRE, saturate};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct LinkSharing;

/// Time by which the first bursts are spent, in seconds.
const WARM: u64 = 3;
/// Length of the measurement after that, in seconds.
const SECONDS: u64 = 12;

impl Oracle for LinkSharing {
    const FAMILY: &'static str = "O12";
    const NAME: &'static str = "link-sharing";
    const THEOREM: &'static str = "leaves that always have packets get the max-min fair rates of their tree of rates, ceilings, priorities and quanta (a leaf at its ceiling has one lender)";
    const SOURCE: &'static str =
        "Floyd and Jacobson, Link-sharing, ToN 3 (1995), section 3; Devera, HTB theory (2002)";
    const TRIALS: u32 = 20;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["htb"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut off = Measurement::tolerance("rate off the max-min solution", "");
        let mut short = Measurement::tolerance("rate short of the guarantee", "");
        for trial in trials.each() {
            let mut random = trials.random("link-sharing", trial);
            // Bursts cover the arrivals during the turns of others: the solution is that of a fluid model.
            let forest = forest(&mut random, Draw { bursts: (60_000, 90_000), is_decided: true });
            let busy: Vec<usize> = forest.leaves().filter(|_| random.below(4) > 0).collect();
            let mut link = forest.link(kind.name, &json!({}), WIRE, &Lender::share);
            let (from, to) = (Duration::from_secs(WARM), Duration::from_secs(WARM + SECONDS));
            saturate(&mut link, &busy, (200, 1514), Instant::ZERO + to, &mut random);
            off.fault(link.fault.as_ref());
            let mut bits = vec![0_u64; forest.classes.len()];
            for sent in link.sent.iter().filter(|sent| sent.at >= Instant::ZERO + from) {
                bits[sent.packet.flow.0 as usize] += u64::from(sent.packet.length) * 8;
            }
            let expected = shares(&forest, &busy);
            for leaf in busy {
                let measured = bits[leaf] as f64 / SECONDS as f64;
                off.require_near(measured, expected[leaf], 0.01);
                let rate = forest.classes[leaf].facts.rate as f64;
                short.require_real((1.0 - measured / rate).max(0.0), 0.01);
            }
        }
        vec![off.finding(trials.count), short.finding(trials.count)]
    }
}
