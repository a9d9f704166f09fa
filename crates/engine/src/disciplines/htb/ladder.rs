//! Which classes may send, and on whose tokens: the state of `htb` without its packets.
//!
//! ```text
//! level 2   rows of can-send classes ->  [campus]          campus lends; its feed leads to who borrows
//! level 1   one row a priority           [  ]                 |- staff (may borrow)
//! level 0                                [voice]              |    '- bulk (may borrow)
//! ```
//!
//! A class is *listed* for a priority while a leaf of it waits: a leaf with a backlog for its own, an inner
//! class for those of the children that borrow from it. A listed class that can send stands in the row of its
//! level, one that may borrow in its parent's feed, one that cannot send nowhere. Only listed classes keep
//! their mode up to date, and the wait heap holds exactly those of them that cannot send on their own.

use crate::class::Classes;
use crate::queue::tournament::Tournament;
use crate::units::{Bytes, Instant};

use super::bucket::Bucket;
use super::turns::Turns;
use super::{PRIORITIES, Tuning};

/// What a class may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Its own tokens pay.
    CanSend,
    /// It is over its rate, but not over its ceiling: its parent's tokens may pay.
    MayBorrow,
    /// It is over its ceiling.
    CannotSend,
}

/// A class's state.
struct Class {
    parent: Option<usize>,
    /// Its place among its siblings.
    turn: usize,
    /// 0 for a leaf; for an inner class one less than its parent's.
    level: usize,
    tuning: Tuning,
    rate: Bucket,
    ceil: Bucket,
    /// Up to when the buckets are filled.
    filled: Instant,
    mode: Mode,
    /// The priorities it is listed for, a bit each.
    listed: u8,
    /// What is below; nothing for a leaf.
    inner: Option<Box<Inner>>,
}

/// What an inner class has besides.
struct Inner {
    children: Box<[usize]>,
    /// Those of them that borrow from it, by priority: numbers in `feeds`.
    feeds: [u32; PRIORITIES],
}

impl Class {
    #[inline]
    fn fill(&mut self, now: Instant) {
        let elapsed = now.since(self.filled);
        if !elapsed.is_zero() {
            self.rate.fill(elapsed);
            self.ceil.fill(elapsed);
            self.filled = now;
        }
    }

    /// Its mode, and when it next changes by itself.
    #[inline]
    fn judge(&mut self, now: Instant) -> (Mode, Option<Instant>) {
        self.fill(now);
        if !self.ceil.is_solvent() {
            (Mode::CannotSend, Some(now + self.ceil.recovery()))
        } else if !self.rate.is_solvent() {
            (Mode::MayBorrow, Some(now + self.rate.recovery()))
        } else {
            (Mode::CanSend, None)
        }
    }
}

/// Rows, feeds, modes and the wait heap.
pub(super) struct Ladder {
    states: Vec<Class>,
    feeds: Vec<Turns>,
    /// Level after level, a row for each priority.
    rows: Vec<Turns>,
    /// The priorities whose rows are not empty, a bit each, by level.
    ready: Vec<u8>,
    /// What a leaf may still send in its turn at each lender's level.
    deficits: Vec<i64>,
    wakes: Tournament<Instant>,
}

impl Ladder {
    pub(super) fn new(classes: &Classes, tunings: Vec<Tuning>) -> Self {
        let tops = classes.tops().iter().map(|top| classes.height(*top)).max().unwrap_or(0);
        let mut states: Vec<Class> = Vec::with_capacity(tunings.len());
        for (class, tuning) in tunings.into_iter().enumerate() {
            let parent = classes.parent(class);
            let siblings = parent.map_or(classes.tops(), |parent| classes.children(parent));
            let level = match parent {
                _ if classes.is_leaf(class) => 0,
                Some(parent) => states[parent].level - 1,
                None => tops,
            };
            states.push(Class {
                parent,
                // Siblings stand in the order of their numbers.
                turn: siblings.binary_search(&class).unwrap_or(0),
                level,
                rate: Bucket::new(tuning.rate, tuning.burst),
                ceil: Bucket::new(tuning.ceil, tuning.cburst),
                tuning,
                filled: Instant::ZERO,
                mode: Mode::CanSend,
                listed: 0,
                inner: (!classes.is_leaf(class))
                    .then(|| Box::new(Inner { children: classes.children(class).into(), feeds: [0; PRIORITIES] })),
            });
        }
        let levels = tops + 1;
        let mut ladder = Self {
            wakes: Tournament::new(states.len()),
            deficits: vec![0; states.len() * levels],
            ready: vec![0; levels],
            rows: Vec::new(),
            feeds: Vec::new(),
            states,
        };
        ladder.lay_out(classes);
        ladder
    }

