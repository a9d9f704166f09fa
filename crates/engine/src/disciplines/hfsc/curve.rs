//! Service curves: time as a function of work, evaluated incrementally in whole numbers.
//!
//! ```text
//! work |            .-''  m2            a backlog begins again at x (`take_minimum`): the minimum
//!      |        .-''                    of the old curve and a new one that starts there
//!      |      /                           concave (m1 > m2): the new one until they meet, then the old one
//!      |     /  m1                        convex: the new one, or the old one if that is below at x
//!      |____/_________ time
//!           x   d
//! ```
//!
//! Work is in picobits (8·10^12 per byte) and time in picoseconds, real or virtual. A bit per second is a
//! picobit per picosecond, so curves are exact; only the time at which a curve reaches some work is
//! rounded, up.
//!
//! Data structure: a line stores the last whole picosecond it has passed and the remainder of work, instead
//! of a start point and the total work. Invariant: `(at - start) * rate + rest` is the work since the
//! start, and `rest < rate`. A packet costs one division of 64 bits, no multiplication, and no total can
//! overflow (decision 071). A straight curve lies inline in its class, a curve of two pieces is boxed.

use core::num::NonZeroU64;

use crate::units::{Bytes, Rate};

use super::curve_spec::CurveSpec;

/// Picobits per byte.
const BYTE: u128 = 8_000_000_000_000;

/// Converts bytes to work.
#[inline]
pub(super) fn work(bytes: Bytes) -> u128 {
    u128::from(bytes.0) * BYTE
}

/// Incremental position on a straight line: the time passed and the remainder of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Last whole picosecond at which the line had reached no more than the work done.
    at: u128,
    /// Work done beyond that: less than the work of a picosecond.
    rest: u64,
    rate: NonZeroU64,
}

impl Line {
    /// Starts a line at `x`. A rate of zero counts as 1 bit/s.
    fn new(rate: Rate, x: u128) -> Self {
        Self { at: x, rest: 0, rate: NonZeroU64::new(rate.as_bits()).unwrap_or(NonZeroU64::MIN) }
    }

    /// Returns the earliest time at which the line has reached the work done.
    #[inline]
    fn time(&self) -> u128 {
        self.at + u128::from(self.rest > 0)
    }

    /// Advances by work. The time cannot overflow: it has 128 bits, and the longest packet at the lowest
    /// rate takes 2^75 picoseconds.
    #[inline]
    fn advance(&mut self, work: u128) {
        let (picos, rest) = time_and_rest(work + u128::from(self.rest), self.rate);
        (self.at, self.rest) = (self.at + picos, rest);
    }

    /// Returns by how much the line at `x` exceeds the work done; 0 if it does not.
    fn ahead_at(&self, x: u128) -> u128 {
        let reached = x.saturating_sub(self.at).saturating_mul(u128::from(self.rate.get()));
        reached.saturating_sub(u128::from(self.rest))
    }
}

/// Service curve with its position. Most curves have no first piece; those are stored inline.
#[derive(Clone, Debug)]
pub(super) enum Curve {
    /// One piece.
    Straight(Line),
    /// Two pieces.
    Bent(Box<Bent>),
}

impl Curve {
    /// Starts a curve at 0.
    pub(super) fn new(spec: CurveSpec) -> Self {
        if spec.d.is_zero() {
            Self::Straight(Line::new(spec.m2, 0))
        } else {
            Self::Bent(Box::new(Bent::new(spec, 0)))
        }
    }

    /// Restarts the curve at `x`.
    #[inline]
    pub(super) fn restart(&mut self, x: u128) {
        match self {
            Self::Straight(line) => (line.at, line.rest) = (x, 0),
            Self::Bent(bent) => **bent = Bent::new(bent.spec, x),
        }
    }

    /// Returns the earliest time at which the curve has reached the work done.
    #[inline]
    pub(super) fn time(&self) -> u128 {
        match self {
            Self::Straight(line) => line.time(),
            Self::Bent(bent) => bent.line.time(),
        }
    }

    /// Returns the earliest time at which the curve will have reached this much more work.
    #[inline]
    pub(super) fn time_after(&self, work: u128) -> u128 {
        match self {
            Self::Straight(line) => {
                let mut ahead = *line;
                ahead.advance(work);
                ahead.time()
            }
            Self::Bent(bent) => {
                let mut ahead = **bent;
                ahead.advance(work);
                ahead.line.time()
            }
        }
    }

