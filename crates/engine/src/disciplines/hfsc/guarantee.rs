//! Real-time criterion: of the eligible leaves, the one with the earliest deadline.
//!
//! ```text
//!             list: not yet eligible                select: eligible time reached
//!  no packet ------------------------> early  ----------------------------------> due, by deadline
//!      ^  '------------------------------------- list: eligible --------------->  |
//!      '--------------------------------- end -----------------------------------'
//! ```
//!
//! Two winner trees: `early` by eligible time, `due` by deadline. Invariant: a leaf with a guarantee and a
//! packet is in exactly one of them, any other leaf in neither. O(log n) a packet.

use crate::queue::key_tree::KeyTree;
use crate::units::{Bytes, Duration, Instant};

use super::curve::{Curve, work};
use super::curve_spec::CurveSpec;

/// Real-time guarantee of a leaf, with the position of its curves by the work done under this criterion.
#[derive(Clone)]
struct Guarantee {
    spec: CurveSpec,
    /// True if it ever had a backlog: its curves start with the first.
    has_begun: bool,
    /// Deadline curve.
    curve: Curve,
    /// Eligible curve, if it differs from the deadline curve: for a convex one, a straight line of its second
    /// rate. It allows work ahead of the deadline curve, so that the leaf never needs more than the curve
    /// guarantees later. A concave deadline curve is its own eligible curve.
    eligible_curve: Option<Curve>,
}

impl Guarantee {
    fn new(spec: CurveSpec) -> Self {
        let eligible_curve = CurveSpec { m1: spec.m2, d: Duration::ZERO, m2: spec.m2 };
        let is_convex = !spec.d.is_zero() && spec.is_convex();
        Self {
            spec,
            has_begun: false,
            curve: Curve::new(spec),
            eligible_curve: is_convex.then(|| Curve::new(eligible_curve)),
        }
    }

    /// Begins a backlog at `x`.
    fn begin(&mut self, x: u128) {
        let is_new = self.curve.begin_backlog(x, !self.has_begun);
        if let (true, Some(eligible_curve)) = (is_new, &mut self.eligible_curve) {
            eligible_curve.restart(x);
        }
        self.has_begun = true;
    }

    fn advance(&mut self, work: u128) {
        self.curve.advance(work);
        if let Some(eligible_curve) = &mut self.eligible_curve {
            eligible_curve.advance(work);
        }
    }

    /// Returns the time from which its next packet is eligible.
    #[inline]
    fn eligible_at(&self) -> Instant {
        instant(self.eligible_curve.as_ref().unwrap_or(&self.curve).time())
    }
}

/// Guarantees of all leaves; leaves with packets are ordered by eligible time or deadline.
#[derive(Clone)]
pub(super) struct Guarantees {
    /// By class; empty if no class has a guarantee, so that nothing else is read.
    leaves: Vec<Option<Box<Guarantee>>>,
    /// Leaves that are not yet eligible, by eligible time.
    early: KeyTree<Instant>,
    /// Eligible leaves, by deadline.
    due: KeyTree<Instant>,
    /// Deadlines of the leaves in `early`.
    deadlines: Vec<Instant>,
}

fn instant(picos: u128) -> Instant {
    Instant::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
}

impl Guarantees {
    pub(super) fn new(specs: impl Iterator<Item = Option<CurveSpec>>) -> Self {
        let new = |spec: Option<CurveSpec>| spec.map(|spec| Box::new(Guarantee::new(spec)));
        let mut leaves: Vec<_> = specs.map(new).collect();
        if leaves.iter().all(Option::is_none) {
            leaves.clear();
        }
        let count = leaves.len();
        Self {
            leaves,
            early: KeyTree::new(count),
            due: KeyTree::new(count),
            deadlines: vec![Instant::NEVER; count],
        }
    }

    /// Adopts new curves. An unchanged curve keeps its position. No leaf is listed afterwards.
    pub(super) fn retune(&mut self, specs: impl Iterator<Item = Option<CurveSpec>>) {
        let before = core::mem::replace(self, Self::new(specs));
        for (leaf, before) in self.leaves.iter_mut().zip(before.leaves) {
            let spec = |leaf: &Option<Box<Guarantee>>| leaf.as_ref().map(|leaf| leaf.spec);
            if spec(leaf) == spec(&before) {
                *leaf = before;
            }
        }
    }

    /// Returns whether `leaf` has a guarantee.
    #[inline]
    pub(super) fn covers(&self, leaf: usize) -> bool {
        self.leaves.get(leaf).is_some_and(Option::is_some)
    }

    /// Begins a backlog, which exists since `since`, of a leaf whose next packet has this length.
    pub(super) fn begin(&mut self, leaf: usize, since: Instant, next: Bytes, now: Instant) {
        let Some(Some(state)) = self.leaves.get_mut(leaf) else { return };
        state.begin(u128::from(since.as_picos()));
        self.list(leaf, next, now);
    }

    /// Computes eligible time and deadline of the next packet of `leaf`, and lists the leaf by them.
    #[inline]
    fn list(&mut self, leaf: usize, next: Bytes, now: Instant) {
        let Some(Some(state)) = self.leaves.get(leaf) else { return };
        let (eligible, deadline) = (state.eligible_at(), instant(state.curve.time_after(work(next))));
        self.deadlines[leaf] = deadline;
        if eligible <= now {
            self.early.remove(leaf);
            self.due.set(leaf, deadline);
        } else {
            self.due.remove(leaf);
            self.early.set(leaf, eligible);
        }
    }

    /// Accounts for a packet that `leaf` sent, under this criterion if `real_time`. `next` is the length of
    /// the next packet.
    #[inline]
    pub(super) fn account(
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
            None => self.delist(leaf),
        }
    }

    /// Delists a leaf that has no packet to send.
    pub(super) fn delist(&mut self, leaf: usize) {
        self.early.remove(leaf);
        self.due.remove(leaf);
    }

    /// Selects the leaf that must send now, after moving the leaves that have become eligible.
    #[inline]
    pub(super) fn select(&mut self, now: Instant) -> Option<usize> {
        if self.leaves.is_empty() {
            return None;
        }
        while let Some((_, leaf)) = self.early.first().filter(|(eligible, _)| *eligible <= now) {
            self.early.remove(leaf);
            self.due.set(leaf, self.deadlines[leaf]);
        }
        self.next()
    }

    /// Returns the eligible leaf with the earliest deadline, as of the last [`select`](Self::select).
    #[inline]
    pub(super) fn next(&self) -> Option<usize> {
        if self.leaves.is_empty() {
            return None;
        }
        self.due.first().map(|(_, leaf)| leaf)
    }

    /// Returns the time at which the next leaf becomes eligible.
    pub(super) fn next_eligible_at(&self) -> Option<Instant> {
        self.early.first().map(|(eligible, _)| eligible)
    }

    /// Returns the time from which a listed leaf is eligible, and its deadline.
    pub(super) fn times(&self, leaf: usize) -> Option<(Instant, Instant)> {
        let state = self.leaves.get(leaf)?.as_ref()?;
        let is_listed = self.early.contains(leaf) || self.due.contains(leaf);
        is_listed.then(|| (state.eligible_at(), self.deadlines[leaf]))
    }

    /// Returns the number of eligible leaves and of those not yet eligible.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.due.len(), self.early.len())
    }
}
