//! Event queue: one pending time per slot; a winner tree holds the earliest.
//!
//! ```text
//!              (3, slot 2)                 every link, source and router owns one slot;
//!         (7, s0)       (3, s2)            a slot's time is replaced, never queued;
//!      (7,s0) (9,s1) (3,s2) (3,s3)         equal times go to the lower slot
//! ```
//!
//! With many slots, the tree has groups of four, and the trunks, the links that most flows share, have a small
//! one of their own, whose winner is compared with that of all others: most events are theirs.
//!
//! Measured per replacement at 32 slots against a binary heap: 8 ns and 31 ns; see decision 004. Invariant:
//! ties go to the lower slot, because the order of ties is part of a run's result (see [`network`](crate::network)).
//!
//! If a packet enters an idle link and its arrival would be the earliest event, the arrival is handled at
//! once and never enters the tree ([`would_be_first`](Events::would_be_first)).

use core::hint::select_unpredictable;

use lockgate_engine::units::Instant;

use crate::upcoming::{Upcoming, is_large};

/// Largest number of trunks: two levels of their tree.
const TRUNKS: usize = FAN * FAN;

/// Slots by how often their times change.
pub(crate) struct Layout {
    /// Number of slots.
    slots: usize,
    /// Number of slots of links and routers, which are the first.
    links: usize,
    /// Slots of the trunks: the links that change most often, or all links and routers if there are few.
    trunks: Vec<usize>,
    /// True if hints on the next events are given.
    is_large: bool,
}

impl Layout {
    /// Lays out `slots` slots, of which the first `links` are those of links and routers. `flows` is the
    /// number of flows through each link.
    pub(crate) fn new(slots: usize, links: usize, flows: &[u32]) -> Self {
        let mut trunks: Vec<usize> = (0..links).collect();
        if links > TRUNKS {
            trunks.truncate(flows.len());
            trunks.sort_by_key(|link| core::cmp::Reverse(flows[*link]));
            trunks.truncate(TRUNKS);
        }
        Self { slots, links, trunks, is_large: is_large(slots) }
    }

    /// Returns the layout of a part of a large network.
    pub(crate) fn of_large(self) -> Self {
        Self { is_large: true, ..self }
    }
}

/// Entry of the winner tree: time and slot, ordered by time, then by slot.
pub(crate) trait Entry: Copy + Ord {
    /// Storage of the tree.
    type Tree;
    /// True if the memory of a network with these events may be larger than the cache.
    const MAY_BE_LARGE: bool = true;

    /// Builds a tree; `leaf` gives a slot's first entry.
    fn tree(leaf: impl Fn(usize) -> Self, layout: &Layout) -> Self::Tree;
    /// Returns the minimum.
    fn first(tree: &Self::Tree) -> Self;
    /// Returns the bits needed for a slot, the sentinel for no slot included.
    fn bits(slots: usize) -> u32;
    /// Packs `time` and `slot`, with `bits` bits for the slot.
    fn new(time: Instant, slot: usize, bits: u32) -> Self;
    fn time(self, bits: u32) -> Instant;
    fn slot(self, bits: u32) -> usize;
    /// Returns the smaller one without a branch: the result is unpredictable, and a misprediction costs more
    /// than the whole update. (The compiler by itself emits a branch.)
    fn earlier(self, other: Self) -> Self;
    /// Sets a slot's entry and updates the winners on the path to the root.
    fn climb(tree: &mut Self::Tree, slot: usize, new: Self);
    /// Returns true if the slot is that of a trunk.
    fn is_trunk(tree: &Self::Tree, slot: usize) -> bool;
}

/// Time and slot packed into 63 bits, two instructions a comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Word(u64);

impl Word {
    /// Largest time that fits; stands for all later ones. They are after the end of the run, where no event
    /// is handled.
    #[inline(always)]
    const fn last(bits: u32) -> u64 {
        (u64::MAX >> 1) >> bits
    }

    #[inline(always)]
    fn new(time: Instant, slot: usize, bits: u32) -> Self {
        Self((time.as_picos().min(Self::last(bits)) << bits) | slot as u64)
    }

    #[inline(always)]
    fn time(self, bits: u32) -> Instant {
        Instant::from_picos(self.0 >> bits)
    }

    #[inline(always)]
    fn slot(self, bits: u32) -> usize {
        (self.0 & ((1 << bits) - 1)) as usize
    }

