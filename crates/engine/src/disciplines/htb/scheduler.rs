//! Scheduler of `htb`: which classes may send, and whose tokens pay. Knows packets by their lengths only.
//!
//! ```text
//! level   row: can send   feeds: children that borrow
//! 2       [campus]        campus lends to its feed [staff]
//! 1       [ ]             staff may borrow, for its feed [bulk]
//! 0       [voice]         bulk may borrow
//! ```
//!
//! A class is *listed* for a priority while a leaf of it is backlogged: a leaf for its own priority, an
//! inner class for those of the children that borrow from it. The mode of a listed class decides where it
//! is linked:
//!
//! ```text
//! mode          linked in                 leaves the mode when
//! CanSend       the row of its level      its rate is overdrawn: MayBorrow, or CannotSend
//! MayBorrow     its parent's feed         its rate is paid back: CanSend; its ceiling overdrawn: CannotSend
//! CannotSend    nowhere                   its ceiling is paid back: MayBorrow, or CanSend
//! ```
//!
//! Selection: the lowest level with a non-empty row, there the lowest priority, there the turn of a
//! [`RoundRobin`]; from an inner class down through the feeds to a leaf. `ready` has a bit per non-empty
//! row.
//!
//! # Lazy wake-ups
//!
//! Only listed classes keep their mode up to date. Those that cannot send on their own have an entry in the
//! winner tree `wakes`. Invariant: the entry is a lower bound of the time at which the mode changes. A
//! packet can only postpone that time, so it just sets `wake_is_stale`; the time is recomputed when the
//! entry comes first. This saves a division of 128 bits per packet and inner class in debt; the flag
//! itself, which saves a recomputation that would change nothing, took a thousand classes at their limits
//! from 156 to 143 ns (decision 070).
//!
//! Cost: O(levels) a packet; a change of mode costs O(levels · priorities) and one update of the winner
//! tree.

use crate::class::Classes;
use crate::overhead::Framing;
use crate::prefetch::prefetch;
use crate::queue::key_tree::KeyTree;
use crate::units::{Bytes, Instant, Rate};

use super::bucket::Bucket;
use super::round_robin::RoundRobin;
use super::{PRIORITIES, Tuning};

/// Mode of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Its own tokens pay.
    CanSend,
    /// It is over its rate, but not over its ceiling: its parent's tokens may pay.
    MayBorrow,
    /// It is over its ceiling.
    CannotSend,
}

/// State of a class. Two cache lines.
#[derive(Clone)]
#[repr(align(64))]
struct Class {
    rate: Bucket,
    ceil: Bucket,
    /// Time up to which the buckets are filled.
    filled: Instant,
    quantum: i64,
    parent: Option<u32>,
    /// Index among its siblings.
    child_index: u32,
    /// Level: 0 for a leaf; for an inner class one less than its parent's.
    level: u32,
    /// Children; empty for a leaf.
    children: Box<[u32]>,
    /// Index of the first of its feeds. It has one feed for each bit of `priorities`, with the children that
    /// borrow at that priority.
    feeds: u32,
    /// Bitmap of the priorities of the leaves below; of a leaf, its own.
    priorities: u8,
    mpu: u16,
    framing: Framing,
    overhead: i32,
    priority: u8,
    mode: Mode,
    /// Set of the priorities for which it is listed, a bit each.
    listed: u8,
    /// True if the entry in `wakes` is only a lower bound, to be recomputed when it comes first.
    wake_is_stale: bool,
}

impl Class {
    /// Adopts the parameters that do not belong to a bucket.
    fn adopt(&mut self, tuning: &Tuning) {
        self.quantum = tuning.quantum;
        self.priority = tuning.priority as u8;
        self.mpu = tuning.mpu.0 as u16;
        (self.overhead, self.framing) = (tuning.overhead, tuning.framing);
    }

    #[inline]
    fn parent(&self) -> Option<usize> {
        self.parent.map(|parent| parent as usize)
    }

    /// Returns the index of the feed of this priority.
    #[inline]
    fn feed(&self, priority: usize) -> usize {
        let before = self.priorities & ((1 << priority) - 1);
        self.feeds as usize + before.count_ones() as usize
    }

