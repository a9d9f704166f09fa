//! The link-sharing criterion: from the top down, the class with the smallest virtual time that is not over its
//! upper limit.
//!
//! ```text
//! root    [ 7 a   9 b ]        next: v        each inside has its children by virtual time, and notes which leaf sends
//!           |                                 when it is chosen: that of its first child
//! a       [ 7 u   5 v ]        next: v        a packet that leaves changes these on its way up, so that to choose is to look
//!               |                             at the root's note (where limits let classes go with time: to walk down)
//! ```
//!
//! Where no class has an upper limit, nobody is held back, and no virtual time is ever behind that of a class that was
//! chosen before: methods whose `LIMITED` is false leave out what is for that; true is right for every tree.

mod class;
mod inner;
mod times;

use crate::class::Classes;
use crate::prefetch::prefetch;
use crate::units::{Bytes, Instant};

use super::curve::work;
use super::shape::Shape;
use class::{Class, State};
use inner::{Child, Inner, Stand};

/// The curves of a class's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    pub(super) link_share: Option<Shape>,
    pub(super) upper_limit: Option<Shape>,
}

/// A packet that left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    work: u128,
    /// Whether it was link sharing that chose it.
    by_share: bool,
}

impl Sent {
    pub(super) fn new(length: Bytes, by_share: bool) -> Self {
        Self { work: work(length), by_share }
    }
}

fn has_limits(shares: &[Shares]) -> bool {
    shares.iter().any(|shares| shares.upper_limit.is_some())
}

/// The number of the inside of the root, which stands above the classes at the top and is none.
const ROOT: usize = 0;

/// In the place of a leaf: none may send.
const NOBODY: u32 = u32::MAX;

/// The tree of classes as link sharing sees it.
pub(super) struct Sharing {
    /// In pre-order.
    classes: Vec<Class>,
    /// The insides of inner classes, after that of the root.
    inners: Vec<Inner>,
    /// The root, and those of each inner class in turn.
    children: Vec<Child>,
    /// The leaf that sends when each of them is chosen: itself, where it is one. Kept apart, since every packet needs some.
    next: Vec<u32>,
    /// Whether any class has an upper limit.
    has_limits: bool,
}

impl Sharing {
    pub(super) fn new(classes: &Classes, shares: &[Shares]) -> Self {
        let has_limits = has_limits(shares);
        let inner_classes: Vec<usize> = (0..classes.len()).filter(|class| !classes.is_leaf(*class)).collect();
        let mut inner_numbers = vec![ROOT as u32; classes.len()];
        for (class, number) in inner_classes.iter().zip(ROOT as u32 + 1..) {
            inner_numbers[*class] = number;
        }
        // The root is nobody's child, and stands first.
        let mut children = vec![Child { class: 0, inner: ROOT as u32 }];
        let mut next = vec![NOBODY];
        let mut places = vec![0; classes.len()];
        let mut inners = Vec::with_capacity(inner_classes.len() + 1);
        for class in core::iter::once(None).chain(inner_classes.into_iter().map(Some)) {
            let below = class.map_or(classes.tops(), |class| classes.children(class));
            let (number, place) = class.map_or((0, 0), |class| (class as u32, places[class]));
            let above = class
                .and_then(|class| classes.parent(class))
                .map_or(ROOT as u32, |parent| inner_numbers[parent]);
            let stands = Stand { class: number, above, place, first_child: children.len() as u32 };
            inners.push(Inner::new(stands, below.len(), has_limits));
            for class in below {
                places[*class] = children.len() as u32;
                children.push(Child { class: *class as u32, inner: inner_numbers[*class] });
                next.push(if classes.is_leaf(*class) { *class as u32 } else { NOBODY });
            }
        }
        let class = |number: usize| {
            let parent = classes.parent(number);
            let siblings = parent.map_or(classes.tops(), |parent| classes.children(parent));
            let above = parent.map_or(ROOT as u32, |parent| inner_numbers[parent]);
            // Siblings stand in the order of their numbers.
            let turn = siblings.binary_search(&number).unwrap_or(0) as u32;
            Class::new(shares[number], above, turn, inner_numbers[number])
        };
        Self { classes: (0..classes.len()).map(class).collect(), inners, children, next, has_limits }
    }

    /// Adopts new curves: all begin anew, level with each other, since a virtual time made with an old curve
    /// would hold its class up, or favour it, long after the change. Nobody is active afterwards.
    pub(super) fn retune(&mut self, shares: &[Shares]) {
        for (class, shares) in self.classes.iter_mut().zip(shares) {
            *class = Class::new(*shares, class.above, class.turn, class.inner);
        }
        self.has_limits = has_limits(shares);
        for inner in &mut self.inners {
            self.next[inner.stands.place as usize] = NOBODY;
            *inner = Inner::new(inner.stands, inner.fit.slots(), self.has_limits);
        }
    }