    /// Makes rows and feeds anew, for the priorities there are, with nobody in them.
    fn lay_out(&mut self, classes: &Classes) {
        let mut used = vec![0_u8; self.states.len()];
        let mut all = 0;
        for class in (0..self.states.len()).rev() {
            if classes.is_leaf(class) {
                used[class] = 1 << self.states[class].tuning.priority;
                all |= used[class];
            }
            if let Some(parent) = self.states[class].parent {
                used[parent] |= used[class];
            }
        }
        let bound = |used: bool, members: usize| if used { members } else { 0 };
        self.rows = (0..self.ready.len() * PRIORITIES)
            .map(|row| Turns::new(bound(all & (1 << (row % PRIORITIES)) != 0, self.states.len()), self.ready.len()))
            .collect();
        self.feeds.clear();
        for (class, state) in self.states.iter_mut().enumerate() {
            state.listed = 0;
            let Some(inner) = &mut state.inner else { continue };
            for priority in bits(used[class]) {
                inner.feeds[priority] = self.feeds.len() as u32;
                self.feeds.push(Turns::new(inner.children.len(), self.ready.len()));
            }
        }
        self.ready.fill(0);
        self.deficits.fill(0);
        self.wakes.clear();
    }

    /// Adopts new parameters. Tokens are kept as far as they fit; nobody is listed afterwards.
    pub(super) fn retune(&mut self, classes: &Classes, tunings: Vec<Tuning>, now: Instant) {
        for (state, tuning) in self.states.iter_mut().zip(tunings) {
            state.fill(now);
            state.rate = state.rate.retuned(tuning.rate, tuning.burst);
            state.ceil = state.ceil.retuned(tuning.ceil, tuning.cburst);
            state.tuning = tuning;
        }
        self.lay_out(classes);
    }

    #[inline]
    fn row(&mut self, level: usize, priority: usize) -> &mut Turns {
        &mut self.rows[level * PRIORITIES + priority]
    }

    #[inline]
    fn feed(&mut self, class: usize, priority: usize) -> &mut Turns {
        let feed = self.states[class].inner.as_ref().map_or(0, |inner| inner.feeds[priority]);
        &mut self.feeds[feed as usize]
    }

    /// Puts a class that is listed for `priorities` where its mode belongs, and lists those above as needed.
    fn link(&mut self, mut class: usize, mut priorities: u8, now: Instant) {
        loop {
            let Class { mode, level, turn, parent, .. } = self.states[class];
            match (mode, parent) {
                (Mode::CanSend, _) => {
                    for priority in bits(priorities) {
                        self.row(level, priority).insert(class);
                    }
                    self.ready[level] |= priorities;
                    return;
                }
                (Mode::MayBorrow, Some(above)) => {
                    for priority in bits(priorities) {
                        self.feed(above, priority).insert(turn);
                    }
                    let state = &mut self.states[above];
                    let was = state.listed;
                    state.listed |= priorities;
                    priorities &= !was;
                    if was == 0 {
                        self.follow(above, now);
                    }
                    if priorities == 0 {
                        return;
                    }
                    class = above;
                }
                (Mode::MayBorrow, None) | (Mode::CannotSend, _) => return,
            }
        }
    }

    /// Takes a class that is listed for `priorities` out of where its mode had put it, and unlists those above
    /// that nobody borrows from any more.
    fn unlink(&mut self, mut class: usize, mut priorities: u8) {
        loop {
            let Class { mode, level, turn, parent, .. } = self.states[class];
            match (mode, parent) {
                (Mode::CanSend, _) => {
                    for priority in bits(priorities) {
                        let row = self.row(level, priority);
                        row.remove(class);
                        if row.is_empty() {
                            self.ready[level] &= !(1 << priority);
                        }
                    }
                    return;
                }
                (Mode::MayBorrow, Some(above)) => {
                    for priority in bits(priorities) {
                        let feed = self.feed(above, priority);
                        feed.remove(turn);
                        if !feed.is_empty() {
                            priorities &= !(1 << priority);
                        }
                    }
                    if priorities == 0 {
                        return;
                    }
                    let state = &mut self.states[above];
                    state.listed &= !priorities;
                    if state.listed == 0 {
                        self.wakes.remove(above);
                    }
                    class = above;
                }
                (Mode::MayBorrow, None) | (Mode::CannotSend, _) => return,
            }
        }
    }

    /// Finds out the mode of a class that begins to be listed and stands nowhere yet.
    fn follow(&mut self, class: usize, now: Instant) {
        let (mode, wake) = self.states[class].judge(now);
        self.states[class].mode = mode;
        if let Some(wake) = wake {
            self.wakes.set(class, wake);
        }
    }

    /// Brings the mode of a listed class up to date, and its place with it.
    fn refresh(&mut self, class: usize, now: Instant) {
        let (mode, wake) = self.states[class].judge(now);
        match wake {
            Some(wake) => self.wakes.set(class, wake),
            None => {
                self.wakes.remove(class);
            }
        }
        let Class { mode: was, listed, .. } = self.states[class];
        if mode != was {
            self.unlink(class, listed);
            self.states[class].mode = mode;
            self.link(class, listed, now);
        }
    }

