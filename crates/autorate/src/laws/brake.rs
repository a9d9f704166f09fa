//! `brake`: follows what is delivered while the line is full, and brakes by the queue on the line.
//!
//! ```text
//! rate = eta * mu - mu * max(0, x - target) / drain
//!
//! x > full     mu = delivered rate           the line is full: what it delivers is its rate
//! x <= full    mu >= delivered rate, and grows by `growth` a round trip while the shaper limits; beyond what
//!              was known last by a quarter of it, by a half after five round trips, and so on up to four
//!              times
//! ```
//!
//! `x` is the delay above the baseline: a packet still on its way counts as soon as it is late. So a line
//! that stops is braked for before anything is measured of it. A line that delivers in clumps delays packets
//! without a queue, and needs a longer time to show its rate: `full`, `target` and the time of measurement
//! are at least those of its clumps.

use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
use serde::Deserialize;

use super::{About, Step, Unfit, time};
use crate::bounds::Bounds;
use crate::outage::LineState;
use crate::ratio::Ratio;
use crate::reason::Why;
use crate::signals::View;

/// Parameters of `brake`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Part of the delivered rate that is sent while no queue brakes; from 0.5 to 1. `0.98` by default.
    pub eta: Ratio,
    /// Delay above the baseline from which the rate brakes, from `0s` to `1s`; `3ms` by default. More on a
    /// line that delivers in clumps.
    pub target: Duration,
    /// Time within which a queue above the target drains, from `10ms` to `10s`; `125ms` by default.
    pub drain: Duration,
    /// Delay above the baseline from which the line is full, from `1ms` to `1s`; `5ms` by default. More on
    /// a line that is slow or delivers in clumps.
    pub full: Duration,
    /// Growth in a round trip while there is no queue, from 0 to 1; `0.3` by default.
    pub growth: Ratio,
    /// Time over which the delivered rate is measured, from `40ms` to `5s`; `60ms` by default. More on a line
    /// that delivers in clumps.
    pub span: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            eta: Ratio::milli(980),
            target: Duration::from_millis(3),
            drain: Duration::from_millis(125),
            full: Duration::from_millis(5),
            growth: Ratio::milli(300),
            span: Duration::from_millis(60),
        }
    }
}

impl super::Config for Config {
    fn check(&self) -> Result<(), Unfit> {
        let ms = Duration::from_millis;
        Unfit::outside("eta", self.eta, [Ratio::milli(500), Ratio::ONE])?;
        time("target", self.target, [ms(0), ms(1000)])?;
        time("drain", self.drain, [ms(10), ms(10_000)])?;
        time("full", self.full, [ms(1), ms(1000)])?;
        Unfit::outside("growth", self.growth, [Ratio::ZERO, Ratio::ONE])?;
        time("span", self.span, [ms(40), ms(5000)])
    }
}

pub(super) const ABOUT: About = About {
    name: "brake",
    summary: "follows what is delivered while the line is full, and brakes by the queue on the line",
    source: "the form of ABC: Goyal, Agarwal, Netravali, Alizadeh, Balakrishnan, \"ABC: A Simple Explicit Congestion \
             Controller for Wireless Networks\", NSDI 2020; the delivered rate in place of the link's own word",
    guarantees: &[
        "a rate that falls by half is drained within a second",
        "a rate that doubles is used to 90 % within ten seconds",
        "five seconds of outage are over within three",
        "a constant line costs at most 3 %",
        "an idle line moves nothing",
    ],
};

/// Load from which the shaper limits what is sent.
const LIMITED: Ratio = Ratio::milli(800);

/// Load from which a queue on the line is one of what is sent.
const BUSY: Ratio = Ratio::milli(300);

/// Part of the rate that is used in the last round trip, or in [`USED_SPAN`], by which growth is earned: a
/// packet that waits at the shaper may be one of a burst.
const USED: Ratio = Ratio::milli(700);
const USED_SPAN: Duration = Duration::from_millis(60);

/// Clumps that a rate is measured over, so that it is known to a quarter; and the longest time for them.
const MEASURED_CLUMPS: u64 = 16;
const LONGEST_SPAN: Duration = Duration::from_millis(300);

/// Bytes whose time a packet waits without a queue: one and a half packets, one of them on its way already.
const WAIT: Bytes = Bytes(2271);

/// Longest delays that clumps explain: from them on the line is full, and the rate brakes.
const LONGEST_FULL: Duration = Duration::from_millis(60);
const LONGEST_TARGET: Duration = Duration::from_millis(100);

/// Part of `growth` with which the rate grows beyond what is known at first, the round trips after which it
/// has doubled, and its doublings.
const FIRST_PACE: u64 = 250;
const DOUBLES_AFTER: u64 = 5;
const DOUBLINGS: u64 = 4;

/// Times of the parameters, lengthened for the line as it is.
#[derive(Clone, Copy, Debug)]
struct Times {
    full: Duration,
    target: Duration,
    span: Duration,
}

/// State of `brake`.
#[derive(Debug)]
pub struct Brake {
    config: Config,
    /// Rate of the line, as far as it is known.
    mu: Rate,
    /// Its limit: with it the largest rate is sent.
    most: Rate,
    /// Lowest rate that is sent.
    least: Rate,
    /// Start of the time in which the line has been full; `None` if it is not.
    full_since: Option<Instant>,
    /// Rate of the line as it was known before it was full.
    before: Rate,
    /// Rate that the line delivered when it was last full; `None` before.
    known: Option<Rate>,
    /// Time for which the rate has grown beyond it.
    beyond_for: Duration,
}

