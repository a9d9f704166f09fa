//! Clock model of a port: exact time, or the coarse time of older kernels.
//!
//! ```text
//! true time      ----x--------x----------x------->
//! jiffies clock  |....'....|..'......|...'......|    a reading is the last tick; timers fire on ticks
//! cpu clock      readings are exact;                 timers fire on ticks
//! ```
//!
//! Differs: readings of the `cpu` source are exact to the picosecond; the cycle counter of the old kernels
//! was shifted to about a microsecond (`include/net/pkt_sched.h` of Linux 2.4).

use serde::{Deserialize, Serialize};

use crate::units::{Duration, Instant, PICOS_PER_SECOND};

/// Time source of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The processor's cycle counter: exact readings.
    Cpu,
    /// The timer tick: readings stand still between ticks.
    Jiffies,
}

/// A port's clock and timer as written in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClockConfig {
    /// Time source of the scheduler: `cpu` or `jiffies`.
    pub source: Source,
    /// Timer ticks per second, 1 to 1000000: wake-ups happen on ticks only.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000)))]
    pub hz: u32,
}

/// The clock model of a port.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockModel(Option<Coarse>);

#[derive(Clone, Copy, Debug)]
struct Coarse {
    tick: u64,
    source: Source,
}

impl ClockModel {
    /// Exact readings and timers.
    pub const EXACT: Self = Self(None);

    /// Creates the model of `config`; `None` if `hz` is out of range.
    pub fn new(config: ClockConfig) -> Option<Self> {
        (1..=1_000_000).contains(&config.hz).then(|| {
            Self(Some(Coarse { tick: PICOS_PER_SECOND / u64::from(config.hz), source: config.source }))
        })
    }

    /// Returns whether readings or timers are coarse.
    pub(crate) fn is_coarse(self) -> bool {
        self.0.is_some()
    }

    /// Returns the scheduler's reading at `now`.
    #[inline]
    #[must_use]
    pub fn read(self, now: Instant) -> Instant {
        match self.0 {
            Some(Coarse { tick, source: Source::Jiffies }) => {
                Instant::from_picos(now.as_picos() / tick * tick)
            }
            _ => now,
        }
    }

    /// Returns the time at which a timer set at `now` for `wanted` (in the scheduler's reading) fires: the
    /// wait is rounded up to whole ticks, at least one, counted from the last tick.
    #[inline]
    #[must_use]
    pub fn wake(self, now: Instant, wanted: Instant) -> Instant {
        let Some(Coarse { tick, .. }) = self.0 else { return wanted };
        let wait: Duration = wanted.since(self.read(now));
        let ticks = wait.as_picos().div_ceil(tick).max(1);
        let last_tick = Instant::from_picos(now.as_picos() / tick * tick);
        last_tick + Duration::from_picos(ticks.saturating_mul(tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(source: Source) -> ClockModel {
        ClockModel::new(ClockConfig { source, hz: 100 }).expect("in range")
    }

    fn ms(tenths: u64) -> Instant {
        Instant::from_picos(tenths * 100_000_000)
    }

    #[test]
    fn jiffies_stand_still_between_ticks_and_cpu_does_not() {
        assert_eq!(model(Source::Jiffies).read(ms(199)), ms(100));
        assert_eq!(model(Source::Cpu).read(ms(199)), ms(199));
        assert_eq!(ClockModel::EXACT.wake(ms(1), ms(7)), ms(7));
    }

    #[test]
    fn timers_fire_on_ticks_at_least_one_ahead() {
        let clock = model(Source::Jiffies);
        assert_eq!(clock.wake(ms(100), ms(100)), ms(200));
        assert_eq!(clock.wake(ms(100), ms(201)), ms(300));
        // Set at 13 ms for 25 ms: two whole ticks after the tick at 10 ms.
        assert_eq!(model(Source::Cpu).wake(ms(130), ms(250)), ms(300));
        assert!(ClockModel::new(ClockConfig { source: Source::Cpu, hz: 0 }).is_none());
    }
}
