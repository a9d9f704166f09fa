//! Direct estimators: properties of a line that arrivals show before any queue is assumed.

use crate::candidates::Setting;
use crate::plan::PINGS;
use crate::probe::{FULL, Observation, Probe, Purpose, Sent};

/// Delay of an idle line by the two clocks, as a straight line over the time of sending.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Base {
    /// Delay at the start, in seconds, with the offset between the clocks.
    pub delay: f64,
    /// Relative drift of the receiver's clock against the sender's.
    pub drift: f64,
}

impl Base {
    /// Returns the delay of an idle line for a packet that is sent at `at` seconds.
    pub fn at(&self, at: f64) -> f64 {
        self.delay + self.drift * at
    }
}

/// Quantities estimated without assuming a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Delay of the idle line, and the drift of the clocks.
    pub base: Base,
    /// Mean of the delays' variation on the idle line, in seconds.
    pub jitter: f64,
    /// Rate in bit/s at which full packets leave one after another.
    pub rate: f64,
    /// Other rates that it may have beside others: what small packets, trains and spacings say.
    pub rates: [f64; 5],
    /// Relative standard error of the rate.
    pub rate_error: f64,
    /// Rate of the probe in the last part of the excess, in bit/s.
    pub goodput: f64,
    /// Rate at which the excess was sent.
    pub sent_rate: f64,
    /// Part of the time that others used the line while it was else idle; `None` if the jitter hides it.
    pub busy: Option<f64>,
    /// Small packets into the idle line, of which that part waited.
    pub pings: usize,
    /// Part of the rate by which packets that left one after another are faster than the goodput; zero if
    /// the jitter hides it.
    pub gain: f64,
    /// Length of others' frames, in bytes.
    pub length: u32,
    /// Longest wait, in seconds.
    pub wait: f64,
    /// Longest burst beyond the rate, in bytes.
    pub bucket: f64,
    /// Rate at which a burst arrived, in bit/s.
    pub peak: f64,
    /// Share of packets lost on the idle line, or below its rate.
    pub loss: f64,
    /// Standard error of that share.
    pub loss_error: f64,
    /// True if packets were lost in excess, so that the longest wait is a limit.
    pub is_full: bool,
}

/// A packet that arrived: time of sending, delay in seconds, place in the round.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The packet.
    pub sent: Sent,
    /// Time of sending in seconds.
    pub at: f64,
    /// Time from sending to arrival in seconds, by the two clocks.
    pub delay: f64,
    /// Traffic class on arrival.
    pub traffic_class: u8,
}

const PICO: f64 = 1e-12;

/// Returns the packets of round `index` that arrived.
pub fn seen<'a>(
    probe: &'a Probe,
    observed: &'a Observation,
    index: usize,
) -> impl Iterator<Item = Seen> + 'a {
    let packets = probe.rounds[index].packets.iter();
    packets.zip(&observed.rounds[index]).filter_map(|(sent, arrival)| {
        let arrival = arrival.as_ref()?;
        let delay = (arrival.at - sent.at.cast_signed()) as f64 * PICO;
        let traffic_class = arrival.traffic_class;
        Some(Seen { sent: *sent, at: sent.at as f64 * PICO, delay, traffic_class })
    })
}

/// Estimates the idle delay and the drift of the clocks from the least delay of the small packets before each
/// round: the median slope between any two (Theil, Sen), and the line below all with it.
pub fn base(probe: &Probe, observed: &Observation) -> Base {
    let least = |index: usize, is_small: bool| {
        let all = seen(probe, observed, index).filter(|seen| !is_small || seen.sent.flow == PINGS);
        all.map(|seen| (seen.at, seen.delay)).min_by(|one, two| one.1.total_cmp(&two.1))
    };
    let rounds = 0..probe.rounds.len();
    let mut points: Vec<(f64, f64)> = rounds.clone().filter_map(|index| least(index, true)).collect();
    if points.is_empty() {
        points = rounds.filter_map(|index| least(index, false)).collect();
    }
    let mut slopes = Vec::new();
    for (index, one) in points.iter().enumerate() {
        let later = points[index + 1..].iter().filter(|two| two.0 - one.0 > 0.4);
        slopes.extend(later.map(|two| (two.1 - one.1) / (two.0 - one.0)));
    }
    // Oscillators are within 100 ppm of each other: more is a queue.
    let drift = quantile(&mut slopes, 0.5).clamp(-2e-4, 2e-4);
    let drift = if slopes.len() < 2 { 0.0 } else { drift };
    let delay = points.iter().map(|point| point.1 - drift * point.0).fold(f64::INFINITY, f64::min);
    Base { delay: if delay.is_finite() { delay } else { 0.0 }, drift }
}