    /// Returns the cost of a packet of this length.
    #[inline]
    fn cost(&self, length: Bytes) -> Bytes {
        let packet = length.0.saturating_add_signed(self.overhead.into()).max(self.mpu.into());
        self.framing.on_link(Bytes(packet))
    }

    #[inline]
    fn fill(&mut self, now: Instant) {
        let elapsed = now.since(self.filled);
        if !elapsed.is_zero() {
            self.rate.fill(elapsed);
            self.ceil.fill(elapsed);
            self.filled = now;
        }
    }

    /// Returns the mode as of the last fill.
    #[inline]
    fn judge(&self) -> Mode {
        if !self.ceil.is_solvent() {
            Mode::CannotSend
        } else if !self.rate.is_solvent() {
            Mode::MayBorrow
        } else {
            Mode::CanSend
        }
    }

    /// Returns the time at which its mode next changes by itself.
    #[inline]
    fn wake(&self) -> Option<Instant> {
        let recovery = match self.judge() {
            Mode::CannotSend => self.ceil.recovery(),
            Mode::MayBorrow => self.rate.recovery(),
            Mode::CanSend => return None,
        };
        Some(self.filled + recovery)
    }
}

/// Selected leaf, and the list that it was selected from.
#[derive(Clone, Copy)]
pub(super) struct Selection<'a> {
    /// The leaf.
    pub(super) leaf: usize,
    /// Level of the class whose tokens pay.
    pub(super) lender: usize,
    /// Row or feed that it was selected from.
    list: &'a RoundRobin,
    /// Its index in the list.
    index: usize,
    /// Classes by their indices in a feed; empty for a row, whose indices are the classes.
    siblings: &'a [u32],
}

impl Selection<'_> {
    /// Returns the class after the leaf in its list, if there is another.
    #[inline]
    fn following(&self) -> Option<usize> {
        let index = self.list.following(self.index)?;
        Some(self.siblings.get(index).map_or(index, |class| *class as usize))
    }
}

/// Scheduler of `htb`: rows, feeds, modes and wake-ups of all classes.
#[derive(Clone)]
pub(super) struct Scheduler {
    states: Vec<Class>,
    feeds: Vec<RoundRobin>,
    /// Rows: per level and priority, the classes that can send.
    rows: Vec<RoundRobin>,
    /// By level: set of the priorities whose rows are not empty, a bit each.
    ready: Vec<u8>,
    /// By leaf and level of the lender: bytes left in its turn.
    deficits: Vec<i64>,
    wakes: KeyTree<Instant>,
}

impl Scheduler {
    pub(super) fn new(classes: &Classes, tunings: Vec<Tuning>) -> Self {
        let tops = classes.tops().iter().map(|top| classes.height(*top)).max().unwrap_or(0);
        let mut states: Vec<Class> = Vec::with_capacity(tunings.len());
        for (class, tuning) in tunings.into_iter().enumerate() {
            let parent = classes.parent(class);
            let siblings = parent.map_or(classes.tops(), |parent| classes.children(parent));
            let level = match parent {
                _ if classes.is_leaf(class) => 0,
                Some(parent) => states[parent].level - 1,
                None => tops as u32,
            };
            let mut state = Class {
                parent: parent.map(|parent| parent as u32),
                // Siblings are in ascending order.
                child_index: siblings.binary_search(&class).unwrap_or(0) as u32,
                level,
                rate: Bucket::new(tuning.rate, tuning.burst),
                ceil: Bucket::new(tuning.ceil, tuning.cburst),
                quantum: 0,
                mpu: 0,
                framing: Framing::Noatm,
                overhead: 0,
                priority: 0,
                filled: Instant::ZERO,
                mode: Mode::CanSend,
                listed: 0,
                wake_is_stale: false,
                children: classes.children(class).iter().map(|child| *child as u32).collect(),
                feeds: 0,
                priorities: 0,
            };
            state.adopt(&tuning);
            states.push(state);
        }
        let levels = tops + 1;
        let mut scheduler = Self {
            wakes: KeyTree::new(states.len()),
            deficits: vec![0; states.len() * levels],
            ready: vec![0; levels],
            rows: Vec::new(),
            feeds: Vec::new(),
            states,
        };
        scheduler.rebuild();
        scheduler
    }

