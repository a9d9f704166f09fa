//! Link-sharing state of a parent, that is, of the root or an inner class: its active children.
//!
//! ```text
//! eligible           by virtual time             a packet touches these two
//! max_virtual_time   the largest of the active children's, lazily
//! held               by the time they become eligible; exists only if some class has an upper limit
//! ```
//!
//! A *backlog period* begins when the first child becomes active and ends when the last becomes passive. A
//! child that becomes active enters at the middle between the smallest (`min_virtual_time`) and the largest
//! virtual time of the period.

use crate::disciplines::hfsc::curve::work;
use crate::queue::key_tree::KeyTree;
use crate::units::{Bytes, Instant};

use super::class::{Class, State};
use super::max_virtual_time::MaxVirtualTime;

/// Link-sharing state of a parent. Without limits a packet touches the first three cache lines only.
#[derive(Clone)]
#[repr(C, align(64))]
pub(super) struct Parent {
    /// Children that may send now, by virtual time.
    pub(super) eligible: KeyTree<u128>,
    /// Largest virtual time of a selected child in this backlog period (`cvtmin` in ALTQ).
    pub(super) min_virtual_time: Option<u128>,
    /// Largest virtual time at which a child became passive: the next period begins here (`cvtoff` in
    /// ALTQ).
    pub(super) offset: u128,
    /// Children that may not send yet, by the time at which they become eligible; `None` if no class has a
    /// limit.
    held: Option<Box<KeyTree<Instant>>>,
    /// Number of active children.
    pub(super) active: u32,
    pub(super) position: Position,
    /// Largest virtual time of the active children.
    pub(super) max_virtual_time: MaxVirtualTime,
    /// Number of the backlog period.
    pub(super) period: u64,
}

/// Position of a parent in the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// Index of the class; meaningless for the root.
    pub(super) class: u32,
    /// Index of its own [`Parent`]; `ROOT` for the root. A copy of the class's: the walk up need not wait
    /// for that cache line.
    pub(super) parent: u32,
    /// Its own index in [`children`](super::Sharing::children).
    pub(super) as_child: u32,
    /// Index of its first child there.
    pub(super) first_child: u32,
}

/// Link from a parent to a child.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub(super) class: u32,
    /// Index of the child's state as a parent; `ROOT` for a leaf.
    pub(super) as_parent: u32,
}

/// A packet that left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPacket {
    work: u128,
    /// True if the link-sharing criterion selected it.
    by_share: bool,
}

impl SentPacket {
    pub(crate) fn new(length: Bytes, by_share: bool) -> Self {
        Self { work: work(length), by_share }
    }
}

impl Parent {
    pub(super) fn new(position: Position, slots: usize, has_limits: bool) -> Self {
        Self {
            eligible: KeyTree::new(slots),
            min_virtual_time: None,
            offset: 0,
            held: has_limits.then(|| Box::new(KeyTree::new(slots))),
            active: 0,
            position,
            max_virtual_time: MaxVirtualTime::new(slots),
            period: 0,
        }
    }

    /// Returns the virtual time at which a child becomes active: half-way between the smallest and the
    /// largest of its active siblings, or `offset` if it has none. A child whose last backlog was in this
    /// same period does not go back behind `own`, its virtual time then.
    #[inline]
    pub(super) fn entry(&mut self, period: u64, own: u128, classes: &[Class], children: &[Child]) -> u128 {
        if period == self.period && own >= self.max_virtual_time.bound() {
            return own;
        }
        let first_child = self.position.first_child as usize;
        let time = |child_index: usize| {
            let child = &classes[children[first_child + child_index].class as usize];
            (child.state == State::Active).then_some(child.virtual_time)
        };
        let Some(largest) = self.max_virtual_time.largest(time) else { return self.offset };
        let middle = self.min_virtual_time.map_or(largest, |smallest| smallest.midpoint(largest));
        if period == self.period { middle.max(own) } else { middle }
    }

    /// Returns the number of held children.
    pub(super) fn held_count(&self) -> usize {
        self.held.as_ref().map_or(0, |held| held.len())
    }