/// Returns the value below which a share of the values lies; zero of none. Sorts them.
pub fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * share) as usize).copied().unwrap_or(0.0)
}

/// Time from one arrival to the next of packets that stood in line, and the length of the later.
pub struct Spacing {
    /// Time in seconds.
    pub gap: f64,
    /// Length in bytes.
    pub length: u32,
}

/// Returns the runs of spacings in the later part of a round. If `is_queued`, each packet was sent before the
/// one in front of it arrived.
pub fn spacings(
    probe: &Probe,
    observed: &Observation,
    index: usize,
    base: &Base,
    is_queued: bool,
) -> Vec<Vec<Spacing>> {
    let place = |seen: &Seen| seen.at + seen.delay - base.drift * seen.at;
    let mut all: Vec<Seen> = seen(probe, observed, index).filter(|seen| seen.sent.flow != PINGS).collect();
    all.sort_by(|one, two| place(one).total_cmp(&place(two)));
    // The first part may pass on the credit of a bucket.
    let part = all.get(all.len() * 2 / 5..).unwrap_or(&[]);
    let mut runs = vec![Vec::new()];
    for pair in part.windows(2) {
        let gap = place(&pair[1]) - place(&pair[0]);
        let wait = pair[1].delay - base.at(pair[1].at);
        if gap > 0.0 && (wait > gap || !is_queued) {
            if let Some(run) = runs.last_mut() {
                run.push(Spacing { gap, length: pair[1].sent.length });
            }
        } else {
            runs.push(Vec::new());
        }
    }
    runs
}

/// Returns the centre of the densest half, again and again: the half-sample mode (Bickel, Fruehwirth 2006).
fn mode(sorted: &[f64]) -> f64 {
    let mut part = sorted;
    while part.len() > 3 {
        let half = part.len().div_ceil(2);
        let from = (0..=part.len() - half).min_by(|one, two| {
            (part[one + half - 1] - part[*one]).total_cmp(&(part[two + half - 1] - part[*two]))
        });
        let from = from.unwrap_or(0);
        part = &part[from..from + half];
    }
    part.iter().sum::<f64>() / part.len().max(1) as f64
}

/// Returns the rate at which full packets leave one after another, with its relative error; `None` if too
/// few stood in line.
fn spacing_rate(probe: &Probe, observed: &Observation, base: &Base, jitter: f64) -> Option<(f64, f64)> {
    let queues = (0..probe.rounds.len()).filter(|index| probe.rounds[*index].purpose != Purpose::Ramp);
    let runs = queues.flat_map(|index| spacings(probe, observed, index, base, true));
    let full = runs.flatten().filter(|spacing| spacing.length == FULL);
    let mut gaps: Vec<f64> = full.map(|spacing| spacing.gap).collect();
    if gaps.len() < 12 {
        return None;
    }
    gaps.sort_by(f64::total_cmp);
    let centre = mode(&gaps);
    let width = (0.02 + 2.0 * jitter / centre).min(0.25);
    let near: Vec<f64> = gaps.iter().copied().filter(|gap| (gap / centre - 1.0).abs() < width).collect();
    let mean = near.iter().sum::<f64>() / near.len().max(1) as f64;
    let spread = near.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / near.len().max(1) as f64;
    let error = spread.sqrt() / (near.len() as f64).sqrt() / mean;
    Some((f64::from(FULL) * 8.0 / mean, error))
}