    /// Rebuilds rows and feeds, empty, for the priorities in use.
    fn rebuild(&mut self) {
        for state in &mut self.states {
            state.listed = 0;
            state.priorities = if state.children.is_empty() { 1 << state.priority } else { 0 };
        }
        let mut all = 0;
        for class in (0..self.states.len()).rev() {
            let Class { priorities, .. } = self.states[class];
            match self.states[class].parent() {
                Some(parent) => self.states[parent].priorities |= priorities,
                None => all |= priorities,
            }
        }
        let (levels, count) = (self.ready.len(), self.states.len());
        let bound = |priority: usize| if all & 1 << priority == 0 { 0 } else { count };
        self.rows =
            (0..levels * PRIORITIES).map(|row| RoundRobin::new(bound(row % PRIORITIES), levels)).collect();
        self.feeds.clear();
        for state in self.states.iter_mut().filter(|state| !state.children.is_empty()) {
            state.feeds = self.feeds.len() as u32;
            let feeds = bits(state.priorities).map(|_| RoundRobin::new(state.children.len(), levels));
            self.feeds.extend(feeds);
        }
        self.ready.fill(0);
        self.deficits.fill(0);
        self.wakes.clear();
    }

    /// Adopts new parameters. Tokens are kept as far as they fit. No class is listed afterwards.
    pub(super) fn retune(&mut self, tunings: Vec<Tuning>, now: Instant) {
        for (state, tuning) in self.states.iter_mut().zip(tunings) {
            state.fill(now);
            state.rate = state.rate.retuned(tuning.rate, tuning.burst);
            state.ceil = state.ceil.retuned(tuning.ceil, tuning.cburst);
            state.adopt(&tuning);
        }
        self.rebuild();
    }

    #[inline]
    fn row(&mut self, level: usize, priority: usize) -> &mut RoundRobin {
        &mut self.rows[level * PRIORITIES + priority]
    }

    #[inline]
    fn feed(&mut self, class: usize, priority: usize) -> &mut RoundRobin {
        let feed = self.states[class].feed(priority);
        &mut self.feeds[feed]
    }

