//! Signals: samples become what laws read. Estimators are here, decisions in the laws.

use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

use crate::baseline::{Baseline, Rates};
use crate::blindness::{Blindness, Load};
use crate::clumps::Clumps;
use crate::outage::{LineState, Outage};
use crate::ratio::Ratio;
use crate::reflectors::Reflectors;
use crate::sample::{MOST_PROBES, Sample};
use crate::window::ByteWindow;

/// Round trip that is assumed before one is measured.
const ASSUMED_RTT: Duration = Duration::from_millis(50);

/// Age from which the delay by acknowledgements is no longer the line's: probes tell it then.
const STALE: Duration = Duration::from_secs(1);

/// Least span of a delivered rate: acknowledgements come in lumps.
pub const LEAST_SPAN: Duration = Duration::from_millis(40);

/// Span over which the load is measured.
const LOAD_SPAN: Duration = Duration::from_millis(200);

/// Span of the rates that distinguish a change of the path from a queue.
const PATH_SPAN: Duration = Duration::from_millis(100);

/// Part of its rate from which a shaper limits, and below which it sends little.
const FULL: Ratio = Ratio::milli(800);
const LITTLE: Ratio = Ratio::milli(300);

/// Signals that a law reads in one step.
#[derive(Debug)]
pub struct View<'a> {
    /// Time of the step.
    pub now: Instant,
    /// Time since the last step.
    pub elapsed: Duration,
    /// Current rate of the shaper.
    pub rate: Rate,
    /// Delay above the baseline; `None` if unknown.
    pub delay: Option<Duration>,
    /// Round trip without a queue; assumed if none was measured yet.
    pub rtt: Duration,
    /// State of the line.
    pub state: LineState,
    /// True if the baseline was replaced in this step.
    pub is_new_path: bool,
    /// The sample itself.
    pub sample: &'a Sample,
    signals: &'a Signals,
}

impl View<'_> {
    /// Returns the rate at which the line delivered in the last `span`, at least [`LEAST_SPAN`]; `None` if
    /// acknowledgements do not tell.
    pub fn delivered(&self, span: Duration) -> Option<Rate> {
        self.signals.delivered_rate(self.now, span.max(LEAST_SPAN))
    }

    /// Returns the rate at which the shaper sent in the last `span`; zero before two steps.
    pub fn sent(&self, span: Duration) -> Rate {
        self.signals.sent.rate(self.now, span).unwrap_or_default()
    }

    /// Returns the part of the shaper's rate that was used in the last 200 ms.
    pub fn load(&self) -> Ratio {
        Ratio::between(self.sent(LOAD_SPAN).as_bits(), self.rate.as_bits())
    }

    /// Returns how much the line delivers at once.
    pub fn clump(&self) -> Bytes {
        self.signals.clumps.get()
    }

    /// Returns the round trips of this step by source: the answers of probes, or else that of the
    /// acknowledgements as the only one.
    pub fn round_trips(&self) -> impl Iterator<Item = (usize, Duration)> + '_ {
        let probed = self.sample.probes.iter().enumerate().filter_map(|(index, rtt)| Some((index, (*rtt)?)));
        let of_acks = self.sample.rtt.filter(|_| !self.signals.has_probes).map(|rtt| (0, rtt));
        probed.chain(of_acks)
    }
}

/// Estimators of one direction of a line.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    sent: ByteWindow,
    tracked: ByteWindow,
    delivered: ByteWindow,
    clumps: Clumps,
    /// True if acknowledgements are read.
    has_acks: bool,
    has_probes: bool,
    baseline: Baseline,
    reflectors: Reflectors,
    /// Blindness of acknowledgements, and of probes, to the queue on the line.
    of_acks: Blindness,
    of_probes: Blindness,
    outage: Outage,
    /// Latest round trip of acknowledgements, and its time.
    latest: Option<(Instant, Duration)>,
    last: Option<Instant>,
}