    /// Returns the first held child and the time at which it becomes eligible.
    #[inline]
    fn first_held(&self) -> Option<(Instant, usize)> {
        self.held.as_ref()?.first()
    }

    /// Returns the time from which a child may send; `Instant::ZERO` if one may now.
    #[inline]
    pub(super) fn eligible_at(&self) -> Instant {
        if self.eligible.is_empty() {
            self.first_held().map_or(Instant::NEVER, |(time, _)| time)
        } else {
            Instant::ZERO
        }
    }

    /// Files an active child as eligible or held: by its own limit, and by `below`, the time from which one
    /// of its own children is eligible.
    #[inline]
    pub(super) fn file<const LIMITED: bool>(&mut self, child: &Class, below: Instant, now: Instant) {
        let child_index = child.child_index as usize;
        if LIMITED && let Some(held) = &mut self.held {
            let eligible_at = below.max(child.eligible_at());
            if eligible_at > now {
                self.eligible.remove(child_index);
                held.set(child_index, eligible_at);
                return;
            }
            held.remove(child_index);
        }
        self.eligible.set(child_index, child.virtual_time);
    }

    /// Makes the held children eligible whose time has come.
    pub(super) fn release(&mut self, classes: &[Class], children: &[Child], now: Instant) {
        while let (Some((eligible_at, child_index)), Some(held)) = (self.first_held(), &mut self.held)
            && eligible_at <= now
        {
            held.remove(child_index);
            let child = children[self.position.first_child as usize + child_index];
            self.eligible.set(child_index, classes[child.class as usize].virtual_time);
        }
    }

    /// Deactivates a child. Returns whether no child is active any more.
    fn deactivate(&mut self, child: &mut Class) -> bool {
        child.state = State::Passive;
        self.offset = self.offset.max(child.virtual_time);
        let child_index = child.child_index as usize;
        self.eligible.remove(child_index);
        if let Some(held) = &mut self.held {
            held.remove(child_index);
        }
        self.max_virtual_time.remove(child_index);
        self.active -= 1;
        self.active == 0
    }

    /// Files a child whose virtual time has changed, or deactivates it if it is `passive`. Returns whether
    /// no child is active any more.
    #[inline]
    pub(super) fn refile<const LIMITED: bool>(
        &mut self,
        child: &mut Class,
        below: Instant,
        passive: bool,
        now: Instant,
    ) -> bool {
        if passive {
            return self.deactivate(child);
        }
        self.max_virtual_time.set(child.child_index as usize, child.virtual_time);
        self.file::<LIMITED>(child, below, now);
        false
    }

    /// Raises the minimum virtual time to that of a selected child. Without limits it is never smaller than
    /// before.
    #[inline]
    pub(super) fn raise_min_virtual_time<const LIMITED: bool>(&mut self, child: &Class) {
        let before = if LIMITED { self.min_virtual_time } else { None };
        self.min_virtual_time =
            Some(before.map_or(child.virtual_time, |before| before.max(child.virtual_time)));
    }

    /// Advances the virtual time of an active child that sent a packet.
    #[inline]
    pub(super) fn advance<const LIMITED: bool>(&mut self, child: &mut Class, sent: SentPacket) {
        if sent.by_share {
            self.raise_min_virtual_time::<LIMITED>(child);
        }
        child.advance::<LIMITED>(sent.work, self.min_virtual_time);
    }

    /// Accounts for a packet of a child that takes part in link sharing; `passive` if the child has no
    /// backlog any more. Returns whether no child is active any more.
    #[inline]
    pub(super) fn account<const LIMITED: bool>(
        &mut self,
        child: &mut Class,
        sent: SentPacket,
        below: Instant,
        passive: bool,
        now: Instant,
    ) -> bool {
        if child.state != State::Active {
            if child.state == State::Passive {
                child.advance_curves::<LIMITED>(sent.work);
            }
            return passive;
        }
        self.advance::<LIMITED>(child, sent);
        self.refile::<LIMITED>(child, below, passive, now)
    }
}
