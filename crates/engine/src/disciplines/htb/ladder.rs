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
//! their mode up to date, and those of them that cannot send on their own have a wake: a time not after that at which
//! their mode changes. A packet puts that time off, and it is looked for again only when the wake comes first.

use crate::class::Classes;
use crate::prefetch::prefetch;
use crate::queue::winner_tree::WinnerTree;
use crate::units::{Bytes, Instant, Rate};

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

/// A class's state: two cache lines.
#[repr(align(64))]
struct Class {
    rate: Bucket,
    ceil: Bucket,
    /// Up to when the buckets are filled.
    filled: Instant,
    quantum: i64,
    parent: Option<u32>,
    /// Its place among its siblings.
    turn: u32,
    /// 0 for a leaf; for an inner class one less than its parent's.
    level: u32,
    /// Those right below; none for a leaf.
    children: Box<[u32]>,
    /// The first of its feeds: the children that borrow from it, for each priority that a leaf below has.
    feeds: u32,
    /// Those priorities, a bit each; a leaf's own.
    priorities: u8,
    mpu: u16,
    overhead: u16,
    priority: u8,
    mode: Mode,
    /// The priorities it is listed for, a bit each.
    listed: u8,
    /// Whether packets have put its wake off since that was noted.
    is_put_off: bool,
}

impl Class {
    /// Takes over what is not a bucket's.
    fn adopt(&mut self, tuning: &Tuning) {
        self.quantum = tuning.quantum;
        self.priority = tuning.priority as u8;
        self.mpu = tuning.mpu.0 as u16;
        self.overhead = tuning.overhead.0 as u16;
    }

    #[inline]
    fn parent(&self) -> Option<usize> {
        self.parent.map(|parent| parent as usize)
    }

    /// The feed of those that borrow from it at this priority.
    #[inline]
    fn feed(&self, priority: usize) -> usize {
        let before = self.priorities & ((1 << priority) - 1);
        self.feeds as usize + before.count_ones() as usize
    }