    /// What `class` says, with its defaults filled in.
    pub(super) fn tuning(&self, class: usize) -> &Tuning {
        &self.states[class].tuning
    }

    /// Whether `leaf` is listed.
    #[inline]
    pub(super) fn is_listed(&self, leaf: usize) -> bool {
        self.states[leaf].listed != 0
    }

    /// Lists a leaf that has packets. Nothing happens where it is listed.
    #[inline]
    pub(super) fn list(&mut self, leaf: usize, now: Instant) {
        if self.is_listed(leaf) {
            return;
        }
        let priorities = 1 << self.states[leaf].tuning.priority;
        self.states[leaf].listed = priorities;
        self.follow(leaf, now);
        self.link(leaf, priorities, now);
    }

    /// Unlists a leaf that gives nothing; it saves up nothing of its turns.
    pub(super) fn unlist(&mut self, leaf: usize) {
        let listed = self.states[leaf].listed;
        self.unlink(leaf, listed);
        self.states[leaf].listed = 0;
        self.wakes.remove(leaf);
        let levels = self.ready.len();
        self.deficits[leaf * levels..][..levels].fill(0);
    }

    /// Changes the modes whose time has come.
    #[inline]
    pub(super) fn wake(&mut self, now: Instant) {
        while let Some((_, class)) = self.wakes.first().filter(|(wake, _)| *wake <= now) {
            self.refresh(class, now);
        }
    }

    /// When a mode next changes.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        self.wakes.first().map(|(wake, _)| wake)
    }

    /// The leaf whose turn it is, and the level of the class whose tokens pay: the lowest level first, there
    /// the lowest priority number, there the turns.
    #[inline]
    pub(super) fn choose(&mut self) -> Option<(usize, usize)> {
        let level = self.ready.iter().position(|ready| *ready != 0)?;
        let priority = self.ready[level].trailing_zeros() as usize;
        let mut class = self.row(level, priority).current(level)?;
        while let Some(inner) = &self.states[class].inner {
            let turn = self.feeds[inner.feeds[priority] as usize].current(level)?;
            class = inner.children[turn];
        }
        Some((class, level))
    }

    /// Accounts for a packet of this length that `leaf` sent on the tokens of a class of level `lender`.
    #[inline]
    pub(super) fn sent(&mut self, leaf: usize, lender: usize, length: Bytes, now: Instant, is_empty: bool) {
        self.take_turn(leaf, lender, length);
        let mut class = leaf;
        loop {
            let state = &mut self.states[class];
            state.fill(now);
            let cost = state.tuning.cost(length);
            state.ceil.charge(cost);
            if state.level >= lender {
                state.rate.charge(cost);
            }
            let Some(above) = state.parent else { break };
            class = above;
        }
        if is_empty {
            self.unlist(leaf);
        }
        let mut class = Some(leaf);
        while let Some(at) = class {
            if self.states[at].listed != 0 {
                self.refresh(at, now);
            }
            class = self.states[at].parent;
        }
    }

    /// Takes a packet of this length from what `leaf` may send in its turn, and ends the turn if it is used up.
    #[inline]
    fn take_turn(&mut self, leaf: usize, lender: usize, length: Bytes) {
        let levels = self.ready.len();
        let Tuning { quantum, priority, .. } = self.states[leaf].tuning;
        let deficit = &mut self.deficits[leaf * levels + lender];
        *deficit = deficit.saturating_sub_unsigned(length.0);
        if *deficit >= 0 {
            return;
        }
        // A packet is sent each turn, however small the quantum: a debt of more is not carried on.
        *deficit = deficit.saturating_add(quantum).max(0);
        let mut class = leaf;
        loop {
            let Class { level, turn, parent, .. } = self.states[class];
            let Some(above) = parent.filter(|_| level < lender) else {
                self.row(level, priority).end(class, lender);
                return;
            };
            // Only a whole round below is a turn above: who borrows shares by its quantum, wherever it stands.
            if !self.feed(above, priority).end(turn, lender) {
                return;
            }
            class = above;
        }
    }

    /// What is shown of it.
    pub(super) fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let Some(top) = self.states.first() else { return };
        emit("tokens_bytes", top.rate.as_bytes());
        emit("ctokens_bytes", top.ceil.as_bytes());
        let count = |mode| self.states.iter().filter(|state| state.listed != 0 && state.mode == mode).count();
        emit("can_send_classes", count(Mode::CanSend) as f64);
        emit("may_borrow_classes", count(Mode::MayBorrow) as f64);
        emit("cannot_send_classes", count(Mode::CannotSend) as f64);
    }
}

/// The numbers of the bits that are set.
#[inline]
fn bits(mut set: u8) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(lowest)
    })
}
