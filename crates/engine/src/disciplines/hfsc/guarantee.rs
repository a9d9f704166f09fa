//! The real-time criterion: of the leaves that are eligible, the one with the earliest deadline.

use crate::queue::winner_tree::WinnerTree;
use crate::units::{Bytes, Duration, Instant};

use super::curve::{Curve, work};
use super::shape::Shape;

/// A leaf's guarantee, and how far it has come by what was done under this criterion.
struct Guarantee {
    shape: Shape,
    /// Whether it ever had a backlog: its curves begin with the first.
    has_begun: bool,
    /// The deadline curve.
    curve: Curve,
    /// Where that is convex, a straight line of its second rate from where it began. By it work may be done ahead of the curve,
    /// so that it never needs more than the curve promises later; a concave curve asks for its work soon enough.
    line: Option<Curve>,
}

impl Guarantee {
    fn new(shape: Shape) -> Self {
        let line = Shape { m1: shape.m2, d: Duration::ZERO, m2: shape.m2 };
        let is_bent = !shape.d.is_zero() && shape.is_convex();
        Self { shape, has_begun: false, curve: Curve::new(shape), line: is_bent.then(|| Curve::new(line)) }
    }

    /// A backlog begins at `x`.
    fn begin(&mut self, x: u128) {
        let is_new = self.curve.begin_or_lower(x, !self.has_begun);
        if let (true, Some(line)) = (is_new, &mut self.line) {
            line.begin(x);
        }
        self.has_begun = true;
    }

    fn advance(&mut self, work: u128) {
        self.curve.advance(work);
        if let Some(line) = &mut self.line {
            line.advance(work);
        }
    }

    /// When its next packet may be sent under this criterion.
    #[inline]
    fn eligible(&self) -> Instant {
        instant(self.line.as_ref().unwrap_or(&self.curve).time())
    }
}

/// Leaves with guarantees, those that have packets by their times.
pub(super) struct Guarantees {
    /// By class; empty where no class has one, so that nothing else is looked at then.
    leaves: Vec<Option<Box<Guarantee>>>,
    /// Not yet eligible, by when they are.
    early: WinnerTree<Instant>,
    /// Eligible, by their deadlines.
    due: WinnerTree<Instant>,
    /// Deadlines of those that are not yet eligible.
    deadlines: Vec<Instant>,
}

fn instant(picos: u128) -> Instant {
    Instant::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
}

impl Guarantees {
    pub(super) fn new(shapes: impl Iterator<Item = Option<Shape>>) -> Self {
        let new = |shape: Option<Shape>| shape.map(|shape| Box::new(Guarantee::new(shape)));
        let mut leaves: Vec<_> = shapes.map(new).collect();
        if leaves.iter().all(Option::is_none) {
            leaves.clear();
        }
        let count = leaves.len();
        Self {
            leaves,
            early: WinnerTree::new(count),
            due: WinnerTree::new(count),
            deadlines: vec![Instant::NEVER; count],
        }
    }

    /// Adopts new curves. One that is the same goes on as it was; nobody is listed afterwards.
    pub(super) fn retune(&mut self, shapes: impl Iterator<Item = Option<Shape>>) {
        let before = core::mem::replace(self, Self::new(shapes));
        for (leaf, before) in self.leaves.iter_mut().zip(before.leaves) {
            let shape = |leaf: &Option<Box<Guarantee>>| leaf.as_ref().map(|leaf| leaf.shape);
            if shape(leaf) == shape(&before) {
                *leaf = before;
            }
        }
    }

    /// Whether `leaf` has a guarantee.
    #[inline(always)]
    pub(super) fn covers(&self, leaf: usize) -> bool {
        self.leaves.get(leaf).is_some_and(Option::is_some)
    }

    /// A leaf with a guarantee has a backlog since `since`, and a packet of this length is next.
    pub(super) fn begin(&mut self, leaf: usize, since: Instant, next: Bytes, now: Instant) {
        let Some(Some(state)) = self.leaves.get_mut(leaf) else { return };
        state.begin(u128::from(since.as_picos()));
        self.list(leaf, next, now);
    }

    /// Gives `leaf` the times of its next packet.
    #[inline]
    fn list(&mut self, leaf: usize, next: Bytes, now: Instant) {
        let Some(Some(state)) = self.leaves.get(leaf) else { return };
        let (eligible, deadline) = (state.eligible(), instant(state.curve.time_after(work(next))));
        self.deadlines[leaf] = deadline;
        if eligible <= now {
            self.early.remove(leaf);
            self.due.set(leaf, deadline);
        } else {
            self.due.remove(leaf);
            self.early.set(leaf, eligible);
        }
    }

    /// `leaf` sent a packet of this length, under this criterion where `real_time`; the next has length `next`.
    #[inline]
    pub(super) fn sent(
        &mut self,
        leaf: usize,
        length: Bytes,
        real_time: bool,
        next: Option<Bytes>,
        now: Instant,
    ) {
        let Some(Some(state)) = self.leaves.get_mut(leaf) else { return };
        if real_time {
            state.advance(work(length));
        }
        match next {
            Some(next) => self.list(leaf, next, now),
            None => self.end(leaf),
        }
    }

    /// `leaf` has no packet any more.
    pub(super) fn end(&mut self, leaf: usize) {
        self.early.remove(leaf);
        self.due.remove(leaf);
    }

    /// Who must send now.
    #[inline]
    pub(super) fn choose(&mut self, now: Instant) -> Option<usize> {
        if self.leaves.is_empty() {
            return None;
        }
        while let Some((_, leaf)) = self.early.first().filter(|(eligible, _)| *eligible <= now) {
            self.early.remove(leaf);
            self.due.set(leaf, self.deadlines[leaf]);
        }
        self.next()
    }

    /// Who must send next, of those that were eligible.
    #[inline]
    pub(super) fn next(&self) -> Option<usize> {
        if self.leaves.is_empty() {
            return None;
        }
        self.due.first().map(|(_, leaf)| leaf)
    }

    /// When the next becomes eligible.
    pub(super) fn next_eligible(&self) -> Option<Instant> {
        self.early.first().map(|(eligible, _)| eligible)
    }

    /// How many are eligible, and how many are not yet.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.due.len(), self.early.len())
    }
}
