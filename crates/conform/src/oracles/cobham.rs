//! Mean waiting times of priority bands.

use super::full_buffer::poisson;
use super::pollaczek::mean_wait_ms;
use crate::finding::{Finding, Measurement};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::simulate::{one_link, simulate};
use crate::trials::Trials;

pub(super) struct Cobham;

impl Oracle for Cobham {
    const FAMILY: &'static str = "O4";
    const NAME: &'static str = "cobham";
    const THEOREM: &'static str = "without preemption band k waits W_0 / ((1 - sigma_(k-1)) (1 - sigma_k)), W_0 = sum of lambda E[S^2] / 2; \
         weighted by load the waits sum to a FIFO's";
    const SOURCE: &'static str = "Cobham, Priority assignment in waiting line problems (1954)";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["prio", "ets"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        // Band 1: 0.3 packets per millisecond of exactly 1 ms. Band 2: 0.25, exponential with mean 1.5 ms.
        let strict = if kind.name == "ets" { "strict = 1, " } else { "" };
        let port = format!(
            r#"root = "p"
queue.p = {{ kind = "{}", {strict}children = ["high", "low"] }}
queue.high = {{ kind = "fifo", limit = "1000000p", match = [{{ flow = "high" }}] }}
queue.low = {{ kind = "fifo", limit = "1000000p" }}"#,
            kind.name
        );
        let flows = poisson("high", 3333, r#""1000B""#)
            + &poisson("low", 4000, r#"{ distribution = "exponential", mean = "1500B" }"#);
        let (high_rate, low_rate) = (1.0 / 3.333, 0.25);
        let (high_load, low_load) = (high_rate, low_rate * 1.5);
        let residual = 0.5 * (high_rate + low_rate * 2.0 * 1.5 * 1.5);
        let load = high_load + low_load;
        let mut findings = [
            Measurement::tolerance("off the wait of the high band", ""),
            Measurement::tolerance("off the wait of the low band", ""),
            Measurement::tolerance("off the conservation law", ""),
        ];
        for trial in trials.each() {
            let recording = match simulate(
                &one_link("3000s", "8mbit", &port, &flows),
                trials.seed + 3 + u64::from(trial),
            ) {
                Ok(recording) => recording,
                Err(why) => {
                    findings[0].fault(Some(&why));
                    continue;
                }
            };
            let (high, low) = (mean_wait_ms(&recording, "high"), mean_wait_ms(&recording, "low"));
            findings[0].require_near(high, residual / (1.0 - high_load), 0.03);
            findings[1].require_near(low, residual / ((1.0 - high_load) * (1.0 - load)), 0.04);
            findings[2].require_near(high_load * high + low_load * low, load * residual / (1.0 - load), 0.04);
        }
        findings.into_iter().map(|worst| worst.finding(trials.count)).collect()
    }
}