    /// Links a class that is listed for `priorities` by its mode, and lists its ancestors as needed.
    fn link(&mut self, mut class: usize, mut priorities: u8, now: Instant) {
        loop {
            let state = &self.states[class];
            let (level, child_index) = (state.level as usize, state.child_index as usize);
            match (state.mode, state.parent()) {
                (Mode::CanSend, _) => {
                    for priority in bits(priorities) {
                        self.row(level, priority).insert(class);
                    }
                    self.ready[level] |= priorities;
                    return;
                }
                (Mode::MayBorrow, Some(above)) => {
                    for priority in bits(priorities) {
                        self.feed(above, priority).insert(child_index);
                    }
                    let state = &mut self.states[above];
                    let was = state.listed;
                    state.listed |= priorities;
                    priorities &= !was;
                    if was == 0 {
                        self.track(above, now);
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

    /// Unlinks a class that is listed for `priorities`, and unlists the ancestors from which no child
    /// borrows any more.
    fn unlink(&mut self, mut class: usize, mut priorities: u8) {
        loop {
            let state = &self.states[class];
            let (level, child_index) = (state.level as usize, state.child_index as usize);
            match (state.mode, state.parent()) {
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
                        feed.remove(child_index);
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

    /// Determines the mode of a class that begins to be listed and is not linked yet.
    fn track(&mut self, class: usize, now: Instant) {
        let state = &mut self.states[class];
        state.fill(now);
        state.mode = state.judge();
        self.set_wake(class);
    }

    /// Sets the wake-up of a listed class as of its last fill.
    fn set_wake(&mut self, class: usize) {
        let state = &mut self.states[class];
        state.wake_is_stale = false;
        match state.wake() {
            Some(wake) => self.wakes.set(class, wake),
            None => {
                self.wakes.remove(class);
            }
        }
    }

    /// Links a listed class anew whose mode has changed as of its last fill.
    fn change_mode(&mut self, class: usize, mode: Mode, now: Instant) {
        self.set_wake(class);
        let listed = self.states[class].listed;
        self.unlink(class, listed);
        self.states[class].mode = mode;
        self.link(class, listed, now);
    }

    /// Returns the rate of `class`.
    pub(super) fn rate(&self, class: usize) -> Rate {
        self.states[class].rate.rate()
    }

    /// Returns the buckets of `class`: of its rate, and of its ceiling.
    pub(super) fn buckets(&self, class: usize) -> (&Bucket, &Bucket) {
        let state = &self.states[class];
        (&state.rate, &state.ceil)
    }

    /// Returns the tokens and ctokens of `class` in bytes at `now`, and its mode then.
    pub(super) fn level(&self, class: usize, now: Instant) -> (i128, i128, Mode) {
        let mut state = self.states[class].clone();
        state.fill(now);
        (state.rate.whole_bytes(), state.ceil.whole_bytes(), state.judge())
    }

    /// Returns the level of `class` in the tree: 0 for a leaf.
    pub(super) fn class_level(&self, class: usize) -> usize {
        self.states[class].level as usize
    }

    /// Returns the priority of `leaf`, and its deficit at this level of lender.
    pub(super) fn turn_of(&self, leaf: usize, lender: usize) -> (usize, i64) {
        (usize::from(self.states[leaf].priority), self.deficits[leaf * self.ready.len() + lender])
    }

    /// Returns the ceiling of `class`.
    pub(super) fn ceil(&self, class: usize) -> Rate {
        self.states[class].ceil.rate()
    }

    /// Returns the quantum of `class`.
    pub(super) fn quantum(&self, class: usize) -> i64 {
        self.states[class].quantum
    }

    /// Returns whether `leaf` is listed.
    #[inline]
    pub(super) fn is_listed(&self, leaf: usize) -> bool {
        self.states[leaf].listed != 0
    }

    /// Lists a backlogged leaf, unless it is listed already.
    #[inline]
    pub(super) fn list(&mut self, leaf: usize, now: Instant) {
        if self.is_listed(leaf) {
            return;
        }
        let priorities = 1 << self.states[leaf].priority;
        self.states[leaf].listed = priorities;
        self.track(leaf, now);
        self.link(leaf, priorities, now);
    }

    /// Unlists a leaf that returned no packet. It forfeits what is left of its turns.
    pub(super) fn unlist(&mut self, leaf: usize) {
        let listed = self.states[leaf].listed;
        self.unlink(leaf, listed);
        self.states[leaf].listed = 0;
        self.wakes.remove(leaf);
        let levels = self.ready.len();
        for deficit in &mut self.deficits[leaf * levels..][..levels] {
            *deficit = 0;
        }
    }

    /// Changes the modes whose time has come.
    #[inline]
    pub(super) fn wake(&mut self, now: Instant) {
        while let Some((_, class)) = self.wakes.first().filter(|(wake, _)| *wake <= now) {
            let state = &mut self.states[class];
            state.fill(now);
            let mode = state.judge();
            if mode == state.mode {
                // The entry was stale.
                self.set_wake(class);
            } else {
                self.change_mode(class, mode, now);
            }
        }
    }

    /// Returns the time of the next change of a mode. Recomputes stale entries until the first one is exact.
    pub(super) fn next_wake(&mut self) -> Option<Instant> {
        loop {
            let (wake, class) = self.wakes.first()?;
            if !self.states[class].wake_is_stale {
                return Some(wake);
            }
            self.set_wake(class);
        }
    }

    /// Selects the leaf that sends next.
    #[inline]
    pub(super) fn select(&self) -> Option<Selection<'_>> {
        let level = self.ready.iter().position(|ready| *ready != 0)?;
        let priority = self.ready[level].trailing_zeros() as usize;
        let list = &self.rows[level * PRIORITIES + priority];
        let class = list.current(level)?;
        self.descend(Selection { leaf: class, lender: level, list, index: class, siblings: &[] }, priority)
    }

    /// Follows the feeds of this priority from a class down to a leaf, by their turns.
    #[inline]
    fn descend<'a>(&'a self, from: Selection<'a>, priority: usize) -> Option<Selection<'a>> {
        let mut selection = from;
        let mut height = from.lender;
        // The state of a leaf is not read: with many classes that would be a cache miss.
        while height > 0 {
            let state = &self.states[selection.leaf];
            if state.children.is_empty() {
                break;
            }
            let list = &self.feeds[state.feed(priority)];
            let index = list.current(from.lender)?;
            let leaf = state.children[index] as usize;
            selection = Selection { leaf, list, index, siblings: &state.children, ..selection };
            height = if height == 1 { 0 } else { self.states[leaf].level as usize };
        }
        Some(selection)
    }

    /// Returns the leaf that will be selected if nothing happens until a class can send again.
    #[inline]
    fn select_woken(&self) -> Option<Selection<'_>> {
        let (_, class) = self.wakes.first()?;
        let state = &self.states[class];
        let (lender, priority) = (state.level as usize, state.listed.trailing_zeros() as usize);
        let list = self.rows.get(lender * PRIORITIES + priority)?;
        self.descend(Selection { leaf: class, lender, list, index: class, siblings: &[] }, priority)
    }

    /// Returns the leaf that probably sends next, and its successor. Prefetches their states for
    /// [`select`](Self::select) and [`account`](Self::account).
    #[inline]
    pub(super) fn prefetch_next(&self) -> [Option<usize>; 2] {
        let next = self.select().or_else(|| self.select_woken());
        let next = [next.map(|next| next.leaf), next.and_then(|next| next.following())];
        for class in next.into_iter().flatten() {
            prefetch(&self.states[class]);
            prefetch(&self.deficits[class * self.ready.len()]);
        }
        next
    }

    /// Accounts for a packet of this length that `leaf` sent with the tokens of a class of level `lender`.
    #[inline]
    pub(super) fn account(
        &mut self,
        leaf: usize,
        lender: usize,
        length: Bytes,
        now: Instant,
        is_empty: bool,
    ) {
        self.take_turn(leaf, lender, length);
        let mut class = Some(leaf);
        while let Some(at) = class {
            let state = &mut self.states[at];
            state.fill(now);
            let cost = state.cost(length);
            state.ceil.charge(cost);
            if state.level as usize >= lender {
                state.rate.charge(cost);
            }
            class = state.parent();
        }
        if is_empty {
            self.unlist(leaf);
        }
        let mut class = Some(leaf);
        while let Some(at) = class {
            let state = &mut self.states[at];
            class = state.parent();
            let mode = state.judge();
            if mode == state.mode {
                state.wake_is_stale = true;
            } else if state.listed != 0 {
                self.change_mode(at, mode, now);
            }
        }
    }

    /// Charges a packet of this length to the turn of `leaf`, and ends the turn if it is used up.
    #[inline]
    fn take_turn(&mut self, leaf: usize, lender: usize, length: Bytes) {
        let levels = self.ready.len();
        let Class { quantum, priority, .. } = self.states[leaf];
        let priority = usize::from(priority);
        let deficit = &mut self.deficits[leaf * levels + lender];
        *deficit = deficit.saturating_sub_unsigned(length.0);
        if *deficit >= 0 {
            return;
        }
        // However small the quantum, each turn sends a packet: debt beyond one quantum is forgiven.
        *deficit = deficit.saturating_add(quantum).max(0);
        let mut class = leaf;
        loop {
            let state = &self.states[class];
            let (level, child_index) = (state.level as usize, state.child_index as usize);
            let Some(above) = state.parent().filter(|_| level < lender) else {
                self.row(level, priority).end(class, lender);
                return;
            };
            // Only a whole round below ends a turn above: leaves share by their quanta wherever they are in
            // the tree.
            if !self.feed(above, priority).end(child_index, lender) {
                return;
            }
            class = above;
        }
    }

    /// Calls `emit` with its internal quantities.
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

/// Returns the indices of the set bits.
#[inline]
fn bits(mut set: u8) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(lowest)
    })
}
