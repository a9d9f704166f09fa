//! Arrival curves: the most that a flow sends in any interval.
//!
//! ```text
//! bits   in any closed interval of length t at most  min over the lines of  burst + rate * t
//!   |        ___----
//!   |    _--'            two lines: a short burst at a high rate, a long one at a low rate
//!   |  .'
//!   | |
//!   '-+------------- t
//! ```
//!
//! The interval is closed: packets that arrive at one instant count at `t = 0`, so the curve begins at the
//! burst (Le Boudec and Thiran, Network Calculus, section 1.2).

use crate::exact::{Exact, instants, positive, zero};

/// Line `burst + rate * t`: a token bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Value at `t = 0`.
    pub burst: Exact,
    /// Slope, a second.
    pub rate: Exact,
}

impl Line {
    fn at(&self, t: &Exact) -> Exact {
        &self.burst + &self.rate * t
    }

    /// Returns the time at which it meets a line of another rate.
    fn meets(&self, other: &Self) -> Exact {
        (&other.burst - &self.burst) / (&self.rate - &other.rate)
    }
}

/// Concave arrival curve: the minimum of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Lines that touch the minimum at some `t >= 0`: bursts rise, rates fall. At least one.
    lines: Vec<Line>,
}

impl Arrival {
    /// Returns the curve of nothing.
    pub fn nothing() -> Self {
        Self::bucket(zero(), zero())
    }

    /// Returns the curve of one token bucket.
    pub fn bucket(burst: Exact, rate: Exact) -> Self {
        Self { lines: vec![Line { burst, rate }] }
    }

    /// Returns the minimum of these lines; `None` without lines.
    pub fn new(mut lines: Vec<Line>) -> Option<Self> {
        lines.sort_by(|a, b| (&a.burst, &a.rate).cmp(&(&b.burst, &b.rate)));
        let mut kept: Vec<Line> = Vec::with_capacity(lines.len());
        for line in lines {
            if kept.last().is_some_and(|last| last.rate <= line.rate) {
                continue;
            }
            // The last line is below for no time if the new one meets its predecessor before it does.
            while let [.., before, last] = kept.as_slice()
                && before.meets(&line) <= before.meets(last)
            {
                kept.pop();
            }
            kept.push(line);
        }
        (!kept.is_empty()).then_some(Self { lines: kept })
    }

    /// Returns its lines: bursts rise, rates fall.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns the most that arrives in an interval of length `t`.
    pub fn at(&self, t: &Exact) -> Exact {
        self.lines.iter().map(|line| line.at(t)).min().unwrap_or_else(zero)
    }

    /// Returns the most that arrives at once.
    pub fn burst(&self) -> Exact {
        self.at(&zero())
    }

    /// Returns the long-run rate.
    pub fn rate(&self) -> Exact {
        self.lines.last().map_or_else(zero, |line| line.rate.clone())
    }

    /// Returns the interval lengths at which the slope changes, zero first.
    pub fn breakpoints(&self) -> Vec<Exact> {
        let met = self.lines.windows(2).map(|pair| pair[0].meets(&pair[1]));
        core::iter::once(zero()).chain(met).collect()
    }

    /// Returns the curve of both flows together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let at = instants([self.breakpoints(), other.breakpoints()].concat());
        let sum = |t: &Exact| {
            let (one, two) = (self.line_at(t), other.line_at(t));
            Line { burst: &one.burst + &two.burst, rate: &one.rate + &two.rate }
        };
        Self::new(at.iter().map(sum).collect()).unwrap_or_else(Self::nothing)
    }

    /// Returns the line that is the minimum just after `t`.
    fn line_at(&self, t: &Exact) -> &Line {
        let after = self.lines.windows(2).take_while(|pair| pair[0].meets(&pair[1]) <= *t).count();
        &self.lines[after]
    }

    /// Returns the curve that both bound.
    #[must_use]
    pub fn min(&self, other: &Self) -> Self {
        Self::new([self.lines.clone(), other.lines.clone()].concat()).unwrap_or_else(Self::nothing)
    }

    /// Returns the curve after delays that differ by up to `jitter`: intervals may shrink by it.
    #[must_use]
    pub fn after_jitter(&self, jitter: &Exact) -> Self {
        let later = |line: &Line| Line { burst: &line.burst + &line.rate * jitter, rate: line.rate.clone() };
        Self::new(self.lines.iter().map(later).collect()).unwrap_or_else(Self::nothing)
    }

    /// Returns the curve with bursts rounded up to whole bits.
    #[must_use]
    pub(crate) fn with_whole_bursts(&self) -> Self {
        let whole = |line: &Line| Line { burst: line.burst.ceil(), rate: line.rate.clone() };
        Self::new(self.lines.iter().map(whole).collect()).unwrap_or_else(Self::nothing)
    }

    /// Returns the curve in units of which one old unit has `factor`.
    #[must_use]
    pub fn scaled(&self, factor: &Exact) -> Self {
        let scale = |line: &Line| Line { burst: &line.burst * factor, rate: &line.rate * factor };
        Self { lines: self.lines.iter().map(scale).collect() }
    }

    /// Returns the curve with `bits` less at every length; zero where that is negative.
    #[must_use]
    pub(crate) fn less(&self, bits: &Exact) -> Self {
        let lower = |line: &Line| Line { burst: positive(&line.burst - bits), rate: line.rate.clone() };
        Self::new(self.lines.iter().map(lower).collect()).unwrap_or_else(Self::nothing)
    }
}
