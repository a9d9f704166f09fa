//! Features: quantities that are compared between the observation and a simulation of the same packets.
//!
//! Each flow of a round is divided into parts of equally many packets, by their time of sending. A part has a
//! share of losses, a mean and a spread of the wait, and a share of marks; a flow the regularity of its
//! losses; a round its goodput. Each feature has a floor: the error that it has even for the right queue.

use crate::estimate::{Base, goodput, seen};
use crate::plan::PINGS;
use crate::probe::{FULL, Observation, Probe, Purpose, Sent, class};

/// Most parts of a flow.
const PARTS: usize = 6;

/// Least packets of a part.
const LEAST: usize = 8;

/// Quantity of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Share of packets lost.
    Loss,
    /// Mean wait in seconds.
    Wait,
    /// Standard deviation of the wait in seconds.
    Spread,
    /// Share of marked packets.
    Marks,
    /// Logarithm of the mean number of packets lost in a row.
    Run,
    /// Logarithm of the coefficient of variation of the packets between two losses.
    Variation,
    /// Logarithm of the goodput.
    Goodput,
}

/// A feature of an observation.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Round.
    pub round: usize,
    /// Flow; the sentinel [`ALL_FLOWS`] for all.
    pub flow: u8,
    /// Quantity.
    pub kind: Kind,
    /// Value; not a number if nothing arrived.
    pub value: f64,
    /// Number of packets it is of.
    pub count: usize,
}

/// Flow of a feature of the whole round.
pub const ALL_FLOWS: u8 = u8::MAX;

/// Returns the features of all rounds but the ramp, in an order that depends on the probe alone. Waits are
/// less by the mean `jitter`, in seconds; the arrivals of a simulation lack jitter of the mean `lack`, by
/// whose variance they spread too.
pub fn features(probe: &Probe, observed: &Observation, base: &Base, jitter: f64, lack: f64) -> Vec<Feature> {
    let mut all = Vec::new();
    for (index, round) in probe.rounds.iter().enumerate() {
        if round.purpose == Purpose::Ramp {
            continue;
        }
        let value = goodput(probe, observed, index, base.drift).map_or(f64::NAN, libm::log);
        let count = round.packets.len();
        if round.purpose != Purpose::Train {
            all.push(Feature { round: index, flow: ALL_FLOWS, kind: Kind::Goodput, value, count });
        }
        let pairs = || round.packets.iter().zip(&observed.rounds[index]);
        let mut flows: Vec<u8> =
            round.packets.iter().map(|sent| sent.flow).filter(|flow| *flow != PINGS).collect();
        flows.sort_unstable();
        flows.dedup();
        for flow in flows {
            let own: Vec<(Sent, Option<(f64, u8)>)> = pairs()
                .filter(|(sent, _)| sent.flow == flow)
                .map(|(sent, arrival)| {
                    let at = sent.at as f64 * 1e-12;
                    let wait = arrival.map(|arrival| {
                        let delay = (arrival.at - sent.at.cast_signed()) as f64 * 1e-12;
                        (delay - base.at(at) - jitter, arrival.traffic_class)
                    });
                    (*sent, wait)
                })
                .collect();
            of_flow(index, flow, &own, lack, &mut all);
        }
    }
    all
}