/// Returns the rates that the line may have with their relative errors, the most likely first. On a quiet
/// line it is the goodput in excess; beside others it is more: what packets that left one after another say,
/// if that is plausible.
fn line_rates(
    probe: &Probe,
    observed: &Observation,
    base: &Base,
    jitter: f64,
    (goodput, sent_rate, busy, gain): (f64, f64, Option<f64>, f64),
) -> [(f64, f64); 5] {
    let quiet = (goodput, 0.003);
    let part = busy.unwrap_or(0.0);
    // One queue for all, or a queue for each flow.
    let one = (goodput / (1.0 - part * goodput / sent_rate).max(0.5), 0.03);
    let each = (goodput / (1.0 - part).max(0.5), 0.03);
    let range = goodput * 0.99..one.0.max(each.0).max(goodput * 1.2) * 1.25;
    let or =
        |found: Option<(f64, f64)>, other| found.filter(|(rate, _)| range.contains(rate)).unwrap_or(other);
    let train = or(train_rate(probe, observed, base), one);
    let spacing = or(spacing_rate(probe, observed, base, jitter), train);
    let is_exact = jitter < 0.1 * f64::from(FULL) * 8.0 / goodput;
    match busy {
        Some(busy) if busy < QUIET && gain < MOST_GAIN => [quiet, train, spacing, one, each],
        _ if is_exact => [spacing, train, one, each, quiet],
        _ => [train, spacing, one, each, quiet],
    }
}

/// Share of pings that wait, below which no others are on the line.
pub const QUIET: f64 = 0.04;

/// Part of the time in which others use the line, and jitter in seconds, above which they hide what its queue
/// does: probes were tried beside 0.3 of the rate, and with 0.3 ms.
const MOST_BUSY: f64 = 0.5;
const MOST_JITTER: f64 = 0.5e-3;

/// Gain of rate by spacing over the goodput, above which others are on the line.
const MOST_GAIN: f64 = 0.01;

/// Returns the rate of the second half of the longest train's arrivals, for hosts whose jitter hides a single
/// gap.
fn train_rate(probe: &Probe, observed: &Observation, base: &Base) -> Option<(f64, f64)> {
    let index = probe.rounds.iter().position(|round| round.purpose == Purpose::Train)?;
    let mut arrivals: Vec<f64> = seen(probe, observed, index)
        .filter(|seen| seen.sent.length == FULL)
        .map(|seen| seen.at + seen.delay - base.drift * seen.at)
        .collect();
    arrivals.sort_by(f64::total_cmp);
    let part = arrivals.get(arrivals.len() / 2..).filter(|part| part.len() >= 20)?;
    let count = part.len() as f64;
    let mean = part.iter().sum::<f64>() / count;
    // Least squares of the number over the time.
    let middle = (count - 1.0) / 2.0;
    let both: f64 = part.iter().enumerate().map(|(index, at)| (index as f64 - middle) * (at - mean)).sum();
    let own: f64 = (0..part.len()).map(|index| (index as f64 - middle) * (index as f64 - middle)).sum();
    let gap = both / own;
    (gap > 0.0).then(|| (f64::from(FULL) * 8.0 / gap, 0.02))
}

/// Rate of the arrivals of a round in its last 60 %, in bit/s, over all flows: least squares of the bytes
/// over the time of arrival.
pub fn goodput(probe: &Probe, observed: &Observation, index: usize, drift: f64) -> Option<f64> {
    let mut arrivals: Vec<(f64, f64)> = seen(probe, observed, index)
        .filter(|seen| seen.sent.flow != PINGS)
        .map(|seen| (seen.at + seen.delay - drift * seen.at, f64::from(seen.sent.length) * 8.0))
        .collect();
    arrivals.sort_by(|one, two| one.0.total_cmp(&two.0));
    let from = arrivals.len() * 2 / 5;
    let part = arrivals.get(from..).filter(|part| part.len() >= 5)?;
    let (first, last) = (part.first()?.0, part.last()?.0);
    let bits: f64 = part.iter().skip(1).map(|arrival| arrival.1).sum();
    (last > first).then(|| bits / (last - first))
}

/// Rate at which the full packets of a round were sent, in bit/s.
fn sent_rate(packets: &[Sent]) -> Option<f64> {
    let packets: Vec<&Sent> = packets.iter().filter(|sent| sent.flow != PINGS).collect();
    let span = (packets.last()?.at - packets.first()?.at) as f64 * PICO;
    let bits: f64 = packets.iter().skip(1).map(|sent| f64::from(sent.length) * 8.0).sum();
    (span > 0.0).then(|| bits / span)
}

