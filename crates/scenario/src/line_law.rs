//! Generated lines: laws of a rate that moves, as delivery opportunities.
//!
//! ```text
//! markov     levels that last for random times        a busy cell
//! cellular   a level that wanders from step to step   radio under way
//! leo        a level for each slot of 15 s, with a gap at its start   a satellite's handovers
//! daytime    a sine over the whole length             peak hour
//! ```
//!
//! Real-valued, by `libm` and a named stream of the seed: the same on every machine.

use core::f64::consts::TAU;

use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Probability, Rate};
use serde::Deserialize;

use crate::trace::{LinkTrace, OPPORTUNITY_BYTES};

/// Length of a slot of `leo`: that of Starlink's schedule.
const SLOT_MS: u64 = 15_000;

/// Limit on the opportunities of a generated line.
const MOST_OPPORTUNITIES: u64 = 20_000_000;

/// Law of a generated line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum LineKind {
    /// Levels that last for exponential times of the mean `hold`.
    Markov,
    /// A level that wanders each 20 ms and returns to the mean within `hold`.
    Cellular,
    /// A level for each slot of 15 s, with a gap of 50 to 200 ms at its start, and noise.
    Leo,
    /// A sine over the whole `length`, with noise.
    Daytime,
}

/// A line that is generated instead of recorded. With the same keys it is the same line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct LineLaw {
    /// Law: `markov`, `cellular`, `leo` or `daytime`.
    pub(crate) law: LineKind,
    /// Mean rate, about which it moves.
    pub(crate) rate: Rate,
    /// How far it moves, as a part of the mean; from 0 to 1, 0.5 by default.
    #[serde(default = "half")]
    pub(crate) swing: Probability,
    /// Mean time for which a level lasts; `1s` by default.
    #[serde(default = "second")]
    pub(crate) hold: Duration,
    /// Mean time between two outages; none by default.
    #[serde(default)]
    pub(crate) outage_every: Option<Duration>,
    /// Length of an outage; `1s` by default.
    #[serde(default = "second")]
    pub(crate) outage: Duration,
    /// Length of the line, after which it begins again; `60s` by default.
    #[serde(default = "minute")]
    pub(crate) length: Duration,
    /// Seed of its random numbers; 1 by default.
    #[serde(default = "one")]
    pub(crate) seed: u64,
}

fn half() -> Probability {
    Probability::from_f64(0.5).unwrap_or(Probability::ONE)
}

fn second() -> Duration {
    Duration::from_secs(1)
}

fn minute() -> Duration {
    Duration::from_secs(60)
}

fn one() -> u64 {
    1
}

impl LineLaw {
    /// Returns the first key whose value is out of its range, with the range.
    pub(crate) fn unfit(&self) -> Option<(&'static str, String)> {
        let second = Duration::from_secs(1);
        if self.rate < Rate::from_bits(10_000) {
            return Some(("rate", "it is at least `10kbit`".to_owned()));
        }
        if self.length < second || self.length > second * 86_400 {
            return Some(("length", "it is from `1s` to `24h`".to_owned()));
        }
        if self.opportunities() > MOST_OPPORTUNITIES {
            return Some(("length", format!("rate times length is at most {MOST_OPPORTUNITIES} packets")));
        }
        let least = Duration::from_millis(10);
        if self.hold < least {
            return Some(("hold", format!("it is at least `{least}`")));
        }
        if self.outage_every.is_some_and(|every| every <= self.outage) {
            return Some(("outage_every", "it is more than `outage`".to_owned()));
        }
        None
    }

    fn opportunities(&self) -> u64 {
        self.rate.bytes_in(self.length).0 / OPPORTUNITY_BYTES.0
    }

    /// Returns the line. Its keys must be [fit](Self::unfit).
    pub(crate) fn generate(&self) -> LinkTrace {
        let mut random = Random::stream(Seed(self.seed), "line");
        let length_ms = self.length.as_picos() / Duration::from_millis(1).as_picos();
        let mut level =
            Level { law: self, random: &mut random, value: 1.0, until: 0, base: 1.0, gap_until: 0 };
        let mut outage = Outages::new(self, Seed(self.seed));
        let packet_bits = (OPPORTUNITY_BYTES.0 * 8) as f64;
        let (mut bits, mut times) = (0.0, Vec::new());
        for ms in 0..length_ms {
            let factor = level.at(ms, length_ms);
            if !outage.is_at(ms) {
                bits += self.rate.as_bits() as f64 / 1000.0 * factor;
            }
            while bits >= packet_bits {
                bits -= packet_bits;
                times.push(ms as u32);
            }
        }
        // The last opportunity ends the period.
        times.push(length_ms as u32);
        LinkTrace::from_times(times)
    }
}