    /// Whether `class` takes part.
    #[inline]
    pub(super) fn covers(&self, class: usize) -> bool {
        self.classes[class].state != State::Apart
    }

    /// A class, and what is above it.
    #[inline(always)]
    fn with_above(&mut self, class: usize) -> (&mut Class, &mut Inner) {
        let class = &mut self.classes[class];
        let above = &mut self.inners[class.above as usize];
        (class, above)
    }

    /// When the first below `inner` may send; any time, where that is the root: nothing is below a leaf.
    #[inline(always)]
    fn fit_below(&self, inner: usize) -> Instant {
        if inner == ROOT { Instant::ZERO } else { self.inners[inner].fit_time() }
    }

    /// Puts an active class among those of its parent that may send now, or those that may not.
    #[inline]
    fn place(&mut self, class: usize, now: Instant) {
        let below = self.fit_below(self.classes[class].inner as usize);
        let (class, above) = self.with_above(class);
        above.place::<true>(class, below, now);
    }

    /// A leaf has a backlog since `since`.
    pub(super) fn begin(&mut self, leaf: usize, since: Instant, now: Instant) {
        let mut number = leaf;
        loop {
            let above = self.classes[number].above as usize;
            let had_another = !self.inners[above].fit.is_empty();
            match self.classes[number].state {
                State::Apart => return,
                State::Fresh | State::Passive => self.activate(number, since),
                State::Active => {}
            }
            self.place(number, now);
            let parent = self.inners[above].stands.class as usize;
            if above == ROOT || had_another && self.classes[parent].state == State::Active {
                // It stands where it did, and so do those above.
                return self.note_next_above(above);
            }
            self.note_next(above);
            number = parent;
        }
    }

    fn activate(&mut self, class: usize, since: Instant) {
        let Class { period, virtual_time, above, .. } = self.classes[class];
        let inner = &mut self.inners[above as usize];
        if inner.active == 0 {
            inner.period += 1;
            inner.least = None;
            inner.times.begin_period();
        }
        inner.active += 1;
        self.classes[class].period = inner.period;
        let entry = inner.entry(period, virtual_time, &self.classes, &self.children);
        self.enter(class, entry, since);
    }

    /// `class` begins a backlog at this virtual time.
    #[inline(always)]
    fn enter(&mut self, class: usize, entry: u128, since: Instant) {
        let has_limits = self.has_limits;
        let (class, above) = self.with_above(class);
        if has_limits {
            class.enter::<true>(entry, since);
        } else {
            class.enter::<false>(entry, since);
        }
        above.times.set(class.turn as usize, entry);
    }

    /// A leaf sent its last packet, and most often has another by the time of the next: so it stays where it is,
    /// where others of its parent have a backlog, until it is known whether it [begins again](Self::begin_again) or
    /// [ends](Self::end). Returns whether that is so; nothing has changed where it is not.
    #[inline(always)]
    pub(super) fn sent_last(&mut self, leaf: usize, sent: Sent, now: Instant) -> bool {
        if self.has_limits {
            self.sent_last_where::<true>(leaf, sent, now)
        } else {
            self.sent_last_where::<false>(leaf, sent, now)
        }
    }

    #[inline]
    fn sent_last_where<const LIMITED: bool>(&mut self, leaf: usize, sent: Sent, now: Instant) -> bool {
        let (class, above) = self.with_above(leaf);
        if class.state != State::Active || above.active < 2 {
            return false;
        }
        above.advance::<LIMITED>(class, sent);
        above.place::<LIMITED>(class, Instant::ZERO, now);
        let above = class.above;
        self.sent_above::<LIMITED>(above, sent, false, now);
        true
    }

    /// A leaf that stayed after its last packet has a backlog again.
    #[inline]
    pub(super) fn begin_again(&mut self, leaf: usize, now: Instant) {
        let class = &mut self.classes[leaf];
        let inner = &mut self.inners[class.above as usize];
        let own = class.virtual_time;
        inner.offset = inner.offset.max(own);
        let mut entry = own;
        if own < inner.times.highest() {
            // It asks for the latest of the others.
            class.state = State::Passive;
            inner.times.remove(class.turn as usize);
            entry = inner.entry(inner.period, own, &self.classes, &self.children);
        }
        self.enter(leaf, entry, now);
        if entry != own || self.has_limits {
            self.place(leaf, now);
            self.note_next_above(self.classes[leaf].above as usize);
        }
    }

    /// A leaf sent a packet, under either criterion; `is_empty` where it has no other.
    #[inline(always)]
    pub(super) fn sent(&mut self, leaf: usize, sent: Sent, is_empty: bool, now: Instant) {
        if self.has_limits {
            self.sent_where::<true>(leaf, sent, is_empty, now);
        } else {
            self.sent_where::<false>(leaf, sent, is_empty, now);
        }
    }

