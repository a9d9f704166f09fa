//! Blindness: a signal whose delay does not move with the load shows nothing of the queue on the line.
//!
//! ```text
//! an hour:  mean delay while the shaper limits  -  mean delay while little is sent   < 2 ms: blind
//! ```
//!
//! A signal that is blind is observed further: once its delay rises under load, it is believed again.

use lockgate_engine::units::{Duration, Instant};

/// Length of an observation.
const SPAN: Duration = Duration::from_secs(3600);

/// Load, in sum, without which an observation says nothing.
const LEAST_LOAD: Duration = Duration::from_secs(30);

/// Difference below which the delay has not moved.
const MOVED: Duration = Duration::from_millis(2);

/// Length of a shorter observation, its least load, and the difference from which it shows that a signal
/// sees again.
const SHORT: Duration = Duration::from_secs(10);
const LEAST_SHORT_LOAD: Duration = Duration::from_secs(1);
const SEES: Duration = Duration::from_millis(15);

/// Load of a line in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// The shaper limits what is sent.
    Full,
    /// Neither.
    Some,
    /// Little is sent.
    Little,
}

/// Mean of delays.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: Duration,
    count: u64,
    /// Time over which they were observed.
    time: Duration,
}

impl Mean {
    fn push(&mut self, delay: Duration, elapsed: Duration) {
        // Limited, so that the sum of an hour has room: 2^64 ps are 213 days.
        self.sum += delay.min(Duration::from_secs(10));
        self.count += 1;
        self.time += elapsed.min(Duration::from_millis(200));
    }

    fn get(&self) -> Duration {
        Duration::from_picos(self.sum.as_picos().checked_div(self.count).unwrap_or(0))
    }
}

/// Observation of one signal.
#[derive(Clone, Debug, Default)]
pub struct Blindness {
    since: Option<Instant>,
    little: Mean,
    full: Mean,
    /// Start of the shorter observation, and its delays under load.
    short: (Option<Instant>, Mean),
    is_blind: bool,
}

impl Blindness {
    /// Adds the delay that the signal shows in a step, if it shows any.
    pub fn observe(&mut self, now: Instant, elapsed: Duration, delay: Option<Duration>, load: Load) {
        if let Some(delay) = delay {
            match load {
                Load::Full => {
                    self.full.push(delay, elapsed);
                    self.short.1.push(delay, elapsed);
                }
                Load::Little => self.little.push(delay, elapsed),
                Load::Some => {}
            }
        }
        if now.since(*self.short.0.get_or_insert(now)) >= SHORT {
            let (_, mean) = core::mem::replace(&mut self.short, (Some(now), Mean::default()));
            if mean.time >= LEAST_SHORT_LOAD && mean.get() >= self.little.get() + SEES {
                self.is_blind = false;
            }
        }
        if now.since(*self.since.get_or_insert(now)) < SPAN {
            return;
        }
        if self.full.time >= LEAST_LOAD {
            self.is_blind = self.full.get() < self.little.get() + MOVED;
        }
        (self.since, self.little, self.full) = (Some(now), Mean::default(), Mean::default());
    }

    /// Returns true if the signal did not move with the load in the last hour that had any.
    pub fn is_blind(&self) -> bool {
        self.is_blind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Observes for an hour, a step each 100 ms: a minute of load in ten, with these delays. Returns whether
    /// the signal is blind then.
    fn hour(blindness: &mut Blindness, number: u64, delay: impl Fn(u64, bool) -> Option<Duration>) -> bool {
        for step in 0..=36_000 {
            let now = Instant::ZERO + ms(3_600_000 * number + 100 * step);
            let is_full = step % 6_000 < 600;
            let load = if is_full { Load::Full } else { Load::Little };
            blindness.observe(now, ms(100), delay(step, is_full), load);
        }
        blindness.is_blind()
    }

    #[test]
    fn noise_is_no_sight_and_a_delay_under_load_is() {
        let noise = |step: u64, _| Some(ms(step * 7_919 % 40));
        let mut blindness = Blindness::default();
        assert!(!blindness.is_blind(), "nothing is known yet");
        assert!(hour(&mut blindness, 0, noise), "20 ms of noise, whatever the load");
        assert!(!hour(&mut blindness, 1, |step, full| {
            Some(ms(step * 7_919 % 40 + if full { 5 } else { 0 }))
        }));
        assert!(!hour(&mut blindness, 2, |_, full| full.then_some(ms(4))), "silent while idle");
        assert!(hour(&mut blindness, 3, |_, full| full.then_some(ms(0))));
        assert!(hour(&mut blindness, 4, |_, full| (!full).then_some(ms(90))), "no load says nothing new");
    }

    #[test]
    fn a_blind_signal_that_rises_under_load_is_believed_within_ten_seconds_of_it() {
        let mut blindness = Blindness::default();
        assert!(hour(&mut blindness, 0, |_, _| Some(ms(3))));
        let begun = Instant::ZERO + ms(3_600_100);
        for step in 0..=101 {
            blindness.observe(begun + ms(100 * step), ms(100), Some(ms(60)), Load::Full);
        }
        assert!(!blindness.is_blind());
    }
}
