//! Patterns of the rounds: what is sent, as a function of what is known so far.

use crate::probe::{FULL, Purpose, SMALL, Sent, class};

/// Flow of the small packets before each round.
pub const PINGS: u8 = 9;

/// Picoseconds in a second.
const PICOS: f64 = 1e12;

/// Number of small packets before each round.
const PING_COUNT: usize = 16;

/// Most packets of a round.
const MOST_PACKETS: f64 = 10_000.0;

/// Rate of a flood over that of the line: of what is offered, others have a small part.
const FLOOD: f64 = 6.0;

/// Rate of a round of excess over that of the line.
const EXCESS: f64 = 1.5;

/// Quantities that scale a pattern.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Estimated rate in bit/s.
    pub rate: f64,
    /// Highest rate at which packets are sent, in bit/s.
    pub most: f64,
    /// Bytes that may still be sent.
    pub bytes: f64,
    /// Seconds for which packets may still be sent.
    pub seconds: f64,
}

impl Scale {
    /// Returns the time that a full packet takes at the rate, in seconds.
    pub fn packet_time(&self) -> f64 {
        f64::from(FULL) * 8.0 / self.rate
    }

    /// Returns true if what is left cuts a round of excess short.
    pub fn is_spent(&self) -> bool {
        self.duration(EXCESS) < self.wanted(EXCESS)
    }

    /// Returns how long a round sends at `excess` times the rate if enough is left, in seconds: one and a
    /// half, or as many as 120 packets take, within the most packets of a round.
    fn wanted(&self, excess: f64) -> f64 {
        let packets = MOST_PACKETS * self.packet_time() / excess;
        (120.0 * self.packet_time()).clamp(1.5, 3.0).min(packets)
    }

    /// Returns how long a round may send at `excess` times the rate, in seconds, within what is left.
    fn duration(&self, excess: f64) -> f64 {
        let bytes = self.bytes * 8.0 / (self.rate * excess);
        self.wanted(excess).min(bytes).min(self.seconds).max(0.0)
    }
}

/// Pattern under construction.
struct Pattern {
    packets: Vec<Sent>,
}

/// Fraction of the golden ratio: its multiples are spread evenly, and no two flows keep in step.
const GOLDEN: f64 = 0.618_033_988_749_895;

impl Pattern {
    fn push(&mut self, at: f64, length: u32, flow: u8, traffic_class: u8) {
        self.packets.push(Sent { at: (at * PICOS) as u64, length, flow, traffic_class });
    }

    /// Adds a flow of constant rate from `start` for `duration` seconds, whose gaps vary by a fifth.
    fn flow(&mut self, start: f64, duration: f64, rate: f64, length: u32, flow: u8, class: u8) {
        let gap = f64::from(length) * 8.0 / rate;
        let count = (duration / gap) as usize;
        for index in 0..count {
            let shift = (index as f64 * GOLDEN + f64::from(flow) * 0.37).fract() - 0.5;
            self.push(start + (index as f64 + 0.5 + 0.2 * shift) * gap, length, flow, class);
        }
    }

    fn finish(mut self) -> Vec<Sent> {
        self.packets.sort_by_key(|sent| sent.at);
        self.packets
    }
}

/// Adds small packets into the idle line, and returns when the pattern itself may begin.
fn pings(pattern: &mut Pattern, start: f64, packet_time: f64) -> f64 {
    let gap = (2.0 * packet_time).clamp(0.004, 0.03);
    for index in 0..PING_COUNT {
        let shift = (index as f64 * GOLDEN).fract() - 0.5;
        pattern.push(start + (index as f64 + 0.5 + 0.8 * shift) * gap, SMALL, PINGS, class::PLAIN);
    }
    start + gap * PING_COUNT as f64
}

