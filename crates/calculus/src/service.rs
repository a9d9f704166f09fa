//! Service curves: the least that a server does for a flow.
//!
//! ```text
//! work   max over the pieces of  rate * t - offset,  at least 0
//!   |          /
//!   |        .'      convex: slow after the latency, then faster
//!   |   __--'
//!   '--'----------- t
//! ```
//!
//! Deviations, convolution and deconvolution are those of Le Boudec and Thiran, Network Calculus, chapters 1
//! and 3. For concave arrivals and convex services each extreme is at a breakpoint of one of the two.

use crate::arrival::{Arrival, Line};
use crate::exact::{Exact, instants, positive, zero};

/// Line `rate * t - offset` of a service curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Slope, a second; more than zero.
    pub rate: Exact,
    /// Work withheld at the start; at least zero.
    pub offset: Exact,
}

impl Piece {
    fn start(&self) -> Exact {
        &self.offset / &self.rate
    }

    fn meets(&self, faster: &Self) -> Exact {
        (&faster.offset - &self.offset) / (&faster.rate - &self.rate)
    }
}

/// Convex service curve: the maximum of its pieces and zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Pieces that touch the maximum above zero: rates and offsets rise. Empty: no service.
    pieces: Vec<Piece>,
}

impl Service {
    /// Returns the maximum of these pieces; those of no rate do nothing.
    pub fn new(mut pieces: Vec<Piece>) -> Self {
        pieces.retain(|piece| piece.rate > zero());
        pieces.sort_by(|a, b| (&a.rate, &a.offset).cmp(&(&b.rate, &b.offset)));
        let mut kept: Vec<Piece> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            if kept.last().is_some_and(|last| last.rate == piece.rate) {
                continue;
            }
            while let Some(last) = kept.last() {
                let from = match kept.as_slice() {
                    [.., before, last] => before.meets(last),
                    _ => last.start(),
                };
                if last.meets(&piece) > from {
                    break;
                }
                kept.pop();
            }
            kept.push(piece);
        }
        Self { pieces: kept }
    }

    /// Returns the curve of a server of this rate after at most `latency`.
    pub fn rate_latency(rate: Exact, latency: Exact) -> Self {
        let offset = &rate * latency;
        Self::new(vec![Piece { rate, offset }])
    }

    /// Returns the curve of a server that begins at once.
    pub fn constant(rate: Exact) -> Self {
        Self::rate_latency(rate, zero())
    }

    /// Returns its pieces: rates and offsets rise.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns the least work in an interval of length `t`.
    pub fn at(&self, t: &Exact) -> Exact {
        let work = self.pieces.iter().map(|piece| &piece.rate * t - &piece.offset);
        positive(work.max().unwrap_or_else(zero))
    }

    /// Returns the long-run rate.
    pub fn rate(&self) -> Exact {
        self.pieces.last().map_or_else(zero, |piece| piece.rate.clone())
    }

    /// Returns the time by which `work` is done for certain; `None` if it never is.
    pub fn inverse(&self, work: &Exact) -> Option<Exact> {
        let by = self.pieces.iter().map(|piece| (work + &piece.offset) / &piece.rate);
        by.min().map(positive)
    }

    /// Returns the interval lengths at which the slope changes.
    fn breakpoints(&self) -> Vec<Exact> {
        let first = self.pieces.first().map(Piece::start);
        let met = self.pieces.windows(2).map(|pair| pair[0].meets(&pair[1]));
        first.into_iter().chain(met).collect()
    }

    /// Returns the delay bound: the horizontal deviation from `arrival`. `None` if it is infinite.
    pub fn delay(&self, arrival: &Arrival) -> Option<Exact> {
        if self.pieces.is_empty() || arrival.rate() > self.rate() {
            return None;
        }
        let mut lengths = arrival.breakpoints();
        for work in self.breakpoints().iter().map(|t| self.at(t)) {
            // The length at which the arrivals reach a breakpoint of the service.
            let reach = |line: &Line| (&work - &line.burst) / &line.rate;
            lengths.extend(arrival.lines().iter().filter(|line| line.rate > zero()).map(reach));
        }
        let deviation = |t: &Exact| Some(self.inverse(&arrival.at(t))? - t);
        instants(lengths).iter().filter_map(deviation).max().map(positive)
    }

    /// Returns the backlog bound: the vertical deviation from `arrival`. `None` if it is infinite.
    pub fn backlog(&self, arrival: &Arrival) -> Option<Exact> {
        if arrival.rate() > self.rate() {
            return None;
        }
        let lengths = instants([arrival.breakpoints(), self.breakpoints()].concat());
        lengths.iter().map(|t| arrival.at(t) - self.at(t)).max()
    }

    /// Returns the bound on a busy period: the first length at which all that arrived is served. `None` if
    /// there may be none.
    pub fn busy_period(&self, arrival: &Arrival) -> Option<Exact> {
        let all = self.pieces.iter().flat_map(|piece| arrival.lines().iter().map(move |line| (piece, line)));
        let served = all.filter(|(piece, line)| piece.rate > line.rate);
        served.map(|(piece, line)| (&line.burst + &piece.offset) / (&piece.rate - &line.rate)).min()
    }

    /// Returns the arrival curve of the output: the deconvolution of `arrival`. `None` if it is infinite.
    pub fn output(&self, arrival: &Arrival) -> Option<Arrival> {
        if self.pieces.is_empty() || arrival.rate() > self.rate() {
            return None;
        }
        let (ins, outs) = (arrival.breakpoints(), self.breakpoints());
        let apart = ins.iter().flat_map(|one| outs.iter().map(move |two| one - two));
        let lengths = instants(apart.chain([zero()]).collect());
        let value = |t: &Exact| {
            let before = ins.iter().map(|at| at - t);
            let from = instants(before.chain(outs.iter().cloned()).chain([zero()]).collect());
            from.iter().map(|u| arrival.at(&(t + u)) - self.at(u)).max().unwrap_or_else(zero)
        };
        let values: Vec<Exact> = lengths.iter().map(value).collect();
        let through = |index: usize| {
            let slope = match (lengths.get(index + 1), values.get(index + 1)) {
                (Some(at), Some(value)) => (value - &values[index]) / (at - &lengths[index]),
                _ => arrival.rate(),
            };
            Line { burst: &values[index] - &slope * &lengths[index], rate: slope }
        };
        Arrival::new((0..lengths.len()).map(through).collect())
    }

    /// Returns the curve of one server after the other: the convolution.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let slowest = self.rate().min(next.rate());
        let mut segments = [self.segments(), next.segments()].concat();
        segments.sort_by(|a, b| a.1.cmp(&b.1));
        let (mut at, mut work) = (zero(), zero());
        let mut pieces = Vec::new();
        for (length, rate) in segments.into_iter().filter(|(_, rate)| *rate < slowest) {
            pieces.push(Piece { offset: &rate * &at - &work, rate: rate.clone() });
            work += &rate * &length;
            at += length;
        }
        pieces.push(Piece { offset: &slowest * &at - &work, rate: slowest });
        Self::new(pieces)
    }

    /// Returns the finite segments: lengths and slopes.
    fn segments(&self) -> Vec<(Exact, Exact)> {
        let ends = self.breakpoints();
        let starts = core::iter::once(zero()).chain(ends.iter().cloned());
        let rates = core::iter::once(zero()).chain(self.pieces.iter().map(|piece| piece.rate.clone()));
        starts.zip(&ends).zip(rates).map(|((start, end), rate)| (end - start, rate)).collect()
    }

    /// Returns what is left after `others` and `blocked` work are served first.
    #[must_use]
    pub fn less(&self, others: &Arrival, blocked: &Exact) -> Self {
        let left = |piece: &Piece, line: &Line| Piece {
            rate: &piece.rate - &line.rate,
            offset: &piece.offset + &line.burst + blocked,
        };
        let all =
            self.pieces.iter().flat_map(|piece| others.lines().iter().map(move |line| left(piece, line)));
        Self::new(all.collect())
    }

    /// Returns what is left of a FIFO queue to a flow beside others, of which the line of the least rate
    /// counts: `[service(t) - line(t - theta)]+` after `theta`, at which the service has done its burst.
    pub fn left_by_fifo(&self, line: &Line) -> Option<Self> {
        let theta = self.inverse(&line.burst)?;
        let left = |piece: &Piece| Piece {
            rate: &piece.rate - &line.rate,
            offset: &piece.offset + &line.burst - &line.rate * &theta,
        };
        Some(Self::new(self.pieces.iter().map(left).collect()))
    }

    /// Returns `share * (service - withheld)`, the part of a round that one child gets.
    #[must_use]
    pub(crate) fn part(&self, share: &Exact, withheld: &Exact) -> Self {
        let part =
            |piece: &Piece| Piece { rate: &piece.rate * share, offset: (&piece.offset + withheld) * share };
        Self::new(self.pieces.iter().map(part).collect())
    }

    /// Returns the larger of two bounds that hold for one and the same start of a backlog.
    #[must_use]
    pub(crate) fn or(&self, other: &Self) -> Self {
        Self::new([self.pieces.clone(), other.pieces.clone()].concat())
    }

    /// Returns the curve with all work divided by `factor`.
    #[must_use]
    pub(crate) fn divided(&self, factor: &Exact) -> Self {
        let divide = |piece: &Piece| Piece { rate: &piece.rate / factor, offset: &piece.offset / factor };
        Self { pieces: self.pieces.iter().map(divide).collect() }
    }
}
