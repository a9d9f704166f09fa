//! The real-time criterion: of the leaves that are eligible, the one with the earliest deadline.

use crate::queue::tournament::Tournament;
use crate::units::{Bytes, Instant};

use super::curve::{Curve, Shape, work};

/// A leaf's guarantee.
struct Guarantee {
    shape: Shape,
    /// The deadline curve; `None` until it first has a backlog.
    curve: Option<Curve>,
    /// What was done under this criterion, in picobits.
    done: u128,
    eligible: Instant,
}

/// Leaves with guarantees, those that have packets by their times.
pub(super) struct Guarantees {
    leaves: Vec<Option<Box<Guarantee>>>,
    /// Not yet eligible, by when they are.
    early: Tournament<Instant>,
    /// Eligible, by their deadlines.
    due: Tournament<Instant>,
    /// Deadlines of those that are not yet eligible.
    deadlines: Vec<Instant>,
}

fn instant(picos: u128) -> Instant {
    Instant::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
}

impl Guarantees {
    pub(super) fn new(shapes: impl ExactSizeIterator<Item = Option<Shape>>) -> Self {
        let count = shapes.len();
        let begun = |shape| Box::new(Guarantee { shape, curve: None, done: 0, eligible: Instant::ZERO });
        Self {
            leaves: shapes.map(|shape| shape.map(begun)).collect(),
            early: Tournament::new(count),
            due: Tournament::new(count),
            deadlines: vec![Instant::NEVER; count],
        }
    }

    /// Adopts new curves. One that is the same goes on as it was; nobody is listed afterwards.
    pub(super) fn retune(&mut self, shapes: impl Iterator<Item = Option<Shape>>) {
        for (leaf, shape) in self.leaves.iter_mut().zip(shapes) {
            if leaf.as_ref().map(|leaf| leaf.shape) != shape {
                let done = leaf.as_ref().map_or(0, |leaf| leaf.done);
                *leaf = shape
                    .map(|shape| Box::new(Guarantee { shape, curve: None, done, eligible: Instant::ZERO }));
            }
        }
        self.early.clear();
        self.due.clear();
    }

    /// Whether `leaf` has a guarantee.
    #[inline]
    pub(super) fn covers(&self, leaf: usize) -> bool {
        self.leaves[leaf].is_some()
    }

    /// A leaf with a guarantee has a backlog since `since`, and a packet of this length is next.
    pub(super) fn begin(&mut self, leaf: usize, since: Instant, next: Bytes, now: Instant) {
        let Some(state) = &mut self.leaves[leaf] else { return };
        let x = u128::from(since.as_picos());
        match &mut state.curve {
            Some(curve) => curve.lower(&state.shape, x, state.done),
            None => state.curve = Some(Curve::new(&state.shape, x, state.done)),
        }
        self.list(leaf, next, true, now);
    }

    /// Gives `leaf` the times of its next packet; its work has changed where `moved`.
    #[inline]
    fn list(&mut self, leaf: usize, next: Bytes, moved: bool, now: Instant) {
        let Some((state, curve)) = self.leaves[leaf].as_mut().and_then(|state| {
            let Guarantee { curve, done, eligible, .. } = &mut **state;
            let curve = curve.as_mut()?;
            if moved {
                *eligible = instant(curve.eligible(*done));
            }
            Some(((*eligible, *done), curve))
        }) else {
            return;
        };
        let (eligible, done) = state;
        let deadline = instant(curve.time_of(done.saturating_add(work(next))));
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
    pub(super) fn sent(&mut self, leaf: usize, length: Bytes, real_time: bool, next: Option<Bytes>, now: Instant) {
        let Some(state) = &mut self.leaves[leaf] else { return };
        if real_time {
            state.done = state.done.saturating_add(work(length));
        }
        match next {
            Some(next) => self.list(leaf, next, real_time, now),
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
        while let Some((_, leaf)) = self.early.first().filter(|(eligible, _)| *eligible <= now) {
            self.early.remove(leaf);
            self.due.set(leaf, self.deadlines[leaf]);
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
