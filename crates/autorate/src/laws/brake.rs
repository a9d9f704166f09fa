//! `brake`: follows what is delivered while the line is full, and brakes by the queue behind.
//!
//! ```text
//! rate = eta * mu - mu * max(0, x - target) / drain
//!
//! x > full     mu = delivered rate           the line is full: what it delivers is its rate
//! x <= full    mu grows by `growth` a round trip while the shaper limits; beyond what was delivered last by half
//!              of it, by all of it after ten round trips, and so on up to four times `growth`
//! ```
//!
//! `x` is the delay above the baseline: a packet still on its way counts as soon as it is late. So a line
//! that stops is braked for before anything is measured of it.

use lockgate_engine::units::{Duration, Instant, Rate};
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
    /// Delay above the baseline from which the rate brakes, from `0s` to `1s`; `10ms` by default.
    pub target: Duration,
    /// Time within which a queue above the target drains, from `10ms` to `10s`; `250ms` by default.
    pub drain: Duration,
    /// Delay above the baseline from which the line is full, from `1ms` to `1s`; `5ms` by default.
    pub full: Duration,
    /// Growth in a round trip while there is no queue, from 0 to 1; `0.3` by default.
    pub growth: Ratio,
    /// Time over which the delivered rate is measured, from `40ms` to `5s`; `60ms` by default.
    pub span: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            eta: Ratio::milli(980),
            target: Duration::from_millis(10),
            drain: Duration::from_millis(250),
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
    summary: "follows what is delivered while the line is full, and brakes by the queue behind",
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

/// Load from which a queue behind is one of what is sent.
const BUSY: Ratio = Ratio::milli(300);

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
            known: None,
            beyond_for: Duration::ZERO,
        }
    }

    /// Learns the line's rate from this step. Returns what it has learnt.
    fn learn(&mut self, view: &View<'_>, delay: Duration) -> Why {
        let load = view.load();
        if delay > self.config.full {
            // Above the line's rate, a shaper holds nothing back: senders wait for the line.
            return self.learn_full(view, view.sample.is_backlogged || load >= BUSY);
        }
        self.full_since = None;
        if !view.sample.is_backlogged && load < LIMITED {
            return Why::Idle;
        }
        let trip = Ratio::between(view.elapsed.as_picos(), view.rtt.as_picos());
        // Beyond what it last delivered, a line is tried with care; then ever faster, as it takes what it
        // gets.
        let pace = if self.known.is_some_and(|known| self.mu >= known) {
            self.beyond_for += view.elapsed;
            let trips = self.beyond_for.as_picos() / view.rtt.as_picos().max(1);
            Ratio::milli(500 << (trips / 10).min(3))
        } else {
            Ratio::ONE
        };
        self.mu = Ratio::ONE.plus(self.config.growth.times(trip).times(pace)).of_rate(self.mu).min(self.most);
        Why::Grow
    }

    /// Learns from a line on which packets wait.
    fn learn_full(&mut self, view: &View<'_>, is_busy: bool) -> Why {
        self.beyond_for = Duration::ZERO;
        let since = *self.full_since.get_or_insert(view.now);
        let span = view.now.since(since).min(self.config.span);
        let sent = view.sent(self.config.span + view.rtt);
        // Without acknowledgements, only what is sent is known: it is too much.
        let delivered = view.delivered(span).unwrap_or(sent);
        // Of a line that delivers all of a small load, the delay is no queue of ours. But the rate may begin
        // far above the line's: then all that it carries is a small load, until it has been full once.
        let may_begin_above = self.known.is_none() && delivered > self.least;
        if !is_busy && !may_begin_above && delivered >= Ratio::milli(900).of_rate(sent) {
            self.full_since = None;
            return Why::Idle;
        }
        // What was delivered before the line was full says only that it was at least as fast.
        if view.now.since(since) >= self.config.span || delivered > self.mu {
            self.mu = delivered;
            self.known = Some(delivered);
        }
        Why::Full
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
        let learnt = if view.is_new_path { Why::PathChange } else { self.learn(view, delay) };
        let above = delay.saturating_sub(self.config.target);
        let brake = Ratio::between(above.as_picos(), self.config.drain.as_picos());
        let why = if brake > Ratio::ZERO && learnt == Why::Full { Why::Brake } else { learnt };
        let rate = self.config.eta.minus(brake).of_rate(self.mu);
        (if why == Why::Idle { rate.max(view.rate) } else { rate }, why)
    }
}
