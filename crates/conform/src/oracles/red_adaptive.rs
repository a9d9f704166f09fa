//! The average to which adaptive random early detection converges.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{SLOW, gauge, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, exponential};

pub(super) struct RedAdaptive;

impl Oracle for RedAdaptive {
    const FAMILY: &'static str = "O14";
    const NAME: &'static str = "red-adaptive";
    const THEOREM: &'static str = "an adaptive RED brings its average to the middle fifth from min to max, whatever probability it began with";
    const SOURCE: &'static str = "Floyd, Gummadi and Shenker, Adaptive RED (2001)";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["red"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        // Min 20 kB, max 60 kB: 36 to 44 kB, plus an eighth of that for randomness.
        let mut worst = Measurement::tolerance("mean average off the middle", "B");
        for trial in trials.each() {
            let config = json!({
                "min": "20kB", "max": "60kB", "limit": "1MB", "burst": 40, "probability": "1%", "adaptive": true,
            });
            let mut link = Link::new(port(kind.name, &config), SLOW);
            let mut random = trials.random("adaptive", trial);
            let (mut now, mut sum, mut count) = (Instant::ZERO, 0.0, 0);
            while now < Instant::ZERO + Duration::from_secs(60) {
                now = now + Duration::from_secs_f64(exponential(&mut random, 0.9e-3));
                link.offer(packet(0, 1000), now);
                if now > Instant::ZERO + Duration::from_secs(30) {
                    sum += gauge(&mut link.port, "average_bytes");
                    count += 1;
                }
            }
            worst.fault(link.fault.as_ref());
            worst.require_real((sum / f64::from(count) - 40_000.0).abs(), 5_000.0);
            let risen = gauge(&mut link.port, "max_probability");
            worst.require(risen > 0.05, || format!("the probability had to rise and is {risen}"));
        }
        vec![worst.finding(trials.count)]
    }
}
