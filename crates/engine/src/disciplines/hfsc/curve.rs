//! How far somebody has come on a service curve, in whole numbers.
//!
//! ```text
//! work |            .-''  m2            min(old, new) where a backlog begins again:
//!      |        .-''
//!      |      /                           concave (m1 > m2): new where it is below, old after they meet
//!      |     /  m1                        convex: the new one, unless the old one is below where it begins
//!      |____/_________ time
//!           x   d
//! ```
//!
//! Work is in picobits (8·10^12 a byte) and time in picoseconds, real or virtual: a bit per second is a picobit
//! per picosecond, so a curve is exact, and only the time at which it reaches some work is rounded, up.

use core::num::NonZeroU64;

use crate::units::{Bytes, Rate};

use super::shape::Shape;

/// Picobits of a byte.
const BYTE: u128 = 8_000_000_000_000;

/// The work that `bytes` are.
#[inline]
pub(super) fn work(bytes: Bytes) -> u128 {
    u128::from(bytes.0) * BYTE
}

/// A point on a straight line that work takes along. It knows where it stands and not what lies behind, so that a packet costs
/// one division of small numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// The last whole picosecond by which the line had reached no more than the work done.
    at: u128,
    /// The work done beyond what the line had reached then: less than that of a picosecond.
    rest: u64,
    rate: NonZeroU64,
}

impl Line {
    /// One that begins at `x`. A rate of zero counts as the least there is.
    fn new(rate: Rate, x: u128) -> Self {
        Self { at: x, rest: 0, rate: NonZeroU64::new(rate.as_bits()).unwrap_or(NonZeroU64::MIN) }
    }

    /// The earliest time at which it has reached the work done.
    #[inline(always)]
    fn time(&self) -> u128 {
        self.at + u128::from(self.rest > 0)
    }

    /// So much work was done. Its time cannot overflow: it has 128 bits, and the longest packet at the lowest rate takes 2^75
    /// picoseconds.
    #[inline(always)]
    fn advance(&mut self, work: u128) {
        let (picos, rest) = passage(work + u128::from(self.rest), self.rate);
        (self.at, self.rest) = (self.at + picos, rest);
    }

    /// How much more than the work done it has reached at `x`; nothing where it has reached less.
    fn ahead_at(&self, x: u128) -> u128 {
        let reached = x.saturating_sub(self.at).saturating_mul(u128::from(self.rate.get()));
        reached.saturating_sub(u128::from(self.rest))
    }
}

/// How far somebody has come on a curve by the work that was done since it began. Mostly it has no first piece, and is as small as
/// that.
#[derive(Clone, Debug)]
pub(super) enum Curve {
    /// It has no first piece.
    Straight(Line),
    /// It has one.
    Bent(Box<Bent>),
}

impl Curve {
    /// One that begins at 0.
    pub(super) fn new(shape: Shape) -> Self {
        if shape.d.is_zero() {
            Self::Straight(Line::new(shape.m2, 0))
        } else {
            Self::Bent(Box::new(Bent::new(shape, 0)))
        }
    }

    /// Begins anew at `x`.
    #[inline(always)]
    pub(super) fn begin(&mut self, x: u128) {
        match self {
            Self::Straight(line) => (line.at, line.rest) = (x, 0),
            Self::Bent(bent) => **bent = Bent::new(bent.shape, x),
        }
    }

    /// The earliest time at which it has reached the work done.
    #[inline(always)]
    pub(super) fn time(&self) -> u128 {
        match self {
            Self::Straight(line) => line.time(),
            Self::Bent(bent) => bent.line.time(),
        }
    }

    /// The earliest time at which it will have reached this much work more.
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

    /// So much work was done.
    #[inline(always)]
    pub(super) fn advance(&mut self, work: u128) {
        match self {
            Self::Straight(line) => line.advance(work),
            Self::Bent(bent) => bent.advance(work),
        }
    }

    /// The first backlog begins at `x`, or another: see [`lower`](Self::lower). Returns whether the curve begins there.
    #[inline(always)]
    pub(super) fn begin_or_lower(&mut self, x: u128, is_first: bool) -> bool {
        if !is_first {
            return self.lower(x);
        }
        self.begin(x);
        true
    }

    /// A backlog begins at `x`: becomes the lower one of itself and one that begins there. Returns whether it is the new one.
    #[inline(always)]
    pub(super) fn lower(&mut self, x: u128) -> bool {
        match self {
            Self::Bent(bent) if !bent.shape.is_convex() => bent.lower_concave(x),
            _ => {
                let is_new = x >= self.time();
                if is_new {
                    self.begin(x);
                }
                is_new
            }
        }
    }
}

/// A curve with a first piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bent {
    /// The piece that it is on.
    line: Line,
    /// The work up to the bend; `None` beyond it.
    left: Option<u128>,
    shape: Shape,
}

impl Bent {
    fn new(shape: Shape, x: u128) -> Self {
        Self { line: Line::new(shape.m1, x), left: Some(shape.rise()), shape }
    }

    #[inline(never)]
    fn advance(&mut self, work: u128) {
        match self.left {
            Some(left) if work <= left => {
                self.left = Some(left - work);
                self.line.advance(work);
            }
            Some(left) => {
                (self.line, self.left) = (Line::new(self.shape.m2, self.bend()), None);
                self.line.advance(work - left);
            }
            None => self.line.advance(work),
        }
    }

    /// When its first piece ends; where it stands, if it is beyond.
    fn bend(&self) -> u128 {
        match self.left {
            None => self.line.at,
            // No work is done on a level piece.
            Some(_) if self.shape.m1.is_zero() => self.line.at + u128::from(self.shape.d.as_picos()),
            // It ends with a whole picosecond.
            Some(left) => self.line.at + passage(left + u128::from(self.line.rest), self.line.rate).0,
        }
    }

    /// How much more than the work done it has reached at `x`; nothing where it has reached less.
    fn ahead_at(&self, x: u128) -> u128 {
        let bend = self.bend();
        match self.left {
            Some(left) if x > bend => left.saturating_add(Line::new(self.shape.m2, bend).ahead_at(x)),
            _ => self.line.ahead_at(x),
        }
    }

    #[inline(never)]
    fn lower_concave(&mut self, x: u128) -> bool {
        let ahead = self.ahead_at(x);
        if ahead == 0 {
            return false;
        }
        let Shape { m1, d, m2 } = self.shape;
        let mut first = u128::from(d.as_picos());
        if self.ahead_at(x.saturating_add(first)) < self.shape.rise()
            && let Some(difference) = NonZeroU64::new(m1.as_bits() - m2.as_bits())
        {
            // They meet on the first piece of the new one: while the old one is on its first piece too, the gap
            // stays; then it closes at the difference of the rates. Rounded up, which asks for more and not less.
            let (closing, rest) = passage(ahead, difference);
            let together = self.bend().saturating_sub(x);
            first = first.min(together.saturating_add(closing).saturating_add(u128::from(rest > 0)));
        }
        *self = Self::new(self.shape, x);
        self.left = Some(first.saturating_mul(u128::from(m1.as_bits())));
        true
    }
}

/// How many whole picoseconds `work` takes, and the work that is left over then.
#[inline(always)]
fn passage(work: u128, rate: NonZeroU64) -> (u128, u64) {
    match u64::try_from(work) {
        Ok(work) => (u128::from(work / rate), work % rate),
        Err(_) => (work / u128::from(rate.get()), (work % u128::from(rate.get())) as u64),
    }
}
