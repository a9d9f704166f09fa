//! `safe-rates`: returns to rates that were safe, as sqm-autorate does.
//!
//! ```text
//! each 500 ms    delta = third lowest of the reflectors' (fast mean - slow mean)
//! delta <  late and load > 0.8    rate * load becomes safe; rate + 10 % of the headroom to the largest safe
//!                                 + 3 % of the start
//! delta >= late                   min(0.9 * rate * load, one of the last 100 safe rates)
//! ```

use lockgate_engine::units::{Duration, Instant, Rate};
use serde::Deserialize;

use super::{About, Step, Unfit, time};
use crate::bounds::Bounds;
use crate::ratio::Ratio;
use crate::reason::Why;
use crate::signals::View;

/// Safe rates that are kept.
const KEPT: usize = 100;

/// Answers after this time are stale.
const STALE: Duration = Duration::from_secs(2);

/// Parameters of `safe-rates`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Delta of a one-way delay from which the rate falls, from `1ms` to `1s`; `15ms` by default.
    pub late: Duration,
    /// Time between two steps, from `50ms` to `10s`; `500ms` by default.
    pub tick: Duration,
    /// Load from which the rate may rise, from 0 to 1; `0.8` by default.
    pub high_load: Ratio,
}

impl Default for Config {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self { late: ms(15), tick: ms(500), high_load: Ratio::milli(800) }
    }
}

impl super::Config for Config {
    fn check(&self) -> Result<(), Unfit> {
        let ms = Duration::from_millis;
        time("late", self.late, [ms(1), ms(1000)])?;
        time("tick", self.tick, [ms(50), ms(10_000)])?;
        Unfit::outside("high_load", self.high_load, [Ratio::ZERO, Ratio::ONE])
    }
}

pub(super) const ABOUT: About = About {
    name: "safe-rates",
    summary: "returns to rates that were safe, as sqm-autorate does",
    source: "sqm-autorate (Lua and Rust): constants of its defaults, one direction of it; one-way delays as halves of \
             round trips; its random choice from a fixed seed",
    guarantees: &["between two ticks nothing changes"],
};

/// Means of one reflector's delay.
#[derive(Clone, Copy, Debug)]
struct Means {
    slow: Duration,
    fast: Duration,
    at: Instant,
}

/// Random numbers from a fixed start, so that a run repeats itself (Marsaglia, "Xorshift RNGs", 2003).
#[derive(Debug)]
struct Draws(u64);

impl Draws {
    /// Returns a number below `bound`, which is more than zero.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// State of `safe-rates`.
#[derive(Debug)]
pub struct SafeRates {
    config: Config,
    base: Rate,
    means: [Option<Means>; 8],
    safe: Vec<Rate>,
    /// Index of the next safe rate.
    next: usize,
    draws: Draws,
    ticked_at: Option<Instant>,
}

impl SafeRates {
    pub(super) fn new(config: &Config, bounds: Bounds) -> Self {
        let mut draws = Draws(0x9E37_79B9_7F4A_7C15);
        // At the start they are drawn from 75 % to 95 % of the base, so that a first step down has a choice.
        let mut draw = || Ratio::milli(750 + draws.below(200)).of_rate(bounds.start);
        let safe = (0..KEPT).map(|_| draw()).collect();
        Self {
            config: config.clone(),
            base: bounds.start,
            means: [None; 8],
            safe,
            next: 0,
            draws,
            ticked_at: None,
        }
    }

    /// Adds the answers of a step to the means, of half-lives of 135 s and 0.4 s.
    fn add_answers(&mut self, view: &View<'_>) {
        for (index, rtt) in view.round_trips() {
            let one_way = Duration::from_picos(rtt.as_picos() / 2);
            let means = self.means[index].get_or_insert(Means { slow: one_way, fast: one_way, at: view.now });
            let after = view.now.since(means.at);
            means.at = view.now;
            means.slow = toward(means.slow, one_way, after, Duration::from_millis(135_000));
            means.fast = toward(means.fast, one_way, after, Duration::from_millis(400));
            means.slow = means.slow.min(means.fast);
        }
    }

    /// Returns the third lowest delta of five or more, or the highest of fewer.
    fn delta(&self, now: Instant) -> Option<Duration> {
        let fresh = self.means.iter().flatten().filter(|means| now.since(means.at) <= STALE);
        let mut deltas: Vec<Duration> = fresh.map(|means| means.fast.saturating_sub(means.slow)).collect();
        deltas.sort_unstable();
        if deltas.len() >= 5 { deltas.get(2).copied() } else { deltas.last().copied() }
    }
}

/// Returns a mean moved towards a value by the part that `after` has of a half-life: the first order of
/// `1 - 2^(-after / half)`.
fn toward(mean: Duration, value: Duration, after: Duration, half: Duration) -> Duration {
    let part = Ratio::between(after.as_picos(), half.as_picos()).times(Ratio::milli(693)).min(Ratio::ONE);
    if value >= mean {
        mean + part.of_time(value.saturating_sub(mean))
    } else {
        mean.saturating_sub(part.of_time(mean.saturating_sub(value)))
    }
}

impl Step for SafeRates {
    fn step(&mut self, view: &View<'_>) -> (Rate, Why) {
        self.add_answers(view);
        if self.ticked_at.is_some_and(|at| view.now.since(at) < self.config.tick) {
            return (view.rate, Why::Hold);
        }
        self.ticked_at = Some(view.now);
        let Some(delta) = self.delta(view.now) else { return (view.rate, Why::Start) };
        let load = Ratio::between(view.sent(self.config.tick).as_bits(), view.rate.as_bits()).min(Ratio::ONE);
        if delta >= self.config.late {
            let safe = self.safe[self.draws.below(KEPT as u64) as usize];
            let used = Ratio::milli(900).times(load).of_rate(view.rate);
            return (used.min(safe), Why::Cut);
        }
        if load <= self.config.high_load {
            return (view.rate, Why::Idle);
        }
        self.safe[self.next % KEPT] = load.of_rate(view.rate);
        self.next = (self.next + 1) % KEPT;
        let most = self.safe.iter().max().copied().unwrap_or_default();
        let headroom = Ratio::ONE.minus(Ratio::between(view.rate.as_bits(), most.as_bits()));
        let up = Ratio::milli(100).times(headroom).of_rate(view.rate).as_bits();
        let rate = view.rate.as_bits() + up + Ratio::milli(30).of_rate(self.base).as_bits();
        (Rate::from_bits(rate), Why::Grow)
    }
}