/// Level of a line from millisecond to millisecond.
struct Level<'a> {
    law: &'a LineLaw,
    random: &'a mut Random,
    value: f64,
    /// Millisecond up to which the value holds.
    until: u64,
    /// Level of the slot.
    base: f64,
    gap_until: u64,
}

impl Level<'_> {
    /// Returns a number uniform on `-1..1`.
    fn noise(&mut self) -> f64 {
        2.0 * self.random.unit() - 1.0
    }

    fn at(&mut self, ms: u64, length_ms: u64) -> f64 {
        let swing = self.law.swing.as_f64();
        let hold_ms = self.law.hold.as_secs_f64() * 1000.0;
        if ms < self.until {
            return if ms < self.gap_until { 0.0 } else { self.value };
        }
        match self.law.law {
            LineKind::Markov => {
                self.value = 1.0 + swing * self.noise();
                let lasts = -libm::log(1.0 - self.random.unit()) * hold_ms;
                self.until = ms + 1 + lasts as u64;
            }
            LineKind::Cellular => {
                // An Ornstein-Uhlenbeck process whose standard deviation is half of the swing.
                let part = (20.0 / hold_ms).min(1.0);
                let kick = swing / 2.0 * libm::sqrt(2.0 * part) * libm::sqrt(3.0) * self.noise();
                self.base += part * (1.0 - self.base) + kick;
                self.value = self.base.clamp(0.02, 3.0);
                self.until = ms + 20;
            }
            LineKind::Leo => {
                if ms.is_multiple_of(SLOT_MS) {
                    self.base = 1.0 + swing * self.noise();
                    self.gap_until = ms + 50 + u64::from(self.random.below(151));
                }
                self.value = (self.base * (1.0 + 0.15 * self.noise())).max(0.02);
                self.until = ms + 20;
            }
            LineKind::Daytime => {
                let phase = libm::sin(TAU * ms as f64 / length_ms as f64);
                self.value = ((1.0 + swing * phase) * (1.0 + 0.05 * self.noise())).max(0.02);
                self.until = ms + 20;
            }
        }
        if ms < self.gap_until { 0.0 } else { self.value }
    }
}

/// Outages at exponential times.
struct Outages<'a> {
    law: &'a LineLaw,
    random: Random,
    from: u64,
}

impl<'a> Outages<'a> {
    fn new(law: &'a LineLaw, seed: Seed) -> Self {
        let mut outages = Self { law, random: Random::stream(seed, "line/outages"), from: u64::MAX };
        outages.draw(0);
        outages
    }

    fn draw(&mut self, after: u64) {
        if let Some(every) = self.law.outage_every {
            let gap = -libm::log(1.0 - self.random.unit()) * every.as_secs_f64() * 1000.0;
            self.from = after.saturating_add(gap as u64);
        }
    }

    fn is_at(&mut self, ms: u64) -> bool {
        let end = self.from.saturating_add((self.law.outage.as_secs_f64() * 1000.0) as u64);
        if ms >= end {
            self.draw(ms);
        }
        ms >= self.from && ms < end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(text: &str) -> LineLaw {
        toml::from_str(text).expect("a law")
    }

    #[test]
    fn a_line_has_its_mean_and_repeats_itself() {
        for kind in ["markov", "cellular", "leo", "daytime"] {
            let line = law(&format!("law = '{kind}'\nrate = '20mbit'\nlength = '300s'"));
            assert_eq!(line.unfit(), None);
            let trace = line.generate();
            assert_eq!(trace, line.generate(), "{kind}");
            let mean = trace.mean_rate().as_bits() as f64 / 20e6;
            assert!((0.8..1.2).contains(&mean), "{kind}: {mean}");
            assert_ne!(
                trace,
                law(&format!("law = '{kind}'\nrate = '20mbit'\nlength = '300s'\nseed = 2")).generate()
            );
        }
    }

    #[test]
    fn outages_carry_nothing_and_bad_keys_are_named() {
        let line =
            law("law = 'markov'\nrate = '10mbit'\noutage_every = '20s'\noutage = '5s'\nlength = '200s'");
        let longest = line.generate().times_ms().windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(longest.is_some_and(|gap| gap >= 5000), "{longest:?}");
        assert_eq!(law("law = 'leo'\nrate = '1kbit'").unfit().map(|(key, _)| key), Some("rate"));
        assert_eq!(
            law("law = 'leo'\nrate = '1gbit'\nlength = '24h'").unfit().map(|(key, _)| key),
            Some("length")
        );
    }
}