impl Signals {
    /// Adds a sample, and returns what a law reads of it at the shaper's current `rate`.
    pub fn step<'a>(&'a mut self, now: Instant, sample: &'a Sample, rate: Rate) -> View<'a> {
        let elapsed = self.last.map_or(Duration::ZERO, |last| now.since(last));
        self.last = Some(now);
        self.sent.push(now, sample.sent.0);
        self.tracked.push(now, sample.tracked.0);
        self.delivered.push(now, sample.delivered.map_or(0, |Bytes(bytes)| bytes));
        self.has_acks |= sample.delivered.is_some();
        self.has_probes |= sample.probes.iter().any(Option::is_some);
        self.reflectors.on_answers(now, &sample.probes);
        if let Some(rtt) = sample.rtt {
            self.baseline.push(now, rtt);
            self.latest = Some((now, rtt));
        }
        let usual = self.round_trip();
        let state = self.outage.on_sample(now, sample, usual);
        if state == LineState::Up {
            self.clumps.push(sample.delivered.unwrap_or_default(), sample.oldest.is_some());
        }
        let is_new_path = state == LineState::Up && self.tests_path(now, elapsed);
        let delay = self.delay(now, sample, (elapsed, rate));
        View {
            now,
            elapsed,
            rate,
            delay,
            rtt: self.round_trip().max(Duration::from_millis(1)),
            state,
            is_new_path,
            sample,
            signals: self,
        }
    }

    /// Returns true if a reflector is left out, because its answers differ from the others'.
    pub fn is_left_out(&self, index: usize) -> bool {
        index < MOST_PROBES && self.reflectors.is_left_out(index)
    }

