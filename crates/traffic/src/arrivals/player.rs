//! Sends a captured packet stream again.

use std::sync::Arc;

use lockgate_engine::units::{Duration, PICOS_PER_SECOND};

use super::{BATCH, Emission};
use crate::replay::Replay;

/// Binary digits behind the point of a time factor.
const DIGITS: u32 = 40;

/// A capture being sent again.
pub(super) struct Player {
    replay: Arc<Replay>,
    /// What captured times are multiplied by, with [`DIGITS`] binary digits: the same on every machine.
    factor: u64,
    /// From the beginning of one round to that of the next, captured time; `None` where there is one.
    period: Option<u64>,
    /// When the present round began, captured time.
    began: u64,
    next: usize,
}

impl Player {
    /// Sends `replay` `speed` times faster, which is between 10^-6 and 10^6.
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

    /// Mean rate in bit/s over the time a round takes.
    pub(super) fn rate(&self) -> Option<f64> {
        let seconds = self.round();
        (seconds > 0.0).then(|| self.replay.bytes() as f64 * 8.0 / seconds)
    }

    /// Packets a second over the time a round takes.
    pub(super) fn packet_rate(&self) -> Option<f64> {
        let seconds = self.round();
        (seconds > 0.0).then(|| self.replay.packets.len() as f64 / seconds)
    }

    /// How long a round takes, in seconds.
    fn round(&self) -> f64 {
        let captured = period(&self.replay) as f64 * self.factor as f64 / (1u64 << DIGITS) as f64;
        captured / PICOS_PER_SECOND as f64
    }
}

/// The capture's span and one mean gap, in picoseconds.
fn period(replay: &Replay) -> u64 {
    let span = replay.span().as_picos();
    let gaps = (replay.packets.len() as u64).saturating_sub(1).max(1);
    span.saturating_add(span / gaps)
}
