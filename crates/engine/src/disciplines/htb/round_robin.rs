//! Round robin among the classes that borrow from a lender at one priority, or that can send at one level. A
//! bitmap finds the next member: O(log n) to base 64.

use crate::queue::bitmap::Bitmap;

/// Members that take turns in the order of their indices. The position is kept per level of lender, so that
/// turns paid for by one lender do not shift those of another. A member that leaves and returns before its
/// turn has passed does not lose it.
#[derive(Clone, Debug)]
pub(super) struct RoundRobin {
    members: Bitmap,
    /// By level of the lender: index at which the search for the next member starts.
    next: Box<[usize]>,
}

impl RoundRobin {
    /// Creates an empty round robin for members below `bound`, and lenders of levels below `levels`.
    pub(super) fn new(bound: usize, levels: usize) -> Self {
        Self { members: Bitmap::new(bound), next: vec![0; levels].into() }
    }

    #[inline]
    pub(super) fn insert(&mut self, member: usize) {
        self.members.insert(member);
    }

    #[inline]
    pub(super) fn remove(&mut self, member: usize) {
        self.members.remove(member);
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the member whose turn it is.
    #[inline]
    pub(super) fn current(&self, lender: usize) -> Option<usize> {
        self.members.next(self.next[lender]).or_else(|| self.members.next(0))
    }

    /// Returns the member after `member`, if there is another.
    #[inline]
    pub(super) fn following(&self, member: usize) -> Option<usize> {
        let next = self.members.next(member + 1).or_else(|| self.members.next(0));
        next.filter(|next| *next != member)
    }

    /// Ends the turn of `member`. Returns whether it was the last of a round.
    #[inline]
    pub(super) fn end(&mut self, member: usize, lender: usize) -> bool {
        let next = self.members.next(member + 1);
        self.next[lender] = next.map_or(0, |_| member + 1);
        next.is_none()
    }
}
