//! `ratio`: steps by the ratio of a round trip to its baseline, as `LibreQoS` `StormGuard` does.
//!
//! ```text
//! each second    delay = rtt - baseline, ratio = rtt / baseline
//! delay >= 80 ms or ratio >= 1.20    x 0.88, then 7.5 s of rest
//! delay >= 40 ms or ratio >= 1.10    x 0.95, then 3.75 s
//! delay <= 20 ms and ratio <= 1.05, load >= 0.8, and 10 s since the last probe    x 1.15, then 1 s
//! ```

use lockgate_engine::units::{Duration, Instant, Rate};
use serde::Deserialize;

use super::{About, Step, Unfit, time};
use crate::bounds::Bounds;
use crate::ratio::Ratio as Factor;
use crate::reason::Why;
use crate::signals::View;

/// Time between two steps.
const TICK: Duration = Duration::from_secs(1);

/// Parameters of `ratio`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Delay above the baseline from which the rate falls, from `1ms` to `1s`; `40ms` by default.
    pub late: Duration,
    /// Ratio to the baseline from which the rate falls, from 1 to 10; `1.1` by default.
    pub late_ratio: Factor,
    /// Time between two probes of a higher rate, from `1s` to `10min`; `10s` by default.
    pub probe: Duration,
    /// Factor of a probe, from 1 to 2; `1.15` by default.
    pub up: Factor,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            late: Duration::from_millis(40),
            late_ratio: Factor::milli(1100),
            probe: Duration::from_secs(10),
            up: Factor::milli(1150),
        }
    }
}

impl super::Config for Config {
    fn check(&self) -> Result<(), Unfit> {
        time("late", self.late, [Duration::from_millis(1), Duration::from_secs(1)])?;
        Unfit::outside("late_ratio", self.late_ratio, [Factor::ONE, Factor::milli(10_000)])?;
        time("probe", self.probe, [TICK, Duration::from_secs(600)])?;
        Unfit::outside("up", self.up, [Factor::ONE, Factor::milli(2000)])
    }
}

pub(super) const ABOUT: About = About {
    name: "ratio",
    summary: "steps by the ratio of a round trip to its baseline, as LibreQoS StormGuard does",
    source: "LibreQoS StormGuard, strategy `delay_probe`: constants of its defaults, without its retransmissions",
    guarantees: &["a probe of a higher rate is at least `probe` after the last"],
};

/// State of `ratio`.
#[derive(Debug)]
pub struct Ratio {
    config: Config,
    baseline: Option<Duration>,
    /// Sum and number of the round trips since the last tick.
    sum: (u64, u64),
    ticked_at: Option<Instant>,
    probed_at: Option<Instant>,
    rests_until: Instant,
}

impl Ratio {
    pub(super) fn new(config: &Config, _: Bounds) -> Self {
        Self {
            config: config.clone(),
            baseline: None,
            sum: (0, 0),
            ticked_at: None,
            probed_at: None,
            rests_until: Instant::ZERO,
        }
    }

    /// Returns the mean round trip since the last tick.
    fn take_mean(&mut self) -> Option<Duration> {
        let (sum, count) = core::mem::take(&mut self.sum);
        sum.checked_div(count).map(Duration::from_picos)
    }

    fn is_over(&self, rtt: Duration, baseline: Duration, times: u64) -> bool {
        let excess = self.config.late_ratio.minus(Factor::ONE);
        let ratio = Factor::ONE.plus(excess.times(Factor::milli(500 * times)));
        let late = Duration::from_picos(self.config.late.as_picos() / 2 * times);
        rtt.saturating_sub(baseline) >= late || rtt >= ratio.of_time(baseline)
    }
}

impl Step for Ratio {
    fn step(&mut self, view: &View<'_>) -> (Rate, Why) {
        for (_, rtt) in view.round_trips() {
            self.sum = (self.sum.0.saturating_add(rtt.as_picos()), self.sum.1 + 1);
        }
        if self.ticked_at.is_some_and(|at| view.now.since(at) < TICK) {
            return (view.rate, Why::Hold);
        }
        self.ticked_at = Some(view.now);
        let Some(rtt) = self.take_mean() else { return (view.rate, Why::Start) };
        let baseline = self.baseline.unwrap_or(rtt);
        // Smoothed by 0.01 upwards and 0.10 downwards.
        self.baseline = Some(if rtt > baseline {
            baseline + Factor::milli(10).of_time(rtt.saturating_sub(baseline))
        } else {
            baseline.saturating_sub(Factor::milli(100).of_time(baseline.saturating_sub(rtt)))
        });
        if view.now < self.rests_until {
            return (view.rate, Why::Hold);
        }
        let ms = Duration::from_millis;
        let (factor, rest, why) = if self.is_over(rtt, baseline, 4) {
            (Factor::milli(880), ms(7500), Why::Cut)
        } else if self.is_over(rtt, baseline, 2) {
            (Factor::milli(950), ms(3750), Why::Cut)
        } else if self.is_over(rtt, baseline, 1)
            || view.load() < Factor::milli(800)
            || self.probed_at.is_some_and(|at| view.now.since(at) < self.config.probe)
        {
            return (view.rate, Why::Hold);
        } else {
            self.probed_at = Some(view.now);
            (self.config.up, ms(1000), Why::Grow)
        };
        self.rests_until = view.now + rest;
        (factor.of_rate(view.rate), why)
    }
}