    /// Advances by work.
    #[inline]
    pub(super) fn advance(&mut self, work: u128) {
        match self {
            Self::Straight(line) => line.advance(work),
            Self::Bent(bent) => bent.advance(work),
        }
    }

    /// Begins a backlog at `x`: restarts the curve if `is_first`, otherwise [takes the
    /// minimum](Self::take_minimum). Returns whether the curve starts at `x` now.
    #[inline]
    pub(super) fn begin_backlog(&mut self, x: u128, is_first: bool) -> bool {
        if !is_first {
            return self.take_minimum(x);
        }
        self.restart(x);
        true
    }

    /// Replaces the curve by the minimum of itself and a new one that starts at `x`. Returns whether the
    /// new one was taken.
    #[inline]
    pub(super) fn take_minimum(&mut self, x: u128) -> bool {
        match self {
            Self::Bent(bent) if !bent.spec.is_convex() => bent.take_minimum_concave(x),
            _ => {
                let is_new = x >= self.time();
                if is_new {
                    self.restart(x);
                }
                is_new
            }
        }
    }
}

/// Curve of two pieces with its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bent {
    /// Current piece.
    line: Line,
    /// Work left up to the bend; `None` beyond it.
    left: Option<u128>,
    spec: CurveSpec,
}

impl Bent {
    fn new(spec: CurveSpec, x: u128) -> Self {
        Self { line: Line::new(spec.m1, x), left: Some(spec.rise()), spec }
    }

    #[inline(never)]
    fn advance(&mut self, work: u128) {
        match self.left {
            Some(left) if work <= left => {
                self.left = Some(left - work);
                self.line.advance(work);
            }
            Some(left) => {
                (self.line, self.left) = (Line::new(self.spec.m2, self.bend()), None);
                self.line.advance(work - left);
            }
            None => self.line.advance(work),
        }
    }

    /// Returns the time of the bend; beyond it, the current time.
    fn bend(&self) -> u128 {
        match self.left {
            None => self.line.at,
            // A level piece has no work to measure time by.
            Some(_) if self.spec.m1.is_zero() => self.line.at + u128::from(self.spec.d.as_picos()),
            // The first piece ends at a whole picosecond.
            Some(left) => self.line.at + time_and_rest(left + u128::from(self.line.rest), self.line.rate).0,
        }
    }

    /// Returns by how much the curve at `x` exceeds the work done; 0 if it does not.
    fn ahead_at(&self, x: u128) -> u128 {
        let bend = self.bend();
        match self.left {
            Some(left) if x > bend => left.saturating_add(Line::new(self.spec.m2, bend).ahead_at(x)),
            _ => self.line.ahead_at(x),
        }
    }

    #[inline(never)]
    fn take_minimum_concave(&mut self, x: u128) -> bool {
        let ahead = self.ahead_at(x);
        if ahead == 0 {
            return false;
        }
        let CurveSpec { m1, d, m2 } = self.spec;
        let mut first = u128::from(d.as_picos());
        if self.ahead_at(x.saturating_add(first)) < self.spec.rise()
            && let Some(difference) = NonZeroU64::new(m1.as_bits() - m2.as_bits())
        {
            // The curves meet on the first piece of the new one: while the old one is on its first piece
            // too, the gap is constant; then it closes at the difference of the rates. Rounded up, so that
            // the curve promises more and not less.
            let (closing, rest) = time_and_rest(ahead, difference);
            let together = self.bend().saturating_sub(x);
            first = first.min(together.saturating_add(closing).saturating_add(u128::from(rest > 0)));
        }
        *self = Self::new(self.spec, x);
        self.left = Some(first.saturating_mul(u128::from(m1.as_bits())));
        true
    }
}

/// Returns the whole picoseconds that `work` takes and the work left over.
#[inline]
fn time_and_rest(work: u128, rate: NonZeroU64) -> (u128, u64) {
    match u64::try_from(work) {
        Ok(work) => (u128::from(work / rate), work % rate),
        Err(_) => (work / u128::from(rate.get()), (work % u128::from(rate.get())) as u64),
    }
}
