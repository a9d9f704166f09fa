//! The link-sharing criterion: from the top down, the class with the smallest virtual time that is not over its
//! upper limit.

use crate::class::Classes;
use crate::queue::tournament::Tournament;
use crate::units::{Bytes, Instant};

use super::curve::{Curve, Shape, work};
use super::times::Times;

/// The curves of a class's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    pub(super) link_share: Option<Shape>,
    pub(super) upper_limit: Option<Shape>,
}

/// A class that takes part in link sharing.
struct Member {
    shape: Shape,
    /// Virtual time by work; `None` until it first has a backlog.
    curve: Option<Curve>,
    /// Its virtual time in picoseconds.
    virtual_time: u128,
    /// How far its virtual time was put forward since its backlog began, where a limit had held it back.
    put_forward: u128,
    /// The parent's backlog period in which it last had a backlog.
    period: u64,
    limit: Option<Box<Limit>>,
}

/// An upper limit.
struct Limit {
    shape: Shape,
    curve: Option<Curve>,
    /// When its work was within it: it may send from then on.
    fit: Instant,
}

/// A class, or the root that stands above those at the top.
struct Class {
    /// The root has none.
    parent: Option<usize>,
    turn: usize,
    /// What was sent under either criterion, in picobits.
    total: u128,
    is_active: bool,
    member: Option<Box<Member>>,
    inner: Option<Box<Inner>>,
}

/// What a class knows of those below it that have a backlog.
#[repr(C)]
struct Inner {
    // What choosing looks at comes first.
    /// Those that may send, by virtual time.
    fit: Tournament<u128>,
    /// Those that may not yet, by when they may.
    held: Tournament<Instant>,
    /// Virtual time of the child chosen last in this backlog period.
    least: Option<u128>,
    children: Box<[u32]>,
    /// The virtual times of all of them.
    times: Times,
    /// The latest virtual time with which a child became passive: where the next period begins.
    offset: u128,
    /// Number of the backlog period.
    period: u64,
}

impl Inner {
    fn new(children: Box<[u32]>) -> Self {
        let slots = children.len();
        Self {
            children,
            fit: Tournament::new(slots),
            held: Tournament::new(slots),
            times: Times::new(slots),
            least: None,
            offset: 0,
            period: 0,
        }
    }

    /// Where a child begins that last had a backlog in `period`, and had come to `own` then: halfway between
    /// the first and the last, and not behind where it was.
    fn entry(&mut self, period: u64, own: u128) -> u128 {
        if period == self.period && own >= self.times.highest() {
            return own;
        }
        let Some(latest) = self.times.latest() else { return self.offset };
        let middle = self.least.map_or(latest, |least| least.midpoint(latest));
        if period == self.period { middle.max(own) } else { middle }
    }
}

/// The tree of classes as link sharing sees it.
pub(super) struct Sharing {
    /// The classes in pre-order, and the root.
    classes: Vec<Class>,
    root: usize,
}

impl Sharing {
    pub(super) fn new(classes: &Classes, shares: &[Shares]) -> Self {
        let root = classes.len();
        let numbers = |classes: &[usize]| classes.iter().map(|class| *class as u32).collect();
        let class = |number: usize| {
            let parent = classes.parent(number);
            let siblings = parent.map_or(classes.tops(), |parent| classes.children(parent));
            Class {
                parent: Some(parent.unwrap_or(root)),
                // Siblings stand in the order of their numbers.
                turn: siblings.binary_search(&number).unwrap_or(0),
                total: 0,
                is_active: false,
                member: None,
                inner: (!classes.is_leaf(number)).then(|| Box::new(Inner::new(numbers(classes.children(number))))),
            }
        };
        let mut all: Vec<Class> = (0..root).map(class).collect();
        let inner = Some(Box::new(Inner::new(numbers(classes.tops()))));
        all.push(Class { parent: None, turn: 0, total: 0, is_active: false, member: None, inner });
        let mut sharing = Self { classes: all, root };
        sharing.retune(shares);
        sharing
    }

    /// Adopts new curves: all begin anew, level with each other, since a virtual time made with an old curve
    /// would hold its class up, or favour it, long after the change. Nobody is active afterwards.
    pub(super) fn retune(&mut self, shares: &[Shares]) {
        for (class, shares) in self.classes.iter_mut().zip(shares) {
            class.member = shares.link_share.map(|shape| {
                let limit =
                    shares.upper_limit.map(|shape| Box::new(Limit { shape, curve: None, fit: Instant::ZERO }));
                Box::new(Member { shape, curve: None, virtual_time: 0, put_forward: 0, period: 0, limit })
            });
        }
        for class in &mut self.classes {
            class.is_active = false;
            if let Some(inner) = &mut class.inner {
                **inner = Inner::new(inner.children.clone());
            }
        }
    }

