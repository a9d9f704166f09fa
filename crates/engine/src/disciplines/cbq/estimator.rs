//! The estimator of CBQ: how long a class would have to be idle between its packets, and how long it is.
//!
//! ```text
//! idle     = (end of this packet - end of the last one) - length / rate      below zero: too fast
//! average  = average (1 - W) + W idle                                        W = 2^-ewma
//! average <= 0:  may send from  start + length / rate + (1 - W)(-average) on
//! ```
//!
//! As in both sources the average is kept divided by W, so that nothing is lost to rounding: a step is then
//! `a += idle - a W`.

use crate::units::{Bytes, Rate};

/// Picoseconds below and above zero. Times are counted from the start of the run; scaled averages are at
/// most 2^31 times longer than an [`Instant`](crate::units::Instant), so that sums stay far from the ends.
pub(super) type Picos = i128;

/// Longer than anything is let grow, in both directions.
const END: Picos = 1 << 110;

/// What the estimator of a class goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tuning {
    pub rate: Rate,
    /// W is 2 to the minus this.
    pub ewma: u32,
    /// The most that the scaled average can be: what an idle class may send at once.
    pub maxidle: Picos,
    /// The least that the scaled average can be.
    pub minidle: Picos,
    /// What the action at the limit adds.
    pub offtime: Picos,
    /// A silence this long fills the average up.
    pub longest_gap: Picos,
}

impl Tuning {
    pub(super) fn time_for(&self, length: Bytes) -> Picos {
        Picos::from(self.rate.time_for(length).as_picos())
    }
}

/// What is known of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimator {
    /// The average idle time divided by W.
    pub average: Picos,
    /// Until when the class is over its limit; `None`: it is under its limit.
    pub undertime: Option<Picos>,
    /// When its last packet ended.
    last: Option<Picos>,
    /// How long its last packet would take at its own rate.
    pub last_packet: Picos,
}

impl Estimator {
    /// A class that has been idle for long.
    pub(super) fn new(tuning: &Tuning) -> Self {
        Self { average: tuning.maxidle, undertime: None, last: None, last_packet: 0 }
    }

    /// A packet of the class, or of one below that is charged to it, is sent from `start` to `end`.
    pub(super) fn update(&mut self, tuning: &Tuning, start: Picos, end: Picos, length: Bytes) {
        let own = tuning.time_for(length);
        self.last_packet = own;
        let gap = self.last.map(|last| end - last).filter(|gap| *gap <= tuning.longest_gap);
        self.average = match gap {
            None => tuning.maxidle,
            // The division rounds towards zero: a shift would drift down for ever.
            Some(gap) => self.average + gap - own - self.average / (1 << tuning.ewma),
        };
        self.average = self.average.clamp(tuning.minidle, tuning.maxidle);
        self.undertime = (self.average <= 0).then(|| start + own + self.debt(tuning));
        self.last = Some(self.last.map_or(end, |last| last.max(end)));
    }

    /// How long the class must be silent, beyond a packet's own time, to bring its average back to zero.
    pub(super) fn debt(&self, tuning: &Tuning) -> Picos {
        let below = (-self.average).max(0);
        below - below / (1 << tuning.ewma)
    }

    /// Whether the class has sent too much.
    #[inline]
    pub(super) fn is_over(&self, now: Picos) -> bool {
        self.undertime.is_some_and(|undertime| now < undertime)
    }

    /// Adopts a new tuning. What the class owes or has saved stays the same in bytes.
    pub(super) fn retune(&mut self, old: &Tuning, new: &Tuning, now: Picos) {
        let scale = |time: Picos| {
            if old.rate == new.rate {
                return time;
            }
            let most = Picos::from(u64::MAX >> 1);
            let bits = time.clamp(-most, most) * Picos::from(old.rate.as_bits());
            (bits / Picos::from(new.rate.as_bits()).max(1)).clamp(-END, END)
        };
        let average = if old.ewma > new.ewma {
            self.average >> (old.ewma - new.ewma)
        } else {
            self.average << (new.ewma - old.ewma)
        };
        self.average = scale(average).clamp(new.minidle, new.maxidle);
        self.undertime = self.undertime.map(|undertime| now + scale(undertime - now));
    }

    /// Moves all its times: the clock they are read from is another one from now on.
    pub(super) fn shift(&mut self, by: Picos) {
        self.undertime = self.undertime.map(|undertime| undertime + by);
        self.last = self.last.map(|last| last + by);
    }
}
