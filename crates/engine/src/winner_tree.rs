//! Winner tree: a fixed number of slots, each with an entry; the smallest entry is one load.
//!
//! ```text
//!                     winner = 3.1                       entry = (key, slot)
//! root group    [ 3.1  5.6   -    - ]                    each entry is the winner of the group below it
//! leaf groups   [ 7.0  3.1  4.2  9.3 ]  [ 8.4  8.5  5.6  6.7 ]           one entry per slot
//! ```
//!
//! A complete 4-ary tree in one array, level after level, the children of group `g` at `4g + 1 ..= 4g + 4`. A
//! group of entries of one word is half a cache line, so that the path of a slot among ten thousand has two
//! lines that are in no near cache; that of a binary tree has four (decision 109).
//!
//! Invariant: every entry above the leaves is the smallest of the group below it, and `winner` that of the
//! root group.
//!
//! Cost: a new entry is written to its leaf and recomputes the groups on the path to the root, and stops when
//! a winner is unchanged: at most log4(n) groups of three comparisons. Comparisons are selections without
//! branches. A d-ary heap has fewer levels, but its sift-down ends at an unpredictable branch, and the next
//! address depends on the comparison. Groups of eight were slower: ten children are two groups of three
//! comparisons instead of two of seven (decision 071: 133 to 130 ns for `hfsc`).
//!
//! The hierarchical disciplines order their classes by it (`queue/key_tree.rs`), the simulator its events.

use core::hint::select_unpredictable;

/// Entry of a winner tree: a key and, below it, its slot, so that of equal keys the lower slot wins.
pub trait Entry: Copy + PartialEq {
    /// Returns the smaller entry, without a branch: which it is is unpredictable.
    #[must_use]
    fn smaller(self, other: Self) -> Self;
}

impl Entry for u64 {
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        select_unpredictable(other < self, other, self)
    }
}

impl Entry for u128 {
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        select(is_less(other, self), other, self)
    }
}

/// Entries of a group.
const FAN: usize = 4;

/// Entries whose smallest is one entry of the group above.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Group<E>([E; FAN]);

/// Winner tree of slots `0..n`.
///
/// ```
/// use lockgate_engine::winner_tree::WinnerTree;
///
/// let entry = |key: u64, slot: u64| key << 8 | slot;
/// let mut tree = WinnerTree::new(3, u64::MAX);
/// tree.set(2, entry(7, 2));
/// tree.set(0, entry(7, 0));
/// assert_eq!(tree.first(), entry(7, 0), "of equal keys the lower slot is first");
/// assert_eq!(tree.set(0, entry(9, 0)), entry(7, 0));
/// assert_eq!(tree.first(), entry(7, 2));
/// ```
#[derive(Clone, Debug)]
pub struct WinnerTree<E> {
    /// Level after level: the winners of groups `FAN`·k + 1 to `FAN`·(k + 1) are the entries of group k.
    /// The last level holds the slots.
    groups: Box<[Group<E>]>,
    winner: E,
    /// Index of the first group of the last level.
    first_leaf_group: u32,
    /// Number of slots.
    slots: u32,
}

impl<E: Entry> WinnerTree<E> {
    /// Creates a tree of `slots` slots, each with the entry `none`, which must be larger than any other.
    pub fn new(slots: usize, none: E) -> Self {
        let (mut above, mut level) = (0, 1);
        while level * FAN < slots {
            above += level;
            level *= FAN;
        }
        // The last level ends with the last group that a slot needs.
        let groups = vec![Group([none; FAN]); above + slots.div_ceil(FAN).max(1)];
        Self { groups: groups.into(), winner: none, first_leaf_group: above as u32, slots: slots as u32 }
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// Returns the smallest entry.
    #[inline(always)]
    pub fn first(&self) -> E {
        self.winner
    }

    /// Returns the entry of a slot.
    #[inline(always)]
    pub fn entry(&self, slot: usize) -> E {
        self.groups[self.first_leaf_group as usize + slot / FAN].0[slot % FAN]
    }

    /// Sets the entry of a slot and recomputes the path to the root until a winner is unchanged. Returns
    /// the previous entry.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, entry: E) -> E {
        let (mut group, mut at) = (self.first_leaf_group as usize + slot / FAN, slot % FAN);
        let mut entries = &mut self.groups[group].0;
        let before = core::mem::replace(&mut entries[at], entry);
        if before == entry {
            return before;
        }
        let mut winner = entry;
        loop {
            // The other three first: they do not depend on the winner below.
            winner = winner.smaller(entries[at ^ 1].smaller(entries[at ^ 2].smaller(entries[at ^ 3])));
            if group == 0 {
                self.winner = winner;
                return before;
            }
            (group, at) = ((group - 1) / FAN, (group - 1) % FAN);
            entries = &mut self.groups[group].0;
            if entries[at] == winner {
                return before;
            }
            entries[at] = winner;
        }
    }

    /// Sets the entry of each slot to `none`.
    pub fn clear(&mut self, none: E) {
        self.groups.fill(Group([none; FAN]));
        self.winner = none;
    }
}

/// Returns `one` if `takes`, else `other`, without a branch. Selects 64-bit halves: for a selection between
/// whole 128-bit words the compiler emits a branch.
#[inline(always)]
fn select(takes: bool, one: u128, other: u128) -> u128 {
    let half = |shift: u32| select_unpredictable(takes, (one >> shift) as u64, (other >> shift) as u64);
    u128::from(half(64)) << 64 | u128::from(half(0))
}

/// Returns whether `one` is less than `other`, without a branch.
#[inline(always)]
#[allow(clippy::needless_bitwise_bool, reason = "what is lazy is a branch")]
fn is_less(one: u128, other: u128) -> bool {
    let halves = |word: u128| ((word >> 64) as u64, word as u64);
    let ((high, low), (other_high, other_low)) = (halves(one), halves(other));
    (high < other_high) | ((high == other_high) & (low < other_low))
}