    fn inner(&mut self, class: usize) -> Option<&mut Inner> {
        self.classes[class].inner.as_deref_mut()
    }

    /// Whether `class` takes part.
    #[inline]
    pub(super) fn covers(&self, class: usize) -> bool {
        self.classes[class].member.is_some()
    }

    /// When `class` may send: its own limit, and that of the first below.
    #[inline]
    fn fit_time(&self, class: usize) -> Instant {
        let Class { member, inner, .. } = &self.classes[class];
        let limit = member.as_ref().and_then(|member| member.limit.as_ref());
        let own = limit.map_or(Instant::ZERO, |limit| limit.fit);
        match inner {
            Some(inner) if inner.fit.is_empty() => {
                own.max(inner.held.first().map_or(Instant::NEVER, |(fit, _)| fit))
            }
            _ => own,
        }
    }

    /// Puts an active class among those of its parent that may send now, or those that may not.
    #[inline]
    fn place(&mut self, class: usize, now: Instant) {
        let fit = self.fit_time(class);
        let Class { parent: Some(parent), turn, member: Some(member), .. } = &self.classes[class] else { return };
        let (parent, turn, virtual_time) = (*parent, *turn, member.virtual_time);
        let Some(inner) = self.inner(parent) else { return };
        if fit <= now {
            inner.held.remove(turn);
            inner.fit.set(turn, virtual_time);
        } else {
            inner.fit.remove(turn);
            inner.held.set(turn, fit);
        }
    }

    /// A leaf has a backlog since `since`.
    pub(super) fn begin(&mut self, leaf: usize, since: Instant, now: Instant) {
        let mut class = leaf;
        while let Some(parent) = self.classes[class].parent {
            if !self.classes[class].is_active {
                self.activate(class, parent, since);
            }
            let had_another = self.classes[parent].inner.as_ref().is_some_and(|inner| !inner.fit.is_empty());
            self.place(class, now);
            if had_another && self.classes[parent].is_active {
                // It stands where it did, and so do those above.
                break;
            }
            class = parent;
        }
    }

    fn activate(&mut self, class: usize, parent: usize, since: Instant) {
        let Some((period, own)) =
            self.classes[class].member.as_ref().map(|member| (member.period, member.virtual_time))
        else {
            return;
        };
        let Some(inner) = self.inner(parent) else { return };
        if inner.times.count() == 0 {
            inner.period += 1;
            inner.least = None;
            inner.times.begin_period();
        }
        let (entry, period) = (inner.entry(period, own), inner.period);
        self.enter(class, parent, entry, period, since);
    }

    /// `class` begins a backlog at this virtual time.
    #[inline]
    fn enter(&mut self, class: usize, parent: usize, entry: u128, period: u64, since: Instant) {
        let Class { total, turn, is_active, member: Some(member), .. } = &mut self.classes[class] else { return };
        *is_active = true;
        let (total, turn) = (*total, *turn);
        (member.virtual_time, member.put_forward, member.period) = (entry, 0, period);
        begin_curve(&mut member.curve, &member.shape, entry, total);
        if let Some(limit) = &mut member.limit {
            begin_curve(&mut limit.curve, &limit.shape, u128::from(since.as_picos()), total);
            limit.refit(total);
        }
        if let Some(inner) = self.inner(parent) {
            inner.times.set(turn, entry);
        }
    }

    /// A leaf sent its last packet, of this length, and has a backlog again since `since`: what [`sent`](Self::sent) and
    /// [`begin`](Self::begin) do one after the other, in one walk, where others of its parent have a backlog. Returns whether that
    /// is so; nothing has changed where it is not.
    #[inline]
    pub(super) fn sent_and_begun(&mut self, leaf: usize, length: Bytes, since: Instant, now: Instant) -> bool {
        let Class { parent: Some(parent), turn, is_active: true, member: Some(_), .. } = &self.classes[leaf] else {
            return false;
        };
        let (parent, turn) = (*parent, *turn);
        let Some(inner) = self.inner(parent) else { return false };
        if inner.times.count() < 2 {
            return false;
        }
        let least = inner.least.unwrap_or(0);
        let Class { total, member: Some(member), .. } = &mut self.classes[leaf] else { return false };
        *total = total.saturating_add(work(length));
        member.advance(*total, least);
        let own = member.virtual_time;
        let Some(inner) = self.inner(parent) else { return false };
        inner.offset = inner.offset.max(own);
        if own < inner.times.highest() {
            // It asks for the latest of the others.
            inner.times.remove(turn);
        }
        let (entry, period) = (inner.entry(inner.period, own), inner.period);
        self.enter(leaf, parent, entry, period, since);
        self.place(leaf, now);
        self.sent(parent, length, false, now);
        true
    }

