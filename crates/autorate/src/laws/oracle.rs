//! `oracle`: knows the line's capacity, one round trip late. No law can know more without knowing the future:
//! others are held against it.

use std::collections::VecDeque;

use lockgate_engine::units::{Bytes, Duration, Instant, Rate};
use serde::Deserialize;

use super::{About, Step, Unfit, time};
use crate::bounds::Bounds;
use crate::ratio::Ratio;
use crate::reason::Why;
use crate::signals::View;
use crate::window::ByteWindow;

/// Parameters of `oracle`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Part of the capacity that is sent, from 0.5 to 1; `0.98` by default.
    pub eta: Ratio,
    /// Delay above the baseline from which the rate brakes, from `0s` to `1s`; `20ms` by default.
    pub target: Duration,
    /// Time within which a queue above the target drains, from `10ms` to `10s`; `250ms` by default.
    pub drain: Duration,
    /// Time over which the capacity is a mean, from `10ms` to `5s`; `100ms` by default.
    pub span: Duration,
}

impl Default for Config {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self { eta: Ratio::milli(980), target: ms(20), drain: ms(250), span: ms(100) }
    }
}

impl super::Config for Config {
    fn check(&self) -> Result<(), Unfit> {
        let ms = Duration::from_millis;
        Unfit::outside("eta", self.eta, [Ratio::milli(500), Ratio::ONE])?;
        time("target", self.target, [ms(0), ms(1000)])?;
        time("drain", self.drain, [ms(10), ms(10_000)])?;
        time("span", self.span, [ms(10), ms(5000)])
    }
}

pub(super) const ABOUT: About = About {
    name: "oracle",
    summary: "knows the line's capacity, one round trip late; in simulations only",
    source: "the causal oracle: exact capacity with the delay of any feedback, and the brake of `brake`",
    guarantees: &["its rate is that of the line one round trip ago"],
};

/// State of `oracle`.
#[derive(Debug)]
pub struct Oracle {
    config: Config,
    capacity: ByteWindow,
    /// Mean capacities that are not a round trip old yet.
    coming: VecDeque<(Instant, Rate)>,
    known: Rate,
}

impl Oracle {
    pub(super) fn new(config: &Config, bounds: Bounds) -> Self {
        Self {
            config: config.clone(),
            capacity: ByteWindow::default(),
            coming: VecDeque::new(),
            known: bounds.start,
        }
    }
}

impl Step for Oracle {
    fn step(&mut self, view: &View<'_>) -> (Rate, Why) {
        let Some(capacity) = view.sample.capacity else { return (view.rate, Why::Start) };
        let Bytes(bytes) = capacity.bytes_in(view.elapsed);
        self.capacity.push(view.now, bytes);
        if let Some(mean) = self.capacity.rate(view.now, self.config.span) {
            self.coming.push_back((view.now, mean));
        }
        while let Some((at, mean)) = self.coming.front().copied()
            && at + view.rtt <= view.now
        {
            self.known = mean;
            self.coming.pop_front();
        }
        let above = view.delay.unwrap_or_default().saturating_sub(self.config.target);
        let brake = Ratio::between(above.as_picos(), self.config.drain.as_picos());
        let why = if brake > Ratio::ZERO { Why::Brake } else { Why::Given };
        (self.config.eta.minus(brake).of_rate(self.known), why)
    }
}