    /// What a packet of this length costs.
    #[inline]
    fn cost(&self, length: Bytes) -> Bytes {
        Bytes((length.0 + u64::from(self.overhead)).max(self.mpu.into()))
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

    /// Its mode as of when it was filled.
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

    /// When its mode next changes by itself.
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
    wakes: WinnerTree<Instant>,
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
                None => tops as u32,
            };
            let mut state = Class {
                parent: parent.map(|parent| parent as u32),
                // Siblings stand in the order of their numbers.
                turn: siblings.binary_search(&class).unwrap_or(0) as u32,
                level,
                rate: Bucket::new(tuning.rate, tuning.burst),
                ceil: Bucket::new(tuning.ceil, tuning.cburst),
                quantum: 0,
                mpu: 0,
                overhead: 0,
                priority: 0,
                filled: Instant::ZERO,
                mode: Mode::CanSend,
                listed: 0,
                is_put_off: false,
                children: classes.children(class).iter().map(|child| *child as u32).collect(),
                feeds: 0,
                priorities: 0,
            };
            state.adopt(&tuning);
            states.push(state);
        }
        let levels = tops + 1;
        let mut ladder = Self {
            wakes: WinnerTree::new(states.len()),
            deficits: vec![0; states.len() * levels],
            ready: vec![0; levels],
            rows: Vec::new(),
            feeds: Vec::new(),
            states,
        };
        ladder.lay_out();
        ladder
    }

    /// Makes rows and feeds anew, for the priorities there are, with nobody in them.
    fn lay_out(&mut self) {
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
        self.rows = (0..levels * PRIORITIES).map(|row| Turns::new(bound(row % PRIORITIES), levels)).collect();
        self.feeds.clear();
        for state in self.states.iter_mut().filter(|state| !state.children.is_empty()) {
            state.feeds = self.feeds.len() as u32;
            let feeds = bits(state.priorities).map(|_| Turns::new(state.children.len(), levels));
            self.feeds.extend(feeds);
        }
        self.ready.fill(0);
        self.deficits.fill(0);
        self.wakes.clear();
    }

    /// Adopts new parameters. Tokens are kept as far as they fit; nobody is listed afterwards.
    pub(super) fn retune(&mut self, tunings: Vec<Tuning>, now: Instant) {
        for (state, tuning) in self.states.iter_mut().zip(tunings) {
            state.fill(now);
            state.rate = state.rate.retuned(tuning.rate, tuning.burst);
            state.ceil = state.ceil.retuned(tuning.ceil, tuning.cburst);
            state.adopt(&tuning);
        }
        self.lay_out();
    }

    #[inline]
    fn row(&mut self, level: usize, priority: usize) -> &mut Turns {
        &mut self.rows[level * PRIORITIES + priority]
    }

    #[inline]
    fn feed(&mut self, class: usize, priority: usize) -> &mut Turns {
        let feed = self.states[class].feed(priority);
        &mut self.feeds[feed]
    }

    /// Puts a class that is listed for `priorities` where its mode belongs, and lists those above as needed.
    fn link(&mut self, mut class: usize, mut priorities: u8, now: Instant) {
        loop {
            let state = &self.states[class];
            let (level, turn) = (state.level as usize, state.turn as usize);
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
            let state = &self.states[class];
            let (level, turn) = (state.level as usize, state.turn as usize);
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
        let state = &mut self.states[class];
        state.fill(now);
        state.mode = state.judge();
        self.note_wake(class);
    }

    /// Notes when the mode of a listed class next changes, as of when it was filled.
    fn note_wake(&mut self, class: usize) {
        let state = &mut self.states[class];
        state.is_put_off = false;
        match state.wake() {
            Some(wake) => self.wakes.set(class, wake),
            None => {
                self.wakes.remove(class);
            }
        }
    }

    /// Brings a listed class whose mode has changed, as of when it was filled, to its place.
    fn change(&mut self, class: usize, mode: Mode, now: Instant) {
        self.note_wake(class);
        let listed = self.states[class].listed;
        self.unlink(class, listed);
        self.states[class].mode = mode;
        self.link(class, listed, now);
    }

    /// The rate of `class`.
    pub(super) fn rate(&self, class: usize) -> Rate {
        self.states[class].rate.rate()
    }

    /// The ceiling of `class`.
    pub(super) fn ceil(&self, class: usize) -> Rate {
        self.states[class].ceil.rate()
    }

    /// The quantum of `class`.
    pub(super) fn quantum(&self, class: usize) -> i64 {
        self.states[class].quantum
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
        let priorities = 1 << self.states[leaf].priority;
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
                // Packets have put it off.
                self.note_wake(class);
            } else {
                self.change(class, mode, now);
            }
        }
    }

    /// When a mode next changes.
    pub(super) fn next_wake(&mut self) -> Option<Instant> {
        loop {
            let (wake, class) = self.wakes.first()?;
            if !self.states[class].is_put_off {
                return Some(wake);
            }
            self.note_wake(class);
        }
    }

    /// The leaf whose turn it is, and the level of the class whose tokens pay: the lowest level first, there
    /// the lowest priority number, there the turns.
    #[inline]
    pub(super) fn choose(&mut self) -> Option<(usize, usize)> {
        let level = self.ready.iter().position(|ready| *ready != 0)?;
        let priority = self.ready[level].trailing_zeros() as usize;
        let mut class = self.row(level, priority).current(level)?;
        loop {
            let state = &self.states[class];
            if state.children.is_empty() {
                return Some((class, level));
            }
            let turn = self.feeds[state.feed(priority)].current(level)?;
            class = state.children[turn] as usize;
        }
    }

    /// Who is next, as it looks now: the leaf that sends, or else the class that wakes, mostly a leaf that sends then. Fetches
    /// what [`choose`](Self::choose) and [`sent`](Self::sent) need of it.
    #[inline]
    pub(super) fn prefetch_next(&mut self) -> Option<usize> {
        let next =
            self.choose().map(|(leaf, _)| leaf).or_else(|| self.wakes.first().map(|(_, class)| class))?;
        prefetch(&self.states[next]);
        prefetch(&self.deficits[next * self.ready.len()]);
        Some(next)
    }

    /// Accounts for a packet of this length that `leaf` sent on the tokens of a class of level `lender`.
    #[inline]
    pub(super) fn sent(&mut self, leaf: usize, lender: usize, length: Bytes, now: Instant, is_empty: bool) {
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
                state.is_put_off = true;
            } else if state.listed != 0 {
                self.change(at, mode, now);
            }
        }
    }

    /// Takes a packet of this length from what `leaf` may send in its turn, and ends the turn if it is used up.
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
        // A packet is sent each turn, however small the quantum: a debt of more is not carried on.
        *deficit = deficit.saturating_add(quantum).max(0);
        let mut class = leaf;
        loop {
            let state = &self.states[class];
            let (level, turn) = (state.level as usize, state.turn as usize);
            let Some(above) = state.parent().filter(|_| level < lender) else {
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