    /// A leaf sent a packet of this length, under either criterion; `is_empty` where it has no other. Or the leaf of an inner
    /// class did, for that and those above it.
    #[inline]
    pub(super) fn sent(&mut self, leaf: usize, length: Bytes, is_empty: bool, now: Instant) {
        // A leaf that takes no part leaves those above as they are.
        let (mut class, mut passive) = (leaf, is_empty && self.classes[leaf].is_active);
        while let Some(parent) = self.classes[class].parent {
            let least = self.inner(parent).and_then(|inner| inner.least).unwrap_or(0);
            let Class { total, is_active, member, .. } = &mut self.classes[class];
            *total = total.saturating_add(work(length));
            if let (true, Some(member)) = (*is_active, member) {
                member.advance(*total, least);
                passive = self.settle(class, parent, passive, now);
            }
            class = parent;
        }
    }

    /// A leaf turned out to give nothing.
    pub(super) fn end(&mut self, leaf: usize, now: Instant) {
        let (mut class, mut passive) = (leaf, self.classes[leaf].is_active);
        while let Some(parent) = self.classes[class].parent {
            if self.classes[class].is_active {
                passive = self.settle(class, parent, passive, now);
            }
            class = parent;
        }
    }

    /// Notes an active class's new virtual time with its parent, or that it is `passive`. Returns whether its
    /// parent is passive with it.
    #[inline]
    fn settle(&mut self, class: usize, parent: usize, passive: bool, now: Instant) -> bool {
        let Class { turn, member: Some(member), is_active, .. } = &mut self.classes[class] else { return false };
        let (turn, virtual_time) = (*turn, member.virtual_time);
        *is_active = !passive;
        if !passive {
            if let Some(inner) = self.inner(parent) {
                inner.times.set(turn, virtual_time);
            }
            self.place(class, now);
            return false;
        }
        let Some(inner) = self.inner(parent) else { return false };
        inner.offset = inner.offset.max(virtual_time);
        inner.fit.remove(turn);
        inner.held.remove(turn);
        inner.times.remove(turn);
        inner.times.count() == 0
    }

    /// The leaf whose turn it is.
    #[inline]
    pub(super) fn choose(&mut self, now: Instant) -> Option<usize> {
        let mut class = self.root;
        while let Some(inner) = &mut self.classes[class].inner {
            // Those whose limit has let them go since they were last looked at.
            while let Some((_, turn)) = inner.held.first().filter(|(fit, _)| *fit <= now) {
                inner.held.remove(turn);
                let virtual_time = inner.times.of(turn)?;
                inner.fit.set(turn, virtual_time);
            }
            let (virtual_time, turn) = inner.fit.first()?;
            inner.least = Some(inner.least.map_or(virtual_time, |least| least.max(virtual_time)));
            class = inner.children[turn] as usize;
        }
        Some(class)
    }

    /// When the next class comes under its limit.
    pub(super) fn next_fit(&self) -> Option<Instant> {
        let fit = self.fit_time(self.root);
        (fit < Instant::NEVER).then_some(fit)
    }

    /// The virtual time at the top, in seconds, and how many classes there are held back by a limit.
    pub(super) fn top(&self) -> (f64, usize) {
        let inner = self.classes[self.root].inner.as_ref();
        let least = inner.and_then(|inner| inner.least).unwrap_or(0);
        (least as f64 / 1e12, inner.map_or(0, |inner| inner.held.len()))
    }
}

impl Member {
    /// Its virtual time after `total`; not behind `least`, that of the child chosen last: being held back by a
    /// limit is not made up for.
    #[inline]
    fn advance(&mut self, total: u128, least: u128) {
        let Some(curve) = &mut self.curve else { return };
        self.virtual_time = curve.time_of(total).saturating_add(self.put_forward);
        if self.virtual_time < least {
            self.put_forward += least - self.virtual_time;
            self.virtual_time = least;
        }
        if let Some(limit) = &mut self.limit {
            limit.refit(total);
        }
    }
}

impl Limit {
    #[inline]
    fn refit(&mut self, total: u128) {
        let picos = self.curve.as_mut().map_or(0, |curve| curve.time_of(total));
        self.fit = Instant::from_picos(u64::try_from(picos).unwrap_or(u64::MAX));
    }
}

/// Begins a curve again at `x` with `y` done.
fn begin_curve(curve: &mut Option<Curve>, shape: &Shape, x: u128, y: u128) {
    match curve {
        Some(curve) => curve.lower(shape, x, y),
        None => *curve = Some(Curve::new(shape, x, y)),
    }
}