    #[inline(always)]
    fn earlier(self, other: Self) -> Self {
        // By the sign of the difference (entries have 63 bits): a plain `<` is recognised as a minimum and
        // compiled to a branch, which callgrind's model mispredicts 1.2 times a packet-hop.
        let wins = other.0.wrapping_sub(self.0).cast_signed() < 0;
        Self(select_unpredictable(wins, other.0, self.0))
    }
}

/// Entry for up to 31 slots and three days. All sizes are constants: five unrolled levels, no bounds check,
/// shifts by constants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Small(Word);

const SMALL_BITS: u32 = 5;
/// Leaves of the small tree.
const SMALL: usize = 1 << SMALL_BITS;

impl Small {
    /// True if a run of `slots` slots that ends at `end` fits.
    pub(crate) fn suits(end: Instant, slots: usize) -> bool {
        slots < SMALL && end.as_picos() < Word::last(SMALL_BITS)
    }
}

impl Entry for Small {
    type Tree = [Self; 2 * SMALL];
    const MAY_BE_LARGE: bool = false;

    fn tree(leaf: impl Fn(usize) -> Self, _: &Layout) -> Self::Tree {
        let mut tree = core::array::from_fn(|place| leaf(place % SMALL));
        for slot in 0..SMALL {
            Self::climb(&mut tree, slot, leaf(slot));
        }
        tree
    }
    #[inline(always)]
    fn first(tree: &Self::Tree) -> Self {
        tree[1]
    }
    fn bits(_: usize) -> u32 {
        SMALL_BITS
    }
    #[inline(always)]
    fn new(time: Instant, slot: usize, _: u32) -> Self {
        Self(Word::new(time, slot, SMALL_BITS))
    }
    #[inline(always)]
    fn time(self, _: u32) -> Instant {
        self.0.time(SMALL_BITS)
    }
    #[inline(always)]
    fn slot(self, _: u32) -> usize {
        self.0.slot(SMALL_BITS)
    }
    #[inline(always)]
    fn earlier(self, other: Self) -> Self {
        Self(self.0.earlier(other.0))
    }
    #[inline(always)]
    fn climb(tree: &mut Self::Tree, slot: usize, new: Self) {
        let mut place = SMALL + slot % SMALL;
        // The winner stays in a register; only its rivals are loaded.
        let mut winner = new;
        tree[place] = winner;
        for _ in 0..SMALL_BITS {
            winner = winner.earlier(tree[place ^ 1]);
            place >>= 1;
            tree[place] = winner;
        }
    }
    fn is_trunk(_: &Self::Tree, _: usize) -> bool {
        false
    }
}

/// Entry of one word, for all runs that are not both very long and very large.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Narrow(Word);

impl Narrow {
    /// True if a run of `slots` slots that ends at `end` fits: thirty slots for three days, a thousand for
    /// two hours.
    pub(crate) fn suits(end: Instant, slots: usize) -> bool {
        end.as_picos() < Word::last(bits(slots))
    }
}

impl Entry for Narrow {
    type Tree = Trees<Self>;

    fn tree(leaf: impl Fn(usize) -> Self, layout: &Layout) -> Self::Tree {
        Trees::new(leaf, layout)
    }
    #[inline(always)]
    fn first(tree: &Self::Tree) -> Self {
        tree.first()
    }
    fn bits(slots: usize) -> u32 {
        bits(slots)
    }
    #[inline(always)]
    fn new(time: Instant, slot: usize, bits: u32) -> Self {
        Self(Word::new(time, slot, bits))
    }
    #[inline(always)]
    fn time(self, bits: u32) -> Instant {
        self.0.time(bits)
    }
    #[inline(always)]
    fn slot(self, bits: u32) -> usize {
        self.0.slot(bits)
    }
    #[inline(always)]
    fn earlier(self, other: Self) -> Self {
        Self(self.0.earlier(other.0))
    }
    #[inline(always)]
    fn climb(tree: &mut Self::Tree, slot: usize, new: Self) {
        tree.climb(slot, new);
    }
    #[inline(always)]
    fn is_trunk(tree: &Self::Tree, slot: usize) -> bool {
        tree.is_trunk(slot)
    }
}

/// Entry of two words: time and slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wide(Instant, usize);

impl Entry for Wide {
    type Tree = Trees<Self>;

