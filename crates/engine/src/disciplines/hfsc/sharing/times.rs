//! How late the virtual times of a class's children are.

use crate::queue::bitmap::Bitmap;
use crate::queue::winner_tree::{MAX_KEY, WinnerTree};

/// The latest of them. It is asked for when a child begins, and the times change with every packet: so what has changed is
/// noted, and the matches are played when somebody asks.
#[repr(C)]
pub(super) struct Times {
    /// No time was later since the period began.
    highest: u128,
    /// Who has another time since it was asked.
    changed: Bitmap,
    /// By what is left of [`MAX_KEY`], as of when it was asked last.
    latest: WinnerTree<u128>,
}

impl Times {
    /// Nobody has one of these children.
    pub(super) fn new(children: usize) -> Self {
        Self { highest: 0, changed: Bitmap::new(children), latest: WinnerTree::new(children) }
    }

    /// A child has this time.
    #[inline(always)]
    pub(super) fn set(&mut self, child: usize, time: u128) {
        self.highest = self.highest.max(time);
        self.changed.insert(child);
    }

    /// A child has none any more.
    #[inline]
    pub(super) fn remove(&mut self, child: usize) {
        self.changed.insert(child);
    }

    /// Forgets how late the times were, where no child has one.
    pub(super) fn begin_period(&mut self) {
        self.highest = 0;
    }

    /// The latest time that any child has had in this period: not before [`latest`](Self::latest), and without a
    /// match.
    #[inline(always)]
    pub(super) fn highest(&self) -> u128 {
        self.highest
    }

    /// The latest, where each child has the time that `of` gives; `None` where there is none. Those beyond the last that can be
    /// told apart count as that.
    pub(super) fn latest(&mut self, of: impl Fn(usize) -> Option<u128>) -> Option<u128> {
        while let Some(child) = self.changed.next(0) {
            self.changed.remove(child);
            match of(child) {
                Some(time) => self.latest.set(child, MAX_KEY - time.min(MAX_KEY)),
                None => {
                    self.latest.remove(child);
                }
            }
        }
        self.latest.first().map(|(left, _)| MAX_KEY - left)
    }
}
