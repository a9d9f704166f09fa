//! The loss of an M/M/1/K queue.

use lockgate_measure::recording::Window;

use crate::finding::{Finding, Measurement};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::simulate::{one_link, simulate};
use crate::trials::Trials;

pub(super) struct FullBuffer;

/// An unlimited queue.
pub(super) const FIFO: &str = r#"root = "q"
queue.q = { kind = "fifo", limit = "1000000p" }"#;

/// Returns a flow of Poisson arrivals with a mean gap in microseconds and this law of sizes.
pub(super) fn poisson(name: &str, gap_us: u32, size: &str) -> String {
    format!(
        r#"[flow.{name}]
from = "a"
to = "b"
transport = "udp"
size = {size}
gap = {{ distribution = "exponential", mean = "{gap_us}us" }}
"#
    )
}

impl Oracle for FullBuffer {
    const FAMILY: &'static str = "O3";
    const NAME: &'static str = "full-buffer";
    const THEOREM: &'static str =
        "M/M/1/K loses (1 - rho) rho^K / (1 - rho^(K+1)) of its packets, 1/(K+1) at rho 1";
    const SOURCE: &'static str = "Kleinrock, Queueing Systems I (1975), chapter 3";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["fifo"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        // K = 10: nine packets wait, one is in transmission.
        let port = r#"root = "q"
queue.q = { kind = "fifo", limit = "9p" }"#;
        let size = r#"{ distribution = "exponential", mean = "1000B" }"#;
        let rho = 1000.0 / 1111.0;
        let below = (1.0 - rho) * libm::pow(rho, 10.0) / (1.0 - libm::pow(rho, 11.0));
        let cases = [("off the loss at rho 0.9", 1111, below), ("off the loss at rho 1", 1000, 1.0 / 11.0)];
        let hold = |(what, gap_us, theory)| {
            let mut worst = Measurement::tolerance(what, "");
            for trial in trials.each() {
                let text = one_link("3000s", "8mbit", port, &poisson("f", gap_us, size));
                match simulate(&text, trials.seed + u64::from(trial)) {
                    Ok(recording) => {
                        let totals = recording.flows[0].totals(Window::WholeRun);
                        let loss = totals.lost.packets as f64 / totals.sent.packets as f64;
                        worst.require_near(loss, theory, 0.03);
                    }
                    Err(why) => worst.fault(Some(&why)),
                }
            }
            worst.finding(trials.count)
        };
        cases.into_iter().map(hold).collect()
    }
}
