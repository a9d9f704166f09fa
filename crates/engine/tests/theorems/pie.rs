//! The proportional integral controller: each update, and what it steers to.

use lockgate_engine::packet::Header;
use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant};
use serde_json::json;

use crate::aqm::{SLOW, gauge, packet, port};
use crate::common::link::Link;
use crate::{exponential, random};

/// RFC 8033, section 4.2, on real numbers.
struct Controller {
    probability: f64,
    before: f64,
}

impl Controller {
    fn update(&mut self, delay: f64) {
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
        if delay == 0.0 && self.before == 0.0 {
            self.probability *= 0.98;
        }
        self.before = delay;
    }
}

/// Poisson packets of 1000 bytes at `load` of the link.
fn poisson(
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
        let header = Header { sent: now, ..packet(0, 1000) };
        link.offer(header, now);
    }
}

/// Whether the packet sent as number `index` left nothing behind: whoever was sent next arrived later. All
/// that was offered before `now` is known.
fn emptied(link: &Link, index: usize, now: Instant) -> bool {
    let next = link.sent.get(index + 1).map(|sent| sent.packet.arrived);
    next.map_or_else(|| link.port.is_empty() || now == Instant::ZERO, |next| next > link.sent[index].at)
}

#[test]
fn every_update_of_pie_is_that_of_the_rfc() {
    let mut worst = 0.0_f64;
    let mut link = Link::new(port("pie", &json!({})), SLOW);
    let mut theory = Controller { probability: 0.0, before: 0.0 };
    let mut random = random("pie", 0);
    let tupdate = Duration::from_millis(15);
    let mut due = Instant::ZERO + tupdate;
    let mut seen = 0;
    let (mut delay, mut updates) = (0.0, 0);
    for load in [1.3, 0.5, 1.1, 2.0, 0.1, 1.2] {
        let until = link.sent.last().map_or(Instant::ZERO, |sent| sent.at) + Duration::from_secs(8);
        poisson(&mut link, load, until, &mut random, |link, now| {
            // All departures up to now, and the updates between them, in their order.
            while seen < link.sent.len() || due <= now {
                let next = link.sent.get(seen).map_or(Instant::NEVER, |sent| sent.at);
                if due <= next && due <= now {
                    theory.update(delay);
                    due = due + tupdate;
                    updates += 1;
                    continue;
                }
                let Some(sent) = link.sent.get(seen) else { break };
                seen += 1;
                // The queue was empty behind it where nobody of those sent after it had arrived.
                delay = if emptied(link, seen - 1, now) {
                    0.0
                } else {
                    sent.at.since(sent.packet.arrived).as_secs_f64()
                };
            }
        });
        let probability = gauge(&mut link.port, "drop_probability");
        // The last packet made up for all updates up to its own arrival, as did the theory.
        let off = (probability - theory.probability).abs();
        println!("pie: at load {load} probability {probability:.9} against {:.9}", theory.probability);
        worst = worst.max(off);
    }
    println!("pie: off by {worst:.2e} in {updates} updates");
    assert!(worst < 1e-9 && updates > 3_000);
}

#[test]
fn pie_steers_the_waiting_to_its_target() {
    for (flavour, load) in [("rfc", 1.2), ("linux", 1.2), ("rfc", 1.5), ("linux", 2.0)] {
        let mut link = Link::new(port("pie", &json!({ "flavour": flavour })), SLOW);
        let mut random = random("steer", 0);
        poisson(&mut link, load, Instant::ZERO + Duration::from_secs(120), &mut random, |_, _| ());
        let late: Vec<_> =
            link.sent.iter().filter(|sent| sent.at > Instant::ZERO + Duration::from_secs(20)).collect();
        let sum: f64 = late.iter().map(|sent| sent.at.since(sent.packet.sent).as_secs_f64()).sum();
        let mean = sum / late.len() as f64;
        let lost = link.dropped.len() as f64 / (link.dropped.len() + link.sent.len()) as f64;
        println!(
            "pie {flavour} at load {load}: waiting {:.2} ms, lost {lost:.4} against {:.4}",
            mean * 1e3,
            1.0 - 1.0 / load
        );
        assert!((mean / 15e-3 - 1.0).abs() < 0.1, "{flavour} at {load}: {mean}");
        assert!((lost - (1.0 - 1.0 / load)).abs() < 0.01);
    }
}
