//! Plant: a shaper before a unmanaged queue, and a line whose capacity moves. In steps of 1 ms, with
//! whole packets; senders that always have something to send, or nothing.

use std::collections::VecDeque;

use lockgate_autorate::{Controller, MOST_PROBES, Probes, Reason, Sample};
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

pub(crate) const PACKET: u64 = 1514;

/// Interval between two steps of the controller, in milliseconds.
pub(crate) const STEP_MS: u64 = 10;

/// A run to be made.
pub(crate) struct Plant<'a> {
    /// Round trip without a queue, in milliseconds, at a time in milliseconds.
    pub(crate) rtt_ms: &'a dyn Fn(u64) -> u64,
    /// Capacity in bits per second at a time in milliseconds.
    pub(crate) capacity: &'a dyn Fn(u64) -> u64,
    /// Rate that the senders offer, in bits per second.
    pub(crate) demand: &'a dyn Fn(u64) -> u64,
    pub(crate) length_ms: u64,
    /// Interval of probes to three reflectors; `None` without them.
    pub(crate) probes_ms: Option<u64>,
    /// True if acknowledgements are read.
    pub(crate) reads_acks: bool,
}

/// One step as it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) ms: u64,
    pub(crate) rate: u64,
    pub(crate) queue_ms: u64,
    /// Bits delivered since the start.
    pub(crate) delivered: u64,
    /// Bits that the line could have delivered since the start.
    pub(crate) allowed: u64,
    pub(crate) reason: Reason,
}

/// Outcome of a run.
pub(crate) struct Outcome {
    pub(crate) moments: Vec<Moment>,
    /// Waiting times behind the shaper, of each packet, in milliseconds.
    pub(crate) waits: Vec<u64>,
}

impl Outcome {
    /// Returns the delivered part of what was allowed from one time to another, in milliseconds.
    pub(crate) fn utilisation(&self, from: u64, to: u64) -> f64 {
        let at = |ms: u64| self.moments.iter().rfind(|moment| moment.ms <= ms).copied();
        let (Some(first), Some(last)) = (at(from.max(STEP_MS)), at(to)) else { return 0.0 };
        (last.delivered - first.delivered) as f64 / ((last.allowed - first.allowed) as f64).max(1.0)
    }

    /// Returns a quantile of the waiting times, in milliseconds.
    pub(crate) fn quantile(&self, part: f64) -> u64 {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        let index = (part * waits.len().saturating_sub(1) as f64) as usize;
        waits.get(index).copied().unwrap_or(0)
    }
}

fn probes_of(now: u64, plant: &Plant<'_>, waits: u64) -> Probes {
    let mut probes = [None; MOST_PROBES];
    if let Some(every) = plant.probes_ms {
        for (index, probe) in probes.iter_mut().enumerate().take(3) {
            let phase = now + index as u64 * STEP_MS;
            let is_due = (phase / STEP_MS).is_multiple_of((every / STEP_MS).max(1));
            let own = (plant.rtt_ms)(now) + 3 * index as u64;
            *probe = is_due.then(|| Duration::from_millis(own + waits));
        }
    }
    probes
}

pub(crate) fn run(plant: &Plant<'_>, controller: &mut Controller) -> Outcome {
    let mut queue: VecDeque<u64> = VecDeque::new();
    let mut acks: VecDeque<(u64, u64)> = VecDeque::new();
    let (mut sender, mut line) = (0_u64, 0_u64);
    let mut offered = 0_u64;
    let (mut sent, mut delivered, mut smallest) = (0, 0, None::<u64>);
    let (mut total, mut allowed, mut allowed_before) = (0, 0, 0);
    let mut outcome = Outcome { moments: Vec::new(), waits: Vec::new() };
    for ms in 1..=plant.length_ms {
        // Thousandths of bits, so that nothing is rounded.
        offered = (offered + (plant.demand)(ms)).min(100 * PACKET * 8000);
        sender += controller.rate().as_bits();
        while sender >= PACKET * 8000 && offered >= PACKET * 8000 {
            sender -= PACKET * 8000;
            offered -= PACKET * 8000;
            sent += PACKET;
            queue.push_back(ms);
        }
        if offered < PACKET * 8000 {
            sender = sender.min(PACKET * 8000);
        }
        let capacity = (plant.capacity)(ms);
        allowed += capacity / 1000;
        line += capacity;
        while line >= PACKET * 8000 {
            line -= PACKET * 8000;
            let Some(at) = queue.pop_front() else {
                line = 0;
                break;
            };
            total += PACKET * 8;
            outcome.waits.push(ms - at);
            acks.push_back((ms + (plant.rtt_ms)(ms), at));
        }
        while acks.front().is_some_and(|(due, _)| *due <= ms) {
            let Some((due, at)) = acks.pop_front() else { break };
            delivered += PACKET;
            smallest = Some(smallest.map_or(due - at, |least: u64| least.min(due - at)));
        }
        if !ms.is_multiple_of(STEP_MS) {
            continue;
        }
        let queue_ms = queue.front().map_or(0, |at| ms - at);
        let first = acks.front().map(|(_, at)| *at).or(queue.front().copied());
        let sample = Sample {
            sent: Bytes(sent),
            tracked: Bytes(if plant.reads_acks { sent } else { 0 }),
            delivered: plant.reads_acks.then_some(Bytes(delivered)),
            rtt: smallest.filter(|_| plant.reads_acks).map(Duration::from_millis),
            oldest: first.filter(|_| plant.reads_acks).map(|at| Duration::from_millis(ms - at)),
            probes: if capacity == 0 { [None; MOST_PROBES] } else { probes_of(ms, plant, queue_ms) },
            is_backlogged: offered >= PACKET * 8000,
            capacity: Some(Rate::from_bits((allowed - allowed_before) * 1000 / STEP_MS)),
        };
        allowed_before = allowed;
        (sent, delivered, smallest) = (0, 0, None);
        let (rate, reason) = controller.step(Instant::ZERO + Duration::from_millis(ms), &sample);
        let rate = rate.as_bits();
        outcome.moments.push(Moment { ms, rate, queue_ms, delivered: total, allowed, reason });
    }
    outcome
}
