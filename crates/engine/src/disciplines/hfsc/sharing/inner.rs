//! The inside of an inner class: those below it that have a backlog.

use crate::queue::winner_tree::WinnerTree;
use crate::units::Instant;

use super::Sent;
use super::class::{Class, State};
use super::times::Times;

/// What an inner class knows of those below it that have a backlog. A packet needs the first three cache lines.
#[repr(C, align(64))]
pub(super) struct Inner {
    /// Those that may send, by virtual time.
    pub(super) fit: WinnerTree<u128>,
    /// Virtual time of the child chosen last in this backlog period.
    pub(super) least: Option<u128>,
    /// The latest virtual time with which a child became passive: where the next period begins.
    pub(super) offset: u128,
    /// Those that may not send yet, by when they may; where some class has a limit.
    held: Option<Box<WinnerTree<Instant>>>,
    /// How many have a backlog.
    pub(super) active: u32,
    pub(super) stands: Stand,
    /// The virtual times of those that have a backlog.
    pub(super) times: Times,
    /// Number of the backlog period.
    pub(super) period: u64,
}

/// Where an inside stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stand {
    /// The class that it is the inside of; any, for the root, which is the inside of none.
    pub(super) class: u32,
    /// The number of the inside above, as the class has it, too: the way up need not wait for the class. That of the root for
    /// the root.
    pub(super) above: u32,
    /// Its place among all [children](super::Sharing::children).
    pub(super) place: u32,
    /// Where its own begin there.
    pub(super) first_child: u32,
}

/// A class as it is known above it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub(super) class: u32,
    /// The number of its inside; that of the root for a leaf.
    pub(super) inner: u32,
}

impl Inner {
    pub(super) fn new(stands: Stand, slots: usize, has_limits: bool) -> Self {
        Self {
            fit: WinnerTree::new(slots),
            least: None,
            offset: 0,
            held: has_limits.then(|| Box::new(WinnerTree::new(slots))),
            active: 0,
            stands,
            times: Times::new(slots),
            period: 0,
        }
    }

    /// Where a child begins that last had a backlog in `period`, and had come to `own` then: halfway between
    /// the first and the last, and not behind where it was.
    #[inline]
    pub(super) fn entry(&mut self, period: u64, own: u128, classes: &[Class], children: &[Child]) -> u128 {
        if period == self.period && own >= self.times.highest() {
            return own;
        }
        let first_child = self.stands.first_child as usize;
        let time = |turn: usize| {
            let child = &classes[children[first_child + turn].class as usize];
            (child.state == State::Active).then_some(child.virtual_time)
        };
        let Some(latest) = self.times.latest(time) else { return self.offset };
        let middle = self.least.map_or(latest, |least| least.midpoint(latest));
        if period == self.period { middle.max(own) } else { middle }
    }

    /// How many may not send yet.
    pub(super) fn held(&self) -> usize {
        self.held.as_ref().map_or(0, |held| held.len())
    }

    /// The first of those that may not send yet, and when it may.
    #[inline(always)]
    fn first_held(&self) -> Option<(Instant, usize)> {
        self.held.as_ref()?.first()
    }

    /// When the first of them may send.
    #[inline(always)]
    pub(super) fn fit_time(&self) -> Instant {
        if self.fit.is_empty() {
            self.first_held().map_or(Instant::NEVER, |(fit, _)| fit)
        } else {
            Instant::ZERO
        }
    }

    /// Puts an active child among those that may send now, or those that may not: by its own limit, and `below`, when the first
    /// below it may.
    #[inline(always)]
    pub(super) fn place<const LIMITED: bool>(&mut self, child: &Class, below: Instant, now: Instant) {
        let turn = child.turn as usize;
        if LIMITED && let Some(held) = &mut self.held {
            let fit = below.max(child.fit_time());
            if fit > now {
                self.fit.remove(turn);
                held.set(turn, fit);
                return;
            }
            held.remove(turn);
        }
        self.fit.set(turn, child.virtual_time);
    }

    /// Those whose limit has let them go since they were last looked at may send.
    pub(super) fn release(&mut self, classes: &[Class], children: &[Child], now: Instant) {
        while let (Some((fit, turn)), Some(held)) = (self.first_held(), &mut self.held)
            && fit <= now
        {
            held.remove(turn);
            let child = children[self.stands.first_child as usize + turn];
            self.fit.set(turn, classes[child.class as usize].virtual_time);
        }
    }

    /// An active child is passive now. Returns whether all are.
    fn leave(&mut self, child: &mut Class) -> bool {
        child.state = State::Passive;
        self.offset = self.offset.max(child.virtual_time);
        let turn = child.turn as usize;
        self.fit.remove(turn);
        if let Some(held) = &mut self.held {
            held.remove(turn);
        }
        self.times.remove(turn);
        self.active -= 1;
        self.active == 0
    }

    /// Notes an active child's virtual time, or that it is `passive`. Returns whether all are.
    #[inline(always)]
    pub(super) fn settle<const LIMITED: bool>(
        &mut self,
        child: &mut Class,
        below: Instant,
        passive: bool,
        now: Instant,
    ) -> bool {
        if passive {
            return self.leave(child);
        }
        self.times.set(child.turn as usize, child.virtual_time);
        self.place::<LIMITED>(child, below, now);
        false
    }

    /// A child was chosen. Where nobody is held back, it is never behind those that were chosen before.
    #[inline(always)]
    pub(super) fn note_least<const LIMITED: bool>(&mut self, child: &Class) {
        let before = if LIMITED { self.least } else { None };
        self.least = Some(before.map_or(child.virtual_time, |least| least.max(child.virtual_time)));
    }

    /// A packet left an active child: its virtual time goes on.
    #[inline(always)]
    pub(super) fn advance<const LIMITED: bool>(&mut self, child: &mut Class, sent: Sent) {
        if sent.by_share {
            self.note_least::<LIMITED>(child);
        }
        child.advance::<LIMITED>(sent.work, self.least);
    }

    /// A packet left a child, which takes part; `passive` where nothing there has a backlog any more. Returns whether that is so
    /// here.
    #[inline(always)]
    pub(super) fn sent<const LIMITED: bool>(
        &mut self,
        child: &mut Class,
        sent: Sent,
        below: Instant,
        passive: bool,
        now: Instant,
    ) -> bool {
        if child.state != State::Active {
            if child.state == State::Passive {
                child.go::<LIMITED>(sent.work);
            }
            return passive;
        }
        self.advance::<LIMITED>(child, sent);
        self.settle::<LIMITED>(child, below, passive, now)
    }
}