/// Estimates from the rounds so far; `None` before anything arrived in excess.
pub fn estimate(probe: &Probe, observed: &Observation) -> Option<Estimate> {
    let base = base(probe, observed);
    let of = |purpose: Purpose| probe.rounds.iter().rposition(|round| round.purpose == purpose);
    let excess = of(Purpose::Flood).or_else(|| of(Purpose::Deep)).or_else(|| of(Purpose::Excess))?;
    let goodput = goodput(probe, observed, excess, base.drift)?;
    let sent_rate = sent_rate(&probe.rounds[excess].packets)?;
    let (mut idle, mut idle_count, mut idle_lost) = (Vec::new(), 0usize, 0usize);
    let (mut wait, mut lost) = (0.0f64, 0usize);
    for (index, round) in probe.rounds.iter().enumerate() {
        let is_ping = |sent: &Sent| sent.flow == PINGS;
        idle_count += round.packets.iter().filter(|sent| is_ping(sent)).count();
        let arrivals = &observed.rounds[index];
        let pairs = round.packets.iter().zip(arrivals);
        idle_lost += pairs.clone().filter(|(sent, arrival)| is_ping(sent) && arrival.is_none()).count();
        if round.purpose != Purpose::Ramp {
            lost += pairs.filter(|(sent, arrival)| !is_ping(sent) && arrival.is_none()).count();
        }
        let (pings, others): (Vec<Seen>, Vec<Seen>) =
            seen(probe, observed, index).partition(|seen| seen.sent.flow == PINGS);
        // A late class waits for others beyond its own limit.
        if round.purpose != Purpose::Classes {
            wait = others.iter().map(|seen| seen.delay - base.at(seen.at)).fold(wait, f64::max);
        }
        // By the round's own least delay: an error of the drift is no jitter.
        let least = pings.iter().map(|seen| seen.delay).fold(f64::INFINITY, f64::min);
        idle.extend(pings.iter().map(|seen| seen.delay - least));
    }
    let jitter = quantile(&mut idle, 0.25) / 0.28;
    let packet_time = f64::from(FULL) * 8.0 / goodput;
    let threshold = 4.0 * jitter + 0.15 * packet_time;
    let waiting = idle.iter().filter(|over| **over > threshold).count() as f64 / idle.len().max(1) as f64;
    let busy = (threshold < 0.5 * packet_time).then_some(waiting);
    let is_exact = jitter < 0.1 * packet_time;
    let spacing = spacing_rate(probe, observed, &base, jitter).filter(|_| is_exact);
    let gain = spacing.map_or(0.0, |(rate, _)| 1.0 - goodput / rate);
    // Beyond, it is a bucket's burst.
    let gain = if gain < 0.4 { gain } else { 0.0 };
    let rates = line_rates(probe, observed, &base, jitter, (goodput, sent_rate, busy, gain));
    let (rate, rate_error) = rates[0];
    let (bucket, peak) = burst(probe, observed, rate, &base);
    let (share_lost, loss_error) = losses(probe, observed, goodput, (idle_lost, idle_count));
    Some(Estimate {
        base,
        jitter,
        rate,
        rates: rates.map(|(rate, _)| rate),
        rate_error,
        goodput,
        sent_rate,
        busy,
        pings: idle_count,
        gain,
        length: FULL,
        wait,
        bucket,
        peak,
        loss: share_lost,
        loss_error,
        is_full: lost > 3 + probe.packets().count() / 50,
    })
}

/// Least packets of the ramp below the rate that tell the share of losses alone.
const LEAST_BELOW: usize = 100;

/// Share of the goodput up to which a step of the ramp is below the rate.
const BELOW: f64 = 0.6;

