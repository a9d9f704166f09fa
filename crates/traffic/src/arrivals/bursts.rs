//! On/off modulation: alternating periods of sending and silence.
//!
//! ```text
//! the flow's own clock runs only while it sends:
//!   own clock    0---1---2---|3---4---|5---6        |: an on period ends
//!   time         0---1---2---|.......|3---4---|..|5---6
//! ```

use lockgate_engine::random::Random;
use lockgate_engine::units::Duration;

use super::emission::Emission;
use crate::config::BurstStart;
use crate::law::Law;

/// Limit on the periods that one gap may span: a flow with a longer gap has ended.
const MOST_PERIODS: u32 = 1_000_000;

/// On/off modulation of a flow.
pub(super) struct Bursts {
    on: Law<Duration>,
    off: Law<Duration>,
    random: Random,
    /// End of the current on period, on the flow's own clock.
    end: Duration,
    /// Total silence so far.
    silence: Duration,
}

impl Bursts {
    pub(super) fn new(on: Law<Duration>, off: Law<Duration>, start: BurstStart, mut random: Random) -> Self {
        let is_silent = match start {
            BurstStart::On => false,
            BurstStart::Off => true,
            BurstStart::Random => random.unit() >= share(&on, &off),
        };
        let silence = if is_silent { off.draw(&mut random) } else { Duration::ZERO };
        let end = on.draw(&mut random);
        Self { on, off, random, end, silence }
    }

    /// Converts emissions from the flow's own clock to time. Returns their number, which is smaller than
    /// given if the flow has ended.
    #[inline]
    pub(super) fn stretch(&mut self, emissions: &mut [Emission]) -> usize {
        for (index, emission) in emissions.iter_mut().enumerate() {
            if emission.at >= self.end && !self.move_on(emission.at) {
                return index;
            }
            emission.at += self.silence;
        }
        emissions.len()
    }

    /// Advances to the on period that contains `at` on the flow's own clock. Returns false if that takes more
    /// than [`MOST_PERIODS`] periods.
    #[cold]
    fn move_on(&mut self, at: Duration) -> bool {
        for _ in 0..MOST_PERIODS {
            self.silence += self.off.draw(&mut self.random);
            self.end += self.on.draw(&mut self.random);
            if at < self.end {
                return true;
            }
        }
        false
    }

    /// Returns the fraction of time in on periods; `None` if a mean is infinite.
    pub(super) fn duty(&self) -> Option<f64> {
        let (on, off) = (self.on.mean()?, self.off.mean()?);
        Some(on / (on + off))
    }
}

/// Returns the fraction of time in on periods; 1 if it is unknown.
fn share(on: &Law<Duration>, off: &Law<Duration>) -> f64 {
    match (on.mean(), off.mean()) {
        (Some(on), Some(off)) => on / (on + off),
        _ => 1.0,
    }
}
