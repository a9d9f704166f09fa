//! Largest virtual time of a parent's active children.
//!
//! Every packet changes a virtual time, but the maximum is only needed if a child becomes active with a
//! smaller one than the upper bound kept here. So changes are marked in a bitmap, and the winner tree is
//! updated on demand (lazy evaluation).

use crate::queue::bitmap::Bitmap;
use crate::queue::key_tree::{KeyTree, MAX_KEY};

/// Lazily maintained maximum of the active children's virtual times.
#[derive(Clone)]
#[repr(C)]
pub(super) struct MaxVirtualTime {
    /// Upper bound: the largest virtual time that any child has had in this backlog period.
    bound: u128,
    /// Children whose entry in `tree` is stale.
    stale: Bitmap,
    /// Children by `MAX_KEY` - virtual time, so that the winner has the largest; valid except for those in
    /// `stale`.
    tree: KeyTree<u128>,
}

impl MaxVirtualTime {
    /// Creates the state of a parent whose children are all passive.
    pub(super) fn new(children: usize) -> Self {
        Self { bound: 0, stale: Bitmap::new(children), tree: KeyTree::new(children) }
    }

    /// Sets the virtual time of an active child.
    #[inline]
    pub(super) fn set(&mut self, child: usize, time: u128) {
        self.bound = self.bound.max(time);
        self.stale.insert(child);
    }

    /// Removes a child that became passive.
    #[inline]
    pub(super) fn remove(&mut self, child: usize) {
        self.stale.insert(child);
    }

    /// Resets the upper bound; no child may be active.
    pub(super) fn begin_period(&mut self) {
        self.bound = 0;
    }

    /// Returns the upper bound of [`largest`](Self::largest) without updating the tree.
    #[inline]
    pub(super) fn bound(&self) -> u128 {
        self.bound
    }

    /// Brings the tree up to date and returns the maximum, or `None` if no child is active. `of` returns
    /// the virtual time of a child, `None` if it is passive. Times above `MAX_KEY` count as that.
    pub(super) fn largest(&mut self, of: impl Fn(usize) -> Option<u128>) -> Option<u128> {
        while let Some(child) = self.stale.next(0) {
            self.stale.remove(child);
            match of(child) {
                Some(time) => self.tree.set(child, MAX_KEY - time.min(MAX_KEY)),
                None => {
                    self.tree.remove(child);
                }
            }
        }
        self.tree.first().map(|(left, _)| MAX_KEY - left)
    }
}
