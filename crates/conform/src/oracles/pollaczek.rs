//! Mean waiting time in an M/G/1 queue.

use super::full_buffer::{FIFO, poisson};
use crate::finding::{Finding, Measurement};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::simulate::{one_link, simulate};
use crate::trials::Trials;
use lockgate_measure::recording::Recording;

pub(super) struct Pollaczek;

/// Returns the mean waiting time in the queue `queue` of the first port, in milliseconds; NaN without
/// packets.
pub(super) fn mean_wait_ms(recording: &Recording, queue: &str) -> f64 {
    let port = &recording.ports[0];
    let index = port.queues().iter().position(|found| found.name == queue);
    index.and_then(|index| port.sojourn(index as u32).mean()).map_or(f64::NAN, |picos| picos / 1e9)
}

impl Oracle for Pollaczek {
    const FAMILY: &'static str = "O3";
    const NAME: &'static str = "pollaczek-khinchine";
    const THEOREM: &'static str = "Poisson arrivals wait lambda E[S^2] / (2 (1 - rho)) in the mean, and batches of k of them E[S] (k - 1) / (2 (1 - rho)) \
         longer: M/M/1, M/D/1, M/G/1 and M[2]/D/1 at rho 0.8";
    const SOURCE: &'static str = "Kleinrock, Queueing Systems I (1975), chapter 5; Gross and Harris, Fundamentals of Queueing Theory, for batches";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["fifo"])
    }

    fn hold(_: &Kind, trials: Trials) -> Vec<Finding> {
        // 0.8 packets per millisecond, with a mean transmission time of one. The exponential law is cut at
        // 16 kB, which removes a fraction of e^-16.
        let laws = [
            ("off M/M/1", r#"{ distribution = "exponential", mean = "1000B" }"#, 1, 2.0),
            ("off M/D/1", r#""1000B""#, 1, 1.0),
            (
                "off M/G/1",
                r#"{ distribution = "uniform", min = "500B", max = "1500B" }"#,
                1,
                1.0 + 1.0 / 12.0,
            ),
            ("off M[2]/D/1", r#""1000B""#, 2, 1.0),
        ];
        let hold = |(index, (what, size, batch, square)): (usize, (&'static str, &str, u32, f64))| {
            let mut worst = Measurement::tolerance(what, "");
            for trial in trials.each() {
                let flow = format!("{}batch = \"{batch}p\"\n", poisson("f", 1250 * batch, size));
                let text = one_link("3000s", "8mbit", FIFO, &flow);
                match simulate(&text, trials.seed + 3 * u64::from(trial) + index as u64) {
                    Ok(recording) => {
                        // The tolerance is a few standard errors of a run of this length.
                        let theory = (0.8 * square + f64::from(batch - 1)) / (2.0 * 0.2);
                        worst.require_near(mean_wait_ms(&recording, "q"), theory, 0.05);
                    }
                    Err(why) => worst.fault(Some(&why)),
                }
            }
            worst.finding(trials.count)
        };
        laws.into_iter().enumerate().map(hold).collect()
    }
}