/// Returns a step of the ramp at `rate`, that begins `start` seconds after the start of the probe.
pub fn ramp(start: f64, rate: f64) -> Vec<Sent> {
    let packet_time = f64::from(FULL) * 8.0 / rate;
    let mut pattern = Pattern { packets: Vec::new() };
    let duration = (10.0 * packet_time).max((600.0 * packet_time).min(0.05));
    pattern.flow(start, duration * 1.001, rate, FULL, 0, class::PLAIN);
    pattern.finish()
}

/// Returns the pattern for `purpose` that begins `start` seconds after the start of the probe.
pub fn round(purpose: Purpose, start: f64, scale: &Scale) -> Vec<Sent> {
    let mut pattern = Pattern { packets: Vec::new() };
    let packet_time = scale.packet_time();
    let from = pings(&mut pattern, start, packet_time);
    let rate = scale.rate;
    let small_gap = (2.0 * packet_time).max(0.01);
    let small_rate = f64::from(SMALL) * 8.0 / small_gap;
    match purpose {
        Purpose::Ramp => {}
        Purpose::Train => {
            let count = (1.2 / packet_time).clamp(40.0, 500.0).min(scale.bytes / f64::from(FULL));
            let gap = f64::from(FULL) * 8.0 / scale.most;
            for index in 0..count as usize {
                pattern.push(from + index as f64 * gap, FULL, 0, class::PLAIN);
            }
        }
        Purpose::Excess | Purpose::Deep => {
            let excess: f64 = if purpose == Purpose::Deep { 2.5 } else { EXCESS };
            let excess = excess.min(scale.most / rate);
            let duration = scale.duration(excess);
            pattern.flow(from, duration, rate * excess, FULL, 0, class::PLAIN);
            pattern.flow(from, duration, small_rate, SMALL, 1, class::PLAIN);
        }
        Purpose::Flood => {
            // Half of what is left: others must follow.
            let half = Scale { bytes: scale.bytes / 2.0, ..*scale };
            let excess = FLOOD.min(scale.most / rate);
            pattern.flow(from, half.duration(excess), rate * excess, FULL, 0, class::PLAIN);
        }
        Purpose::Gentle => {
            let duration = scale.duration(1.08);
            pattern.flow(from, duration, rate * 1.08, FULL, 0, class::PLAIN);
            pattern.flow(from, duration, small_rate, SMALL, 1, class::PLAIN);
        }
        Purpose::Share => {
            let duration = scale.duration(1.5);
            pattern.flow(from, duration, rate * 0.95, FULL, 2, class::PLAIN);
            pattern.flow(from, duration, rate * 0.45, FULL, 3, class::PLAIN);
            pattern.flow(from, duration, small_rate, SMALL, 1, class::PLAIN);
        }
        Purpose::Ecn => {
            let duration = scale.duration(1.3);
            pattern.flow(from, duration, rate * 0.45, FULL, 4, class::PLAIN);
            pattern.flow(from, duration, rate * 0.4, FULL, 5, class::ECT0);
            pattern.flow(from, duration, rate * 0.4, FULL, 6, class::ECT1);
        }
        Purpose::Classes => {
            let duration = scale.duration(1.4);
            pattern.flow(from, duration, rate * 0.8, FULL, 0, class::PLAIN);
            pattern.flow(from, duration, rate * 0.3, FULL, 7, class::EF);
            pattern.flow(from, duration, rate * 0.3, FULL, 8, class::CS1);
        }
    }
    pattern.finish()
}

/// Returns why a round of this kind is sent, for a person.
pub const fn reason(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Ramp => "find the order of the rate",
        Purpose::Train => "a burst into an idle queue shows bucket, peak rate and depth",
        Purpose::Excess => "half more than the rate for a while shows rate, depth and the law of drops",
        Purpose::Gentle => "a little more than the rate gives a control law time to act",
        Purpose::Flood => "no packet waits: of far more than the rate, others have little",
        Purpose::Deep => "the queue was not filled yet: far more than the rate shows its limit",
        Purpose::Share => "two flows of unequal rates show whether each has a queue of its own",
        Purpose::Ecn => "flows with and without ECN show marks and a queue for L4S",
        Purpose::Classes => "three code points show classes of service",
    }
}
