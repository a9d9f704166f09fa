//! `delta-steps`: steps by the delays of probes, as cake-autorate does.
//!
//! ```text
//! 3 of the last 6 deltas over 30 ms    x 0.99 ... 0.75, by their mean (full at 60 ms)
//! load over 75 %, and quiet            x 1.04 ... 1.00, by their mean (none from 30 ms)
//! less load                            x 0.99 or 1.01 a second, towards the rate at the start
//! ```

use lockgate_engine::units::{Duration, Instant, Rate};
use serde::Deserialize;

use super::{About, Step, Unfit, time};
use crate::bounds::Bounds;
use crate::ratio::Ratio;
use crate::reason::Why;
use crate::signals::View;

/// Deltas that are kept, and how many of them make bufferbloat.
const KEPT: usize = 6;
const MOST_OVER: usize = 3;

/// Parameters of `delta-steps`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Delta of a one-way delay from which an answer is late, from `1ms` to `1s`; `30ms` by default. A delta
    /// is half of a round trip's.
    pub late: Duration,
    /// Mean delta up to which the rate rises by the whole step; `10ms` by default.
    pub quiet: Duration,
    /// Mean delta from which the rate falls by the whole step; `60ms` by default.
    pub worst: Duration,
    /// Factor of the whole step up, from 1 to 2; `1.04` by default.
    pub up: Ratio,
    /// Factor of the whole step down, from 0.1 to 1; `0.75` by default.
    pub down: Ratio,
    /// Load from which the rate may rise, from 0 to 1; `0.75` by default.
    pub high_load: Ratio,
    /// Time after a step down without another step, from `0s` to `10s`; `300ms` by default.
    pub refractory: Duration,
}

impl Default for Config {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            late: ms(30),
            quiet: ms(10),
            worst: ms(60),
            up: Ratio::milli(1040),
            down: Ratio::milli(750),
            high_load: Ratio::milli(750),
            refractory: ms(300),
        }
    }
}

impl super::Config for Config {
    fn check(&self) -> Result<(), Unfit> {
        let ms = Duration::from_millis;
        time("late", self.late, [ms(1), ms(1000)])?;
        time("quiet", self.quiet, [ms(0), self.late])?;
        time("worst", self.worst, [self.late, ms(10_000)])?;
        Unfit::outside("up", self.up, [Ratio::ONE, Ratio::milli(2000)])?;
        Unfit::outside("down", self.down, [Ratio::milli(100), Ratio::ONE])?;
        Unfit::outside("high_load", self.high_load, [Ratio::ZERO, Ratio::ONE])?;
        time("refractory", self.refractory, [ms(0), ms(10_000)])
    }
}

pub(super) const ABOUT: About = About {
    name: "delta-steps",
    summary: "steps by the delays of probes, as cake-autorate does",
    source: "cake-autorate 3 (lynxthecat and others): constants of its defaults, one direction of it; one-way delays \
             as halves of round trips, as it takes them from fping",
    guarantees: &["a step down within the refractory time of another does not happen"],
};

/// State of `delta-steps`.
#[derive(Debug)]
pub struct DeltaSteps {
    config: Config,
    base: Rate,
    baselines: [Option<Duration>; 8],
    /// Latest deltas, the newest at the end.
    deltas: Vec<Duration>,
    cut_at: Option<Instant>,
    decayed_at: Option<Instant>,
}

impl DeltaSteps {
    pub(super) fn new(config: &Config, bounds: Bounds) -> Self {
        Self {
            config: config.clone(),
            base: bounds.start,
            baselines: [None; 8],
            deltas: Vec::with_capacity(KEPT + 1),
            cut_at: None,
            decayed_at: None,
        }
    }

    /// Adds the answers of a step. Returns false if there was none.
    fn add_answers(&mut self, view: &View<'_>) -> bool {
        let mut any = false;
        for (index, rtt) in view.round_trips() {
            let one_way = Duration::from_picos(rtt.as_picos() / 2);
            let baseline = self.baselines[index].get_or_insert(one_way);
            // Smoothed by 0.001 upwards and 0.9 downwards.
            *baseline = if one_way > *baseline {
                *baseline + Ratio::milli(1).of_time(one_way.saturating_sub(*baseline))
            } else {
                baseline.saturating_sub(Ratio::milli(900).of_time(baseline.saturating_sub(one_way)))
            };
            self.deltas.push(one_way.saturating_sub(*baseline));
            if self.deltas.len() > KEPT {
                self.deltas.remove(0);
            }
            any = true;
        }
        any
    }

    fn mean(&self) -> Duration {
        let sum: u128 = self.deltas.iter().map(|delta| u128::from(delta.as_picos())).sum();
        let mean = sum.checked_div(self.deltas.len() as u128).unwrap_or(0);
        Duration::from_picos(u64::try_from(mean).unwrap_or(u64::MAX))
    }
}

impl Step for DeltaSteps {
    fn step(&mut self, view: &View<'_>) -> (Rate, Why) {
        if !self.add_answers(view) {
            return (view.rate, Why::Hold);
        }
        let Config { late, quiet, worst, up, down, high_load, refractory } = self.config;
        let is_refractory = self.cut_at.is_some_and(|at| view.now.since(at) < refractory);
        let mean = self.mean();
        let over = self.deltas.iter().filter(|delta| **delta > late).count();
        let part = |from: Duration, to: Duration| {
            Ratio::between(mean.saturating_sub(from).as_picos(), to.saturating_sub(from).as_picos())
        };
        if over >= MOST_OVER {
            if is_refractory {
                return (view.rate, Why::Hold);
            }
            self.cut_at = Some(view.now);
            return (part(late, worst).mix(Ratio::milli(990).max(down), down).of_rate(view.rate), Why::Cut);
        }
        if view.load() >= high_load {
            if is_refractory {
                return (view.rate, Why::Hold);
            }
            return (part(quiet, late).mix(up, Ratio::ONE).of_rate(view.rate), Why::Grow);
        }
        if self.decayed_at.is_some_and(|at| view.now.since(at) < Duration::from_secs(1)) {
            return (view.rate, Why::Idle);
        }
        self.decayed_at = Some(view.now);
        let decayed = if view.rate > self.base {
            Ratio::milli(990).of_rate(view.rate).max(self.base)
        } else {
            Ratio::milli(1010).of_rate(view.rate).min(self.base)
        };
        (decayed, Why::Decay)
    }
}
