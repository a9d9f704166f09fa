//! The delay to which the proportional integral controller converges.

use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use super::pie_update::poisson;
use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{SLOW, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::Trials;

pub(super) struct PieTarget;

impl Oracle for PieTarget {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "pie-target";
    const THEOREM: &'static str = "under a constant overload up to 2.7 times the line the wait goes to the target (within 10 %), whether measured or estimated by the departure rate, and 1 - 1/load is lost (within 0.01)";
    const SOURCE: &'static str = "RFC 8033, section 4.2";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["pie", "fq_pie"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut wait = Measurement::tolerance("mean wait off the target", "");
        let mut loss = Measurement::tolerance("loss off 1 - 1/load", "");
        for (flavour, load, target) in [
            ("rfc", 1.2, 15),
            ("linux", 1.2, 15),
            ("rfc", 1.5, 15),
            ("linux", 2.0, 15),
            // Beyond, drops of the whole excess need a sum that begins to drop all: the wait swings.
            ("rfc", 2.7, 15),
            ("linux", 2.7, 15),
            // Measured by the departure rate, which needs a longer queue.
            ("rfc", 1.2, 40),
            ("linux", 1.5, 40),
        ] {
            for trial in trials.each() {
                let config = json!({
                    "flavour": flavour, "target": format!("{target}ms"), "dq_rate_estimator": target == 40,
                });
                let mut link = Link::new(port(kind.name, &config), SLOW);
                let mut random = trials.random("steer", trial);
                poisson(&mut link, load, Instant::ZERO + Duration::from_secs(120), &mut random, |_, _| ());
                let from = Instant::ZERO + Duration::from_secs(20);
                let judged: Vec<_> = link.sent.iter().filter(|sent| sent.at > from).collect();
                let sum: f64 = judged.iter().map(|sent| sent.at.since(sent.packet.sent).as_secs_f64()).sum();
                let share = link.dropped.len() as f64 / (link.dropped.len() + link.sent.len()) as f64;
                wait.fault(link.fault.as_ref());
                wait.require_near(sum / judged.len() as f64, f64::from(target) * 1e-3, 0.1);
                loss.require_real((share - (1.0 - 1.0 / load)).abs(), 0.01);
            }
        }
        [wait, loss].map(|worst| worst.finding(trials.count)).into()
    }
}