    fn tree(leaf: impl Fn(usize) -> Self, layout: &Layout) -> Self::Tree {
        Trees::new(leaf, layout)
    }
    #[inline(always)]
    fn first(tree: &Self::Tree) -> Self {
        tree.first()
    }
    fn bits(slots: usize) -> u32 {
        bits(slots)
    }
    #[inline(always)]
    fn new(time: Instant, slot: usize, _: u32) -> Self {
        Self(time, slot)
    }
    #[inline(always)]
    fn time(self, _: u32) -> Instant {
        self.0
    }
    #[inline(always)]
    fn slot(self, _: u32) -> usize {
        self.1
    }
    #[inline(always)]
    fn earlier(self, other: Self) -> Self {
        let wins = other < self;
        Self(select_unpredictable(wins, other.0, self.0), select_unpredictable(wins, other.1, self.1))
    }
    #[inline(always)]
    fn climb(tree: &mut Self::Tree, slot: usize, new: Self) {
        tree.climb(slot, new);
    }
    #[inline(always)]
    fn is_trunk(tree: &Self::Tree, slot: usize) -> bool {
        tree.is_trunk(slot)
    }
}

/// Returns the bits needed for a slot, the sentinel for no slot included.
fn bits(slots: usize) -> u32 {
    (slots + 1).next_power_of_two().trailing_zeros()
}

/// Two winner trees: the trunks, and all others.
pub(crate) struct Trees<E> {
    trunks: WideTree<E>,
    /// By slot; those of trunks are not used.
    others: WideTree<E>,
    /// By slot of a link or router: index of the trunk, or [`NO_TRUNK`].
    trunk_of: Box<[u8]>,
}

/// Entry of `trunk_of` of a slot that is no trunk's.
const NO_TRUNK: u8 = u8::MAX;

impl<E: Entry> Trees<E> {
    fn new(leaf: impl Fn(usize) -> E, layout: &Layout) -> Self {
        let &Layout { slots, links, ref trunks, .. } = layout;
        let mut trunk_of = vec![NO_TRUNK; links];
        for (trunk, slot) in trunks.iter().enumerate() {
            trunk_of[*slot] = trunk as u8;
        }
        Self {
            trunks: WideTree::new(leaf(slots), trunks.iter().map(|slot| leaf(*slot))),
            others: WideTree::new(leaf(slots), (0..slots).map(&leaf)),
            trunk_of: trunk_of.into(),
        }
    }

    #[inline(always)]
    fn first(&self) -> E {
        self.trunks.winner.earlier(self.others.winner)
    }

    #[inline(always)]
    fn is_trunk(&self, slot: usize) -> bool {
        self.trunk_of.get(slot).is_some_and(|trunk| *trunk != NO_TRUNK)
    }

    #[inline(always)]
    fn climb(&mut self, slot: usize, new: E) {
        match self.trunk_of.get(slot) {
            Some(&trunk) if trunk != NO_TRUNK => self.trunks.climb(usize::from(trunk), new),
            _ => self.others.climb(slot, new),
        }
    }
}

/// Entries of a group.
const FAN: usize = 4;

/// Half a cache line of entries of a word: with ten thousand links a binary tree's path has four lines in no
/// near cache, this one's two. Decision 109.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Group<E>([E; FAN]);

/// Winner tree of four entries a group; the winners of groups 4 k + 1 to 4 k + 4 are the entries of group k.
struct WideTree<E> {
    groups: Box<[Group<E>]>,
    winner: E,
    /// Index of the first group of the last level, which holds the slots.
    leaves: usize,
}

impl<E: Entry> WideTree<E> {
    /// Creates a tree of these entries; `none` is the sentinel of no slot.
    fn new(none: E, entries: impl ExactSizeIterator<Item = E>) -> Self {
        let (mut above, mut level) = (0, 1);
        while level * FAN < entries.len() {
            above += level;
            level *= FAN;
        }
        let groups = vec![Group([none; FAN]); above + entries.len().div_ceil(FAN).max(1)];
        let mut tree = Self { groups: groups.into(), winner: none, leaves: above };
        for (place, entry) in entries.enumerate() {
            tree.climb(place, entry);
        }
        tree
    }

    /// Sets a slot's entry and updates the winners above it, as far as they change.
    #[inline(never)]
    fn climb(&mut self, slot: usize, new: E) {
        let (mut group, mut at) = (self.leaves + slot / FAN, slot % FAN);
        let mut winner = new;
        loop {
            let entries = &mut self.groups[group].0;
            entries[at] = winner;
            // The others first: they do not depend on the winner below.
            winner = winner.earlier(entries[at ^ 1].earlier(entries[at ^ 2].earlier(entries[at ^ 3])));
            if group == 0 {
                self.winner = winner;
                return;
            }
            (group, at) = ((group - 1) / FAN, (group - 1) % FAN);
            if self.groups[group].0[at] == winner {
                return;
            }
        }
    }
}