impl Brake {
    pub(super) fn new(config: &Config, bounds: Bounds) -> Self {
        let inverse = Ratio::between(Ratio::ONE.millionths(), config.eta.millionths());
        Self {
            config: config.clone(),
            mu: bounds.start,
            most: inverse.of_rate(bounds.max.max(bounds.start)),
            least: bounds.min,
            full_since: None,
            before: bounds.start,
            known: None,
            beyond_for: Duration::ZERO,
        }
    }

    /// Returns the times for a line that delivers as this one does.
    fn times(&self, view: &View<'_>) -> Times {
        let Config { full, target, span, .. } = self.config;
        let rate = self.mu.max(self.least);
        let clump = rate.time_for(view.clump()).min(Duration::from_secs(1));
        Times {
            full: full.max(rate.time_for(WAIT).max(clump).min(LONGEST_FULL)),
            target: target.max(Ratio::milli(1500).of_time(clump).min(LONGEST_TARGET)),
            span: span.max((clump * MEASURED_CLUMPS).min(LONGEST_SPAN)),
        }
    }

    /// Learns the line's rate from this step. Returns what it has learnt.
    fn learn(&mut self, view: &View<'_>, delay: Duration, times: Times) -> Why {
        // Full or not, a line is at least as fast as it has delivered.
        if let Some(known) = self.known
            && let Some(delivered) = view.delivered(times.span).filter(|delivered| *delivered > self.mu)
        {
            self.mu = delivered.min(self.most);
            self.known = Some(known.max(self.mu));
        }
        if delay > times.full {
            return self.learn_full(view, times.span);
        }
        self.full_since = None;
        let limits = view.sample.is_backlogged || view.load() >= LIMITED;
        let used = Ratio::between(view.sent(view.rtt.max(USED_SPAN)).as_bits(), view.rate.as_bits());
        if !limits || used < USED {
            return Why::Idle;
        }
        let trip = Ratio::between(view.elapsed.as_picos(), view.rtt.as_picos());
        // Beyond what it last delivered, a line is tried with care; then ever faster, as it takes what it
        // gets.
        let pace = if self.known.is_some_and(|known| self.mu >= known) {
            self.beyond_for += view.elapsed;
            let trips = self.beyond_for.as_picos() / view.rtt.as_picos().max(1);
            Ratio::milli(FIRST_PACE << (trips / DOUBLES_AFTER).min(DOUBLINGS))
        } else {
            Ratio::ONE
        };
        self.mu = Ratio::ONE.plus(self.config.growth.times(trip).times(pace)).of_rate(self.mu).min(self.most);
        Why::Grow
    }

    /// Learns from a line on which packets wait; its rate is measured over `span`.
    fn learn_full(&mut self, view: &View<'_>, span: Duration) -> Why {
        self.beyond_for = Duration::ZERO;
        let is_first = self.full_since.is_none();
        let since = *self.full_since.get_or_insert(view.now);
        let sent = view.sent(span + view.rtt);
        // Without acknowledgements, only what is sent is known: it is too much.
        let delivered = view.delivered(view.now.since(since).min(span)).unwrap_or(sent);
        if !self.is_own(view, delivered, sent) {
            self.full_since = None;
            return Why::Idle;
        }
        if is_first {
            self.before = self.mu;
        }
        // What was delivered before the line was full says only that it was at least as fast.
        if view.now.since(since) >= span || delivered > self.mu {
            self.mu = delivered;
            self.known = Some(delivered);
        }
        Why::Full
    }

    /// Returns whether a delay is a queue of what the shaper sends: it limits, or holds nothing back because
    /// it is above the line's rate; or less comes back than it sends. Until the line has been full once, the
    /// rate may be far above it, so that all that it carries is a small load.
    fn is_own(&self, view: &View<'_>, delivered: Rate, sent: Rate) -> bool {
        let is_busy = view.sample.is_backlogged || view.load() >= BUSY;
        let may_begin_above = self.known.is_none() && delivered > self.least;
        is_busy || delivered < Ratio::milli(900).of_rate(sent) || may_begin_above
    }
}

impl Step for Brake {
    fn step(&mut self, view: &View<'_>) -> (Rate, Why) {
        match view.state {
            LineState::Down => return (Rate::default(), Why::Outage),
            LineState::Resumed => {
                self.mu = Ratio::milli(500).of_rate(self.mu);
                self.full_since = None;
                return (self.mu, Why::Resumed);
            }
            LineState::Up => {}
        }
        let Some(delay) = view.delay else { return (view.rate, Why::Start) };
        let times = self.times(view);
        let learnt = if view.is_new_path {
            // There was no queue: what was learnt by one is undone.
            self.mu = self.mu.max(self.before);
            self.known = self.known.map(|known| known.max(self.mu));
            self.full_since = None;
            Why::PathChange
        } else {
            self.learn(view, delay, times)
        };
        let above = delay.saturating_sub(times.target);
        let brake = Ratio::between(above.as_picos(), self.config.drain.as_picos());
        let why = if brake > Ratio::ZERO && learnt == Why::Full { Why::Brake } else { learnt };
        let rate = self.config.eta.minus(brake).of_rate(self.mu);
        (if why == Why::Idle { rate.max(view.rate) } else { rate }, why)
    }
}