/// Returns the share of packets that are lost without a queue, and its standard error: those of the ramp
/// below the rate, which no queue before it has dropped; and those of the `idle` line (lost, all), if no law
/// still drops there, or the others are few. One lost packet alone is none.
fn losses(probe: &Probe, observed: &Observation, goodput: f64, idle: (usize, usize)) -> (f64, f64) {
    let (mut lost, mut count) = (0, 0);
    for (round, arrivals) in probe.rounds.iter().zip(&observed.rounds) {
        let is_below = sent_rate(&round.packets).is_some_and(|rate| rate < BELOW * goodput);
        if round.purpose == Purpose::Ramp && is_below {
            count += arrivals.len();
            lost += arrivals.iter().filter(|arrival| arrival.is_none()).count();
        }
    }
    if count < LEAST_BELOW || idle.0 == 0 {
        (lost, count) = (lost + idle.0, count + idle.1);
    }
    let count = count.max(1) as f64;
    let share = if lost > 1 { lost as f64 / count } else { 0.0 };
    // With none lost, half a packet: Jeffreys' prior.
    (share, (lost as f64).max(0.25).sqrt() / count)
}

/// Returns the longest burst of full packets beyond `rate`, in bytes, over trains and excess: the largest
/// `bytes - rate * time` from the first arrival of a round on; and the rate at which the first packets of a
/// train arrived.
fn burst(probe: &Probe, observed: &Observation, rate: f64, base: &Base) -> (f64, f64) {
    let (mut bucket, mut peak) = (0.0f64, 0.0f64);
    for (index, round) in probe.rounds.iter().enumerate() {
        if !matches!(round.purpose, Purpose::Train | Purpose::Excess) {
            continue;
        }
        let mut arrivals: Vec<f64> = seen(probe, observed, index)
            .filter(|seen| seen.sent.length == FULL)
            .map(|seen| seen.at + seen.delay - base.drift * seen.at)
            .collect();
        arrivals.sort_by(f64::total_cmp);
        let Some(&first) = arrivals.first() else { continue };
        for (count, at) in arrivals.iter().enumerate() {
            bucket = bucket.max((count + 1) as f64 * f64::from(FULL) - rate / 8.0 * (at - first));
        }
        if round.purpose == Purpose::Train && arrivals.len() > 4 {
            let mut gaps: Vec<f64> = arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let part = (gaps.len() / 3).clamp(3, 12);
            let early = quantile(&mut gaps[..part], 0.5);
            peak = f64::from(FULL) * 8.0 / early.max(1e-7);
        }
    }
    (bucket, peak.max(rate))
}

impl Estimate {
    /// Returns true if the jitter is small beside the time of a packet, so that single gaps tell the rate.
    pub fn is_exact(&self) -> bool {
        self.jitter < 0.1 * f64::from(FULL) * 8.0 / self.goodput
    }

    /// Returns true if packets were lost and none waited, as behind a policer.
    pub fn is_unqueued(&self) -> bool {
        let packet_time = f64::from(FULL) * 8.0 / self.goodput;
        // The longest of ten thousand draws of the jitter is some ten times its mean.
        self.is_full && self.wait < 3.0 * packet_time + 12.0 * self.jitter
    }

    /// Returns true if no others were seen on the line. Where nothing waits, others delay nothing.
    pub fn is_quiet(&self) -> bool {
        !self.is_unqueued() && self.busy.is_some_and(|busy| busy < QUIET) && self.gain < MOST_GAIN
    }

    /// Returns true if others use the line so much, or it has such a jitter, that its queue is hidden.
    pub fn is_hidden(&self) -> bool {
        self.busy.is_some_and(|busy| busy > MOST_BUSY) || self.jitter > MOST_JITTER
    }

    /// Returns the setting from which candidates are searched.
    pub fn setting(&self) -> Setting {
        // The packet that waited longest waited for the limit, and for its own transmission.
        let packet_time = f64::from(FULL) * 8.0 / self.rate;
        Setting {
            rate: self.rate,
            peak: self.peak,
            wait: (self.wait - 0.9 * packet_time).max(packet_time),
            in_packets: false,
            is_rfc: false,
            bucket: self.bucket,
            least_bucket: crate::candidates::LEAST_BUCKET,
            target: 0.005,
            interval: 0.1,
            probability: 0.02,
            low: 1.0 / 3.0,
            loss: self.loss,
        }
    }
}
