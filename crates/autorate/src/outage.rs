//! Outages: times in which a line returns nothing although something is on its way.

use lockgate_engine::units::{Duration, Instant};

use crate::sample::Sample;

/// Least silence that is an outage: a handover of a cell or a satellite takes less.
const LEAST: Duration = Duration::from_millis(500);

/// State of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineState {
    /// Answers return, or nothing is on its way.
    #[default]
    Up,
    /// Nothing returns.
    Down,
    /// The first answer since an outage returned in this step.
    Resumed,
}

/// Detector of outages. Silence of the probes alone is none: hosts may leave them unanswered.
#[derive(Clone, Debug, Default)]
pub struct Outage {
    is_down: bool,
    silent_since: Option<Instant>,
}

impl Outage {
    /// Returns the state after a sample. `rtt` is the usual round trip.
    pub fn on_sample(&mut self, now: Instant, sample: &Sample, rtt: Duration) -> LineState {
        if sample.has_return() {
            self.silent_since = None;
            return if core::mem::take(&mut self.is_down) { LineState::Resumed } else { LineState::Up };
        }
        if sample.oldest.is_none() && !self.is_down {
            self.silent_since = None;
            return LineState::Up;
        }
        let since = *self.silent_since.get_or_insert(now);
        let limit = LEAST.max(rtt + rtt + rtt);
        self.is_down |= now.since(since) >= limit && sample.oldest.is_some_and(|oldest| oldest >= limit);
        if self.is_down { LineState::Down } else { LineState::Up }
    }
}

#[cfg(test)]
mod tests {
    use lockgate_engine::units::Bytes;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn silence_is_an_outage_only_while_something_is_on_its_way() {
        let rtt = Duration::from_millis(40);
        let idle = Sample { delivered: Some(Bytes::ZERO), ..Sample::default() };
        let mut outage = Outage::default();
        for ms in (0..86_400_000).step_by(60_000) {
            assert_eq!(outage.on_sample(at(ms), &idle, rtt), LineState::Up);
        }
        let mut outage = Outage::default();
        let state = |outage: &mut Outage, ms: u64| {
            let waiting = Sample { oldest: Some(Duration::from_millis(ms)), ..idle };
            outage.on_sample(at(ms), &waiting, rtt)
        };
        let states: Vec<LineState> = (0..80).map(|step| state(&mut outage, 10 * step)).collect();
        assert_eq!(states.iter().position(|state| *state == LineState::Down), Some(50));
        let answer = Sample { delivered: Some(Bytes(1500)), ..Sample::default() };
        assert_eq!(outage.on_sample(at(800), &answer, rtt), LineState::Resumed);
        assert_eq!(outage.on_sample(at(810), &answer, rtt), LineState::Up);
    }
}