fn of_flow(round: usize, flow: u8, packets: &[(Sent, Option<(f64, u8)>)], lack: f64, all: &mut Vec<Feature>) {
    let parts = (packets.len() / LEAST).clamp(1, PARTS);
    let mut push = |kind, value, count| all.push(Feature { round, flow, kind, value, count });
    let is_capable = packets.first().is_some_and(|(sent, _)| sent.traffic_class & class::CE != 0);
    for part in 0..parts {
        let part = &packets[packets.len() * part / parts..packets.len() * (part + 1) / parts];
        let waits: Vec<f64> = part.iter().filter_map(|(_, arrival)| arrival.map(|(wait, _)| wait)).collect();
        let (count, arrived) = (part.len(), waits.len() as f64);
        push(Kind::Loss, 1.0 - arrived / count.max(1) as f64, count);
        let mean = waits.iter().sum::<f64>() / arrived;
        push(Kind::Wait, mean, waits.len());
        let variance = waits.iter().map(|wait| (wait - mean) * (wait - mean)).sum::<f64>() / arrived;
        // Jitter is exponential: its variance is the square of its mean.
        push(Kind::Spread, (variance + lack * lack).sqrt(), waits.len());
        if is_capable {
            let marked = part.iter().filter_map(|(_, arrival)| *arrival);
            let marked = marked.filter(|(_, class)| class & class::CE == class::CE).count();
            push(Kind::Marks, marked as f64 / arrived, waits.len());
        }
    }
    let (run, variation, losses) = losses(packets);
    push(Kind::Run, run, losses);
    push(Kind::Variation, variation, losses);
}

/// Returns the logarithm of the mean length of a run of losses, that of the coefficient of variation of
/// the distance from one run to the next, and the number of runs; not numbers for fewer than six runs.
fn losses(packets: &[(Sent, Option<(f64, u8)>)]) -> (f64, f64, usize) {
    let (mut lost, mut starts, mut before) = (0usize, Vec::new(), false);
    for (index, (_, arrival)) in packets.iter().enumerate() {
        lost += usize::from(arrival.is_none());
        if arrival.is_none() && !before {
            starts.push(index as f64);
        }
        before = arrival.is_none();
    }
    let runs = starts.len();
    if runs < 6 {
        return (f64::NAN, f64::NAN, runs);
    }
    let distances: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let count = distances.len() as f64;
    let mean = distances.iter().sum::<f64>() / count;
    let variance = distances.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / count;
    (libm::log(lost as f64 / runs as f64), libm::log(variance.sqrt() / mean + 0.05), runs)
}

/// Causes of floors.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// Time of a full packet at the rate, in seconds.
    pub packet_time: f64,
    /// Jitter of the hosts, in seconds.
    pub jitter: f64,
    /// Share of packets lost without a queue.
    pub loss: f64,
    /// Longest wait, in seconds.
    pub wait: f64,
    /// Share of the line that others have.
    pub busy: f64,
}

impl Feature {
    /// Returns the standard error that the feature has even if the queue is the right one.
    pub fn floor(&self, noise: &Noise) -> f64 {
        let count = self.count.max(1) as f64;
        let squares = |errors: &[f64]| errors.iter().map(|error| error * error).sum::<f64>().sqrt();
        match self.kind {
            Kind::Loss => {
                let binomial = (noise.loss * (1.0 - noise.loss) / count).sqrt();
                squares(&[0.6 / count, binomial, 0.01, 0.1 * noise.busy / count.sqrt()])
            }
            Kind::Wait | Kind::Spread => {
                let value = if self.value.is_finite() { self.value.abs() } else { noise.wait };
                squares(&[
                    0.4 * noise.packet_time,
                    1.5 * noise.jitter / count.sqrt(),
                    0.3 * noise.jitter,
                    0.03 * value,
                    0.008 * noise.wait,
                ])
            }
            Kind::Marks => squares(&[0.6 / count, 0.02]),
            Kind::Run => squares(&[0.12, 0.7 / count.sqrt()]),
            Kind::Variation => squares(&[0.2, 1.0 / count.sqrt()]),
            Kind::Goodput => squares(&[0.004, 0.7 / count, 0.02 * noise.busy]),
        }
    }
}

/// Returns the idle delay in a simulation: the least of all packets.
pub fn simulated_base(probe: &Probe, observed: &Observation) -> Base {
    let mut least = f64::INFINITY;
    for index in 0..probe.rounds.len() {
        least = seen(probe, observed, index)
            .filter(|seen| seen.sent.length < FULL)
            .map(|seen| seen.delay)
            .fold(least, f64::min);
    }
    Base { delay: if least.is_finite() { least } else { 0.0 }, drift: 0.0 }
}
