//! Replay of a captured packet stream.

use std::sync::Arc;

use lockgate_engine::units::{Duration, PICOS_PER_SECOND};

use super::emission::{BATCH, Emission};
use crate::replay::Replay;

/// Binary fraction digits of a time factor.
const DIGITS: u32 = 40;

/// A replay in progress.
pub(super) struct ReplaySource {
    replay: Arc<Replay>,
    /// Factor on captured times, with [`DIGITS`] binary fraction digits: the same on every machine.
    factor: u64,
    /// Time from the beginning of one round to the next, in captured time; `None` for a single round.
    period: Option<u64>,
    /// Beginning of the current round, in captured time.
    began: u64,
    next: usize,
}

impl ReplaySource {
    /// Creates a source that sends `replay` `speed` times faster, from 10^-6 to 10^6.
    pub(super) fn new(replay: Arc<Replay>, speed: f64, repeats: bool) -> Self {
        let factor = ((1u64 << DIGITS) as f64 / speed + 0.5) as u64;
        let period = repeats.then(|| period(&replay));
        Self { replay, factor, period, began: 0, next: 0 }
    }

    pub(super) fn fill(&mut self, batch: &mut Vec<Emission>) {
        for _ in 0..BATCH {
            if self.next == self.replay.packets.len() {
                let Some(period) = self.period else { return };
                self.began = self.began.saturating_add(period);
                self.next = 0;
            }
            let Some(&(since, length)) = self.replay.packets.get(self.next) else { return };
            self.next += 1;
            let captured = u128::from(self.began.saturating_add(since.as_picos()));
            let picos = (captured * u128::from(self.factor)) >> DIGITS;
            let at = Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX));
            batch.push(Emission { at, length });
        }
    }

    /// Returns the mean rate in bit/s over a round.
    pub(super) fn rate(&self) -> Option<f64> {
        let seconds = self.round();
        (seconds > 0.0).then(|| self.replay.bytes() as f64 * 8.0 / seconds)
    }

    /// Returns the packets per second over a round.
    pub(super) fn packet_rate(&self) -> Option<f64> {
        let seconds = self.round();
        (seconds > 0.0).then(|| self.replay.packets.len() as f64 / seconds)
    }

    /// Returns the length of a round, in seconds.
    fn round(&self) -> f64 {
        let captured = period(&self.replay) as f64 * self.factor as f64 / (1u64 << DIGITS) as f64;
        captured / PICOS_PER_SECOND as f64
    }
}

/// Returns the span of the capture plus one mean gap, in picoseconds.
fn period(replay: &Replay) -> u64 {
    let span = replay.span().as_picos();
    let gaps = (replay.packets.len() as u64).saturating_sub(1).max(1);
    span.saturating_add(span / gaps)
}