/// Pending times of a fixed number of slots.
pub(crate) struct Events<E: Entry> {
    tree: E::Tree,
    bits: u32,
    upcoming: Upcoming,
}

impl<E: Entry> Events<E> {
    /// Creates slots without pending times.
    pub(crate) fn new(layout: &Layout) -> Self {
        let bits = E::bits(layout.slots);
        let tree = E::tree(|slot| E::new(Instant::NEVER, slot, bits), layout);
        Self { tree, bits, upcoming: Upcoming::new(layout.is_large) }
    }

    /// Returns the earliest pending time and its slot; a time after the end if nothing is pending.
    #[inline(always)]
    pub(crate) fn first(&self) -> (Instant, usize) {
        let winner = E::first(&self.tree);
        (winner.time(self.bits), winner.slot(self.bits))
    }

    /// Sets the time of a slot; [`Instant::NEVER`] for not pending.
    #[inline(always)]
    pub(crate) fn set(&mut self, slot: usize, time: Instant) {
        if E::MAY_BE_LARGE && self.upcoming.is_used() && !E::is_trunk(&self.tree, slot) {
            self.upcoming.note(slot, time);
        }
        E::climb(&mut self.tree, slot, E::new(time, slot, self.bits));
    }

    /// Hints on the next events.
    #[inline(always)]
    pub(crate) fn upcoming(&self) -> &Upcoming {
        &self.upcoming
    }

    /// Hints on the next events.
    #[inline(always)]
    pub(crate) fn upcoming_mut(&mut self) -> &mut Upcoming {
        &mut self.upcoming
    }

    /// True if the slot is that of a trunk in a large network: its own memory is in the cache, that of the
    /// packets behind the next one is not.
    #[inline(always)]
    pub(crate) fn is_large_trunk(&self, slot: usize) -> bool {
        E::MAY_BE_LARGE && self.upcoming.is_used() && E::is_trunk(&self.tree, slot)
    }

    /// True if setting this slot, which is not pending, to `time` would make it the first.
    #[inline(always)]
    pub(crate) fn would_be_first(&self, slot: usize, time: Instant) -> bool {
        E::new(time, slot, self.bits) < E::first(&self.tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<E: Entry>(slots: usize, sets: &[(usize, u64)]) -> Result<(), TestCaseError> {
        let links = slots / 2;
        let flows: Vec<u32> = (0..links as u32).map(|link| link % 5).collect();
        let mut events = Events::<E>::new(&Layout::new(slots, links, &flows));
        let mut model = vec![u64::MAX; slots];
        for &(slot, time) in sets {
            let slot = slot % slots;
            let time = if time == 0 { u64::MAX } else { time };
            let foreseen = events.would_be_first(slot, Instant::from_picos(time));
            let was_pending = model[slot] < u64::MAX;
            events.set(slot, Instant::from_picos(time));
            model[slot] = time;
            if !was_pending && time < u64::MAX {
                prop_assert_eq!(foreseen, events.first().1 == slot);
            }
            let earliest = model.iter().copied().min().unwrap_or(u64::MAX);
            let (found, winner) = events.first();
            if earliest < u64::MAX {
                prop_assert_eq!(found.as_picos(), earliest);
                prop_assert_eq!(Some(winner), model.iter().position(|time| *time == earliest));
            }
        }
        Ok(())
    }

    #[test]
    fn thirty_one_slots_are_small() {
        assert!(Small::suits(Instant::from_picos(280_000_000_000_000_000), 31));
        assert!(!Small::suits(Instant::from_picos(280_000_000_000_000_000), 32));
        assert!(!Small::suits(Instant::from_picos(300_000_000_000_000_000), 31));
    }

    #[test]
    fn a_word_has_room_for_days_and_what_has_none_never_comes() {
        assert!(Narrow::suits(Instant::from_picos(280_000_000_000_000_000), 30));
        assert!(!Narrow::suits(Instant::from_picos(300_000_000_000_000_000), 30));
        let mut events = Events::<Narrow>::new(&Layout::new(30, 4, &[1; 4]));
        events.set(3, Instant::from_picos(u64::MAX / 2));
        assert!(events.first().0.as_picos() > 280_000_000_000_000_000);
    }

    proptest! {
        #[test]
        fn the_earliest_wins_and_ties_go_to_the_lower_slot(
            slots in 1usize..70,
            sets in prop::collection::vec((0usize..70, 0u64..20), 1..200),
        ) {
            if slots < SMALL {
                check::<Small>(slots, &sets)?;
            }
            check::<Narrow>(slots, &sets)?;
            check::<Wide>(slots, &sets)?;
        }
    }
}
