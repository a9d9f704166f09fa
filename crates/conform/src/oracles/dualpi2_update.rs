//! The controller of `dualpi2`: each update against the RFC's in floating point, and the square.

use lockgate_engine::packet::Header;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{SLOW, gauge, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, exponential};

pub(super) struct DualPi2Update;

/// Arrival and departure of a packet, and its queue.
struct Stay {
    came: Instant,
    gone: Instant,
    classic: bool,
}

/// Returns the stays of all packets, in order of arrival.
fn stays(link: &Link) -> Vec<Stay> {
    let sent = link.sent.iter().map(|sent| (sent.at, &sent.packet));
    let dropped = link.dropped.iter().map(|drop| (drop.at, &drop.packet));
    let stay = |(gone, packet): (Instant, &lockgate_engine::packet::Packet)| Stay {
        came: packet.sent,
        gone,
        classic: packet.traffic_class & 1 == 0,
    };
    let mut stays: Vec<_> = sent.chain(dropped).map(stay).collect();
    stays.sort_by_key(|stay| stay.came);
    stays
}

/// RFC 9332, appendix A.1, in floating point.
struct Controller {
    step: Duration,
    alpha: f64,
    beta: f64,
    probability: f64,
    before: f64,
    due: Instant,
    updates: u32,
    highest: f64,
}

impl Controller {
    /// Creates a controller with the RFC's target of 15 ms; its parameters follow from that and the longest
    /// round trip.
    fn new(rtt: f64) -> Self {
        let tupdate = f64::min(0.015, rtt / 3.0);
        let step = Duration::from_secs_f64(tupdate);
        Self {
            step,
            alpha: 0.1 * tupdate / (rtt * rtt),
            beta: 0.3 / rtt,
            probability: 0.0,
            before: 0.0,
            due: Instant::ZERO + step,
            updates: 0,
            highest: 0.0,
        }
    }

    /// Performs all updates up to `at`.
    fn follow(&mut self, stays: &[Stay], at: Instant) {
        while self.due <= at {
            // Packets stay for less than three seconds: only recent ones are relevant.
            let from = stays.partition_point(|stay| stay.came + Duration::from_secs(3) < self.due);
            let to = stays.partition_point(|stay| stay.came < self.due);
            let oldest = |classic| {
                let here =
                    stays[from..to].iter().filter(|stay| stay.classic == classic && stay.gone >= self.due);
                here.map(|stay| stay.came).min()
            };
            let came = oldest(true).or(oldest(false));
            let wait = came.map_or(0.0, |came| self.due.since(came).as_secs_f64());
            let step = self.alpha * (wait - 0.015) + self.beta * (wait - self.before);
            self.probability = (self.probability + step).clamp(0.0, 1.0);
            self.highest = self.highest.max(self.probability);
            self.before = wait;
            self.due = self.due + self.step;
            self.updates += 1;
        }
    }
}

impl Oracle for DualPi2Update {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "dualpi2-update";
    const THEOREM: &'static str = "every update moves p' by alpha (wait - target) + beta (wait - wait before), wait of the oldest classic packet, or of the other queue's; p_C = (p_CL / k)^2";
    const SOURCE: &'static str = "RFC 9332, appendix A.1 and A.2";
    const TRIALS: u32 = 6;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["dualpi2"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut off = Measurement::tolerance("base probability off the RFC's", "");
        let mut square = Measurement::tolerance("classic probability off the square", "");
        for trial in trials.each() {
            let mut random = trials.random("dualpi2-update", trial);
            let rtt = [0.1, 0.03, 0.3][trial as usize % 3];
            let config = json!({ "max_rtt": format!("{}ms", (rtt * 1e3) as u32) });
            let mut theory = Controller::new(rtt);
            let mut link = Link::new(port(kind.name, &config), SLOW);
            let (mut now, mut checks) = (Instant::ZERO, Vec::new());
            for (load, low) in [(1.3, 3), (0.6, 5), (1.1, 0), (2.0, 2), (0.1, 5), (0.9, 10), (1.2, 10)] {
                let until = now + Duration::from_secs(3);
                while now < until {
                    now = now + Duration::from_secs_f64(exponential(&mut random, 1e-3 / load));
                    let ecn = u8::from(random.below(10) < low);
                    link.offer(Header { sent: now, traffic_class: ecn, ..packet(0, 1000) }, now);
                    if random.below(50) == 0 {
                        let [base, classic, coupled] = ["base", "classic", "coupled"]
                            .map(|which| gauge(&mut link.port, &format!("{which}_probability")));
                        checks.push((now, base));
                        if coupled < 1.0 {
                            square.require_real((classic - (coupled / 2.0) * (coupled / 2.0)).abs(), 1e-12);
                        }
                    }
                }
            }
            link.drain();
            let stays = stays(&link);
            for (at, base) in checks {
                theory.follow(&stays, at);
                off.require_real((base - theory.probability).abs(), 1e-8);
            }
            off.require(theory.updates > 600, || format!("only {} updates", theory.updates));
            off.require(theory.highest > 0.1, || format!("a probability of {} at most", theory.highest));
            off.fault(link.fault.as_ref());
        }
        vec![off.finding(trials.count), square.finding(trials.count)]
    }
}