    #[inline]
    fn sent_where<const LIMITED: bool>(&mut self, leaf: usize, sent: Sent, is_empty: bool, now: Instant) {
        let (class, above) = self.with_above(leaf);
        let passive = match class.state {
            // It leaves those above as they are.
            State::Apart => false,
            State::Fresh | State::Passive | State::Active => {
                let is_last = is_empty && class.state == State::Active;
                above.sent::<LIMITED>(class, sent, Instant::ZERO, is_last, now)
            }
        };
        let above = class.above;
        self.sent_above::<LIMITED>(above, sent, passive, now);
    }

    /// A packet left from below `inner`; `passive` where nothing there has a backlog any more.
    #[inline(always)]
    fn sent_above<const LIMITED: bool>(
        &mut self,
        mut inner: u32,
        sent: Sent,
        mut passive: bool,
        now: Instant,
    ) {
        self.note_next(inner as usize);
        while inner as usize != ROOT {
            let inside = &self.inners[inner as usize];
            let (Stand { class, above, .. }, below) =
                (inside.stands, if LIMITED { inside.fit_time() } else { Instant::ZERO });
            let (class, parent) = (&mut self.classes[class as usize], &mut self.inners[above as usize]);
            passive = parent.sent::<LIMITED>(class, sent, below, passive, now);
            inner = above;
            self.note_next(inner as usize);
        }
    }

    /// A leaf that was chosen gave nothing: those above it were chosen all the same.
    pub(super) fn chosen_in_vain(&mut self, leaf: usize) {
        let mut number = leaf;
        loop {
            let (class, above) = self.with_above(number);
            above.note_least::<true>(class);
            if class.above as usize == ROOT {
                return;
            }
            number = above.stands.class as usize;
        }
    }

    /// A leaf turned out to give nothing, or had sent its last packet.
    pub(super) fn end(&mut self, leaf: usize, now: Instant) {
        let (mut number, mut passive) = (leaf, self.classes[leaf].state == State::Active);
        loop {
            let below = self.fit_below(self.classes[number].inner as usize);
            let (class, above) = self.with_above(number);
            if class.state == State::Active {
                passive = above.settle::<true>(class, below, passive, now);
            }
            let (inner, parent) = (class.above as usize, above.stands.class);
            self.note_next(inner);
            if inner == ROOT {
                return;
            }
            number = parent as usize;
        }
    }

    /// The leaf whose turn it is.
    #[inline(always)]
    pub(super) fn choose(&mut self, now: Instant) -> Option<usize> {
        if self.has_limits {
            return self.descend(now);
        }
        debug_assert_eq!(self.next(), self.descend(now), "what is noted is not whose turn it is");
        self.next()
    }

    /// The leaf whose turn it is, where limits may have let classes go since they were last looked at.
    fn descend(&mut self, now: Instant) -> Option<usize> {
        let mut number = ROOT;
        loop {
            let inner = &mut self.inners[number];
            inner.release(&self.classes, &self.children, now);
            let turn = inner.fit.first_slot()?;
            let child = self.children[inner.stands.first_child as usize + turn];
            number = child.inner as usize;
            if number == ROOT {
                return Some(child.class as usize);
            }
        }
    }

    /// The leaf whose turn it is next, as far as limits do not let others go until then.
    #[inline(always)]
    pub(super) fn next(&self) -> Option<usize> {
        let next = self.next[0];
        (next != NOBODY).then_some(next as usize)
    }

    /// Prefetches the state of `leaf`.
    #[inline(always)]
    pub(super) fn prefetch(&self, leaf: usize) {
        prefetch(&self.classes[leaf].virtual_time);
    }

    /// Notes which leaf sends when `inner` is chosen.
    #[inline(always)]
    fn note_next(&mut self, inner: usize) {
        let Inner { fit, stands: Stand { first_child, place, .. }, .. } = &self.inners[inner];
        self.next[*place as usize] = match fit.first_slot() {
            Some(turn) => self.next[*first_child as usize + turn],
            None => NOBODY,
        };
    }

    /// [`note_next`](Self::note_next) from `inner` to the top.
    fn note_next_above(&mut self, mut inner: usize) {
        loop {
            self.note_next(inner);
            if inner == ROOT {
                return;
            }
            inner = self.inners[inner].stands.above as usize;
        }
    }

    /// When the next class comes under its limit.
    pub(super) fn next_fit(&self) -> Option<Instant> {
        let fit = self.inners[ROOT].fit_time();
        (fit < Instant::NEVER).then_some(fit)
    }

    /// The virtual time at the top, in seconds, and how many classes there are held back by a limit.
    pub(super) fn top(&self) -> (f64, usize) {
        let root = &self.inners[ROOT];
        (root.least.unwrap_or(0) as f64 / 1e12, root.held())
    }
}