    /// Returns the names of the signals, each with whether its delay has not moved with the load for an hour:
    /// it is not used then.
    pub fn blindness(&self) -> [(&'static str, bool); 2] {
        [("acknowledgements", self.of_acks.is_blind()), ("probes", self.of_probes.is_blind())]
    }

    /// Returns true if acknowledgements return in less than half of the nearest reflector's time: from
    /// behind the shaper of a downlink. They do not cross the line, and show nothing of its delay.
    fn are_acks_near(&self) -> bool {
        let acks = self.baseline.get();
        acks.zip(self.reflectors.nearest()).is_some_and(|(acks, nearest)| acks + acks < nearest)
    }

    /// Returns the round trip over the line without a queue; assumed if none was measured yet.
    fn round_trip(&self) -> Duration {
        let known = if self.are_acks_near() { self.reflectors.farthest() } else { self.baseline.get() };
        known.unwrap_or(ASSUMED_RTT)
    }

    /// Returns the delay above the baseline, by the acknowledgements if they show it and are not blind, else
    /// by the probes.
    fn delay(
        &mut self,
        now: Instant,
        sample: &Sample,
        (elapsed, rate): (Duration, Rate),
    ) -> Option<Duration> {
        let (by_acks, by_probes) = (self.delay_by_acks(now, sample), self.reflectors.delay(now));
        let load = self.load(now, sample, rate);
        self.of_acks.observe(now, elapsed, by_acks, load);
        self.of_probes.observe(now, elapsed, by_probes, load);
        let by_acks = by_acks.filter(|_| !self.of_acks.is_blind());
        by_acks.or(by_probes.filter(|_| !self.of_probes.is_blind()))
    }

    /// Returns the load of the shaper.
    fn load(&self, now: Instant, sample: &Sample, rate: Rate) -> Load {
        let sent = self.sent.rate(now, LOAD_SPAN).unwrap_or_default();
        match Ratio::between(sent.as_bits(), rate.as_bits()) {
            used if sample.is_backlogged || used >= FULL => Load::Full,
            used if used < LITTLE => Load::Little,
            _ => Load::Some,
        }
    }

    /// Returns the delay above the baseline that acknowledgements show. A packet that is still on its way
    /// counts as soon as it takes longer than the latest one did.
    fn delay_by_acks(&self, now: Instant, sample: &Sample) -> Option<Duration> {
        if self.are_acks_near() {
            return None;
        }
        let latest = self.latest.filter(|(at, _)| now.since(*at) <= STALE).map(|(_, rtt)| rtt);
        let rtt = if sample.rtt.is_some() { latest } else { latest.max(sample.oldest) };
        rtt.filter(|_| self.baseline.get().is_some()).map(|rtt| self.baseline.excess(rtt))
    }

    /// Returns the delivered rate: that of tracked flows, by the part that they have of what was sent a round
    /// trip ago.
    fn delivered_rate(&self, now: Instant, span: Duration) -> Option<Rate> {
        let acked = self.delivered.rate(now, span).filter(|_| self.has_acks)?;
        let wide = span + self.round_trip();
        let tracked = self.tracked.rate(now, wide)?;
        let sent = self.sent.rate(now, wide)?;
        if tracked.is_zero() {
            return None;
        }
        // A tenth of the load is too little to speak for all of it.
        let factor = Ratio::between(sent.as_bits(), tracked.as_bits()).min(Ratio::milli(10_000));
        Some(factor.max(Ratio::ONE).of_rate(acked))
    }

    /// Tests whether the path has changed.
    fn tests_path(&mut self, now: Instant, elapsed: Duration) -> bool {
        let latest = self.latest.filter(|(at, _)| *at == now && !self.are_acks_near());
        let Some((at, rtt)) = latest else { return false };
        let rates = Rates {
            sent: self.sent.rate(at, PATH_SPAN).unwrap_or_default(),
            delivered: self.delivered_rate(now, PATH_SPAN).unwrap_or_default(),
        };
        self.baseline.test(now, elapsed, rtt, rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn untracked_traffic_is_delivered_in_proportion() {
        let mut signals = Signals::default();
        let rate = Rate::from_bits(10_000_000);
        let sample = Sample {
            sent: Bytes(10_000),
            tracked: Bytes(5_000),
            delivered: Some(Bytes(2_500)),
            ..Sample::default()
        };
        for step in 0..40 {
            let _ = signals.step(at(10 * step), &sample, rate);
        }
        let view = signals.step(at(400), &sample, rate);
        assert_eq!(view.delivered(Duration::from_millis(100)), Some(Rate::from_bits(4_000_000)));
        assert_eq!(view.sent(Duration::from_millis(100)), Rate::from_bits(8_000_000));
        assert_eq!(view.load(), Ratio::milli(800));
    }

    #[test]
    fn acknowledgements_from_before_the_line_do_not_hide_what_probes_see() {
        let mut signals = Signals::default();
        let rate = Rate::from_bits(10_000_000);
        for step in 1..100 {
            let queue = if step < 50 { 0 } else { 200 };
            let mut sample = Sample { rtt: Some(Duration::from_micros(300)), ..Sample::default() };
            sample.probes[0] = Some(Duration::from_millis(5 + queue));
            sample.probes[1] = Some(Duration::from_millis(40 + queue));
            let view = signals.step(at(10 * step), &sample, rate);
            assert_eq!(view.delay, Some(Duration::from_millis(queue)), "step {step}");
            assert_eq!(view.rtt, Duration::from_millis(40));
        }
    }

    #[test]
    fn a_packet_on_its_way_is_delay_before_it_is_acknowledged() {
        let mut signals = Signals::default();
        let rate = Rate::from_bits(1_000_000);
        let answered = Sample { rtt: Some(Duration::from_millis(40)), ..Sample::default() };
        assert_eq!(signals.step(at(10), &answered, rate).delay, Some(Duration::ZERO));
        let waiting = Sample { oldest: Some(Duration::from_millis(90)), ..Sample::default() };
        assert_eq!(signals.step(at(20), &waiting, rate).delay, Some(Duration::from_millis(50)));
        assert_eq!(signals.step(at(2000), &Sample::default(), rate).delay, None, "stale");
    }
}
