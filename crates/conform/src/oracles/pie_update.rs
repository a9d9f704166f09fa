//! The proportional integral controller: each update against the RFC's in floating point.

use lockgate_engine::packet::Header;
use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::link::Link;
use crate::fixtures::managed::{SLOW, gauge, packet, port};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, exponential};

pub(super) struct PieUpdate;

const TUPDATE: Duration = Duration::from_millis(15);

/// RFC 8033, section 4.2, in floating point.
struct Controller {
    probability: f64,
    before: f64,
    /// Time of the next update.
    due: Instant,
    updates: u32,
    /// Number of departures processed, and the delay of the last.
    seen: usize,
    delay: f64,
}

impl Controller {
    fn update(&mut self) {
        let delay = self.delay;
        let scale = match self.probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        let mut step = (0.125 * (delay - 0.015) + 1.25 * (delay - self.before)) / scale;
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        if delay > 0.25 {
            step += 0.02;
        }
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        if delay <= 0.0 && self.before <= 0.0 {
            self.probability *= 0.98;
        }
        self.before = delay;
        self.due = self.due + TUPDATE;
        self.updates += 1;
    }

    /// Processes all departures up to `now`, and the updates between them, in order.
    fn follow(&mut self, link: &Link, now: Instant) {
        while self.seen < link.sent.len() || self.due <= now {
            let next = link.sent.get(self.seen).map_or(Instant::NEVER, |sent| sent.at);
            if self.due <= next && self.due <= now {
                self.update();
                continue;
            }
            let Some(sent) = link.sent.get(self.seen) else { break };
            self.seen += 1;
            // The queue was empty behind it if no later departure had arrived by then.
            let empty = emptied(link, self.seen - 1, now);
            self.delay = if empty { 0.0 } else { sent.at.since(sent.packet.arrived).as_secs_f64() };
        }
    }
}

/// Offers Poisson packets of 1000 bytes at `load` of the link; calls `each` before each.
pub(super) fn poisson(
    link: &mut Link,
    load: f64,
    until: Instant,
    random: &mut Random,
    mut each: impl FnMut(&mut Link, Instant),
) {
    let mut now = link.sent.last().map_or(Instant::ZERO, |sent| sent.at);
    while now < until {
        now = now + Duration::from_secs_f64(exponential(random, 1e-3 / load));
        link.run_until(now);
        each(link, now);
        link.offer(Header { sent: now, ..packet(0, 1000) }, now);
    }
}

/// Returns true if the packet sent as number `index` left an empty queue: the next one sent arrived later.
/// All offers before `now` must have been made.
fn emptied(link: &Link, index: usize, now: Instant) -> bool {
    let next = link.sent.get(index + 1).map(|sent| sent.packet.arrived);
    next.map_or_else(|| link.port.is_empty() || now == Instant::ZERO, |next| next > link.sent[index].at)
}

impl Oracle for PieUpdate {
    const FAMILY: &'static str = "O15";
    const NAME: &'static str = "pie-update";
    const THEOREM: &'static str = "every update moves the probability by alpha (delay - target) + beta (delay - delay before), scaled by its size, as \
         on real numbers";
    const SOURCE: &'static str = "RFC 8033, section 4.2 and 5.1";
    const TRIALS: u32 = 1;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["pie"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::tolerance("probability off the RFC's", "");
        for trial in trials.each() {
            let mut link = Link::new(port(kind.name, &json!({})), SLOW);
            let mut theory = Controller {
                probability: 0.0,
                before: 0.0,
                due: Instant::ZERO + TUPDATE,
                updates: 0,
                seen: 0,
                delay: 0.0,
            };
            let mut random = trials.random("pie", trial);
            for load in [1.3, 0.5, 1.1, 2.0, 0.1, 1.2] {
                let until = link.sent.last().map_or(Instant::ZERO, |sent| sent.at) + Duration::from_secs(8);
                poisson(&mut link, load, until, &mut random, |link, now| theory.follow(link, now));
                // Both the last packet and the model have performed all updates up to its arrival.
                let probability = gauge(&mut link.port, "drop_probability");
                worst.require_real((probability - theory.probability).abs(), 1e-9);
            }
            worst.fault(link.fault.as_ref());
            worst.require(theory.updates > 3_000, || format!("only {} updates", theory.updates));
        }
        vec![worst.finding(trials.count)]
    }
}
