//! Estimator of CBQ: the average difference between a class's idle time and the idle time of its rate.
//!
//! ```text
//! idle     = (end of this packet - end of the last one) - length / rate      below zero: too fast
//! average  = average (1 - W) + W idle                                        W = 2^-ewma
//! average <= 0:  may send from  start + length / rate + (1 - W)(-average) on
//! ```
//!
//! As in both sources the average is kept divided by W, so that rounding loses nothing: a step is then `a
//! += idle - a W`.

use crate::units::{Bytes, Duration, Instant, Rate};

/// Signed ticks of an [`Arithmetic`]. Times count from the start of the run; scaled averages are at most
/// 2^31 times longer than an [`Instant`], so that sums stay far from overflow.
pub(super) type Ticks = i128;

/// Bound of all ticks, in both directions.
const END: Ticks = 1 << 110;

/// Step of the sizes in a table of `tc`, in bytes.
const CELL: u64 = 8;
/// Cells of a table of `tc`.
const CELLS: u64 = 256;

/// Unit and rounding of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    /// Picoseconds; a packet's time is rounded up, the share of an average towards zero.
    Exact,
    /// Late Linux: ticks of 64 ns. A packet's time is from a table of `tc`: its size rounded up to a cell,
    /// and the time down to a microsecond. An average is shifted, which rounds down. Gaps are compared as
    /// unsigned numbers, so that a negative one is a long one.
    ///
    /// Differs: below 60 bit/s the entries of a table overflow in `tc`.
    Kernel,
}

impl Arithmetic {
    /// Returns the tick in picoseconds.
    pub(super) fn tick(self) -> Ticks {
        match self {
            Self::Exact => 1,
            Self::Kernel => 64_000,
        }
    }

    /// Converts a time to ticks, as a clock of these ticks shows it.
    pub(super) fn at(self, time: Instant) -> Ticks {
        Ticks::from(time.as_picos()) / self.tick()
    }

    /// Converts a parameter to whole ticks.
    pub(super) fn of(self, time: Duration) -> Ticks {
        Ticks::from(time.as_picos()) / self.tick()
    }

    /// Returns the time at which a clock of these ticks shows this time.
    pub(super) fn instant(self, time: Ticks) -> Instant {
        Instant::ZERO + Duration::from_picos(u64::try_from(time * self.tick()).unwrap_or(u64::MAX))
    }

    /// Returns the time of a packet at this rate.
    pub(super) fn time_for(self, rate: Rate, length: Bytes) -> Ticks {
        match self {
            Self::Exact => Ticks::from(rate.time_for(length).as_picos()),
            Self::Kernel => {
                let bytes_per_second = rate.as_bits() as f64 / 8.0;
                let entry = |cell: u64| ticks_of(1e6 * (((cell + 1) * CELL) as f64 / bytes_per_second));
                let cell = length.0.saturating_sub(1) / CELL;
                // Beyond the table the last entry counts as often as the table fits in.
                let whole = Ticks::from(cell / CELLS);
                if whole > 0 { entry(CELLS - 1) * whole + entry(cell % CELLS) } else { entry(cell) }
            }
        }
    }
}

/// Rounds down to microseconds as `tc` passes them to the kernel: whole ones, of 15.625 ticks each.
pub(super) fn ticks_of(micros: f64) -> Ticks {
    Ticks::from(micros as u64) * 125 / 8
}

/// Parameters of a class's estimator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tuning {
    pub arithmetic: Arithmetic,
    pub rate: Rate,
    /// W is 2 to the minus this.
    pub ewma: u32,
    /// Upper bound of the scaled average: what an idle class may send at once.
    pub maxidle: Ticks,
    /// Lower bound of the scaled average.
    pub minidle: Ticks,
    /// Idle time that the action at the limit adds.
    pub offtime: Ticks,
    /// Silence that restores the full average.
    pub longest_gap: Ticks,
}

impl Tuning {
    pub(super) fn time_for(&self, length: Bytes) -> Ticks {
        self.arithmetic.time_for(self.rate, length)
    }

    /// Returns an average times W.
    fn part(&self, average: Ticks) -> Ticks {
        match self.arithmetic {
            // Division truncates towards zero. A shift would round down, and the average would drift.
            Arithmetic::Exact => average / (1 << self.ewma),
            Arithmetic::Kernel => average >> self.ewma,
        }
    }

    /// Returns whether a silence of this length restores the full average.
    fn is_long(&self, gap: Ticks) -> bool {
        gap > self.longest_gap || (gap < 0 && self.arithmetic == Arithmetic::Kernel)
    }
}

/// State of a class's estimator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimator {
    /// Average idle time divided by W.
    pub average: Ticks,
    /// Time until which the class is over its limit; `None`: it is under its limit.
    pub undertime: Option<Ticks>,
    /// End of its last packet.
    last: Option<Ticks>,
    /// Time of its last packet at its own rate.
    pub last_packet: Ticks,
}

impl Estimator {
    /// Creates the estimator of a class that has been idle for long.
    pub(super) fn new(tuning: &Tuning) -> Self {
        Self { average: tuning.maxidle, undertime: None, last: None, last_packet: 0 }
    }

    /// Accounts for a packet of the class, or of one below that is charged to it, sent from `start` to
    /// `end`.
    pub(super) fn update(&mut self, tuning: &Tuning, start: Ticks, end: Ticks, length: Bytes) {
        let own = tuning.time_for(length);
        self.last_packet = own;
        let gap = self.last.map(|last| end - last).filter(|gap| !tuning.is_long(*gap));
        self.average = match gap {
            None => tuning.maxidle,
            Some(gap) => self.average + gap - own - tuning.part(self.average),
        };
        self.average = self.average.clamp(tuning.minidle, tuning.maxidle);
        self.undertime = (self.average <= 0).then(|| start + own + self.debt(tuning));
        self.last = Some(self.last.map_or(end, |last| last.max(end)));
    }

    /// Returns the silence, beyond a packet's own time, that brings the average back to zero.
    pub(super) fn debt(&self, tuning: &Tuning) -> Ticks {
        let below = (-self.average).max(0);
        below - tuning.part(below)
    }

    /// Returns whether the class is over its limit.
    #[inline]
    pub(super) fn is_over(&self, now: Ticks) -> bool {
        self.undertime.is_some_and(|undertime| now < undertime)
    }

    /// Adopts new parameters. Debt and credit of the class stay the same in bytes.
    pub(super) fn retune(&mut self, old: &Tuning, new: &Tuning, now: Ticks) {
        let scale = |time: Ticks| {
            if old.rate == new.rate {
                return time;
            }
            let most = Ticks::from(u64::MAX >> 1);
            let bits = time.clamp(-most, most) * Ticks::from(old.rate.as_bits());
            (bits / Ticks::from(new.rate.as_bits()).max(1)).clamp(-END, END)
        };
        let average = if old.ewma > new.ewma {
            self.average >> (old.ewma - new.ewma)
        } else {
            self.average << (new.ewma - old.ewma)
        };
        self.average = scale(average).clamp(new.minidle, new.maxidle);
        self.undertime = self.undertime.map(|undertime| now + scale(undertime - now));
    }

    /// Shifts all times by ticks of `old`, and converts them to those of `new`, for another clock.
    pub(super) fn shift(&mut self, by: Ticks, old: Arithmetic, new: Arithmetic) {
        let recount = |time: Ticks| time * old.tick() / new.tick();
        self.average = recount(self.average);
        self.last_packet = recount(self.last_packet);
        self.undertime = self.undertime.map(|undertime| recount(undertime + by));
        self.last = self.last.map(|last| recount(last + by));
    }
}
